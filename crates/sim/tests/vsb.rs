//! Validation of the box: detti2011 Figs. 5-11 with and without it, and shares of air.
//!
//! `cargo test --release -p fairair-sim --test vsb -- --nocapture` prints the tables.

mod common;

use common::{changed, fairness_level, mean, parse, runs, station_kbps, tcp_capacity, text, total_kbps, within};
use fairair_core::control::CapacityParams;
use fairair_core::scenario::{Enforce, Scenario};
use fairair_core::shaper::{Policy, VsbParams};
use fairair_core::units::Bitrate;

const REPLICAS: u32 = 3;

/// A figure: how station 1 and the others differ from the committed five stations.
struct Figure {
    name: &'static str,
    /// Direction of station 1's flows, and of the others'.
    directions: (&'static str, &'static str),
    slow: bool,
    /// Connections, or windows of station 1.
    points: &'static [u32],
    by_window: bool,
}

const COUNTS: &[u32] = &[1, 2, 3, 4, 5, 6];
const WINDOWS: &[u32] = &[6, 12, 18, 24, 30, 36, 42];

const FIGURES: [Figure; 7] = [
    Figure { name: "5", directions: ("up", "down"), slow: false, points: COUNTS, by_window: false },
    Figure { name: "6", directions: ("down", "down"), slow: false, points: COUNTS, by_window: false },
    Figure { name: "7", directions: ("down", "down"), slow: true, points: COUNTS, by_window: false },
    Figure { name: "8", directions: ("down", "down"), slow: false, points: WINDOWS, by_window: true },
    Figure { name: "9", directions: ("up", "up"), slow: false, points: COUNTS, by_window: false },
    Figure { name: "10", directions: ("up", "up"), slow: true, points: COUNTS, by_window: false },
    Figure { name: "11", directions: ("up", "up"), slow: false, points: WINDOWS, by_window: true },
];

impl Figure {
    fn scenario(&self, point: u32) -> Scenario {
        let (first, others) = self.directions;
        let (count, window) = if self.by_window { (1, point) } else { (point, 42) };
        let slow = if self.slow { "name = \"sta1\"\nrate = \"2 Mbit/s\"" } else { "name = \"sta1\"" };
        parse(&changed(
            &text("detti2011-five-stations.toml"),
            &[
                ("[{ direction = \"down\" }]", &format!("[{{ direction = \"{others}\" }}]")),
                (
                    "[{ direction = \"up\", count = 1 }]",
                    &format!(
                        "[{{ direction = \"{first}\", count = {count}, start = \"{}\", tcp = {{ window = {window} }} }}]",
                        std::env::var("LATE").unwrap_or("0 s".into())
                    ),
                ),
                ("name = \"sta1\"", slow),
            ],
        ))
    }

    /// The cell's capacity for the mix that equal shares make: one flow a station and a buffer without losses.
    fn capacity(&self) -> Bitrate {
        let mut scenario = self.scenario(if self.by_window { 42 } else { 1 });
        scenario.ap.queue = fairair_core::qdisc::QdiscSpec::Droptail { limit: 100_000 };
        tcp_capacity(&runs(&scenario, REPLICAS), 1460)
    }
}

fn with_box(scenario: &Scenario, policy: Policy, capacity: Bitrate) -> Scenario {
    let vsb = VsbParams { policy, ..VsbParams::default() };
    Scenario { enforce: Some(Enforce { vsb, capacity: CapacityParams::Fixed { rate: capacity } }), ..scenario.clone() }
}

fn share(rate: Bitrate, share: f64) -> Bitrate {
    Bitrate::from_bps((rate.as_bps() as f64 * share) as u64)
}

/// Bar 4: with the box at 95 % of the cell's TCP capacity, level 0.95-1.05 in every figure, and goodput kept.
#[test]
fn detti2011_figures_5_to_11() {
    println!("Fig.  x   level without / with   Mbit/s without / with   ratio");
    for figure in &FIGURES {
        let capacity = figure.capacity();
        let mut totals = (0.0, 0.0);
        for point in figure.points {
            let scenario = figure.scenario(*point);
            let without = runs(&scenario, REPLICAS);
            let with = runs(&with_box(&scenario, Policy::PerStation, share(capacity, 0.95)), REPLICAS);
            let levels = (fairness_level(&without), fairness_level(&with));
            let goodput = (mean(&without, total_kbps) / 1e3, mean(&with, total_kbps) / 1e3);
            println!(
                "{:>4} {point:>2}   {:>13.3} / {:.3}   {:>14.3} / {:.3}   {:.3}",
                figure.name,
                levels.0,
                levels.1,
                goodput.0,
                goodput.1,
                goodput.1 / goodput.0
            );
            totals = (totals.0 + goodput.0, totals.1 + goodput.1);
        }
        println!("{:>4} mean, C = 95 % of {capacity}: ratio {:.3}", figure.name, totals.1 / totals.0);
    }
}
