//! When flows come and go.

use std::ops::Range;

use super::Scenario;
use crate::units::Duration;

/// Most periods, so that a record of many flows, each with a start of its own, stays small.
const MOST: u32 = 20;
/// A shorter period is not one of its own.
const LEAST: Duration = Duration::from_secs(1);

impl Scenario {
    /// The measured time in periods in which the same flows are there, counted from the start of the run. What comes within a twentieth of
    /// it, or within a second, is one change.
    pub fn periods(&self) -> Vec<Range<Duration>> {
        let (from, to) = (self.run.warmup, self.run.duration);
        let least = Duration::from_nanos(to.saturating_sub(from).as_nanos() / u64::from(MOST)).max(LEAST);
        let mut changes: Vec<Duration> =
            self.flows().flat_map(|(_, flow)| std::iter::once(flow.start).chain(flow.stop)).collect();
        changes.sort_unstable();
        let (mut periods, mut begin) = (Vec::new(), from);
        for at in changes {
            if at >= begin + least && at + least <= to {
                periods.push(begin..at);
                begin = at;
            }
        }
        periods.push(begin..to);
        periods
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn periods(flows: &str) -> Vec<(u64, u64)> {
        let text = format!(
            "name = \"cell\"\n[run]\nduration = \"120 s\"\nwarmup = \"20 s\"\n[[station]]\nname = \"a\"\nflows = [{flows}]\n"
        );
        let scenario = Scenario::from_toml(&text, "cell.toml").unwrap();
        let whole = |at: Duration| at.as_nanos() / 1_000_000_000;
        scenario.periods().into_iter().map(|period| (whole(period.start), whole(period.end))).collect()
    }

    #[test]
    fn periods_begin_where_flows_come_and_go() {
        assert_eq!(periods("{ direction = \"up\" }"), [(20, 120)]);
        assert_eq!(
            periods("{ direction = \"up\", start = \"60 s\", stop = \"90 s\" }"),
            [(20, 60), (60, 90), (90, 120)]
        );
        assert_eq!(periods("{ direction = \"up\", start = \"10 s\", stop = \"119 s\" }"), [(20, 120)]);
        let many = (0..60).map(|n| format!("{{ direction = \"up\", start = \"{} s\" }}", 30 + n));
        assert_eq!(periods(&many.collect::<Vec<_>>().join(",")).len(), 13, "each is 5 s long, or what is left");
    }
}
