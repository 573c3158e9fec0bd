//! From what a search found to the answer that it gives.

use fairair_core::control::CapacityParams;
use fairair_core::metrics::{Report, exact_per_cent};
use fairair_core::qdisc::QdiscSpec;
use fairair_core::remedy::{Paste, cautions};
use fairair_core::scenario::Scenario;
use fairair_core::units::plural;
use serde::Serialize;

use super::change::passes_by;
use super::losses::{Loss, losses};
use super::outcome::{Outcome, OwnTime, SHORT_S};
use super::prediction::Prediction;
use super::requirements::Requirements;
use super::search::{Found, KEPT, PROOF};
use super::share::Least;
use super::trade::{alternative, deployable, doubtful, fairer, not_today};
use super::words::files;
use super::{classes, front};
use crate::starved::names;

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
    /// goodput below that, or below half of its delay; else what has more goodput and a longer delay. Null when nothing that meets the requirements does.
    pub alternative: Option<Point>,
    /// Where the recommended plan is less fair than the cell as it is: what meets the requirements and is fairer, the best by goodput,
    /// fairness and delay. Null when nothing is.
    pub fairer: Option<Point>,
    /// What has more goodput by the tenth at least, starves nobody and has all goals by its means, but not at the far end of every confidence
    /// interval: more or longer replicas may tell. Where nothing meets the requirements and there is no such thing either, what has the most
    /// goodput of all that seem to meet them with less goodput than a remedy has; so, too, of what can be deployed today,
    /// where nothing that is proved can. Null when there is none.
    pub doubtful: Option<Point>,
    /// Where what is recommended exists in simulation only: the proved row with the most goodput that meets the requirements and that
    /// can be deployed. Null where there is none.
    pub deployable: Option<Point>,
    /// Who has less than half of what the cell as it is gives them, under `deployable`, and files that take twice as long.
    pub deployable_losses: Vec<Loss>,
    /// Each goal, what the first row has of it, and what it costs.
    pub constraints: Vec<Constraint>,
    /// Who has less than half of what the cell as it is gives them, under what is recommended, and files that take twice as long.
    pub losses: Vec<Loss>,
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
    /// What it has in the time that the scenario names, where that is shorter than the proof; null where it was not looked at.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub own_time: Option<OwnTime>,
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
    /// Whether its means meet the requirements and nobody starved, but a confidence interval goes beyond, or somebody is close to the floor.
    pub in_doubt: bool,
    /// The last rung that it reached, from 0; 3 and more: proved.
    pub rung: u64,
    /// Why somebody may starve under it with other seeds; null: nothing points to that.
    pub risk: Option<String>,
    /// What of it exists in simulation only; null: all of it can be deployed.
    pub not_today: Option<String>,
    /// What to write into the files of an access point and of the live box, of what can be deployed in place of the recommended one; else null.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub paste: Option<Paste>,
}

/// A goal of the requirements.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
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
    /// How much more that is than the row with the most goodput has that meets all goals, as a share of the latter's; null when none does.
    pub cost: Option<f64>,
    /// Half width of the 95 % confidence interval of the cost, both goodputs taken as independent. A cost below it may be chance.
    pub cost_ci95: Option<f64>,
}

pub(super) fn answer(scenario: &Scenario, required: &Requirements, found: &Found, left_out: &[&str]) -> Plan {
    let as_is = &found.all[0];
    let mut shown: Vec<&Outcome> = found.proved.iter().take(ROWS).collect();
    // What the rows are compared with stands among them.
    if let Some(plain) = found.proved.iter().skip(ROWS).find(|outcome| outcome.of.is_none()) {
        shown[ROWS - 1] = plain;
    }
    let rows: Vec<Row> = shown.into_iter().map(|outcome| row(scenario, outcome)).collect();
    Plan {
        schema: SCHEMA,
        name: scenario.name.clone(),
        goals: required.goals.iter().map(ToString::to_string).collect(),
        tolerance: required.tolerance,
        floor: required.floor,
        as_is_starved: starved(scenario, as_is),
        already_met: as_is.meets && as_is.rung >= PROOF.number,
        met: rows.first().is_some_and(|row| row.meets),
        tried: found.all.len(),
        packets: found.frames,
        interrupted: found.interrupted,
        as_is_goodput_bps: as_is.goodput,
        front: front::front(&found.all).into_iter().map(|outcome| point(scenario, outcome)).collect(),
        families: front::best_of_families(&found.all).into_iter().map(|outcome| point(scenario, outcome)).collect(),
        alternative: alternative(found).map(|outcome| point(scenario, outcome)),
        fairer: fairer(found).map(|outcome| with_files(scenario, outcome)),
        doubtful: doubtful(scenario, required, found).map(|outcome| point(scenario, outcome)),
        deployable: deployable(scenario, found).map(|outcome| with_files(scenario, outcome)),
        deployable_losses: deployable(scenario, found).map_or(Vec::new(), |outcome| losses(scenario, as_is, outcome)),
        constraints: constraints(scenario, required, found),
        losses: found.proved.first().map_or(Vec::new(), |first| losses(scenario, as_is, first)),
        not_tried: not_tried(scenario, left_out, found),
        grouped: classes::grouped(scenario, required),
        rows,
    }
}

