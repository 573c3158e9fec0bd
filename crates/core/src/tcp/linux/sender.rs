//! The sending end of a connection as Linux has it: net/ipv4/tcp_input.c, tcp_output.c, tcp_timer.c.

mod window;

use super::board::{Board, Out};
use super::pacing::{self, Pacer};
use super::rto::LinuxRto;
use crate::packet::{Ecn, Kind, SackBlocks};
use crate::rng::Rng;
use crate::tcp::congestion::{Controller, Counting};
use crate::tcp::{SenderStats, TcpParams, Transmission};
use crate::units::{Duration, Instant};

/// A probe of the last of several segments waits this much longer than two round trips: `TCP_TIMEOUT_MIN`, two ticks.
const PROBE_MARGIN: Duration = Duration::from_millis(2);

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum State {
    /// The SYN is out, or has to go (again) when `true`.
    SynSent(bool),
    /// No loss is being repaired: `TCP_CA_Open` and `TCP_CA_Disorder`.
    #[default]
    Open,
    /// `TCP_CA_CWR`: a mark of congestion (ECN) makes the window smaller; nothing is lost.
    Reducing,
    /// `TCP_CA_Recovery`.
    Recovery,
    /// `TCP_CA_Loss`.
    Loss,
}

/// What the one timer of the connection is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Timer {
    Retransmission,
    Probe,
    Reordering,
}

/// The sender; inputs and outputs as those of [`Sender`](crate::tcp::Sender).
#[derive(Clone, Debug, Default)]
#[allow(clippy::struct_excessive_bools)] // Flags of `tcp_sock`, each with a rule of its own.
pub(in crate::tcp) struct LinuxSender {
    params: TcpParams,
    state: State,
    size: u64,
    una: u64,
    next: u64,
    board: Board,
    pub(in crate::tcp) control: Controller,
    peer_window: u64,
    largest_window: u64,
    /// End of the last segment with PSH.
    pushed: u64,
    /// SND.NXT when recovery or loss began.
    high: u64,
    prior_cwnd: u32,
    prr_delivered: u32,
    prr_out: u32,
    /// cwnd and ssthresh before the last timeout.
    before_timeout: Option<(f64, f64)>,
    timeouts_in_row: u32,
    frto: bool,
    /// F-RTO wants new data before more retransmissions.
    new_first: bool,
    /// End of what was out when the tail was probed, and whether by a retransmission.
    probed: Option<(u64, bool)>,
    probe: bool,
    /// `is_cwnd_limited`, `max_packets_out` and `cwnd_usage_seq`.
    limited: bool,
    most_out: u32,
    usage_ends: u64,
    sent_something: bool,
    /// ECN: the ACK at hand echoes a mark; the next new segment is to say that the window was reduced (`TCP_ECN_QUEUE_CWR`).
    echoed: bool,
    tells_reduced: bool,
    syn_sent: Instant,
    pacer: Pacer,
    rto: LinuxRto,
    timer: Option<(Instant, Timer)>,
    pub(in crate::tcp) stats: SenderStats,
}

impl LinuxSender {
    pub(in crate::tcp) fn connect(params: &TcpParams, size: u64, rng: &mut Rng) -> Self {
        let window = u64::from(params.window) * u64::from(params.mss);
        LinuxSender {
            params: *params,
            state: State::SynSent(true),
            size,
            control: Controller::new(params, Counting::Segments, f64::INFINITY, rng),
            peer_window: window,
            largest_window: window,
            rto: LinuxRto::new(params),
            ..LinuxSender::default()
        }
    }

    pub(in crate::tcp) fn stop(&mut self) {
        self.size = self.next;
    }

    pub(in crate::tcp) fn is_done(&self) -> bool {
        self.una >= self.size && !matches!(self.state, State::SynSent(_))
    }

    pub(in crate::tcp) fn poll_timeout(&self) -> Option<Instant> {
        self.timer.map(|(at, _)| at).into_iter().chain(self.pacer.poll_timeout()).min()
    }

