//! What may be out, and what a loss finds out.

use super::{DUP_THRESH, Phase, RfcSender};
use crate::preset::Preset;

impl RfcSender {
    /// The window that a loss was found with: not more than is out, where the file's end leaves cwnd unused
    /// (RFC 5681 equation 4, RFC 9438 section 4.6). ns-2 takes the window.
    pub(super) fn congested_window(&self) -> f64 {
        let window = self.control.cwnd().min(self.peer_window);
        match self.params.preset {
            Preset::Standard => window.min((self.max - self.una).div_ceil(u64::from(self.params.mss)) as f64),
            Preset::Ns2 => window,
            // `BytesInFlight`: without what duplicate ACKs or SACK say has arrived.
            Preset::Ns3 if self.params.sack => self.pipe().div_ceil(u64::from(self.params.mss)) as f64,
            Preset::Ns3 => {
                let arrived = if self.phase == Phase::Recovery { self.inflation } else { f64::from(self.dupacks) };
                (self.max - self.una).div_ceil(u64::from(self.params.mss)) as f64 - arrived
            }
        }
    }

    pub(super) fn is_ns3(&self) -> bool {
        self.params.preset == Preset::Ns3
    }

    /// Bytes that are out: after a timeout without those that the peer is known to hold (RFC 6675 section 5.1).
    pub(super) fn out(&self) -> u64 {
        let held = if self.phase == Phase::Loss { self.sacked.bytes_below(self.next) } else { 0 };
        self.next - self.una - held
    }

    /// Bytes that may be out.
    pub(super) fn usable_window(&self) -> u64 {
        let limited_transmit = self.params.limited_transmit && self.dupacks < DUP_THRESH;
        let extra = if limited_transmit { f64::from(self.dupacks) } else { self.inflation };
        (self.control.cwnd() + extra).min(self.peer_window) as u64 * u64::from(self.params.mss)
    }

    pub(super) fn set_peer_window(&mut self, bytes: u32) {
        if bytes != self.peer_window_bytes {
            self.peer_window_bytes = bytes;
            self.peer_window = f64::from(bytes / self.params.mss);
        }
    }
}
