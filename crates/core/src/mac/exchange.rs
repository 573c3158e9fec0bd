//! An exchange under EDCA, step by step: access, RTS and CTS, PPDU, answer, and what follows within the TXOP.

use super::air::{AirBody, AirFrame, Place, Reception};
use super::block_ack::Session;
use super::bss::Bss;
use super::edca::{Edca, Job, Phase};
use super::medium::{AccessId, Sender, State};
use super::monitor::Sent;
use super::node::Delivery;
use super::phy::Phy;
use crate::packet::{Direction, NodeId, Packet};
use crate::units::{Bytes, Duration, Instant};

impl<P: Packet + Clone> Bss<P> {
    /// The QoS half; only called in a cell that has one.
    pub(super) fn edca(&mut self) -> &mut Edca<P> {
        self.edca.as_mut().expect("a QoS cell")
    }

    /// A packet has come to the queue of `node`.
    pub(super) fn supply(&mut self, now: Instant, node: usize) {
        let edca = self.edca.as_mut().expect("a QoS cell");
        let n = &mut self.nodes[node];
        if !n.picks_stations {
            edca.drain(now, n, node);
        }
        for id in edca.of_node(node) {
            if !edca.functions[id].busy && !self.medium.accesses[id].wants && edca.has_traffic(id, n) {
                self.medium.request(now, id);
            }
        }
    }

    /// Does what is due under EDCA.
    pub(super) fn step(&mut self, now: Instant) {
        match self.medium.state {
            State::Idle { .. } => self.access(now),
            State::Pause { sender, .. } => {
                let end = now + self.send(now, sender, false);
                self.medium.senders[0].end = end;
                self.medium.state = State::Frames { until: end };
            }
            State::Frames { .. } if self.medium.senders.len() == 1 => self.sent(now, self.medium.senders[0].id),
            State::Frames { .. } => self.unanswered(now),
            State::Answer { sender, .. } => self.answered(now, sender),
        }
    }

    /// Countdowns are over: their owners send, and of each node the most urgent.
    fn access(&mut self, now: Instant) {
        self.medium.seize(now);
        let mut index = 0;
        while index < self.medium.senders.len() {
            let Sender { id, end: start } = self.medium.senders[index];
            if self.yields(id) {
                // Internal collision: as after a collision on the air (802.11-2020 clause 10.23.2.4).
                self.medium.senders.remove(index);
                self.fall_back(id);
                self.medium.contend(id);
            } else if self.open(now, start, id) {
                index += 1;
            } else {
                self.medium.senders.remove(index);
                self.close(id);
            }
        }
        if self.medium.senders.is_empty() {
            self.medium.release(now);
            self.medium.become_idle();
            return;
        }
        let collision = self.medium.senders.len() > 1;
        let mut until = now;
        for index in 0..self.medium.senders.len() {
            let Sender { id, end: start } = self.medium.senders[index];
            let end = start + self.send(start, id, collision);
            self.medium.senders[index].end = end;
            until = until.max(end);
        }
        self.medium.state = State::Frames { until };
    }

    /// Whether a more urgent function of the same node is about to send, too.
    fn yields(&self, id: AccessId) -> bool {
        let Some(edca) = self.edca.as_ref().filter(|edca| edca.per_node > 1) else { return false };
        let node = edca.functions[id].node;
        self.medium.senders.iter().any(|other| other.id < id && edca.functions[other.id].node == node)
    }

    /// A TXOP of `id` begins at `start`, if there is something to send.
    fn open(&mut self, now: Instant, start: Instant, id: AccessId) -> bool {
        let Bss { edca: Some(edca), nodes, params, links, .. } = self else { return false };
        let function = &mut edca.functions[id];
        function.txop_end = start + function.txop;
        let node = &mut nodes[function.node];
        let opened = edca.build(params, links, node, (now, start), id, true);
        edca.functions[id].busy = opened;
        node.stats.qos.txops += u64::from(opened);
        self.expire(now, id);
        opened
    }

