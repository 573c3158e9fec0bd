//! Which UDP answers congestion, by what its sender does: the rule `udp = "auto"`.
//!
//! A flow's uplink passes by the box at first, so that a call never waits. It is shaped when it is a load and something comes back for it:
//! a sender that hears of losses can answer them, and C counts its bytes. It passes by again when it proves heedless: nothing comes back for a
//! window's worth of packets, or it goes on sending much more than its class lets pass. What passes by takes air that no class can give
//! back (detti2011 App. IV). Ports and contents are not looked at.
//!
//! | needed of a flow (addresses and ports) | where the live box has it |
//! |---|---|
//! | packets and bytes of both directions | nftables sets with counters |
//! | packets lost in the box | the drops of its class, by its part of the class's packets |

use std::collections::BTreeMap;

use crate::packet::{Direction, FlowId, Packet};
use crate::units::{Bytes, Duration, Instant};

/// Flows are looked at so often, as in the live box.
const LOOK: Duration = Duration::from_millis(500);
/// Less is no load, in bit/s: a call of G.711 takes 80 kbit/s with its headers, and hears nothing of the box.
const LOAD: f64 = 128_000.0;
/// Without load for so many looks, a flow passes by again.
const QUIET: u32 = 10;
/// Something comes back where it is one packet of so many. QUIC acknowledges every second one; extensions have it acknowledge fewer, but
/// every round trip.
const ANSWERED: u64 = 100;
/// Unanswered packets, and looks in a row without an answer, that no window explains: what comes back has the wired round trip alone to go,
/// and QUIC begins with ten datagrams (RFC 9002 section 7.2).
const UNANSWERED: u64 = 64;
const SILENT: u32 = 2;
/// A sender that answers comes down to what its class lets pass, but for this share, within so many looks and packets. BBR believes a rate
/// for ten round trips, each half a second where much waits at the station. CUBIC takes 30 % of what is under way a round trip, and slow
/// start leaves up to twice a queue of a thousand packets: 2000 / 0.3 pass before nothing of that is left.
const EXCESS: f64 = 0.2;
const HEEDLESS: u32 = 10;
const HEEDLESS_PACKETS: u64 = 7000;
/// Who was heedless is tried again after this time, which doubles up to the longest.
const AGAIN: Duration = Duration::from_secs(10);
const SELDOM: Duration = Duration::from_secs(320);
/// A flow without packets for so long is forgotten.
const GONE: Duration = Duration::from_secs(60);

/// What is held of a flow of UDP.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Verdict {
    /// Too little is known, or too little sent: it passes by.
    #[default]
    Open,
    /// Something comes back, and it does not send more than its share for long: it is shaped.
    Answers,
    /// Nothing comes back for what it sends: it passes by.
    Unanswered,
    /// It goes on sending more than its class lets pass: it passes by.
    Heedless,
}

impl Verdict {
    /// Whether it says that the sender does not answer congestion.
    pub const fn is_unresponsive(self) -> bool {
        matches!(self, Verdict::Unanswered | Verdict::Heedless)
    }
}

/// A change of what is held of a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UdpChange {
    /// When.
    pub at: Instant,
    /// When its first packet came.
    pub since: Instant,
    /// The flow.
    pub flow: FlowId,
    /// What is held of it from now on.
    pub verdict: Verdict,
}

/// Packets of a flow since the last look.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct UdpSeen {
    /// Packets up, and their IP bytes.
    pub up: u64,
    /// IP bytes up.
    pub bytes: u64,
    /// Packets down.
    pub back: u64,
    /// Packets up that the box dropped.
    pub dropped: u64,
}

/// A flow of UDP at the box.
#[derive(Clone, Copy, Debug, Default)]
pub struct UdpFlow {
    verdict: Verdict,
    since: Instant,
    /// The last look at it, and the last that found packets.
    looked: Instant,
    last: Instant,
    /// Packets, and looks in a row, for which nothing came back.
    unanswered: u64,
    silent: u32,
    /// Looks in a row with an excess, and their packets; looks in a row without a load.
    heedless: u32,
    excess: u64,
    quiet: u32,
    /// When a heedless one is tried again, and how long that took.
    again: Instant,
    patience: Duration,
}

/// All flows of UDP at the box.
#[derive(Clone, Debug, Default)]
pub(super) struct UdpFlows {
    flows: BTreeMap<FlowId, (UdpFlow, UdpSeen)>,
    /// Every change of what was held of a flow.
    pub(super) changes: Vec<UdpChange>,
    cleaned: Instant,
}

