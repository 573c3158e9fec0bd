//! How the sender of Linux repairs losses and sets its window: net/ipv4/tcp_input.c, tcp_cong.c.

use super::super::board::{Acknowledged, Detected};
use super::{LinuxSender, PROBE_MARGIN, State, Timer};
use crate::tcp::congestion::{Ack, Repair, Sample};
use crate::units::Instant;

impl LinuxSender {
    /// `tcp_process_tlp_ack`: a probe that repaired a loss is a reason to slow down.
    pub(super) fn probe_answered(&mut self, ack: u64, advances: bool, acknowledged: Acknowledged) {
        let Some((high, again)) = self.probed else { return };
        if ack < high {
            return;
        }
        if again && ack > high {
            self.slow_down();
            self.control.on_repaired();
        }
        // New data was the probe, or a mere duplicate says that original and probe have both arrived.
        if !again || ack > high || !(advances || acknowledged.sacked) {
            self.probed = None;
        }
    }

    /// `tcp_fastretrans_alert`: from state to state.
    pub(super) fn repair(&mut self, now: Instant, advances: bool, acknowledged: Acknowledged) {
        let through = self.una >= self.high;
        // `REXMIT_NEW` is for the acknowledgement that asked for it.
        self.new_first = false;
        match self.state {
            // Not before something behind the segment with CWR is acknowledged.
            State::Reducing if self.una > self.high => {
                self.control.on_repaired();
                self.state = State::Open;
            }
            State::Recovery if through => {
                self.control.on_repaired();
                self.state = State::Open;
            }
            State::Loss if self.frto && acknowledged.original => self.undo(),
            State::Loss if through => self.state = State::Open,
            State::Loss if self.frto && self.next > self.high => {
                // RFC 5682 step 3a: the duplicate ACK of new data says that the loss was real.
                self.frto &= !acknowledged.sacked && advances;
            }
            State::Loss if self.frto && advances => {
                self.high = self.next;
                self.new_first = true;
            }
            _ => {}
        }
        let copies_lost = self.detect(now).copies > 0;
        let echoed = std::mem::take(&mut self.echoed) && !self.control.models_path();
        // `tcp_time_to_recover`: anything that is lost, also what an earlier recovery found behind its end and left.
        let is_due = match self.state {
            State::Open | State::Reducing => true,
            State::Loss => copies_lost,
            State::Recovery | State::SynSent(_) => false,
        };
        if is_due && self.board.lost() > 0 {
            self.enter_recovery(now);
        } else if self.state == State::Open && echoed {
            // `tcp_enter_cwr`.
            self.slow_down();
            self.high = self.next;
            self.state = State::Reducing;
            self.tells_reduced = true;
        }
    }

    /// `tcp_in_cwnd_reduction`.
    pub(super) fn is_reducing(&self) -> bool {
        matches!(self.state, State::Reducing | State::Recovery)
    }

    /// Marks losses and waits for those that may only be reordered.
    pub(super) fn detect(&mut self, now: Instant) -> Detected {
        let repairing = matches!(self.state, State::Recovery | State::Loss);
        let srtt = self.rto.srtt().unwrap_or_default();
        let detected = self.board.detect(now, srtt, repairing);
        if let Some(wait) = detected.wait {
            self.timer = Some((now + wait + PROBE_MARGIN, Timer::Reordering));
        }
        detected
    }

    pub(super) fn enter_recovery(&mut self, now: Instant) {
        self.stats.fast_retransmits += 1;
        if self.state != State::Reducing {
            self.slow_down();
        }
        // `tcp_init_cwnd_reduction` tells of any reduction.
        self.tells_reduced = self.params.ecn;
        self.high = self.next;
        self.state = State::Recovery;
        self.rearm(now);
    }

    /// `tcp_init_cwnd_reduction`.
    fn slow_down(&mut self) {
        self.probed = None;
        self.prior_cwnd = self.window();
        self.prr_delivered = 0;
        self.prr_out = 0;
        self.control.on_congestion(self.control.cwnd());
    }

    /// The congestion window, which is whole.
    pub(super) fn window(&self) -> u32 {
        self.control.cwnd() as u32
    }

