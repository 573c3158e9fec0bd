//! `fairair check`.

use fairair_core::scenario::Scenario;
use fairair_core::units::plural;

use crate::args::CheckArgs;
use crate::error::{CliError, Exit};
use crate::output;

/// Reads a scenario and says in one line what it is.
///
/// # Errors
/// When the file is not a scenario.
pub fn check_command(args: &CheckArgs) -> Result<Exit, CliError> {
    let scenario = Scenario::load(&args.scenario)?;
    output::print(&format!(
        "{}: fine: {}, {}, {}, {} of {}\n",
        args.scenario.display(),
        scenario.name,
        plural(scenario.stations.len(), "station"),
        plural(scenario.flow_count(), "flow"),
        plural(scenario.run.replicas as usize, "replica"),
        scenario.run.duration,
    ))?;
    let idle = idle_stations(&scenario);
    if !idle.is_empty() {
        let them = if idle.len() == 1 { "it neither sends nor receives" } else { "they neither send nor receive" };
        output::print(&format!("remark: no flows at {}: {them}\n", output::listed(&idle)))?;
    }
    Ok(Exit::Success)
}

/// Stations without a flow: usually a table of flows that was forgotten.
fn idle_stations(scenario: &Scenario) -> Vec<String> {
    let idle = scenario.stations.iter().filter(|station| station.flows.is_empty());
    idle.map(|station| format!("`{}`", station.name)).collect()
}
