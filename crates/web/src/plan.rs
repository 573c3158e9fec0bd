//! The planner: goals in, a recommendation with its price out.

use fairair_core::remedy::Deploy;
use fairair_core::scenario::Scenario;
use fairair_sim::plan::{Constraint, Goal, Plan, Requirements, plan as search};
use serde::{Deserialize, Serialize};

use crate::answer::{Answer, Source};
use crate::jobs::Job;
use crate::limits;
use crate::reply::Refusal;

/// Tolerance of ratios and floor of shares: those of `fairair plan`.
const TOLERANCE: f64 = 0.1;
const FLOOR: f64 = 0.05;

/// What is wished for.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Asked {
    /// As `fairair plan --goal` takes them.
    goals: Vec<String>,
    /// What may be changed.
    deploy: Where,
}

/// What may be changed.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Where {
    Any,
    Ap,
    Box,
}

impl Asked {
    /// The requirements, if they make sense for `scenario`.
    pub(crate) fn requirements(&self, scenario: &Scenario) -> Result<Requirements, Refusal> {
        if self.goals.len() > limits::GOALS {
            return Err(Refusal::unfit("too many goals", format!("ask for {} at most", limits::GOALS)));
        }
        let read = |goal: &String| goal.parse::<Goal>().map_err(|error| Refusal::unfit(format!("`{goal}`"), error));
        let goals = self.goals.iter().map(read).collect::<Result<Vec<Goal>, Refusal>>()?;
        let deploy = match self.deploy {
            Where::Any => None,
            Where::Ap => Some(Deploy::Ap),
            Where::Box => Some(Deploy::Box),
        };
        let required = Requirements { goals, tolerance: TOLERANCE, floor: FLOOR, deploy, today: false, effort: 1.0 };
        match required.mistake(scenario) {
            Some((what, fix)) => Err(Refusal::unfit(what, fix)),
            None => Ok(required),
        }
    }
}

/// A plan in brief.
#[derive(Serialize)]
struct Found<'a> {
    met: bool,
    already_met: bool,
    tried: usize,
    as_is_goodput_bps: f64,
    as_is_starved: &'a [String],
    constraints: &'a [Constraint],
    not_tried: &'a [String],
    rows: Vec<Row<'a>>,
}

#[derive(Serialize)]
struct Row<'a> {
    meets: bool,
    deploy: &'static str,
    family: &'static str,
    snippet: &'a str,
    cautions: &'a [&'static str],
    starved: &'a [String],
    fairness: f64,
    delay_s: f64,
    answer: Answer,
}

/// Searches, and sends what was found.
pub(crate) fn plan(scenario: &Scenario, required: &Requirements, job: &Job) {
    let Some(pool) = job.pool() else { return };
    match job.watched(0, 0, |watch| search(scenario, required, &pool, watch)) {
        Err((what, fix)) => job.send("failed", &Refusal::unfit(what, fix)),
        Ok(None) => {}
        Ok(Some(plan)) => {
            job.send("plan", &brief(&plan, scenario));
            job.send("done", &serde_json::json!({}));
        }
    }
}

fn brief<'a>(plan: &'a Plan, scenario: &Scenario) -> Found<'a> {
    let row = |row: &'a fairair_sim::plan::Row| Row {
        meets: row.meets,
        deploy: row.deploy,
        family: row.family,
        snippet: &row.snippet,
        cautions: &row.cautions,
        starved: &row.starved,
        fairness: row.fairness,
        delay_s: row.delay_s,
        answer: Answer::new(&row.report, scenario, Source::Simulation),
    };
    Found {
        met: plan.met,
        already_met: plan.already_met,
        tried: plan.tried,
        as_is_goodput_bps: plan.as_is_goodput_bps,
        as_is_starved: &plan.as_is_starved,
        constraints: &plan.constraints,
        not_tried: &plan.not_tried,
        rows: plan.rows.iter().map(row).collect(),
    }
}
