//! A pool of the scenario's box: shaper and controller.

use std::collections::BTreeMap;

use crate::control::{CapacityController, Decision, Probe, StationView};
use crate::mac::TxVector;
use crate::model::air;
use crate::packet::{NodeId, Packet};
use crate::record::EnforceRecord;
use crate::rng::Rng;
use crate::scenario::{Action, Scenario};
use crate::shaper::{Policy, Share, UdpRule, Vsb};
use crate::units::{Bitrate, Instant};

/// A pool at work: packets and replies go in, packets and probes come out.
///
/// After every call that takes `now`, and at [`shaper_timeout`](Self::shaper_timeout), take packets with
/// [`dequeue`](Self::dequeue); after [`handle_timeout`](Self::handle_timeout) and [`answered`](Self::answered) also probes
/// with [`poll_probe`](Self::poll_probe), and then [`settle`](Self::settle).
#[derive(Debug)]
pub(super) struct Enforcer<P> {
    pub(super) vsb: Vsb<P>,
    control: CapacityController,
    /// Stations of the pool, by their positions in the scenario, in its order. The controller counts these only.
    members: Vec<usize>,
    /// C at the start.
    first: Bitrate,
    /// Whether it shapes; else all packets pass, those that wait first, and nobody is probed.
    pub(super) on: bool,
    views: Vec<StationView>,
    /// Whether UDP is judged.
    judges: bool,
    trace: Vec<Decision>,
}

impl<P: Packet> Enforcer<P> {
    /// The scenario's box as one pool, on unless a timed event is going to switch it on; `None` without one.
    pub(super) fn new(scenario: &Scenario, seed: u64) -> Option<Self> {
        Enforcer::of_members(scenario, (0..scenario.stations.len()).collect(), Rng::fork(seed, "control"))
    }

    /// The same for the stations of the access point with this position and name.
    pub(super) fn of_access_point(scenario: &Scenario, seed: u64, (ap, name): (usize, &str)) -> Option<Self> {
        let stations = scenario.stations.iter().enumerate();
        let members = stations.filter(|(_, station)| station.ap == ap).map(|(index, _)| index).collect();
        Enforcer::of_members(scenario, members, Rng::fork(seed, &format!("control/{name}")))
    }

    fn of_members(scenario: &Scenario, members: Vec<usize>, rng: Rng) -> Option<Self> {
        let enforce = scenario.enforce?;
        let mut control = CapacityController::new(&enforce.capacity, members.len(), rng);
        let aps: Vec<usize> = members.iter().map(|index| scenario.stations[*index].ap).collect();
        if aps.iter().any(|ap| *ap != aps[0]) {
            control.set_access_points(aps);
        }
        let txs = scenario.station_txs();
        let shares = shares(scenario, &members, &txs);
        let first = scenario.events.iter().find_map(|event| match event.action {
            Action::Enforce { on } => Some(on),
            _ => None,
        });
        let mut enforcer = Enforcer {
            vsb: Vsb::new(enforce.vsb, control.capacity(), &shares),
            first: control.capacity(),
            control,
            on: first != Some(true),
            views: vec![StationView::default(); members.len()],
            members,
            judges: enforce.vsb.udp == UdpRule::Auto,
            trace: Vec::new(),
        };
        enforcer.set_air(scenario, &txs);
        Some(enforcer)
    }

    /// Data of stations are sent with `txs` from now on, in the scenario's order.
    pub(super) fn set_txs(&mut self, now: Instant, scenario: &Scenario, txs: &[TxVector]) {
        self.vsb.set_shares(now, &shares(scenario, &self.members, txs));
        self.set_air(scenario, txs);
    }

    /// A packet comes to the box, from either side. Returns it when it passes by at once.
    ///
    /// `counts`: whether a packet that passes by is traffic of its station. ICMP and ARP are not: the controller must not
    /// take who answers a ping for a sender of UDP.
    pub(super) fn enter(&mut self, now: Instant, packet: P, counts: bool) -> Option<P> {
        if !self.on {
            return Some(packet);
        }
        if self.vsb.takes(now, &packet, counts) {
            self.vsb.enqueue(now, packet);
            return None;
        }
        if counts {
            self.vsb.bypass(&packet);
        }
        Some(packet)
    }

    /// The next packet that may leave now.
    pub(super) fn dequeue(&mut self, now: Instant) -> Option<P> {
        if self.on { self.vsb.dequeue(now) } else { self.vsb.dequeue_unpaced(now) }
    }

