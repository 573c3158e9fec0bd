//! 802.11b and 802.11g in one cell: what a monitor on the channel would print, and closed forms.
//!
//! Times by hand, IEEE 802.11-2020, 2.4 GHz, long preamble. SIFS 10 us; long slot 20 us; DIFS 10 + 2 * 20 = 50 us.
//! CTS, 14 bytes at 2 Mbit/s: 192 + 14 * 8 / 2 = 248 us.
//! IP packet of 1500 bytes: 1536 with LLC/SNAP (8), MAC header and FCS (28).
//! OFDM at 54 Mbit/s: ceil((16 + 8 * 1536 + 6) / 216) = 57 symbols, 20 + 57 * 4 + 6 = 254 us.
//! ACK to it at 24 Mbit/s: ceil((16 + 8 * 14 + 6) / 96) = 2 symbols, 20 + 2 * 4 + 6 = 34 us.
//! CCK at 11 Mbit/s: 192 + ceil(1536 * 8 / 11) = 1310 us; ACK to it, 14 bytes at 2 Mbit/s: 248 us.

use fairair_core::mac::{AirBody, AirFrame, Bss, Reception};
use fairair_core::packet::{Category, Direction, FlowId, Kind, NO_SACK, NodeId, Segment};
use fairair_core::scenario::Scenario;
use fairair_core::units::{Duration, Instant};

const AP: NodeId = NodeId::AP;
const NEW: NodeId = NodeId::station(0);
const OLD: NodeId = NodeId::station(1);

/// A cell of 802.11g with a station of 802.11g and one of 802.11b.
const CELL: &str = r#"
    name = "cell"
    [run]
    duration = "10 s"
    [radio]
    phy = "802.11g"
    [[station]]
    name = "new"
    [[station]]
    name = "old"
    phy = "802.11b"
"#;

fn us(us: u64) -> Instant {
    Instant::ZERO + Duration::from_micros(us)
}

/// An IP packet of 1500 bytes.
fn packet(station: NodeId, direction: Direction) -> Segment {
    Segment {
        flow: FlowId(station.0),
        station,
        direction,
        kind: Kind::Data,
        incarnation: 1,
        category: Category::BestEffort,
        seq: 0,
        payload: 1460,
        ack: 0,
        window: 0,
        cwnd: 0,
        push: false,
        sack: NO_SACK,
        ecn: fairair_core::packet::Ecn::NONE,
        enqueued_at: Instant::ZERO,
    }
}

fn cell(text: &str, seed: u64) -> Bss<Segment> {
    let mut bss = Scenario::from_toml(text, "cell.toml").unwrap().cell(seed);
    bss.monitor();
    bss
}

/// Runs up to `until`.
fn frames(bss: &mut Bss<Segment>, until: Instant) -> Vec<AirFrame<Segment>> {
    while let Some(at) = bss.poll_timeout().filter(|at| *at <= until) {
        bss.handle_timeout(at);
        while bss.poll_delivery().is_some() {}
    }
    bss.drain_air().collect()
}

/// Runs up to `until` and prints the channel: start in us, transmitter, frame, duration, fate.
fn watch(bss: &mut Bss<Segment>, until: Instant) -> Vec<String> {
    let print = |frame: AirFrame<Segment>| {
        let body = match frame.body {
            AirBody::Data { retry: true, .. } => "retry".to_owned(),
            AirBody::Data { .. } => "data".to_owned(),
            AirBody::Ack => "ack".to_owned(),
            AirBody::CtsToSelf if frame.receiver == frame.transmitter => {
                format!("cts(nav {} us)", frame.nav.as_nanos() / 1000)
            }
            other => format!("{other:?}"),
        };
        let fate = match frame.reception {
            Reception::Decoded => "",
            Reception::Collided => " collided",
            Reception::Corrupted => " corrupted",
        };
        let (at, sender, lasts) = (frame.at.as_nanos() / 1000, frame.transmitter.0, frame.duration.as_nanos() / 1000);
        format!("{at} node{sender} {body} {lasts} us at {}{fate}", frame.tx)
    };
    frames(bss, until).into_iter().map(print).collect()
}

