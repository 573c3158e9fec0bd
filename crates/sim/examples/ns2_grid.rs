//! Compares the simulator with the ns-2 grid.
use fairair_core::mac::{Phy, Preamble};
use fairair_core::packet::{Class, Direction};
use fairair_core::qdisc::QdiscSpec;
use fairair_core::scenario::*;
use fairair_core::tcp::{TcpParams, Variant};
use fairair_core::units::*;
use std::collections::BTreeMap;

fn rate(s: &str) -> Bitrate {
    Bitrate::mbps(s.trim_end_matches("Mb").parse().unwrap())
}

fn scenario(row: &BTreeMap<&str, &str>) -> Scenario {
    let f = |k: &str| row[k].parse::<f64>().unwrap();
    let u = |k: &str| row[k].parse::<usize>().unwrap();
    let tcp = TcpParams {
        variant: if row["tcp"] == "Reno" { Variant::Reno } else { Variant::Newreno },
        window: u("win") as u32,
        mss: u("pl") as u32,
        ..TcpParams::ns2()
    };
    let delay: f64 = row["wdelay"].trim_end_matches("ms").parse::<f64>().unwrap() * f("hops") / 1e3;
    let station = |i: usize, direction| Station {
        name: format!("s{i}"),
        rate: rate(row["rate"]),
        beta: 1.0,
        frame_error: Probability::new(f("pw")).unwrap(),
        bit_error_rate: 0.0,
        uplink_queue: 1000,
        flows: vec![Flow { direction, traffic: Traffic::Bulk, tcp, start: Duration::ZERO, stop: None, wire: None }],
    };
    let nd = u("ndown");
    Scenario {
        name: "g".into(),
        run: Run {
            duration: Duration::from_secs(u("T") as u64),
            warmup: Duration::from_secs(u("T0") as u64),
            replicas: 1,
            seed: 1,
            start_spread: Duration::from_secs(1),
            sample_interval: None,
            preset: Preset::Ns2,
        },
        radio: Radio {
            phy: Phy::B,
            rate: rate(row["rate"]),
            basic_rate: rate(row["basic"]),
            preamble: Preamble::Long,
            retry_limit: u("retry") as u32,
            eifs: true,
            cw_min: None,
            cw_max: None,
        },
        ap: Ap { queue: QdiscSpec::Droptail { limit: u("B") }, uplink_queue: 10000 },
        wire: Wire { rate: Bitrate::mbps(100), delay: Duration::from_secs_f64(delay), queue: 10000 },
        stations: (0..nd + u("nup"))
            .map(|i| station(i, if i < nd { Direction::Down } else { Direction::Up }))
            .collect(),
    }
}

fn main() {
    let path = std::env::args().nth(1).unwrap();
    let reps: u32 = std::env::args().nth(2).map_or(4, |s| s.parse().unwrap());
    let text = std::fs::read_to_string(path).unwrap();
    let mut lines = text.lines();
    let head: Vec<&str> = lines.next().unwrap().split(',').collect();
    println!(
        "{:24} {:>16} {:>18} {:>18} {:>12} {:>12} {:>14}",
        "point", "total", "up", "down", "pd_data", "pd_ack", "q"
    );
    for line in lines {
        let row: BTreeMap<&str, &str> = head.iter().copied().zip(line.split(',')).collect();
        let s = scenario(&row);
        let m = s.run.duration - s.run.warmup;
        let (mut up, mut down, mut q) = (0.0, 0.0, 0.0);
        let mut arr = [0u64; 3];
        let mut drp = [0u64; 3];
        let mut downs = vec![];
        for r in 0..reps {
            let rec = fairair_sim::run(&s, r);
            let g = |d| {
                let v: Vec<f64> = rec
                    .flows
                    .iter()
                    .filter(|f| f.direction == d)
                    .map(|f| f.delivered_bytes as f64 * 8.0 / m.as_secs_f64() / 1e3)
                    .collect();
                v.iter().sum::<f64>() / v.len() as f64
            };
            up += g(Direction::Up) / reps as f64;
            down += g(Direction::Down) / reps as f64;
            downs.push(g(Direction::Down));
            q += rec.ap_queue.occupancy as f64 / m.as_nanos() as f64 / reps as f64;
            for c in [Class::Data, Class::Ack] {
                arr[c.index()] += rec.ap_queue.arrivals[c.index()];
                drp[c.index()] += rec.ap_queue.dropped(c);
            }
        }
        let n = |k: &str| row[k].parse::<f64>().unwrap();
        let nf = (n("ndown"), n("nup"));
        // ns-2's bytes count packets of pl+40 scaled to pl
        let tot = up * nf.1 + down * nf.0;
        let e = |a: f64, b: f64| (a / b - 1.0) * 100.0;
        println!(
            "{:24} {:7.0} {:+5.1}% {:8.1} {:+5.1}% {:8.2} {:8.2} {:+5.1}%  {:.3}/{:.3} {:.3}/{:.3} {:.1}/{}",
            format!(
                "{} {} {}+{} B{} pw{}",
                row["scenario"], row["variant"], row["ndown"], row["nup"], row["B"], row["pw"]
            ),
            tot,
            e(tot, n("total_kbps")),
            up,
            e(up, n("up_kbps")),
            down,
            n("down_kbps"),
            e(down, n("down_kbps")),
            drp[0] as f64 / arr[0].max(1) as f64,
            n("pdrop_data"),
            drp[1] as f64 / arr[1].max(1) as f64,
            n("pdrop_ack"),
            q,
            n("qavg").round()
        );
    }
}