/// Rows of a plan.
const ROWS: usize = 6;

fn row(scenario: &Scenario, outcome: &Outcome) -> Row {
    let changed = outcome.change.applied(scenario);
    let mut report = outcome.report.clone();
    // The report was made in brief: this is what the proof ran.
    let ran = Scenario { run: outcome.run, ..changed.clone() };
    report.scenario = serde_json::to_value(&ran).unwrap_or_default();
    report.fingerprint.clone_from(&outcome.fingerprint);
    Row {
        meets: outcome.meets,
        least: outcome.least.clone(),
        deploy: outcome.change.deploy(),
        family: outcome.family,
        starved: starved(scenario, outcome),
        snippet: outcome.change.snippet(scenario),
        paste: files(scenario, &changed, &outcome.change),
        not_today: not_today(scenario, outcome),
        cautions: cautions(&changed)
            .into_iter()
            .chain(unbound(&changed, outcome))
            .chain(below_qdisc(outcome))
            .collect(),
        in_doubt: is_in_doubt(outcome),
        risk: outcome.risk.clone(),
        fairness: outcome.fairness,
        delay_s: outcome.delay_s,
        own_time: outcome.own_time.clone(),
        prediction: Prediction::of(&changed),
        report,
    }
}

/// What a queue of the AP needs of its driver.
fn below_qdisc(outcome: &Outcome) -> Option<&'static str> {
    matches!(outcome.change.queue, Some(QdiscSpec::Droptail { .. } | QdiscSpec::FqCodel(_))).then_some(
        "`tc` sets this queue only where the driver takes packets one by one. Most take all and queue them in mac80211 (`tc qdisc show dev \
         wlan0` says noqueue): there it does nothing, and `--deploy box` finds a plan that works with any access point",
    )
}

/// What is wrong with a fixed C of which much less passes.
fn unbound(changed: &Scenario, outcome: &Outcome) -> Option<&'static str> {
    const CARRIED: f64 = 0.85;
    let CapacityParams::Fixed { rate } = changed.enforce.as_ref()?.capacity else { return None };
    let waits = outcome.report.ap_delay.p95_s.mean.is_some_and(|delay| delay > SHORT_S);
    let is_held = !outcome.change.caps.is_empty() || outcome.change.queue.is_some();
    (outcome.goodput < CARRIED * rate.as_bps() as f64).then_some(if waits {
        "C is above what the cell carries: packets wait in the AP, the box holds only caps, and `vsb status` will report that it divides nothing. \
         A `--max-delay` finds a C that binds"
    } else if !is_held {
        "much less than C passes: stations ask for less, and C divides nothing. If they ask for more than now, packets will wait in the AP"
    } else {
        "much less than C passes: caps and short queues do the work, and C divides nothing. If stations ask for more than now, packets will wait \
         in the AP"
    })
}

/// [`point`], with what to write into the files of an access point and of the live box, where all of it can be deployed: half of a remedy may do
/// harm.
fn with_files(scenario: &Scenario, outcome: &Outcome) -> Point {
    let point = point(scenario, outcome);
    let files = || files(scenario, &outcome.change.applied(scenario), &outcome.change);
    Point { paste: if point.not_today.is_none() { files() } else { None }, ..point }
}

fn point(scenario: &Scenario, outcome: &Outcome) -> Point {
    Point {
        family: outcome.family,
        deploy: outcome.change.deploy(),
        snippet: outcome.change.snippet(scenario),
        goodput_bps: outcome.goodput,
        goodput_ci95_bps: outcome.report.totals.goodput_bps.ci95,
        fairness: outcome.fairness,
        delay_s: outcome.delay_s,
        starved: names(scenario, &outcome.starved).len(),
        meets: outcome.meets,
        rung: outcome.rung,
        in_doubt: is_in_doubt(outcome),
        risk: outcome.risk.clone(),
        not_today: not_today(scenario, outcome),
        paste: None,
    }
}

/// Who starves, with the cap that the file has for a station: no search raises it.
fn starved(scenario: &Scenario, outcome: &Outcome) -> Vec<String> {
    let with_cap = |name: String| {
        let own = scenario.stations.iter().find(|own| name == format!("station {}", own.name));
        own.and_then(|own| own.cap).map_or(name.clone(), |cap| format!("{name} (the file caps it at {cap})"))
    };
    names(scenario, &outcome.starved).into_iter().map(with_cap).collect()
}

fn is_in_doubt(outcome: &Outcome) -> bool {
    !outcome.meets && outcome.seems_met && outcome.starved.is_nobody()
}

