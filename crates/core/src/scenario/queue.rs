//! The AP's queue discipline: one entry of [`KINDS`] a kind.

use toml::de::DeValue;

use super::Preset;
use super::cursor::{Kind, Table};
use super::defaults::LARGEST_QUEUE;
use super::error::Checked;
use super::value::{FromToml, Reason, params};
use crate::qdisc::{
    AdaptiveBufferParams, AdmissionParams, AirtimeFqParams, DualQueueParams, FairQueueParams, FqCodelParams, LasParams,
    Mac80211Params, QdiscSpec, Share, ShareRule, SharedFifoParams, TlasParams, TlasSafParams,
};
use crate::units::{Bytes, Duration};

/// Packets that a queue holds unless the file says otherwise.
const USUAL_LIMIT: usize = 100;
/// Control loops with a shorter or longer time are slips of a unit.
const PACKETS: std::ops::RangeInclusive<usize> = 1..=LARGEST_QUEUE;
/// Service in packets below which a connection has priority.
const THRESHOLDS: std::ops::RangeInclusive<u64> = 0..=LARGEST_QUEUE as u64;
const SOME_TIME: std::ops::RangeInclusive<Duration> = Duration::from_micros(1)..=Duration::from_secs(3600);

/// Keys of `mac80211`.
const MAC80211: &[&str] =
    &["limit", "memory", "flows", "quantum", "codel", "target", "interval", "airtime", "rx_airtime", "aql"];

/// Every discipline that a file can name, with its keys and their reader.
const KINDS: &[Kind<QdiscSpec>] = &[
    Kind { name: "droptail", keys: &["limit"], read: droptail },
    Kind { name: "las", keys: &["limit"], read: las },
    Kind { name: "tlas", keys: &["limit", "threshold", "victim"], read: tlas },
    Kind { name: "tlas-saf", keys: &["limit", "threshold", "cwnd", "victim"], read: tlas_saf },
    Kind { name: "dual-queue", keys: &["data", "ack", "other", "p", "window", "flow_timeout"], read: dual_queue },
    Kind { name: "per-flow-fq", keys: &["limit", "charge"], read: |table| fair(table).map(QdiscSpec::PerFlowFq) },
    Kind { name: "per-station-fq", keys: &["limit", "charge"], read: |table| fair(table).map(QdiscSpec::PerStationFq) },
    Kind { name: "fq-codel", keys: &["limit", "quantum", "target", "interval"], read: fq_codel },
    Kind { name: "airtime-fq", keys: &["limit", "quantum", "max_debt"], read: airtime_fq },
    Kind { name: "admission", keys: &["limit", "p_b", "applies_to"], read: admission },
    Kind { name: "adaptive-buffer", keys: &["target", "a", "alpha", "b_max"], read: adaptive_buffer },
    Kind { name: "shared-fifo", keys: &["limit", "count_unacknowledged"], read: shared_fifo },
    Kind { name: "mac80211", keys: MAC80211, read: |table| mac80211(table).map(QdiscSpec::Mac80211) },
];

/// Reads `queue = { kind = .. }` of `[ap]`.
pub(super) fn spec(ap: &Table, preset: Preset) -> Checked<QdiscSpec> {
    let is_ns3 = preset == Preset::Ns3;
    if !ap.has("queue") {
        let pool = SharedFifoParams { count_unacknowledged: true, ..SharedFifoParams::default() };
        return Ok(if is_ns3 { QdiscSpec::SharedFifo(pool) } else { QdiscSpec::Droptail { limit: USUAL_LIMIT } });
    }
    let table = ap.table("queue", "the AP's queue")?;
    let mut spec = (table.kind(KINDS, None, &[])?.read)(&table)?;
    if let QdiscSpec::SharedFifo(params) = &mut spec {
        // The MAC queue of ns-3 counts what is not acknowledged yet.
        params.count_unacknowledged |= is_ns3 && !table.has("count_unacknowledged");
    }
    Ok(spec)
}

/// Reads `uplink_queue = { kind = "mac80211", .. }` of a station; `None` where it is a number or not there.
pub(super) fn uplink(station: &Table) -> Checked<Option<Mac80211Params>> {
    const KIND: &[Kind<Mac80211Params>] = &[Kind { name: "mac80211", keys: MAC80211, read: mac80211 }];
    if !station.is_table("uplink_queue") {
        return Ok(None);
    }
    let table = station.table("uplink_queue", "the station's uplink_queue")?;
    (table.kind(KIND, None, &[])?.read)(&table).map(Some)
}

fn droptail(table: &Table) -> Checked<QdiscSpec> {
    Ok(QdiscSpec::Droptail { limit: table.within("limit", PACKETS, USUAL_LIMIT)? })
}

fn las(table: &Table) -> Checked<QdiscSpec> {
    Ok(QdiscSpec::Las(params!(table, LasParams::default(), LasParams { limit in PACKETS })))
}

fn tlas(table: &Table) -> Checked<QdiscSpec> {
    let usual = TlasParams::default();
    Ok(QdiscSpec::Tlas(params!(table, usual, TlasParams { limit in PACKETS, threshold in THRESHOLDS, victim })))
}

