//! A plan for people: what to change, what it brings, what to paste.

use fairair_core::metrics::{Column, Estimate};

use super::Style;
use super::csv;
use super::grid::{Align, quantities, titled};
use super::quantity::{NONE, Quantity};
use crate::plan::{Plan, Prediction, Row};

/// A remedy that leaves less than this share of the goodput is recommended with a warning.
const DEAR: f64 = 0.75;

/// The plan as text, ending with a line break.
pub(crate) fn table(plan: &Plan, style: Style) -> String {
    let mut wishes = plan.goals.clone();
    wishes.extend(plan.max_delay_s.map(|most| format!("p95 delay at most {} ms", most * 1e3)));
    let mut lines = vec![
        format!("{}: {} (within {:.0} %)", style.bold(&plan.name), wishes.join(" and "), plan.tolerance * 100.0),
        style.dim(&format!("{} candidates tried, the last {} at length", plan.tried, plan.rows.len())),
        if plan.as_is_starved.is_empty() {
            format!("nobody starves in the cell as it is (floor: {:.0} % of the max-min share)", plan.floor * 100.0)
        } else {
            style.bold(&format!("WARNING: in the cell as it is these starve: {}", plan.as_is_starved.join(", ")))
        },
        String::new(),
    ];
    lines.extend(rows(plan, style));
    lines.push(String::new());
    lines.extend(predictions(plan, style));
    lines.push(String::new());
    lines.extend(recommendation(plan, style));
    lines.join("\n") + "\n"
}

fn rows(plan: &Plan, style: Style) -> Vec<String> {
    let text = |of: &dyn Fn(&Row) -> String| plan.rows.iter().map(of).collect::<Vec<_>>();
    let numbers = |of: &dyn Fn(&Row) -> Quantity| plan.rows.iter().map(of).collect::<Vec<_>>();
    let columns = [
        titled("meets", text(&|row| if row.meets { "yes" } else { "no" }.to_owned()), Align::Left),
        titled("change", text(&|row| row.deploy.to_owned()), Align::Left),
        titled("starved", text(&|row| row.starved.len().to_string()), Align::Right),
        quantities("total", &numbers(&|row| Quantity::rate(row.report.totals.goodput_bps))),
        quantities("level", &numbers(&|row| Quantity::plain(row.report.indices.fairness_level_first_station))),
        quantities("Jain sta.", &numbers(&|row| Quantity::plain(row.report.indices.jain_stations))),
        quantities("up/down", &numbers(&|row| Quantity::plain(row.report.indices.up_down_ratio))),
        quantities("p95 delay", &numbers(&|row| Quantity::scaled(row.report.ap_queue.p95_sojourn_s, 1e3, "ms"))),
        quantities("box", &numbers(&|row| Quantity::scaled(row.report.box_sojourn_s(), 1e3, "ms"))),
        titled("remedy", text(&|row| short(&row.snippet)), Align::Left),
    ];
    joined(&columns, style)
}

fn joined(columns: &[Vec<String>], style: Style) -> Vec<String> {
    let lines = columns.first().map_or(0, Vec::len);
    let line = |number: usize| {
        let cells: Vec<&str> = columns.iter().map(|column| column[number].as_str()).collect();
        let text = cells.join("  ").trim_end().to_owned();
        if number == 0 { style.bold(&text) } else { text }
    };
    (0..lines).map(line).collect()
}

/// What models say of the same rows, each value beside the simulated one.
fn predictions(plan: &Plan, style: Style) -> Vec<String> {
    let known = |value: Option<f64>| Estimate { mean: value, ci95: None, n: 1 };
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
        Prediction { outside, .. } => format!("outside its domain: {}", outside.join(", ")),
    };
    let columns = [
        titled(
            "model",
            plan.rows.iter().map(|r| r.prediction.model.clone().unwrap_or(NONE.to_owned())).collect(),
            Align::Left,
        ),
        pairs("total", &|p| Quantity::rate(known(p.goodput_bps))),
        pairs("level", &|p| Quantity::plain(known(p.fairness_level_first_station))),
        pairs("up/down", &|p| Quantity::plain(known(p.up_down_ratio))),
        pairs("mean delay", &|p| Quantity::scaled(known(p.delay_mean_s), 1e3, "ms")),
        titled("", plan.rows.iter().map(outside).collect(), Align::Left),
    ];
    let mut lines = vec![style.dim("The same rows as models predict them / as they were simulated:")];
    lines.extend(joined(&columns, style));
    lines
}

/// A snippet in one line.
fn short(snippet: &str) -> String {
    match snippet.split_once('\n') {
        None => "the cell as it is".to_owned(),
        Some((table, keys)) => format!("{table} {}", keys.replace('\n', ", ")),
    }
}

fn recommendation(plan: &Plan, style: Style) -> Vec<String> {
    match plan.rows.first() {
        None => vec![style.bold("Nothing was tried.")],
        Some(row) if !row.meets && !row.starved.is_empty() => vec![style.bold(&format!(
            "No candidate meets this without starving somebody. The first row is the closest; do not use it: it starves {}.",
            row.starved.join(", ")
        ))],
        Some(row) if !row.meets => vec![style.bold("No candidate meets this. The first row is the closest.")],
        Some(row) if row.snippet.is_empty() => vec![style.bold("The cell as it is meets this: change nothing.")],
        Some(row) => {
            let mut lines = vec![style.bold("Recommended; in the scenario file write:"), String::new()];
            lines.extend(row.snippet.lines().map(|line| format!("    {line}")));
            let kept = row.report.totals.goodput_bps.mean.unwrap_or(0.0) / plan.as_is_goodput_bps.max(1e-9);
            if kept < DEAR {
                let lost = (1.0 - kept) * 100.0;
                lines.push(String::new());
                lines.push(style.bold(&format!("It costs {lost:.0} % of the goodput that the cell has as it is.")));
            }
            lines
        }
    }
}

/// One row a candidate of the last round.
pub(crate) fn csv(plan: &Plan) -> String {
    const COLUMNS: &[Column<Row>] = &[
        ("goodput_bps", |row| row.report.totals.goodput_bps),
        ("fairness_level_first_station", |row| row.report.indices.fairness_level_first_station),
        ("jain_stations", |row| row.report.indices.jain_stations),
        ("up_down_ratio", |row| row.report.indices.up_down_ratio),
        ("delay_p95_s", |row| row.report.ap_queue.p95_sojourn_s),
        ("delay_mean_s", |row| row.report.ap_queue.mean_sojourn_s),
        ("predicted_goodput_bps", |row| predicted(row.prediction.goodput_bps)),
        ("predicted_fairness_level_first_station", |row| predicted(row.prediction.fairness_level_first_station)),
        ("predicted_up_down_ratio", |row| predicted(row.prediction.up_down_ratio)),
        ("predicted_delay_mean_s", |row| predicted(row.prediction.delay_mean_s)),
    ];
    let labels = |(_, row): (usize, &Row)| {
        vec![row.meets.to_string(), row.deploy.to_owned(), row.starved.len().to_string(), short(&row.snippet)]
    };
    csv::table(&["meets", "change", "starved", "remedy"], COLUMNS, &plan.rows, labels, |row| row.report.replicas)
}

fn predicted(value: Option<f64>) -> Estimate {
    Estimate { mean: value, ci95: None, n: u32::from(value.is_some()) }
}
