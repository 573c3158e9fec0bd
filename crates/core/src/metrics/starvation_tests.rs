use super::super::period::{Period, periods, starved};
use super::*;
use crate::record::{FlowRecord, PeriodRecord, Record};
use crate::scenario::Flow;
use crate::units::Duration;

fn cell(stations: &str) -> Scenario {
    let text = format!("name = \"cell\"\n[run]\nduration = \"120 s\"\nwarmup = \"20 s\"\n{stations}");
    Scenario::from_toml(&text, "cell.toml").unwrap()
}

#[track_caller]
fn close(got: Option<f64>, expected: f64) {
    let got = got.expect("can be judged");
    assert!((got / expected - 1.0).abs() < 1e-6, "{got} is not {expected}");
}

#[test]
fn who_asks_for_less_leaves_the_rest_to_the_others() {
    let scenario = cell(
        r#"
        [[station]]
        name = "sensor"
        flows = [{ direction = "up", kind = "udp", rate = "50 kbit/s" }]
        [[station]]
        name = "bulk"
        count = 2
        flows = [{ direction = "down" }]
        [[station]]
        name = "idle"
        "#,
    );
    let shares = MaxMin::of(&scenario, 4_050_000.0);
    close(shares.flows[0], 50_000.0);
    close(shares.flows[1], 2_000_000.0);
    assert_eq!(shares.station_is_limited, [true, false, false, false]);
    assert_eq!(shares.stations[3], None);
    let starved = shares.starved(FLOOR, &[50_000.0, 90_000.0, 3_910_000.0], &[50_000.0, 90_000.0, 3_910_000.0, 0.0]);
    assert_eq!(starved, Starved { flows: vec![1], stations: vec![1] });
    assert!(shares.starved(0.01, &[50_000.0, 90_000.0, 0.9e6], &[5e4, 9e4, 1e6, 0.0]).is_nobody());
}

#[test]
fn a_station_of_many_flows_has_one_share_and_its_flows_have_one_each() {
    let scenario = cell(
        r#"
        [[station]]
        name = "greedy"
        flows = [{ direction = "up", count = 3 }]
        [[station]]
        name = "modest"
        flows = [{ direction = "down" }]
        "#,
    );
    let shares = MaxMin::of(&scenario, 4e6);
    close(shares.flows[3], 1e6);
    close(shares.stations[0], 2e6);
    close(shares.stations[1], 2e6);
    assert!(!shares.flow_is_limited[0] && !shares.station_is_limited[1]);
}

#[test]
fn pauses_windows_and_absences_are_limits_of_the_flow() {
    let scenario = cell(
        r#"
        [[station]]
        name = "web"
        flows = [{ direction = "down", kind = "files", size = "10 kB", burst = "500 ms", idle = "500 ms" }]
        [[station]]
        name = "satellite"
        flows = [{ direction = "down", tcp = { window = 4 }, wire = { delay = "300 ms" } }]
        [[station]]
        name = "late"
        flows = [{ direction = "down", start = "70 s" }]
        [[station]]
        name = "bulk"
        flows = [{ direction = "up" }]
        [[station]]
        name = "over"
        flows = [{ direction = "up", kind = "files", size = "1 MB", files = 1 }]
        "#,
    );
    let shares = MaxMin::of(&scenario, 4e6);
    close(shares.flows[1], 4.0 * 1460.0 * 8.0 / 0.6);
    // The user of the web half of the time, the bulk upload always, the late one in the second half, when there are more.
    let rest = 4e6 - shares.flows[1].unwrap();
    let [before, after] = [rest / 1.5, rest / 2.5];
    close(shares.flows[0], 0.5 * (before / 2.0 + after / 2.0));
    close(shares.flows[2], 0.5 * after);
    close(shares.flows[3], 0.5 * (before + after));
    assert_eq!(shares.flows[4], None, "it may be over before anything is measured");
    assert_eq!(shares.flow_is_limited, [true, true, true, false, false]);
}

#[test]
fn nothing_to_share_starves_nobody_and_does_not_hang() {
    let scenario = cell("[[station]]\nname = \"a\"\nflows = [{ direction = \"up\" }]");
    assert!(MaxMin::of(&scenario, 0.0).starved(FLOOR, &[0.0], &[0.0]).is_nobody());
}

/// The shares of what `record` says was delivered.
fn of_replica(scenario: &Scenario, record: &Record) -> MaxMin {
    Period::together(&periods(scenario, record, 1.0)).shares
}

fn record(scenario: &Scenario, seen: &[(f64, f64)]) -> Record {
    let flow = |((station, flow), (goodput, busy_s)): ((usize, &Flow), &(f64, f64))| FlowRecord {
        station,
        direction: flow.direction,
        tcp: true,
        delivered_bytes: (goodput * 100.0 / 8.0) as u64,
        sent_packets: 0,
        retransmits: 0,
        timeouts: None,
        longest_timeout: None,
        fast_retransmits: None,
        transfer_times: Vec::new(),
        busy: (*busy_s > 0.0).then(|| Duration::from_secs_f64(*busy_s)),
        periods: Vec::new(),
    };
    let flows = scenario.flows().zip(seen).map(flow).collect();
    Record { measured: Duration::from_secs(100), flows, ..Record::default() }
}

