//! A candidate simulated, and what is read off it.

use fairair_core::metrics::{Estimate, MaxMin, Provenance, Report, jain_index};
use fairair_core::record::Record;
use fairair_core::scenario::{Scenario, Traffic};
use fairair_core::units::Duration;

use crate::starved::Seen;

/// A file that is under way for more than this share of the time has left its slow start behind.
const MOSTLY: f64 = 0.7;

/// The replicas of a candidate.
pub(crate) struct Sample<'a> {
    pub(crate) scenario: &'a Scenario,
    pub(crate) report: Report,
    pub(crate) fingerprint: String,
    /// Goodputs and their shares, by replica.
    pub(super) seen: Vec<Seen>,
    records: Vec<Record>,
    /// Shares of the mean goodput.
    pub(super) shares: MaxMin,
    /// By flow, the longest retransmission timeout that expired in any of the replicas.
    pub(crate) longest_timeouts: Vec<Duration>,
    /// Whether it is as long as plans are proved.
    is_proof: bool,
}

impl<'a> Sample<'a> {
    pub(crate) fn new(scenario: &'a Scenario, records: Vec<Record>, is_proof: bool) -> Self {
        let mut longest_timeouts = vec![Duration::ZERO; scenario.flows().count()];
        for record in &records {
            for (longest, flow) in longest_timeouts.iter_mut().zip(&record.flows) {
                *longest = flow.longest_timeout.unwrap_or(Duration::ZERO).max(*longest);
            }
        }
        let provenance = Provenance {
            engine: "simulator".to_owned(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            replicas_planned: records.len() as u32,
            ..Provenance::default()
        };
        let report = Report::in_brief(scenario, &records, provenance);
        Sample {
            shares: MaxMin::of(scenario, report.totals.goodput_bps.mean.unwrap_or(0.0)),
            fingerprint: fairair_core::metrics::fingerprint(&records),
            seen: records.iter().map(|record| Seen::of(scenario, record)).collect(),
            scenario,
            report,
            records,
            longest_timeouts,
            is_proof,
        }
    }

    pub(crate) fn goodput(&self) -> f64 {
        self.report.totals.goodput_bps.mean.unwrap_or(0.0)
    }

    /// Goodput of a station.
    pub(crate) fn station(&self, index: usize) -> Estimate {
        Estimate::of_mean(self.seen.iter().map(|seen| seen.whole.stations.get(index).copied()))
    }

    /// What a look that is shorter than a proof knows of the transfer time of a flow of which no file came to an end: the file took at least
    /// as long as it was under way, and one that was so most of the time takes as long as its rate says. Who pauses may have asked for none.
    pub(crate) fn under_way(&self, flow: usize) -> Estimate {
        let own = || self.records.iter().filter_map(|record| record.flows.get(flow));
        let seconds = || own().filter_map(|own| Some(own.busy?.as_secs_f64()));
        let longest = seconds().fold(0.0, f64::max);
        let (busy, measured) =
            (seconds().sum::<f64>(), self.records.iter().map(|own| own.measured.as_secs_f64()).sum::<f64>());
        let bytes = own().map(|own| own.delivered_bytes).sum::<u64>() as f64;
        let at_its_rate = match self.scenario.flows().nth(flow).map(|(_, flow)| flow.traffic) {
            Some(Traffic::Files { size, .. }) if bytes > 0.0 && busy > MOSTLY * measured => {
                size.0 as f64 * busy / bytes
            }
            _ => 0.0,
        };
        let mean = (!self.is_proof && seconds().next().is_some()).then_some(longest.max(at_its_rate));
        Estimate { mean, ci95: None, n: 0 }
    }

    /// Delay in the AP (95th percentile) and in the box (mean, at the station where it is longest): a box moves
    /// the queue from the AP to itself. A queue that nothing passed delays nothing.
    pub(crate) fn delay(&self) -> Estimate {
        sum(self.report.ap_delay.p95_s, self.report.box_sojourn_s())
    }

    /// The same of a station's packets.
    pub(crate) fn station_delay(&self, index: usize) -> Estimate {
        let queue = self.report.stations.get(index).map(|station| station.ap_delay_p95_s).unwrap_or_default();
        let boxed = self.report.enforce.as_ref().and_then(|enforce| enforce.stations.get(index));
        sum(queue, boxed.map(|station| station.mean_sojourn_s).unwrap_or_default())
    }

    /// Goodputs and their shares by which the floor is judged: those of `as_is_bps`, the goodput of the cell as it is, where that is more
    /// than there is. Who has an equal part of next to nothing is harmed all the same.
    pub(super) fn beside(&self, as_is_bps: f64) -> Vec<Seen> {
        let factor = (as_is_bps / self.goodput().max(1e-9)).max(1.0);
        self.records.iter().map(|record| Seen::beside(self.scenario, record, factor)).collect()
    }

    /// Jain's index of what each station (with one station: each flow) has of its max-min share, 0 to 1.
    pub(crate) fn fairness(&self) -> f64 {
        let parts = |shares: &[Option<f64>], goodput: &dyn Fn(usize) -> f64| -> Vec<f64> {
            let known =
                shares.iter().enumerate().filter_map(|(index, share)| Some((index, share.filter(|s| *s > 0.0)?)));
            known.map(|(index, share)| goodput(index) / share).collect()
        };
        let mean = |of: fn(&Seen) -> &Vec<f64>, index: usize| {
            self.seen.iter().map(|seen| of(seen)[index]).sum::<f64>() / self.seen.len().max(1) as f64
        };
        let stations = parts(&self.shares.stations, &|index| mean(|seen| &seen.whole.stations, index));
        let parts = if stations.len() > 1 {
            stations
        } else {
            parts(&self.shares.flows, &|index| mean(|seen| &seen.whole.flows, index))
        };
        jain_index(&parts).unwrap_or(1.0)
    }
}

fn sum(a: Estimate, b: Estimate) -> Estimate {
    let ci95 = (a.ci95.is_some() || b.ci95.is_some()).then(|| a.ci95.unwrap_or(0.0) + b.ci95.unwrap_or(0.0));
    Estimate { mean: Some(a.mean.unwrap_or(0.0) + b.mean.unwrap_or(0.0)), ci95, n: a.n.max(b.n) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::goal::Goal;

    /// A cell that keeps half of its goodput halves the shares of greedy flows, and not of a flow that asks for little.
    #[test]
    fn the_floor_is_judged_by_what_there_was() {
        let text = r#"
            name = "three"
            [run]
            duration = "12 s"
            warmup = "2 s"
            [[station]]
            name = "sensor"
            flows = [{ direction = "up", kind = "udp", rate = "50 kbit/s" }]
            [[station]]
            name = "reader"
            count = 2
            flows = [{ direction = "down" }]
        "#;
        let scenario = Scenario::from_toml(text, "three.toml").unwrap();
        let sample = Sample::new(&scenario, vec![crate::run(&scenario, 0)], false);
        let below = |floor: f64, as_is_bps: f64| crate::starved::in_any(&sample.beside(as_is_bps), floor).stations;
        let own = sample.goodput();
        assert!(below(0.6, 0.0).is_empty() && below(0.6, 0.5 * own).is_empty());
        assert_eq!(below(0.6, 2.0 * own), [1, 2]);
        assert!(below(0.3, 2.0 * own).is_empty());
    }

    /// A station that pauses for as long as a short look lasts may fetch nothing in it: no reason to call a plan bad. One that waits all that time
    /// is.
    #[test]
    fn a_short_look_in_which_no_file_ends_is_no_failure() {
        let text = r#"
            name = "pauses"
            [run]
            duration = "12 s"
            warmup = "2 s"
            [[station]]
            name = "web"
            count = 2
            flows = [{ direction = "down", kind = "files", size = "20 kB", idle = "9000 s" }]
            [[station]]
            name = "bulk"
            flows = [{ direction = "down", kind = "files", size = "1000 MB", idle = "1 s" }]
        "#;
        let scenario = Scenario::from_toml(text, "pauses.toml").unwrap();
        let miss = |goal: &str, is_proof: bool| {
            let sample = Sample::new(&scenario, vec![crate::run(&scenario, 0)], is_proof);
            let web = &sample.report.flows[0].transfers;
            assert_eq!(web.count.mean, Some(0.0), "its only file is over before the measured time");
            goal.parse::<Goal>().unwrap().miss(&sample, 0.1, 1.0, 0.0)
        };
        assert!(miss("files(web)<=1s", false) <= 0.0);
        assert!(miss("files(bulk)<=2400s", false) <= 0.0, "1.1 GB take about 1600 s at 5 Mbit/s");
        assert!(miss("files(bulk)<=800s", false) > 1.0, "10 s so far");
        let sample = Sample::new(&scenario, vec![crate::run(&scenario, 0)], false);
        let reached = "files(bulk)<=1s".parse::<Goal>().unwrap().reached(&sample);
        assert!(reached.starts_with("about 1") && reached.ends_with(" s"), "{reached}");
        assert!(miss("files(web)<=1s", true).is_infinite(), "a proof needs one");
    }

    /// 8 x 128 packets fit below the AP's queue, which is empty then.
    #[test]
    fn packets_that_wait_below_the_queue_for_aggregates_are_delayed() {
        let text = r#"
            name = "hidden"
            [run]
            duration = "3 s"
            warmup = "1 s"
            [radio]
            phy = "802.11ac"
            [ap]
            window_cap = { kind = "lossless", buffer = 600 }
            [[station]]
            name = "reader"
            count = 8
            flows = [{ direction = "down" }]
        "#;
        let scenario = Scenario::from_toml(text, "hidden.toml").unwrap();
        let sample = Sample::new(&scenario, vec![crate::run(&scenario, 0)], false);
        let (queue, ap) = (sample.report.ap_queue.p95_sojourn_s.mean, sample.report.ap_delay);
        let (below, delay) = (queue.unwrap(), sample.delay().mean.unwrap());
        assert!(below < 0.001 && delay > 0.005, "{below} s in the queue, {delay} s until sent");
        assert_eq!(sample.delay(), ap.p95_s, "the table shows what decides");
        assert!(ap.mean_s.mean.unwrap() > 0.5 * delay && ap.p99_s.mean.unwrap() >= delay, "{ap:?}");
    }
}