#[test]
fn an_ofdm_frame_follows_a_cts_to_self_and_an_old_station_needs_none() {
    let mut bss = cell(CELL, 1);
    // Arrival at 1003: the next slot boundary after DIFS, 50 + 48 * 20.
    bss.enqueue(us(1003), NEW, packet(NEW, Direction::Up));
    assert_eq!(
        watch(&mut bss, us(5_000)),
        [
            // Its NAV: SIFS, data, SIFS, ACK.
            "1010 node1 cts(nav 308 us) 248 us at 2 Mbit/s",
            "1268 node1 data 254 us at 54 Mbit/s",
            "1532 node0 ack 34 us at 24 Mbit/s",
        ]
    );
    bss.enqueue(us(10_000), OLD, packet(OLD, Direction::Up));
    // Slots after 1566 + 50: 1616 + 420 * 20 = 10 016.
    let upload = ["10016 node2 data 1310 us at 11 Mbit/s", "11336 node0 ack 248 us at 2 Mbit/s"];
    assert_eq!(watch(&mut bss, us(20_000)), upload);
    bss.enqueue(us(20_000), AP, packet(NEW, Direction::Down));
    // Slots after 11 584 + 50: 11 634 + 419 * 20 = 20 014.
    assert_eq!(
        watch(&mut bss, us(30_000)),
        [
            "20014 node0 cts(nav 308 us) 248 us at 2 Mbit/s",
            "20272 node0 data 254 us at 54 Mbit/s",
            "20536 node1 ack 34 us at 24 Mbit/s",
        ]
    );
    bss.enqueue(us(30_000), AP, packet(OLD, Direction::Down));
    // Slots after 20 570 + 50: 20 620 + 469 * 20 = 30 000.
    let download = ["30000 node0 data 1310 us at 11 Mbit/s", "31320 node2 ack 248 us at 2 Mbit/s"];
    assert_eq!(watch(&mut bss, us(40_000)), download);
    // The air that is booked is all of it: CTS, SIFS, data, SIFS, ACK.
    assert_eq!(bss.stats(NEW).airtime, Duration::from_micros(248 + 10 + 254 + 10 + 34));
    assert_eq!(bss.airtime_down(0), Duration::from_micros(248 + 10 + 254 + 10 + 34));
    assert_eq!(bss.airtime_down(1), Duration::from_micros(1310 + 10 + 248));
}

#[test]
fn rate_and_preamble_of_protection_are_the_files() {
    let text = CELL.replace("[radio]", "[radio]\nprotection_rate = \"11 Mbit/s\"\npreamble = \"short\"");
    let mut bss = cell(&text, 1);
    bss.enqueue(us(1003), NEW, packet(NEW, Direction::Up));
    // 96 + ceil(14 * 8 / 11) = 107 us; then SIFS: 1010 + 117 = 1127.
    assert_eq!(
        watch(&mut bss, us(5_000))[..2],
        ["1010 node1 cts(nav 308 us) 107 us at 11 Mbit/s", "1127 node1 data 254 us at 54 Mbit/s"]
    );
    bss.enqueue(us(10_000), OLD, packet(OLD, Direction::Up));
    // 96 + 1118 us; the ACK, 11 Mbit/s: 107 us.
    let old = watch(&mut bss, us(20_000));
    assert!(old[0].ends_with("data 1214 us at 11 Mbit/s") && old[1].ends_with("ack 107 us at 11 Mbit/s"), "{old:?}");
}

#[test]
fn a_cts_to_self_that_collides_takes_its_data_with_it() {
    let mut bss = cell(CELL, 1);
    bss.enqueue(us(1003), NEW, packet(NEW, Direction::Up));
    bss.enqueue(us(1003), OLD, packet(OLD, Direction::Up));
    assert_eq!(
        watch(&mut bss, us(2_320)),
        [
            "1010 node1 cts(nav 308 us) 248 us at 2 Mbit/s collided",
            "1010 node2 data 1310 us at 11 Mbit/s collided",
            "1268 node1 data 254 us at 54 Mbit/s collided",
        ]
    );
    // All was over at 2320, DIFS follows. The new station's ACK timeout (10 + 20 + 25 = 55 us after 1522) is long over; the old one
    // waits until 10 + 20 + 192 = 222 us after its frame. Both count in the slots of the listeners, who wait EIFS: 10 + 304 (an ACK at
    // 1 Mbit/s) + 50 = 364 us, 2684 - n * 20. The AP is one of them.
    let retries = watch(&mut bss, us(6_000));
    let start = |node: &str| -> u64 {
        let line = retries.iter().find(|line| line.contains(node)).unwrap();
        line.split(' ').next().unwrap().parse().unwrap()
    };
    let new = start("node1 cts");
    assert!(new >= 2370 && (new - 2364).is_multiple_of(20) && new <= 2364 + 32 * 20, "{retries:?}");
    assert!(start("node2 retry") >= 2544, "{retries:?}");
}