    /// Books the packets that have outlived their time when the last PPDU was built.
    fn expire(&mut self, now: Instant, id: AccessId) {
        let Bss { edca: Some(edca), nodes, .. } = self else { return };
        let function = &mut edca.functions[id];
        let peer = function.job.peer;
        let expired = function.sessions[peer].take_expired();
        if expired.discarded == 0 {
            return;
        }
        let node = &mut nodes[function.node];
        node.stats.discards += u64::from(expired.discarded);
        let (station, packets) = (NodeId::station(function.station(peer)), expired.discarded as usize);
        node.queue.completed(now, station, function.category, packets, expired.bytes);
        let index = function.node;
        self.hand_up(now, id);
        self.edca().functions[id].sessions[peer].advance();
        self.refill(now, index);
    }

    /// Puts on the air what `id` has prepared, and returns how long it lasts.
    fn send(&mut self, now: Instant, id: AccessId, collision: bool) -> Duration {
        let edca = self.edca();
        let function = &edca.functions[id];
        let Job { phase, peer, .. } = function.job;
        let node = function.node;
        let start = function.sessions[peer].start();
        let (rts, bar, control) = (edca.rts, edca.bar, edca.control);
        let reception = if collision { Reception::Collided } else { Reception::Decoded };
        let stats = &mut self.nodes[node].stats.qos;
        let duration = match phase {
            Phase::Rts => {
                stats.rts += 1;
                self.show(id, Sent::ByHolder, now, rts, control, reception, AirBody::Rts);
                rts
            }
            Phase::Bar => {
                stats.bars += 1;
                self.show(id, Sent::ByHolder, now, bar, control, reception, AirBody::BlockAckReq { start });
                bar
            }
            Phase::Data => self.send_data(now, id, collision),
        };
        self.account(now, id, duration);
        duration
    }

    /// Puts the MPDUs that `id` has loaded on the air: their fate is decided.
    fn send_data(&mut self, now: Instant, id: AccessId, collision: bool) -> Duration {
        let Bss { edca: Some(edca), nodes, params, links, deliveries, air, ap_delays, .. } = self else {
            return Duration::ZERO;
        };
        let early = edca.params.hand_up_early;
        let announces_txop = params.rules.announces_txop;
        let function = &mut edca.functions[id];
        let Job { peer, load, answer, .. } = function.job;
        let station = function.station(peer);
        let transmitter = NodeId::at_position(function.node, links.len());
        let receiver = if function.is_ap { NodeId::station(station) } else { links[station].ap };
        let (tx, ppdu, errors) = (links[station].tx, params.ppdu, &mut links[station].errors);
        // A CTS-to-self goes before, where stations of 802.11b are in the cell.
        let (duration, protection) = (tx.ppdu_time(Bytes(load.psdu), &ppdu), params.protection_time(tx));
        let start = now + protection;
        let session = &mut function.sessions[peer];
        if function.is_ap {
            for (packet, more, _, _) in session.on_air().filter(|(.., retry)| !retry) {
                let mut waited = |packet: &P| {
                    let wait = start.saturating_since(packet.enqueued_at());
                    edca.delays.record(wait);
                    ap_delays[station].record(wait);
                };
                waited(packet);
                more.for_each(waited);
            }
        }
        let reception = if collision { Reception::Collided } else { Reception::Decoded };
        let first_shown = air.as_mut().map(|air| {
            let category = Some(function.category);
            air.extend(params.protection_tx(tx).map(|tx| {
                let (cts, nav) = (protection - params.sifs, params.sifs + duration + params.sifs + answer);
                let frame = AirFrame::alone(now, cts, nav, [transmitter; 2], tx, AirBody::CtsToSelf);
                AirFrame { category, reception, ..frame }
            }));
            let first = air.len();
            let mut nav = params.sifs + answer;
            if announces_txop && function.txop > Duration::ZERO {
                nav = nav.max(function.txop_end.saturating_since(start + duration));
            }
            let aggregate = load.mpdus > 1 || matches!(tx.phy(), Phy::Ac | Phy::Ax);
            air.extend(session.on_air().map(|(packet, more, sequence, retry)| AirFrame {
                at: start,
                duration,
                nav,
                place: if aggregate { Place::Within } else { Place::Alone },
                transmitter,
                receiver,
                tx,
                category,
                reception,
                body: AirBody::Data { packet: packet.clone(), more: more.cloned().collect(), sequence, retry },
            }));
            if let Some(last) = air[first..].last_mut().filter(|_| aggregate) {
                last.place = Place::Last;
            }
            first
        });
        let (mut nth, mut spoilt) = (0, 0);
        let lose = |bytes: u64| {
            let corrupted = !collision && errors.loses(bytes);
            spoilt += u64::from(corrupted);
            if let (true, Some(first), Some(air)) = (corrupted, first_shown, air.as_mut()) {
                air[first + nth].reception = Reception::Corrupted;
            }
            nth += 1;
            collision || corrupted
        };
        // An MPDU arrives with its last byte: preamble, then bytes at an even pace.
        let preamble = tx.ppdu_time(Bytes(0), &ppdu);
        let data = (duration - preamble).as_nanos();
        let arrive = |session: &mut Session<P>, bytes: u64| {
            if early {
                let at = start + preamble + Duration::from_nanos(data * bytes.min(load.psdu) / load.psdu);
                while let Some(packet) = session.hand_up() {
                    deliveries.push_back((at, Delivery { receiver, packet }));
                }
            }
        };
        (function.job.received, function.job.received_bytes) = session.receive(lose, arrive);
        let stats = &mut nodes[function.node].stats;
        stats.attempts += 1;
        stats.collisions += u64::from(collision);
        stats.frame_errors += spoilt;
        stats.qos.ppdus += 1;
        stats.qos.mpdus += u64::from(load.mpdus);
        stats.qos.mpdu_retries += u64::from(load.retries);
        protection + duration
    }

