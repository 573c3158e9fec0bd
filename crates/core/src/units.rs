//! Time, sizes and rates as types.
//!
//! Integers inside (nanoseconds, bytes, bit/s). Only the operations that mean something exist:
//! `Instant - Instant = Duration`, `Bytes / Bitrate = Duration` (rounded up: a frame is not over
//! before its last bit), `Bitrate * Duration = Bytes` (rounded down: a byte counts when it is whole).
//! As text, in files and in serde, a quantity is a number and a unit: `"180 s"`.

mod text;

use std::fmt;
use std::ops::{Add, AddAssign, Mul, Sub, SubAssign};

use serde::{Deserialize, Serialize};

pub(crate) use text::{Quantity, clip, is_default, is_invisible, quote};
pub use text::{QuantityError, plural, word};

const NANOS: u64 = 1_000_000_000;

/// A point on the driver's clock, in nanoseconds since its start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Instant(u64);

/// A span of time in nanoseconds. Never negative.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Duration(u64);

/// A number of bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Bytes(pub u64);

/// A rate in bit/s.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Bitrate(u64);

/// A probability in `[0, 1]`.
#[derive(Clone, Copy, Debug, Default, PartialEq, PartialOrd, Serialize, Deserialize)]
#[serde(try_from = "f64")]
pub struct Probability(f64);

impl Instant {
    /// The start of the clock.
    pub const ZERO: Instant = Instant(0);
    /// Later than every deadline.
    pub const FAR_FUTURE: Instant = Instant(u64::MAX);

    /// `ns` nanoseconds after the start.
    pub const fn from_nanos(ns: u64) -> Self {
        Instant(ns)
    }

    /// Nanoseconds since the start.
    pub const fn as_nanos(self) -> u64 {
        self.0
    }

    /// Seconds since the start.
    pub fn as_secs_f64(self) -> f64 {
        self.0 as f64 / NANOS as f64
    }

    /// Time since `earlier`, zero if `earlier` lies ahead.
    pub const fn saturating_since(self, earlier: Instant) -> Duration {
        Duration(self.0.saturating_sub(earlier.0))
    }
}

impl Duration {
    /// No time at all.
    pub const ZERO: Duration = Duration(0);

    /// From nanoseconds.
    pub const fn from_nanos(ns: u64) -> Self {
        Duration(ns)
    }

    /// From microseconds.
    pub const fn from_micros(us: u64) -> Self {
        Duration(us * 1_000)
    }

    /// From milliseconds.
    pub const fn from_millis(ms: u64) -> Self {
        Duration(ms * 1_000_000)
    }

    /// From whole seconds.
    pub const fn from_secs(s: u64) -> Self {
        Duration(s * NANOS)
    }

    /// From seconds, rounded to the nearest nanosecond; negative values become zero.
    pub fn from_secs_f64(s: f64) -> Self {
        Duration((s * NANOS as f64).round() as u64)
    }

    /// Nanoseconds.
    pub const fn as_nanos(self) -> u64 {
        self.0
    }

    /// Seconds.
    pub fn as_secs_f64(self) -> f64 {
        self.0 as f64 / NANOS as f64
    }

    /// The difference, zero if `other` is longer.
    #[must_use]
    pub const fn saturating_sub(self, other: Duration) -> Duration {
        Duration(self.0.saturating_sub(other.0))
    }

    /// How many whole `step`s fit; `step` must not be zero.
    pub const fn div_floor(self, step: Duration) -> u64 {
        self.0 / step.0
    }

    /// Rounded up to a whole number of `step`s.
    #[must_use]
    pub const fn round_up_to(self, step: Duration) -> Duration {
        Duration(self.0.div_ceil(step.0) * step.0)
    }
}

impl Bytes {
    /// `n` bytes.
    pub const fn new(n: u64) -> Self {
        Bytes(n)
    }

    /// Eight times the bytes.
    pub const fn as_bits(self) -> u64 {
        self.0 * 8
    }

    /// Time to send these bytes at `rate`, rounded up to a nanosecond.
    pub const fn time_at(self, rate: Bitrate) -> Duration {
        bits_at(self.as_bits(), rate)
    }
}

/// Time to send `bits` at `rate`, rounded up to a nanosecond. `rate` must not be zero.
pub const fn bits_at(bits: u64, rate: Bitrate) -> Duration {
    match bits.checked_mul(NANOS) {
        // Nearly always, and several times as fast as the division of longer numbers.
        Some(numerator) => Duration(numerator.div_ceil(rate.0)),
        None => Duration((bits as u128 * NANOS as u128).div_ceil(rate.0 as u128) as u64),
    }
}

impl Bitrate {
    /// From bit/s.
    pub const fn from_bps(bps: u64) -> Self {
        Bitrate(bps)
    }

    /// From whole Mbit/s.
    pub const fn mbps(mbps: u64) -> Self {
        Bitrate(mbps * 1_000_000)
    }

    /// bit/s.
    pub const fn as_bps(self) -> u64 {
        self.0
    }

    /// To so many significant digits, for a text: a rate that was measured over a second has no more.
    #[must_use]
    pub const fn rounded(self, digits: u32) -> Bitrate {
        let excess = match self.0.checked_ilog10() {
            Some(last) if last >= digits => 10_u64.pow(last + 1 - digits),
            _ => 1,
        };
        Bitrate((self.0 / excess + self.0 % excess * 2 / excess) * excess)
    }

    /// Whole bytes that pass in `time`, rounded down.
    pub const fn bytes_in(self, time: Duration) -> Bytes {
        match self.0.checked_mul(time.0) {
            Some(numerator) => Bytes(numerator / (8 * NANOS)),
            None => Bytes((self.0 as u128 * time.0 as u128 / (8 * NANOS as u128)) as u64),
        }
    }
}

