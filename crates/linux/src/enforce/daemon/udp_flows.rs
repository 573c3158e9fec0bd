//! Which flows of UDP are shaped (`udp = "auto"`): what is counted of them is shown to the machine of each, twice a second.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

use fairair_core::shaper::{UdpFlow, UdpRule, UdpSeen, Verdict};
use fairair_core::units::Instant;

use super::Daemon;
use super::troubles::Trouble;
use crate::enforce::datapath::{ClassStats, MOST_UDP_FLOWS, UdpFlowKey, UdpFlowsSeen, decide_udp, leaf_minor};
use crate::enforce::site::Station;

/// All flows of UDP that are known.
#[derive(Debug, Default)]
pub(super) struct UdpFlows {
    flows: BTreeMap<UdpFlowKey, Known>,
    /// Packets that each class has sent and dropped, by minor number.
    classes: BTreeMap<u16, (u32, u32)>,
    looked: Option<Instant>,
}

#[derive(Debug)]
struct Known {
    flow: UdpFlow,
    /// As counted at the last look: packets and bytes up, packets down.
    up: (u64, u64),
    back: u64,
    /// It had packets then.
    is_active: bool,
}

impl UdpFlows {
    /// Looks at what has been counted. `class` is the class of an address. Returns the flows to shape from now on, and those that pass by again.
    fn look(
        &mut self,
        now: Instant,
        seen: &UdpFlowsSeen,
        class: impl Fn(IpAddr) -> Option<u16>,
        counted: &BTreeMap<u16, ClassStats>,
    ) -> (Vec<UdpFlowKey>, Vec<UdpFlowKey>) {
        let lost = self.lost(counted);
        // A flow may have begun right after the last look.
        let since = self.looked.replace(now).unwrap_or(Instant::ZERO);
        for key in seen.up.keys() {
            let new = || Known { flow: UdpFlow::new(since), up: (0, 0), back: 0, is_active: true };
            self.flows.entry(*key).or_insert_with(new);
        }
        for (key, known) in &mut self.flows {
            let (up, back) =
                (seen.up.get(key).copied().unwrap_or_default(), seen.back.get(key).copied().unwrap_or_default());
            // A set whose element has expired counts from zero.
            let grown = |now: u64, then: u64| now.checked_sub(then).unwrap_or(now);
            let packets = grown(up.0, known.up.0);
            let dropped = match class(key.near.ip()).and_then(|minor| lost.get(&minor)) {
                Some(share) if known.flow.verdict() == Verdict::Answers => (packets as f64 * share).round() as u64,
                _ => 0,
            };
            let seen = UdpSeen { up: packets, bytes: grown(up.1, known.up.1), back: grown(back, known.back), dropped };
            known.flow.look(now, seen);
            (known.up, known.back, known.is_active) = (up, back, packets > 0);
        }
        // Who was heedless is known for longer than the set has it.
        let stays = |known: &Known| known.flow.verdict() == Verdict::Heedless && !known.flow.is_gone(now);
        self.flows.retain(|key, known| seen.up.contains_key(key) || stays(known));
        let shaped: BTreeSet<UdpFlowKey> = self.held(Verdict::Answers).map(|(key, _)| *key).collect();
        (shaped.difference(&seen.shaped).copied().collect(), seen.shaped.difference(&shaped).copied().collect())
    }

    /// Share of the packets of each class that the box has dropped since the last look. The class does not say whose they were.
    fn lost(&mut self, counted: &BTreeMap<u16, ClassStats>) -> BTreeMap<u16, f64> {
        let now: BTreeMap<u16, (u32, u32)> =
            counted.iter().map(|(minor, class)| (*minor, (class.packets, class.drops))).collect();
        let before = std::mem::replace(&mut self.classes, now);
        let share = |(minor, (packets, drops)): (&u16, &(u32, u32))| {
            let (sent, dropped) = before.get(minor)?;
            let (sent, dropped) = (packets.wrapping_sub(*sent), drops.wrapping_sub(*dropped));
            (dropped > 0).then(|| (*minor, f64::from(dropped) / (f64::from(sent) + f64::from(dropped))))
        };
        self.classes.iter().filter_map(share).collect()
    }

    fn held(&self, verdict: Verdict) -> impl Iterator<Item = (&UdpFlowKey, &Known)> {
        self.flows.iter().filter(move |(_, known)| known.flow.verdict() == verdict)
    }

    /// What is held of the flows of `station`, in a sentence.
    pub(super) fn of(&self, station: &Station) -> Option<String> {
        let is_own = |key: &UdpFlowKey| station.addresses.iter().any(|own| *own == key.near.ip());
        let told = |verdict, what: &str| {
            let count = self.held(verdict).filter(|(key, known)| known.is_active && is_own(key)).count();
            (count > 0).then(|| format!("{count} {what}"))
        };
        let parts: Vec<String> = [
            told(Verdict::Answers, "with answers (shaped)"),
            told(Verdict::Unanswered, "without answers (past the box)"),
            told(Verdict::Heedless, "that drops do not slow (past the box)"),
        ]
        .into_iter()
        .flatten()
        .collect();
        (!parts.is_empty()).then(|| format!("its flows of UDP: {}", parts.join(", ")))
    }
}