    /// When the controller wants to look.
    pub(super) fn control_timeout(&self) -> Option<Instant> {
        self.control.poll_timeout().filter(|_| self.on)
    }

    /// The controller looks.
    pub(super) fn handle_timeout(&mut self, now: Instant) {
        self.look(now);
        self.control.handle_timeout(now, &self.views);
    }

    /// The reply to probe number `id` is back.
    pub(super) fn answered(&mut self, now: Instant, id: u64) {
        self.look(now);
        self.control.handle_reply(now, id, &self.views);
    }

    /// The next probe to send, past the shaper.
    pub(super) fn poll_probe(&mut self) -> Option<Probe> {
        let Probe { station, id } = self.control.poll_probe()?;
        let member = self.members[station.station_index()?];
        Some(Probe { station: NodeId::station(member), id })
    }

    /// Sets C to what the controller has decided on.
    pub(super) fn settle(&mut self, now: Instant) {
        let decided = self.trace.len();
        while let Some(decision) = self.control.poll_decision() {
            self.trace.push(decision);
        }
        if self.trace.len() > decided {
            self.vsb.set_capacity(now, self.control.capacity());
        }
    }

    /// What it has counted and decided. The decisions are taken out.
    fn record(&mut self, end: Instant) -> EnforceRecord {
        let station = |index: &usize| self.vsb.stats(NodeId::station(*index), end).clone();
        let stations = self.members.iter().map(station).collect();
        let udp = self.judges.then(|| self.vsb.udp_changes().to_vec());
        let trace = std::mem::take(&mut self.trace);
        EnforceRecord { stations, trace, control: self.control.stats(), udp, pools: Vec::new() }
    }

    /// What all pools together have counted and decided: C is their sum. `None`: there is none.
    pub(super) fn record_of_all<'e>(pools: impl Iterator<Item = &'e mut Self>, end: Instant) -> Option<EnforceRecord>
    where
        P: 'e,
    {
        let mut parts: Vec<_> = pools.map(|pool| (pool.first, pool.record(end), pool.members.clone())).collect();
        if parts.len() < 2 {
            return parts.pop().map(|(_, record, _)| record);
        }
        let mut all = EnforceRecord::default();
        let mut stations = BTreeMap::new();
        let mut decisions: Vec<(usize, Decision)> = Vec::new();
        let mut c: Vec<u64> = parts.iter().map(|(first, ..)| first.as_bps()).collect();
        for (pool, (_, record, members)) in parts.into_iter().enumerate() {
            stations.extend(members.into_iter().zip(record.stations));
            decisions.extend(record.trace.iter().map(|decision| (pool, *decision)));
            all.control += record.control;
            all.udp = record.udp.map(|changes| [all.udp.take().unwrap_or_default(), changes].concat());
            all.pools.push(record.trace);
        }
        all.stations = stations.into_values().collect();
        if let Some(changes) = &mut all.udp {
            changes.sort_by_key(|change| change.at);
        }
        decisions.sort_by_key(|(_, decision)| decision.at);
        all.trace = decisions
            .into_iter()
            .map(|(pool, decision)| {
                c[pool] = decision.capacity.as_bps();
                Decision { capacity: Bitrate::from_bps(c.iter().sum()), ..decision }
            })
            .collect();
        Some(all)
    }

    /// Only one machine wants it, and it takes some reckoning.
    fn set_air(&mut self, scenario: &Scenario, txs: &[TxVector]) {
        if matches!(self.control, CapacityController::Air(_)) {
            let air = air::of_stations(scenario, txs);
            for (view, index) in self.views.iter_mut().zip(&self.members) {
                view.air_ns = air[*index];
            }
        }
    }

    fn look(&mut self, now: Instant) {
        for (view, index) in self.views.iter_mut().zip(&self.members) {
            let node = NodeId::station(*index);
            *view = StationView {
                backlog: self.vsb.backlog_of(node, now),
                is_at_cap: self.vsb.is_at_cap(node, now),
                totals: self.vsb.totals(node),
                air_ns: view.air_ns,
                ..StationView::default()
            };
        }
    }
}

