//! The grid on which the models are held to the simulator: scenarios from a fixed seed, what the simulator and the
//! models say of each, and the table of errors.
//!
//! Shared by the test `models` and the example `model_grid`.

use std::fmt::Write as _;

use fairair_core::model::unified::STARVED;
use fairair_core::model::{Kinds, Model, predict};
use fairair_core::packet::Direction;
use fairair_core::qdisc::QdiscSpec;
use fairair_core::rng::Rng;
use fairair_core::scenario::Scenario;

/// Scenarios of the grid.
pub(crate) const SIZE: usize = 360;
/// Replicas of each, and of its twin with an AP that never loses.
const REPLICAS: u32 = 4;
/// A buffer that holds any window of the grid.
const ENDLESS: usize = 20_000;
/// Columns of the committed table.
pub(crate) const HEADER: &str = "case,kind,stations,flows,lossy,starved,level,goodput_bps,lossless_packets_per_s,\
unified_level,unified_goodput_bps,unified_lossless_packets_per_s,unified_starved,detti2011_level";

/// One row of the table. Levels are of station 1 against the mean of the others, absent with one station.
#[derive(Clone, Debug)]
pub(crate) struct Row {
    pub(crate) case: usize,
    /// `up`, `down` or `mixed`.
    pub(crate) kind: String,
    pub(crate) stations: usize,
    pub(crate) flows: usize,
    /// The AP lost more than one packet in 10,000.
    pub(crate) lossy: bool,
    /// Some flow got less than 5 % of the fair share.
    pub(crate) starved: bool,
    pub(crate) level: Option<f64>,
    pub(crate) goodput: f64,
    /// R: packets per second with an AP that never loses.
    pub(crate) lossless: f64,
    pub(crate) unified_level: Option<f64>,
    pub(crate) unified_goodput: f64,
    pub(crate) unified_lossless: f64,
    pub(crate) unified_starved: bool,
    /// Only where its assumptions a1-a3, a5 and a7 hold.
    pub(crate) detti2011_level: Option<f64>,
}

fn pick<T: Copy>(rng: &mut Rng, from: &[T]) -> T {
    from[(rng.uniform() * from.len() as f64) as usize]
}

/// The scenario of a case.
pub(crate) fn scenario(case: usize) -> Scenario {
    Scenario::from_toml(&toml(case), "grid").expect("the grid is made of right scenarios")
}

/// 1-20 stations in up to three groups, uploads and downloads, buffers of 10-500 and windows of 10-100 packets, delayed
/// ACKs or none, errors up to 0.4, 2, 11 and 54 Mbit/s (with 6), priorities 0.8-1.5.
pub(crate) fn toml(case: usize) -> String {
    let rng = &mut Rng::fork(4, &format!("grid/{case}"));
    let ofdm = rng.uniform() < 0.3;
    let buffer: u32 = pick(rng, &[10, 20, 35, 50, 75, 100, 150, 200, 300, 400, 500]);
    let window: u32 = pick(rng, &[10, 16, 20, 30, 42, 64, 100]);
    let delayed_ack = rng.uniform() < 0.5;
    let stations: u64 = pick(rng, &[1, 2, 3, 4, 5, 6, 8, 10, 14, 20]);
    let mix = pick(rng, &["up", "down", "down", "mixed", "mixed"]);
    let groups = match stations {
        1 => 1,
        2 | 3 => 2,
        _ => pick(rng, &[2, 2, 3]),
    };
    let noisy = rng.uniform() < 0.4;
    let (phy, basic, rates) = if ofdm { ("802.11g", 24, [54, 54, 54, 6]) } else { ("802.11b", 2, [11, 11, 11, 2]) };
    let mut text = format!(
        "name = \"grid-{case}\"\n[run]\nduration = \"220 s\"\nwarmup = \"20 s\"\nreplicas = {REPLICAS}\nseed = {case}\n\
         [radio]\nphy = \"{phy}\"\nrate = \"{} Mbit/s\"\nbasic_rate = \"{basic} Mbit/s\"\n\
         [ap]\nqueue = {{ kind = \"droptail\", limit = {buffer} }}\n[tcp]\nwindow = {window}\ndelayed_ack = {delayed_ack}\n",
        rates[0]
    );
    let mut left = stations;
    for group in 0..groups {
        let count = match group {
            last if last + 1 == groups => left,
            0 => pick(rng, &[1, 1, stations / groups]).max(1),
            _ => (left / 2).max(1),
        };
        let count = count.min(left - (groups - 1 - group));
        left -= count;
        let (up, down) = match mix {
            "up" => (pick(rng, &[1, 1, 1, 2, 3]), 0),
            "down" => (0, pick(rng, &[1, 1, 1, 2, 3])),
            // A quarter of the groups go both ways; else the first group uploads and the others download.
            _ => match (group, pick(rng, &[false, false, false, true])) {
                (_, true) => (1, 1),
                (0, false) => (pick(rng, &[1, 1, 2]), 0),
                (_, false) => (0, pick(rng, &[1, 1, 2])),
            },
        };
        let rate = pick(rng, &rates);
        let beta = pick(rng, &[1.0, 1.0, 1.0, 0.8, 1.2, 1.5]);
        let error = if noisy { pick(rng, &[0.0, 0.1, 0.2, 0.3, 0.4]) } else { 0.0 };
        let own = pick(rng, &[window, window, window, 10, 42, 100]);
        let flows = [("up", up), ("down", down)].into_iter().filter(|(_, count)| *count > 0);
        let flows: Vec<String> = flows
            .map(|(way, count)| format!("{{ direction = \"{way}\", count = {count}, tcp = {{ window = {own} }} }}"))
            .collect();
        let _ = write!(
            text,
            "[[station]]\nname = \"group{group}\"\ncount = {count}\nrate = \"{rate} Mbit/s\"\nbeta = {beta:?}\n\
             frame_error = {error:?}\nflows = [{}]\n",
            flows.join(", ")
        );
    }
    text
}

