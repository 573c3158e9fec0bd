//! The catalogue of what is reported: tables, comparisons, sweeps and docs/results.md take names, units and values from
//! here. What a quantity means is said once, at its field in the result, and is read from the schema.

use super::enforce::EnforceStation;
use super::rows::{ByClass, FlowReport, QueueReport, StationReport, Transfers};
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

/// The quantity of a row that stands at this path; its column has the same name, with `_` for dots.
macro_rules! column {
    ($first:ident $(. $rest:ident)*, $unit:ident) => {
        Quantity {
            key: concat!(stringify!($first) $(, ".", stringify!($rest))*),
            name: concat!(stringify!($first) $(, "_", stringify!($rest))*),
            unit: Unit::$unit,
            of: |row| row.$first $(.$rest)*,
            swept_as: None,
        }
    };
}

const fn swept_as<Row>(name: &'static str, mut quantity: Quantity<Row>) -> Quantity<Row> {
    quantity.swept_as = Some(name);
    quantity
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
    let quantity = Quantity { key, name, unit, of, swept_as: None };
    CellQuantity { quantity, compared_as: None, by_engines: false, in_brief: false, which: "", best: None }
}

/// The quantity of the cell that stands at this path of the result.
macro_rules! cell {
    ($first:ident $(. $rest:ident)*, $name:literal, $unit:ident) => {
        cell(concat!(stringify!($first) $(, ".", stringify!($rest))*), $name, Unit::$unit, |r| r.$first $(.$rest)*)
    };
}

impl CellQuantity {
    const fn compared(self, name: &'static str) -> Self {
        CellQuantity { compared_as: Some(name), ..self }
    }

