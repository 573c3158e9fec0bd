//! What one request may ask of the machine.

use fairair_core::scenario::Scenario;
use fairair_core::units::Duration;

use crate::reply::Refusal;

/// Bytes of a request.
pub(crate) const BODY: usize = 512 << 10;
/// Stations of a cell.
pub(crate) const STATIONS: usize = 256;
/// Flows of a cell.
pub(crate) const FLOWS: usize = 2048;
/// Simulated time of one replica.
pub(crate) const DURATION: Duration = Duration::from_secs(1000);
/// Replicas that a scenario may ask for.
pub(crate) const REPLICAS: u32 = 100;
/// Simulated seconds, all replicas together, in which an answer is refined.
const REFINED_S: f64 = 3000.0;
/// Replicas until which an answer is refined.
pub(crate) const REFINED_REPLICAS: u32 = 40;
/// Frames that a trace of the air shows.
pub(crate) const PPDUS: usize = 120_000;
/// Samples of the AP's queue beside a trace, all flows together.
pub(crate) const SAMPLES: usize = 40_000;
/// Drops beside a trace.
pub(crate) const DROPS: usize = 5000;
/// Goals of a plan.
pub(crate) const GOALS: usize = 16;
/// Edits in one request.
pub(crate) const EDITS: usize = 64;

/// Refuses cells that are too large for a page that answers at once.
pub(crate) fn check(scenario: &Scenario) -> Result<(), Refusal> {
    let (stations, flows, run) = (scenario.stations.len(), scenario.flow_count(), scenario.run);
    let (what, fix) = if stations > STATIONS {
        (format!("the cell has {stations} stations; the lab takes {STATIONS}"), "lower `count`")
    } else if flows > FLOWS {
        (format!("the cell has {flows} flows; the lab takes {FLOWS}"), "lower the `count` of flows")
    } else if run.duration > DURATION {
        let what = format!("a run of {} is longer than the {DURATION} that the lab takes", run.duration);
        (what, "shorten `duration` in [run]")
    } else if run.replicas > REPLICAS {
        let what = format!("{} replicas are more than the {REPLICAS} that the lab takes", run.replicas);
        (what, "lower `replicas` in [run]: the lab adds replicas by itself")
    } else {
        return Ok(());
    };
    Err(Refusal::unfit(what, format!("{fix}, or use `fairair run`")))
}

/// Replicas until which an answer on `scenario` is refined.
pub(crate) fn refined_replicas(scenario: &Scenario) -> u32 {
    let affordable = (REFINED_S / scenario.run.duration.as_secs_f64()) as u32;
    affordable.clamp(5, REFINED_REPLICAS).max(scenario.run.replicas)
}
