//! `[[station]]`: stations with their flows, expanded.

use std::collections::BTreeMap;

use super::cursor::{At, Table};
use super::defaults::{Defaults, LARGEST_QUEUE, MOST_FLOWS, RATES_OF_ERROR};
use super::error::{Checked, Mistake, Span};
use super::modulation::phy_rate;
use super::name::checked_name;
use super::qos;
use super::{Flow, Station, access_point, queue, traffic};
use crate::shaper::Policy;
use crate::units::word;

/// Keys of `[[station]]`.
pub(super) const KEYS: &[&str] = &[
    "name",
    "count",
    "ap",
    "phy",
    "rate",
    "mcs",
    "streams",
    "width",
    "guard_interval",
    "beta",
    "frame_error",
    "bit_error_rate",
    "uplink_queue",
    "weight",
    "cap",
    "flows",
];
/// How access priorities may differ: beyond, contention windows have no meaning.
const BETAS: std::ops::RangeInclusive<f64> = 0.001..=1000.0;

/// How shares of the box may differ.
const WEIGHTS: std::ops::RangeInclusive<f64> = 0.01..=100.0;

/// Reads all `[[station]]` tables.
pub(super) fn stations(root: &Table, defaults: &Defaults) -> Checked<Vec<Station>> {
    const EXAMPLE: &str = "[[station]] with name = \"sta1\" and flows = [{ direction = \"down\" }]";
    let tables = root.tables("station", "[[station]]", EXAMPLE)?.unwrap_or_default();
    if tables.is_empty() {
        return Err(Mistake::new(&root.span_of("station"), "the scenario has no station", format!("add {EXAMPLE}")));
    }
    let mut stations = Vec::new();
    let mut taken = BTreeMap::new();
    let mut flows = 0;
    for table in tables {
        let (name, station) = station(&table, defaults)?;
        let count = table.within("count", 1..=MOST_FLOWS, 1)?;
        flows += count * station.flows.len() as u64;
        if flows > MOST_FLOWS || stations.len() as u64 + count > MOST_FLOWS {
            return Err(too_many(&table, flows.max(stations.len() as u64 + count)));
        }
        for index in 1..=count {
            let own = if count == 1 { name.value.clone() } else { format!("{}-{index}", name.value) };
            claim(&mut taken, &own, &name)?;
            let group = (count > 1).then(|| name.value.clone());
            stations.push(Station { name: own, group, ..station.clone() });
        }
    }
    Ok(stations)
}

/// Notes that `own` is taken, or refuses it if it was.
fn claim(taken: &mut BTreeMap<String, Span>, own: &str, name: &At<String>) -> Checked<()> {
    let Some(first) = taken.insert(own.to_owned(), name.span.clone()) else { return Ok(()) };
    let fix = "give each a name of its own; `count = N` names stations name-1 to name-N";
    Err(Mistake::new(&name.span, format!("two stations have the name `{own}`"), fix).and(&first, "first one"))
}

fn station(table: &Table, defaults: &Defaults) -> Checked<(At<String>, Station)> {
    table.allow(KEYS)?;
    let name = checked_name(table, "name = \"sta1\"")?;
    share_has_meaning(table, defaults.policy)?;
    let radio = &defaults.radio.radio;
    let tx = qos::station(table, defaults.radio)?;
    let uplink_mac80211 = queue::uplink(table)?;
    let station = Station {
        name: name.value.clone(),
        group: None,
        ap: access_point::of_station(table, defaults.access_points)?,
        rate: match tx {
            Some(tx) => tx.rate(),
            None => phy_rate(table, "rate", radio.phy)?.unwrap_or(radio.rate),
        },
        tx,
        beta: table.within("beta", BETAS, 1.0)?,
        frame_error: table.or("frame_error", defaults.radio.frame_error)?,
        bit_error_rate: table.within("bit_error_rate", RATES_OF_ERROR, defaults.radio.bit_error_rate)?,
        uplink_queue: match uplink_mac80211 {
            Some(params) => params.limit,
            None => table.within("uplink_queue", 1..=LARGEST_QUEUE, 1000)?,
        },
        uplink_mac80211,
        weight: table.within("weight", WEIGHTS, 1.0)?,
        cap: table.optional("cap")?.map(|cap| cap.value),
        flows: flows(table, defaults)?,
    };
    Ok((name, station))
}

/// Refuses a share of a box whose classes are not stations.
fn share_has_meaning(table: &Table, policy: Option<Policy>) -> Checked<()> {
    let key = ["weight", "cap"].into_iter().find(|key| table.has(key));
    let (Some(key), Some(policy)) = (key, policy.filter(|policy| !policy.is_by_station())) else { return Ok(()) };
    let problem = format!("it has no meaning with policy = \"{}\" in [enforce]", word(&policy));
    Err(table.wrong(key, problem, "remove it, or choose a policy by station, such as \"per-station\""))
}

fn flows(station: &Table, defaults: &Defaults) -> Checked<Vec<Flow>> {
    let tables = station.tables("flows", "a flow", "flows = [{ direction = \"down\" }]")?.unwrap_or_default();
    let mut flows: Vec<Flow> = Vec::new();
    for table in tables {
        let (flow, count) = traffic::flow(&table, defaults)?;
        let total = flows.len() as u64 + count;
        if total > MOST_FLOWS {
            return Err(too_many(&table, total));
        }
        flows.resize(total as usize, flow);
    }
    Ok(flows)
}

fn too_many(table: &Table, number: u64) -> Mistake {
    let problem = format!("this makes {number} stations or flows, more than {MOST_FLOWS}");
    let fix = format!("lower `count`: a scenario has at most {MOST_FLOWS} stations and {MOST_FLOWS} flows");
    if table.has("count") { table.wrong("count", problem, fix) } else { Mistake::new(table.span(), problem, fix) }
}