    /// `tcp_cwnd_reduction`: Proportional Rate Reduction with slow start for as long as an ACK brings no loss.
    pub(super) fn reduce(&mut self, delivered: u32, good_news: bool) {
        if delivered == 0 {
            return;
        }
        self.prr_delivered += delivered;
        let in_flight = self.board.in_flight();
        let ssthresh = self.control.ssthresh() as u32;
        let send = if in_flight > ssthresh {
            let due = u64::from(ssthresh) * u64::from(self.prr_delivered);
            (due.div_ceil(u64::from(self.prior_cwnd)) as u32).saturating_sub(self.prr_out)
        } else {
            let owed = self.prr_delivered.saturating_sub(self.prr_out).max(delivered) + u32::from(good_news);
            owed.min(ssthresh - in_flight)
        };
        self.control.set_cwnd(f64::from(in_flight + send.max(u32::from(self.prr_out == 0))));
    }

    /// `tcp_is_cwnd_limited`: the window grows only where it is what limits.
    pub(super) fn grow(&mut self, now: Instant, segments: u32) {
        let slow_start = self.control.cwnd() < self.control.ssthresh();
        if self.limited || slow_start && self.window() < 2 * self.most_out {
            self.control.on_ack(&Ack { now, segments, srtt: self.rto.srtt(), sample: None });
        }
    }

    /// `tcp_cong_control` with a model of the path: every acknowledgement counts, and the window is the model's.
    pub(super) fn model(&mut self, now: Instant, acknowledged: Acknowledged, losses: u32, prior_in_flight: u32) {
        let in_flight = self.board.in_flight();
        let repair = match self.state {
            State::SynSent(_) | State::Open | State::Reducing => Repair::Nothing,
            State::Recovery => Repair::Loss,
            State::Loss => Repair::Timeout,
        };
        let release = self.pacer.release(now);
        let rate = self.board.rate();
        let sample = Sample {
            rate: rate.sample(now, acknowledged.delivered > 0, acknowledged.newest_rtt),
            rtt: acknowledged.newest_rtt,
            delivered: rate.delivered(),
            lost: rate.lost(),
            delivered_at: rate.delivered_at(),
            losses,
            prior_in_flight,
            in_flight,
            repair,
            release,
        };
        self.control.on_ack(&Ack {
            now,
            segments: acknowledged.delivered,
            srtt: self.rto.srtt(),
            sample: Some(sample),
        });
        if self.control.holds_back() {
            self.board.rate().limit(in_flight);
        }
    }

    /// `tcp_enter_loss`, and the doubled timer.
    pub(super) fn lose(&mut self, now: Instant) {
        let srtt = self.rto.srtt().unwrap_or_default();
        let repairing = matches!(self.state, State::Recovery | State::Loss);
        self.board.time_out(now, srtt, repairing);
        let first = self.state == State::Open
            || self.una >= self.high
            || (self.state == State::Loss && self.timeouts_in_row == 0);
        if first {
            self.before_timeout = Some((self.control.cwnd(), self.control.ssthresh()));
            self.control.on_timeout(self.control.cwnd());
        }
        self.control.set_cwnd(f64::from(self.board.in_flight() + 1));
        self.frto = first || self.timeouts_in_row > 0;
        self.new_first = false;
        self.probed = None;
        self.probe = false;
        self.high = self.next;
        self.state = State::Loss;
        self.time_out(now);
    }

    pub(super) fn time_out(&mut self, now: Instant) {
        self.stats.timeouts += 1;
        self.stats.longest_timeout = self.stats.longest_timeout.max(self.rto.timeout());
        self.timeouts_in_row += 1;
        self.rto.back_off();
        self.rearm(now);
    }

    /// `tcp_try_undo_loss`: what was sent once only has arrived, so that the timeout came too early.
    fn undo(&mut self) {
        self.board.unmark();
        self.frto = false;
        self.new_first = false;
        self.state = State::Open;
        if let Some((cwnd, ssthresh)) = self.before_timeout.take() {
            self.control.on_undo(cwnd, ssthresh);
        }
    }

    /// `tcp_cwnd_validate`, when nothing more can be sent: whether it is cwnd that forbids it.
    pub(super) fn validate(&mut self, now: Instant) {
        let full = self.board.in_flight() >= self.window();
        let sent = std::mem::take(&mut self.sent_something);
        if !sent && !full {
            return;
        }
        if sent {
            self.schedule_probe(now, false);
        }
        if self.una >= self.usage_ends || full || (!self.limited && self.board.len() > self.most_out) {
            self.limited = full;
            self.most_out = self.board.len();
            self.usage_ends = self.next;
        }
    }
}
