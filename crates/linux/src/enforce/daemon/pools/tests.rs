use super::*;
use crate::enforce::config::Config;

const TWO: &str = r#"
name = "x"
uplink = "eth0"
[[ap]]
name = "a"
interface = "eth1"
phy = "802.11b"
capacity = { kind = "air" }
[[station]]
name = "fast"
mac = "02:00:00:00:00:01"
rate = "11 Mbit/s"
[[station]]
name = "slow"
mac = "02:00:00:00:00:02"
"#;

fn with_positions(text: &str) -> (PoolControl, Vec<u16>) {
    let site = Site::new(Config::from_toml(text, "test").unwrap()).unwrap();
    let mut pool = PoolControl::new(&site.pools()["a"], 1, false);
    pool.assign_positions(&site);
    (pool, site.stations().iter().map(|station| station.slot).collect())
}

/// 90 kB of UDP came up past the shaper, by names two parts to one; 10 kB came up through it, of the fast one.
#[test]
fn what_bypasses_is_its_senders_and_no_more_than_came_up() {
    let (mut pool, slots) = with_positions(TWO);
    pool.observe(&BTreeMap::new(), Arrivals::default(), &BTreeMap::new());
    let arrivals = Arrivals { up: 100_000, udp: 90_000, ..Arrivals::default() };
    let counters = BTreeMap::from([(leaf_minor(slots[0]), ClassStats { bytes: 10_000, ..ClassStats::default() })]);
    pool.observe(&counters, arrivals, &BTreeMap::from([(slots[0], 20_000), (slots[1], 10_000)]));
    let totals = pool.views.iter().map(|view| (view.totals.up.0, view.totals.up_bypassing.0)).collect::<Vec<_>>();
    assert_eq!(totals, [(0, 0), (70_000, 60_000), (30_000, 30_000)]);
}

/// What those without a class of their own carry is part of what the cell carries; there is nobody to ask.
#[test]
fn newcomers_are_counted_and_not_asked() {
    let (mut pool, slots) = with_positions(TWO);
    pool.observe(&BTreeMap::new(), Arrivals::default(), &BTreeMap::new());
    let class = |bytes: u64, backlog: u32| ClassStats { bytes, backlog, ..ClassStats::default() };
    let counters =
        BTreeMap::from([(leaf_minor(slots[0]), class(10_000, 0)), (newcomers_minor(pool.id), class(30_000, 7))]);
    pool.observe(&counters, Arrivals { down: 40_000, ..Arrivals::default() }, &BTreeMap::new());
    let counted = |view: &StationView| (view.totals.down.0 + view.totals.up.0, view.backlog, view.is_absent);
    let shown: Vec<_> = pool.views.iter().map(counted).collect();
    assert_eq!(shown[NEWCOMERS].1, 7);
    assert!(shown[NEWCOMERS].2 && !shown[1].2 && !shown[2].2, "{shown:?}");
    assert!(shown[NEWCOMERS].0 > 2 * shown[1].0 && shown[1].0 > 0, "{shown:?}");
}

/// A station at its cap waits for that, not for C.
#[test]
fn what_waits_for_a_cap_is_no_queue_of_the_pool() {
    let (mut pool, slots) = with_positions(TWO);
    let class = |is_at_ceiling: bool| ClassStats { backlog: 40, is_at_ceiling, ..ClassStats::default() };
    let counters = BTreeMap::from([(leaf_minor(slots[0]), class(true)), (leaf_minor(slots[1]), class(false))]);
    pool.observe(&counters, Arrivals::default(), &BTreeMap::new());
    assert_eq!((pool.views[1].backlog, pool.views[2].backlog), (0, 40));
}

/// 60 kB of UDP went down and up through the shaper: the machine is shown them, of no station in particular.
#[test]
fn udp_of_the_pool_is_shown() {
    let (mut pool, _) = with_positions(TWO);
    pool.observe(&BTreeMap::new(), Arrivals { other_down: 1000, ..Arrivals::default() }, &BTreeMap::new());
    let arrivals = Arrivals { down: 100_000, other_down: 41_000, other_up: 20_000, ..Arrivals::default() };
    pool.observe(&BTreeMap::new(), arrivals, &BTreeMap::new());
    assert_eq!(pool.views.iter().map(|view| view.datagrams.0).sum::<u64>(), 60_000);
}

