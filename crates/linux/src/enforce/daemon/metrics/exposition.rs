//! The metrics as text: OpenMetrics 1.0, or the Prometheus text format 0.0.4.

use std::sync::atomic::{AtomicI64, AtomicU64};

use fairair_core::control::State;
use fairair_core::units::word;
use prometheus_client::encoding::text::encode;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;

use crate::enforce::protocol::{PoolReport, StationReport, Status};

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

/// All metrics in `format`.
pub(super) fn text(format: Format, status: &Status, stations: &[StationReport]) -> String {
    let mut registry = Registry::with_prefix("fairair");
    pools(&mut registry, &status.pools);
    newcomers(&mut registry, &status.pools);
    whole(&mut registry, "troubles", "What is wrong and lasts", [(Labels::new(), status.troubles.len() as i64)]);
    self::stations(&mut registry, stations);
    let mut text = String::new();
    // Writing to a string does not fail.
    let _ = encode(&mut text, &registry);
    match format {
        Format::OpenMetrics => text,
        Format::Plain => plain(&text),
    }
}

/// A family of gauges of whole numbers, with its samples.
fn whole(registry: &mut Registry, name: &str, help: &str, samples: impl IntoIterator<Item = (Labels, i64)>) {
    let family = Family::<Labels, Gauge<i64, AtomicI64>>::default();
    for (labels, value) in samples {
        family.get_or_create(&labels).set(value);
    }
    registry.register(name, help, family);
}

/// The same of other numbers.
fn real(registry: &mut Registry, name: &str, help: &str, samples: impl IntoIterator<Item = (Labels, f64)>) {
    let family = Family::<Labels, Gauge<f64, AtomicU64>>::default();
    for (labels, value) in samples {
        family.get_or_create(&labels).set(value);
    }
    registry.register(name, help, family);
}

/// A family of counters, with its samples.
fn count(registry: &mut Registry, name: &str, help: &str, samples: impl IntoIterator<Item = (Labels, u64)>) {
    let family = Family::<Labels, Counter<u64, AtomicU64>>::default();
    for (labels, value) in samples {
        family.get_or_create(&labels).inc_by(value);
    }
    registry.register(name, help, family);
}

fn label(name: &str, value: &str) -> (String, String) {
    (name.to_owned(), value.to_owned())
}

/// The value of each of `pools`, with the name of its AP.
fn by_ap<T>(pools: &[PoolReport], value: impl Fn(&PoolReport) -> T) -> impl Iterator<Item = (Labels, T)> {
    pools.iter().map(move |pool| (vec![label("ap", &pool.ap)], value(pool)))
}

fn pools(registry: &mut Registry, pools: &[PoolReport]) {
    let gauge = |value: fn(&PoolReport) -> i64| by_ap(pools, value);
    let seconds =
        |value: fn(&PoolReport) -> Option<f64>| by_ap(pools, value).filter_map(|(ap, value)| Some((ap, value?)));
    whole(registry, "capacity_bps", "C in IP bit/s of both directions", gauge(|pool| pool.capacity.as_bps() as i64));
    let help = "IP bit/s through the pool in the last second";
    whole(registry, "rate_bps", help, gauge(|pool| pool.rate.as_bps() as i64));
    whole(registry, "backlog_packets", "Packets that wait in the pool", gauge(|pool| pool.backlog as i64));
    real(registry, "rtt_seconds", "Round-trip time of the last probe", seconds(|pool| pool.rtt_s));
    let help = "Median over the stations of the last round-trip times above each station's baseline";
    real(registry, "rtt_above_baseline_seconds", help, seconds(|pool| pool.rtt_above_baseline_s));
    let states = pools.iter().flat_map(|pool| State::ALL.map(|state| (pool, state)));
    let states = states.map(|(pool, state)| {
        (vec![label("ap", &pool.ap), label("state", &word(&state))], i64::from(state == pool.state))
    });
    whole(registry, "state", "1 for the state that the controller is in, 0 for the others", states);
    let help = "1 while the box is not the bottleneck or cannot know, 0 otherwise";
    whole(registry, "not_bottleneck", help, gauge(|pool| i64::from(pool.trouble.is_some())));
    whole(registry, "stations", "Stations with a class", gauge(|pool| pool.stations as i64));
    count(registry, "drops", "Packets dropped since their queue was full", by_ap(pools, |pool| pool.drops));
    let outcomes = |pool: &PoolReport| ["sent", "answered", "lost"].into_iter().zip(pool.probes);
    let probes = by_ap(pools, outcomes).flat_map(|(ap, outcomes)| {
        outcomes.map(move |(outcome, number)| ([ap.clone(), vec![label("outcome", outcome)]].concat(), number))
    });
    count(registry, "probes", "Probes by outcome", probes);
}

/// The class of a pool that stations share which have none of their own yet.
fn newcomers(registry: &mut Registry, pools: &[PoolReport]) {
    let help = "IP bytes of both directions of stations without a class of their own";
    count(registry, "newcomers_bytes", help, by_ap(pools, |pool| pool.newcomers.bytes));
    let waiting = by_ap(pools, |pool| i64::from(pool.newcomers.backlog));
    whole(registry, "newcomers_backlog_packets", "Packets that wait in the class of newcomers", waiting);
    let drops = by_ap(pools, |pool| pool.newcomers.drops);
    count(registry, "newcomers_drops", "Packets dropped in the class of newcomers", drops);
}

fn stations(registry: &mut Registry, stations: &[StationReport]) {
    let labels = |own: &StationReport| vec![label("ap", &own.ap), label("station", &own.name)];
    let bytes = stations.iter().map(|own| (labels(own), own.bytes));
    count(registry, "station_bytes", "IP bytes of both directions of a station", bytes);
    let drops = stations.iter().map(|own| (labels(own), own.drops));
    count(registry, "station_drops", "Packets of a station that were dropped", drops);
    let help = "Uplink UDP of a station past the box in the last second, which no bytes of stations count";
    let bypassing = stations.iter().map(|own| (labels(own), own.bypassing.as_bps() as i64));
    whole(registry, "station_bypassing_bps", help, bypassing);
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
