//! State of flows by opaque id, which forgets flows that fell silent.

use std::collections::BTreeMap;

use crate::packet::FlowId;
use crate::units::{Duration, Instant};

/// A small map from flows to `S`. Ids may be sparse (the live path hashes 5-tuples into them).
///
/// A flow's state goes at the first sweep after it was silent for `idle`; sweeps are `idle` apart, so that
/// the table never holds more than the flows of two such spans.
#[derive(Debug)]
pub(super) struct FlowTable<S> {
    flows: BTreeMap<FlowId, (Instant, S)>,
    idle: Duration,
    swept_at: Instant,
}

impl<S: Default> FlowTable<S> {
    pub(super) fn new(idle: Duration) -> Self {
        FlowTable { flows: BTreeMap::new(), idle, swept_at: Instant::ZERO }
    }

    /// The state of `flow`, fresh if it is new or was forgotten; the flow counts as heard of `now`.
    pub(super) fn touch(&mut self, now: Instant, flow: FlowId) -> &mut S {
        self.sweep(now);
        let (seen_at, state) = self.flows.entry(flow).or_insert_with(|| (now, S::default()));
        *seen_at = now;
        state
    }

    /// The states of flows that are not forgotten, with the time for which they have been silent.
    pub(super) fn iter_mut(&mut self, now: Instant) -> impl Iterator<Item = (Duration, &mut S)> {
        self.flows.values_mut().map(move |(seen_at, state)| (now.saturating_since(*seen_at), state))
    }

    fn sweep(&mut self, now: Instant) {
        if now.saturating_since(self.swept_at) > self.idle {
            self.swept_at = now;
            let idle = self.idle;
            self.flows.retain(|_, (seen_at, _)| now.saturating_since(*seen_at) <= idle);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn silent_flows_are_forgotten_and_talking_ones_kept() {
        let at = |ms| Instant::ZERO + Duration::from_millis(ms);
        let mut table: FlowTable<u32> = FlowTable::new(Duration::from_millis(100));
        *table.touch(at(0), FlowId(7)) = 1;
        *table.touch(at(0), FlowId(u32::MAX)) = 2;
        *table.touch(at(90), FlowId(7)) += 10;
        table.touch(at(150), FlowId(1));
        let left: Vec<(Duration, u32)> = table.iter_mut(at(150)).map(|(silent, state)| (silent, *state)).collect();
        assert_eq!(left, [(Duration::ZERO, 0), (Duration::from_millis(60), 11)]);
    }
}