/// An upload takes more and more of a full pool, and half a look's bytes wait. Bytes that go up are no longer counted as down, too:
/// the controller would take the cell for faster.
#[test]
fn what_passes_is_counted_once_while_an_upload_grows() {
    let (mut pool, slots) = with_positions(TWO);
    let (mut arrivals, mut sent, mut counted) = (Arrivals::default(), 0, Vec::new());
    for look in 0..40_u64 {
        let up = 20_000 + 3000 * look.clamp(10, 20).saturating_sub(10);
        (arrivals.up, arrivals.down) = (arrivals.up + up, arrivals.down + 100_000 - up);
        sent += if look == 0 { 50_000 } else { 100_000 };
        let class = ClassStats { bytes: sent, backlog_bytes: 50_000, ..ClassStats::default() };
        pool.observe(&BTreeMap::from([(leaf_minor(slots[0]), class)]), arrivals, &BTreeMap::new());
        counted.push(pool.views.iter().map(|view| view.totals.down.0 + view.totals.up.0).sum::<u64>());
    }
    for looks in counted[2..].windows(2) {
        assert!((98_000..102_000).contains(&(looks[1] - looks[0])), "{counted:?}");
    }
}

/// What UDP takes past the box is no fault of C: a smaller one leaves it more.
#[test]
fn no_smaller_c_is_advised_beside_udp_that_passes_by() {
    let (mut pool, slots) = with_positions(&TWO.replace("{ kind = \"air\" }", "\"18 Mbit/s\""));
    pool.verdict = Some(Verdict::Elsewhere(Bitrate::mbps(13)));
    let mut told = |bytes: u64| {
        pool.observe_fixed(&BTreeMap::new(), &BTreeMap::from([(slots[0], bytes)]));
        pool.trouble(Bitrate::mbps(18)).unwrap()
    };
    let advice = told(0);
    assert!(advice.contains("Write capacity") && advice.contains("C may be right"), "{advice}");
    // 8 Mbit/s; then between the two shares; then next to nothing.
    for bytes in [1_000_000, 100_000] {
        let told = told(bytes);
        assert!(told.contains("uplink UDP, which passes the box by") && !told.contains("Write"), "{told}");
    }
    assert!(told(10_000).contains("Write capacity"));
}

/// Senders are told once a second, so a look may find that none of them has sent since.
#[test]
fn senders_of_udp_of_which_nothing_came_are_not_heard() {
    let (mut pool, slots) = with_positions(TWO);
    let udp = BTreeMap::from([(slots[0], 20_000)]);
    let arrivals = Arrivals { up: 100_000, udp: 90_000, ..Arrivals::default() };
    pool.observe(&BTreeMap::new(), arrivals, &udp);
    let before = pool.views.clone();
    pool.observe(&BTreeMap::new(), arrivals, &udp);
    assert_eq!(pool.views, before);
}

/// The air of a byte follows the rate that is known; none where the PHY is not.
#[test]
fn views_have_the_air_of_their_stations_rates() {
    let (pool, _) = with_positions(TWO);
    assert_eq!(pool.views[1].air_ns, pool.views[2].air_ns, "not known: the fastest");
    let (slow, _) = with_positions(&TWO.replace("00:02\"", "00:02\"\nrate = \"2 Mbit/s\""));
    assert!(slow.views[2].air_ns > 3 * slow.views[1].air_ns);
    let (blind, _) =
        with_positions(&TWO.replace("phy = \"802.11b\"\ncapacity = { kind = \"air\" }", "capacity = \"5 Mbit/s\""));
    assert_eq!(blind.views[1].air_ns, 0);
}

/// The rates beside C are older than it for a second.
#[test]
fn a_trial_of_a_fixed_c_is_told_while_rates_have_to_do_with_it() {
    let (mut pool, _) = with_positions(&TWO.replace("{ kind = \"air\" }", "\"20 Mbit/s\""));
    let (c, lowered, at) = (Bitrate::mbps(20), Bitrate::from_bps(15_000_375), Instant::from_nanos(9_000_000_000));
    assert_eq!(pool.trial(at, c), None);
    pool.tried = Some(at);
    let told = pool.trial(at, lowered).unwrap();
    assert!(told.starts_with("C = 20 Mbit/s is lowered to 15 Mbit/s for a moment, for a trial: "), "{told}");
    let told = pool.trial(at + Duration::from_secs(1), c).unwrap();
    assert!(told.starts_with("C was not 20 Mbit/s until a moment ago, for a trial: "), "{told}");
    assert_eq!(pool.trial(at + Duration::from_secs(2), c), None);
}