    pub(in crate::tcp) fn handle_ack(&mut self, now: Instant, kind: Kind, ack: u64, window: u32, sack: &SackBlocks) {
        if matches!(self.state, State::SynSent(_)) {
            if kind == Kind::SynAck {
                self.set_window(window);
                self.established(now);
            }
            return;
        }
        if kind != Kind::Ack || ack < self.una || ack > self.next {
            return;
        }
        self.set_window(window);
        let advances = ack > self.una;
        self.una = ack;
        let before = self.board.lost();
        let (prior_in_flight, prior_lost) = (self.board.in_flight(), self.board.rate().lost());
        let acknowledged = self.board.acknowledge(now, ack, sack, self.high);
        if let Some(rtt) = acknowledged.rtt {
            self.rto.sample(rtt, self.una, self.next);
        }
        if advances {
            self.timeouts_in_row = 0;
        }
        self.probe_answered(ack, advances, acknowledged);
        if advances {
            self.set_timer(now);
        }
        self.repair(now, advances, acknowledged);
        let newly_lost = self.board.lost() > before;
        if self.control.models_path() {
            let losses = (self.board.rate().lost() - prior_lost) as u32;
            self.model(now, acknowledged, losses, prior_in_flight);
        } else if self.is_reducing() {
            self.reduce(acknowledged.delivered, advances && !newly_lost);
        } else if advances {
            self.grow(now, acknowledged.delivered);
        }
    }

    pub(in crate::tcp) fn handle_echo(&mut self) {
        self.echoed = self.params.ecn;
    }

    pub(in crate::tcp) fn handle_timeout(&mut self, now: Instant) {
        let Some((_, timer)) = self.timer.take_if(|(at, _)| *at <= now) else { return };
        if let State::SynSent(pending) = &mut self.state {
            *pending = true;
            self.time_out(now);
            return;
        }
        match timer {
            Timer::Probe => {
                // One probe until the last one is answered.
                self.probe = self.probed.is_none();
                self.rearm(now);
            }
            Timer::Reordering => {
                if self.detect(now).marked > 0 && self.state != State::Recovery {
                    self.enter_recovery(now);
                    if !self.control.models_path() {
                        self.reduce(1, false);
                    }
                }
                if self.timer.is_none() {
                    self.rearm(now);
                }
            }
            Timer::Retransmission => self.lose(now),
        }
    }

    pub(in crate::tcp) fn poll_transmit(&mut self, now: Instant) -> Option<Transmission> {
        if let State::SynSent(pending) = &mut self.state {
            if !std::mem::take(pending) {
                return None;
            }
            if self.timer.is_none() {
                self.syn_sent = now;
                self.rearm(now);
            }
            let ecn = Ecn { echo: self.params.ecn, reduced: self.params.ecn, ..Ecn::NONE };
            return Some(Transmission { kind: Kind::Syn, seq: 0, payload: 0, number: 0, cwnd: 1, push: false, ecn });
        }
        self.pacer.rest();
        if let Some(probe) = self.transmit_probe(now) {
            return Some(probe);
        }
        let sent = self.transmit(now);
        if sent.is_some() {
            self.sent_something = true;
        } else {
            self.validate(now);
        }
        sent
    }

    fn transmit_probe(&mut self, now: Instant) -> Option<Transmission> {
        if !std::mem::take(&mut self.probe) {
            return None;
        }
        // New data if the peer's window has room for it, whatever cwnd says.
        let sent = self.transmit_new(now);
        let again = sent.is_none();
        let sent = sent.or_else(|| self.board.retransmit_tail(now).map(|out| self.again(now, out)))?;
        self.probed = Some((self.next, again));
        self.rearm(now);
        Some(sent)
    }

    fn transmit(&mut self, now: Instant) -> Option<Transmission> {
        if self.board.in_flight() >= self.window() {
            return None;
        }
        if self.control.pacing().is_some() && self.pacer.holds(now) {
            return None;
        }
        if self.new_first {
            // RFC 5682 step 2b: up to two new segments tell whether the timeout was needless.
            if let Some(sent) = self.transmit_new(now) {
                return Some(sent);
            }
            self.new_first = false;
            if self.next > self.high {
                return None;
            }
            self.frto = false;
        }
        if matches!(self.state, State::Recovery | State::Loss) && !(self.frto && self.next > self.high) {
            let head = self.board.head().map(|out| out.seq);
            if let Some(out) = self.board.retransmit(now) {
                self.prr_out += u32::from(self.is_reducing());
                let sent = self.again(now, out);
                if Some(out.seq) == head {
                    self.rearm(now);
                }
                return Some(sent);
            }
        }
        let sent = self.transmit_new(now);
        self.prr_out += u32::from(self.is_reducing() && sent.is_some());
        sent
    }

