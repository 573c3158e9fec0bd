//! The catalogue of what is reported: tables, comparisons, sweeps and docs/results.md take names, units and values from
//! here. What a quantity means is said once, at its field in the result, and is read from the schema.

use super::enforce::EnforceStation;
use super::rows::{ByClass, FlowReport, QueueReport, SizeTransfers, StationReport, Transfers};
use super::{Estimate, Report, json_schema};

/// Unit of a quantity.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// Bit a second.
    Bps,
    /// Seconds.
    Seconds,
    /// A second.
    PerSecond,
    /// Packets.
    Packets,
    /// Frames.
    Frames,
    /// Files.
    Files,
    /// A share or a probability, dimensionless; people read it in per cent.
    Share,
    /// Dimensionless.
    One,
}

impl Unit {
    /// Its symbol; `1` is dimensionless.
    pub const fn symbol(self) -> &'static str {
        match self {
            Unit::Bps => "bit/s",
            Unit::Seconds => "s",
            Unit::PerSecond => "1/s",
            Unit::Packets => "packets",
            Unit::Frames => "frames",
            Unit::Files => "files",
            Unit::Share | Unit::One => "1",
        }
    }
}

/// A quantity of a row: a station, a flow, a queue, or the whole cell.
pub struct Quantity<Row: 'static> {
    /// Where a row of the result has it: keys with dots between them.
    pub key: &'static str,
    /// Its column in tables.
    pub name: &'static str,
    /// Its unit.
    pub unit: Unit,
    /// Where a row has it.
    pub of: fn(&Row) -> Estimate,
    /// Its name in sweeps, if they keep it of each row.
    pub swept_as: Option<&'static str>,
}

impl<Row> Quantity<Row> {
    const fn swept_as(self, name: &'static str) -> Self {
        Quantity { swept_as: Some(name), ..self }
    }
}

const fn quantity<Row>(key: &'static str, name: &'static str, unit: Unit, of: fn(&Row) -> Estimate) -> Quantity<Row> {
    Quantity { key, name, unit, of, swept_as: None }
}

/// Which value of a quantity is the best one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Best {
    /// The largest.
    Most,
    /// The smallest.
    Least,
    /// The nearest to 1, as a ratio.
    One,
}

/// A quantity of the whole cell.
pub struct CellQuantity {
    /// The quantity; its key begins at the result.
    pub quantity: Quantity<Report>,
    /// Its name in comparisons of remedies and in plans, if it stands there.
    pub compared_as: Option<&'static str>,
    /// Whether comparisons of engines have it.
    pub by_engines: bool,
    /// Whether it stands in a result in brief, as notebooks show it.
    pub in_brief: bool,
    /// Which of several is meant, in words; empty: there is one.
    pub which: &'static str,
    best: Option<Best>,
}

const fn cell(key: &'static str, name: &'static str, unit: Unit, of: fn(&Report) -> Estimate) -> CellQuantity {
    let quantity = quantity(key, name, unit, of);
    CellQuantity { quantity, compared_as: None, by_engines: false, in_brief: false, which: "", best: None }
}

impl CellQuantity {
    const fn compared(self, name: &'static str) -> Self {
        CellQuantity { compared_as: Some(name), ..self }
    }

    const fn by_engines(self) -> Self {
        CellQuantity { by_engines: true, ..self }
    }

    const fn in_brief(self) -> Self {
        CellQuantity { in_brief: true, ..self }
    }

    const fn which(self, which: &'static str) -> Self {
        CellQuantity { which, ..self }
    }

    const fn best(self, best: Best) -> Self {
        CellQuantity { best: Some(best), ..self }
    }

    /// The quantity called `name`.
    pub fn named(name: &str) -> Option<&'static CellQuantity> {
        CELL.iter().find(|cell| cell.quantity.name == name)
    }

    /// Its value in a result.
    pub fn of(&self, report: &Report) -> Estimate {
        (self.quantity.of)(report)
    }

    /// How bad its mean in a result is: less is better. `None` where it does not exist or nothing is better than another.
    pub fn badness(&self, report: &Report) -> Option<f64> {
        let mean = self.of(report).mean?;
        match self.best? {
            Best::Most => Some(-mean),
            Best::Least => Some(mean),
            Best::One => Some(mean.max(f64::MIN_POSITIVE).ln().abs()),
        }
    }
}

