//! A comparison for people and for spreadsheets: a row a remedy.

use fairair_core::metrics::{Column, Estimate, Report};

use super::Style;
use super::csv;
use super::grid::{Align, quantities, titled};
use super::quantity::Quantity;
use super::starving;
use crate::compare::{Comparison, Row};

/// The estimates of a row, by name.
const COLUMNS: &[Column<Row>] = &[
    ("goodput_bps", |row| row.report.totals.goodput_bps),
    ("up_mean_flow_goodput_bps", |row| row.report.directions.up.mean_flow_goodput_bps),
    ("down_mean_flow_goodput_bps", |row| row.report.directions.down.mean_flow_goodput_bps),
    ("up_down_ratio", |row| row.report.indices.up_down_ratio),
    ("fairness_level_first_station", |row| row.report.indices.fairness_level_first_station),
    ("jain_stations", |row| row.report.indices.jain_stations),
    ("jain_flows", |row| row.report.indices.jain_flows),
    ("up_sigma_over_mean", |row| row.report.directions.up.sigma_over_mean),
    ("down_sigma_over_mean", |row| row.report.directions.down.sigma_over_mean),
    ("delay_mean_s", |row| row.report.ap_queue.mean_sojourn_s),
    ("delay_p95_s", |row| row.report.ap_queue.p95_sojourn_s),
    ("delay_p99_s", |row| row.report.ap_queue.p99_sojourn_s),
    ("box_delay_mean_s", |row| row.report.box_sojourn_s()),
    ("short_file_mean_s", |row| short_files(&row.report).0),
    ("short_file_cov", |row| short_files(&row.report).1),
    ("starved_flows", |row| row.report.indices.starved_flows),
    ("starved_stations", |row| row.report.indices.starved_stations),
];

/// Mean transfer time and its coefficient of variation of the smallest files.
fn short_files(report: &Report) -> (Estimate, Estimate) {
    let nothing = Estimate { mean: None, ci95: None, n: 0 };
    report.transfers.first().map_or((nothing, nothing), |short| (short.transfers.mean_s, short.transfers.cov))
}

/// The comparison as text, ending with a line break.
pub(crate) fn table(comparison: &Comparison, style: Style) -> String {
    let rows = &comparison.rows;
    let mut lines = vec![header(comparison, style)];
    if comparison.interrupted {
        lines.push(style.bold("INTERRUPTED: not all replicas are done"));
    }
    lines.push(String::new());
    let mut columns = vec![
        titled("remedy", rows.iter().map(|row| row.remedy.to_owned()).collect(), Align::Left),
        titled("change", rows.iter().map(|row| row.deploy.to_owned()).collect(), Align::Left),
    ];
    let mut add = |title: &str, of: &dyn Fn(&Row) -> Quantity| {
        let cells: Vec<Quantity> = rows.iter().map(of).collect();
        // A column that no remedy has (no uploads, no files) says nothing.
        if cells.iter().any(|cell| *cell != Quantity::none()) {
            columns.push(quantities(title, &cells));
        }
    };
    let plain = |estimate: Estimate| Quantity::plain(estimate);
    add("starved", &|row| bare(row.report.indices.starved_flows, 1.0));
    add("total", &|row| Quantity::rate(row.report.totals.goodput_bps));
    add("up, a flow", &|row| flow_rate(row.report.directions.up.mean_flow_goodput_bps));
    add("down, a flow", &|row| flow_rate(row.report.directions.down.mean_flow_goodput_bps));
    add("up/down", &|row| plain(row.report.indices.up_down_ratio));
    add("level", &|row| plain(row.report.indices.fairness_level_first_station));
    add("Jain sta.", &|row| bare(row.report.indices.jain_stations, 1.0));
    add("flows", &|row| bare(row.report.indices.jain_flows, 1.0));
    add("delay ms", &|row| bare(row.report.ap_queue.mean_sojourn_s, 1e3));
    add("p95", &|row| bare(row.report.ap_queue.p95_sojourn_s, 1e3));
    add("p99", &|row| bare(row.report.ap_queue.p99_sojourn_s, 1e3));
    add("box ms", &|row| bare(row.report.box_sojourn_s(), 1e3));
    add("short file s", &|row| bare(short_files(&row.report).0, 1.0));
    add("CoV", &|row| bare(short_files(&row.report).1, 1.0));
    for line in 0..=rows.len() {
        let cells: Vec<&str> = columns.iter().map(|column| column[line].as_str()).collect();
        let text = cells.join("  ");
        lines.push(if line == 0 { style.bold(text.trim_end()) } else { text.trim_end().to_owned() });
    }
    lines.push(String::new());
    lines.push(style.dim(
        "level: first station over the mean of the others; delay: in the AP's queue; box: mean delay in the box, at the \
         station where it is longest; starved: flows a replica below 5 % of their max-min share",
    ));
    lines.push(style.bold(&last_line(rows)));
    lines.join("\n") + "\n"
}

/// Which remedies leave flows or stations with next to nothing.
fn last_line(rows: &[Row]) -> String {
    let starving: Vec<&str> = rows.iter().filter(|row| starving(&row.report).is_some()).map(|row| row.remedy).collect();
    match starving.len() {
        0 => "No remedy here starves a flow or a station.".to_owned(),
        n if n == rows.len() => "Each of these starves a flow or a station.".to_owned(),
        _ => format!("These starve a flow or a station: {}.", starving.join(", ")),
    }
}

fn header(comparison: &Comparison, style: Style) -> String {
    let replicas = comparison.rows.iter().map(|row| row.report.replicas).min().unwrap_or_default();
    let measured = comparison.rows.first().map_or(0.0, |row| row.report.measured_s);
    format!(
        "{}: {} remedies, {replicas} replicas x {measured} s each; ± is the 95 % confidence half-width",
        style.bold(&comparison.name),
        comparison.rows.len()
    )
}

/// A rate without its spread, which the total's stands for.
fn flow_rate(estimate: Estimate) -> Quantity {
    Quantity { spread: String::new(), ..Quantity::rate(estimate) }
}

/// A mean alone.
fn bare(estimate: Estimate, scale: f64) -> Quantity {
    Quantity { spread: String::new(), ..Quantity::scaled(estimate, scale, "") }
}

/// One row a remedy; an estimate becomes two columns.
pub(crate) fn csv(comparison: &Comparison) -> String {
    let labels = |(_, row): (usize, &Row)| vec![row.remedy.to_owned(), row.deploy.to_owned(), row.needs.to_owned()];
    csv::table(&["remedy", "change", "needs"], COLUMNS, &comparison.rows, labels, |row| row.report.replicas)
}
