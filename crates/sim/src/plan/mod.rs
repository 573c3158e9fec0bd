//! The planner: from requirements to a remedy with its parameters, proved by simulation.
//!
//! [`plan`] searches remedies and useful pairs of them with all their parameters (`family`), by successive halving
//! (`search`). The answer is what can be had (goodput, fairness, latency), and of that the plan that the requirements ask for.
//! Nothing that leaves a flow or a station below a floor is ever recommended.

mod answer;
mod change;
mod classes;
mod family;
mod front;
mod goal;
mod levels;
mod look;
mod outcome;
mod pace;
mod prediction;
mod queues;
mod ranges;
mod requirements;
mod search;
mod share;
mod snippet;
mod words;

use fairair_core::metrics::Report;
use fairair_core::remedy::Paste;
use fairair_core::scenario::Scenario;
use serde::Serialize;

pub use goal::Goal;
pub use prediction::Prediction;
pub use requirements::Requirements;
pub use share::Least;

use crate::replicas::Pool;
use crate::watch::Watch;
use answer::answer;
use change::Change;
use family::families;
pub use outcome::SHORT_S;
use ranges::Ranges;
use search::Search;

/// Name and version of the plan's schema.
pub const SCHEMA: &str = "fairair.plan/2";

/// A plan: what was proved, the recommended one first, and what else can be had.
#[derive(Debug, Serialize)]
pub struct Plan {
    /// [`SCHEMA`].
    pub schema: &'static str,
    /// The scenario's name.
    pub name: String,
    /// The goals as they are written.
    pub goals: Vec<String>,
    /// How far a ratio may be off.
    pub tolerance: f64,
    /// Share of the max-min share that every flow and station keeps in whatever meets the requirements; of the goodput of the plan or, if
    /// that is more, of the cell as it is.
    pub floor: f64,
    /// Stations of the cell as it is that are below the floor in any replica, and flows of other stations.
    pub as_is_starved: Vec<String>,
    /// Whether the cell as it is meets the requirements, proved. Where a search was stopped before that, its point in `families` says
    /// what it seems.
    pub already_met: bool,
    /// Whether the first row meets the requirements; if not, it is the closest and not recommended.
    pub met: bool,
    /// Candidates that were simulated.
    pub tried: usize,
    /// Packets on the air that were simulated, retries included.
    pub packets: f64,
    /// Whether it was stopped: what is here was known by then, and nothing is recommended that was not proved.
    pub interrupted: bool,
    /// Goodput of the cell as it is.
    pub as_is_goodput_bps: f64,
    /// The proved candidates, the recommended one first.
    pub rows: Vec<Row>,
    /// What can be had: of these no other has more goodput, more fairness and less delay at once.
    pub front: Vec<Point>,
    /// The best of each family of remedies, the best first.
    pub families: Vec<Point>,
    /// What the recommended plan gave up of goodput or of a short delay: if its delay is longer than [`SHORT_S`], what has the most
    /// goodput below that; else what has more goodput and a longer delay. Null when nothing that meets the requirements does.
    pub alternative: Option<Point>,
    /// What has more goodput by the tenth at least, starves nobody and has all goals by its means, but not at the far end of every confidence
    /// interval: more or longer replicas may tell. Where nothing meets the requirements and there is no such thing either, what has the most
    /// goodput of all that seem to meet them with less goodput than a remedy has; so, too, of what can be deployed today,
    /// where nothing that is proved can. Null when there is none.
    pub doubtful: Option<Point>,
    /// Where what is recommended exists in simulation only: the proved row with the most goodput that meets the requirements and that
    /// can be deployed. Null where there is none.
    pub deployable: Option<Point>,
    /// Each goal, what the first row has of it, and what it costs.
    pub constraints: Vec<Constraint>,
    /// Families and changes that were not tried.
    pub not_tried: Vec<String>,
    /// Stations of counted groups that goals tell apart: the box can weight and cap them only with a `[[station]]` of their own.
    pub grouped: Vec<String>,
}