    /// New data, if there is any and the peer's window has room for it.
    fn transmit_new(&mut self, now: Instant) -> Option<Transmission> {
        let payload = u64::from(self.params.mss).min(self.size.saturating_sub(self.next));
        let end = self.next + payload;
        if payload == 0 || end > self.una + self.peer_window {
            return None;
        }
        // The writer marks what fills half of the largest window, and the end of what it writes.
        let push = end > self.pushed + self.largest_window / 2 || end == self.size;
        if push {
            self.pushed = end;
        }
        let first = self.board.len() == 0;
        let seq = std::mem::replace(&mut self.next, end);
        self.pace(now, true);
        self.board.push(now, seq, end, push);
        self.stats.sent += 1;
        if first || matches!(self.timer, Some((_, Timer::Probe)) | None) {
            self.rearm(now);
        }
        let ecn = Ecn { capable: self.params.ecn, reduced: std::mem::take(&mut self.tells_reduced), ..Ecn::NONE };
        Some(Transmission { kind: Kind::Data, seq, payload: payload as u32, number: 0, cwnd: self.window(), push, ecn })
    }

    fn again(&mut self, now: Instant, out: Out) -> Transmission {
        self.pace(now, false);
        self.stats.sent += 1;
        self.stats.retransmits += 1;
        let payload = (out.end - out.seq) as u32;
        // A copy must not be marked: the mark could be lost with the window that it should make smaller (RFC 3168 section 6.1.5).
        let (cwnd, push, ecn) = (self.window(), out.push, Ecn::NONE);
        Transmission { kind: Kind::Data, seq: out.seq, payload, number: 0, cwnd, push, ecn }
    }

    /// A segment goes: when the next one may. New data goes in bursts, as far as the windows have room.
    fn pace(&mut self, now: Instant, new: bool) {
        let Some(pacing) = self.control.pacing() else { return };
        let mss = self.params.mss;
        let room = if new {
            let of_peer = (self.una + self.peer_window).saturating_sub(self.next) / u64::from(mss);
            let of_path = self.window().saturating_sub(self.board.in_flight());
            // The segment itself has left `next` already.
            of_path.min(of_peer as u32 + 1)
        } else {
            1
        };
        let most = pacing::burst(pacing, mss, self.board.rate().min_rtt()).min(room);
        self.pacer.sent(now, self.stats.sent + 1, mss, pacing, most);
    }

    fn established(&mut self, now: Instant) {
        self.state = State::Open;
        self.timer = None;
        let syn_lost = self.timeouts_in_row > 0;
        let rtt = (!syn_lost).then(|| now.saturating_since(self.syn_sent));
        if let Some(rtt) = rtt {
            self.rto.sample(rtt, 0, 0);
            self.board.round_trip(rtt);
        }
        self.board.rate().established(now, rtt);
        self.control.start(now, if syn_lost { 1 } else { self.params.initial_cwnd }, rtt);
        self.timeouts_in_row = 0;
    }

    fn set_window(&mut self, window: u32) {
        self.peer_window = u64::from(window);
        self.largest_window = self.largest_window.max(self.peer_window);
    }

    /// `tcp_set_xmit_timer`: an ACK has advanced.
    fn set_timer(&mut self, now: Instant) {
        self.timer = None;
        if self.board.len() > 0 && !self.schedule_probe(now, true) {
            self.rearm(now);
        }
    }

    /// `tcp_schedule_loss_probe`: two round trips after the last ACK, but not after the timeout.
    fn schedule_probe(&mut self, now: Instant, advancing: bool) -> bool {
        let busy = matches!(self.timer, Some((_, Timer::Reordering)));
        if !matches!(self.state, State::Open | State::Reducing)
            || self.board.holds_sacked()
            || self.board.lost() > 0
            || busy
        {
            return false;
        }
        let Some(head) = self.board.head() else { return false };
        let two = self.rto.srtt().map_or(self.params.initial_rto, |srtt| srtt * 2);
        let extra = if self.board.len() == 1 { self.params.min_rto } else { PROBE_MARGIN };
        let rto = self.rto.timeout();
        let left = if advancing { rto } else { (head.sent + rto).saturating_since(now) };
        let wait = (two + extra).min(left.max(PROBE_MARGIN));
        self.timer = Some((self.pacer.release(now) + wait, Timer::Probe));
        true
    }

    fn rearm(&mut self, now: Instant) {
        self.timer = Some((self.pacer.release(now) + self.rto.timeout(), Timer::Retransmission));
    }
}
