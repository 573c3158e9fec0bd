//! A flow: its application, the two ends of its connection, its counters.

use fairair_core::packet::{Category, Direction, FlowId, Kind, NO_SACK, NodeId, Segment};
use fairair_core::record::{FlowRecord, PeriodRecord};
use fairair_core::rng::Rng;
use fairair_core::scenario::{Flow as FlowParams, Traffic};
use fairair_core::tcp::{Acknowledgement, Receiver, Sender, SenderStats, Transmission};
use fairair_core::units::{Bitrate, Bytes, Duration, Instant};

/// Headers without content, completed by the flow.
pub(crate) const BLANK: Segment = Segment {
    flow: FlowId(0),
    station: NodeId(0),
    direction: Direction::Up,
    kind: Kind::Data,
    incarnation: 0,
    category: Category::BestEffort,
    seq: 0,
    payload: 0,
    ack: 0,
    window: 0,
    cwnd: 0,
    push: false,
    sack: NO_SACK,
    ecn: fairair_core::packet::Ecn::NONE,
    enqueued_at: Instant::ZERO,
};

/// What the application does next.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Next {
    /// Nothing until an acknowledgement.
    Wait,
    /// It wakes up then.
    At(Instant),
}

/// A flow of the scenario at work.
pub(crate) struct Flow {
    pub(crate) id: FlowId,
    pub(crate) station: NodeId,
    pub(crate) params: FlowParams,
    /// The connection, TCP's or QUIC's; `None` before the first and for other UDP.
    pub(crate) sender: Option<Sender>,
    pub(crate) receiver: Receiver,
    /// Counts connections.
    incarnation: u32,
    connected_at: Instant,
    burst_until: Instant,
    files_left: Option<u32>,
    pub(crate) stopped: bool,
    rng: Rng,
    /// Datagrams sent.
    datagrams: u64,
    delivered: u64,
    /// Counters of connections that are over.
    past: SenderStats,
    transfer_times: Vec<Duration>,
    /// Time of the files that ended, within the measured time.
    busy: Duration,
    measured_from: Instant,
    /// Counters when the measured time began.
    base: (u64, SenderStats),
    /// What there was at the end of each period but the last.
    period_ends: Vec<PeriodRecord>,
}

impl Flow {
    pub(crate) fn new(id: FlowId, station: usize, params: &FlowParams, rng: Rng) -> Self {
        Flow {
            id,
            station: NodeId::station(station),
            params: *params,
            sender: None,
            receiver: Receiver::new(&params.tcp),
            incarnation: 0,
            connected_at: Instant::ZERO,
            burst_until: Instant::ZERO,
            files_left: match params.traffic {
                Traffic::Files { count, .. } => count,
                _ => None,
            },
            stopped: false,
            rng,
            datagrams: 0,
            delivered: 0,
            past: SenderStats::default(),
            transfer_times: Vec::new(),
            busy: Duration::ZERO,
            measured_from: Instant::ZERO,
            base: (0, SenderStats::default()),
            period_ends: Vec::new(),
        }
    }

    /// Whether it has a congestion window.
    pub(crate) fn has_window(&self) -> bool {
        !matches!(self.params.traffic, Traffic::UdpGreedy { .. } | Traffic::UdpCbr { .. })
    }

    /// When the application begins.
    pub(crate) fn first_start(&mut self, spread: Duration) -> Instant {
        self.params.first_start(spread, &mut self.rng)
    }

    /// The application's turn: opens the next connection.
    pub(crate) fn connect(&mut self, now: Instant) {
        if self.stopped {
            return;
        }
        let size = match self.params.traffic {
            Traffic::Files { size, burst, .. } => {
                if self.burst_until < now {
                    self.burst_until = now + exponential(burst, &mut self.rng);
                }
                Some(size.0)
            }
            _ => None,
        };
        self.retire();
        self.incarnation += 1;
        self.connected_at = now;
        self.receiver = Receiver::new(&self.params.tcp);
        self.sender = Some(Sender::connect(&self.params.tcp, size, &mut self.rng));
    }

