//! How the sender of Linux repairs losses and sets its window: net/ipv4/tcp_input.c, tcp_cong.c.

use super::super::board::News;
use super::{LinuxSender, PROBE_MARGIN, State, Timer};
use crate::tcp::Variant;
use crate::tcp::cubic;
use crate::units::Instant;

impl LinuxSender {
    /// `tcp_process_tlp_ack`: a probe that repaired a loss is a reason to slow down.
    pub(super) fn probe_answered(&mut self, ack: u64, advances: bool, news: News) {
        let Some((high, again)) = self.probed else { return };
        if ack < high {
            return;
        }
        if again && ack > high {
            self.slow_down();
            self.cwnd = self.ssthresh;
        }
        // New data was the probe, or a mere duplicate says that original and probe have both arrived.
        if !again || ack > high || !(advances || news.sacked) {
            self.probed = None;
        }
    }

    /// `tcp_fastretrans_alert`: from state to state.
    pub(super) fn repair(&mut self, now: Instant, advances: bool, news: News) {
        let through = self.una >= self.high;
        match self.state {
            State::Recovery if through => {
                self.cwnd = self.ssthresh;
                self.state = State::Open;
            }
            State::Loss if self.frto && news.original => return self.undo(),
            State::Loss if through => self.state = State::Open,
            State::Loss if self.frto && self.next > self.high => {
                // RFC 5682 step 3a: the duplicate ACK of new data says that the loss was real.
                self.frto &= !news.sacked && advances;
            }
            State::Loss if self.frto && advances => {
                self.high = self.next;
                self.new_first = true;
            }
            _ => {}
        }
        let marked = self.detect(now);
        if self.state == State::Open && marked > 0 {
            self.enter_recovery(now);
        }
    }

    /// Marks losses and waits for those that may only be reordered; says how many are newly lost.
    pub(super) fn detect(&mut self, now: Instant) -> u32 {
        let repairing = matches!(self.state, State::Recovery | State::Loss);
        let srtt = self.rto.srtt().unwrap_or_default();
        let (marked, wait) = self.board.detect(now, srtt, repairing);
        if let Some(wait) = wait {
            self.timer = Some((now + wait + PROBE_MARGIN, Timer::Reordering));
        }
        marked
    }

    pub(super) fn enter_recovery(&mut self, now: Instant) {
        self.stats.fast_retransmits += 1;
        self.slow_down();
        self.high = self.next;
        self.state = State::Recovery;
        self.rearm(now);
    }

    /// `tcp_init_cwnd_reduction`.
    fn slow_down(&mut self) {
        self.probed = None;
        self.credit = 0;
        self.prior_cwnd = self.cwnd;
        self.prr_delivered = 0;
        self.prr_out = 0;
        self.cubic.on_congestion(f64::from(self.cwnd));
        self.ssthresh = self.reduced();
    }

    fn reduced(&self) -> u32 {
        let left = match self.params.variant {
            Variant::Cubic => (f64::from(self.cwnd) * cubic::BETA) as u32,
            Variant::Reno | Variant::Newreno => self.cwnd / 2,
        };
        left.max(2)
    }

    /// `tcp_cwnd_reduction`: Proportional Rate Reduction with slow start for as long as an ACK brings no bad news.
    pub(super) fn reduce(&mut self, delivered: u32, good_news: bool) {
        if delivered == 0 {
            return;
        }
        self.prr_delivered += delivered;
        let in_flight = self.board.in_flight();
        let send = if in_flight > self.ssthresh {
            let due = u64::from(self.ssthresh) * u64::from(self.prr_delivered);
            (due.div_ceil(u64::from(self.prior_cwnd)) as u32).saturating_sub(self.prr_out)
        } else {
            let owed = self.prr_delivered.saturating_sub(self.prr_out).max(delivered) + u32::from(good_news);
            owed.min(self.ssthresh - in_flight)
        };
        self.cwnd = in_flight + send.max(u32::from(self.prr_out == 0));
    }

    /// `tcp_reno_cong_avoid`, or CUBIC beyond slow start.
    pub(super) fn grow(&mut self, now: Instant, mut acked: u32) {
        let slow_start = self.cwnd < self.ssthresh;
        if !(self.limited || slow_start && self.cwnd < 2 * self.most_out) {
            return;
        }
        if slow_start {
            let grown = (self.cwnd + acked).min(self.ssthresh);
            acked -= grown - self.cwnd;
            self.cwnd = grown;
            if acked == 0 {
                return;
            }
        }
        if self.params.variant == Variant::Cubic {
            let base = if self.smooth as u32 == self.cwnd { self.smooth } else { f64::from(self.cwnd) };
            self.smooth = self.cubic.grow(now, base, f64::from(acked), self.rto.srtt());
            self.cwnd = self.smooth as u32;
            return;
        }
        // tcp_cong_avoid_ai.
        if self.credit >= self.cwnd {
            self.credit = 0;
            self.cwnd += 1;
        }
        self.credit += acked;
        let more = self.credit / self.cwnd;
        self.credit -= more * self.cwnd;
        self.cwnd += more;
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
            self.before_timeout = Some((self.cwnd, self.ssthresh));
            self.ssthresh = self.reduced();
            self.cubic.on_timeout(f64::from(self.cwnd));
        }
        self.cwnd = self.board.in_flight() + 1;
        self.credit = 0;
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
            self.cwnd = self.cwnd.max(cwnd);
            self.ssthresh = self.ssthresh.max(ssthresh);
        }
    }

    /// `tcp_cwnd_validate`, when nothing more can be sent: whether it is cwnd that forbids it.
    pub(super) fn validate(&mut self, now: Instant) {
        let full = self.board.in_flight() >= self.cwnd;
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
