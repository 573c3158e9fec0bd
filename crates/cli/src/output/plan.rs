//! A plan for people: what to change, what it brings, what to paste, and what else can be had.

mod beside;
mod words;

use fairair_core::metrics::quantity::CELL;
use fairair_core::metrics::{Estimate, exact_per_cent, per_cent as share_told};
use fairair_core::scenario::Run;
use fairair_core::units::Duration;
use fairair_sim::plan::{Constraint, Plan, Point, Prediction, Row};

use self::beside::{cost, fairer, in_doubt, lost, today, trade};
use self::words::{PROVED, bold, rate, short};
use super::comparison::pasted;
use super::csv;
use super::grid::{Align, Keep, Table, quantities, titled};
use super::quantity::{NONE, Quantity};
use super::{Page, listed};

/// The family of the cell as it is.
const AS_IS: &str = "as it is";
/// A goal costs something where there is more goodput without it by this share and by the doubt about it.
const PRICE: f64 = 0.03;
/// Who has less than this part of its max-min share under what is recommended is named.
const LITTLE: f64 = 0.5;

/// The plan as text, ending with a line break.
pub(crate) fn table(plan: &Plan, page: Page) -> String {
    let style = page.style;
    let is_ratio = |goal: &String| ["level=", "down/up="].iter().any(|kind| goal.starts_with(kind));
    let within = if plan.goals.iter().any(is_ratio) {
        format!(" (ratios within {} %)", exact_per_cent(plan.tolerance))
    } else {
        String::new()
    };
    let title = format!(
        "{}: {}{within}, nobody below {} % of the max-min share",
        style.bold(&plan.name),
        plan.goals.join(" and "),
        exact_per_cent(plan.floor)
    );
    let mut lines = page.wrapped(&title);
    let tried = format!("{} candidates tried, the last {} at length{}", plan.tried, plan.rows.len(), at_length(plan));
    lines.extend(page.wrapped(&tried).iter().map(|line| style.dim(line)));
    if plan.interrupted {
        lines.push(style.bold("INTERRUPTED: the search is not finished; this is what it knew by then"));
    }
    if !plan.as_is_starved.is_empty() {
        let who = listed(&plan.as_is_starved);
        lines.extend(bold(page, &format!("WARNING: in the cell as it is these starve in a replica at least: {who}")));
    }
    if plan.already_met {
        lines.extend(bold(page, &already_met(plan)));
    } else if let Some(look) =
        plan.families.iter().find(|point| plan.interrupted && point.family == AS_IS && point.meets)
    {
        let look = if look.rung == 0 { "one short look" } else { "not proved" };
        lines.extend(bold(page, &format!("The cell as it is seems to meet this already ({look}).")));
    }
    lines.push(String::new());
    if !plan.rows.is_empty() {
        lines.extend(rows(plan, page));
        let note = "p95 delay: in the AP, its MAC included with 802.11n, ac and ax; level: first station over the mean of the others; \
                    it and up/down count every flow, whatever it asks for";
        lines.extend(page.wrapped(note).iter().map(|line| style.dim(line)));
        lines.push(String::new());
        if plan.rows.iter().any(|row| row.prediction.model.is_some()) {
            lines.extend(predictions(plan, page));
            lines.push(String::new());
        }
    }
    if !plan.front.is_empty() {
        let title = "What can be had: of these none has more goodput, more fairness and less delay than another:";
        lines.extend(page.wrapped(title).iter().map(|line| style.dim(line)));
        let remedies: Vec<String> = plan.front.iter().map(|point| short(&point.snippet)).collect();
        lines.extend(points(&plan.front, Keep::Useful).lines_with("remedy", &remedies, page));
        lines.push(String::new());
    }
    let starved = "starved: stations below the floor in any replica, and flows of other stations";
    let looks = "`likely`: so far, and not proved; `short look`: in a short look only";
    let title = format!("The best of each family; {looks}; {starved}:");
    lines.extend(page.wrapped(&title).iter().map(|line| style.dim(line)));
    let mut families = points(&plan.families, Keep::Always);
    let remedies = plan.families.iter().map(|point| short(&point.snippet)).collect();
    families.add(Keep::Useful, titled("remedy", remedies, Align::Left));
    lines.extend(families.lines(page));
    lines.push(String::new());
    let not_tried = format!("Not tried: {}.", plan.not_tried.join("; "));
    lines.extend(page.wrapped(&not_tried).iter().map(|line| style.dim(line)));
    lines.push(String::new());
    lines.extend(recommendation(plan, page));
    lines.join("\n") + "\n"
}