    /// After an acknowledgement: books a finished file and says when the next one starts.
    pub(crate) fn after_ack(&mut self, now: Instant) -> Next {
        let Traffic::Files { idle, .. } = self.params.traffic else { return Next::Wait };
        if !self.sender.as_ref().is_some_and(Sender::is_done) {
            return Next::Wait;
        }
        self.retire();
        self.busy += self.under_way(now);
        if self.stopped {
            return Next::Wait;
        }
        self.transfer_times.push(now - self.connected_at);
        self.files_left = self.files_left.map(|left| left - 1);
        if self.files_left == Some(0) {
            return Next::Wait;
        }
        let pause = if now < self.burst_until { Duration::ZERO } else { exponential(idle, &mut self.rng) };
        Next::At(now + pause)
    }

    /// Nothing new is sent from now on.
    pub(crate) fn stop(&mut self) {
        self.stopped = true;
        if let Some(sender) = &mut self.sender {
            sender.stop();
        }
    }

    /// Payload and distance of UDP datagrams; greedy downloads offer twice what the radio could carry, greedy uploads
    /// are clocked by their queue.
    pub(crate) fn datagrams(&self, station_rate: Bitrate) -> Option<(Bytes, Option<Duration>)> {
        match self.params.traffic {
            Traffic::UdpCbr { payload, rate } => Some((payload, Some(payload.time_at(rate)))),
            Traffic::UdpGreedy { payload } if self.params.direction == Direction::Down => {
                let twice = Bitrate::from_bps(station_rate.as_bps() * 2);
                Some((payload, Some(payload.time_at(twice))))
            }
            Traffic::UdpGreedy { payload } => Some((payload, None)),
            Traffic::Bulk | Traffic::Files { .. } | Traffic::Quic => None,
        }
    }

    /// Time to the next datagram of `interval`'s mean. Greedy sources draw it: in step with each other, some would find the
    /// queue full time after time and others never.
    pub(crate) fn pause(&mut self, interval: Duration) -> Duration {
        match self.params.traffic {
            Traffic::UdpGreedy { .. } => Duration::from_secs_f64(interval.as_secs_f64() * 2.0 * self.rng.uniform()),
            _ => interval,
        }
    }

    /// The next datagram, unless the flow is over.
    pub(crate) fn datagram(&mut self, payload: Bytes) -> Option<Segment> {
        if self.stopped {
            return None;
        }
        let seq = self.datagrams * payload.0;
        self.datagrams += 1;
        Some(Segment { kind: Kind::Udp, seq, payload: payload.0 as u32, ..self.blank(self.params.direction) })
    }

    /// The segment for what the sender wants sent.
    pub(crate) fn data(&self, t: Transmission) -> Segment {
        let blank = self.blank(self.params.direction);
        Segment {
            kind: t.kind,
            seq: t.seq,
            payload: t.payload,
            ack: t.number,
            cwnd: t.cwnd,
            push: t.push,
            ecn: t.ecn,
            ..blank
        }
    }

    /// The segment for what the receiver wants sent.
    pub(crate) fn ack(&self, a: Acknowledgement) -> Segment {
        let blank = self.blank(self.params.direction.reverse());
        Segment { kind: a.kind, ack: a.ack, window: a.window, sack: a.sack, ecn: a.ecn, ..blank }
    }

    /// Payload arrived at the receiving end.
    pub(crate) fn deliver(&mut self, now: Instant, segment: &Segment) {
        if segment.kind == Kind::Udp {
            self.delivered += u64::from(segment.payload);
        } else if segment.incarnation == self.incarnation {
            let Segment { kind, seq, payload, push, ecn, .. } = *segment;
            match kind {
                Kind::Data => self.receiver.handle_ecn(ecn),
                Kind::Quic => self.receiver.handle_number(now, segment.ack),
                _ => {}
            }
            self.delivered += self.receiver.handle_segment(now, kind, seq, payload, push);
        }
    }