/// Whether all flows that go up can be counted.
fn room(seen: &UdpFlowsSeen) -> Result<(), String> {
    let of = |is_v4| seen.up.keys().filter(|key| key.near.is_ipv4() == is_v4).count();
    if of(true).max(of(false)) < MOST_UDP_FLOWS {
        return Ok(());
    }
    Err(format!(
        "more flows of UDP go up than the {MOST_UDP_FLOWS} that are counted: others pass by the box, answered or not. Somebody may be scanning ports"
    ))
}

impl Daemon {
    /// With `udp = "auto"`: shapes what answers congestion.
    pub(super) fn look_at_udp(&mut self) {
        if self.site.config().udp != UdpRule::Auto {
            self.udp_flows = UdpFlows::default();
            return;
        }
        let seen = self.netfilter.udp_flows().map_err(|error| format!("cannot read the flows of UDP: {error}"));
        let decided = seen.and_then(|seen| {
            let classes: BTreeMap<IpAddr, u16> = self
                .site
                .stations()
                .iter()
                .flat_map(|station| station.addresses.iter().map(|address| (*address, leaf_minor(station.slot))))
                .collect();
            let class = |address: IpAddr| classes.get(&address).copied();
            let now = self.now();
            let (add, remove) = self.udp_flows.look(now, &seen, class, &self.counts.classes);
            decide_udp(self.site.config().mode, &add, &remove)
                .map_err(|error| format!("cannot shape a flow of UDP: {error}"))?;
            room(&seen)
        });
        self.troubles.watch(Trouble::UdpFlows, decided);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fairair_core::units::Duration;

    fn key(port: u16) -> UdpFlowKey {
        UdpFlowKey { near: ([10, 1, 0, 2], port).into(), far: ([10, 2, 0, 2], 443).into() }
    }

    /// Half a second each: what goes up and what comes back of two flows, and what the class has dropped of a thousand packets.
    fn after(
        flows: &mut UdpFlows,
        look: u64,
        counts: [(u64, u64); 2],
        drops: u32,
        shaped: &[UdpFlowKey],
    ) -> (Vec<UdpFlowKey>, Vec<UdpFlowKey>) {
        let mut seen = UdpFlowsSeen { shaped: shaped.iter().copied().collect(), ..UdpFlowsSeen::default() };
        for (port, (up, back)) in (1..).zip(counts) {
            seen.up.insert(key(port), (up, up * 1200));
            seen.back.insert(key(port), back);
        }
        let class = ClassStats { packets: 1000 * look as u32, drops, ..ClassStats::default() };
        let now = Instant::ZERO + Duration::from_millis(500 * look);
        flows.look(
            now,
            &seen,
            |address| (address == IpAddr::from([10, 1, 0, 2])).then_some(16),
            &BTreeMap::from([(16, class)]),
        )
    }

    #[test]
    fn what_is_answered_is_shaped_until_it_falls_silent() {
        let mut flows = UdpFlows::default();
        assert_eq!(after(&mut flows, 1, [(100, 40), (100, 0)], 0, &[]), (vec![key(1)], Vec::new()));
        assert_eq!(after(&mut flows, 2, [(200, 80), (200, 0)], 0, &[key(1)]), (Vec::new(), Vec::new()));
        // Others have flushed the set: it is put back.
        assert_eq!(after(&mut flows, 3, [(300, 120), (300, 0)], 0, &[]), (vec![key(1)], Vec::new()));
        assert_eq!(flows.held(Verdict::Unanswered).map(|(key, _)| key).collect::<Vec<_>>(), [&key(2)]);
        for look in 4..13 {
            assert_eq!(
                after(&mut flows, look, [(300, 120), (300, 0)], 0, &[key(1)]),
                (Vec::new(), Vec::new()),
                "{look}"
            );
        }
        assert_eq!(after(&mut flows, 13, [(300, 120), (300, 0)], 0, &[key(1)]), (Vec::new(), vec![key(1)]));
    }

    #[test]
    fn counters_that_begin_anew_and_flows_that_are_gone() {
        let mut flows = UdpFlows::default();
        after(&mut flows, 1, [(1000, 400), (100, 0)], 0, &[]);
        assert_eq!(after(&mut flows, 2, [(90, 40), (100, 0)], 0, &[]).0, [key(1)], "90 packets, not none");
        let now = Instant::ZERO + Duration::from_secs(200);
        let gone = flows.look(
            now,
            &UdpFlowsSeen { shaped: [key(1)].into(), ..UdpFlowsSeen::default() },
            |_| None,
            &BTreeMap::new(),
        );
        assert_eq!((gone, flows.flows.len()), ((Vec::new(), vec![key(1)]), 0));
    }

    /// Drops of the class are its flows' by what they sent.
    #[test]
    fn who_goes_on_in_spite_of_drops_passes_by() {
        let mut flows = UdpFlows::default();
        let passes_by = (1..100).find(|look| {
            let shaped = [key(1)];
            let removed = after(&mut flows, *look, [(500 * look, 250 * look), (0, 0)], 400 * *look as u32, &shaped).1;
            *look > 2 && removed == shaped
        });
        assert!(passes_by.is_some_and(|look| (14..20).contains(&look)), "{passes_by:?}");
        assert_eq!(flows.held(Verdict::Heedless).count(), 1);
    }

    #[test]
    fn more_flows_than_are_counted_are_told() {
        let of = |flows: u16| {
            let up = (0..flows).map(|port| (key(port), (1, 100))).collect();
            room(&UdpFlowsSeen { up, ..UdpFlowsSeen::default() })
        };
        assert_eq!(of(16_383), Ok(()));
        assert!(of(16_384).is_err_and(|told| told.contains("16384")));
    }
}
