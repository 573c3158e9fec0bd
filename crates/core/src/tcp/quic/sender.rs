//! The sending end of a connection: RFC 9002.

use super::flight::{Acked, Chunk, Flight};
use super::rtt::Rtt;
use crate::packet::{Ecn, Kind, SackBlocks};
use crate::rng::Rng;
use crate::tcp::congestion::{Ack, Controller, Counting, Pacing, Repair, Sample};
use crate::tcp::linux::{Pacer, burst};
use crate::tcp::{SenderStats, TcpParams, Transmission};
use crate::units::{Duration, Instant};

/// Probes a probe timeout (RFC 9002 section 6.2.4: one or two).
const PROBES: u32 = 2;
/// Probe timeouts that make losses persistent congestion (`kPersistentCongestionThreshold`).
const PERSISTENT: u64 = 3;
/// The window after it (`kMinimumWindow`).
const LEAST_WINDOW: f64 = 2.0;
/// Datagrams that leave together where congestion control has no rate of its own.
const BURST: u32 = 2;

/// The sender; inputs and outputs as those of [`Sender`](crate::tcp::Sender). Windows are in full datagrams.
#[derive(Clone, Debug, Default)]
pub(in crate::tcp) struct QuicSender {
    params: TcpParams,
    size: u64,
    /// First byte of the stream that was never sent.
    next: u64,
    /// When the Initial went, or `None`: it has to go (again).
    initial: Option<Instant>,
    is_established: bool,
    pub(in crate::tcp) control: Controller,
    flight: Flight,
    rtt: Rtt,
    pacer: Pacer,
    /// When the window was reduced; what was sent before is no reason to do so again.
    reduced: Option<Instant>,
    is_repairing: bool,
    /// Probes to send, and probe timeouts in a row.
    probes: u32,
    timeouts_in_row: u32,
    /// The window or pacing, not the application, ended the last burst.
    is_limited: bool,
    pub(in crate::tcp) stats: SenderStats,
}

impl QuicSender {
    pub(in crate::tcp) fn connect(params: &TcpParams, size: u64, rng: &mut Rng) -> Self {
        QuicSender {
            params: *params,
            size,
            control: Controller::new(params, Counting::Segments, f64::INFINITY, rng),
            ..QuicSender::default()
        }
    }

    pub(in crate::tcp) fn stop(&mut self) {
        self.size = self.next;
    }

    pub(in crate::tcp) fn is_done(&self) -> bool {
        self.is_established && self.next >= self.size && self.flight.is_clear()
    }

    pub(in crate::tcp) fn poll_timeout(&self) -> Option<Instant> {
        self.flight.loss_at.or(self.probe_at()).into_iter().chain(self.pacer.poll_timeout()).min()
    }

    /// The microseconds that the ACK frame has waited stand in `window`, the ranges in `sack`, which say all of `ack`.
    pub(in crate::tcp) fn handle_ack(&mut self, now: Instant, kind: Kind, _ack: u64, window: u32, sack: &SackBlocks) {
        if !self.is_established {
            if kind == Kind::QuicInitial {
                self.established(now);
            }
            return;
        }
        if kind != Kind::QuicAck {
            return;
        }
        let prior_in_flight = self.flight.under_way;
        let prior_lost = self.flight.rate.lost();
        let acked = self.flight.acknowledge(sack, self.reduced);
        let Some((newest, sent)) = acked.newest else { return };
        let rtt = now.saturating_since(sent);
        if newest + 1 == sack[0].1 {
            let delay = Duration::from_micros(window.into()).min(self.params.delayed_ack_timeout);
            self.rtt.sample(now, rtt, delay);
        }
        self.timeouts_in_row = 0;
        if acked.after > 0 {
            self.is_repairing = false;
        }
        self.detect(now);
        if self.control.models_path() {
            let losses = (self.flight.rate.lost() - prior_lost) as u32;
            self.model(now, acked, rtt, losses, prior_in_flight);
        } else if acked.after > 0 && self.is_limited {
            self.control.on_ack(&Ack { now, segments: acked.after, srtt: self.rtt.smoothed, sample: None });
        }
    }

    pub(in crate::tcp) fn handle_timeout(&mut self, now: Instant) {
        if self.flight.loss_at.is_some_and(|at| at <= now) {
            self.detect(now);
            return;
        }
        if self.flight.loss_at.is_some() || self.probe_at().is_none_or(|at| at > now) {
            return;
        }
        self.stats.timeouts += 1;
        self.stats.longest_timeout = self.stats.longest_timeout.max(self.timeout());
        self.timeouts_in_row += 1;
        if self.is_established {
            self.probes = PROBES;
        } else {
            self.initial = None;
        }
    }

    pub(in crate::tcp) fn poll_transmit(&mut self, now: Instant) -> Option<Transmission> {
        if !self.is_established {
            if self.initial.is_some() {
                return None;
            }
            self.initial = Some(now);
            let (kind, ecn) = (Kind::QuicInitial, Ecn::NONE);
            return Some(Transmission { kind, seq: 0, payload: 0, number: 0, cwnd: 1, push: false, ecn });
        }
        self.pacer.rest();
        if self.probes > 0 {
            self.probes -= 1;
            // Something has to go, whatever the window says.
            return self.transmit(now, true);
        }
        self.is_limited = self.flight.under_way >= self.window() || self.pacing().is_some() && self.pacer.holds(now);
        if self.is_limited {
            return None;
        }
        self.transmit(now, false)
    }

