//! Congestion control: how the window grows, what congestion leaves of it, how fast segments may follow each other.
//!
//! A [`Controller`] owns the window and the slow-start threshold. Which segments are lost, and what may be sent while they are
//! repaired, is the senders' business; they set the window where recovery has rules of its own.
//!
//! A new congestion control is a file here, a [`Variant`] and a `Law`.

mod bbr;
mod cubic;
mod ns3_cubic;
mod reno;
mod sample;
mod variant;

use self::bbr::Bbr;
use self::cubic::Cubic;
use self::ns3_cubic::Ns3Cubic;
use self::reno::Reno;
pub(super) use self::sample::{Ack, Counting, Pacing, Rate, Repair, Sample};
pub use self::variant::Variant;
use super::params::TcpParams;
use crate::preset::Preset;
use crate::rng::Rng;
use crate::units::{Duration, Instant};

/// What differs between the congestion controls.
#[derive(Clone, Debug)]
enum Law {
    Reno(Reno),
    Cubic(Cubic),
    Ns3Cubic(Ns3Cubic),
    Bbr(Box<Bbr>),
}

impl Default for Law {
    fn default() -> Self {
        Law::Reno(Reno::default())
    }
}

/// Congestion control of one connection. Windows are in segments.
#[derive(Clone, Debug, Default)]
pub(super) struct Controller {
    cwnd: f64,
    ssthresh: f64,
    counting: Counting,
    law: Law,
}

impl Controller {
    /// Before the handshake: a window of one segment. Only BBR draws from `rng`.
    pub(super) fn new(params: &TcpParams, counting: Counting, ssthresh: f64, rng: &mut Rng) -> Self {
        let law = match params.variant {
            Variant::Reno | Variant::Newreno => Law::Reno(Reno::default()),
            Variant::Cubic if params.preset == Preset::Ns3 && counting == Counting::Acks => {
                Law::Ns3Cubic(Ns3Cubic::default())
            }
            Variant::Cubic => Law::Cubic(Cubic::default()),
            Variant::Bbr => Law::Bbr(Box::new(Bbr::new(params.mss, Rng::fork(rng.next_u64(), "bbr")))),
        };
        Controller { cwnd: 1.0, ssthresh, counting, law }
    }

    /// Congestion window.
    pub(super) fn cwnd(&self) -> f64 {
        self.cwnd
    }

    /// Slow-start threshold.
    pub(super) fn ssthresh(&self) -> f64 {
        self.ssthresh
    }

    /// The rate to keep to; `None`: whatever the window lets out goes at once.
    pub(super) fn pacing(&self) -> Option<Pacing> {
        match &self.law {
            Law::Reno(_) | Law::Cubic(_) | Law::Ns3Cubic(_) => None,
            Law::Bbr(bbr) => bbr.pacing(),
        }
    }

    /// Whether it models the path: then it wants every acknowledgement, with its sample, and sets its window in recovery, too
    /// (Linux' `cong_control`).
    pub(super) fn models_path(&self) -> bool {
        matches!(self.law, Law::Bbr(_))
    }

    /// Whether it holds back for reasons of its own, so that samples of the rate say nothing about the path.
    pub(super) fn holds_back(&self) -> bool {
        matches!(&self.law, Law::Bbr(bbr) if bbr.probes_rtt())
    }

    /// The handshake is over; `rtt`: its round trip, if the SYN was sent once.
    pub(super) fn start(&mut self, now: Instant, cwnd: u32, rtt: Option<Duration>) {
        self.cwnd = f64::from(cwnd);
        if let Law::Bbr(bbr) = &mut self.law {
            bbr.start(now, cwnd, rtt);
        }
    }

    /// Recovery is over: the window is the threshold, unless the path is modelled.
    pub(super) fn on_repaired(&mut self) {
        if !self.models_path() {
            self.set_cwnd(self.ssthresh);
        }
    }

    /// The window that the handshake, recovery or the receiver's window leave.
    pub(super) fn set_cwnd(&mut self, cwnd: f64) {
        self.cwnd = cwnd;
        match &mut self.law {
            Law::Reno(reno) => reno.restart(),
            Law::Cubic(_) | Law::Ns3Cubic(_) | Law::Bbr(_) => {}
        }
    }

