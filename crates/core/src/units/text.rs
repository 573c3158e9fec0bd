//! Quantities as text: `"180 s"`, `"1460 B"`, `"5.5 Mbit/s"`.
//!
//! One grammar for scenario files, the command line and serde: a decimal number, an optional space, a unit.
//! Reading is exact: a text that is no whole number of nanoseconds, bytes or bit/s is refused rather than
//! rounded, so that what `Display` writes always reads back as the same value.

use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

use super::{Bitrate, Bytes, Duration};

/// Why a text is not the quantity that it should be.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{problem}; {fix}")]
pub struct QuantityError {
    /// What is wrong.
    pub problem: String,
    /// What to write instead.
    pub fix: String,
}

impl QuantityError {
    /// A problem and its remedy.
    pub fn new(problem: impl Into<String>, fix: impl Into<String>) -> Self {
        QuantityError { problem: problem.into(), fix: fix.into() }
    }
}

/// What the grammar knows of a unit type.
pub(crate) trait Quantity: Sized {
    /// With its article: "a duration".
    const NOUN: &'static str;
    /// A good text.
    const EXAMPLE: &'static str;
    /// The unit that a bare number most likely meant.
    const USUAL: &'static str;
    /// Unit and how many base units it is.
    const UNITS: &'static [(&'static str, u64)];
    /// Misspellings in lower case, and the unit that they mean.
    const ALIASES: &'static [(&'static str, &'static str)];

    /// From nanoseconds, bytes or bit/s.
    const OF_BASE: fn(u64) -> Self;

    /// Reads `text` by the grammar above.
    fn read(text: &str) -> Result<Self, QuantityError> {
        let (number, unit) = split(text.trim(), Self::EXAMPLE)?;
        if unit.is_empty() {
            let fix = format!("write \"{} {}\"", clip(number), Self::USUAL);
            return Err(QuantityError::new(format!("{} has no unit", quote(number)), fix));
        }
        let Some(&(_, factor)) = Self::UNITS.iter().find(|(name, _)| *name == unit) else {
            return Err(unknown_unit::<Self>(number, unit));
        };
        scale(number, factor, unit).map(Self::OF_BASE)
    }
}

impl Quantity for Duration {
    const NOUN: &'static str = "a duration";
    const EXAMPLE: &'static str = "180 s";
    const USUAL: &'static str = "s";
    const UNITS: &'static [(&'static str, u64)] = &[
        ("ns", 1),
        ("us", 1_000),
        ("ms", 1_000_000),
        ("s", super::NANOS),
        ("min", 60 * super::NANOS),
        ("h", 3600 * super::NANOS),
    ];
    const ALIASES: &'static [(&'static str, &'static str)] = &[
        ("sec secs second seconds", "s"),
        ("msec msecs millisecond milliseconds", "ms"),
        ("usec usecs \u{b5}s \u{3bc}s microsecond microseconds", "us"),
        ("nsec nanosecond nanoseconds", "ns"),
        ("m mins minute minutes", "min"),
        ("hr hrs hour hours", "h"),
    ];
    const OF_BASE: fn(u64) -> Self = Duration::from_nanos;
}

impl Quantity for Bytes {
    const NOUN: &'static str = "a size";
    const EXAMPLE: &'static str = "1460 B";
    const USUAL: &'static str = "B";
    const UNITS: &'static [(&'static str, u64)] =
        &[("B", 1), ("kB", 1_000), ("KiB", 1 << 10), ("MB", 1_000_000), ("MiB", 1 << 20)];
    const ALIASES: &'static [(&'static str, &'static str)] = &[
        ("b byte bytes octets", "B"),
        ("k kb kbyte kbytes", "kB"),
        ("kib", "KiB"),
        ("m mb mbyte mbytes", "MB"),
        ("mib", "MiB"),
    ];
    const OF_BASE: fn(u64) -> Self = Bytes::new;
}

impl Quantity for Bitrate {
    const NOUN: &'static str = "a rate";
    const EXAMPLE: &'static str = "11 Mbit/s";
    const USUAL: &'static str = "Mbit/s";
    const UNITS: &'static [(&'static str, u64)] =
        &[("bit/s", 1), ("kbit/s", 1_000), ("Mbit/s", 1_000_000), ("Gbit/s", 1_000_000_000)];
    const ALIASES: &'static [(&'static str, &'static str)] = &[
        ("bps b/s bit bits/s", "bit/s"),
        ("k kb kbps kb/s kbit", "kbit/s"),
        ("m mb mbps mb/s mbit mbit/sec mb/sec", "Mbit/s"),
        ("g gb gbps gb/s gbit", "Gbit/s"),
    ];
    const OF_BASE: fn(u64) -> Self = Bitrate::from_bps;
}

