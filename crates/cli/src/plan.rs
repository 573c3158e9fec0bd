//! `fairair plan`: flags in, `fairair_sim::plan` does the work, a table or JSON out.

use std::io::Write;

use fairair_core::remedy::Deploy;
use fairair_core::scenario::Scenario;
use fairair_sim::plan::{Goal, Requirements, plan_and_tell};

use crate::args::{Deployment, Format, PlanArgs};
use crate::error::{CliError, Exit};
use crate::output::files::spared;
use crate::output::{self, Page};
use crate::sink::Sink;
use crate::{output::plan as print, work};

/// How many times the default's work `--thorough` spends.
const THOROUGH: f64 = 5.0;
const MET_ALREADY: &str = "The cell as it is meets this already, as a short look has it. The search for more goodput goes on; Ctrl-C ends it.";

/// Searches for the remedy that meets the goals at the most goodput.
///
/// # Errors
/// For bad input, before anything runs.
pub fn plan_command(args: &PlanArgs) -> Result<Exit, CliError> {
    let mut scenario = Scenario::load(&args.scenario)?;
    scenario.run.seed = args.seed.unwrap_or(scenario.run.seed);
    let required = requirements(args);
    let usage = |(what, help)| CliError::Usage { what, help };
    if let Some(mistake) = required.mistake(&scenario) {
        return Err(usage(mistake));
    }
    let opened = |file| -> Result<_, CliError> {
        spared(&args.scenario, "--svg", file, "front.svg")?;
        Ok((file, Sink::open(file).map_err(|error| CliError::unwritable(file, &error))?))
    };
    let svg = args.svg.as_deref().map(opened).transpose()?;
    let pool = work::pool(args.jobs)?;
    let found =
        work::watched_as("parts", |watch, say| plan_and_tell(&scenario, &required, &pool, watch, &|| say(MET_ALREADY)));
    let found = found.map_err(usage)?;
    let Some(plan) = found else {
        output::say("nothing was simulated to its end: nothing is known");
        return Ok(Exit::Interrupted);
    };
    output::print(&match args.format {
        Format::Table => {
            let page = Page::of_stdout(args.wide);
            print::table(&plan, page) + &if args.thorough { String::new() } else { print::longer(&plan, page) }
        }
        Format::Json => output::json(&plan),
        Format::Csv => print::csv(&plan),
    })?;
    // After the table: what the search found is not lost with a file that cannot be written.
    if let Some((file, mut sink)) = svg {
        let drawn = output::front::svg(&plan);
        let written = sink.write_all(drawn.as_bytes()).and_then(|()| sink.finish());
        written.map_err(|error| CliError::write(file, &error))?;
    }
    if plan.interrupted {
        return Ok(Exit::Interrupted);
    }
    Ok(if plan.met { Exit::Success } else { Exit::Unmet })
}

/// What the flags require.
fn requirements(args: &PlanArgs) -> Requirements {
    let mut goals = args.goal.clone();
    goals.extend(args.max_delay.map(|most| Goal::Delay { who: String::new(), most }));
    Requirements {
        goals,
        tolerance: args.tolerance.0 / 100.0,
        floor: args.floor.0 / 100.0,
        deploy: match args.deploy {
            Deployment::Any => None,
            Deployment::Ap => Some(Deploy::Ap),
            Deployment::Box => Some(Deploy::Box),
        },
        today: args.today,
        effort: if args.thorough { THOROUGH } else { 1.0 },
    }
}
