//! `fairair check`.

use fairair_core::scenario::{Scenario, Station};
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
    for remark in remarks(&scenario) {
        output::print(&format!("remark: {remark}\n"))?;
    }
    Ok(Exit::Success)
}

/// What is no mistake in the file, and probably not what was meant.
fn remarks(scenario: &Scenario) -> Vec<String> {
    let those = |is_meant: fn(&Station) -> bool| -> Vec<String> {
        let meant = scenario.stations.iter().filter(|station| is_meant(station));
        meant.map(|station| format!("`{}`", station.name)).collect()
    };
    let mut remarks = Vec::new();
    // Usually a table of flows that was forgotten.
    let idle = those(|station| station.flows.is_empty());
    if !idle.is_empty() {
        let them = if idle.len() == 1 { "it neither sends nor receives" } else { "they neither send nor receive" };
        remarks.push(format!("no flows at {}: {them}", output::listed(&idle)));
    }
    // Remedies with a box apply these, so they are no mistake.
    #[allow(clippy::float_cmp, reason = "the default is exact")]
    let shares = [("weight", those(|station| station.weight != 1.0)), ("cap", those(|station| station.cap.is_some()))];
    for (key, stations) in shares {
        if scenario.enforce.is_none() && !stations.is_empty() {
            let stations = output::listed(&stations);
            remarks.push(format!(
                "`{key}` of {stations} does nothing without [enforce]: write that table, or remove `{key}`"
            ));
        }
    }
    remarks
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn weights_and_caps_without_a_box_are_remarked_on() {
        let text = "name = \"cs\"\n[run]\nduration = \"9 s\"\n[[station]]\nname = \"a\"\nweight = 5\ncap = \"100 kbit/s\"\n\
                    flows = [{ direction = \"up\" }]\n";
        let remarks = |text: &str| remarks(&Scenario::from_toml(text, "cs.toml").unwrap());
        let does_nothing =
            |key: &str| format!("`{key}` of `a` does nothing without [enforce]: write that table, or remove `{key}`");
        assert_eq!(remarks(text), ["weight", "cap"].map(does_nothing));
        assert!(remarks(&format!("{text}[enforce]\n")).is_empty());
        assert!(remarks(&text.replace("weight = 5\ncap = \"100 kbit/s\"\n", "")).is_empty());
    }
}