fn of_files(row: Option<&SizeTransfers>, of: fn(&Transfers) -> Estimate) -> Estimate {
    row.map(|row| of(&row.transfers)).unwrap_or_default()
}

const SMALLEST: &str = "the smallest files of the cell";
const LARGEST: &str = "the largest files of the cell";

/// Of the whole cell.
pub const CELL: &[CellQuantity] = &[
    cell("totals.goodput_bps", "goodput_bps", Unit::Bps, |r| r.totals.goodput_bps)
        .compared("goodput_bps")
        .by_engines()
        .in_brief()
        .best(Best::Most),
    cell("totals.packets_per_second", "packets_per_second", Unit::PerSecond, |r| r.totals.packets_per_second)
        .by_engines()
        .in_brief(),
    cell("directions.up.goodput_bps", "goodput_up_bps", Unit::Bps, |r| r.directions.up.goodput_bps),
    cell("directions.down.goodput_bps", "goodput_down_bps", Unit::Bps, |r| r.directions.down.goodput_bps),
    cell("directions.up.mean_flow_goodput_bps", "flow_goodput_up_bps", Unit::Bps, |r| {
        r.directions.up.mean_flow_goodput_bps
    })
    .compared("up_mean_flow_goodput_bps")
    .by_engines()
    .in_brief(),
    cell("directions.down.mean_flow_goodput_bps", "flow_goodput_down_bps", Unit::Bps, |r| {
        r.directions.down.mean_flow_goodput_bps
    })
    .compared("down_mean_flow_goodput_bps")
    .by_engines()
    .in_brief(),
    cell("indices.up_down_ratio", "up_down_ratio", Unit::One, |r| r.indices.up_down_ratio)
        .compared("up_down_ratio")
        .by_engines()
        .in_brief()
        .best(Best::One),
    cell("indices.fairness_level_first_station", "fairness_level", Unit::One, |r| {
        r.indices.fairness_level_first_station
    })
    .compared("fairness_level_first_station")
    .by_engines()
    .in_brief()
    .best(Best::One),
    cell("indices.jain_stations", "jain_stations", Unit::One, |r| r.indices.jain_stations)
        .compared("jain_stations")
        .by_engines()
        .in_brief()
        .best(Best::Most),
    cell("indices.jain_flows", "jain_flows", Unit::One, |r| r.indices.jain_flows)
        .compared("jain_flows")
        .in_brief()
        .best(Best::Most),
    cell("directions.up.sigma_over_mean", "sigma_over_mean_up", Unit::One, |r| r.directions.up.sigma_over_mean)
        .compared("up_sigma_over_mean"),
    cell("directions.down.sigma_over_mean", "sigma_over_mean_down", Unit::One, |r| r.directions.down.sigma_over_mean)
        .compared("down_sigma_over_mean"),
    cell("directions.up.retransmit_share", "retransmit_share_up", Unit::Share, |r| r.directions.up.retransmit_share),
    cell("directions.down.retransmit_share", "retransmit_share_down", Unit::Share, |r| {
        r.directions.down.retransmit_share
    }),
    cell("directions.up.timeouts", "timeouts_up", Unit::One, |r| r.directions.up.timeouts),
    cell("directions.down.timeouts", "timeouts_down", Unit::One, |r| r.directions.down.timeouts),
    cell("ap_queue.mean_packets", "ap_queue_packets", Unit::Packets, |r| r.ap_queue.mean_packets)
        .by_engines()
        .in_brief(),
    cell("ap_queue.mean_sojourn_s", "ap_queue_sojourn_s", Unit::Seconds, |r| r.ap_queue.mean_sojourn_s)
        .which("the AP's queue towards the stations"),
    cell("ap_queue.p95_sojourn_s", "ap_queue_p95_sojourn_s", Unit::Seconds, |r| r.ap_queue.p95_sojourn_s),
    cell("ap_queue.p99_sojourn_s", "ap_queue_p99_sojourn_s", Unit::Seconds, |r| r.ap_queue.p99_sojourn_s),
    cell("ap_delay.mean_s", "ap_delay_s", Unit::Seconds, |r| r.ap_delay.mean_s).compared("delay_mean_s"),
    cell("ap_delay.p95_s", "ap_delay_p95_s", Unit::Seconds, |r| r.ap_delay.p95_s)
        .compared("delay_p95_s")
        .best(Best::Least),
    cell("ap_delay.p99_s", "ap_delay_p99_s", Unit::Seconds, |r| r.ap_delay.p99_s).compared("delay_p99_s"),
    cell("ap_queue.drop_probability.data", "ap_drop_probability_data", Unit::Share, |r| {
        r.ap_queue.drop_probability.data
    })
    .by_engines()
    .in_brief(),
    cell("ap_queue.drop_probability.ack", "ap_drop_probability_ack", Unit::Share, |r| r.ap_queue.drop_probability.ack)
        .by_engines()
        .in_brief(),
    cell("ap_uplink_queue.mean_packets", "ap_uplink_queue_packets", Unit::Packets, |r| r.ap_uplink_queue.mean_packets)
        .which("the AP's queue towards the wire"),
    cell("mac.ap.collision_probability", "ap_collision_probability", Unit::Share, |r| r.mac.ap.collision_probability)
        .which("the AP"),
    cell("mac.stations.collision_probability", "station_collision_probability", Unit::Share, |r| {
        r.mac.stations.collision_probability
    })
    .which("all stations together"),
    cell("mac.ap.discards", "ap_discards", Unit::Frames, |r| r.mac.ap.discards).which("the AP"),
    cell("mac.stations.discards", "station_discards", Unit::Frames, |r| r.mac.stations.discards)
        .which("all stations together"),
    cell("enforce.stations[].mean_sojourn_s", "box_sojourn_s", Unit::Seconds, Report::box_sojourn_s)
        .compared("box_delay_mean_s")
        .which("the station that waits longest"),
    cell("transfers[].transfers.mean_s", "small_transfer_s", Unit::Seconds, |r| {
        of_files(r.transfers.first(), |files| files.mean_s)
    })
    .compared("short_file_mean_s")
    .which(SMALLEST)
    .best(Best::Least),
    cell("transfers[].transfers.cov", "small_transfer_cov", Unit::One, |r| {
        of_files(r.transfers.first(), |files| files.cov)
    })
    .compared("short_file_cov")
    .which(SMALLEST),
    cell("transfers[].transfers.count", "small_transfer_count", Unit::Files, |r| {
        of_files(r.transfers.first(), |files| files.count)
    })
    .which(SMALLEST),
    cell("transfers[].transfers.mean_s", "large_transfer_s", Unit::Seconds, |r| {
        of_files(r.transfers.last(), |files| files.mean_s)
    })
    .which(LARGEST),
    cell("transfers[].transfers.cov", "large_transfer_cov", Unit::One, |r| {
        of_files(r.transfers.last(), |files| files.cov)
    })
    .which(LARGEST),
    cell("transfers[].transfers.count", "large_transfer_count", Unit::Files, |r| {
        of_files(r.transfers.last(), |files| files.count)
    })
    .which(LARGEST),
    cell("directions.up.transfers.mean_s", "transfer_s_up", Unit::Seconds, |r| r.directions.up.transfers.mean_s)
        .which("the uploads"),
    cell("directions.down.transfers.mean_s", "transfer_s_down", Unit::Seconds, |r| r.directions.down.transfers.mean_s)
        .which("the downloads"),
    cell("indices.starved_flows", "starved_flows", Unit::One, |r| r.indices.starved_flows).compared("starved_flows"),
    cell("indices.starved_stations", "starved_stations", Unit::One, |r| r.indices.starved_stations)
        .compared("starved_stations"),
];

