//! The box between gateway and AP, and what set its capacity.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Estimate;
use super::cell::{Cell, Replica, drop_sides, mean_packets, sojourn_sides};
use crate::control::Decision;
use crate::packet::{Direction, FlowId};
use crate::scenario::{Flow, Traffic};
use crate::shaper::StationStats;
use crate::units::word;

/// The box.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct EnforceReport {
    /// One row a station, in the scenario's order.
    pub stations: Vec<EnforceStation>,
    /// Probes sent a replica, warm-up included.
    pub probes: Estimate,
    /// Probes without a reply in time over probes.
    pub probe_loss: Estimate,
    /// What `udp = "auto"` decided.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub udp: Option<UdpReport>,
    /// Changes of C in replica 0, from the start of the run; empty with a fixed C. With a pool an access point C is the sum of theirs.
    pub trace: CapacityTrace,
    /// The same of each pool where there are several.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub pools: Vec<PoolReport>,
}

/// A pool of several.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PoolReport {
    /// Name of the access point that it belongs to.
    pub access_point: String,
    /// Changes of its C in replica 0.
    pub trace: CapacityTrace,
}

/// A station's part of the box.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct EnforceStation {
    /// Its name.
    pub name: String,
    /// IP bytes that the box let pass towards the wire.
    pub passed_up_bps: Estimate,
    /// IP bytes that the box let pass towards the radio.
    pub passed_down_bps: Estimate,
    /// IP bytes of uplink UDP that passed by the box.
    pub bypassed_bps: Estimate,
    /// Its packets waiting in the box, both directions, mean over time.
    pub mean_packets: Estimate,
    /// Waiting time in the box of a packet that was let pass.
    pub mean_sojourn_s: Estimate,
    /// Packets dropped there over packets that arrived there.
    pub drop_probability: Estimate,
}

/// Decisions of `udp = "auto"`, from the start of the run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct UdpReport {
    /// Uplink flows of UDP other than QUIC that were called unresponsive, a replica.
    pub unresponsive: Estimate,
    /// Uplink flows of UDP other than QUIC that never were: false decisions.
    pub missed: Estimate,
    /// QUIC flows that were called unresponsive at some time, a replica: false decisions.
    pub mistaken: Estimate,
    /// From a flow's first packet at the box until it was rightly called unresponsive.
    pub decision_s: Estimate,
}

/// C over time, column by column.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CapacityTrace {
    /// Time of each decision, in seconds from the start of the run.
    pub at_s: Vec<f64>,
    /// C from then on, in IP bytes of both directions.
    pub capacity_bps: Vec<u64>,
    /// What was known: `run`, `idle`, `no-signal`, `blind`.
    pub state: Vec<String>,
    /// Reason of each decision.
    pub reason: Vec<String>,
}

impl<'a> Cell<'a> {
    /// The box, if the scenario has one.
    pub(super) fn enforce(&self) -> Option<EnforceReport> {
        self.scenario.enforce.as_ref()?;
        let first = self.replicas.first().and_then(|replica| replica.record()?.enforce.as_ref());
        let control = |replica: &Replica| replica.record()?.enforce.as_ref().map(|enforce| enforce.control);
        Some(EnforceReport {
            stations: (0..self.scenario.stations.len()).map(|index| self.enforce_station(index)).collect(),
            probes: self.mean(|replica| control(replica).map(|control| control.probes as f64)),
            probe_loss: self.ratio(|replica| control(replica).map(|c| (c.lost as f64, c.probes as f64))),
            udp: first.is_some_and(|enforce| enforce.udp.is_some()).then(|| self.udp()),
            trace: trace(first.map_or(&[], |enforce| &enforce.trace)),
            pools: first.map_or_else(Vec::new, |enforce| self.pools(&enforce.pools)),
        })
    }

    fn pools(&self, traces: &[Vec<Decision>]) -> Vec<PoolReport> {
        let names = self.scenario.access_point_names().map(str::to_owned);
        names.zip(traces).map(|(access_point, of)| PoolReport { access_point, trace: trace(of) }).collect()
    }

    fn udp(&self) -> UdpReport {
        let flows: Vec<&Flow> = self.scenario.flows().map(|(_, flow)| flow).collect();
        let is_unresponsive = |flow: &Flow| matches!(flow.traffic, Traffic::UdpGreedy { .. } | Traffic::UdpCbr { .. });
        let sent = flows.iter().filter(|flow| flow.direction == Direction::Up && is_unresponsive(flow)).count();
        // The first time that each flow was called unresponsive, and whether that was right.
        let calls = |replica: &Replica| {
            let mut calls: BTreeMap<FlowId, (f64, bool)> = BTreeMap::new();
            for change in replica.record()?.enforce.as_ref()?.udp.as_ref()? {
                if change.verdict.is_unresponsive() {
                    let after = change.at.saturating_since(change.since).as_secs_f64();
                    let is_right = flows.get(change.flow.index()).is_some_and(|flow| is_unresponsive(flow));
                    calls.entry(change.flow).or_insert((after, is_right));
                }
            }
            Some(calls)
        };
        let count = |replica: &Replica, right: bool| {
            Some(calls(replica)?.values().filter(|(_, is_right)| *is_right == right).count() as f64)
        };
        UdpReport {
            unresponsive: self.mean(|replica| count(replica, true)),
            missed: self.mean(|replica| Some(sent as f64 - count(replica, true)?)),
            mistaken: self.mean(|replica| count(replica, false)),
            decision_s: self.ratio(|replica| {
                let times: Vec<f64> =
                    calls(replica)?.into_values().filter_map(|(after, is_right)| is_right.then_some(after)).collect();
                Some((times.iter().sum(), times.len() as f64))
            }),
        }
    }

    fn enforce_station(&self, index: usize) -> EnforceStation {
        let stats = |replica: &Replica<'a>| replica.record()?.enforce.as_ref()?.stations.get(index);
        let queue = |replica: &Replica<'a>| stats(replica).map(|stats| &stats.queue);
        let bps = |bytes: fn(&StationStats) -> u64| {
            self.mean(|replica| stats(replica).map(|stats| bytes(stats) as f64 * 8.0 / replica.seconds))
        };
        EnforceStation {
            name: self.scenario.stations[index].name.clone(),
            passed_up_bps: bps(|stats| stats.passed[Direction::Up as usize].0),
            passed_down_bps: bps(|stats| stats.passed[Direction::Down as usize].0),
            bypassed_bps: bps(|stats| stats.bypassed.0),
            mean_packets: self.mean(|replica| queue(replica).map(|queue| mean_packets(queue, replica))),
            mean_sojourn_s: self.ratio(|replica| queue(replica).map(sojourn_sides)),
            drop_probability: self.ratio(|replica| queue(replica).map(drop_sides)),
        }
    }
}

fn trace(trace: &[Decision]) -> CapacityTrace {
    CapacityTrace {
        at_s: trace.iter().map(|decision| decision.at.as_secs_f64()).collect(),
        capacity_bps: trace.iter().map(|decision| decision.capacity.as_bps()).collect(),
        state: trace.iter().map(|decision| word(&decision.state)).collect(),
        reason: trace.iter().map(|decision| word(&decision.reason)).collect(),
    }
}
