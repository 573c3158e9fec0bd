//! Tables for spreadsheets: an estimate becomes two columns, `x` and `x_ci95`.

use fairair_core::metrics::quantity::{FLOW, Quantity, STATION};
use fairair_core::metrics::{Estimate, FlowReport, Report, StationReport};
use fairair_core::units::word;

/// One row a station.
pub(crate) fn stations(report: &Report) -> String {
    let labels = |(_, row): (usize, &StationReport)| vec![row.name.clone(), row.group.clone()];
    table(&["station", "group"], &columns(STATION), &report.stations, labels, |row| row.goodput_bps.n)
}

/// One row a flow, numbered from 0 in the scenario's order.
pub(crate) fn flows(report: &Report) -> String {
    let labels = |(number, row): (usize, &FlowReport)| {
        vec![number.to_string(), row.station.clone(), word(&row.direction), word(&row.transport)]
    };
    let names = ["flow", "station", "direction", "transport"];
    table(&names, &columns(FLOW), &report.flows, labels, |row| row.goodput_bps.n)
}

/// A column's name and where a row has it.
pub(super) type Column<'a, Row> = (&'a str, Box<dyn Fn(&Row) -> Estimate + 'a>);

fn columns<Row>(quantities: &'static [Quantity<Row>]) -> Vec<Column<'static, Row>> {
    quantities.iter().map(|quantity| -> Column<Row> { (quantity.name, Box::new(quantity.of)) }).collect()
}

pub(super) fn table<Row>(
    names: &[&str],
    columns: &[Column<Row>],
    rows: &[Row],
    labels: impl Fn((usize, &Row)) -> Vec<String>,
    n: fn(&Row) -> u32,
) -> String {
    let mut header: Vec<String> = names.iter().map(ToString::to_string).collect();
    header.extend(columns.iter().flat_map(|(name, _)| [(*name).to_owned(), format!("{name}_ci95")]));
    header.push("n".to_owned());
    let lines = rows.iter().enumerate().map(|(number, row)| {
        let mut line = labels((number, row));
        line.extend(columns.iter().flat_map(|(_, estimate)| {
            let Estimate { mean, ci95, .. } = estimate(row);
            [mean, ci95].map(|value| value.map(|value| value.to_string()).unwrap_or_default())
        }));
        line.push(n(row).to_string());
        line
    });
    records(std::iter::once(header).chain(lines))
}

/// Lines of equally many cells; a cell with a comma or a quotation mark is quoted (RFC 4180).
pub(super) fn records(lines: impl Iterator<Item = Vec<String>>) -> String {
    let mut writer = csv::Writer::from_writer(Vec::new());
    for line in lines {
        writer.write_record(&line).expect(IN_MEMORY);
    }
    String::from_utf8(writer.into_inner().expect(IN_MEMORY)).expect("labels and numbers are UTF-8")
}

const IN_MEMORY: &str = "rows of equal length go into memory";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::output::fixture;

    #[test]
    fn stations_and_flows_as_committed() {
        fixture::golden("stations.csv", &stations(&fixture::report()));
        fixture::golden("flows.csv", &flows(&fixture::report()));
    }
}