    /// All below `una` is acknowledged of what was sent up to `max`: slow start may be far enough (ns-3's `HyStart`).
    pub(super) fn on_progress(&mut self, now: Instant, una: u64, max: u64, srtt: Option<Duration>) {
        let (Law::Ns3Cubic(cubic), Some(rtt)) = (&mut self.law, srtt) else { return };
        let slow_start = self.cwnd < self.ssthresh;
        if cubic.sample(now, rtt, self.cwnd, self.cwnd <= self.ssthresh) {
            self.ssthresh = self.cwnd;
        }
        if slow_start && self.cwnd < self.ssthresh {
            cubic.round(now, una, max);
        }
    }

    /// New data was acknowledged and the window is what limits: slow start (RFC 5681 section 3.1, Linux' `tcp_slow_start`), else
    /// congestion avoidance.
    pub(super) fn on_ack(&mut self, ack: &Ack) {
        if let (Law::Bbr(bbr), Some(sample)) = (&mut self.law, &ack.sample) {
            self.cwnd = f64::from(bbr.on_ack(ack, sample, self.cwnd as u32));
            return;
        }
        if let Law::Ns3Cubic(cubic) = &mut self.law {
            // Slow start counts segments (RFC 3465).
            self.cwnd = if self.cwnd < self.ssthresh {
                self.cwnd + f64::from(ack.segments)
            } else {
                f64::from(cubic.grow(ack.now, self.cwnd as u32, ack.segments))
            };
            return;
        }
        let mut segments = ack.segments;
        if self.cwnd < self.ssthresh {
            if self.counting == Counting::Acks {
                self.cwnd += 1.0;
                return;
            }
            let grown = (self.cwnd + f64::from(segments)).min(self.ssthresh);
            segments -= (grown - self.cwnd) as u32;
            self.cwnd = grown;
            if segments == 0 {
                return;
            }
        }
        self.cwnd = match (&mut self.law, self.counting) {
            (Law::Reno(_), Counting::Acks) => self.cwnd + 1.0 / self.cwnd,
            (Law::Reno(reno), Counting::Segments) => reno.grow(self.cwnd, segments),
            (Law::Cubic(cubic), Counting::Acks) => cubic.grow(ack.now, self.cwnd, f64::from(segments), ack.srtt),
            (Law::Cubic(cubic), Counting::Segments) => cubic.grow_whole(ack.now, self.cwnd, segments, ack.srtt),
            (Law::Bbr(_) | Law::Ns3Cubic(_), _) => self.cwnd,
        };
    }

    /// A loss was found with `window` in use. Returns what it leaves of `window`; ssthresh is that, whole and at least 2. How
    /// the window gets there is recovery's business.
    pub(super) fn on_congestion(&mut self, window: f64) -> f64 {
        match &mut self.law {
            Law::Reno(reno) => reno.restart(),
            Law::Cubic(cubic) => cubic.on_congestion(window),
            Law::Ns3Cubic(cubic) => {
                self.ssthresh = f64::from(cubic.on_congestion(self.cwnd as u32));
                return self.ssthresh;
            }
            Law::Bbr(bbr) => {
                bbr.save_window(window as u32);
                return window;
            }
        }
        let reduced = window * self.beta();
        self.ssthresh = reduced.floor().max(2.0);
        reduced
    }

    /// The retransmission timer expired with `window` in use. ssthresh is as after a loss; the window is recovery's business.
    pub(super) fn on_timeout(&mut self, window: f64) {
        match &mut self.law {
            Law::Reno(reno) => reno.restart(),
            Law::Cubic(cubic) => cubic.on_timeout(window),
            Law::Ns3Cubic(cubic) => {
                self.ssthresh = f64::from(cubic.on_timeout(self.cwnd as u32));
                return;
            }
            Law::Bbr(bbr) => return bbr.on_timeout(window as u32),
        }
        self.ssthresh = (window * self.beta()).floor().max(2.0);
    }

    /// A timeout was needless: it found this window and this threshold.
    pub(super) fn on_undo(&mut self, cwnd: f64, ssthresh: f64) {
        if let Law::Bbr(bbr) = &mut self.law {
            return bbr.on_undo();
        }
        self.cwnd = self.cwnd.max(cwnd);
        self.ssthresh = self.ssthresh.max(ssthresh);
    }

    /// The factor that congestion leaves of the window.
    fn beta(&self) -> f64 {
        match self.law {
            Law::Reno(_) => reno::BETA,
            Law::Cubic(_) | Law::Ns3Cubic(_) => cubic::BETA,
            Law::Bbr(_) => 1.0,
        }
    }
}