    /// An acknowledgement arrived at the sending end.
    pub(crate) fn acknowledge(&mut self, now: Instant, segment: &Segment) {
        if segment.incarnation == self.incarnation
            && let Some(sender) = &mut self.sender
        {
            if segment.ecn.echo && segment.kind == Kind::Ack {
                sender.handle_echo();
            }
            sender.handle_ack(now, segment.kind, segment.ack, segment.window, &segment.sack);
        }
    }

    /// The measured time begins.
    pub(crate) fn start_measuring(&mut self, now: Instant) {
        self.transfer_times.clear();
        (self.busy, self.measured_from) = (Duration::ZERO, now);
        self.base = (self.delivered, self.stats());
        self.period_ends.clear();
    }

    /// A period of the measured time ends.
    pub(crate) fn end_period(&mut self, now: Instant) {
        self.period_ends.push(self.counted(now).whole());
    }

    /// How long of the measured time the present or the last file has been under way.
    fn under_way(&self, now: Instant) -> Duration {
        now.saturating_since(self.connected_at.max(self.measured_from))
    }

    /// The counters of the measured time, and of its periods.
    pub(crate) fn record(&self, now: Instant) -> FlowRecord {
        let mut record = self.counted(now);
        if !self.period_ends.is_empty() {
            let ends: Vec<PeriodRecord> = self.period_ends.iter().copied().chain([record.whole()]).collect();
            record.periods = PeriodRecord::between(&ends);
        }
        record
    }

    fn counted(&self, now: Instant) -> FlowRecord {
        let (delivered, base) = self.base;
        let sending = self.sender.as_ref().map_or(Duration::ZERO, |_| self.under_way(now));
        let stats = self.stats();
        FlowRecord {
            station: self.station.station_index().unwrap_or_default(),
            direction: self.params.direction,
            tcp: matches!(self.params.traffic, Traffic::Bulk | Traffic::Files { .. }),
            delivered_bytes: self.delivered - delivered,
            sent_packets: stats.sent - base.sent,
            retransmits: stats.retransmits - base.retransmits,
            timeouts: Some(stats.timeouts - base.timeouts),
            longest_timeout: Some(stats.longest_timeout),
            fast_retransmits: Some(stats.fast_retransmits - base.fast_retransmits),
            transfer_times: self.transfer_times.clone(),
            busy: matches!(self.params.traffic, Traffic::Files { .. }).then(|| self.busy + sending),
            periods: Vec::new(),
        }
    }

    fn stats(&self) -> SenderStats {
        let now = self.sender.as_ref().map(Sender::stats).copied().unwrap_or_default();
        SenderStats {
            sent: self.past.sent + now.sent + self.datagrams,
            retransmits: self.past.retransmits + now.retransmits,
            timeouts: self.past.timeouts + now.timeouts,
            fast_retransmits: self.past.fast_retransmits + now.fast_retransmits,
            longest_timeout: self.past.longest_timeout.max(now.longest_timeout),
        }
    }

    /// Keeps the counters of the connection that is over.
    fn retire(&mut self) {
        let datagrams = self.datagrams;
        self.past = SenderStats { sent: self.stats().sent - datagrams, ..self.stats() };
        self.sender = None;
    }

    fn blank(&self, direction: Direction) -> Segment {
        Segment {
            flow: self.id,
            station: self.station,
            direction,
            category: self.params.category,
            incarnation: self.incarnation,
            ..BLANK
        }
    }
}

fn exponential(mean: Duration, rng: &mut Rng) -> Duration {
    if mean == Duration::ZERO { mean } else { Duration::from_secs_f64(mean.as_secs_f64() * rng.exponential()) }
}
