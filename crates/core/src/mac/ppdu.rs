//! What goes out as one, what becomes of it, what answers it: under DCF a single frame and its MAC ACK.

use super::air::{AirBody, AirFrame, Reception};
use super::bss::Bss;
use super::link::Link;
use super::medium::{AccessId, State};
use super::node::Delivery;
use crate::packet::{Class, Direction, NodeId, Packet};
use crate::units::{Duration, Instant};

impl<P: Packet + Clone> Bss<P> {
    /// Puts the frame in service of `id` on the air and returns how long it lasts, a CTS-to-self before it included.
    pub(super) fn start_frame(&mut self, now: Instant, id: AccessId, collision: bool) -> Duration {
        let sender = self.id_at(id);
        let node = &mut self.nodes[id];
        let packet = node.in_service.as_ref().expect("a sender has a frame");
        let peer = packet.station();
        let station = peer.station_index().expect("packets name their station");
        let link = &mut self.links[station];
        let len = packet.ip_len();
        let duration = link.data_time(&self.params, len);
        node.stats.attempts += 1;
        node.stats.airtime += duration;
        let retry = self.medium.accesses[id].stage > 0;
        if sender.is_ap() {
            self.airtime_down[station] += duration;
            if !retry {
                let start = now + link.protection;
                self.ap_delays[station].record(start.saturating_since(packet.enqueued_at()));
            }
        }
        let direction = if sender.is_ap() { Direction::Down } else { Direction::Up };
        let reception = if collision {
            node.stats.collisions += 1;
            Reception::Collided
        } else if link.corrupts(&self.params, len, packet.class() != Class::Ack) {
            node.stats.frame_errors += 1;
            self.corrupted = true;
            Reception::Corrupted
        } else {
            Reception::Decoded
        };
        if let Some(air) = &mut self.air {
            if let Some(tx) = self.params.protection_tx(link.tx) {
                let cts = link.protection - self.params.sifs;
                let nav = duration - cts + self.params.sifs + link.ack_time;
                let reception = if collision { Reception::Collided } else { Reception::Decoded };
                let frame = AirFrame::alone(now, cts, nav, [sender; 2], tx, AirBody::CtsToSelf);
                air.push(AirFrame { reception, ..frame });
            }
            let (start, duration) = (now + link.protection, duration - link.protection);
            let nav = self.params.sifs + link.ack_time;
            let ends = [sender, if sender.is_ap() { peer } else { link.ap }];
            let body = AirBody::Data { packet: packet.clone(), more: Vec::new(), sequence: node.sequence, retry };
            air.push(AirFrame { reception, ..AirFrame::alone(start, duration, nav, ends, link.tx, body) });
        }
        self.queue_of_ap(station).observe_airtime(now, peer, direction, duration);
        duration
    }

    /// A lone, intact frame has ended: the packet is delivered and the receiver answers after SIFS.
    pub(super) fn deliver(&mut self, now: Instant) {
        let id = self.medium.senders[0].id;
        let sender = self.id_at(id);
        let node = &mut self.nodes[id];
        let packet = node.in_service.take().expect("a sender has a frame");
        self.medium.accesses[id].wants = false;
        let peer = packet.station();
        let station = peer.station_index().expect("packets name their station");
        let link = &self.links[station];
        let receiver = if sender.is_ap() { peer } else { link.ap };
        let answer = self.params.sifs + link.ack_time;
        node.stats.delivered += 1;
        node.stats.airtime += answer;
        if sender.is_ap() {
            self.airtime_down[station] += answer;
        }
        if let Some(air) = &mut self.air {
            let (start, ends) = (now + self.params.sifs, [receiver, sender]);
            air.push(AirFrame::alone(start, link.ack_time, Duration::ZERO, ends, link.ack_tx, AirBody::Ack));
        }
        let direction = if sender.is_ap() { Direction::Down } else { Direction::Up };
        let ap = self.queue_of_ap(station);
        ap.observe_airtime(now, peer, direction, answer);
        if direction == Direction::Up {
            ap.observe_uplink(now, &packet);
        }
        self.deliveries.push_back((now, Delivery { receiver, packet }));
        self.medium.state = State::Answer { sender: id, until: now + answer };
    }

    /// Who was to answer the frame in service of `id`, the time that the frame keeps free for the answer, and whether a
    /// CTS-to-self announced it.
    pub(super) fn announced(&self, id: AccessId) -> (AccessId, Duration, bool) {
        let (peer, link) = self.way_of(id);
        let receiver = if self.id_at(id).is_ap() { peer.index() } else { link.ap_at };
        (receiver, self.params.sifs + link.ack_time, link.protection > Duration::ZERO)
    }

    /// From the end of the unanswered frame in service of `id` to its sender's countdown.
    pub(super) fn after_no_ack(&self, id: AccessId) -> Duration {
        self.params.after_no_ack_to(self.way_of(id).1.tx)
    }

    /// The station that the frame in service of `id` goes to or comes from, and the way there.
    fn way_of(&self, id: AccessId) -> (NodeId, &Link) {
        let packet = self.nodes[id].in_service.as_ref().expect("a sender has a frame");
        let peer = packet.station();
        (peer, &self.links[peer.station_index().expect("packets name their station")])
    }
}
