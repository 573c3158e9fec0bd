//! Measures the AP's queue disciplines in the cells of the papers: the long runs behind docs/remedies.md that no figure of the gallery
//! shows.
//!
//! `cargo run --release -p fairair-sim --example disciplines -- <section> [replicas]`, where a section is one of the
//! names in `main`. Figures are means over replicas.

#[path = "../tests/disciplines/cells.rs"]
mod cells;

use cells::{
    airtimes, cov, detti2011_fig6, ha2009, jain, jain_of_flows, khademi2010_directions, khademi2010_sizes, mean,
    pokhrel2016, service_ms, sojourn_ms, total, transfer_times, two_rates, up_down_ratio,
};
use fairair_core::packet::Direction;
use fairair_core::qdisc::{
    AdaptiveBufferParams, AdmissionParams, AirtimeFqParams, Charge, CwndSource, FairQueueParams, FqCodelParams,
    LasParams, QdiscSpec, Refusable, TlasParams, TlasSafParams, Victim,
};
use fairair_core::record::Record;
use fairair_core::scenario::Scenario;
use fairair_core::units::{Duration, Probability};

/// Runs all replicas of a scenario.
fn replicas(scenario: &Scenario, n: u32) -> Vec<Record> {
    let half = n.div_ceil(2);
    std::thread::scope(|scope| {
        let other = scope.spawn(|| (half..n).map(|r| fairair_sim::run(scenario, r)).collect::<Vec<_>>());
        let mut records: Vec<Record> = (0..half).map(|r| fairair_sim::run(scenario, r)).collect();
        records.extend(other.join().expect("a replica ran"));
        records
    })
}

fn mean_of(records: &[Record], figure: impl Fn(&Record) -> f64) -> f64 {
    mean(&records.iter().map(figure).collect::<Vec<_>>())
}