/// Of a station, in `stations[]`.
pub const STATION: &[Quantity<StationReport>] = &[
    quantity("goodput_up_bps", "goodput_up_bps", Unit::Bps, |row: &StationReport| row.goodput_up_bps)
        .swept_as("goodput_up_bps"),
    quantity("goodput_down_bps", "goodput_down_bps", Unit::Bps, |row: &StationReport| row.goodput_down_bps)
        .swept_as("goodput_down_bps"),
    quantity("goodput_bps", "goodput_bps", Unit::Bps, |row: &StationReport| row.goodput_bps).swept_as("goodput_bps"),
    quantity("goodput_share", "goodput_share", Unit::Share, |row: &StationReport| row.goodput_share),
    quantity("airtime_share", "airtime_share", Unit::Share, |row: &StationReport| row.airtime_share)
        .swept_as("airtime_share"),
    quantity("airtime_down_share", "airtime_down_share", Unit::Share, |row: &StationReport| row.airtime_down_share),
    quantity("ap_delay_p95_s", "ap_delay_p95_s", Unit::Seconds, |row: &StationReport| row.ap_delay_p95_s),
    quantity("uplink_queue_mean_packets", "uplink_queue_mean_packets", Unit::Packets, |row: &StationReport| {
        row.uplink_queue_mean_packets
    })
    .swept_as("uplink_queue_packets"),
    quantity("uplink_queue_mean_sojourn_s", "uplink_queue_mean_sojourn_s", Unit::Seconds, |row: &StationReport| {
        row.uplink_queue_mean_sojourn_s
    }),
    quantity("uplink_queue_drop_probability", "uplink_queue_drop_probability", Unit::Share, |row: &StationReport| {
        row.uplink_queue_drop_probability
    }),
    quantity("mac.attempts", "mac_attempts", Unit::Frames, |row: &StationReport| row.mac.attempts),
    quantity("mac.collision_probability", "mac_collision_probability", Unit::Share, |row: &StationReport| {
        row.mac.collision_probability
    }),
    quantity("mac.delivered", "mac_delivered", Unit::Frames, |row: &StationReport| row.mac.delivered),
    quantity("mac.discards", "mac_discards", Unit::Frames, |row: &StationReport| row.mac.discards),
];