#[test]
fn who_lost_its_data_returns_after_the_timeout_and_the_others_keep_to_the_nav() {
    let mut bss = cell(&CELL.replace("name = \"new\"", "name = \"new\"\nframe_error = 1.0"), 1);
    bss.enqueue(us(1003), NEW, packet(NEW, Direction::Up));
    let lines = watch(&mut bss, us(4_000));
    assert_eq!(lines[0], "1010 node1 cts(nav 308 us) 248 us at 2 Mbit/s");
    assert_eq!(lines[1], "1268 node1 data 254 us at 54 Mbit/s corrupted");
    // Others: NAV to 1522 + 44 = 1566, DIFS to 1616. The sender: ACK timeout of 10 + 20 + 25 = 55 us, 1577, in the slots of the others: 1596.
    let again: u64 = lines[2].split(' ').next().unwrap().parse().unwrap();
    assert!(
        lines[2].contains("node1 cts") && (again - 1596).is_multiple_of(20) && again <= 1596 + 31 * 20,
        "{lines:?}"
    );
    // The receiver could not decode the data: it waits for EIFS, which is longer than the NAV. 1522 + 364 = 1886.
    let mut seen = std::collections::BTreeSet::new();
    for seed in 0..40 {
        let mut bss = cell(&CELL.replace("name = \"new\"", "name = \"new\"\nframe_error = 1.0"), seed);
        bss.enqueue(us(1003), NEW, packet(NEW, Direction::Up));
        frames(&mut bss, us(1_500));
        bss.enqueue(us(1_500), AP, packet(OLD, Direction::Down));
        let first = frames(&mut bss, us(9_000)).into_iter().find(|frame| frame.at > us(1_530)).unwrap();
        seen.insert((first.transmitter == AP, first.at));
    }
    assert!(seen.iter().filter(|(ap, _)| *ap).all(|(_, at)| *at >= us(1_886)), "{seen:?}");
    assert!(seen.iter().any(|(ap, _)| *ap) && seen.iter().any(|(ap, _)| !*ap), "{seen:?}");
}

/// The channel when `node` always has a frame, and nobody else has one.
fn saturated(text: &str, node: NodeId, seconds: u64) -> Vec<AirFrame<Segment>> {
    let mut bss = cell(text, 7);
    let direction = if node == AP { Direction::Down } else { Direction::Up };
    let to = if node == AP { NEW } else { node };
    bss.enqueue(us(1_000), node, packet(to, direction));
    let end = us(seconds * 1_000_000);
    while let Some(at) = bss.poll_timeout().filter(|at| *at <= end) {
        bss.handle_timeout(at);
        while bss.poll_delivery().is_some() {}
        if bss.backlog(node) < 3 {
            bss.enqueue(at, node, packet(to, direction));
        }
    }
    bss.drain_air().collect()
}

#[test]
fn windows_are_31_at_an_old_station_and_15_at_the_others() {
    for (node, largest) in [(AP, 15), (NEW, 15), (OLD, 31)] {
        let frames = saturated(CELL, node, 2);
        let after_ack = frames.windows(2).filter(|pair| pair[0].body == AirBody::Ack);
        let slots: Vec<u64> = after_ack
            .map(|pair| pair[1].at.saturating_since(pair[0].at + pair[0].duration).as_nanos() / 1000)
            .map(|idle| (idle - 50) / 20)
            .collect();
        assert_eq!(slots.iter().copied().max(), Some(largest), "node {}", node.0);
        assert_eq!(slots.iter().copied().min(), Some(0), "node {}", node.0);
    }
}

