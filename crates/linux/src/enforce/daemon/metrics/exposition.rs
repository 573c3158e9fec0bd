//! The metrics as text: OpenMetrics 1.0, or the Prometheus text format 0.0.4.

use std::sync::atomic::{AtomicI64, AtomicU64};

use fairair_core::control::State;
use fairair_core::units::word;
use prometheus_client::encoding::EncodeMetric;
use prometheus_client::encoding::text::encode;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;

use crate::enforce::protocol::{ClassReport, StationReport, Status};

/// How metrics are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Format {
    /// Prometheus text format 0.0.4: the default.
    Plain,
    /// OpenMetrics 1.0: where the request accepts it.
    OpenMetrics,
}

impl Format {
    /// What a scraper wants whose request has the header `Accept: accept` (RFC 9110, section 12.5.1).
    pub(super) fn accepted(accept: &str) -> Format {
        let quality = |wanted: &str| {
            let ranges = accept.split(',').filter_map(|range| {
                let mut parts = range.split(';').map(str::trim);
                let is_wanted = parts.next()?.eq_ignore_ascii_case(wanted);
                let quality = parts.find_map(|part| part.strip_prefix("q=")?.parse().ok());
                is_wanted.then_some(quality.unwrap_or(1.0_f32))
            });
            ranges.fold(0.0, f32::max)
        };
        let open = quality("application/openmetrics-text");
        if open > 0.0 && open >= quality("text/plain") { Format::OpenMetrics } else { Format::Plain }
    }

    /// As the header `Content-Type` has it.
    pub(super) const fn media_type(self) -> &'static str {
        match self {
            Format::Plain => "text/plain; version=0.0.4; charset=utf-8",
            Format::OpenMetrics => "application/openmetrics-text; version=1.0.0; charset=utf-8",
        }
    }
}

type Labels = Vec<(String, String)>;
type Whole = Gauge<i64, AtomicI64>;
type Real = Gauge<f64, AtomicU64>;
type Count = Counter<u64, AtomicU64>;

/// All metrics in `format`.
pub(super) fn text(format: Format, status: &Status, stations: &[StationReport]) -> String {
    let mut registry = Registry::with_prefix("fairair");
    pools(&mut registry, status);
    newcomers(&mut registry, status);
    let troubles: Family<Labels, Whole> = family(&mut registry, "troubles", "What is wrong and lasts");
    troubles.get_or_create(&Vec::new()).set(status.troubles.len() as i64);
    let bytes: Family<Labels, Count> =
        family(&mut registry, "station_bytes", "IP bytes of both directions of a station");
    let dropped: Family<Labels, Count> =
        family(&mut registry, "station_drops", "Packets of a station that were dropped");
    let bypassing: Family<Labels, Whole> = family(
        &mut registry,
        "station_bypassing_bps",
        "Uplink UDP of a station past the box in the last second, which no bytes of stations count",
    );
    for station in stations {
        let labels = vec![label("ap", &station.ap), label("station", &station.name)];
        bytes.get_or_create(&labels).inc_by(station.bytes);
        dropped.get_or_create(&labels).inc_by(station.drops);
        bypassing.get_or_create(&labels).set(station.bypassing.as_bps() as i64);
    }
    let mut text = String::new();
    // Writing to a string does not fail.
    let _ = encode(&mut text, &registry);
    match format {
        Format::OpenMetrics => text,
        Format::Plain => plain(&text),
    }
}

/// A family, registered.
fn family<M>(registry: &mut Registry, name: &str, help: &str) -> Family<Labels, M>
where
    Family<Labels, M>: EncodeMetric + Default + Clone + std::fmt::Debug + Send + Sync + 'static,
{
    let family = Family::<Labels, M>::default();
    registry.register(name, help, family.clone());
    family
}

fn label(name: &str, value: &str) -> (String, String) {
    (name.to_owned(), value.to_owned())
}

fn pools(registry: &mut Registry, status: &Status) {
    let capacity: Family<Labels, Whole> = family(registry, "capacity_bps", "C in IP bit/s of both directions");
    let rate: Family<Labels, Whole> = family(registry, "rate_bps", "IP bit/s through the pool in the last second");
    let backlog: Family<Labels, Whole> = family(registry, "backlog_packets", "Packets that wait in the pool");
    let rtt: Family<Labels, Real> = family(registry, "rtt_seconds", "Round-trip time of the last probe");
    let above: Family<Labels, Real> = family(
        registry,
        "rtt_above_baseline_seconds",
        "Median over the stations of the last round-trip times above each station's baseline",
    );
    let state: Family<Labels, Whole> =
        family(registry, "state", "1 for the state that the controller is in, 0 for the others");
    let trouble: Family<Labels, Whole> =
        family(registry, "not_bottleneck", "1 while the box is not the bottleneck or cannot know, 0 otherwise");
    let count: Family<Labels, Whole> = family(registry, "stations", "Stations with a class");
    let drops: Family<Labels, Count> = family(registry, "drops", "Packets dropped since their queue was full");
    let probes: Family<Labels, Count> = family(registry, "probes", "Probes by outcome");
    for pool in &status.pools {
        let ap = || vec![label("ap", &pool.ap)];
        capacity.get_or_create(&ap()).set(pool.capacity.as_bps() as i64);
        rate.get_or_create(&ap()).set(pool.rate.as_bps() as i64);
        backlog.get_or_create(&ap()).set(pool.backlog as i64);
        trouble.get_or_create(&ap()).set(i64::from(pool.trouble.is_some()));
        count.get_or_create(&ap()).set(pool.stations as i64);
        drops.get_or_create(&ap()).inc_by(pool.drops);
        if let Some(seconds) = pool.rtt_s {
            rtt.get_or_create(&ap()).set(seconds);
        }
        if let Some(seconds) = pool.rtt_above_baseline_s {
            above.get_or_create(&ap()).set(seconds);
        }
        for own in State::ALL {
            let name = word(&own);
            let labels = vec![label("ap", &pool.ap), label("state", &name)];
            state.get_or_create(&labels).set(i64::from(own == pool.state));
        }
        for (outcome, number) in ["sent", "answered", "lost"].into_iter().zip(pool.probes) {
            probes.get_or_create(&vec![label("ap", &pool.ap), label("outcome", outcome)]).inc_by(number);
        }
    }
}