/// Of a flow, in `flows[]`.
pub const FLOW: &[Quantity<FlowReport>] = &[
    quantity("goodput_bps", "goodput_bps", Unit::Bps, |row| row.goodput_bps),
    quantity("sent_packets", "sent_packets", Unit::Packets, |row| row.sent_packets),
    quantity("retransmits", "retransmits", Unit::Packets, |row| row.retransmits),
    quantity("timeouts", "timeouts", Unit::One, |row| row.timeouts),
    quantity("fast_retransmits", "fast_retransmits", Unit::One, |row| row.fast_retransmits),
    quantity("transfers.count", "transfers_count", Unit::Files, |row| row.transfers.count),
    quantity("transfers.mean_s", "transfers_mean_s", Unit::Seconds, |row| row.transfers.mean_s),
    quantity("transfers.cov", "transfers_cov", Unit::One, |row| row.transfers.cov),
];

/// Of a queue of the AP, `ap_queue` and `ap_uplink_queue`.
pub const QUEUE: &[Quantity<QueueReport>] = &[
    quantity("mean_packets", "mean_packets", Unit::Packets, |row| row.mean_packets),
    quantity("mean_sojourn_s", "mean_sojourn_s", Unit::Seconds, |row| row.mean_sojourn_s),
    quantity("p95_sojourn_s", "p95_sojourn_s", Unit::Seconds, |row| row.p95_sojourn_s),
    quantity("p99_sojourn_s", "p99_sojourn_s", Unit::Seconds, |row| row.p99_sojourn_s),
    quantity("arrivals.data", "arrivals_data", Unit::Packets, |row| row.arrivals.data),
    quantity("arrivals.ack", "arrivals_ack", Unit::Packets, |row| row.arrivals.ack),
    quantity("arrivals.other", "arrivals_other", Unit::Packets, |row| row.arrivals.other),
    quantity("drop_probability.data", "drop_probability_data", Unit::Share, |row| row.drop_probability.data),
    quantity("drop_probability.ack", "drop_probability_ack", Unit::Share, |row| row.drop_probability.ack),
    quantity("drop_probability.other", "drop_probability_other", Unit::Share, |row| row.drop_probability.other),
];

/// Of a queue's packets dropped for a reason, in `drops`.
pub const DROPS: &[Quantity<ByClass>] = &[
    quantity("data", "data", Unit::Packets, |row| row.data),
    quantity("ack", "ack", Unit::Packets, |row| row.ack),
    quantity("other", "other", Unit::Packets, |row| row.other),
];