    /// What says most of a cell: results in brief and comparisons of engines have it.
    const fn chief(self) -> Self {
        CellQuantity { by_engines: true, in_brief: true, ..self }
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

fn smallest(report: &Report) -> Transfers {
    report.transfers.first().map(|row| row.transfers).unwrap_or_default()
}

fn largest(report: &Report) -> Transfers {
    report.transfers.last().map(|row| row.transfers).unwrap_or_default()
}

const SMALLEST: &str = "the smallest files of the cell";
const LARGEST: &str = "the largest files of the cell";

/// Of the whole cell.
pub const CELL: &[CellQuantity] = &[
    cell!(totals.goodput_bps, "goodput_bps", Bps).compared("goodput_bps").chief().best(Best::Most),
    cell!(totals.packets_per_second, "packets_per_second", PerSecond).chief(),
    cell!(directions.up.goodput_bps, "goodput_up_bps", Bps),
    cell!(directions.down.goodput_bps, "goodput_down_bps", Bps),
    cell!(directions.up.mean_flow_goodput_bps, "flow_goodput_up_bps", Bps).compared("up_mean_flow_goodput_bps").chief(),
    cell!(directions.down.mean_flow_goodput_bps, "flow_goodput_down_bps", Bps)
        .compared("down_mean_flow_goodput_bps")
        .chief(),
    cell!(indices.up_down_ratio, "up_down_ratio", One).compared("up_down_ratio").chief().best(Best::One),
    cell!(indices.fairness_level_first_station, "fairness_level", One)
        .compared("fairness_level_first_station")
        .chief()
        .best(Best::One),
    cell!(indices.jain_stations, "jain_stations", One).compared("jain_stations").chief().best(Best::Most),
    cell!(indices.jain_flows, "jain_flows", One).compared("jain_flows").in_brief().best(Best::Most),
    cell!(directions.up.sigma_over_mean, "sigma_over_mean_up", One).compared("up_sigma_over_mean"),
    cell!(directions.down.sigma_over_mean, "sigma_over_mean_down", One).compared("down_sigma_over_mean"),
    cell!(directions.up.retransmit_share, "retransmit_share_up", Share),
    cell!(directions.down.retransmit_share, "retransmit_share_down", Share),
    cell!(directions.up.timeouts, "timeouts_up", One),
    cell!(directions.down.timeouts, "timeouts_down", One),
    cell!(ap_queue.mean_packets, "ap_queue_packets", Packets).chief(),
    cell!(ap_queue.mean_sojourn_s, "ap_queue_sojourn_s", Seconds).which("the AP's queue towards the stations"),
    cell!(ap_queue.p95_sojourn_s, "ap_queue_p95_sojourn_s", Seconds),
    cell!(ap_queue.p99_sojourn_s, "ap_queue_p99_sojourn_s", Seconds),
    cell!(ap_delay.mean_s, "ap_delay_s", Seconds).compared("delay_mean_s"),
    cell!(ap_delay.p95_s, "ap_delay_p95_s", Seconds).compared("delay_p95_s").best(Best::Least),
    cell!(ap_delay.p99_s, "ap_delay_p99_s", Seconds).compared("delay_p99_s"),
    cell!(ap_queue.drop_probability.data, "ap_drop_probability_data", Share).chief(),
    cell!(ap_queue.drop_probability.ack, "ap_drop_probability_ack", Share).chief(),
    cell!(ap_uplink_queue.mean_packets, "ap_uplink_queue_packets", Packets).which("the AP's queue towards the wire"),
    cell!(mac.ap.collision_probability, "ap_collision_probability", Share).which("the AP"),
    cell!(mac.stations.collision_probability, "station_collision_probability", Share).which("all stations together"),
    cell!(mac.ap.discards, "ap_discards", Frames).which("the AP"),
    cell!(mac.stations.discards, "station_discards", Frames).which("all stations together"),
    cell("enforce.stations[].mean_sojourn_s", "box_sojourn_s", Unit::Seconds, Report::box_sojourn_s)
        .compared("box_delay_mean_s")
        .which("the station that waits longest"),
    cell("transfers[].transfers.mean_s", "small_transfer_s", Unit::Seconds, |r| smallest(r).mean_s)
        .compared("short_file_mean_s")
        .which(SMALLEST)
        .best(Best::Least),
    cell("transfers[].transfers.cov", "small_transfer_cov", Unit::One, |r| smallest(r).cov)
        .compared("short_file_cov")
        .which(SMALLEST),
    cell("transfers[].transfers.count", "small_transfer_count", Unit::Files, |r| smallest(r).count).which(SMALLEST),
    cell("transfers[].transfers.mean_s", "large_transfer_s", Unit::Seconds, |r| largest(r).mean_s).which(LARGEST),
    cell("transfers[].transfers.cov", "large_transfer_cov", Unit::One, |r| largest(r).cov).which(LARGEST),
    cell("transfers[].transfers.count", "large_transfer_count", Unit::Files, |r| largest(r).count).which(LARGEST),
    cell!(directions.up.transfers.mean_s, "transfer_s_up", Seconds).which("the uploads"),
    cell!(directions.down.transfers.mean_s, "transfer_s_down", Seconds).which("the downloads"),
    cell!(indices.starved_flows, "starved_flows", One).compared("starved_flows"),
    cell!(indices.starved_stations, "starved_stations", One).compared("starved_stations"),
];

/// Of a station, in `stations[]`.
pub const STATION: &[Quantity<StationReport>] = &[
    swept_as("goodput_up_bps", column!(goodput_up_bps, Bps)),
    swept_as("goodput_down_bps", column!(goodput_down_bps, Bps)),
    swept_as("goodput_bps", column!(goodput_bps, Bps)),
    column!(goodput_share, Share),
    swept_as("airtime_share", column!(airtime_share, Share)),
    column!(airtime_down_share, Share),
    column!(ap_delay_p95_s, Seconds),
    swept_as("uplink_queue_packets", column!(uplink_queue_mean_packets, Packets)),
    column!(uplink_queue_mean_sojourn_s, Seconds),
    column!(uplink_queue_drop_probability, Share),
    column!(mac.attempts, Frames),
    column!(mac.collision_probability, Share),
    column!(mac.delivered, Frames),
    column!(mac.discards, Frames),
];

/// Of a flow, in `flows[]`.
pub const FLOW: &[Quantity<FlowReport>] = &[
    column!(goodput_bps, Bps),
    column!(sent_packets, Packets),
    column!(retransmits, Packets),
    column!(timeouts, One),
    column!(fast_retransmits, One),
    column!(transfers.count, Files),
    column!(transfers.mean_s, Seconds),
    column!(transfers.cov, One),
];

/// Of a queue of the AP, `ap_queue` and `ap_uplink_queue`.
pub const QUEUE: &[Quantity<QueueReport>] = &[
    column!(mean_packets, Packets),
    column!(mean_sojourn_s, Seconds),
    column!(p95_sojourn_s, Seconds),
    column!(p99_sojourn_s, Seconds),
    column!(arrivals.data, Packets),
    column!(arrivals.ack, Packets),
    column!(arrivals.other, Packets),
    column!(drop_probability.data, Share),
    column!(drop_probability.ack, Share),
    column!(drop_probability.other, Share),
];

/// Of a queue's packets dropped for a reason, in `drops`.
pub const DROPS: &[Quantity<ByClass>] = &[column!(data, Packets), column!(ack, Packets), column!(other, Packets)];

/// Of a station in the box, in `enforce.stations[]`.
pub const BOX: &[Quantity<EnforceStation>] = &[
    column!(passed_up_bps, Bps),
    column!(passed_down_bps, Bps),
    column!(bypassed_bps, Bps),
    column!(mean_packets, Packets),
    column!(mean_sojourn_s, Seconds),
    column!(drop_probability, Share),
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
