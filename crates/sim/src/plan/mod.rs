//! The planner: from requirements to a remedy with its parameters, proved by simulation.
//!
//! [`plan`] searches remedies and useful pairs of them with all their parameters (`family`), by successive halving
//! (`search`). The answer is what can be had (goodput, fairness, latency), and of that the plan that the requirements ask for.
//! Nothing that leaves a flow or a station below a floor is ever recommended.

mod answer;
mod change;
mod choice;
mod classes;
mod family;
mod front;
mod goal;
mod levels;
mod look;
mod losses;
mod outcome;
mod pace;
mod prediction;
mod queues;
mod ranges;
mod requirements;
mod search;
mod share;
mod shared_acks;
mod snippet;
mod trade;
mod words;

use fairair_core::scenario::Scenario;

pub use answer::{Constraint, Plan, Point, Row, SCHEMA};
pub use goal::Goal;
pub use losses::Loss;
pub use prediction::Prediction;
pub use requirements::Requirements;
pub use share::Least;

use crate::replicas::Pool;
use crate::watch::Watch;
use answer::answer;
use change::Change;
use choice::families;
pub use outcome::{OwnTime, SHORT_S};
use ranges::Ranges;
use search::Search;

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
    let (today, thorough) = (required.today, required.effort > 1.0);
    let ranges = Ranges { today, thorough, ..Ranges::new(scenario, pace, classes::of(scenario, required)) };
    let (families, left_out) = families(required.deploy, &ranges);
    let search = Search::new((scenario, required), (pool, watch), (pace, ranges, required.effort));
    Ok(search.run(&families, met_already).map(|found| answer(scenario, required, &found, &left_out)))
}

/// What to write into the file of `scenario`, table by table in place of its own, to have the queue, window cap, uplink
/// limiter and box of `changed`, such as a remedy gives it; empty: nothing.
pub fn snippet(scenario: &Scenario, changed: &Scenario) -> String {
    snippet::of(&Change::between(scenario, changed), scenario, changed)
}
