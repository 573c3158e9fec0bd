//! One contender for the medium: its backoff, its windows, its retry stage. One a node with DCF.

use super::backoff::Windows;
use crate::rng::Rng;
use crate::units::{Duration, Instant};

/// Where a contender stands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Backoff {
    /// No countdown: after a long silence, or while its own frame is on the air.
    #[default]
    None,
    /// Its frame came when the medium was idle: it is sent at the slot boundary where the count begins, unless the
    /// medium gets busy before.
    Immediate,
    /// So many idle slots to go; the frame that waits, if there is one, is sent after them.
    Slots(u32),
}

/// A contender.
#[derive(Clone, Debug, Default)]
pub(super) struct Access {
    pub(super) backoff: Backoff,
    /// Whether it has something to send.
    pub(super) wants: bool,
    /// Failed attempts in a row: the stage of its window.
    pub(super) stage: u32,
    /// When the countdown goes on in the present idle period; holds while `epoch` is the medium's.
    pub(super) count_from: Instant,
    pub(super) epoch: u64,
    /// Its interframe space: DIFS, or AIFS of its category.
    pub(super) ifs: Duration,
    /// Slots that the end of the interframe space counts for: 1 under EDCA (802.11-2020 clause 10.23.2.4), 0 under DCF.
    first_slot: u64,
    windows: Windows,
    rng: Rng,
}

impl Access {
    /// A contender under DCF, or an access function of EDCA.
    pub(super) fn new(ifs: Duration, first_slot: u64, windows: Windows, rng: Rng) -> Self {
        Access { ifs, first_slot, windows, rng, ..Access::default() }
    }

    /// Draws the backoff before the next attempt.
    pub(super) fn draw_backoff(&mut self) {
        self.backoff = Backoff::Slots(self.windows.draw(self.stage, &mut self.rng));
    }

    /// When the countdown ends if the medium stays idle.
    pub(super) fn expiry(&self, slot: Duration) -> Instant {
        match self.backoff {
            Backoff::Slots(slots) => self.count_from + slot * u64::from(slots),
            Backoff::Immediate => self.count_from,
            Backoff::None => Instant::FAR_FUTURE,
        }
    }

    /// The medium became busy at `now`: keeps what is left of the countdown. A countdown that ran out with nothing to
    /// send is over; who meant to send without a countdown needs one now.
    pub(super) fn freeze(&mut self, now: Instant, slot: Duration) {
        match self.backoff {
            Backoff::None => {}
            Backoff::Immediate => self.draw_backoff(),
            Backoff::Slots(slots) => {
                let first = if now < self.count_from { 0 } else { self.first_slot };
                let elapsed = now.saturating_since(self.count_from).div_floor(slot) + first;
                let left = u64::from(slots).saturating_sub(elapsed) as u32;
                self.backoff = if left > 0 || self.wants { Backoff::Slots(left) } else { Backoff::None };
            }
        }
    }
}
