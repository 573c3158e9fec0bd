//! What each flow of the scenario has sent and delivered, by the frames that pass.

use std::collections::VecDeque;

use fairair_core::packet::{Direction, FlowId};
use fairair_core::record::{FlowRecord, PeriodRecord};
use fairair_core::scenario::{Flow, Scenario, Traffic};
use fairair_core::units::{Duration, Instant};

use super::addresses as addr;
use super::connections::Seen;
use super::frame::Frame;

#[derive(Clone, Copy, Debug, Default)]
struct Counters {
    delivered_bytes: u64,
    sent_packets: u64,
    retransmits: u64,
}

impl Counters {
    const fn period(&self) -> PeriodRecord {
        PeriodRecord { delivered_bytes: self.delivered_bytes, sent_packets: self.sent_packets, busy: None }
    }
}

/// The flows of a scenario.
pub(super) struct Flows {
    /// Station and parameters.
    params: Vec<(usize, Flow)>,
    counters: Vec<Counters>,
    /// The connection that carries the present file of each flow, and when it began.
    transfers: Vec<Option<(FlowId, Instant)>>,
    transfer_times: Vec<Vec<Duration>>,
    /// Flows whose file has just ended.
    finished: VecDeque<usize>,
    /// What each flow had delivered and sent at the end of each period but the last.
    period_ends: Vec<Vec<PeriodRecord>>,
}

impl Flows {
    pub(super) fn new(scenario: &Scenario) -> Self {
        let params: Vec<_> = scenario.flows().map(|(station, flow)| (station, *flow)).collect();
        Flows {
            counters: vec![Counters::default(); params.len()],
            transfers: vec![None; params.len()],
            transfer_times: vec![Vec::new(); params.len()],
            finished: VecDeque::new(),
            period_ends: vec![Vec::new(); params.len()],
            params,
        }
    }

    /// The flow of a packet between these ports: its receiver's port names it. iperf3 controls a UDP flow over TCP on the
    /// same port, which is not the flow.
    pub(super) fn find(&self, station: usize, tcp: bool, station_port: u16, far_port: u16) -> Option<usize> {
        let count = self.params.len();
        let is = |flow: &usize, direction| {
            let (of, params) = &self.params[*flow];
            *of == station && params.direction == direction && is_tcp(&params.traffic) == tcp
        };
        let up = addr::flow_of_port(far_port, count).filter(|flow| is(flow, Direction::Up));
        up.or_else(|| addr::flow_of_port(station_port, count).filter(|flow| is(flow, Direction::Down)))
    }

    pub(super) fn params(&self, flow: usize) -> &Flow {
        &self.params[flow].1
    }

    /// Counts a TCP segment sent in `direction`; says whether the receiver of the flow's data sent it.
    pub(super) fn observe(&mut self, now: Instant, flow: usize, direction: Direction, seen: &Seen) -> bool {
        let params = &self.params[flow].1;
        if seen.tcp.view.syn
            && params.direction == direction
            && matches!(params.traffic, Traffic::Files { .. })
            && self.transfers[flow].is_none_or(|(connection, _)| connection != seen.flow)
        {
            self.transfers[flow] = Some((seen.flow, now));
        }
        let counters = &mut self.counters[flow];
        if self.params[flow].1.direction == direction {
            counters.sent_packets += u64::from(seen.tcp.view.payload > 0);
            counters.retransmits += u64::from(seen.retransmits);
            return false;
        }
        counters.delivered_bytes += seen.newly_acked;
        true
    }

    /// A frame of the flow reaches its far end.
    pub(super) fn deliver(&mut self, flow: usize, direction: Direction, datagram: u32) {
        if self.params[flow].1.direction == direction {
            self.counters[flow].delivered_bytes += u64::from(datagram);
            self.counters[flow].sent_packets += u64::from(datagram > 0);
        }
    }

    /// A segment reaches its far end: if it is the last ACK of a file, the transfer is over.
    pub(super) fn arrive(&mut self, now: Instant, flow: usize, frame: &Frame) {
        let params = &self.params[flow].1;
        if let (Some((connection, began)), Traffic::Files { size, .. }) = (self.transfers[flow], params.traffic)
            && let Some(tcp) = frame.tcp
            && frame.direction != params.direction
            && frame.flow == connection
            && tcp.view.ack >= size.0
        {
            self.transfers[flow] = None;
            self.transfer_times[flow].push(now - began);
            self.finished.push_back(flow);
        }
    }

    /// A flow whose file has just ended.
    pub(super) fn poll_finished(&mut self) -> Option<usize> {
        self.finished.pop_front()
    }

    pub(super) fn reset(&mut self) {
        self.counters.fill(Counters::default());
        self.transfer_times.iter_mut().for_each(Vec::clear);
        self.period_ends.iter_mut().for_each(Vec::clear);
    }

    /// A period of the measured time ends.
    pub(super) fn end_period(&mut self) {
        for (ends, counters) in self.period_ends.iter_mut().zip(&self.counters) {
            ends.push(counters.period());
        }
    }

    /// Timeouts and fast retransmits are the kernel's knowledge.
    pub(super) fn records(&self, scenario: &Scenario) -> Vec<FlowRecord> {
        let flows = scenario.flows().zip(self.counters.iter().zip(&self.transfer_times)).zip(&self.period_ends);
        flows
            .map(|(((station, flow), (counters, transfer_times)), ends)| FlowRecord {
                station,
                direction: flow.direction,
                tcp: is_tcp(&flow.traffic),
                delivered_bytes: counters.delivered_bytes,
                sent_packets: counters.sent_packets,
                retransmits: counters.retransmits,
                timeouts: None,
                longest_timeout: None,
                fast_retransmits: None,
                transfer_times: transfer_times.clone(),
                busy: None,
                periods: match ends.as_slice() {
                    [] => Vec::new(),
                    ends => PeriodRecord::between(&[ends, &[counters.period()]].concat()),
                },
            })
            .collect()
    }
}

/// Whether a flow's traffic is TCP.
pub(super) fn is_tcp(traffic: &Traffic) -> bool {
    matches!(traffic, Traffic::Bulk | Traffic::Files { .. })
}
