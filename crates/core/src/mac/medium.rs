//! Who holds the air: contention among all access functions of a cell, stepped once a round.
//!
//! Idle slots cost nothing: the shortest countdown decides when the medium is looked at again. All nodes are in
//! range of each other.

use super::access::{Access, Backoff};
use super::rules::{IdleAccess, Rules};
use crate::units::{Duration, Instant};

/// Position of an access function in [`Medium::accesses`].
pub(super) type AccessId = usize;

/// What the medium is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    /// Nobody sends; the first countdown of a function that wants to send ends at `attempt`.
    Idle { attempt: Instant },
    /// Frames of [`Medium::senders`] until `until`, the longest one's end.
    Frames { until: Instant },
    /// The answer to `sender` until `until`.
    Answer { sender: AccessId, until: Instant },
    /// `sender` holds the medium and sends at `until`.
    Pause { sender: AccessId, until: Instant },
}

/// Somebody on the air.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sender {
    pub(super) id: AccessId,
    /// End of its frame; its start until it is sent.
    pub(super) end: Instant,
}

/// The medium.
pub(super) struct Medium {
    pub(super) state: State,
    pub(super) accesses: Vec<Access>,
    /// Functions with a countdown, in no particular order.
    contenders: Vec<AccessId>,
    /// Since when those who heard the last exchange take the medium for idle: each counts down its own interframe space
    /// later. After a frame that they could not decode it is later than the frame's end (EIFS).
    idle_from: Instant,
    /// Until when something outside the cell holds the medium.
    silent_until: Instant,
    /// Numbers the idle periods.
    epoch: u64,
    /// Who sends now; more than one is a collision.
    pub(super) senders: Vec<Sender>,
    slot: Duration,
    rules: Rules,
}

impl Medium {
    /// An idle medium.
    pub(super) fn new(accesses: Vec<Access>, slot: Duration, rules: Rules) -> Self {
        Medium {
            state: State::Idle { attempt: Instant::FAR_FUTURE },
            contenders: Vec::with_capacity(accesses.len()),
            idle_from: Instant::ZERO,
            silent_until: Instant::ZERO,
            // Ahead of the functions' zero, which is no idle period.
            epoch: 1,
            senders: Vec::with_capacity(accesses.len()),
            accesses,
            slot,
            rules,
        }
    }

    /// When the medium is to be looked at; [`Instant::FAR_FUTURE`] when it waits for packets.
    #[inline]
    pub(super) fn timeout(&self) -> Instant {
        match self.state {
            State::Idle { attempt: at }
            | State::Frames { until: at }
            | State::Answer { until: at, .. }
            | State::Pause { until: at, .. } => at,
        }
    }

    /// Something outside the cell holds the medium until `until`.
    pub(super) fn silence(&mut self, now: Instant, until: Instant) {
        self.silent_until = self.silent_until.max(until);
        if matches!(self.state, State::Idle { .. }) {
            for id in &self.contenders {
                self.accesses[*id].freeze(now, self.slot);
            }
            self.contenders.retain(|id| self.accesses[*id].backoff != Backoff::None);
            self.epoch += 1;
            self.become_idle();
        }
    }

    /// Function `id` got something to send while it had nothing.
    pub(super) fn request(&mut self, now: Instant, id: AccessId) {
        let idle = matches!(self.state, State::Idle { .. });
        let heard = self.count_from_of(id);
        let access = &mut self.accesses[id];
        access.wants = true;
        // A post-backoff that ran out in the silence since is as good as none.
        let waiting = matches!(access.backoff, Backoff::Slots(_));
        if waiting && !(idle && access.expiry(self.slot) <= now) {
            self.schedule(id);
            return;
        }
        match self.rules.idle_access {
            IdleAccess::NextSlot if idle => {
                access.backoff = Backoff::Immediate;
                access.count_from = heard + now.saturating_since(heard).round_up_to(self.slot);
            }
            IdleAccess::ZeroCount if idle => {
                access.backoff = Backoff::Slots(0);
                let slots = if now > heard { now.saturating_since(heard).div_floor(self.slot) + 1 } else { 0 };
                access.count_from = heard + self.slot * slots;
            }
            IdleAccess::Backoff if idle => {
                access.draw_backoff();
                access.count_from = heard.max(now + access.ifs);
            }
            _ => access.draw_backoff(),
        }
        if idle {
            access.epoch = self.epoch;
        }
        if !waiting {
            self.contenders.push(id);
        }
        self.schedule(id);
    }

    /// When `id` may count in the present idle period.
    fn count_from_of(&self, id: AccessId) -> Instant {
        let access = &self.accesses[id];
        if access.epoch == self.epoch { access.count_from } else { self.idle_from + access.ifs }
    }

    /// `id` may be the next to send.
    fn schedule(&mut self, id: AccessId) {
        if let State::Idle { attempt } = &mut self.state {
            let access = &self.accesses[id];
            if access.wants {
                *attempt = access.expiry(self.slot).min(*attempt);
            }
        }
    }

    /// The shortest countdown is over: fills [`Self::senders`] with its owner and all whose countdown ends before they notice it, in the
    /// order of time.
    pub(super) fn seize(&mut self, now: Instant) {
        self.senders.clear();
        let noticed = now + self.rules.unnoticed;
        let mut i = 0;
        while i < self.contenders.len() {
            let id = self.contenders[i];
            let access = &mut self.accesses[id];
            let start = access.expiry(self.slot);
            if access.wants && (now..=noticed).contains(&start) {
                access.backoff = Backoff::None;
                self.senders.push(Sender { id, end: start });
            } else {
                access.freeze(noticed, self.slot);
            }
            if access.backoff == Backoff::None {
                self.contenders.swap_remove(i);
            } else {
                i += 1;
            }
        }
        if noticed > now {
            self.senders.sort_unstable_by_key(|sender| (sender.end, sender.id));
        }
    }

    /// An exchange has ended: those who heard it take the medium for idle from `idle_from` on.
    pub(super) fn release(&mut self, idle_from: Instant) {
        self.epoch += 1;
        self.idle_from = idle_from;
    }

    /// `id` draws its backoff and contends again.
    pub(super) fn contend(&mut self, id: AccessId) {
        self.accesses[id].draw_backoff();
        self.contenders.push(id);
    }

    /// `id` takes the medium for idle from `at` on, other than the rest, in the idle period that begins.
    pub(super) fn set_idle_from(&mut self, id: AccessId, at: Instant) {
        let access = &mut self.accesses[id];
        access.epoch = self.epoch;
        let from = if !self.rules.common_slots {
            at
        } else if at >= self.idle_from {
            self.idle_from + at.saturating_since(self.idle_from).round_up_to(self.slot)
        } else {
            let early = self.idle_from.saturating_since(at).div_floor(self.slot);
            Instant::from_nanos(self.idle_from.as_nanos() - (self.slot * early).as_nanos())
        };
        access.count_from = from + access.ifs;
    }

    /// The medium falls silent: all countdowns go on and the shortest one decides.
    pub(super) fn become_idle(&mut self) {
        self.idle_from = self.idle_from.max(self.silent_until);
        let mut attempt = Instant::FAR_FUTURE;
        for id in &self.contenders {
            let access = &mut self.accesses[*id];
            if access.epoch != self.epoch {
                access.epoch = self.epoch;
                access.count_from = self.idle_from + access.ifs;
            }
            access.count_from = access.count_from.max(self.silent_until + access.ifs);
            if access.wants {
                attempt = attempt.min(access.expiry(self.slot));
            }
        }
        self.state = State::Idle { attempt };
    }
}