/// What a change is good for where none is needed.
/// How long and how often the first row was simulated.
fn at_length(plan: &Plan) -> String {
    let run = plan.rows.first().and_then(|row| serde_json::from_value::<Run>(row.report.scenario["run"].clone()).ok());
    let seconds =
        |time: Duration| format!("{:.1}", time.as_secs_f64()).trim_end_matches('0').trim_end_matches('.').to_owned();
    run.map_or_else(String::new, |run| {
        let (duration, warmup) = (seconds(run.duration), seconds(run.warmup));
        format!(" ({} replicas of {duration} s, the first {warmup} s not counted)", run.replicas)
    })
}

fn already_met(plan: &Plan) -> String {
    let met = "The cell as it is meets this already";
    match plan.rows.first().filter(|row| row.meets && !row.snippet.is_empty()) {
        Some(row) => {
            let goodput = row.report.totals.goodput_bps.mean.unwrap_or(0.0);
            let more = (goodput / plan.as_is_goodput_bps.max(1.0) - 1.0) * 100.0;
            let more = if more.abs() < 0.5 { "the same".to_owned() } else { format!("{more:+.0} %") };
            format!("{met}; the first row has {more} goodput.")
        }
        None => format!("{met}: leave it."),
    }
}

fn rows(plan: &Plan, page: Page) -> Vec<String> {
    let text = |of: &dyn Fn(&Row) -> String| plan.rows.iter().map(of).collect::<Vec<_>>();
    let numbers =
        |title: &str, of: &dyn Fn(&Row) -> Quantity| quantities(title, &plan.rows.iter().map(of).collect::<Vec<_>>());
    let mut table = Table::default();
    let meets = text(&|row| if row.in_doubt { doubt(row).to_owned() } else { yes(row.meets) });
    table.add(Keep::Always, titled("meets", meets, Align::Left));
    table.add(Keep::Useful, titled("change", text(&|row| row.deploy.to_owned()), Align::Left));
    table.add(Keep::Always, titled("starved", text(&|row| row.starved.len().to_string()), Align::Right));
    table.add(Keep::Always, numbers("total", &|row| Quantity::rate(row.report.totals.goodput_bps)));
    table.add(
        Keep::Always,
        titled(
            "fairness",
            text(&|row| fairness(row.fairness, row.report.totals.goodput_bps.mean.unwrap_or(0.0))),
            Align::Right,
        ),
    );
    table.add(Keep::Extra, numbers("level", &|row| Quantity::plain(row.report.indices.fairness_level_first_station)));
    let ratio = if plan.goals.iter().any(|goal| is_up_down(goal)) { Keep::Always } else { Keep::Extra };
    table.add(ratio, numbers("up/down", &|row| Quantity::plain(row.report.indices.up_down_ratio)));
    table.add(Keep::Always, numbers("p95 delay", &|row| Quantity::scaled(row.report.ap_delay.p95_s, 1e3, "ms")));
    table.add(Keep::Useful, numbers("box", &|row| Quantity::scaled(row.report.box_sojourn_s(), 1e3, "ms")));
    table.lines_with("remedy", &text(&|row| short(&row.snippet)), page)
}

/// Whether a goal is about uploads over downloads.
fn is_up_down(goal: &str) -> bool {
    goal.starts_with("up/down") || goal.starts_with("down/up")
}

/// What is in doubt: that it meets the goals, or that nobody starves.
fn doubt(row: &Row) -> &'static str {
    if row.risk.is_some() { "at risk" } else { "in doubt" }
}

/// Whether a candidate meets the goals, as far as it was looked at.
fn likely(point: &Point) -> String {
    match point.rung {
        0 => "short look".to_owned(),
        _ if point.in_doubt && point.risk.is_some() => "at risk".to_owned(),
        PROVED.. if point.in_doubt => "in doubt".to_owned(),
        PROVED.. => yes(point.meets),
        _ if point.meets => "likely".to_owned(),
        _ => yes(false),
    }
}

/// A fairness of `goodput_bps`; of nothing there is none.
fn fairness(index: f64, goodput_bps: f64) -> String {
    if goodput_bps > 0.0 { format!("{index:.3}") } else { "-".to_owned() }
}

