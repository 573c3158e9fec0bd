//! Tables for spreadsheets: an estimate becomes two columns, `x` and `x_ci95`.

use fairair_core::metrics::{Estimate, FlowReport, Report, StationReport, Transport};
use fairair_core::packet::Direction;

/// A column's name and where a row has it.
pub(super) type Column<Row> = (&'static str, fn(&Row) -> Estimate);

const STATION_COLUMNS: [Column<StationReport>; 11] = [
    ("goodput_up_bps", |row| row.goodput_up_bps),
    ("goodput_down_bps", |row| row.goodput_down_bps),
    ("goodput_bps", |row| row.goodput_bps),
    ("goodput_share", |row| row.goodput_share),
    ("airtime_share", |row| row.airtime_share),
    ("airtime_down_share", |row| row.airtime_down_share),
    ("uplink_queue_mean_packets", |row| row.uplink_queue_mean_packets),
    ("uplink_queue_drop_probability", |row| row.uplink_queue_drop_probability),
    ("mac_attempts", |row| row.mac.attempts),
    ("mac_collision_probability", |row| row.mac.collision_probability),
    ("mac_discards", |row| row.mac.discards),
];

const FLOW_COLUMNS: [Column<FlowReport>; 8] = [
    ("goodput_bps", |row| row.goodput_bps),
    ("sent_packets", |row| row.sent_packets),
    ("retransmits", |row| row.retransmits),
    ("timeouts", |row| row.timeouts),
    ("fast_retransmits", |row| row.fast_retransmits),
    ("transfers_count", |row| row.transfers.count),
    ("transfers_mean_s", |row| row.transfers.mean_s),
    ("transfers_cov", |row| row.transfers.cov),
];

/// One row a station.
pub(crate) fn stations(report: &Report) -> String {
    let labels = |(_, row): (usize, &StationReport)| vec![row.name.clone(), row.group.clone()];
    table(&["station", "group"], &STATION_COLUMNS, &report.stations, labels, |row| row.goodput_bps.n)
}

/// One row a flow, numbered from 0 in the scenario's order.
pub(crate) fn flows(report: &Report) -> String {
    let labels = |(number, row): (usize, &FlowReport)| {
        let direction = match row.direction {
            Direction::Up => "up",
            Direction::Down => "down",
        };
        let transport = match row.transport {
            Transport::Tcp => "tcp",
            Transport::Udp => "udp",
        };
        vec![number.to_string(), row.station.clone(), direction.to_owned(), transport.to_owned()]
    };
    let names = ["flow", "station", "direction", "transport"];
    table(&names, &FLOW_COLUMNS, &report.flows, labels, |row| row.goodput_bps.n)
}

pub(super) fn table<Row>(
    names: &[&str],
    columns: &[Column<Row>],
    rows: &[Row],
    labels: impl Fn((usize, &Row)) -> Vec<String>,
    n: fn(&Row) -> u32,
) -> String {
    let mut writer = csv::Writer::from_writer(Vec::new());
    let mut line: Vec<String> = names.iter().map(ToString::to_string).collect();
    line.extend(columns.iter().flat_map(|(name, _)| [(*name).to_owned(), format!("{name}_ci95")]));
    line.push("n".to_owned());
    writer.write_record(&line).expect(IN_MEMORY);
    for (number, row) in rows.iter().enumerate() {
        let mut line = labels((number, row));
        line.extend(columns.iter().flat_map(|(_, estimate)| {
            let Estimate { mean, ci95, .. } = estimate(row);
            [mean, ci95].map(|value| value.map(|value| value.to_string()).unwrap_or_default())
        }));
        line.push(n(row).to_string());
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
