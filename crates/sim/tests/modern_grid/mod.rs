//! The grid of modern cells on which `unified` is held to the simulator: cells from a fixed seed, what simulator and model say of each, and
//! the table of errors.
//!
//! Shared by the test `modern` and the example `modern_grid`.

mod cells;
mod summary;

use fairair_core::model::modern::Cell;
use fairair_core::model::predict;
use fairair_core::model::unified::STARVED;
use fairair_core::packet::Direction;
use fairair_core::qdisc::QdiscSpec;
use fairair_core::scenario::Scenario;

pub(crate) use cells::{SIZE, scenario, toml};
pub(crate) use summary::summaries;

/// The series that judges. While the model was made other series were looked at.
pub(crate) const JUDGE: &str = "grid";
/// Columns of the committed table.
pub(crate) const HEADER: &str =
    "case,phy,queue,up,down,rtt_ms,error,starved,level,goodput_bps,unified_level,unified_goodput_bps,unified_starved";

/// One row of the table. The level is the mean upload over the mean download, or the first station over the mean of the others where all
/// go one way; absent with one station.
#[derive(Clone, Debug)]
pub(crate) struct Row {
    pub(crate) case: usize,
    pub(crate) phy: String,
    /// `shared-fifo`, `mac80211`, `no-rx` without received air, `turns` without airtime.
    pub(crate) queue: String,
    pub(crate) up: usize,
    pub(crate) down: usize,
    rtt_ms: f64,
    pub(crate) error: f64,
    /// Some flow got less than 5 % of the fair share.
    pub(crate) starved: bool,
    pub(crate) level: Option<f64>,
    pub(crate) goodput: f64,
    pub(crate) unified_level: Option<f64>,
    pub(crate) unified_goodput: f64,
    pub(crate) unified_starved: bool,
}

/// Simulates a cell and asks the model.
pub(crate) fn row(label: &str, case: usize) -> Row {
    let scenario = scenario(label, case);
    let goodputs = simulate(&scenario);
    let fair = goodputs.iter().sum::<f64>() / goodputs.len() as f64;
    let of = |way| scenario.flows().filter(|(_, flow)| flow.direction == way).count();
    let simulated = Row {
        case,
        phy: scenario.radio.phy.name().to_owned(),
        queue: queue(&scenario).to_owned(),
        up: of(Direction::Up),
        down: of(Direction::Down),
        rtt_ms: 2e3 * scenario.wire.delay.as_secs_f64(),
        error: scenario.stations[0].frame_error.get(),
        starved: goodputs.iter().any(|goodput| *goodput < STARVED * fair),
        level: level(&scenario, &goodputs),
        goodput: goodputs.iter().sum(),
        unified_level: None,
        unified_goodput: 0.0,
        unified_starved: false,
    };
    with_model(label, simulated)
}

/// The model's columns anew.
pub(crate) fn with_model(label: &str, mut row: Row) -> Row {
    let scenario = scenario(label, row.case);
    let unified = predict(&scenario, None).expect("the grid is in the model's range");
    row.unified_level = level(&scenario, &unified.flows);
    row.unified_goodput = unified.flows.iter().sum();
    row.unified_starved = unified.section.starvation;
    row
}

/// A cell as the model sees it.
pub(crate) fn cell(label: &str, case: usize) -> Cell {
    Cell::of(&scenario(label, case)).expect("the grid is in the model's range")
}

fn queue(scenario: &Scenario) -> &'static str {
    match scenario.ap.queue {
        QdiscSpec::Mac80211(params) if !params.airtime => "turns",
        QdiscSpec::Mac80211(params) if !params.rx_airtime => "no-rx",
        QdiscSpec::Mac80211(_) => "mac80211",
        _ => "shared-fifo",
    }
}

/// bit/s of each flow, mean over the replicas.
fn simulate(scenario: &Scenario) -> Vec<f64> {
    let mut goodputs = vec![0.0; scenario.flow_count()];
    for replica in 0..scenario.run.replicas {
        let record = fairair_sim::run(scenario, replica);
        let scale = 8.0 / record.measured.as_secs_f64() / f64::from(scenario.run.replicas);
        for (goodput, flow) in goodputs.iter_mut().zip(&record.flows) {
            *goodput += flow.delivered_bytes as f64 * scale;
        }
    }
    goodputs
}

fn level(scenario: &Scenario, goodputs: &[f64]) -> Option<f64> {
    let of = |way: Direction| -> Vec<f64> {
        let flows = scenario.flows().zip(goodputs).filter(|((_, flow), _)| flow.direction == way);
        flows.map(|(_, goodput)| *goodput).collect()
    };
    let (up, down) = (of(Direction::Up), of(Direction::Down));
    fairair_core::metrics::up_down_ratio(&up, &down)
        .or_else(|| fairair_core::metrics::fairness_level_of_first(goodputs))
}

impl Row {
    /// As a line of the table.
    pub(crate) fn to_csv(&self) -> String {
        let number = |value: Option<f64>| value.map(|value| format!("{value:.4}")).unwrap_or_default();
        format!(
            "{},{},{},{},{},{},{},{},{},{:.0},{},{:.0},{}",
            self.case,
            self.phy,
            self.queue,
            self.up,
            self.down,
            self.rtt_ms,
            self.error,
            self.starved,
            number(self.level),
            self.goodput,
            number(self.unified_level),
            self.unified_goodput,
            self.unified_starved,
        )
    }

    /// From a line of the table.
    pub(crate) fn from_csv(line: &str) -> Row {
        let cells: Vec<&str> = line.split(',').collect();
        let number = |cell: usize| cells[cell].parse::<f64>().expect("a number");
        let maybe = |cell: usize| cells[cell].parse::<f64>().ok();
        Row {
            case: number(0) as usize,
            phy: cells[1].to_owned(),
            queue: cells[2].to_owned(),
            up: number(3) as usize,
            down: number(4) as usize,
            rtt_ms: number(5),
            error: number(6),
            starved: cells[7] == "true",
            level: maybe(8),
            goodput: number(9),
            unified_level: maybe(10),
            unified_goodput: number(11),
            unified_starved: cells[12] == "true",
        }
    }
}