/// A web user that asked for one file in 100 s and got it has what it asked for; one that waited all the time for it has not.
#[test]
fn a_quiet_user_of_the_web_does_not_starve_and_one_that_waits_in_vain_does() {
    let scenario = cell(
        r#"
        [[station]]
        name = "web"
        flows = [{ direction = "down", kind = "files", size = "100 kB", burst = "1 s", idle = "1 s" }]
        [[station]]
        name = "bulk"
        flows = [{ direction = "down" }]
        "#,
    );
    let starved = |web: (f64, f64)| {
        let shares = of_replica(&scenario, &record(&scenario, &[web, (4e6, 0.0)]));
        shares.starved(FLOOR, &[web.0, 4e6], &[web.0, 4e6])
    };
    let who = Starved { flows: vec![0], stations: vec![0] };
    assert!(starved((8e3, 0.5)).is_nobody(), "one file, in half a second");
    assert!(starved((8e3, 4.0)).is_nobody(), "in 4 s, at 0.2 Mbit/s");
    assert_eq!(starved((8e3, 60.0)), who, "in a minute");
    assert_eq!(starved((0.0, 60.0)), who, "none of it");
    assert_eq!(starved((30e3, 99.0)), who, "file after file, each slow");
    assert!(starved((0.0, 0.3)).is_nobody(), "it began only just");
    // A given number of files, which began before anything was measured, and no pauses.
    let counted = cell(
        r#"
        [[station]]
        name = "guest"
        flows = [{ direction = "down", kind = "files", size = "100 kB", files = 1000 }]
        [[station]]
        name = "bulk"
        flows = [{ direction = "down" }]
        "#,
    );
    let starved = |guest: (f64, f64)| {
        let shares = of_replica(&counted, &record(&counted, &[guest, (4e6, 0.0)]));
        shares.starved(FLOOR, &[guest.0, 4e6], &[guest.0, 4e6])
    };
    assert_eq!(starved((66e3, 100.0)), who, "it waits for them all the time");
    assert!(starved((66e3, 1.5)).is_nobody(), "the last ones, in a second");
    assert!(starved((0.0, 0.0)).is_nobody(), "they are over");
    // What it asked for on average is the most that counts.
    let full = of_replica(&scenario, &record(&scenario, &[(1e6, 100.0), (3e6, 0.0)]));
    assert_eq!(full.flows, MaxMin::of(&scenario, 4e6).flows);
}

/// While the late ones are there the early ones have nothing, which what they had before hides.
#[test]
fn who_has_nothing_while_others_are_there_starves() {
    let scenario = cell(
        r#"
        [[station]]
        name = "early"
        flows = [{ direction = "down" }]
        [[station]]
        name = "late"
        count = 3
        flows = [{ direction = "up", start = "80 s" }]
        "#,
    );
    // 60 s of 4 Mbit/s for one, 40 s for four.
    let shares = MaxMin::of(&scenario, 4e6);
    close(shares.flows[0], 0.6 * 4e6 + 0.4 * 1e6);
    close(shares.flows[1], 0.4 * 1e6);
    assert_eq!(shares.flow_is_limited, [false, true, true, true]);
    let bytes = |bps: f64, seconds: f64| (bps * seconds / 8.0) as u64;
    let replica = |early: f64, late: f64| {
        let mut replica = record(
            &scenario,
            &[(0.6 * 4e6 + 0.4 * early, 0.0), (0.4 * late, 0.0), (0.4 * late, 0.0), (0.4 * late, 0.0)],
        );
        for (flow, (before, after)) in
            replica.flows.iter_mut().zip([(4e6, early), (0.0, late), (0.0, late), (0.0, late)])
        {
            let ends = [bytes(before, 60.0), bytes(before, 60.0) + bytes(after, 40.0)];
            let end = |delivered_bytes| PeriodRecord { delivered_bytes, ..PeriodRecord::default() };
            flow.periods = PeriodRecord::between(&ends.map(end));
        }
        replica
    };
    let seen = periods(&scenario, &replica(1e6, 1e6), 1.0);
    assert_eq!(seen.iter().map(|own| own.seconds).collect::<Vec<_>>(), [60.0, 40.0]);
    close(seen[0].shares.flows[0], 4e6);
    assert_eq!(seen[0].shares.flows[1], None, "not there yet");
    close(seen[1].shares.flows[0], 1e6);
    close(of_replica(&scenario, &replica(1e6, 1e6)).flows[0], shares.flows[0].unwrap());
    assert!(starved(&scenario, &replica(1e6, 1e6), FLOOR).is_nobody());
    let early = Starved { flows: vec![0], stations: vec![0] };
    assert_eq!(starved(&scenario, &replica(1e4, 1.33e6), FLOOR), early);
}