/// A proved candidate.
#[derive(Debug, Serialize)]
pub struct Row {
    /// Whether it meets the requirements at the far end of every confidence interval, and nobody starves.
    pub meets: bool,
    /// Who has least of its max-min share; null when nobody asks for anything.
    pub least: Option<Least>,
    /// What has to be changed: `-`, `AP`, `box` or `AP+box`.
    pub deploy: &'static str,
    /// Which family of remedies it is of.
    pub family: &'static str,
    /// Stations that are below the floor in any replica, and flows of other stations that are.
    pub starved: Vec<String>,
    /// What to write into the scenario file; empty: nothing.
    pub snippet: String,
    /// What to write into the files of an access point and of the live box; null: nothing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub paste: Option<Paste>,
    /// What of it no access point and no box has today; null: all of it can be deployed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub not_today: Option<String>,
    /// What in it does not fit the cell; empty: nothing is known.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub cautions: Vec<&'static str>,
    /// Whether its means meet the requirements and nobody starved, but its replicas differ too much to be sure that it meets them.
    pub in_doubt: bool,
    /// Why somebody may starve under it with other seeds, though nobody did; null: nothing points to that.
    pub risk: Option<String>,
    /// Jain's index of the shares of the max-min shares.
    pub fairness: f64,
    /// 95th percentile of the delay in the AP, the mean delay of the box added.
    pub delay_s: f64,
    /// What a model says of it, without simulating.
    pub prediction: Prediction,
    /// What the simulation says.
    pub report: Report,
}

/// A candidate in brief.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Point {
    /// Which family of remedies it is of.
    pub family: &'static str,
    /// What has to be changed.
    pub deploy: &'static str,
    /// What to write into the scenario file.
    pub snippet: String,
    /// Goodput of the cell.
    pub goodput_bps: f64,
    /// Half width of the 95 % confidence interval of that; null of a single replica.
    pub goodput_ci95_bps: Option<f64>,
    /// Jain's index of the shares of the max-min shares.
    pub fairness: f64,
    /// 95th percentile of the delay in the AP, the mean delay of the box added.
    pub delay_s: f64,
    /// Stations below the floor in any replica, and flows of other stations.
    pub starved: usize,
    /// Whether it met the requirements when it was last looked at.
    pub meets: bool,
    /// The last rung that it reached, from 0; 3 and more: proved.
    pub rung: u64,
    /// Why somebody may starve under it with other seeds; null: nothing points to that.
    pub risk: Option<String>,
    /// What to write into the files of an access point and of the live box, of what can be deployed in place of the recommended one; else null.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub paste: Option<Paste>,
}

/// A goal of the requirements.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Constraint {
    /// As it is written.
    pub goal: String,
    /// What the first row has of it.
    pub reached: String,
    /// Whether the first row meets it.
    pub met: bool,
    /// Whether it meets it by its means, but not at the far end of the confidence interval.
    pub in_doubt: bool,
    /// How far it is missed, in tolerances; 0 when met, null when nothing can be said.
    pub missed_by: Option<f64>,
    /// Goodput of the surest candidate (the most at the lower end of the confidence interval) that meets all other goals; null when none does.
    pub goodput_without_bps: Option<f64>,
    /// Half width of the 95 % confidence interval of that.
    pub goodput_without_ci95_bps: Option<f64>,
    /// How much more that is than the first row has, as a share of the latter's; null when that does not meet all goals.
    pub cost: Option<f64>,
    /// Half width of the 95 % confidence interval of the cost, both goodputs taken as independent. A cost below it may be chance.
    pub cost_ci95: Option<f64>,
}

/// Searches for the remedy that meets `required` at the most goodput. A search that is stopped says what it knows by then, or
/// `None` when that is nothing.
///
/// The answer of a search that is not stopped depends on scenario, requirements and seed alone, not on the number of threads or
/// their speed.
///
/// # Errors
/// The mistake of requirements that make no sense for `scenario`, and its remedy.
pub fn plan(
    scenario: &Scenario,
    required: &Requirements,
    pool: &Pool,
    watch: Watch,
) -> Result<Option<Plan>, (String, String)> {
    plan_and_tell(scenario, required, pool, watch, &|| ())
}

/// [`plan`]. Calls `met_already` soon where a short look finds that the cell as it is meets `required`; the search for more goodput
/// goes on.
///
/// # Errors
/// As of [`plan`].
pub fn plan_and_tell(
    scenario: &Scenario,
    required: &Requirements,
    pool: &Pool,
    watch: Watch,
    met_already: &dyn Fn(),
) -> Result<Option<Plan>, (String, String)> {
    if let Some(mistake) = required.mistake(scenario) {
        return Err(mistake);
    }
    let pace = pace::of(scenario);
    let ranges = Ranges { today: required.today, ..Ranges::new(scenario, pace, classes::of(scenario, required)) };
    let (families, left_out) = families(required.deploy, &ranges);
    let search = Search::new((scenario, required), (pool, watch), (pace, ranges, required.effort));
    Ok(search.run(&families, met_already).map(|found| answer(scenario, required, &found, &left_out)))
}

/// What to write into the file of `scenario`, table by table in place of its own, to have the queue, window cap, uplink
/// limiter and box of `changed`, such as a remedy gives it; empty: nothing.
pub fn snippet(scenario: &Scenario, changed: &Scenario) -> String {
    snippet::of(&Change::between(scenario, changed), scenario, changed)
}
