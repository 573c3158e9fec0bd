//! The sending end of a connection by the RFCs or as ns-2 has it: windows, loss recovery, retransmission timer.
//!
//! Window inflation follows ns-2's formulation of RFC 6582: `cwnd` holds the congestion window and
//! `inflation` the duplicate ACKs on top of it, so that leaving recovery needs no arithmetic.

mod history;
mod prr;
mod sack;
mod window;

use self::history::History;
use self::prr::{Arrival, Prr};
use super::congestion::{Ack, Controller, Counting, Variant};
use super::params::TcpParams;
use super::ranges::Ranges;
use super::rto::Rto;
use super::transmission::{SenderStats, Transmission};
use crate::packet::{Ecn, Kind, SackBlocks};
use crate::preset::Preset;
use crate::rng::Rng;
use crate::units::Instant;

/// Duplicate ACKs that start a fast retransmit (RFC 5681).
const DUP_THRESH: u32 = 3;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Phase {
    /// The SYN is out, or has to go (again) when `true`.
    SynSent(bool),
    /// No loss is being repaired.
    #[default]
    Open,
    /// Fast recovery until `recover`.
    Recovery,
    /// Go-back-N after a timeout until `recover`.
    Loss,
}

/// The sender; inputs and outputs as those of [`Sender`](super::Sender).
#[derive(Clone, Debug, Default)]
#[allow(clippy::struct_excessive_bools)] // Each says what is due next, with a rule of its own.
pub(super) struct RfcSender {
    params: TcpParams,
    phase: Phase,
    /// Bytes to send in all.
    size: u64,
    /// First byte not acknowledged (SND.UNA).
    una: u64,
    /// Next byte to send; back at `una` after a timeout.
    next: u64,
    /// End of the highest segment sent.
    max: u64,
    /// `max` when the last recovery began.
    recover: u64,
    pub(super) control: Controller,
    /// Segments by which duplicate ACKs inflate the congestion window.
    inflation: f64,
    /// The peer's window in bytes, and in segments.
    peer_window_bytes: u32,
    peer_window: f64,
    dupacks: u32,
    /// Until the first partial ACK of a recovery, which restarts the timer (RFC 6582, Impatient variant).
    awaits_partial: bool,
    /// Send the segment at `una` next, whatever the window.
    retransmit: bool,
    /// Consecutive timeouts of the segment at `una`.
    timeouts_in_row: u32,
    /// The segment that is being timed: its first byte, when it was sent.
    timed: Option<(u64, Instant)>,
    /// Under the preset `ns3`: what tells round trips in place of `timed`.
    history: History,
    rto: Rto,
    deadline: Option<Instant>,
    /// SACK scoreboard, and up to where this recovery has retransmitted (`HighRxt` of RFC 6675).
    sacked: Ranges,
    high_rxt: u64,
    /// Under the preset `ns3`: this recovery's reduction.
    prr: Prr,
    /// ECN: the ACK at hand echoes a mark; the window was reduced for marks up to here; the next new segment is to say so.
    echoed: bool,
    reduced_up_to: u64,
    tells_reduced: bool,
    pub(super) stats: SenderStats,
}

impl RfcSender {
    pub(super) fn connect(params: &TcpParams, size: u64, rng: &mut Rng) -> Self {
        let ssthresh = f64::from(params.initial_ssthresh.unwrap_or(params.window));
        RfcSender {
            params: *params,
            phase: Phase::SynSent(true),
            size,
            control: Controller::new(params, Counting::Acks, ssthresh, rng),
            peer_window_bytes: params.window.saturating_mul(params.mss),
            peer_window: f64::from(params.window),
            rto: Rto::new(params, rng.uniform()),
            ..RfcSender::default()
        }
    }

    pub(super) fn stop(&mut self) {
        self.size = self.max;
    }

    pub(super) fn is_done(&self) -> bool {
        self.una >= self.size && !matches!(self.phase, Phase::SynSent(_))
    }

    pub(super) fn poll_timeout(&self) -> Option<Instant> {
        self.deadline
    }

    pub(super) fn handle_ack(&mut self, now: Instant, kind: Kind, ack: u64, window: u32, sack: &SackBlocks) {
        if matches!(self.phase, Phase::SynSent(_)) {
            if kind == Kind::SynAck {
                self.set_peer_window(window);
                self.established(now);
            }
            return;
        }
        if kind != Kind::Ack || ack < self.una || ack > self.max {
            return;
        }
        self.set_peer_window(window);
        if std::mem::take(&mut self.echoed) && self.phase == Phase::Open && ack > self.reduced_up_to {
            // RFC 3168 section 6.1.2: as for a loss, once a window (until something behind CWR is acknowledged), and nothing is sent again.
            let window = self.congested_window();
            let reduced = self.control.on_congestion(window);
            self.control.set_cwnd(reduced);
            self.reduced_up_to = self.max;
            self.tells_reduced = true;
        }
        let known = self.delivered_by(self.una);
        let news = self.params.sack && self.update_scoreboard(sack);
        let arrival = Arrival {
            delivered: self.delivered_by(ack) - known,
            duplicate: news,
            advances: ack > self.una,
            repairs: ack <= self.high_rxt,
            begins: self.phase != Phase::Recovery,
        };
        if ack > self.una {
            let by_partial_acks = self.params.sack || self.params.variant != Variant::Reno;
            if self.phase == Phase::Recovery && by_partial_acks && ack < self.recover {
                self.partial_ack(now, ack);
            } else {
                self.new_ack(now, ack);
            }
        } else if self.max > self.una && (news || !self.params.sack) {
            self.duplicate_ack(now);
        }
        if self.phase == Phase::Recovery && self.params.sack && self.is_ns3() {
            self.reduce(arrival);
        }
    }

