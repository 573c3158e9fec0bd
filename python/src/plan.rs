//! The planner: a scenario and requirements in, a plan out.

use fairair_core::remedy::Deploy;
use fairair_core::units::Duration;
use fairair_sim::Watch;
use fairair_sim::plan::{Goal, Requirements, plan};
use pyo3::prelude::*;
use serde_json::{Map, Value};

use crate::document;
use crate::engine::threads;
use crate::error::{BadInput, json};
use crate::watch::watched;

/// Plans for a document; the plan as JSON (schema `fairair.plan/2`). `progress` is called with what is done
/// and planned, in replicas of a first look.
#[pyfunction]
#[pyo3(signature = (document, goals, max_delay, tolerance, floor, deploy, today, effort, jobs, progress=None))]
#[allow(clippy::too_many_arguments, clippy::needless_pass_by_value)] // The keywords of one Python function, owned.
pub(crate) fn run_plan(
    py: Python<'_>,
    document: &str,
    goals: Vec<String>,
    max_delay: Option<&str>,
    tolerance: f64,
    floor: f64,
    deploy: &str,
    today: bool,
    effort: f64,
    jobs: usize,
    progress: Option<Py<PyAny>>,
) -> PyResult<String> {
    let scenario = document::scenario(&document::parse(document)?)?;
    let required = Requirements {
        goals: wanted(&goals, max_delay)?,
        tolerance: within("tolerance", tolerance, 1.0)?,
        floor: within("floor", floor, 1.0)?,
        deploy: match deploy {
            "any" => None,
            "ap" => Some(Deploy::Ap),
            "box" => Some(Deploy::Box),
            other => {
                let fix = "use one of: any, ap, box";
                return Err(BadInput::new("deploy", format!("there is no {other:?}"), fix).into());
            }
        },
        today,
        effort: within("effort", effort, 1000.0)?,
    };
    let work = move |watch: Watch| {
        let pool = threads(jobs)?;
        plan(&scenario, &required, &pool, watch).map_err(|(problem, fix)| BadInput::new("goals", problem, fix))
    };
    let found = watched(py, progress, work)??;
    let plan = found.ok_or_else(|| BadInput::new("plan", "it was interrupted", "ask again"))?;
    json("plan", serde_json::to_string(&plan))
}

fn wanted(goals: &[String], max_delay: Option<&str>) -> Result<Vec<Goal>, BadInput> {
    let read = |text: &String| {
        text.parse::<Goal>()
            .map_err(|problem| BadInput::new("goals", format!("{text:?}: {problem}"), "see docs/planner.md"))
    };
    let mut wanted: Vec<Goal> = goals.iter().map(read).collect::<Result<_, _>>()?;
    if let Some(text) = max_delay {
        let most: Duration = text
            .parse()
            .map_err(|problem| BadInput::new("max_delay", format!("{text:?}: {problem}"), "write \"50 ms\""))?;
        wanted.push(Goal::Delay { who: String::new(), most });
    }
    Ok(wanted)
}

fn within(name: &str, value: f64, most: f64) -> Result<f64, BadInput> {
    if value > 0.0 && value < most {
        return Ok(value);
    }
    Err(BadInput::new(name, format!("{value} is not between 0 and {most}"), "give a share, such as 0.1"))
}

/// The table of a scenario of which a snippet has inner tables only.
const OUTER: &str = "radio";

/// A document with a plan's snippet in it: its tables take the place of the document's, keys of a station that of the station of its name.
#[pyfunction]
pub(crate) fn apply_snippet(document: &str, snippet: &str) -> PyResult<String> {
    let mut root = document::parse(document)?;
    let wrong = |problem: String| BadInput::new("plan", problem, "give a snippet of a plan");
    let table: toml::Table = snippet.parse().map_err(|error: toml::de::Error| wrong(error.message().to_owned()))?;
    let changes = serde_json::to_value(table).map_err(|error| wrong(error.to_string()))?;
    for (name, change) in changes.as_object().into_iter().flatten() {
        match change {
            Value::Object(keys) => {
                let Some(root) = root.as_object_mut() else {
                    return Err(wrong("the scenario has no tables".into()).into());
                };
                if name == OUTER {
                    let table = root.entry(name).or_insert_with(|| Value::Object(Map::new()));
                    for (key, value) in keys {
                        document::set(table, key, value)?;
                    }
                } else {
                    root.insert(name.clone(), change.clone());
                }
            }
            Value::Array(stations) => {
                for station in stations {
                    weigh(&mut root, name, station)?;
                }
            }
            _ => return Err(wrong(format!("`{name}` is no table")).into()),
        }
    }
    document::scenario(&root)?;
    Ok(root.to_string())
}

fn weigh(root: &mut Value, list: &str, station: &Value) -> Result<(), BadInput> {
    let name = station.get("name").and_then(Value::as_str).unwrap_or_default();
    for (key, value) in station.as_object().into_iter().flatten().filter(|(key, _)| *key != "name") {
        document::set(root, &format!("{list}.{name}.{key}"), value)?;
    }
    Ok(())
}
