//! `admission`: first in, first out behind random refusals (pokhrel2016 section 5).

use serde::{Deserialize, Serialize};

use super::{DropTail, Drops, Qdisc};
use crate::packet::{Class, DropReason, Packet};
use crate::rng::Rng;
use crate::units::{Instant, Probability};

/// Parameters of [`Admission`].
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct AdmissionParams {
    /// Most packets that wait, at least 1. Default 1000: the refusals are to bind, not the buffer.
    pub limit: usize,
    /// p_b: probability that an arrival is refused. Default 0.0684 (pokhrel2016 Table 4: one error in five frames,
    /// five uploads and five downloads, equal throughput).
    pub p_b: Probability,
    /// Which arrivals may be refused. Default `all` (pokhrel2016 section 5: "each arriving packet").
    pub applies_to: Refusable,
}

impl Default for AdmissionParams {
    fn default() -> Self {
        AdmissionParams {
            limit: 1000,
            p_b: Probability::new(0.0684).expect("a probability"),
            applies_to: Refusable::All,
        }
    }
}

/// Which arrivals [`Admission`] may refuse.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Refusable {
    /// All, as section 5 says.
    #[default]
    All,
    /// TCP data only: in the model (Eqs. 21-23) p_b touches downloads only.
    Data,
}

/// A FIFO that admits an arrival with probability `1 - p_b`.
#[derive(Debug)]
pub struct Admission<P> {
    params: AdmissionParams,
    rng: Rng,
    fifo: DropTail<P>,
}

impl<P> Admission<P> {
    /// An empty queue that draws from `rng`.
    pub fn new(params: AdmissionParams, rng: Rng) -> Self {
        Admission { params, rng, fifo: DropTail::new(params.limit) }
    }
}

impl<P: Packet + Send> Qdisc<P> for Admission<P> {
    fn enqueue(&mut self, now: Instant, packet: P, drops: &mut Drops<P>) {
        let refusable = self.params.applies_to == Refusable::All || packet.class() == Class::Data;
        if refusable && self.rng.chance(self.params.p_b.get()) {
            drops.push((packet, DropReason::Admission));
        } else {
            self.fifo.enqueue(now, packet, drops);
        }
    }

    fn dequeue(&mut self, now: Instant, drops: &mut Drops<P>) -> Option<P> {
        self.fifo.dequeue(now, drops)
    }

    fn len(&self) -> usize {
        self.fifo.len()
    }
}
