//! What the operator is told of a pool's C, and what to do.

use std::cmp::Ordering;

use fairair_core::control::{CapacityParams, Verdict};
use fairair_core::units::{Bitrate, Duration, Instant};

use super::PoolControl;
use crate::enforce::daemon::strangers::STRANGERS;
use crate::enforce::daemon::why::MEASURED;

/// What the cell is said to carry is above C by more than this factor only after another C that was too high.
const STILL: f64 = 1.03;
/// All of C passes, but for this share.
const WHOLE: f64 = 0.97;
/// Rates that are shown are of so long at most: the span of `Rates` and the time between two looks.
const MEANS: Duration = Duration::from_millis(1500);
/// What a fixed C should be, as a share of what the cell carries.
const BELOW: f64 = 0.95;

impl PoolControl {
    /// What is wrong with `c`, which is C, and what to do.
    pub(in crate::enforce::daemon) fn trouble(&self, c: Bitrate) -> Option<String> {
        let c = self.without_trials(c);
        if self.strangers.last {
            return Some(format!("{STRANGERS}: nobody can be asked whether C = {c} is right"));
        }
        Some(match (self.verdict?, self.params) {
            // What it takes is not the cell's to carry for others, and a smaller C leaves it more.
            (Verdict::Elsewhere(rate), CapacityParams::Fixed { .. }) if self.is_passed_by => format!(
                "C = {c} is more than uplink UDP, which passes the box by, leaves of the cell, about {0}: the queue stands there and the box \
                 divides nothing. No C holds that UDP back: `fairair vsb explain` names who sends it",
                rate.rounded(MEASURED)
            ),
            (Verdict::Elsewhere(rate), CapacityParams::Fixed { .. })
                if rate.as_bps() as f64 > STILL * c.as_bps() as f64 =>
            {
                format!(
                    "whether C = {c} is low enough is not known yet: the one before was too high, and about {} passed, with what the access \
                 point dropped. Wait: some seconds of traffic decide",
                    rate.rounded(MEASURED)
                )
            }
            (Verdict::Elsewhere(rate), CapacityParams::Fixed { .. }) => {
                let less = Bitrate::from_bps((rate.as_bps() as f64 * BELOW) as u64).rounded(MEASURED);
                let about = rate.rounded(MEASURED);
                // All of C passes, packets wait in the box, and in the cell, too.
                let finding = if rate.as_bps() as f64 > WHOLE * c.as_bps() as f64 {
                    format!(
                        "C = {c} is all that the cell carries, or more: a queue stands there, too, and where that is the longer one the box \
                         divides nothing"
                    )
                } else {
                    format!(
                        "C = {c} is above what the cell carries, about {about}: the queue stands there and the box divides nothing"
                    )
                };
                format!(
                    "{finding}. Write capacity = \"{less}\" or less, reload, and look again after half a minute of traffic; or write \
                     capacity = {{ kind = \"adaptive\", max = \"{c}\" }}. C may be right if only slower hops limit all stations that \
                     have traffic now: repeaters, or the Internet link (see [wan])"
                )
            }
            (Verdict::Elsewhere(rate), _) => format!(
                "stations compete for about {0} and C is {c}: the queue stands elsewhere and the box divides nothing. \
                 If it stands in the cell write a `max` below {0}; else in the uplink, which then limits all",
                rate.rounded(MEASURED)
            ),
            (Verdict::Blind, CapacityParams::Fixed { .. }) => format!(
                "C = {c} is not used up, nothing waits for it, and none of the stations that send answers a probe: whether they ask for no more \
                 or wait in a queue elsewhere, which the box does not divide, is not known. Let stations answer ping"
            ),
            (Verdict::Blind, _) => format!(
                "stations send and none answers a probe: C = {c} follows only what waits in the box, so a faster cell \
                 is noticed late. Let stations answer ping, or write a fixed capacity"
            ),
            (Verdict::Silent, _) => format!(
                "packets go down and nothing comes up from any station: the access point or its radio may be down. C = {c} stays until \
                 somebody answers"
            ),
        })
    }

    /// That a trial changes a fixed C to `c` now, or did so while the rates were measured that are shown.
    pub(in crate::enforce::daemon) fn trial(&self, now: Instant, c: Bitrate) -> Option<String> {
        let (CapacityParams::Fixed { rate }, Some(at)) = (self.params, self.tried) else { return None };
        let shown = c.rounded(MEASURED + 1);
        let what = match c.cmp(&rate) {
            Ordering::Less => format!("C = {rate} is lowered to {shown} for a moment, for a trial"),
            Ordering::Greater => format!("C = {rate} is raised to {shown} for a moment, for a trial"),
            Ordering::Equal if now < at + MEANS => format!("C was not {rate} until a moment ago, for a trial"),
            Ordering::Equal => return None,
        };
        Some(format!("{what}: rates are means of the last second, and may be of another C in part"))
    }

    /// C, where `c` is what it is at the moment: a trial lowers or raises it for a second.
    fn without_trials(&self, c: Bitrate) -> Bitrate {
        match self.params {
            CapacityParams::Fixed { rate } => rate,
            _ => self.capacity.settled().map_or(c, |kept| kept.capacity).rounded(MEASURED + 1),
        }
    }

    /// That the cell carries more than `c`, which is C, and what to do. The box divides all the same.
    pub(in crate::enforce::daemon) fn note(&self, now: Instant, c: Bitrate) -> Option<String> {
        let spare = self.capacity.spare(now)?.rounded(MEASURED);
        Some(match self.params {
            CapacityParams::Fixed { rate } => format!(
                "the cell carries more than C = {rate}: {spare} passed without a queue in it. Unless C is a limit on purpose write a \
                 larger capacity, or capacity = {{ kind = \"adaptive\", max = \"{}\" }}",
                Bitrate::from_bps(rate.as_bps() * 2)
            ),
            _ => format!(
                "C = {c} is `max`, packets wait for it and the cell has no queue: it carries more. Unless that is a limit on purpose \
                 write a larger `max`"
            ),
        })
    }
}
