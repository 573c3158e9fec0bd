//! Traffic of stations that the box does not know.

use fairair_core::control::StationView;
use fairair_core::units::{Bytes, Duration, Instant};

/// What to say of such traffic.
pub(super) const STRANGERS: &str = "traffic passes and no station is known by its address (name stations with `addresses` in [[station]], or let \
                                    [discovery] find them: `neighbours`, `first_sight`)";
/// Less in a look than this is no load: two looks come in a second.
const LOAD: Bytes = Bytes(12_500);
/// Lasts so long before it is told.
const LASTS: Duration = Duration::from_secs(6);

/// Whether a load passes of which no station is known, so that the machine that sets C has nobody to ask.
#[derive(Clone, Debug, Default)]
pub(super) struct Strangers {
    passed: Bytes,
    since: Option<Instant>,
    /// It has lasted.
    pub(super) last: bool,
}

impl Strangers {
    /// A look: whether a station is known by its address, and what has passed.
    pub(super) fn look(&mut self, now: Instant, is_known: bool, views: &[StationView]) {
        let passed = Bytes(views.iter().map(|view| (view.totals.down + view.totals.up).0).sum());
        let before = std::mem::replace(&mut self.passed, passed);
        let is_load = !is_known && Bytes(passed.0.saturating_sub(before.0)) >= LOAD;
        self.since = is_load.then(|| self.since.unwrap_or(now));
        self.last = self.since.is_some_and(|since| since + LASTS <= now);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_load_of_strangers_is_told_after_some_seconds_and_no_longer_than_it_lasts() {
        let mut strangers = Strangers::default();
        let at = |half: u64| Instant::ZERO + Duration::from_millis(500 * half);
        let told: Vec<_> = (0..60_u64)
            .filter(|half| {
                // From 2 s on 1 Mbit/s, from 20 s on a station is known.
                let mut view = StationView::default();
                view.totals.down = Bytes(half.saturating_sub(4) * 62_500);
                strangers.look(at(*half), *half >= 40, &[view]);
                strangers.last
            })
            .collect();
        assert_eq!(told, (17..40).collect::<Vec<_>>());
    }
}
