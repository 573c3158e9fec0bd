//! When Linux acknowledges: quick ACKs, the delayed-ACK timeout and PSH.

use super::rto::LinuxRto;
use crate::tcp::TcpParams;
use crate::units::{Duration, Instant};

/// `TCP_ATO_MIN`, `TCP_DELACK_MIN`: the usual delay.
const ATO_MIN: Duration = Duration::from_millis(40);
/// `TCP_DELACK_MAX`: the longest.
const DELACK_MAX: Duration = Duration::from_millis(200);
/// `TCP_MAX_QUICKACKS`.
const MAX_QUICKACKS: u32 = 16;
/// Duplicate ACKs that a sender needs: they go one by one (`TCP_FASTRETRANS_THRESH`).
const DUPLICATES: u32 = 3;
/// Further ones go as one for so long, or a twentieth of a round trip (`tcp_comp_sack_delay_ns`).
const COMPRESSION_MAX: Duration = Duration::from_millis(1);
/// Segments that one of them stands for at most (`tcp_comp_sack_nr`).
const COMPRESSED_MAX: u32 = 44;

/// The receiver's choice between an ACK now and one later.
#[derive(Clone, Debug, Default)]
pub(in crate::tcp) struct Acks {
    mss: u64,
    /// ACKs that go at once when there is a reason to think that the sender is in slow start.
    most_quick: u32,
    quick: u32,
    /// Delayed-ACK timeout; `None` before the first segment.
    ato: Option<Duration>,
    last_arrival: Instant,
    /// The next byte expected when the last ACK went.
    acked: u64,
    /// The next byte expected when the last segment came behind a hole, ACKs that went for it, and segments since the last one.
    hole: u64,
    duplicates: u32,
    compressed: u32,
    /// The host's own timeout, which knows the round trip of the handshake alone.
    rto: LinuxRto,
    syn_ack_at: Option<Instant>,
}

impl Acks {
    pub(in crate::tcp) fn new(params: &TcpParams) -> Self {
        Acks {
            mss: u64::from(params.mss),
            most_quick: (params.window / 2).clamp(2, MAX_QUICKACKS),
            rto: LinuxRto::new(params),
            ..Acks::default()
        }
    }

    /// A SYN is answered.
    pub(in crate::tcp) fn syn(&mut self, now: Instant) {
        self.syn_ack_at.get_or_insert(now);
    }

    /// A segment came that the host has already: `tcp_data_queue` expects more of them.
    pub(in crate::tcp) fn duplicate(&mut self) {
        self.quick = self.quick.max(self.most_quick);
        self.ato = Some(ATO_MIN);
    }

    /// The first mark of congestion came: the sender may have a window of one (`tcp_ecn_check_ce`).
    pub(in crate::tcp) fn marked(&mut self) {
        self.quick = self.quick.max(2);
        self.ato = Some(ATO_MIN);
    }

    /// A segment came in order and made `next` the next byte expected: how long its ACK waits.
    pub(in crate::tcp) fn in_order(&mut self, now: Instant, next: u64, push: bool) -> Duration {
        if let Some(sent) = self.syn_ack_at.take() {
            self.rto.sample(now.saturating_since(sent), 0, 0);
        }
        let gap = now.saturating_since(self.last_arrival);
        self.last_arrival = now;
        let ato = match self.ato {
            None => {
                self.quick = self.quick.max(self.most_quick);
                ATO_MIN
            }
            Some(ato) if gap <= half(ATO_MIN) => half(ato) + half(ATO_MIN),
            Some(ato) if gap < ato => (half(ato) + gap).min(self.rto.timeout()),
            Some(ato) => {
                if gap > self.rto.timeout() {
                    self.quick = self.quick.max(self.most_quick);
                }
                ato
            }
        };
        self.ato = Some(ato);
        if next - self.acked > self.mss || self.quick > 0 || push {
            return Duration::ZERO;
        }
        if ato <= ATO_MIN {
            return ato;
        }
        let most = self.rto.srtt().map_or(DELACK_MAX, |srtt| srtt.max(ATO_MIN));
        ato.min(most).min(DELACK_MAX)
    }

    /// A segment came behind a hole, `next` is the next byte expected: how long its ACK waits (`__tcp_ack_snd_check`).
    pub(in crate::tcp) fn behind_hole(&mut self, next: u64) -> Duration {
        if next - self.acked > self.mss || self.quick > 0 || self.compressed >= COMPRESSED_MAX {
            return Duration::ZERO;
        }
        if self.hole != next {
            self.hole = next;
            self.duplicates = 0;
        }
        if self.duplicates < DUPLICATES {
            self.duplicates += 1;
            return Duration::ZERO;
        }
        self.compressed += 1;
        let twentieth = self.rto.srtt().map_or(0, |srtt| srtt.as_nanos() / 20);
        Duration::from_nanos(twentieth).min(COMPRESSION_MAX)
    }

    /// The timer expired. If it was that of the delayed ACK, waiting was in vain.
    pub(in crate::tcp) fn in_vain(&mut self) {
        if self.compressed > 0 {
            return;
        }
        self.ato = self.ato.map(|ato| (ato * 2).min(self.rto.timeout()));
    }

    /// An ACK for all below `next` goes.
    pub(in crate::tcp) fn sent(&mut self, next: u64) {
        self.acked = next;
        self.compressed = 0;
        self.quick = self.quick.saturating_sub(1);
    }
}

fn half(duration: Duration) -> Duration {
    Duration::from_nanos(duration.as_nanos() / 2)
}
