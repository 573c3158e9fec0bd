//! The way of a segment from end to end.

use fairair_core::packet::{Direction, Kind, NodeId, Segment};
use fairair_core::tcp::Sender;
use fairair_core::units::Instant;

use super::{DOWN, UP, World, arm};
use crate::events::Event;
use crate::flow::Next;

impl World<'_> {
    /// A flow starts, opens its next connection, or sends its next datagram.
    pub(super) fn application(&mut self, now: Instant, index: usize) {
        let flow = &mut self.flows[index];
        let rate = self.rates[flow.station.station_index().expect("flows belong to stations")];
        match flow.datagrams(rate) {
            None => {
                flow.connect(now);
                self.pump_sender(now, index);
            }
            Some((payload, Some(interval))) => {
                if let Some(datagram) = flow.datagram(payload) {
                    self.events.schedule(now + flow.pause(interval), Event::Application(index as u32));
                    self.send(now, index, datagram);
                }
            }
            Some((_, None)) => {
                let (id, node) = (flow.id, flow.station);
                self.refill[node.station_index().expect("flows belong to stations")].push(id);
                self.bss.notify_fetches();
                self.refill(now, node);
            }
        }
    }

    /// Greedy datagram sources of a station take turns to keep its queue from running empty, and never overflow it.
    pub(super) fn refill(&mut self, now: Instant, node: NodeId) {
        let Some(station) = node.station_index() else { return };
        let room = self.scenario.stations[station].uplink_queue;
        let sources = &mut self.refill[station];
        sources.retain(|flow| !self.flows[flow.index()].is_stopped());
        while self.bss.backlog(node) < 2 * sources.len() && self.bss.queue(node).len() < room {
            let flow = &mut self.flows[sources[0].index()];
            sources.rotate_left(1);
            if let Some((payload, None)) = flow.datagrams(self.rates[station])
                && let Some(datagram) = flow.datagram(payload)
            {
                self.bss.enqueue(now, node, datagram);
            }
        }
    }

    /// Lets the sender say all that it has to say and keeps its timer.
    pub(super) fn pump_sender(&mut self, now: Instant, index: usize) {
        while let Some(sender) = &mut self.flows[index].sender
            && let Some(transmission) = sender.poll_transmit(now)
        {
            let segment = self.flows[index].data(transmission);
            self.send(now, index, segment);
        }
        let deadline = self.flows[index].sender.as_ref().and_then(Sender::poll_timeout);
        arm(&mut self.events, &mut self.wakeups.senders[index], deadline, Event::SenderTimer(index as u32));
    }

    pub(super) fn pump_receiver(&mut self, now: Instant, index: usize) {
        while let Some(acknowledgement) = self.flows[index].receiver.poll_transmit() {
            let segment = self.flows[index].ack(acknowledgement);
            self.send(now, index, segment);
        }
        let deadline = self.flows[index].receiver.poll_timeout();
        arm(&mut self.events, &mut self.wakeups.receivers[index], deadline, Event::ReceiverTimer(index as u32));
    }

    /// A segment leaves one end of its flow.
    fn send(&mut self, now: Instant, index: usize, segment: Segment) {
        match segment.direction {
            Direction::Up => self.bss.enqueue(now, segment.station, segment),
            Direction::Down => self.onto_wire(now, self.own_wire[index].map_or(DOWN, |own| own + 1), segment),
        }
    }

    /// A segment has crossed the radio.
    pub(super) fn off_the_air(&mut self, now: Instant, receiver: NodeId, segment: Segment) {
        match segment.kind {
            Kind::Echo => self.asked(now, &segment),
            Kind::EchoReply => self.answered(now, &segment),
            _ if receiver == NodeId::AP => self.through_ap(now, segment),
            _ => {
                self.ap.observe(now, &segment, &self.bss);
                self.arrive(now, segment);
            }
        }
    }

    /// Past the box, or where it would be.
    pub(super) fn beyond_box(&mut self, now: Instant, segment: Segment) {
        match segment.direction {
            Direction::Up => self.onto_wire(now, UP, segment),
            Direction::Down => self.enter_cell(now, segment),
        }
    }

    fn onto_wire(&mut self, now: Instant, link: usize, segment: Segment) {
        self.links[link].enqueue(now, segment);
        self.arm_link(link);
    }

    fn arm_link(&mut self, link: usize) {
        let deadline = self.links[link].poll_timeout();
        arm(&mut self.events, &mut self.wakeups.links[link], deadline, Event::Arrival(link as u32));
    }

    pub(super) fn link_wakes(&mut self, now: Instant, link: usize) {
        if self.wakeups.links[link] != now {
            return;
        }
        self.wakeups.links[link] = Instant::FAR_FUTURE;
        while let Some(segment) = self.links[link].poll_delivery(now) {
            match link {
                UP => match self.own_wire[segment.flow.index()] {
                    Some(own) => self.onto_wire(now, own, segment),
                    None => self.arrive(now, segment),
                },
                DOWN => self.through_box(now, segment),
                _ if segment.direction == Direction::Down => self.onto_wire(now, DOWN, segment),
                _ => self.arrive(now, segment),
            }
        }
        self.arm_link(link);
    }

    /// A segment reaches the far end of its flow.
    fn arrive(&mut self, now: Instant, segment: Segment) {
        let index = segment.flow.index();
        let flow = &mut self.flows[index];
        match segment.kind {
            Kind::Udp | Kind::Echo | Kind::EchoReply => flow.deliver(now, &segment),
            Kind::Syn | Kind::Data => {
                flow.deliver(now, &segment);
                self.pump_receiver(now, index);
            }
            Kind::SynAck | Kind::Ack => {
                flow.acknowledge(now, &segment);
                if let Next::At(at) = flow.after_ack(now) {
                    self.events.schedule(at, Event::Application(index as u32));
                }
                self.pump_sender(now, index);
            }
        }
    }
}