/// What the first row has of each goal, and what could be had without that goal.
fn constraints(scenario: &Scenario, required: &Requirements, found: &Found) -> Vec<Constraint> {
    let Some(first) = found.proved.first() else { return Vec::new() };
    let others_met = |outcome: &&Outcome, goal: usize| {
        outcome.starved.is_nobody()
            && outcome.risk.is_none()
            && outcome.misses.iter().enumerate().all(|(index, miss)| index == goal || *miss <= 0.0)
    };
    let looked_at = || found.all.iter().filter(|outcome| outcome.rung > 0);
    // A short delay and what can be deployed have a price of their own.
    let most = found.proved.iter().filter(|outcome| outcome.meets).max_by(|a, b| a.goodput.total_cmp(&b.goodput));
    let met = most.filter(|_| first.meets);
    let constraint = |(index, goal): (usize, String)| {
        let without = surest(looked_at().filter(|outcome| others_met(outcome, index)));
        let cost = without.zip(met).map(|(without, met)| cost(without, met));
        Constraint {
            goal,
            reached: first.reached.get(index).cloned().unwrap_or_default(),
            met: first.misses[index] <= 0.0,
            in_doubt: first.misses[index] > 0.0 && first.means_met.get(index).is_some_and(|met| *met),
            missed_by: Some(first.misses[index]).filter(|miss| miss.is_finite()),
            goodput_without_bps: without.map(|outcome| outcome.goodput),
            goodput_without_ci95_bps: without.and_then(|outcome| outcome.report.totals.goodput_bps.ci95),
            cost: cost.map(|(cost, _)| cost),
            cost_ci95: cost.map(|(_, ci95)| ci95),
        }
    };
    let kept = found
        .kept
        .map(|kept| format!("fairness >= {kept:.3}, {} % of that in a first look at the cell", exact_per_cent(KEPT)));
    let mut all: Vec<Constraint> =
        required.goals.iter().map(ToString::to_string).chain(kept).enumerate().map(constraint).collect();
    if !first.meets && (first.risk.is_some() || !first.starved.is_nobody()) {
        let some = surest(looked_at().filter(|outcome| outcome.misses.iter().all(|miss| *miss <= 0.0)));
        all.push(Constraint {
            goal: format!("nobody below {} % of the max-min share", exact_per_cent(required.floor)),
            reached: match &first.risk {
                Some(risk) if first.starved.is_nobody() => format!("{risk}: with other seeds somebody may be below"),
                _ => format!("{} below", names(scenario, &first.starved).join(", ")),
            },
            in_doubt: first.starved.is_nobody(),
            goodput_without_bps: some.map(|outcome| outcome.goodput),
            goodput_without_ci95_bps: some.and_then(|outcome| outcome.report.totals.goodput_bps.ci95),
            ..Constraint::default()
        });
    }
    all
}

/// The candidate with the most goodput at the lower end of its confidence interval: the mean of a short look flatters the best of many.
fn surest<'a>(of: impl Iterator<Item = &'a Outcome>) -> Option<&'a Outcome> {
    let least = |o: &Outcome| o.goodput - o.report.totals.goodput_bps.ci95.unwrap_or(o.goodput);
    of.max_by(|a, b| least(a).total_cmp(&least(b)))
}

/// How much more goodput `without` has than `met`, as a share of the latter's, and the doubt about that.
fn cost(without: &Outcome, met: &Outcome) -> (f64, f64) {
    if without.change == met.change {
        return (0.0, 0.0);
    }
    let doubt = |outcome: &Outcome| outcome.report.totals.goodput_bps.ci95.unwrap_or(outcome.goodput);
    ((without.goodput / met.goodput - 1.0).max(0.0), doubt(without).hypot(doubt(met)) / met.goodput)
}

/// What nobody should think was looked at.
fn not_tried(scenario: &Scenario, left_out: &[&str], found: &Found) -> Vec<String> {
    const NEVER: [&str; 5] = [
        "three remedies at once",
        "tfbr window caps",
        "other quanta, charges and victims of queues",
        "other steps, intervals and bounds of capacity controllers",
        "rates, channels and other access points",
    ];
    const NEVER_WITH_QOS: [&str; 3] =
        ["shared-fifo queues", "other EDCA parameters", "limits of aggregation, TXOP and RTS"];
    const NEVER_WITH_UDP: &str = "a box that shapes uplink UDP, `udp = \"shape\"` or \"auto\": it has used the air already, and others gain \
                                  nothing unless its sender slows down";
    let qos = scenario.radio.qos.map_or(&[][..], |_| &NEVER_WITH_QOS);
    let cut = match (found.interrupted, found.cut) {
        (true, _) => Some("what was to come after the interruption".to_owned()),
        (false, 0) => None,
        (false, cut) => Some(format!("{} that the budget of a search left out", plural(cut, "candidate"))),
    };
    let udp = passes_by(scenario).then_some(&NEVER_WITH_UDP);
    let names = qos.iter().chain(udp).chain(left_out).chain(&NEVER).map(|name| (*name).to_owned());
    cut.into_iter().chain(names).collect()
}
