//! `[[event]]`: what changes during the run.

use super::cursor::{Kind, Table};
use super::error::{Checked, Mistake, Span};
use super::modulation::phy_rate;
use super::modulation::{self, ModulationDefaults};
use super::value::nearest;
use super::{Action, Radio, Run, Station, TimedEvent, qos};
use crate::mac::{Band, Modulation, TxVector};
use crate::units::{Duration, quote};

/// Keys that events of all kinds have.
pub(super) const COMMON: &[&str] = &["at"];

/// What a reader of an event needs besides its table.
struct Around<'a> {
    radio: &'a Radio,
    stations: &'a [Station],
    has_box: bool,
}

/// One table is more than one action where stations of several PHYs change.
type Read = fn(&Table, &Around) -> Checked<Vec<Action>>;

/// Every kind of event, with its keys and their reader.
const KINDS: &[Kind<Read>] = &[
    Kind { name: "rate", keys: &["station", "rate", "mcs", "streams", "width", "guard_interval"], read: |_| Ok(rate) },
    Kind { name: "silence", keys: &["lasts"], read: |_| Ok(silence) },
    Kind { name: "enforce", keys: &["on"], read: |_| Ok(enforce) },
    Kind { name: "deaf", keys: &["station", "on"], read: |_| Ok(deaf) },
    Kind { name: "sleep", keys: &["station", "shortest", "longest"], read: |_| Ok(sleep) },
];

/// Reads all `[[event]]` tables.
pub(super) fn events(
    root: &Table,
    run: &Run,
    radio: &Radio,
    stations: &[Station],
    has_box: bool,
) -> Checked<Vec<TimedEvent>> {
    const EXAMPLE: &str = "[[event]] with at = \"57 s\", kind = \"silence\" and lasts = \"1 s\"";
    let around = Around { radio, stations, has_box };
    let mut events = Vec::new();
    let mut switches: Vec<(Duration, bool, Span)> = Vec::new();
    for table in root.tables("event", "[[event]]", EXAMPLE)?.unwrap_or_default() {
        let read = (table.kind(KINDS, None, COMMON)?.read)(&table)?;
        let at = table.required::<Duration>("at", "at = \"57 s\"")?.value;
        if at >= run.duration {
            let problem = format!("{at} is not before the run's end at {}", run.duration);
            return Err(table.wrong("at", problem, format!("write a time below {}", run.duration)));
        }
        let actions = read(&table, &around)?;
        if let [Action::Enforce { on }] = actions[..] {
            if let Some((.., other)) = switches.iter().find(|(when, was_on, _)| *when == at && *was_on != on) {
                let problem = format!("at {at} another event switches the box the other way");
                return Err(table.wrong("at", problem, "remove one of the two").and(other, "the other one"));
            }
            switches.push((at, on, table.span_of("at")));
        }
        events.extend(actions.into_iter().map(|action| TimedEvent { at, action }));
    }
    events.sort_by_key(|event| event.at);
    Ok(events)
}

fn rate(table: &Table, around: &Around) -> Checked<Vec<Action>> {
    if let Some(qos) = around.radio.qos {
        return modulations(table, around, qos.band);
    }
    qos::refuse_keys(table, modulation::KEYS, around.radio.phy)?;
    let stations = chosen(table, around)?;
    let phy_of = |station: usize| around.radio.station_tx(&around.stations[station]).phy();
    let phy = stations.first().map_or(around.radio.phy, |first| phy_of(*first));
    if stations.iter().any(|station| phy_of(*station) != phy) {
        let fix = "name stations of one PHY in `station`, and write an [[event]] for each PHY";
        return Err(table.wrong("rate", "no rate is one of 802.11b and of 802.11g", fix));
    }
    let Some(rate) = phy_rate(table, "rate", phy)? else {
        return Err(table.lacks("rate", "rate = \"2 Mbit/s\""));
    };
    Ok(vec![Action::Rate { stations, rate, tx: None }])
}