fn las_family(limit: usize) -> [(&'static str, QdiscSpec); 7] {
    let saf = |cwnd| QdiscSpec::TlasSaf(TlasSafParams { limit, cwnd, ..TlasSafParams::default() });
    let victim = Victim::Last;
    [
        ("droptail", QdiscSpec::Droptail { limit }),
        ("las", QdiscSpec::Las(LasParams { limit })),
        ("tlas", QdiscSpec::Tlas(TlasParams { limit, ..TlasParams::default() })),
        ("tlas-saf", saf(CwndSource::Revealed)),
        ("tlas-saf estimated", saf(CwndSource::Estimated)),
        ("tlas last", QdiscSpec::Tlas(TlasParams { limit, victim, ..TlasParams::default() })),
        ("tlas-saf last", QdiscSpec::TlasSaf(TlasSafParams { limit, victim, ..TlasSafParams::default() })),
    ]
}

/// khademi2010 Figs. 4-9.
fn khademi_sizes(n: u32, pause_ms: u64) {
    println!("pause {pause_ms} ms; stations: mean s / CoV of small, of large files");
    // A discipline and a number of stations after the replicas leave out the others.
    let only: Vec<String> = std::env::args().skip(3).collect();
    for (index, (name, _)) in las_family(50).iter().enumerate() {
        if only.first().is_some_and(|only| only != name) {
            continue;
        }
        println!("{name}");
        for stations in [6, 16, 26, 36, 46] {
            if only.get(1).is_some_and(|only| *only != stations.to_string()) {
                continue;
            }
            let scenario = khademi2010_sizes(stations, Duration::from_millis(pause_ms), las_family(50)[index].1);
            let (mut small, mut large) = (Vec::new(), Vec::new());
            let mut of_runs = Vec::new();
            for replica in 0..n {
                let [s, l] = transfer_times(scenario.clone(), replica, Duration::from_secs(8_000));
                of_runs.push(cov(&s));
                small.extend(s);
                large.extend(l);
            }
            of_runs.sort_by(f64::total_cmp);
            println!("  {stations:2}: CoV of small files by run {of_runs:.2?}");
            println!(
                "  {stations:2}: small {:.2} / {:.2} (n {}), large {:.1} / {:.2} (n {})",
                mean(&small),
                cov(&small),
                small.len(),
                mean(&large),
                cov(&large),
                large.len()
            );
        }
    }
}

/// pokhrel2016 Figs. 17-19 with p_b of Tables 4 and 5.
fn admission(n: u32) {
    println!("p_w p_b wanted down/up: reached with all, with data refused; total kb/s");
    for (p_w, p_b, wanted) in [
        (0.2, 0.0684, 1.0),
        (0.3, 0.179, 1.0),
        (0.4, 0.286, 1.0),
        (0.2, 0.0381, 2.0),
        (0.3, 0.0913, 2.0),
        (0.4, 0.153, 2.0),
    ] {
        print!("{p_w} {p_b} {wanted}:");
        for applies_to in [Refusable::All, Refusable::Data] {
            let p_b = Probability::new(p_b).expect("a probability");
            let queue = QdiscSpec::Admission(AdmissionParams { p_b, applies_to, ..AdmissionParams::default() });
            let records = replicas(&pokhrel2016(5, 5, p_w, queue), n);
            print!(" {:.3} ({:.0})", 1.0 / mean_of(&records, up_down_ratio), mean_of(&records, total));
        }
        println!();
    }
    println!("p_w 0, 0.2, 0.4; data refused: p_b that reaches down/up 1");
    for p_w in [0.0, 0.2, 0.3, 0.4] {
        print!("{p_w}:");
        for p_b in [0.0, 0.001, 0.002, 0.005, 0.01, 0.02, 0.04] {
            let params = AdmissionParams {
                p_b: Probability::new(p_b).expect("a probability"),
                applies_to: Refusable::Data,
                ..AdmissionParams::default()
            };
            let records = replicas(&pokhrel2016(5, 5, p_w, QdiscSpec::Admission(params)), n);
            print!(" {p_b}: {:.2}", 1.0 / mean_of(&records, up_down_ratio));
        }
        println!();
    }
}

fn adaptive_buffer(n: u32) {
    for ms in [50, 100, 200, 400] {
        let t = Duration::from_millis(ms);
        let queue = QdiscSpec::AdaptiveBuffer(AdaptiveBufferParams { t, ..AdaptiveBufferParams::default() });
        for (name, scenario) in [
            ("ha2009 4+4", ha2009(4, 4, queue)),
            ("ha2009 10+0", ha2009(10, 0, queue)),
            ("khademi2010 5+5", khademi2010_directions(queue)),
            ("detti2011 6+4", detti2011_fig6(6, queue)),
        ] {
            let records = replicas(&scenario, n);
            println!(
                "T {ms} ms {name:16}: sojourn {:.0} ms, a packet takes {:.1} ms, Jain {:.3}, total {:.0} kb/s",
                mean_of(&records, sojourn_ms),
                mean_of(&records, service_ms),
                mean_of(&records, jain_of_flows),
                mean_of(&records, total)
            );
        }
    }
}

fn fair_queues(n: u32) {
    let limit = 100;
    for queue in [
        QdiscSpec::Droptail { limit },
        QdiscSpec::PerFlowFq(FairQueueParams { limit, charge: Charge::Packet }),
        QdiscSpec::PerFlowFq(FairQueueParams { limit, charge: Charge::Acknowledged }),
        QdiscSpec::PerStationFq(FairQueueParams { limit, charge: Charge::Packet }),
        QdiscSpec::PerStationFq(FairQueueParams { limit, charge: Charge::Acknowledged }),
        QdiscSpec::AirtimeFq(AirtimeFqParams { limit, ..AirtimeFqParams::default() }),
        QdiscSpec::FqCodel(FqCodelParams::default()),
    ] {
        let records = replicas(&khademi2010_directions(queue), n);
        print!(
            "{:15} K1: Jain {:.3} up/down {:.2} total {:.0} sojourn {:.1} ms;",
            queue.kind(),
            mean_of(&records, jain_of_flows),
            mean_of(&records, up_down_ratio),
            mean_of(&records, total),
            mean_of(&records, sojourn_ms)
        );
        print!(" Fig. 6 Jain over stations:");
        for downloads in [1, 3, 6] {
            let records = replicas(&detti2011_fig6(downloads, queue), n);
            let stations = |record: &Record| {
                let mut shares = vec![0.0; record.stations.len()];
                record.flows.iter().for_each(|flow| shares[flow.station] += flow.delivered_bytes as f64);
                jain(&shares)
            };
            print!(" {:.3}", mean_of(&records, stations));
        }
        println!();
    }
}

fn airtime(n: u32) {
    let (up, down) = (Direction::Up, Direction::Down);
    for flows in [&[down; 4][..], &[up; 4], &[down, down, up, up], &[up, down, down, up], &[down; 8], &[up; 8]] {
        for queue in [QdiscSpec::Droptail { limit: 100 }, QdiscSpec::AirtimeFq(AirtimeFqParams::default())] {
            let records = replicas(&two_rates(flows, queue), n);
            let shares: Vec<f64> =
                (0..flows.len()).map(|station| mean_of(&records, |record| airtimes(record)[station])).collect();
            let sum: f64 = shares.iter().sum();
            let relative: Vec<String> =
                shares.iter().map(|share| format!("{:.3}", share / sum * flows.len() as f64)).collect();
            println!(
                "{:10} {:?}: share x n {} total {:.0}",
                queue.kind(),
                flows,
                relative.join(" "),
                mean_of(&records, total)
            );
        }
    }
}

fn fq_codel(n: u32) {
    let queue = QdiscSpec::FqCodel(FqCodelParams::default());
    for (name, scenario) in [
        ("ha2009 4+4", ha2009(4, 4, queue)),
        ("khademi2010 5+5", khademi2010_directions(queue)),
        ("detti2011 6+4 down", detti2011_fig6(6, queue)),
        ("ha2009 1+0", ha2009(1, 0, queue)),
    ] {
        let records = replicas(&scenario, n);
        println!(
            "{name:20}: sojourn {:.1} ms, up/down {:.2}, Jain {:.3}, total {:.0} kb/s",
            mean_of(&records, sojourn_ms),
            mean_of(&records, up_down_ratio),
            mean_of(&records, jain_of_flows),
            mean_of(&records, total)
        );
    }
}

fn main() {
    let section = std::env::args().nth(1).unwrap_or_default();
    let n: u32 = std::env::args().nth(2).and_then(|n| n.parse().ok()).unwrap_or(10);
    match section.as_str() {
        "khademi2010-sizes-250" => khademi_sizes(n, 250),
        "khademi2010-sizes-500" => khademi_sizes(n, 500),
        "khademi2010-sizes-1000" => khademi_sizes(n, 1000),
        "admission" => admission(n),
        "adaptive-buffer" => adaptive_buffer(n),
        "fair-queues" => fair_queues(n),
        "airtime" => airtime(n),
        "fq-codel" => fq_codel(n),
        _ => eprintln!("which section? see the end of this file"),
    }
}
