//! Which estimates of a row tables have as columns, in order: CSV and Python's data frames show the same.

use super::{Estimate, FlowReport, StationReport};

/// A column's name and where a row has it.
pub type Column<Row> = (&'static str, fn(&Row) -> Estimate);

/// Of a station.
pub const STATION_COLUMNS: [Column<StationReport>; 13] = [
    ("goodput_up_bps", |row| row.goodput_up_bps),
    ("goodput_down_bps", |row| row.goodput_down_bps),
    ("goodput_bps", |row| row.goodput_bps),
    ("goodput_share", |row| row.goodput_share),
    ("airtime_share", |row| row.airtime_share),
    ("airtime_down_share", |row| row.airtime_down_share),
    ("uplink_queue_mean_packets", |row| row.uplink_queue_mean_packets),
    ("uplink_queue_mean_sojourn_s", |row| row.uplink_queue_mean_sojourn_s),
    ("uplink_queue_drop_probability", |row| row.uplink_queue_drop_probability),
    ("mac_attempts", |row| row.mac.attempts),
    ("mac_collision_probability", |row| row.mac.collision_probability),
    ("mac_delivered", |row| row.mac.delivered),
    ("mac_discards", |row| row.mac.discards),
];

/// Of a flow.
pub const FLOW_COLUMNS: [Column<FlowReport>; 8] = [
    ("goodput_bps", |row| row.goodput_bps),
    ("sent_packets", |row| row.sent_packets),
    ("retransmits", |row| row.retransmits),
    ("timeouts", |row| row.timeouts),
    ("fast_retransmits", |row| row.fast_retransmits),
    ("transfers_count", |row| row.transfers.count),
    ("transfers_mean_s", |row| row.transfers.mean_s),
    ("transfers_cov", |row| row.transfers.cov),
];