/// Simulates a case and asks the models.
pub(crate) fn row(case: usize) -> Row {
    let scenario = scenario(case);
    let flows: Vec<Direction> = scenario.flows().map(|(_, flow)| flow.direction).collect();
    let (goodputs, lossy) = simulate(&scenario);
    let endless = endless(&scenario);
    let lossless = packets(&endless);
    let fair = goodputs.iter().sum::<f64>() / goodputs.len() as f64;
    let ups = flows.iter().filter(|way| **way == Direction::Up).count();
    let simulated = Row {
        case,
        kind: if ups == 0 {
            "down"
        } else if ups == flows.len() {
            "up"
        } else {
            "mixed"
        }
        .to_owned(),
        stations: scenario.stations.len(),
        flows: flows.len(),
        lossy,
        starved: goodputs.iter().any(|goodput| *goodput < STARVED * fair),
        level: level(&scenario, &goodputs),
        goodput: goodputs.iter().sum(),
        lossless,
        unified_level: None,
        unified_goodput: 0.0,
        unified_lossless: 0.0,
        unified_starved: false,
        detti2011_level: None,
    };
    with_models(simulated)
}

/// The models' columns anew.
pub(crate) fn with_models(mut row: Row) -> Row {
    let scenario = scenario(row.case);
    let unified = predict(&scenario, Some(named("unified"))).expect("the grid is in the model's range");
    let open = predict(&endless(&scenario), Some(named("unified"))).expect("the grid is in the model's range");
    row.unified_level = level(&scenario, &unified.flows);
    row.unified_goodput = unified.flows.iter().sum();
    row.unified_lossless = open.packets.unwrap_or_default();
    row.unified_starved = unified.section.starvation;
    let detti2011 = predict(&scenario, Some(named("detti2011"))).ok();
    let detti2011 = detti2011.filter(|p| p.section.assumptions.iter().all(|a| a.holds || a.name == "a4"));
    row.detti2011_level = detti2011.and_then(|prediction| level(&scenario, &prediction.flows));
    row
}

fn named(model: &str) -> &'static Model {
    Model::named(model).expect("a model of that name")
}

fn endless(scenario: &Scenario) -> Scenario {
    let mut endless = scenario.clone();
    endless.ap.queue = QdiscSpec::Droptail { limit: ENDLESS };
    endless
}

/// bit/s of each flow, mean over the replicas, and whether the AP lost packets.
fn simulate(scenario: &Scenario) -> (Vec<f64>, bool) {
    let mut goodputs = vec![0.0; scenario.flow_count()];
    let (mut arrivals, mut drops) = (0, 0);
    for replica in 0..REPLICAS {
        let record = fairair_sim::run(scenario, replica);
        let scale = 8.0 / record.measured.as_secs_f64() / f64::from(REPLICAS);
        for (goodput, flow) in goodputs.iter_mut().zip(&record.flows) {
            *goodput += flow.delivered_bytes as f64 * scale;
        }
        arrivals += record.ap_queue.arrivals.iter().sum::<u64>();
        drops += record.ap_queue.drops.iter().flatten().sum::<u64>();
    }
    (goodputs, drops as f64 > 1e-4 * arrivals as f64)
}

/// IP packets over the radio per second, mean over two replicas.
fn packets(scenario: &Scenario) -> f64 {
    let of = |replica| {
        let record = fairair_sim::run(scenario, replica);
        let stations: u64 = record.stations.iter().map(|station| station.mac.delivered).sum();
        (record.ap_mac.delivered + stations) as f64 / record.measured.as_secs_f64()
    };
    f64::midpoint(of(0), of(1))
}

fn level(scenario: &Scenario, goodputs: &[f64]) -> Option<f64> {
    let mut stations = vec![0.0; scenario.stations.len()];
    for ((station, _), goodput) in scenario.flows().zip(goodputs) {
        stations[station] += goodput;
    }
    fairair_core::metrics::fairness_level_of_first(&stations)
}

