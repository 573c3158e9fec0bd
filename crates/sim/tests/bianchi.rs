//! Validation: saturated stations reproduce Bianchi's throughput and the collision probability of other tools.
//!
//! The references are ns-3's tables (Bianchi's model with its later refinements, no retry limit). They count the bytes of
//! the MSDU without LLC/SNAP, 1500 B for a datagram of 1472 B. The table that the tests print is docs/validation.md's:
//! `cargo test --release -p fairair-sim --test bianchi -- --nocapture`.

use std::path::Path;

use fairair_core::scenario::Scenario;

/// Stations and Mbit/s.
type Table = [(u32, f64); 7];

const B_EIFS: Table = [(5, 6.3821), (10, 6.0269), (15, 5.7718), (20, 5.5765), (30, 5.2958), (40, 5.0722), (50, 4.9103)];
const B_DIFS: Table = [(5, 6.4734), (10, 6.1774), (15, 5.9553), (20, 5.7819), (30, 5.5289), (40, 5.3243), (50, 5.1745)];
const A_EIFS: Table =
    [(5, 29.2861), (10, 27.3763), (15, 26.2078), (20, 25.3325), (30, 24.0944), (40, 23.1549), (50, 22.4162)];
/// Stations, then the smallest and the largest of ns-3, another simulator, and Bianchi's model (802.11a, 54 Mbit/s).
const A_COLLISIONS: [(u32, f64, f64); 7] = [
    (2, 0.105, 0.111),
    (3, 0.174, 0.178),
    (4, 0.221, 0.231),
    (5, 0.257, 0.272),
    (6, 0.283, 0.303),
    (8, 0.324, 0.350),
    (10, 0.358, 0.384),
];
const REPLICAS: u32 = 10;
/// Student's t for nine degrees of freedom.
const T95: f64 = 2.262;

/// The committed scenario for `stations` stations.
fn scenario(file: &str, stations: u32, eifs: bool) -> Scenario {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios").join(file);
    let text = std::fs::read_to_string(path).expect("the scenario is in the repository");
    let text = text
        .replace("count = 10", &format!("count = {stations}"))
        .replace("eifs = true", &format!("eifs = {eifs}"))
        .replace("duration = \"60 s\"", "duration = \"105 s\"");
    Scenario::from_toml(&text, file).unwrap()
}

/// Mbit/s of MSDU bytes with its 95 % half-width, and the collision probability.
fn saturate(scenario: &Scenario) -> (f64, f64, f64) {
    let (mut attempts, mut collisions) = (0, 0);
    let throughputs: Vec<f64> = (0..REPLICAS)
        .map(|replica| {
            let record = fairair_sim::run(scenario, replica);
            attempts += record.stations.iter().map(|station| station.mac.attempts).sum::<u64>();
            collisions += record.stations.iter().map(|station| station.mac.collisions).sum::<u64>();
            let payload: u64 = record.flows.iter().map(|flow| flow.delivered_bytes).sum();
            payload as f64 * 1500.0 / 1472.0 * 8.0 / record.measured.as_secs_f64() / 1e6
        })
        .collect();
    let n = f64::from(REPLICAS);
    let mean = throughputs.iter().sum::<f64>() / n;
    let variance = throughputs.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / (n - 1.0);
    (mean, T95 * (variance / n).sqrt(), collisions as f64 / attempts as f64)
}

/// Bar: each cell within 1 %, confidence interval at most 0.3 %.
#[track_caller]
fn reproduces(title: &str, file: &str, eifs: bool, table: &Table) {
    let mut off = Vec::new();
    for (stations, expected) in table {
        let (mean, ci95, collisions) = saturate(&scenario(file, *stations, eifs));
        let (error, half_width) = (mean / expected - 1.0, ci95 / mean);
        println!(
            "{title} n = {stations:2}: {mean:7.4} Mbit/s +- {:.2} % for {expected:7.4} ({:+.2} %), p = {collisions:.3}",
            half_width * 100.0,
            error * 100.0
        );
        if error.abs() > 0.01 || half_width > 0.003 {
            off.push(*stations);
        }
    }
    assert!(off.is_empty(), "{title}: off at {off:?} stations");
}

#[test]
fn throughput_802_11b_with_eifs() {
    reproduces("802.11b EIFS", "bianchi-802.11b.toml", true, &B_EIFS);
}

#[test]
fn throughput_802_11b_with_difs_only() {
    reproduces("802.11b DIFS", "bianchi-802.11b.toml", false, &B_DIFS);
}

#[test]
fn throughput_802_11a() {
    reproduces("802.11a EIFS", "bianchi-802.11a.toml", true, &A_EIFS);
}

/// Bar: within the spread of the tools, widened by 0.005.
#[test]
fn collision_probability_802_11a() {
    for (stations, low, high) in A_COLLISIONS {
        let (_, _, p) = saturate(&scenario("bianchi-802.11a.toml", stations, true));
        println!("802.11a n = {stations:2}: collision probability {p:.4} for {low:.3}-{high:.3}");
        assert!((low - 0.005..=high + 0.005).contains(&p), "n = {stations}: {p}");
    }
}
