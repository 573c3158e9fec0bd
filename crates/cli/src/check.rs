//! `fairair check`.

use fairair_core::scenario::Scenario;

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
        "{}: fine: {}, {} stations, {} flows, {} replicas of {}\n",
        args.scenario.display(),
        scenario.name,
        scenario.stations.len(),
        scenario.flow_count(),
        scenario.run.replicas,
        scenario.run.duration,
    ))?;
    Ok(Exit::Success)
}