impl UdpFlows {
    /// A packet of `flow` came to the box. Whether it is to be shaped, if it goes up.
    pub(super) fn arrives(&mut self, now: Instant, id: FlowId, direction: Direction, len: Bytes) -> bool {
        if now.saturating_since(self.cleaned) > GONE {
            self.flows.retain(|_, (flow, _)| !flow.is_gone(now));
            self.cleaned = now;
        }
        let (flow, seen) = self.flows.entry(id).or_insert_with(|| (UdpFlow::new(now), UdpSeen::default()));
        let before = flow.verdict;
        if now.saturating_since(flow.looked) >= UdpFlow::LOOK {
            flow.look(now, std::mem::take(seen));
        }
        flow.last = now;
        match direction {
            Direction::Up => {
                seen.up += 1;
                seen.bytes += len.0;
            }
            Direction::Down => seen.back += 1,
        }
        if flow.verdict != before {
            self.changes.push(UdpChange { at: now, since: flow.since, flow: id, verdict: flow.verdict });
        }
        flow.verdict == Verdict::Answers
    }

    /// The box dropped `packet`.
    pub(super) fn dropped(&mut self, packet: &impl Packet) {
        if packet.direction() == Direction::Up
            && let Some((_, seen)) = self.flows.get_mut(&packet.flow())
        {
            seen.dropped += 1;
        }
    }
}

impl UdpFlow {
    /// Time between two looks.
    pub const LOOK: Duration = LOOK;

    /// One whose first packet comes `now`.
    pub fn new(now: Instant) -> Self {
        UdpFlow { since: now, looked: now, last: now, again: now, patience: AGAIN, ..UdpFlow::default() }
    }

    /// What is held of it.
    pub const fn verdict(&self) -> Verdict {
        self.verdict
    }

    /// Whether it had no packets for so long that it can be forgotten.
    pub fn is_gone(&self, now: Instant) -> bool {
        now.saturating_since(self.last) > GONE
    }