    /// Books air of an exchange of `id`.
    fn account(&mut self, now: Instant, id: AccessId, air: Duration) {
        let function = &self.edca.as_ref().expect("a QoS cell").functions[id];
        let (node, station) = (function.node, function.station(function.job.peer));
        let direction = if function.is_ap { Direction::Down } else { Direction::Up };
        self.nodes[node].stats.airtime += air;
        if direction == Direction::Down {
            self.airtime_down[station] += air;
        }
        self.queue_of_ap(station).observe_airtime(now, NodeId::station(station), direction, air);
    }

    /// What a lone sender sent has ended.
    fn sent(&mut self, now: Instant, id: AccessId) {
        let sifs = self.params.sifs;
        let edca = self.edca();
        let Job { phase, received, answer, .. } = edca.functions[id].job;
        let (cts, control) = (edca.cts, edca.control);
        let pause = sifs + cts + sifs;
        match phase {
            Phase::Rts => {
                edca.functions[id].job.phase = Phase::Data;
                self.account(now, id, pause);
                self.show(id, Sent::ByReceiver, now + sifs, cts, control, Reception::Decoded, AirBody::Cts);
                self.medium.state = State::Pause { sender: id, until: now + pause };
            }
            Phase::Data if received == 0 => self.unanswered(now),
            Phase::Data | Phase::Bar => {
                if phase == Phase::Data {
                    self.hand_up(now, id);
                }
                self.account(now, id, sifs + answer);
                self.show_answer(now + sifs, id, answer);
                self.medium.state = State::Answer { sender: id, until: now + sifs + answer };
            }
        }
    }

    /// Packets of the session that `id` serves go up at its receiver, as far as they are in order.
    fn hand_up(&mut self, now: Instant, id: AccessId) {
        let Bss { edca: Some(edca), deliveries, links, .. } = self else { return };
        let function = &mut edca.functions[id];
        let peer = function.job.peer;
        let receiver = if function.is_ap { NodeId::station(peer) } else { links[function.node - 1].ap };
        while let Some(packet) = function.sessions[peer].hand_up() {
            deliveries.push_back((now, Delivery { receiver, packet }));
        }
    }