impl Row {
    /// As a line of the table.
    pub(crate) fn to_csv(&self) -> String {
        let number = |value: Option<f64>| value.map(|value| format!("{value:.5}")).unwrap_or_default();
        format!(
            "{},{},{},{},{},{},{},{:.0},{:.2},{},{:.0},{:.2},{},{}",
            self.case,
            self.kind,
            self.stations,
            self.flows,
            self.lossy,
            self.starved,
            number(self.level),
            self.goodput,
            self.lossless,
            number(self.unified_level),
            self.unified_goodput,
            self.unified_lossless,
            self.unified_starved,
            number(self.detti2011_level),
        )
    }

    /// From a line of the table.
    pub(crate) fn from_csv(line: &str) -> Row {
        let cells: Vec<&str> = line.split(',').collect();
        let number = |cell: usize| cells[cell].parse::<f64>().expect("a number");
        let maybe = |cell: usize| cells[cell].parse::<f64>().ok();
        Row {
            case: cells[0].parse().expect("a number"),
            kind: cells[1].to_owned(),
            stations: cells[2].parse().expect("a number"),
            flows: cells[3].parse().expect("a number"),
            lossy: cells[4] == "true",
            starved: cells[5] == "true",
            level: maybe(6),
            goodput: number(7),
            lossless: number(8),
            unified_level: maybe(9),
            unified_goodput: number(10),
            unified_lossless: number(11),
            unified_starved: cells[12] == "true",
            detti2011_level: maybe(13),
        }
    }
}

/// Errors of a column, as absolute relative errors in ascending order.
#[derive(Clone, Debug, Default)]
pub(crate) struct Errors(Vec<f64>);

impl Errors {
    pub(crate) fn of(pairs: impl Iterator<Item = (f64, f64)>) -> Self {
        let mut errors: Vec<f64> = pairs.map(|(model, simulated)| (model / simulated - 1.0).abs()).collect();
        errors.sort_by(f64::total_cmp);
        Errors(errors)
    }

    /// The error that this share of the cases is not above.
    pub(crate) fn percentile(&self, share: f64) -> f64 {
        let index = ((self.0.len() as f64 * share).ceil() as usize).saturating_sub(1);
        self.0.get(index).copied().unwrap_or(0.0)
    }
}

/// What the grid comes to.
pub(crate) struct Summary {
    /// R: packets per second without losses.
    pub(crate) capacity: Errors,
    /// Total goodput as the scenario is.
    pub(crate) goodput: Errors,
    /// Level of station 1 where no flow is starved.
    pub(crate) unified: Errors,
    pub(crate) detti2011: Errors,
    /// `unified` on the cases of `detti2011`.
    pub(crate) unified_there: Errors,
    pub(crate) starved: usize,
    pub(crate) flagged: usize,
    pub(crate) false_flags: usize,
    pub(crate) cases: usize,
}

impl Summary {
    pub(crate) fn of(rows: &[Row]) -> Self {
        let fair = || rows.iter().filter(|row| !row.starved);
        let pair = |model: Option<f64>, row: &Row| Some((model?, row.level?));
        Summary {
            capacity: Errors::of(rows.iter().map(|row| (row.unified_lossless, row.lossless))),
            goodput: Errors::of(rows.iter().map(|row| (row.unified_goodput, row.goodput))),
            unified: Errors::of(fair().filter_map(|row| pair(row.unified_level, row))),
            detti2011: Errors::of(fair().filter_map(|row| pair(row.detti2011_level, row))),
            unified_there: Errors::of(
                fair().filter(|row| row.detti2011_level.is_some()).filter_map(|row| pair(row.unified_level, row)),
            ),
            starved: rows.iter().filter(|row| row.starved).count(),
            flagged: rows.iter().filter(|row| row.starved && row.unified_starved).count(),
            false_flags: rows.iter().filter(|row| !row.starved && row.unified_starved).count(),
            cases: rows.len(),
        }
    }

    /// The table of medians and percentiles.
    pub(crate) fn table(&self) -> String {
        let line = |name: &str, errors: &Errors| {
            let [half, most, nearly] = [0.5, 0.9, 0.95].map(|share| errors.percentile(share) * 100.0);
            format!("| {name} | {} | {half:.1} % | {most:.1} % | {nearly:.1} % |\n", errors.0.len())
        };
        let mut text = "| error of | cases | median | 90th | 95th |\n|---|---|---|---|---|\n".to_owned();
        text += &line("capacity R (AP without losses), packets/s", &self.capacity);
        text += &line("unified, total goodput", &self.goodput);
        text += &line("unified, fairness level, nobody starved", &self.unified);
        text += &line("detti2011, the same inside a1-a3, a5, a7", &self.detti2011);
        text += &line("unified on those cases", &self.unified_there);
        text + &format!(
            "\nStarvation: {} of {} cases, {} flagged, {} false flags.\n",
            self.starved, self.cases, self.flagged, self.false_flags
        )
    }
}

/// Stops the compiler from calling unused what the other of test and example uses.
pub(crate) fn kinds_of(case: usize) -> Kinds {
    Kinds::of(&scenario(case)).expect("the grid is in the model's range")
}
