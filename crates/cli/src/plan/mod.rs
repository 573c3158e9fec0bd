//! `fairair plan`: from a wish to a remedy with its parameters, proved by simulation.

mod goal;
mod prediction;
mod search;

use std::io::IsTerminal;

use fairair_core::metrics::{Report, Starved};
use fairair_core::remedy::{Deploy, candidates};
use fairair_core::scenario::Scenario;
use fairair_sim::replicas::Pool;
use serde::Serialize;

pub use goal::Goal;
pub(crate) use goal::Wish;
pub(crate) use prediction::Prediction;
use search::{Found, search};

use crate::args::{Deployment, Format, PlanArgs};
use crate::error::{CliError, Exit};
use crate::interrupt;
use crate::output::{self, Style};

/// Name and version of the plan's schema.
const SCHEMA: &str = "fairair.plan/1";

/// A plan: the candidates that came furthest, the recommended one first.
#[derive(Debug, Serialize)]
pub(crate) struct Plan {
    pub(crate) schema: &'static str,
    pub(crate) name: String,
    pub(crate) goals: Vec<String>,
    pub(crate) max_delay_s: Option<f64>,
    pub(crate) tolerance: f64,
    /// Share of the max-min share that every flow and station keeps in whatever meets the wish.
    pub(crate) floor: f64,
    /// Flows and stations of the cell as it is that are below the floor.
    pub(crate) as_is_starved: Vec<String>,
    /// Whether the first row meets the wish; if not, it is the closest.
    pub(crate) met: bool,
    /// Candidates that were tried.
    pub(crate) tried: usize,
    /// Goodput of the cell as it is, by a short simulation.
    pub(crate) as_is_goodput_bps: f64,
    pub(crate) rows: Vec<Row>,
}

/// A candidate of the last round.
#[derive(Debug, Serialize)]
pub(crate) struct Row {
    pub(crate) meets: bool,
    /// What has to be changed: `-`, `AP` or `box`.
    pub(crate) deploy: &'static str,
    /// Flows and stations that are below the floor in any replica.
    pub(crate) starved: Vec<String>,
    /// What to write into the scenario file; empty: nothing.
    pub(crate) snippet: String,
    /// What a model says of it, without simulating.
    pub(crate) prediction: Prediction,
    /// What the simulation says.
    pub(crate) report: Report,
}

/// Searches for the remedy that meets a wish at the most goodput.
///
/// # Errors
/// For bad input, before anything runs.
pub fn plan_command(args: &PlanArgs) -> Result<Exit, CliError> {
    let mut scenario = Scenario::load(&args.scenario)?;
    scenario.run.seed = args.seed.unwrap_or(scenario.run.seed);
    let wish = wish(args, &scenario)?;
    let pool = Pool::new(args.jobs.unwrap_or(0).into()).map_err(|error| CliError::Threads(error.to_string()))?;
    let deploy = match args.deploy {
        Deployment::Any => None,
        Deployment::Ap => Some(Deploy::Ap),
        Deployment::Box => Some(Deploy::Box),
    };
    let candidates = candidates(&scenario, deploy);
    let Some(Found { verified, tried, as_is_bps, as_is_starved }) = search(candidates, &wish, &pool, interrupt::flag())
    else {
        return Ok(Exit::Interrupted);
    };
    let rows: Vec<Row> = verified
        .into_iter()
        .map(|v| Row {
            meets: v.meets,
            deploy: v.candidate.deploy.name(),
            starved: names(&scenario, &v.starved),
            prediction: Prediction::of(&v.candidate.scenario),
            snippet: v.candidate.snippet,
            report: v.report,
        })
        .collect();
    let plan = Plan {
        schema: SCHEMA,
        name: scenario.name.clone(),
        goals: wish.goals.iter().map(ToString::to_string).collect(),
        max_delay_s: wish.max_delay_s,
        tolerance: wish.tolerance,
        floor: wish.floor,
        as_is_starved: names(&scenario, &as_is_starved),
        met: rows.first().is_some_and(|row| row.meets),
        tried,
        as_is_goodput_bps: as_is_bps,
        rows,
    };
    output::print(&match args.format {
        Format::Table => output::plan::table(&plan, Style::of_stdout(std::io::stdout().is_terminal())),
        Format::Json => {
            serde_json::to_string_pretty(&plan).expect("reports have string keys and finite numbers") + "\n"
        }
        Format::Csv => output::plan::csv(&plan),
    })?;
    Ok(if plan.met { Exit::Success } else { Exit::Unmet })
}

/// Starving stations by name, starving flows by position from 0 and station.
fn names(scenario: &Scenario, starved: &Starved) -> Vec<String> {
    let station = |index: usize| scenario.stations.get(index).map_or("", |station| station.name.as_str());
    let owners: Vec<usize> = scenario.flows().map(|(station, _)| station).collect();
    let flows = starved.flows.iter().map(|flow| format!("flow {flow} of {}", station(owners[*flow])));
    let stations = starved.stations.iter().map(|index| format!("station {}", station(*index)));
    flows.chain(stations).collect()
}

/// The wish, or what is wrong with it.
fn wish(args: &PlanArgs, scenario: &Scenario) -> Result<Wish, CliError> {
    let usage = |what: &str, help: &str| Err(CliError::Usage { what: what.to_owned(), help: help.to_owned() });
    if args.goal.is_empty() && args.max_delay.is_none() {
        return usage("there is nothing to plan for", "give --goal level=1, --goal down/up=2 or --max-delay 50ms");
    }
    let directions =
        |up| scenario.flows().any(|(_, flow)| (flow.direction == fairair_core::packet::Direction::Up) == up);
    if args.goal.iter().any(|goal| matches!(goal, Goal::DownUp(_))) && !(directions(true) && directions(false)) {
        return usage("the scenario has flows in one direction only", "down/up needs uploads and downloads");
    }
    let stations = scenario.stations.iter().filter(|station| !station.flows.is_empty()).count();
    if args.goal.iter().any(|goal| matches!(goal, Goal::Level(_))) && stations < 2 {
        return usage("the scenario has one station with flows", "a fairness level needs two");
    }
    let wants_one =
        args.goal.iter().any(|goal| matches!(goal, Goal::Level(level) if (level - 1.0).abs() > f64::EPSILON));
    if wants_one && scenario.stations.first().is_some_and(|station| station.flows.is_empty()) {
        return usage("the first station has no flows", "a level other than 1 is the first station's: put it first");
    }
    if scenario.flow_count() == 0 {
        return usage("the scenario has no flows", "add flows = [{ direction = \"down\" }] to a [[station]]");
    }
    let unlike = |a: &Goal, b: &Goal| match (a, b) {
        (Goal::Level(a), Goal::Level(b)) | (Goal::DownUp(a), Goal::DownUp(b)) => (a / b).ln().abs() > 1e-9,
        _ => false,
    };
    if args.goal.iter().any(|a| args.goal.iter().any(|b| unlike(a, b))) {
        return usage("two goals ask for different values of the same ratio", "leave one of them out");
    }
    if args.max_delay.is_some_and(|most| most == fairair_core::units::Duration::ZERO) {
        return usage("no queue has a delay of zero", "write a longer --max-delay, such as 50ms");
    }
    Ok(Wish {
        goals: args.goal.clone(),
        max_delay_s: args.max_delay.map(fairair_core::units::Duration::as_secs_f64),
        tolerance: args.tolerance.0 / 100.0,
        floor: args.floor.0 / 100.0,
    })
}