    pub(super) fn handle_echo(&mut self) {
        self.echoed = self.params.ecn;
    }

    pub(super) fn handle_timeout(&mut self, now: Instant) {
        if self.deadline.is_none_or(|deadline| deadline > now) {
            return;
        }
        self.stats.timeouts += 1;
        self.stats.longest_timeout = self.stats.longest_timeout.max(self.rto.timeout());
        self.timeouts_in_row += 1;
        self.timed = None;
        self.history.clear();
        self.rto.back_off();
        self.deadline = Some(now + self.rto.timeout());
        let ns2 = self.params.preset == Preset::Ns2;
        if let Phase::SynSent(pending) = &mut self.phase {
            *pending = true;
            if ns2 {
                self.control.on_timeout(1.0);
            }
            return;
        }
        // RFC 5681 section 3.1: ssthresh is held when the same segment times out again.
        if ns2 || self.is_ns3() || self.timeouts_in_row == 1 {
            let window = self.congested_window().max(1.0);
            self.control.on_timeout(window);
        }
        self.control.set_cwnd(1.0);
        self.inflation = 0.0;
        self.dupacks = 0;
        self.retransmit = false;
        self.recover = self.max;
        self.next = self.una;
        self.phase = Phase::Loss;
    }

    pub(super) fn poll_transmit(&mut self, now: Instant) -> Option<Transmission> {
        if let Phase::SynSent(pending) = &mut self.phase {
            if !std::mem::take(pending) {
                return None;
            }
            if self.timeouts_in_row == 0 {
                self.timed = Some((0, now));
                self.deadline = Some(now + self.rto.timeout());
            }
            let ecn = Ecn { echo: self.params.ecn, reduced: self.params.ecn, ..Ecn::NONE };
            return Some(Transmission { kind: Kind::Syn, seq: 0, payload: 0, number: 0, cwnd: 1, push: false, ecn });
        }
        if std::mem::take(&mut self.retransmit) {
            self.high_rxt = self.una + u64::from(self.params.mss);
            return Some(self.segment(now, self.una));
        }
        if self.params.sack && self.phase == Phase::Recovery {
            return self.sack_transmit(now);
        }
        if self.next < self.max {
            // Go-back-N steps over what the peer is known to hold.
            self.next = self.sacked.skip(self.next);
        }
        let peer_window = self.peer_window as u64 * u64::from(self.params.mss);
        if self.next >= self.size || self.out() >= self.usable_window() || self.next - self.una >= peer_window {
            return None;
        }
        let segment = self.segment(now, self.next);
        self.next += u64::from(segment.payload);
        Some(segment)
    }

    fn established(&mut self, now: Instant) {
        if let Some((_, sent)) = self.timed.take() {
            self.rto.sample(sent, now);
        }
        // RFC 5681 section 3.1: after a lost SYN the window starts with one segment.
        let syn_lost = self.timeouts_in_row > 0;
        if syn_lost && self.params.preset == Preset::Standard {
            self.rto.syn_timed_out();
        }
        self.control.set_cwnd(if syn_lost { 1.0 } else { f64::from(self.params.initial_cwnd) });
        self.timeouts_in_row = 0;
        self.deadline = None;
        self.phase = Phase::Open;
    }

    fn new_ack(&mut self, now: Instant, ack: u64) {
        let mut segments = (ack - self.una).div_ceil(u64::from(self.params.mss)) as u32;
        if self.phase == Phase::Recovery {
            self.leave_recovery(ack);
        } else if self.phase == Phase::Loss && ack >= self.recover {
            self.phase = Phase::Open;
            if self.is_ns3() {
                // What was out when the timer expired opens no window: it may be all of it at once.
                segments = ((ack - self.recover) / u64::from(self.params.mss)) as u32;
            }
        }
        self.dupacks = 0;
        self.timeouts_in_row = 0;
        self.advance(ack);
        if let Some((seq, sent)) = self.timed
            && ack > seq
        {
            self.timed = None;
            self.rto.sample(sent, now);
        }
        if let Some(sent) = self.history.acknowledged(ack) {
            self.rto.sample(sent, now);
        }
        if self.is_ns3() {
            // `TcpSocketBase::NewAck` takes the timeout from the estimate again, also after the ACK of a retransmission.
            self.rto.end_backoff();
        }
        self.deadline = (self.max > ack).then(|| now + self.rto.timeout());
        if segments > 0 {
            self.open_window(now, segments);
        }
    }

