//! Probes on the way: numbers, times, losses.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};

use super::ControlStats;
use crate::packet::NodeId;
use crate::units::{Bytes, Duration, Instant};

/// An echo request to send now, past the shaper.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Probe {
    /// Whom to ask.
    pub station: NodeId,
    /// Comes back in the reply.
    pub id: u64,
}

/// A probe that may still be answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Outstanding {
    pub(super) id: u64,
    /// Position of the station.
    pub(super) station: usize,
    pub(super) sent_at: Instant,
    /// IP bytes that the box had let pass down when it left.
    pub(super) down: Bytes,
}

/// Keeps the probes that are on the way, the oldest first.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Prober {
    timeout: Duration,
    next_id: u64,
    outstanding: VecDeque<Outstanding>,
    to_send: VecDeque<Probe>,
    pub(super) stats: ControlStats,
}

impl Prober {
    /// A probe that is not back after `timeout` is lost.
    pub(super) fn new(timeout: Duration) -> Self {
        Prober { timeout, ..Prober::default() }
    }

    /// Sends a probe to the station at position `station`.
    pub(super) fn send(&mut self, now: Instant, station: usize, down: Bytes) {
        let id = self.next_id;
        self.next_id += 1;
        self.stats.probes += 1;
        self.outstanding.push_back(Outstanding { id, station, sent_at: now, down });
        self.to_send.push_back(Probe { station: NodeId::station(station), id });
    }

    pub(super) fn poll_probe(&mut self) -> Option<Probe> {
        self.to_send.pop_front()
    }

    /// The probe that `id` answers, unless it is unknown or was given up.
    pub(super) fn take(&mut self, id: u64) -> Option<Outstanding> {
        let position = self.outstanding.iter().position(|probe| probe.id == id)?;
        self.stats.replies += 1;
        self.outstanding.remove(position)
    }

    /// The oldest probe on the way of those that left after `sent_at`.
    pub(super) fn oldest_after(&self, sent_at: Instant) -> Option<Outstanding> {
        self.outstanding.iter().find(|probe| probe.sent_at > sent_at).copied()
    }

    /// When the oldest probe is given up.
    pub(super) fn deadline(&self) -> Option<Instant> {
        self.outstanding.front().map(|probe| probe.sent_at + self.timeout)
    }

    /// A probe that is lost by `now`.
    pub(super) fn poll_lost(&mut self, now: Instant) -> Option<Outstanding> {
        let timeout = self.timeout;
        let lost = self.outstanding.pop_front_if(|probe| probe.sent_at + timeout <= now)?;
        self.stats.lost += 1;
        Some(lost)
    }

    /// Nothing is on the way.
    pub(super) fn is_idle(&self) -> bool {
        self.outstanding.is_empty()
    }
}