    /// ACK or BlockAck has ended: the sender goes on within its TXOP, or gives the medium back.
    fn answered(&mut self, now: Instant, id: AccessId) {
        self.medium.accesses[id].stage = 0;
        let job = self.edca().functions[id].job;
        match job.phase {
            Phase::Bar => self.edca().functions[id].bar = None,
            Phase::Data | Phase::Rts => {}
        }
        self.settle(now, id);
        let sifs = self.params.sifs;
        let Bss { edca: Some(edca), nodes, params, links, .. } = self else { return };
        let function = &edca.functions[id];
        let (txop, txop_end, node) = (function.txop, function.txop_end, function.node);
        if txop > Duration::ZERO {
            let start = now + sifs;
            let goes_on = start < txop_end && edca.build(params, links, &mut nodes[node], (now, start), id, false);
            self.expire(now, id);
            if goes_on {
                self.medium.state = State::Pause { sender: id, until: start };
                return;
            }
        }
        let edca = self.edca();
        let (cf_end_time, lowest) = (edca.cf_end, edca.lowest);
        let cf_end = sifs + cf_end_time;
        if txop == Duration::ZERO || txop_end <= now {
            self.medium.release(now);
        } else if now + cf_end <= txop_end {
            self.show(id, Sent::ByHolder, now + sifs, cf_end_time, lowest, Reception::Decoded, AirBody::CfEnd);
            self.medium.release(now + cf_end);
        } else if !self.params.rules.announces_txop {
            self.medium.release(now);
        } else {
            // Nothing ends the TXOP early: the others keep silent for all of it.
            self.medium.release(txop_end);
            self.medium.set_idle_from(id, now);
        }
        self.close(id);
        self.medium.become_idle();
    }

    /// The originator learns what became of the MPDUs of `id`, and its queue that they have left.
    pub(super) fn settle(&mut self, now: Instant, id: AccessId) {
        let Bss { edca: Some(edca), nodes, .. } = self else { return };
        let limit = edca.params.retry_limit.unwrap_or(u32::MAX);
        let function = &mut edca.functions[id];
        let Job { phase, peer, received, received_bytes, .. } = function.job;
        let settled = function.sessions[peer].settle(limit);
        let (station, category, index) = (function.station(peer), function.category, function.node);
        let node = &mut nodes[index];
        let acknowledged = if phase == Phase::Bar { (0, Bytes(0)) } else { (received, received_bytes) };
        function.job.received = 0;
        function.job.received_bytes = Bytes(0);
        node.stats.delivered += u64::from(acknowledged.0);
        node.stats.discards += u64::from(settled.discarded);
        let packets = (acknowledged.0 + settled.discarded) as usize;
        if node.picks_stations && packets > 0 {
            node.queue.completed(now, NodeId::station(station), category, packets, acknowledged.1 + settled.bytes);
        }
        if settled.discarded > 0 {
            self.hand_up(now, id);
        }
        let edca = self.edca();
        edca.functions[id].sessions[peer].advance();
        edca.functions[id].take_turn(peer);
        self.refill(now, index);
    }

    /// A queue that does not pick stations fills the place of what has gone.
    fn refill(&mut self, now: Instant, index: usize) {
        self.supply(now, index);
        if let Some(fetched) = &mut self.fetched {
            fetched.push(NodeId::at_position(index, self.links.len()));
        }
    }

    /// The TXOP of `id` is over: it draws its backoff.
    pub(super) fn close(&mut self, id: AccessId) {
        let Bss { edca: Some(edca), nodes, medium, .. } = self else { return };
        edca.functions[id].busy = false;
        let node = &mut nodes[edca.functions[id].node];
        medium.accesses[id].wants = edca.has_traffic(id, node);
        medium.contend(id);
    }
}