fn yes(is: bool) -> String {
    if is { "yes" } else { "no" }.to_owned()
}

/// All of candidates but their remedies; `family`: whether its column stays.
fn points(points: &[Point], family: Keep) -> Table {
    let text = |of: &dyn Fn(&Point) -> String| points.iter().map(of).collect::<Vec<_>>();
    let mut table = Table::default();
    table.add(Keep::Always, titled("total", text(&|p| format!("{:.2} Mb/s", p.goodput_bps / 1e6)), Align::Right));
    table.add(Keep::Always, titled("fairness", text(&|p| fairness(p.fairness, p.goodput_bps)), Align::Right));
    table.add(Keep::Always, titled("delay", text(&|p| format!("{:.1} ms", p.delay_s * 1e3)), Align::Right));
    table.add(Keep::Always, titled("starved", text(&|p| p.starved.to_string()), Align::Right));
    table.add(Keep::Always, titled("meets", text(&likely), Align::Left));
    table.add(family, titled("family", text(&|p| p.family.to_owned()), Align::Left));
    table
}

/// What models say of the same rows, each value beside the simulated one.
fn predictions(plan: &Plan, page: Page) -> Vec<String> {
    let pairs = |title: &str, of: &dyn Fn(&Prediction) -> Quantity| {
        let cell = |row: &Row| {
            let (model, simulated) = (of(&row.prediction), of(&Prediction::values(&row.report)));
            format!("{} / {}", model.text(), simulated.text())
        };
        titled(title, plan.rows.iter().map(cell).collect(), Align::Left)
    };
    let outside = |row: &Row| match &row.prediction {
        Prediction { unknown: Some(why), .. } => why.clone(),
        Prediction { outside, .. } if outside.is_empty() => String::new(),
        Prediction { outside, .. } => format!("breaks {}", outside.join(", ")),
    };
    let mut table = Table::default();
    table.add(Keep::Always, titled("model", plan.rows.iter().map(|row| model(&row.prediction)).collect(), Align::Left));
    table.add(Keep::Always, pairs("total", &|p| Quantity::rate(predicted(p.goodput_bps))));
    table.add(Keep::Useful, pairs("level", &|p| Quantity::plain(predicted(p.fairness_level_first_station))));
    table.add(Keep::Useful, pairs("up/down", &|p| Quantity::plain(predicted(p.up_down_ratio))));
    table.add(Keep::Useful, pairs("mean delay", &|p| Quantity::scaled(predicted(p.delay_mean_s), 1e3, "ms")));
    table.add(Keep::Extra, titled("", plan.rows.iter().map(outside).collect(), Align::Left));
    let mut lines = vec![page.style.dim("The same rows as models predict them / as they were simulated:")];
    lines.extend(table.lines(page));
    lines
}

/// The model's name, and whether the row is outside what it knows.
fn model(prediction: &Prediction) -> String {
    match &prediction.model {
        None => NONE.to_owned(),
        Some(model) if prediction.outside.is_empty() => model.clone(),
        Some(model) => format!("{model}, outside its domain"),
    }
}

fn recommendation(plan: &Plan, page: Page) -> Vec<String> {
    let Some(row) = plan.rows.first() else {
        return bold(page, "Nothing was proved yet, so nothing is recommended. Start it again, and let it end.");
    };
    if !row.meets {
        return unmet(plan, row, page);
    }
    if row.snippet.is_empty() {
        let mut lines = bold(page, "The cell as it is meets this: change nothing.");
        lines.extend(has(plan, row, page));
        lines.extend(in_doubt(plan, page));
        lines.extend(trade(plan, row, page));
        return lines;
    }
    let first = if plan.interrupted { "Recommended of what was proved by then" } else { "Recommended" };
    let mut lines = bold(page, &format!("{first}; in the scenario file write:"));
    lines.push(String::new());
    lines.extend(row.snippet.lines().map(|line| format!("    {line}")));
    if row.snippet.contains("[[station]]") {
        lines.extend(page.wrapped("What stands under [[station]] goes into the table of the station of that name."));
    }
    // Half of a remedy may do harm.
    lines.extend(row.paste.iter().filter(|_| row.not_today.is_none()).flat_map(pasted));
    lines.push(String::new());
    lines.extend(has(plan, row, page));
    let kept = row.report.totals.goodput_bps.mean.unwrap_or(0.0) / plan.as_is_goodput_bps.max(1e-9);
    let prices = prices(plan, page);
    let costs = [cost(kept, page), prices].concat();
    if !costs.is_empty() {
        lines.push(String::new());
    }
    lines.extend(costs);
    lines.extend(fairer(plan, row, page));
    lines.extend(in_doubt(plan, page));
    lines.extend(trade(plan, row, page));
    lines.extend(row.cautions.iter().flat_map(|caution| bold(page, &format!("Beware: {caution}."))));
    if let Some(what) = &row.not_today {
        lines.push(String::new());
        let exist = if what.contains(" and the ") || what.contains(" and an ") { "exist" } else { "exists" };
        lines.extend(bold(page, &format!("It cannot be deployed today: {what} {exist} in simulation only.")));
        lines.extend(today(plan, page));
    }
    lines
}

