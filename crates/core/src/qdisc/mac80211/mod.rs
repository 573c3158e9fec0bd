//! `mac80211`: what Linux has between IP and driver: fair queues by station and flow, CoDel, airtime fairness, queue limits.
//!
//! Rules and their tests stand in docs/mac80211.md. Linux 6.18: `net/mac80211/tx.c`, `airtime.c`, `sta_info.c`,
//! `include/net/fq_impl.h`, `include/net/codel_impl.h`.

mod airtime;
mod fq;
mod params;
#[cfg(test)]
mod tests;

pub use self::params::Mac80211Params;

use self::airtime::Scheduler;
use self::fq::Fq;
use super::discipline::{Held, Nothing, Txq};
use super::{Drops, Qdisc};
use crate::packet::{Category, Direction, NodeId, Packet};
use crate::units::{Bytes, Duration, Instant};

/// The queues of one interface.
pub struct Mac80211<P> {
    fq: Fq<P>,
    scheduler: Scheduler,
}

impl<P: Packet> Mac80211<P> {
    /// Empty queues.
    pub fn new(params: Mac80211Params) -> Self {
        Mac80211 { fq: Fq::new(params), scheduler: Scheduler::new(&params) }
    }
}

impl<P: Packet + Send> Qdisc<P> for Mac80211<P> {
    fn enqueue(&mut self, _now: Instant, packet: P, drops: &mut Drops<P>) {
        let (station, category) = (packet.station().index(), packet.category());
        self.fq.enqueue(packet, drops);
        self.scheduler.activate(station, category);
    }

    fn dequeue(&mut self, now: Instant, drops: &mut Drops<P>) -> Option<P> {
        for category in Category::ALL {
            // CoDel may drop all that a station has.
            while let Some(station) = self.next_station(now, category, &Nothing) {
                if let Some(packet) = self.dequeue_for(now, station, category, drops) {
                    // Who takes one packet after the other reports no completion.
                    self.scheduler.completed(station.index(), category, packet.ip_len());
                    return Some(packet);
                }
            }
        }
        None
    }

    fn len(&self) -> usize {
        self.fq.len()
    }

    fn as_txq(&mut self) -> Option<&mut dyn Txq<P>> {
        Some(self)
    }

    fn observe_airtime(&mut self, _now: Instant, station: NodeId, direction: Direction, airtime: Duration) {
        self.scheduler.charge(station.index(), direction, airtime);
    }
}

impl<P: Packet + Send> Txq<P> for Mac80211<P> {
    fn has_traffic(&self, category: Category) -> bool {
        self.fq.waiting(category) > 0
    }

    fn next_station(&mut self, _now: Instant, category: Category, held: &dyn Held) -> Option<NodeId> {
        // What the driver holds is on the list, too: it is sent again in the station's turn.
        for station in 1..self.scheduler.stations() {
            if held.may_send(NodeId(station as u32)) {
                self.scheduler.activate(station, category);
            }
        }
        let fq = &self.fq;
        let id = |station: usize| NodeId(station as u32);
        let stays = |station| fq.waiting_for(station, category) > 0 || held.may_send(id(station));
        let resends = |station| held.may_send(id(station));
        let has_room = |station| held.has_room(id(station));
        self.scheduler.next(category, stays, resends, has_room).map(|station| NodeId(station as u32))
    }

    fn dequeue_for(&mut self, now: Instant, station: NodeId, category: Category, drops: &mut Drops<P>) -> Option<P> {
        if !self.scheduler.may_send(station.index(), category) {
            return None;
        }
        let packet = self.fq.dequeue(now, station.index(), category, drops)?;
        self.scheduler.handed_over(station.index(), category, packet.ip_len());
        Some(packet)
    }

    fn completed(&mut self, _now: Instant, station: NodeId, category: Category, _packets: usize, bytes: Bytes) {
        self.scheduler.completed(station.index(), category, bytes);
    }
}