/// Whether `c` is not seen but changes what is: control characters, separators of lines and paragraphs, and Unicode's format
/// characters (category Cf), which turn the direction of a line or hide in a name.
pub(crate) fn is_invisible(c: char) -> bool {
    c.is_control()
        || matches!(c,
            '\u{ad}' | '\u{600}'..='\u{605}' | '\u{61c}' | '\u{6dd}' | '\u{70f}' | '\u{890}'..='\u{891}' | '\u{8e2}' | '\u{180e}'
            | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}'
            | '\u{110bd}' | '\u{110cd}' | '\u{13430}'..='\u{1343f}' | '\u{1bca0}'..='\u{1bca3}' | '\u{1d173}'..='\u{1d17a}'
            | '\u{e0001}' | '\u{e0020}'..='\u{e007f}')
}

/// `text` for a message: without control characters and not longer than a line.
pub(crate) fn clip(text: &str) -> String {
    const LONGEST: usize = 40;
    let mut shown: String = text.chars().take(LONGEST).flat_map(char::escape_debug).collect();
    if text.chars().nth(LONGEST).is_some() {
        shown.push_str("...");
    }
    shown
}

/// [`clip`] between backquotes.
pub(crate) fn quote(text: &str) -> String {
    format!("`{}`", clip(text))
}

/// The number and the unit of `text`.
fn split<'a>(text: &'a str, example: &str) -> Result<(&'a str, &'a str), QuantityError> {
    if text.starts_with('-') {
        let fix = format!("write a positive value such as \"{example}\"");
        return Err(QuantityError::new(format!("{} is negative", quote(text)), fix));
    }
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (number, unit) = text.split_at(end);
    let starts_number = number.starts_with(|c: char| c.is_ascii_digit());
    let digits_both_sides = starts_number && !number.ends_with('.') && number.matches('.').count() <= 1;
    let goes_on = unit.starts_with([',', '_', '+'])
        || (unit.starts_with(['e', 'E'])
            && unit[1..].starts_with(|c: char| c.is_ascii_digit() || c == '-' || c == '+'));
    if !digits_both_sides || goes_on {
        let has_exponent = digits_both_sides && unit.starts_with(['e', 'E']);
        let problem = if has_exponent { "has an exponent" } else { "does not begin with a number" };
        let fix = format!("write digits, at most one decimal point and a unit, such as \"{example}\"");
        return Err(QuantityError::new(format!("{} {problem}", quote(text)), fix));
    }
    Ok((number, unit.trim_start()))
}

/// The error for a unit that `Q` does not have, with the one that was probably meant.
fn unknown_unit<Q: Quantity>(number: &str, unit: &str) -> QuantityError {
    let problem = format!("{} is no unit of {}", quote(unit), Q::NOUN);
    let known = Q::UNITS.iter().map(|(name, _)| *name).collect::<Vec<_>>().join(", ");
    // "MB/s" are bytes a second: to guess bits would be wrong by a factor of eight.
    let bytes_a_second = unit.contains("B/") || unit.contains("Bp");
    let lower = unit.to_lowercase();
    let meant = Q::ALIASES
        .iter()
        .find(|(aliases, _)| aliases.split(' ').any(|alias| alias == lower))
        .map(|(_, right)| *right)
        .or_else(|| Q::UNITS.iter().map(|(name, _)| *name).find(|name| name.to_lowercase() == lower))
        .filter(|_| !bytes_a_second);
    let fix = match meant {
        Some(right) => format!("write \"{} {right}\" (units: {known})", clip(number)),
        None => format!("write for example \"{}\" (units: {known})", Q::EXAMPLE),
    };
    QuantityError { problem, fix }
}

/// `number * factor`, exactly.
fn scale(number: &str, factor: u64, unit: &str) -> Result<u64, QuantityError> {
    // Longer numbers cannot be exact or cannot fit; below, nothing overflows 128 bits.
    const MOST_DIGITS: usize = 20;
    let shown = format!("`{} {unit}`", clip(number));
    let too_large = || QuantityError::new(format!("{shown} is too large"), "write a smaller value");
    let too_fine = || {
        let fix = "write fewer decimals: times are whole nanoseconds, sizes whole bytes, rates whole bit/s";
        QuantityError::new(format!("{shown} has more digits than can be kept"), fix)
    };
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    let (whole, fraction) = (whole.trim_start_matches('0'), fraction.trim_end_matches('0'));
    if whole.len() > MOST_DIGITS {
        return Err(too_large());
    }
    if fraction.len() > MOST_DIGITS {
        return Err(too_fine());
    }
    let parse = |digits: &str| if digits.is_empty() { Ok(0) } else { digits.parse::<u128>() };
    let whole = parse(whole).map_err(|_| too_large())?;
    let numerator = parse(fraction).map_err(|_| too_fine())? * u128::from(factor);
    let denominator = 10_u128.pow(fraction.len() as u32);
    if numerator % denominator != 0 {
        return Err(too_fine());
    }
    u64::try_from(whole * u128::from(factor) + numerator / denominator).map_err(|_| too_large())
}

