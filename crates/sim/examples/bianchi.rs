//! Bianchi.
use fairair_core::mac::{Phy, Preamble};
use fairair_core::packet::Direction;
use fairair_core::qdisc::QdiscSpec;
use fairair_core::scenario::*;
use fairair_core::tcp::TcpParams;
use fairair_core::units::*;
fn sc(phy: Phy, eifs: bool, n: usize, rl: u32, basic: u64) -> Scenario {
    let rate = if phy == Phy::B { Bitrate::mbps(11) } else { Bitrate::mbps(54) };
    let _ = basic;
    let st = |i| Station {
        name: format!("s{i}"),
        rate,
        beta: 1.0,
        frame_error: Probability::ZERO,
        bit_error_rate: 0.0,
        uplink_queue: 100,
        flows: vec![Flow {
            direction: Direction::Up,
            traffic: Traffic::UdpGreedy { payload: Bytes(1472) },
            tcp: TcpParams::default(),
            start: Duration::ZERO,
            stop: None,
            wire: None,
        }],
    };
    Scenario {
        name: "b".into(),
        run: Run {
            duration: Duration::from_secs(101),
            warmup: Duration::from_secs(1),
            replicas: 1,
            seed: 1,
            start_spread: Duration::from_millis(100),
            sample_interval: None,
            preset: Preset::Standard,
        },
        radio: Radio {
            phy,
            rate,
            basic_rate: Bitrate::mbps(basic),
            preamble: Preamble::Long,
            retry_limit: rl,
            eifs,
            cw_min: None,
            cw_max: None,
        },
        ap: Ap { queue: QdiscSpec::Droptail { limit: 100 }, uplink_queue: 10000 },
        wire: Wire { rate: Bitrate::mbps(1000), delay: Duration::ZERO, queue: 10000 },
        stations: (0..n).map(st).collect(),
    }
}
fn main() {
    let b = [
        (5, 6.3821, 6.4734),
        (10, 6.0269, 6.1774),
        (15, 5.7718, 5.9553),
        (20, 5.5765, 5.7819),
        (30, 5.2958, 5.5289),
        (40, 5.0722, 5.3243),
        (50, 4.9103, 5.1745),
    ];
    let a = [(5, 29.2861), (10, 27.3763), (15, 26.2078), (20, 25.3325), (30, 24.0944), (40, 23.1549), (50, 22.4162)];
    let mut cases = vec![];
    for (n, e, d) in b {
        cases.push((Phy::B, true, n, e));
        cases.push((Phy::B, false, n, d));
    }
    for (n, e) in a {
        cases.push((Phy::A, true, n, e));
    }
    for n in [2, 3, 4, 5, 6, 8, 10] {
        cases.push((Phy::A, true, n, 1.0));
    }
    for (phy, eifs, n, want) in cases {
        print!("{:?} eifs={} n={:2} want {:.4} ", phy, eifs, n, want);
        for rl in [7, 1000] {
            let s = sc(phy, eifs, n, rl, if phy == Phy::B { 2 } else { 24 });
            let (mut by, mut at, mut co) = (0u64, 0u64, 0u64);
            for r in 0..4 {
                let rec = fairair_sim::run(&s, r);
                by += rec.flows.iter().map(|f| f.delivered_bytes).sum::<u64>();
                for st in &rec.stations {
                    at += st.mac.attempts;
                    co += st.mac.collisions;
                }
            }
            let g = by as f64 * 8.0 / 400.0 / 1e6;
            print!(
                " | rl{rl}: {:.4} ({:+.2}%) x1500: {:.4} ({:+.2}%) p {:.3}",
                g,
                (g / want - 1.0) * 100.0,
                g * 1500. / 1472.,
                (g * 1500. / 1472. / want - 1.0) * 100.0,
                co as f64 / at as f64
            );
        }
        println!();
    }
}
