//! The scenario's timed events.

use super::{Cell, CellPacket};
use crate::scenario::Action;
use crate::units::Instant;

impl<P: CellPacket, T: Copy> Cell<'_, P, T> {
    /// Does what the timed event number `index` says.
    pub(super) fn perform(&mut self, now: Instant, index: usize) {
        let scenario = self.scenario;
        match &scenario.events[index].action {
            Action::Rate { stations, rate, tx } => {
                let tx = tx.unwrap_or(scenario.radio.tx(*rate));
                for station in stations {
                    self.txs[*station] = tx;
                    self.bss.set_tx(*station, tx);
                }
                self.reweigh(now);
            }
            Action::Silence { lasts } => self.bss.silence(now, now + *lasts),
            Action::Enforce { on } => self.switch_enforce(now, *on),
            action @ (Action::Deaf { .. } | Action::Sleep { .. }) => self.responders.change(action),
        }
    }
}