    /// RFC 6582: part of the window is repaired; the next hole starts at `ack`.
    fn partial_ack(&mut self, now: Instant, ack: u64) {
        let segments = (ack - self.una).div_ceil(u64::from(self.params.mss)) as f64;
        if !self.params.sack {
            // Partial window deflation: what left the network no longer inflates the window.
            if self.is_ns3() {
                self.inflation = (self.inflation - (segments - 1.0)).max(0.0);
            } else if self.inflation > segments {
                self.inflation -= segments - 1.0;
            } else {
                self.control.set_cwnd((self.control.cwnd() - (segments - self.inflation)).max(1.0));
                self.inflation = 1.0;
            }
        }
        self.advance(ack);
        if self.timed.is_some_and(|(seq, _)| ack > seq) {
            self.timed = None;
            self.rto.end_backoff();
        }
        if let Some(sent) = self.history.acknowledged(ack) {
            self.rto.sample(sent, now);
        }
        if std::mem::take(&mut self.awaits_partial) {
            self.deadline = Some(now + self.rto.timeout());
        }
        self.retransmit = !self.params.sack || self.high_rxt <= ack;
    }

    fn duplicate_ack(&mut self, now: Instant) {
        if self.is_ns3() && self.phase == Phase::Loss {
            return;
        }
        self.dupacks += 1;
        if self.phase == Phase::Recovery {
            if !self.params.sack {
                self.inflation += 1.0;
            }
            return;
        }
        let lost = self.dupacks == DUP_THRESH || (self.params.sack && self.is_lost(self.una));
        // Not again for losses of the window that is already being repaired: RFC 6582 section 3.2 step 1; with SACK,
        // which tells new losses from copies, as soon as that window is through (RFC 6675 section 5.1).
        let repaired =
            if self.params.sack || self.is_ns3() { self.una >= self.recover } else { self.una > self.recover };
        if lost && (repaired || self.una == 0) {
            self.enter_recovery(now);
        }
    }

    fn enter_recovery(&mut self, now: Instant) {
        self.stats.fast_retransmits += 1;
        let window = self.congested_window();
        let reduced = self.control.on_congestion(window);
        let ns2 = self.params.preset == Preset::Ns2;
        self.control.set_cwnd(if ns2 { reduced } else { self.control.ssthresh() });
        self.inflation = if self.params.sack { 0.0 } else { f64::from(DUP_THRESH) };
        self.prr = Prr::new(self.pipe());
        self.recover = self.max;
        self.phase = Phase::Recovery;
        self.awaits_partial = true;
        self.retransmit = true;
        self.timed = None;
        self.deadline = Some(now + self.rto.timeout());
    }

    fn leave_recovery(&mut self, ack: u64) {
        self.phase = Phase::Open;
        self.inflation = 0.0;
        if self.params.preset == Preset::Standard {
            // RFC 6582 section 3.2 step 3: no burst when little is in flight.
            let flight = ((self.max - ack) / u64::from(self.params.mss)) as f64;
            self.control.set_cwnd(self.control.ssthresh().min(flight.max(1.0) + 1.0));
        } else if self.is_ns3() {
            self.control.set_cwnd(self.control.ssthresh());
        }
    }

    fn advance(&mut self, ack: u64) {
        self.una = ack;
        self.next = self.next.max(ack);
        self.high_rxt = self.high_rxt.max(ack);
        if !self.sacked.is_empty() {
            self.sacked.advance(ack);
        }
    }

    fn open_window(&mut self, now: Instant, segments: u32) {
        self.control.on_progress(now, self.una, self.max, self.rto.srtt());
        self.control.on_ack(&Ack { now, segments, srtt: self.rto.srtt(), sample: None });
        // Beyond the receive window cwnd would be a number that was never tested.
        let most = f64::from(self.params.window);
        if self.control.cwnd() > most {
            self.control.set_cwnd(most);
        }
    }

    /// The segment that starts at `seq`, on its way.
    fn segment(&mut self, now: Instant, seq: u64) -> Transmission {
        let payload = u64::from(self.params.mss).min(self.size - seq);
        let nothing_out = self.una == self.max;
        self.stats.sent += 1;
        if self.phase == Phase::Recovery {
            self.prr.out += payload;
        }
        let mut ecn = Ecn::NONE;
        if seq < self.max {
            self.stats.retransmits += 1;
            self.history.sent_again(seq);
        } else {
            ecn = Ecn { capable: self.params.ecn, reduced: std::mem::take(&mut self.tells_reduced), ..Ecn::NONE };
            self.max = seq + payload;
            if self.is_ns3() {
                self.history.sent(self.max, now);
            } else {
                self.timed.get_or_insert((seq, now));
            }
        }
        if self.deadline.is_none() || nothing_out {
            self.deadline = Some(now + self.rto.timeout());
        }
        let cwnd = (self.control.cwnd() + self.inflation).min(self.peer_window) as u32;
        Transmission { kind: Kind::Data, seq, payload: payload as u32, number: 0, cwnd, push: false, ecn }
    }
}
