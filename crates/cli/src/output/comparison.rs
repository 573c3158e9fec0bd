//! A comparison for people and for spreadsheets: a row a remedy.

use fairair_core::metrics::{Column, Estimate, Report};
use fairair_sim::{Comparison, Row};

use super::csv;
use super::grid::{Align, Keep, Table, quantities, titled};
use super::quantity::Quantity;
use super::starving;
use super::{Page, Style};

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
pub(crate) fn table(comparison: &Comparison, page: Page) -> String {
    let style = page.style;
    let rows = &comparison.rows;
    let mut lines = vec![header(comparison, style)];
    if comparison.interrupted {
        lines.push(style.bold("INTERRUPTED: not all replicas are done"));
    }
    lines.push(String::new());
    let mut table = Table::default();
    table.add(Keep::Always, titled("remedy", rows.iter().map(|row| row.remedy.to_owned()).collect(), Align::Left));
    table.add(Keep::Useful, titled("change", rows.iter().map(|row| row.deploy.to_owned()).collect(), Align::Left));
    let mut add = |keep: Keep, title: &str, of: &dyn Fn(&Row) -> Quantity| {
        let cells: Vec<Quantity> = rows.iter().map(of).collect();
        // A column that no remedy has (no uploads, no files) says nothing.
        if cells.iter().any(|cell| *cell != Quantity::none()) {
            table.add(keep, quantities(title, &cells));
        }
    };
    let plain = |estimate: Estimate| Quantity::plain(estimate);
    add(Keep::Always, "starved", &|row| bare(row.report.indices.starved_flows, 1.0));
    add(Keep::Always, "total", &|row| Quantity::rate(row.report.totals.goodput_bps));
    add(Keep::Useful, "up, a flow", &|row| flow_rate(row.report.directions.up.mean_flow_goodput_bps));
    add(Keep::Useful, "down, a flow", &|row| flow_rate(row.report.directions.down.mean_flow_goodput_bps));
    add(Keep::Always, "up/down", &|row| plain(row.report.indices.up_down_ratio));
    add(Keep::Always, "level", &|row| plain(row.report.indices.fairness_level_first_station));
    add(Keep::Useful, "Jain, stations", &|row| bare(row.report.indices.jain_stations, 1.0));
    add(Keep::Extra, "Jain, flows", &|row| bare(row.report.indices.jain_flows, 1.0));
    add(Keep::Extra, "delay, mean ms", &|row| bare(row.report.ap_queue.mean_sojourn_s, 1e3));
    add(Keep::Always, "delay, p95 ms", &|row| bare(row.report.ap_queue.p95_sojourn_s, 1e3));
    add(Keep::Extra, "p99 ms", &|row| bare(row.report.ap_queue.p99_sojourn_s, 1e3));
    add(Keep::Useful, "box ms", &|row| bare(row.report.box_sojourn_s(), 1e3));
    add(Keep::Useful, "short file s", &|row| bare(short_files(&row.report).0, 1.0));
    add(Keep::Extra, "CoV", &|row| bare(short_files(&row.report).1, 1.0));
    lines.extend(table.lines(page));
    lines.push(String::new());
    let note = "level: first station over the mean of the others; delay: in the AP's queue; box: mean delay in the box, \
                at the station where it is longest; starved: flows a replica below 5 % of their max-min share";
    lines.extend(page.wrapped(note).iter().map(|line| style.dim(line)));
    lines.extend(page.wrapped(&last_line(rows)).iter().map(|line| style.bold(line)));
    for caution in cautions(rows) {
        lines.extend(page.wrapped(&caution));
    }
    lines.join("\n") + "\n"
}

/// What does not fit the cell, each with the remedies that have it.
fn cautions(rows: &[Row]) -> Vec<String> {
    let mut all: Vec<(&str, Vec<&str>)> = Vec::new();
    for row in rows {
        for caution in &row.cautions {
            match all.iter_mut().find(|(known, _)| known == caution) {
                Some((_, remedies)) => remedies.push(row.remedy),
                None => all.push((caution, vec![row.remedy])),
            }
        }
    }
    all.into_iter().map(|(caution, remedies)| format!("Beware of {}: {caution}.", remedies.join(", "))).collect()
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