/// What the recommended row has of each goal, and who has little under it.
fn has(plan: &Plan, row: &Row, page: Page) -> Vec<String> {
    let goals = plan.constraints.iter().map(|constraint| format!("{}: it has {}", constraint.goal, constraint.reached));
    let mut lines: Vec<String> = goals.flat_map(|line| page.wrapped(&line)).collect();
    lines.extend(own_time(plan, row, page));
    if let Some(least) = row.least.as_ref().filter(|least| least.share < LITTLE) {
        lines.extend(bold(page, &format!("Least of all: {least}.")));
    }
    if plan.rows.first().is_some_and(|first| std::ptr::eq(first, row)) {
        lines.extend(lost(&plan.losses, page));
    }
    lines
}

/// Why what a proof says is in doubt, where the scenario is shorter.
const UNCONFIRMED: &str = "That is its proof, which is longer than the scenario. In the scenario's own time better rows failed, and this one was not \
                           simulated there: it is in doubt.";

/// What the row has in the time that the scenario names, its start included.
fn own_time(plan: &Plan, row: &Row, page: Page) -> Vec<String> {
    let Some(own) = &row.own_time else { return Vec::new() };
    let goals: Vec<String> =
        plan.constraints.iter().zip(&own.reached).map(|(goal, reached)| format!("{}: {reached}", goal.goal)).collect();
    let as_is = plan.rows.iter().filter(|row| row.snippet.is_empty()).find_map(|row| row.own_time.as_ref());
    let instead = as_is.filter(|_| !row.snippet.is_empty()).map_or(String::new(), |as_is| {
        format!(" (the cell as it is: {}, {:.0} ms)", rate(as_is.goodput_bps, None), as_is.delay_s * 1e3)
    });
    page.wrapped(&format!(
        "In the {} s that the file measures, its start included: {}, delay {:.0} ms at p95{instead}; {}",
        (own.measured_s * 100.0).round() / 100.0,
        rate(own.goodput_bps, None),
        own.delay_s * 1e3,
        goals.join("; ")
    ))
}

/// What is missing, and what each goal costs.
fn unmet(plan: &Plan, row: &Row, page: Page) -> Vec<String> {
    let none = format!("None of the {} candidates meets this.", plan.tried);
    let none = if plan.interrupted { "Nothing that was proved yet meets this." } else { &none };
    let closest =
        if carries_nothing(plan) { CARRIES_NOTHING } else { "The first row is the closest; it is not recommended." };
    let mut lines = bold(page, &format!("{none} {closest}"));
    if !row.starved.is_empty() {
        lines.extend(bold(page, &format!("It starves {}.", listed(&row.starved))));
    }
    for constraint in &plan.constraints {
        let reached = &constraint.reached;
        let missed = constraint.missed_by.filter(|missed| !constraint.met && *missed > 0.0);
        let by = match missed {
            _ if constraint.met => ", met".to_owned(),
            None => String::new(),
            Some(_) if constraint.in_doubt => {
                ", in doubt: its mean meets that, its confidence interval goes beyond".to_owned()
            }
            Some(missed) => {
                let share = (missed * plan.tolerance.ln_1p()).exp() - 1.0;
                format!(", missed by {} with doubt counted", share_told(share))
            }
        };
        // The floor is told as a sentence.
        let has = if constraint.goal.starts_with("nobody") { "" } else { "it has " };
        lines.extend(page.wrapped(&format!("{}: {has}{reached}{by}", constraint.goal)));
    }
    lines.extend(own_time(plan, row, page));
    if row.in_doubt && row.own_time.is_none() && plan.constraints.iter().all(|constraint| constraint.met) {
        lines.extend(bold(page, UNCONFIRMED));
    }
    lines.extend(prices(plan, page));
    if !plan.grouped.is_empty() {
        let who = listed(&plan.grouped);
        let text = format!(
            "The box can weight or cap {who} only with a [[station]] of its own in place of `count`: that was not tried."
        );
        lines.extend(page.wrapped(&text));
    }
    lines.extend(in_doubt(plan, page));
    lines
}