    /// Lost data, else new data, else what a `probe` repeats.
    fn transmit(&mut self, now: Instant, probe: bool) -> Option<Transmission> {
        let lost = self.flight.take_lost();
        let again = lost.is_some();
        let data = lost.or_else(|| self.new_data());
        let repeats = data.is_none();
        let (seq, payload) = data.or_else(|| self.flight.oldest().filter(|_| probe))?;
        if let Some(pacing) = self.pacing() {
            let most = match self.control.pacing() {
                Some(pacing) => burst(pacing, self.params.mss, self.flight.rate.min_rtt()),
                None => BURST,
            };
            let room = self.window().saturating_sub(self.flight.under_way);
            self.pacer.sent(now, self.stats.sent + 1, self.params.mss, pacing, most.min(room));
        }
        let number = self.flight.push(now, (seq, payload));
        self.stats.sent += 1;
        self.stats.retransmits += u64::from(again || repeats);
        let (kind, cwnd, ecn) = (Kind::Quic, self.window(), Ecn::NONE);
        Some(Transmission { kind, seq, payload, number, cwnd, push: false, ecn })
    }

    fn new_data(&mut self) -> Option<Chunk> {
        let payload = u64::from(self.params.mss).min(self.size.saturating_sub(self.next));
        let seq = self.next;
        self.next += payload;
        (payload > 0).then_some((seq, payload as u32))
    }

    fn established(&mut self, now: Instant) {
        self.is_established = true;
        // Which of several Initials was answered is not known.
        let rtt = self.initial.filter(|_| self.timeouts_in_row == 0).map(|sent| now.saturating_since(sent));
        if let Some(rtt) = rtt {
            self.rtt.sample(now, rtt, Duration::ZERO);
        }
        self.timeouts_in_row = 0;
        self.flight.rate.established(now, rtt);
        self.control.start(now, self.params.initial_cwnd, rtt);
    }

    /// Section 7.3.2: one reduction for a round trip's losses; section 7.6: a new beginning when all of several is lost.
    fn detect(&mut self, now: Instant) {
        let lost = self.flight.detect(now, self.rtt.loss_delay(), self.rtt.first_at);
        if lost.datagrams == 0 {
            return;
        }
        if self.reduced.is_none_or(|reduced| lost.newest > reduced) {
            self.reduced = Some(now);
            self.is_repairing = true;
            self.stats.fast_retransmits += 1;
            self.control.on_congestion(self.control.cwnd());
            if !self.control.models_path() {
                self.control.set_cwnd(self.control.ssthresh());
            }
        }
        if lost.span > self.rtt.probe_timeout(self.params.delayed_ack_timeout) * PERSISTENT {
            self.control.set_cwnd(LEAST_WINDOW);
            self.reduced = None;
        }
    }

    /// As Linux' sender does it: the rate of delivery is what the model is made of.
    fn model(&mut self, now: Instant, acked: Acked, rtt: Duration, losses: u32, prior_in_flight: u32) {
        let in_flight = self.flight.under_way;
        let rate = &mut self.flight.rate;
        let sample = Sample {
            rate: rate.sample(now, true, Some(rtt)),
            rtt: Some(rtt),
            delivered: rate.delivered(),
            lost: rate.lost(),
            delivered_at: rate.delivered_at(),
            losses,
            prior_in_flight,
            in_flight,
            repair: if self.is_repairing { Repair::Loss } else { Repair::Nothing },
            release: self.pacer.release(now),
        };
        let srtt = self.rtt.smoothed;
        self.control.on_ack(&Ack { now, segments: acked.datagrams, srtt, sample: Some(sample) });
        if self.control.holds_back() {
            self.flight.rate.limit(in_flight);
        }
    }

    /// Section 7.7: the window is spread over a round trip, with a quarter more so that it can grow.
    fn pacing(&self) -> Option<Pacing> {
        self.control.pacing().or_else(|| {
            let srtt = self.rtt.smoothed?.as_secs_f64().max(1e-6);
            let rate = 1.25 * self.control.cwnd() * f64::from(self.params.mss) / srtt;
            Some(Pacing { rate: rate as u64, least: 1 })
        })
    }

    /// The congestion window, which is whole.
    fn window(&self) -> u32 {
        self.control.cwnd() as u32
    }

    /// When the probe timeout expires.
    fn probe_at(&self) -> Option<Instant> {
        if !self.is_established {
            return self.initial.map(|sent| sent + self.timeout());
        }
        (self.flight.under_way > 0).then(|| self.flight.last_sent + self.timeout())
    }

    /// The probe timeout, doubled for each one in a row.
    fn timeout(&self) -> Duration {
        let once = self.rtt.probe_timeout(self.params.delayed_ack_timeout);
        (once * (1 << self.timeouts_in_row.min(20))).min(self.params.max_rto)
    }
}
