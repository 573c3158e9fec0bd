//! Log lines of stations that come and go.
//!
//! A flood of forged addresses changes hundreds of classes a second. The journal has a limit of its own; the system's log
//! gets a few of these lines a second and the number of the others.

use tracing::info;

/// Lines a second.
const LINES: u32 = 20;

/// Lines of this second, and those that were left out.
#[derive(Debug, Default)]
pub(super) struct StationLog {
    second: u64,
    lines: u32,
    left_out: u32,
}

impl StationLog {
    /// Whether a line may be written at `now_s`, in seconds since the start; otherwise it is counted.
    pub(super) fn has_room(&mut self, now_s: u64) -> bool {
        self.settle(now_s);
        let has_room = self.lines < LINES;
        self.lines += 1;
        self.left_out += u32::from(!has_room);
        has_room
    }

    /// Writes how many lines an earlier second left out: call once a second.
    pub(super) fn settle(&mut self, now_s: u64) {
        if let Some(count) = self.take(now_s) {
            info!("{count} more stations were found, moved or forgotten within a second; the journal names each");
        }
    }

    /// Begins the second `now_s`; answers what the one before left out, unless that is nothing.
    fn take(&mut self, now_s: u64) -> Option<u32> {
        if now_s == self.second {
            return None;
        }
        (self.second, self.lines) = (now_s, 0);
        Some(std::mem::take(&mut self.left_out)).filter(|count| *count > 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flood_writes_a_few_lines_a_second_and_its_number() {
        let mut log = StationLog::default();
        let written = (0..192).filter(|_| log.has_room(7)).count();
        assert_eq!(written, 20);
        assert_eq!((log.take(7), log.take(8), log.take(9)), (None, Some(172), None));
        assert!(log.has_room(9));
    }
}