/// The modulations that stations change to; what the event does not name is as it was at the start.
fn modulations(table: &Table, around: &Around, band: Band) -> Checked<Vec<Action>> {
    if !table.has("rate") && !modulation::KEYS.iter().any(|key| table.has(key)) {
        return Err(table.lacks("mcs", "mcs = 3, or streams, width, guard_interval or rate"));
    }
    let mut actions: Vec<(TxVector, Vec<usize>)> = Vec::new();
    for station in chosen(table, around)? {
        let before = around.radio.station_tx(&around.stations[station]);
        let tx = match before.modulation() {
            Modulation::Mcs(mcs) => {
                let usual = ModulationDefaults::in_cell(before.phy(), band, (before.phy(), mcs), true);
                modulation::modulation(table, before.phy(), band, usual)?
            }
            Modulation::Rate(_) => rate_without_mcs(table, before)?,
        };
        match actions.iter_mut().find(|(own, _)| *own == tx) {
            Some((_, stations)) => stations.push(station),
            None => actions.push((tx, vec![station])),
        }
    }
    Ok(actions.into_iter().map(|(tx, stations)| Action::Rate { stations, rate: tx.rate(), tx: Some(tx) }).collect())
}

/// The modulation that a station of 802.11b, a or g in a cell with MCSs changes to.
fn rate_without_mcs(table: &Table, before: TxVector) -> Checked<TxVector> {
    if let Some(key) = modulation::KEYS.iter().find(|key| table.has(key)) {
        let problem = format!("`{key}` for a station of {}, which has rates only", before.phy().name());
        return Err(table.wrong(key, problem, "write `rate`, or name stations of 802.11n, ac or ax in `station`"));
    }
    let Some(rate) = phy_rate(table, "rate", before.phy())? else {
        return Err(table.lacks("rate", "rate = \"2 Mbit/s\""));
    };
    Ok(TxVector::at_rate(before.phy(), rate))
}

fn silence(table: &Table, _: &Around) -> Checked<Vec<Action>> {
    Ok(vec![Action::Silence { lasts: table.required("lasts", "lasts = \"1 s\"")?.value }])
}

fn enforce(table: &Table, around: &Around) -> Checked<Vec<Action>> {
    if !around.has_box {
        return Err(table.wrong("kind", "there is no box to switch on or off", "add [enforce], or remove the event"));
    }
    Ok(vec![Action::Enforce { on: table.or("on", true)? }])
}

fn deaf(table: &Table, around: &Around) -> Checked<Vec<Action>> {
    Ok(vec![Action::Deaf { stations: chosen(table, around)?, on: table.or("on", true)? }])
}

fn sleep(table: &Table, around: &Around) -> Checked<Vec<Action>> {
    let shortest = table.or("shortest", Duration::from_millis(100))?;
    let longest = table.or("longest", Duration::from_millis(300))?;
    if shortest > longest {
        let problem = format!("the shortest delay, {shortest}, is above the longest, {longest}");
        return Err(table.wrong("shortest", problem, "write shortest <= longest"));
    }
    Ok(vec![Action::Sleep { stations: chosen(table, around)?, shortest, longest }])
}

/// The stations with the name that `station` gives, or the members of a group `name-1`, `name-2`, ...; without it all.
fn chosen(table: &Table, around: &Around) -> Checked<Vec<usize>> {
    let Some(name) = table.optional::<String>("station")? else { return Ok((0..around.stations.len()).collect()) };
    let is_meant = |station: &Station| {
        let rest = station.name.strip_prefix(name.value.as_str());
        rest.is_some_and(|rest| rest.is_empty() || rest.strip_prefix('-').is_some_and(|n| n.parse::<u32>().is_ok()))
    };
    let stations: Vec<usize> =
        around.stations.iter().enumerate().filter(|(_, station)| is_meant(station)).map(|(index, _)| index).collect();
    if stations.is_empty() {
        let problem = format!("`station` in [[event]]: there is no station {}", quote(&name.value));
        let group = |name: &str| name.trim_end_matches(|c: char| c.is_ascii_digit()).len();
        let names: Vec<&str> = around
            .stations
            .iter()
            .map(|station| station.name.as_str())
            .flat_map(|name| [Some(name), name[..group(name)].strip_suffix('-')])
            .flatten()
            .collect();
        let meant = nearest(&name.value, &names).map_or_else(String::new, |near| format!("did you mean \"{near}\"? "));
        let fix = format!("{meant}Write the name of a [[station]], or leave `station` out to mean all");
        return Err(Mistake::new(&name.span, problem, fix));
    }
    Ok(stations)
}