/// Weights and caps of all stations in the pool of `members`. Of others no packet comes: they change no weight of a member.
fn shares(scenario: &Scenario, members: &[usize], txs: &[TxVector]) -> Vec<Share> {
    let policy = scenario.enforce.map_or(Policy::PerStation, |enforce| enforce.vsb.policy);
    let all = scenario.shares(policy, txs);
    let mut own = vec![Share { cap: None, ..members.first().map_or(Share::default(), |first| all[*first]) }; all.len()];
    for index in members {
        own[*index] = all[*index];
    }
    own
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::{Direction, FlowId, Kind, NO_SACK, Segment};

    const CELL: &str = r#"
        name = "box"
        [run]
        duration = "10 s"
        [radio]
        phy = "802.11b"
        rate = "11 Mbit/s"
        [[station]]
        name = "one"
        flows = [{ direction = "up" }]
    "#;

    fn cell(more: &str) -> Scenario {
        Scenario::from_toml(&format!("{CELL}{more}"), "cell.toml").expect("a scenario")
    }

    fn segment(direction: Direction, kind: Kind) -> Segment {
        Segment {
            flow: FlowId(0),
            station: NodeId::station(0),
            direction,
            kind,
            incarnation: 0,
            category: crate::packet::Category::BestEffort,
            seq: 0,
            payload: 1460,
            ack: 0,
            window: 0,
            cwnd: 0,
            push: false,
            sack: NO_SACK,
            ecn: crate::packet::Ecn::NONE,
            enqueued_at: Instant::ZERO,
        }
    }

    #[test]
    fn a_box_that_is_off_lets_all_pass_and_looks_at_nothing() {
        let later = "[enforce]\n[[event]]\nat = \"5 s\"\nkind = \"enforce\"\n";
        let mut enforcer = Enforcer::new(&cell(later), 1).expect("a box");
        assert_eq!(enforcer.control_timeout(), None);
        let packet = segment(Direction::Down, Kind::Data);
        assert!(enforcer.enter(Instant::ZERO, packet, true).is_some());
        enforcer.on = true;
        assert!(enforcer.control_timeout().is_some());
        assert!(enforcer.enter(Instant::ZERO, packet, true).is_none());
    }

    #[test]
    fn what_waits_goes_at_once_when_the_box_is_switched_off() {
        let mut enforcer = Enforcer::new(&cell("[enforce]\ncapacity = \"10 kbit/s\""), 1).expect("a box");
        for _ in 0..3 {
            assert!(enforcer.enter(Instant::ZERO, segment(Direction::Down, Kind::Data), true).is_none());
        }
        assert!(enforcer.dequeue(Instant::ZERO).is_some());
        assert!(enforcer.dequeue(Instant::ZERO).is_none(), "10 kbit/s: 1.2 s a packet");
        enforcer.on = false;
        assert!(enforcer.dequeue(Instant::ZERO).is_some());
        assert!(enforcer.dequeue(Instant::ZERO).is_some());
        assert!(enforcer.dequeue(Instant::ZERO).is_none());
    }

    #[test]
    fn uplink_udp_passes_by_and_counts_but_a_ping_does_not() {
        let mut enforcer = Enforcer::new(&cell("[enforce]\ncapacity = \"1 Mbit/s\""), 1).expect("a box");
        assert!(enforcer.enter(Instant::ZERO, segment(Direction::Up, Kind::EchoReply), false).is_some());
        assert_eq!(enforcer.record(Instant::ZERO).stations[0].bypassed.0, 0);
        assert!(enforcer.enter(Instant::ZERO, segment(Direction::Up, Kind::Udp), true).is_some());
        assert!(enforcer.record(Instant::ZERO).stations[0].bypassed.0 > 1460);
    }

    /// The machine sees what air a byte takes at a station's present rate, also when that changed before the box was on.
    #[test]
    fn stations_rates_are_known_to_the_machine_that_wants_them() {
        let text = "[enforce]\ncapacity = { kind = \"air\" }\n[[event]]\nat = \"5 s\"\nkind = \"enforce\"\n";
        let scenario = cell(text);
        let mut enforcer = Enforcer::<Segment>::new(&scenario, 1).expect("a box");
        let tx = |mbps| scenario.radio.tx(Bitrate::mbps(mbps));
        enforcer.set_txs(Instant::ZERO, &scenario, &[tx(2)]);
        enforcer.on = true;
        enforcer.handle_timeout(Instant::ZERO);
        enforcer.settle(Instant::ZERO);
        let slow = enforcer.record(Instant::ZERO).trace[0].capacity.as_bps();
        enforcer.set_txs(Instant::ZERO, &scenario, &[tx(11)]);
        assert!((1_400_000..1_600_000).contains(&slow), "{slow}");
        assert!(enforcer.views[0].air_ns > 0 && enforcer.views[0].air_ns < 1700);
    }
}