macro_rules! as_text {
    ($($quantity:ty),*) => {$(
        impl FromStr for $quantity {
            type Err = QuantityError;

            fn from_str(text: &str) -> Result<Self, QuantityError> {
                <$quantity as Quantity>::read(text)
            }
        }

        impl Serialize for $quantity {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        }

        impl<'de> Deserialize<'de> for $quantity {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                String::deserialize(deserializer)?.parse().map_err(de::Error::custom)
            }
        }
    )*};
}

as_text!(Duration, Bytes, Bitrate);

/// Whether a value is the usual one, which results and logs leave out.
pub(crate) fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

/// The one spelling of a value of an enumeration, for files, tables, texts and metrics alike: that of JSON.
pub fn word(value: &impl serde::Serialize) -> String {
    match serde_json::to_value(value) {
        Ok(serde_json::Value::String(word)) => word,
        other => other.map(|value| value.to_string()).unwrap_or_default(),
    }
}

/// `1 station`, `2 stations`, `3 classes`: `count` and the right form of `noun`, which is given in the singular.
pub fn plural(count: usize, noun: &str) -> String {
    let ending = match count {
        1 => "",
        _ if noun.ends_with('s') => "es",
        _ => "s",
    };
    format!("{count} {noun}{ending}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_count_has_the_right_form_of_its_noun() {
        let told = [plural(0, "pool"), plural(1, "pool"), plural(2, "pool"), plural(1, "class"), plural(7, "class")];
        assert_eq!(told, ["0 pools", "1 pool", "2 pools", "1 class", "7 classes"]);
    }

    fn fix<T: FromStr<Err = QuantityError> + std::fmt::Debug>(text: &str) -> String {
        text.parse::<T>().unwrap_err().to_string()
    }

    #[test]
    fn quantities_are_read_exactly() {
        assert_eq!("180 s".parse(), Ok(Duration::from_secs(180)));
        assert_eq!("0.5ms".parse(), Ok(Duration::from_micros(500)));
        assert_eq!("1.5 h".parse(), Ok(Duration::from_secs(5400)));
        assert_eq!(" 2 min ".parse(), Ok(Duration::from_secs(120)));
        assert_eq!("18446744073709551615 ns".parse(), Ok(Duration::from_nanos(u64::MAX)));
        assert_eq!("1.5 KiB".parse(), Ok(Bytes(1536)));
        assert_eq!("5.5 Mbit/s".parse(), Ok(Bitrate::from_bps(5_500_000)));
        assert_eq!("0 bit/s".parse(), Ok(Bitrate::from_bps(0)));
    }

    #[test]
    fn refusals_say_what_to_write() {
        for (text, expected) in [
            ("11 Mbps", "write \"11 Mbit/s\""),
            ("11 Mb", "write \"11 Mbit/s\""),
            ("11 mbit/s", "write \"11 Mbit/s\""),
            ("11", "write \"11 Mbit/s\""),
            ("11 MB/s", "write for example \"11 Mbit/s\""),
            ("-1 Mbit/s", "negative"),
            ("NaN Mbit/s", "does not begin with a number"),
            ("inf", "does not begin with a number"),
            ("1e6 bit/s", "has an exponent"),
            ("1,5 Mbit/s", "does not begin with a number"),
            (".5 Mbit/s", "does not begin with a number"),
            ("1.2.3 Mbit/s", "does not begin with a number"),
            ("", "does not begin with a number"),
            ("99999999999999999999 Gbit/s", "too large"),
            ("9999999999999999999999999 bit/s", "too large"),
            ("0.5 bit/s", "fewer decimals"),
        ] {
            assert!(fix::<Bitrate>(text).contains(expected), "{text}: {}", fix::<Bitrate>(text));
        }
        assert!(fix::<Duration>("5 sec").contains("write \"5 s\""));
        assert!(fix::<Duration>("5 \u{b5}s").contains("write \"5 us\""));
        assert!(fix::<Bytes>("1460 bytes").contains("write \"1460 B\""));
    }

    #[test]
    fn what_display_writes_reads_back_the_same() {
        let mut value = 1_u64;
        for step in 0..20_000_u64 {
            value = value.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(step);
            let n = value >> (step % 64);
            assert_eq!(Duration::from_nanos(n).to_string().parse(), Ok(Duration::from_nanos(n)));
            assert_eq!(Bytes(n).to_string().parse(), Ok(Bytes(n)));
            assert_eq!(Bitrate::from_bps(n).to_string().parse(), Ok(Bitrate::from_bps(n)));
        }
    }
}