const CARRIES_NOTHING: &str = "In none of them anything arrives: look at the scenario's rates, errors and wires, `fairair run` shows what is lost and where.";

/// Whether no remedy makes anything arrive.
fn carries_nothing(plan: &Plan) -> bool {
    plan.families.iter().all(|point| point.goodput_bps <= 0.0)
}

/// What may help where nothing meets the goals of a search that was not thorough.
pub(crate) fn longer(plan: &Plan, page: Page) -> String {
    if plan.met || plan.interrupted || carries_nothing(plan) {
        return String::new();
    }
    page.wrapped("`--thorough` searches longer, among five times as many candidates.").join("\n") + "\n"
}

/// What could be had without each goal; where all are met, what is more by [`PRICE`] and by the doubt about that.
fn prices(plan: &Plan, page: Page) -> Vec<String> {
    let asked = plan.goals.len();
    let price = |(index, constraint): (usize, &Constraint)| {
        // The floor is told as a sentence.
        let goal = if constraint.goal.starts_with("nobody") { "that floor" } else { &constraint.goal };
        // That fairness is kept, nobody has asked for.
        if !plan.met && constraint.met && index >= asked {
            return None;
        }
        match (constraint.goodput_without_bps, plan.met) {
            (Some(bps), true) => {
                let (cost, ci95) =
                    constraint.cost.zip(constraint.cost_ci95).filter(|(cost, ci95)| *cost > ci95.max(PRICE))?;
                let more = Quantity::percent(Estimate { mean: Some(cost), ci95: Some(ci95), n: 0 }).text();
                Some(format!(
                    "without {goal}: at least {}, {more} more",
                    rate(bps, constraint.goodput_without_ci95_bps)
                ))
            }
            (Some(bps), false) => {
                Some(format!("without {goal}: at least {}", rate(bps, constraint.goodput_without_ci95_bps)))
            }
            (None, true) => None,
            (None, false) => Some(format!("without {goal}: nothing that was tried meets the rest")),
        }
    };
    plan.constraints.iter().enumerate().filter_map(price).flat_map(|line| page.wrapped(&line)).collect()
}

/// One row a candidate of the last round.
pub(crate) fn csv(plan: &Plan) -> String {
    let simulated = |name: &'static str| -> csv::Column<Row> {
        let cell = CELL.iter().find(|cell| cell.compared_as == Some(name)).expect("a name of the catalogue");
        (name, Box::new(|row: &Row| cell.of(&row.report)))
    };
    let said = |name: &'static str, of: fn(&Prediction) -> Option<f64>| -> csv::Column<Row> {
        (name, Box::new(move |row: &Row| predicted(of(&row.prediction))))
    };
    let columns = [
        simulated("goodput_bps"),
        simulated("fairness_level_first_station"),
        simulated("jain_stations"),
        simulated("up_down_ratio"),
        simulated("delay_p95_s"),
        simulated("delay_mean_s"),
        said("predicted_goodput_bps", |p| p.goodput_bps),
        said("predicted_fairness_level_first_station", |p| p.fairness_level_first_station),
        said("predicted_up_down_ratio", |p| p.up_down_ratio),
        said("predicted_delay_mean_s", |p| p.delay_mean_s),
    ];
    let labels = |(_, row): (usize, &Row)| {
        vec![row.meets.to_string(), row.deploy.to_owned(), row.starved.len().to_string(), short(&row.snippet)]
    };
    csv::table(&["meets", "change", "starved", "remedy"], &columns, &plan.rows, labels, |row| row.report.replicas)
}

fn predicted(value: Option<f64>) -> Estimate {
    Estimate { mean: value, ci95: None, n: u32::from(value.is_some()) }
}

#[cfg(test)]
mod tests;