/// Of a station in the box, in `enforce.stations[]`.
pub const BOX: &[Quantity<EnforceStation>] = &[
    quantity("passed_up_bps", "passed_up_bps", Unit::Bps, |row| row.passed_up_bps),
    quantity("passed_down_bps", "passed_down_bps", Unit::Bps, |row| row.passed_down_bps),
    quantity("bypassed_bps", "bypassed_bps", Unit::Bps, |row| row.bypassed_bps),
    quantity("mean_packets", "mean_packets", Unit::Packets, |row| row.mean_packets),
    quantity("mean_sojourn_s", "mean_sojourn_s", Unit::Seconds, |row| row.mean_sojourn_s),
    quantity("drop_probability", "drop_probability", Unit::Share, |row| row.drop_probability),
];

/// A line of the catalogue: what docs and programs show of a quantity.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// What has it: `cell`, `station`, `flow`, `queue`, `drops` or `box`.
    pub level: &'static str,
    /// Where the result has it.
    pub key: String,
    /// Its column in tables.
    pub name: &'static str,
    /// Its name in comparisons of remedies, where that is another.
    pub compared_as: Option<&'static str>,
    /// Its unit's symbol.
    pub unit: &'static str,
    /// What it is.
    pub what: String,
}

/// The whole catalogue, the cell first.
pub fn catalogue() -> Vec<Entry> {
    let schema = json_schema();
    let mut entries: Vec<Entry> = CELL
        .iter()
        .map(|cell| {
            let which = if cell.which.is_empty() { String::new() } else { format!(" Of {}.", cell.which) };
            Entry {
                compared_as: cell.compared_as.filter(|name| *name != cell.quantity.name),
                what: description(&schema, cell.quantity.key) + &which,
                ..entry(&schema, "cell", "", &cell.quantity)
            }
        })
        .collect();
    entries.extend(STATION.iter().map(|of| entry(&schema, "station", "stations[].", of)));
    entries.extend(FLOW.iter().map(|of| entry(&schema, "flow", "flows[].", of)));
    entries.extend(QUEUE.iter().map(|of| entry(&schema, "queue", "ap_queue.", of)));
    entries.extend(DROPS.iter().map(|of| entry(&schema, "drops", "ap_queue.drops[].", of)));
    entries.extend(BOX.iter().map(|of| entry(&schema, "box", "enforce.stations[].", of)));
    entries
}

fn entry<Row>(schema: &serde_json::Value, level: &'static str, place: &str, of: &Quantity<Row>) -> Entry {
    let key = format!("{place}{}", of.key);
    let what = description(schema, &key);
    Entry { level, key, name: of.name, compared_as: None, unit: of.unit.symbol(), what }
}

/// What the schema says of a key; empty where there is no such key. In a queue by class the class's text is added.
fn description(schema: &serde_json::Value, key: &str) -> String {
    let mut at = schema;
    let mut said = String::new();
    for step in key.split('.') {
        at = resolved(schema, at);
        let Some(next) = at.get("properties").and_then(|properties| properties.get(step.trim_end_matches("[]"))) else {
            return String::new();
        };
        let own = next.get("description").and_then(serde_json::Value::as_str).unwrap_or_default();
        let is_class = matches!(step, "data" | "ack" | "other");
        said = if is_class { format!("{said} {own}") } else { own.to_owned() };
        at = next;
        if step.ends_with("[]") {
            at = resolved(schema, at);
            at = at.get("items").or_else(|| at.get("additionalProperties")).unwrap_or(at);
        }
    }
    said.replace('\n', " ").trim().to_owned()
}

/// Follows a reference; of a value that may be null, to what it is otherwise.
fn resolved<'a>(schema: &'a serde_json::Value, at: &'a serde_json::Value) -> &'a serde_json::Value {
    let either = at.get("anyOf").and_then(|either| either.get(0)).unwrap_or(at);
    let named = either.get("$ref").and_then(|name| name.as_str()).and_then(|name| name.strip_prefix('#'));
    named.and_then(|pointer| schema.pointer(pointer)).unwrap_or(either)
}

#[cfg(test)]
#[path = "quantity_tests.rs"]
mod tests;