impl Probability {
    /// Never.
    pub const ZERO: Probability = Probability(0.0);

    /// `None` outside `[0, 1]` or when not a number.
    pub fn new(p: f64) -> Option<Self> {
        (0.0..=1.0).contains(&p).then_some(Probability(p))
    }

    /// The value in `[0, 1]`.
    pub const fn get(self) -> f64 {
        self.0
    }

    /// The probability that neither of two independent events is absent: `1 - (1-p)(1-q)`.
    #[must_use]
    pub fn or(self, other: Probability) -> Probability {
        Probability(1.0 - (1.0 - self.0) * (1.0 - other.0))
    }
}

impl TryFrom<f64> for Probability {
    type Error = String;

    fn try_from(p: f64) -> Result<Self, String> {
        Probability::new(p).ok_or_else(|| format!("{p} is no probability: write a number from 0 to 1"))
    }
}

/// The sum of two of a type is that of each field.
macro_rules! sums {
    ($($sum:ident { $($field:tt),* $(,)? })*) => {$(
        impl std::ops::Add for $sum {
            type Output = $sum;

            fn add(self, other: $sum) -> $sum {
                $sum { $($field: self.$field + other.$field),* }
            }
        }

        impl std::ops::AddAssign for $sum {
            fn add_assign(&mut self, other: $sum) {
                $(self.$field += other.$field;)*
            }
        }
    )*};
}
pub(crate) use sums;

sums! { Duration { 0 } Bytes { 0 } }

impl Add<Duration> for Instant {
    type Output = Instant;
    fn add(self, d: Duration) -> Instant {
        Instant(self.0 + d.0)
    }
}

impl AddAssign<Duration> for Instant {
    fn add_assign(&mut self, d: Duration) {
        self.0 += d.0;
    }
}

impl Sub for Instant {
    type Output = Duration;
    /// Panics when `earlier` lies ahead: a negative duration is a bug of the caller.
    fn sub(self, earlier: Instant) -> Duration {
        Duration(self.0.checked_sub(earlier.0).expect("an Instant was subtracted from an earlier one"))
    }
}

impl Sub for Duration {
    type Output = Duration;
    fn sub(self, d: Duration) -> Duration {
        Duration(self.0.checked_sub(d.0).expect("a Duration would be negative"))
    }
}

impl Mul<u64> for Duration {
    type Output = Duration;
    fn mul(self, n: u64) -> Duration {
        Duration(self.0 * n)
    }
}

impl SubAssign for Bytes {
    fn sub_assign(&mut self, b: Bytes) {
        self.0 -= b.0;
    }
}

impl fmt::Display for Duration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            0 => write!(f, "0 s"),
            ns if ns % NANOS == 0 => write!(f, "{} s", ns / NANOS),
            ns if ns % 1_000_000 == 0 => write!(f, "{} ms", ns / 1_000_000),
            ns if ns % 1_000 == 0 => write!(f, "{} us", ns / 1_000),
            ns => write!(f, "{ns} ns"),
        }
    }
}

impl fmt::Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} B", self.0)
    }
}

impl fmt::Display for Bitrate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (unit, name, decimals) = match self.0 {
            1_000_000.. => (1_000_000, "Mbit/s", 6),
            1_000.. => (1_000, "kbit/s", 3),
            _ => (1, "bit/s", 0),
        };
        let (whole, rest) = (self.0 / unit, self.0 % unit);
        if rest == 0 {
            return write!(f, "{whole} {name}");
        }
        let fraction = format!("{rest:0decimals$}");
        write!(f, "{whole}.{} {name}", fraction.trim_end_matches('0'))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rate_for_a_text_has_the_digits_that_were_measured() {
        let told = |bps, digits| Bitrate::from_bps(bps).rounded(digits).to_string();
        let all =
            [told(4_987_654, 3), told(4_987_654, 4), told(999_960, 3), told(123_456, 3), told(847, 3), told(0, 3)];
        assert_eq!(all, ["4.99 Mbit/s", "4.988 Mbit/s", "1 Mbit/s", "123 kbit/s", "847 bit/s", "0 bit/s"]);
    }

    #[test]
    fn sending_time_rounds_up_and_bytes_in_time_round_down() {
        // 1536 B at 11 Mbit/s last 1117.09 us: the last bit counts.
        assert_eq!(Bytes(1536).time_at(Bitrate::mbps(11)), Duration::from_nanos(1_117_091));
        assert_eq!(Bitrate::mbps(11).bytes_in(Duration::from_nanos(1_117_090)), Bytes(1535));
        assert_eq!(Bitrate::mbps(11).bytes_in(Duration::from_nanos(1_117_091)), Bytes(1536));
    }

    #[test]
    fn display_picks_the_unit_that_has_no_fraction() {
        assert_eq!(Duration::from_millis(200).to_string(), "200 ms");
        assert_eq!(Duration::from_micros(1310).to_string(), "1310 us");
        assert_eq!(Bitrate::from_bps(5_500_000).to_string(), "5.5 Mbit/s");
    }

    #[test]
    fn probability_refuses_what_is_none() {
        assert!(Probability::new(1.01).is_none());
        assert!(Probability::new(f64::NAN).is_none());
        let p = Probability::new(0.2).unwrap().or(Probability::new(0.5).unwrap());
        assert!((p.get() - 0.6).abs() < 1e-12);
    }

    #[test]
    #[should_panic(expected = "earlier")]
    fn negative_spans_are_bugs() {
        let _ = Instant::from_nanos(1) - Instant::from_nanos(2);
    }
}