/// A lone sender: DIFS, half of CWmin slots, CTS, SIFS, data, SIFS, ACK. The old station is there and silent.
#[test]
fn a_lone_sender_has_the_cycle_of_the_closed_form() {
    let radio = "phy = \"802.11g\"";
    for (name, text, node, expected) in [
        ("g, protected", CELL.to_owned(), NEW, 50.0 + 7.5 * 20.0 + 248.0 + 10.0 + 254.0 + 10.0 + 34.0),
        ("b", CELL.to_owned(), OLD, 50.0 + 15.5 * 20.0 + 1310.0 + 10.0 + 248.0),
        // 6 Mbit/s: ceil(12310 / 24) = 513 symbols, 2078 us; ACK at 6 Mbit/s: 6 symbols, 50 us.
        (
            "g, 6 Mbit/s",
            CELL.replace(radio, "phy = \"802.11g\"\nrate = \"6 Mbit/s\"\nprotection_rate = \"1 Mbit/s\""),
            NEW,
            50.0 + 7.5 * 20.0 + 304.0 + 10.0 + 2078.0 + 10.0 + 50.0,
        ),
        // Without the old station: short slots, DIFS 28 us, no CTS.
        (
            "g alone",
            CELL.replace("phy = \"802.11b\"", "phy = \"802.11g\""),
            NEW,
            28.0 + 7.5 * 9.0 + 254.0 + 10.0 + 34.0,
        ),
    ] {
        let frames = saturated(&text, node, 60);
        let acks: Vec<Instant> = frames.iter().filter(|f| f.body == AirBody::Ack).map(|frame| frame.at).collect();
        let spread = acks[acks.len() - 1].saturating_since(acks[0]).as_nanos() as f64 / 1e3;
        let cycle = spread / (acks.len() - 1) as f64;
        assert!((cycle / expected - 1.0).abs() < 1e-3, "{name}: {cycle} us, {expected} by hand");
        let is_cts = |frame: &&AirFrame<Segment>| matches!(frame.body, AirBody::CtsToSelf);
        let protected = frames.iter().filter(is_cts).count();
        assert!(protected == 0 || protected.abs_diff(acks.len()) <= 1, "{name}: {protected} of {}", acks.len());
        assert_eq!(protected > 0, name.starts_with("g,"), "{name}");
    }
}

/// No two frames overlap that are not marked, whoever sends when.
#[test]
fn frames_do_not_overlap_unless_they_collide() {
    let text = CELL.replace("name = \"new\"", "name = \"new\"\nframe_error = 0.2");
    let mut bss = cell(&text, 3);
    let mut now = Instant::ZERO;
    let mut state = 12_345_u64;
    let mut all = Vec::new();
    for _ in 0..4_000 {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        now += Duration::from_micros((state >> 33) % 1_500);
        all.extend(frames(&mut bss, now));
        let station = if state & (1 << 40) > 0 { NEW } else { OLD };
        let down = state & (1 << 41) > 0;
        let direction = if down { Direction::Down } else { Direction::Up };
        bss.enqueue(now, if down { AP } else { station }, packet(station, direction));
    }
    let mut busy_until = Instant::ZERO;
    for frame in &all {
        assert!(frame.at >= busy_until || frame.reception == Reception::Collided, "{frame:?}");
        busy_until = busy_until.max(frame.at + frame.duration);
    }
    assert!(all.windows(2).all(|pair| pair[0].at <= pair[1].at), "in the order of their start");
    assert!(all.iter().filter(|frame| frame.reception == Reception::Collided).count() > 20);
    // Every OFDM data frame follows its CTS after SIFS.
    let ofdm = all.iter().filter(|f| matches!(f.body, AirBody::Data { .. }) && f.tx.phy() == fairair_core::mac::Phy::G);
    for data in ofdm {
        let announces = |cts: &&AirFrame<Segment>| {
            matches!(cts.body, AirBody::CtsToSelf)
                && cts.transmitter == data.transmitter
                && cts.at + cts.duration + Duration::from_micros(10) == data.at
        };
        assert_eq!(all.iter().filter(announces).count(), 1, "{data:?}");
    }
}
