//! `[[station]]` of the configuration.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

use fairair_core::scenario::reader::{At, Checked, Mistake, Reason, Table, checked_name};
use fairair_core::shaper::Policy;

use super::super::discovery::NEWCOMERS;
use super::discovery::Discovery;
use super::value::{PHY_RATES, ap, is_one_host, list, parsed, plan};
use super::{Ap, Mac, Mode, Plan, Station};

const MOST_STATIONS: usize = 3800;

pub(super) fn stations(
    root: &Table,
    policy: Policy,
    mode: Mode,
    aps: &[Ap],
    discovery: &Discovery,
    plans: &BTreeMap<String, Plan>,
) -> Checked<Vec<Station>> {
    let example = "[[station]] with name = \"desk\" and addresses = [\"10.1.0.2\"]";
    let tables = root.tables("station", "[[station]]", example)?.unwrap_or_default();
    if tables.len() > MOST_STATIONS {
        let problem = format!("{} stations, more than {MOST_STATIONS}", tables.len());
        return Err(Mistake::new(tables[MOST_STATIONS].span(), problem, "run a second box"));
    }
    let mut names = BTreeSet::new();
    let mut owners: BTreeMap<String, String> = BTreeMap::new();
    let mut stations = Vec::new();
    for table in &tables {
        let At { value: station, span } = station(table, mode, aps, discovery, plans)?;
        if !policy.is_by_station() && (table.has("weight") || table.has("cap") || table.has("plan")) {
            let fix = "remove weight, cap and plan, or choose a policy by station";
            return Err(Mistake::new(&span, "weights and caps have no meaning with this policy", fix));
        }
        if station.name.eq_ignore_ascii_case(NEWCOMERS) {
            let reason = Reason::new("the class that stations without one share has this name", "write another name");
            return Err(table.blame("name", reason));
        }
        if is_another(&station) {
            let fix = "write a name that is no address, or one of the station's own";
            return Err(table.blame("name", Reason::new("the device that has this address would be taken for it", fix)));
        }
        if !names.insert(station.name.clone()) {
            return Err(table.blame("name", Reason::new("another station has this name", "give each its own")));
        }
        let mac = station.mac.iter().map(ToString::to_string);
        for key in mac.chain(station.addresses.iter().map(ToString::to_string)) {
            if let Some(owner) = owners.insert(key.clone(), station.name.clone()) {
                let problem = format!("{key} is that of station \"{owner}\" too");
                return Err(Mistake::new(&span, problem, "give each station its own addresses"));
            }
        }
        stations.push(station);
    }
    Ok(stations)
}

fn station(
    table: &Table,
    mode: Mode,
    aps: &[Ap],
    discovery: &Discovery,
    plans: &BTreeMap<String, Plan>,
) -> Checked<At<Station>> {
    let name = checked_name(table, "name = \"desk\"")?.value;
    let mac = parsed::<Mac>(table, "mac", "a MAC address", "\"02:00:5e:10:00:01\"")?;
    if mac.is_some_and(Mac::is_multicast) {
        let fix = "write the address of one device: its first byte is even";
        return Err(table.blame("mac", Reason::new("this is the address of a group", fix)));
    }
    let addresses = list::<IpAddr>(table, "addresses", "an address", "[\"10.1.0.2\"]")?;
    if let Some(address) = addresses.iter().find(|address| !is_one_host(address)) {
        let fix = "write the address that the device has";
        return Err(table.blame("addresses", Reason::new(format!("{address} is no address of one device"), fix)));
    }
    if mac.is_none() && (addresses.is_empty() || mode == Mode::Bridged) {
        return Err(table.lacks("mac", "mac = \"02:00:5e:10:00:01\", or in routed mode addresses = [\"10.1.0.2\"]"));
    }
    let ap = ap(table, aps)?;
    if ap.is_none() && aps.len() > 1 {
        let of = |address: &IpAddr| aps.iter().position(|ap| ap.prefixes.iter().any(|prefix| prefix.contains(address)));
        let is_listed = mac.is_some() && aps.iter().all(|ap| ap.prefixes.is_empty() && discovery.lists(&ap.name));
        if !is_listed && (addresses.is_empty() || addresses.iter().any(|address| of(address).is_none())) {
            return Err(table.lacks("ap", "ap = \"ap1\": no prefix of an AP says where this station is"));
        }
    }
    let usual = match table.optional::<String>("plan")? {
        None => Plan::default(),
        Some(named) => *plans.get(&named.value).ok_or_else(|| {
            let list = plans.keys().map(String::as_str).collect::<Vec<_>>().join(", ");
            let fix =
                if list.is_empty() { "add a [[plan]] of that name".to_owned() } else { format!("write one of {list}") };
            table.blame("plan", Reason::new("there is no such plan", fix))
        })?,
    };
    let rate = table.optional_within("rate", PHY_RATES)?;
    let station = Station { name, ap, mac, addresses, plan: plan(table, usual)?, rate };
    Ok(At { value: station, span: table.span().clone() })
}

/// Whether the name of `station` is the address of another device: what is asked of that by its address would be asked of this one.
fn is_another(station: &Station) -> bool {
    let own_mac = |mac| station.mac == Some(mac);
    station.name.parse().is_ok_and(|mac| !own_mac(mac))
        || station.name.parse().is_ok_and(|address: IpAddr| !station.addresses.contains(&address))
}