fn tlas_saf(table: &Table) -> Checked<QdiscSpec> {
    let usual = TlasSafParams::default();
    let params = params!(table, usual, TlasSafParams { limit in PACKETS, threshold in THRESHOLDS, cwnd, victim });
    Ok(QdiscSpec::TlasSaf(params))
}

fn dual_queue(table: &Table) -> Checked<QdiscSpec> {
    let usual = DualQueueParams::default();
    Ok(QdiscSpec::DualQueue(params!(table, usual, DualQueueParams {
        data in PACKETS, ack in PACKETS, other in PACKETS, p, window in 1..=1 << 30, flow_timeout in SOME_TIME,
    })))
}

fn fair(table: &Table) -> Checked<FairQueueParams> {
    Ok(params!(table, FairQueueParams::default(), FairQueueParams { limit in PACKETS, charge }))
}

fn fq_codel(table: &Table) -> Checked<QdiscSpec> {
    Ok(QdiscSpec::FqCodel(params!(table, FqCodelParams::default(), FqCodelParams {
        limit in PACKETS, quantum in 1..=1 << 30, target in SOME_TIME, interval in SOME_TIME,
    })))
}

fn airtime_fq(table: &Table) -> Checked<QdiscSpec> {
    Ok(QdiscSpec::AirtimeFq(params!(table, AirtimeFqParams::default(), AirtimeFqParams {
        limit in PACKETS, quantum in SOME_TIME, max_debt in SOME_TIME,
    })))
}

fn admission(table: &Table) -> Checked<QdiscSpec> {
    let usual = AdmissionParams::default();
    Ok(QdiscSpec::Admission(params!(table, usual, AdmissionParams { limit in PACKETS, p_b, applies_to })))
}

fn adaptive_buffer(table: &Table) -> Checked<QdiscSpec> {
    let usual = AdaptiveBufferParams::default();
    Ok(QdiscSpec::AdaptiveBuffer(AdaptiveBufferParams {
        t: table.within("target", SOME_TIME, usual.t)?,
        a: table.within("a", 0..=LARGEST_QUEUE, usual.a)?,
        alpha: table.within("alpha", 0.0..=0.999_999_999, usual.alpha)?,
        b_max: table.within("b_max", PACKETS, usual.b_max)?,
    }))
}

fn shared_fifo(table: &Table) -> Checked<QdiscSpec> {
    let usual = SharedFifoParams::default();
    Ok(QdiscSpec::SharedFifo(params!(table, usual, SharedFifoParams { limit in PACKETS, count_unacknowledged })))
}

fn mac80211(table: &Table) -> Checked<Mac80211Params> {
    Ok(params!(table, Mac80211Params::default(), Mac80211Params {
        limit in PACKETS, memory in Bytes(64 << 10)..=Bytes(1 << 40), flows in 1..=1 << 20, quantum in 1..=1 << 30,
        codel, target in SOME_TIME, interval in SOME_TIME, airtime, rx_airtime, aql,
    }))
}

impl FromToml for Share {
    fn from_toml(value: &DeValue) -> Result<Self, Reason> {
        if value.as_str().is_some() {
            return ShareRule::from_toml(value).map(Share::Rule);
        }
        let p = f64::from_toml(value)?;
        if (0.0..=1.0).contains(&p) {
            return Ok(Share::Fixed(p));
        }
        let fix = "write a number from 0 to 1, or \"optimal\", \"modified\" or \"auto\"";
        Err(Reason { problem: format!("{p} is no probability"), fix: fix.into() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario::Scenario;

    fn read(queue: &str) -> QdiscSpec {
        let text = format!(
            "name = \"x\"\n[run]\nduration = \"10 s\"\n[ap]\nqueue = {queue}\n[[station]]\nname = \"a\"\nflows = []\n"
        );
        Scenario::from_toml(&text, "x.toml").unwrap_or_else(|error| panic!("{error:?}")).ap.queue
    }

    #[test]
    fn every_discipline_is_named_here_and_has_its_own_defaults() {
        let names: Vec<_> = QdiscSpec::all().iter().map(QdiscSpec::kind).collect();
        assert_eq!(KINDS.iter().map(|kind| kind.name).collect::<Vec<_>>(), names);
        for spec in QdiscSpec::all() {
            assert_eq!(read(&format!("{{ kind = \"{}\" }}", spec.kind())), spec);
        }
    }

    #[test]
    fn every_key_of_every_discipline_is_read() {
        // Serde knows the fields; a key that this file forgets would be refused here.
        for spec in QdiscSpec::all() {
            let json = serde_json::to_value(spec).unwrap();
            let fields: Vec<String> =
                json.as_object().unwrap().iter().map(|(key, value)| format!("{key} = {value}")).collect();
            assert_eq!(read(&format!("{{ {} }}", fields.join(", "))), spec);
        }
    }

    #[test]
    fn p_is_a_number_or_a_rule() {
        let p = |text: &str| match read(&format!("{{ kind = \"dual-queue\", p = {text} }}")) {
            QdiscSpec::DualQueue(params) => params.p,
            other => panic!("{other:?}"),
        };
        assert_eq!(p("0.7"), Share::Fixed(0.7));
        assert_eq!(p("\"modified\""), Share::Rule(ShareRule::Modified));
    }
}