    /// Looks at what has passed since the last look, [`Self::LOOK`] ago or more.
    pub fn look(&mut self, now: Instant, seen: UdpSeen) {
        let span = now.saturating_since(std::mem::replace(&mut self.looked, now)).as_secs_f64();
        let UdpSeen { up, bytes, back, dropped } = seen;
        self.last = if up + back > 0 { now } else { self.last };
        let is_load = bytes as f64 * 8.0 / span >= LOAD;
        let is_answered = back > 0 && back * ANSWERED >= up;
        let is_excessive = is_load && dropped as f64 >= EXCESS * up as f64;
        // Who is shaped because of answers stays so while any come: a flow at the border does not change sides each second.
        if is_answered || (back > 0 && self.verdict == Verdict::Answers) {
            (self.unanswered, self.silent) = (0, 0);
        } else {
            self.unanswered += up;
            self.silent += u32::from(up > 0);
        }
        (self.heedless, self.excess) = if is_excessive { (self.heedless + 1, self.excess + up) } else { (0, 0) };
        self.quiet = if is_load { 0 } else { self.quiet + 1 };
        let goes_unanswered = self.unanswered >= UNANSWERED && self.silent >= SILENT;
        self.verdict = match self.verdict {
            Verdict::Open | Verdict::Answers if goes_unanswered => Verdict::Unanswered,
            Verdict::Open | Verdict::Unanswered if is_load && is_answered => Verdict::Answers,
            Verdict::Answers if self.heedless >= HEEDLESS && self.excess >= HEEDLESS_PACKETS => {
                (self.heedless, self.excess) = (0, 0);
                self.again = now + self.patience;
                self.patience = (self.patience * 2).min(SELDOM);
                Verdict::Heedless
            }
            Verdict::Answers if self.quiet >= QUIET => Verdict::Open,
            Verdict::Heedless if now >= self.again => Verdict::Open,
            verdict => verdict,
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A flow of 1 Mbit/s, in packets of 1250 bytes, 100 a second, for so many seconds; `back` answers come for ten of them, and of ten
    /// `dropped` are lost while it is shaped. What is held of it after each second.
    fn talk(flows: &mut UdpFlows, from: u64, seconds: u64, back: u64, dropped: u64) -> Vec<Verdict> {
        let mut held = Vec::new();
        for packet in from * 100..(from + seconds) * 100 {
            let now = Instant::ZERO + Duration::from_millis(packet * 10);
            let shaped = flows.arrives(now, FlowId(1), Direction::Up, Bytes(1250));
            if shaped && packet % 10 < dropped {
                flows.flows.get_mut(&FlowId(1)).unwrap().1.dropped += 1;
            }
            if packet % 10 < back {
                flows.arrives(now, FlowId(1), Direction::Down, Bytes(64));
            }
            if packet % 100 == 99 {
                held.push(flows.flows[&FlowId(1)].0.verdict());
            }
        }
        held
    }

    #[test]
    fn what_is_acknowledged_is_shaped_and_what_is_not_passes_by() {
        let mut flows = UdpFlows::default();
        assert_eq!(talk(&mut flows, 0, 2, 5, 0), [Verdict::Answers; 2]);
        assert_eq!(flows.changes[0].at, Instant::ZERO + LOOK);
        let mut flows = UdpFlows::default();
        assert_eq!(talk(&mut flows, 0, 3, 0, 0), [Verdict::Open, Verdict::Unanswered, Verdict::Unanswered]);
        assert_eq!(talk(&mut flows, 3, 2, 5, 0), [Verdict::Answers; 2], "it begins to hear");
        assert_eq!(talk(&mut flows, 5, 2, 0, 0)[1], Verdict::Unanswered, "and ceases to");
    }

    /// One answer for a hundred packets: in some looks there is none.
    #[test]
    fn a_flow_that_is_answered_seldom_does_not_change_sides() {
        let mut flow = UdpFlow::new(Instant::ZERO);
        let mut held = Vec::new();
        for look in 1..40 {
            let now = Instant::ZERO + Duration::from_millis(500 * look);
            flow.look(now, UdpSeen { up: 178, bytes: 178 * 1200, back: 1 + look % 2, dropped: 0 });
            held.push(flow.verdict());
        }
        assert!(held[1..].iter().all(|verdict| *verdict == Verdict::Answers), "{held:?}");
    }

    /// Acknowledgements come back, but nobody reads them: 1 Mbit/s goes on where 0.6 may pass. It takes 70 s to tell that from what waits
    /// at a station.
    #[test]
    fn a_sender_that_goes_on_is_heedless_and_tried_again_more_and_more_seldom() {
        let mut flows = UdpFlows::default();
        talk(&mut flows, 0, 260, 5, 4);
        let halves = |change: &UdpChange| (change.at.as_secs_f64() * 2.0).round() as u64;
        let calls: Vec<_> = flows.changes.iter().filter(|change| change.verdict.is_unresponsive()).collect();
        assert_eq!(
            calls.iter().map(|change| halves(change)).collect::<Vec<_>>(),
            [141, 302, 483],
            "in halves of a second"
        );
        assert!(calls.iter().all(|change| change.verdict == Verdict::Heedless));
    }

    #[test]
    fn losses_of_a_sender_that_comes_down_are_no_reason() {
        let mut flows = UdpFlows::default();
        // A slow start into a full queue for a second and a half, then the usual losses.
        talk(&mut flows, 0, 1, 5, 0);
        for round in 0..20 {
            talk(&mut flows, 1 + 6 * round, 1, 5, 5);
            assert_eq!(talk(&mut flows, 2 + 6 * round, 5, 5, 1), [Verdict::Answers; 5]);
        }
    }

    /// G.711 in datagrams of 20 ms, with and without the other side of the talk.
    #[test]
    fn a_call_is_never_shaped() {
        for two_way in [true, false] {
            let mut flows = UdpFlows::default();
            for packet in 0..5000 {
                let now = Instant::ZERO + Duration::from_millis(packet * 20);
                assert!(!flows.arrives(now, FlowId(1), Direction::Up, Bytes(200)));
                if two_way {
                    flows.arrives(now, FlowId(1), Direction::Down, Bytes(200));
                }
            }
        }
    }

    #[test]
    fn flows_that_are_gone_are_forgotten() {
        let mut flows = UdpFlows::default();
        flows.arrives(Instant::ZERO, FlowId(1), Direction::Up, Bytes(100));
        flows.arrives(Instant::ZERO + GONE * 2, FlowId(2), Direction::Up, Bytes(100));
        assert_eq!(flows.flows.len(), 1);
    }
}