/// The class of a pool that stations share which have none of their own yet.
fn newcomers(registry: &mut Registry, status: &Status) {
    let bytes: Family<Labels, Count> =
        family(registry, "newcomers_bytes", "IP bytes of both directions of stations without a class of their own");
    let backlog: Family<Labels, Whole> =
        family(registry, "newcomers_backlog_packets", "Packets that wait in the class of newcomers");
    let dropped: Family<Labels, Count> =
        family(registry, "newcomers_drops", "Packets dropped in the class of newcomers");
    for pool in &status.pools {
        let ClassReport { bytes: sent, backlog: waiting, drops, .. } = pool.newcomers;
        let ap = vec![label("ap", &pool.ap)];
        bytes.get_or_create(&ap).inc_by(sent);
        backlog.get_or_create(&ap).set(i64::from(waiting));
        dropped.get_or_create(&ap).inc_by(drops);
    }
}

/// `open` (OpenMetrics) in the Prometheus text format 0.0.4: a family of counters has the name of its
/// samples, and there are no lines for units and for the end.
fn plain(open: &str) -> String {
    let mut counters = Vec::new();
    for line in open.lines() {
        counters.extend(line.strip_prefix("# TYPE ").and_then(|rest| rest.strip_suffix(" counter")));
    }
    let mut text = String::with_capacity(open.len());
    for line in open.lines() {
        let mut words = line.splitn(4, ' ');
        match (words.next(), words.next(), words.next(), words.next()) {
            (Some("#"), Some("EOF" | "UNIT"), ..) => continue,
            (Some("#"), Some(what @ ("HELP" | "TYPE")), Some(name), Some(rest)) if counters.contains(&name) => {
                text.extend(["# ", what, " ", name, "_total ", rest]);
            }
            _ => text.push_str(line),
        }
        text.push('\n');
    }
    text
}

#[cfg(test)]
mod tests {
    use fairair_core::units::Bitrate;

    use super::*;
    use crate::enforce::site::Source;

    /// What a configuration takes as a name stays within its label.
    #[test]
    fn odd_names_stay_within_their_labels() {
        let station = StationReport {
            name: "desk\", ap=\"x\"} 9 # {".to_owned(),
            ap: "lobby } ;".to_owned(),
            mac: None,
            addresses: Vec::new(),
            source: Source::Config,
            setting: None,
            weight: 1.0,
            cap: None,
            quantum: 1500,
            class: "1:100".to_owned(),
            rate: Bitrate::default(),
            bypassing: fairair_core::units::Bitrate::default(),
            phy_rate: None,
            bytes: 7,
            backlog: 0,
            wan_backlog: 0,
            drops: 0,
            wan_drops: 0,
            answers: None,
        };
        let status = Status {
            name: "x".to_owned(),
            pid: 1,
            uptime_s: 0.0,
            policy: "per-station".to_owned(),
            confirm_within_s: None,
            troubles: Vec::new(),
            notes: Vec::new(),
            pools: Vec::new(),
            wan: Vec::new(),
        };
        let line = "\nfairair_station_bytes_total{ap=\"lobby } ;\",station=\"desk\\\", ap=\\\"x\\\"} 9 # {\"} 7\n";
        for format in [Format::Plain, Format::OpenMetrics] {
            let told = text(format, &status, std::slice::from_ref(&station));
            assert!(told.contains(line), "{told}");
        }
    }

    #[test]
    fn who_asks_for_openmetrics_gets_it_and_all_others_plain_text() {
        let prometheus = "application/openmetrics-text;version=1.0.0;q=0.6,application/openmetrics-text;version=0.0.1;q=0.5,\
            text/plain;version=0.0.4;q=0.3,*/*;q=0.2";
        for (accept, format) in [
            ("", Format::Plain),
            ("*/*", Format::Plain),
            ("text/plain", Format::Plain),
            ("text/html,application/xhtml+xml;q=0.9,*/*;q=0.8", Format::Plain),
            (prometheus, Format::OpenMetrics),
            ("application/openmetrics-text; version=1.0.0; charset=utf-8", Format::OpenMetrics),
            ("application/openmetrics-text;q=0.3, text/plain;q=0.5", Format::Plain),
            ("application/openmetrics-text;q=0", Format::Plain),
            ("APPLICATION/OpenMetrics-Text", Format::OpenMetrics),
        ] {
            assert_eq!(Format::accepted(accept), format, "{accept}");
        }
    }

    #[test]
    fn plain_text_names_counters_as_their_samples_and_keeps_all_else() {
        let open = "# HELP x_drops Dropped.\n# TYPE x_drops counter\nx_drops_total{ap=\"# TYPE x counter\"} 3\n\
            # HELP x_rtt_seconds Time.\n# TYPE x_rtt_seconds gauge\n# UNIT x_rtt_seconds seconds\nx_rtt_seconds 0.1\n# EOF\n";
        let told = "# HELP x_drops_total Dropped.\n# TYPE x_drops_total counter\nx_drops_total{ap=\"# TYPE x counter\"} 3\n\
            # HELP x_rtt_seconds Time.\n# TYPE x_rtt_seconds gauge\nx_rtt_seconds 0.1\n";
        assert_eq!(plain(open), told);
    }
}
