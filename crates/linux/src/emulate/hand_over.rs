//! How late frames were handed over, in all and minute by minute.

use std::fs;

use fairair_core::qdisc::Histogram;
use fairair_core::units::{Duration, Instant};

const MINUTE: Duration = Duration::from_secs(60);

/// How late frames were handed over, and which could not be.
#[derive(Clone, Debug)]
pub struct HandOver {
    /// Hand-over less the scheduled time, after the warm-up.
    pub lateness: Histogram,
    /// The largest.
    pub worst: Duration,
    /// Frames handed over after the warm-up.
    pub frames: u64,
    /// Frames that a device refused: it was down.
    pub refused: u64,
    /// Processor time of the emulation.
    pub cpu: Duration,
    /// How long it ran.
    pub ran: Duration,
    /// The whole minutes after the warm-up: growth of lateness or memory would show here.
    pub minutes: Vec<Minute>,
    minute: Histogram,
    minute_worst: Duration,
    minute_frames: u64,
    minute_began: Instant,
}

/// A minute of the measured time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Minute {
    /// 99th percentile of the lateness; `None` without frames.
    pub p99: Option<Duration>,
    /// The largest.
    pub worst: Duration,
    /// Frames handed over.
    pub frames: u64,
    /// Resident memory of the process at its end, in bytes.
    pub resident: u64,
}

impl HandOver {
    /// Nothing yet; minutes are counted from `measure_from`.
    pub(super) fn new(measure_from: Instant) -> Self {
        HandOver {
            lateness: Histogram::enabled(),
            worst: Duration::ZERO,
            frames: 0,
            refused: 0,
            cpu: Duration::ZERO,
            ran: Duration::ZERO,
            minutes: Vec::new(),
            minute: Histogram::enabled(),
            minute_worst: Duration::ZERO,
            minute_frames: 0,
            minute_began: measure_from,
        }
    }

    /// A frame was handed over `late`.
    pub(super) fn record(&mut self, late: Duration) {
        self.lateness.record(late);
        self.worst = self.worst.max(late);
        self.frames += 1;
        self.minute.record(late);
        self.minute_worst = self.minute_worst.max(late);
        self.minute_frames += 1;
    }

    /// Closes the minute that is over at `now`, if one is.
    pub(super) fn tick(&mut self, now: Instant) {
        while now.saturating_since(self.minute_began) >= MINUTE {
            self.minute_began += MINUTE;
            self.minutes.push(Minute {
                p99: self.minute.quantile(0.99),
                worst: std::mem::take(&mut self.minute_worst),
                frames: std::mem::take(&mut self.minute_frames),
                resident: resident(),
            });
            self.minute.clear();
        }
    }
}

/// Resident memory of this process in bytes: `VmRSS` of /proc/self/status.
fn resident() -> u64 {
    let text = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kib = line.and_then(|line| line.split_whitespace().next()?.parse::<u64>().ok());
    kib.unwrap_or_default() * 1024
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_minute_is_judged_by_itself() {
        let second = |s| Instant::ZERO + Duration::from_secs(s);
        let mut hand_over = HandOver::new(second(10));
        hand_over.record(Duration::from_millis(9));
        hand_over.tick(second(69));
        assert_eq!(hand_over.minutes, []);
        hand_over.tick(second(70));
        hand_over.record(Duration::from_millis(1));
        hand_over.record(Duration::from_millis(2));
        hand_over.tick(second(190));
        let seen: Vec<_> = hand_over.minutes.iter().map(|minute| (minute.worst, minute.frames)).collect();
        let ms = Duration::from_millis;
        assert_eq!(seen, [(ms(9), 1), (ms(2), 2), (Duration::ZERO, 0)], "an idle minute counts too");
        assert_eq!(hand_over.minutes[2].p99, None);
        assert!(hand_over.minutes[0].resident > 100_000, "{:?}", hand_over.minutes[0]);
        assert_eq!((hand_over.frames, hand_over.worst), (3, ms(9)));
    }
}
