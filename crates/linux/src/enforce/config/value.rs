//! Values that several tables have.

use std::net::IpAddr;
use std::path::PathBuf;
use std::str::FromStr;

use fairair_core::scenario::reader::{Checked, Mistake, Reason, Table};
use fairair_core::units::Bitrate;

use super::parts::{Ap, Plan};

/// Shares may differ by so much.
pub(in crate::enforce) const WEIGHTS: std::ops::RangeInclusive<f64> = 0.01..=100.0;
/// Below, a packet takes longer than anybody waits; above 34 Gbit/s HTB's 32 bits for bytes a second do not suffice.
pub(in crate::enforce) const RATES: std::ops::RangeInclusive<Bitrate> =
    Bitrate::from_bps(10_000)..=Bitrate::mbps(30_000);
/// Rates of data frames in 802.11, from the first to 802.11be with sixteen streams; any other value is an error of its source.
pub(in crate::enforce) const PHY_RATES: std::ops::RangeInclusive<Bitrate> = Bitrate::mbps(1)..=Bitrate::mbps(50_000);

/// The value of `key` as anything that parses.
pub(super) fn parsed<T: FromStr>(table: &Table, key: &str, what: &str, example: &str) -> Checked<Option<T>> {
    let Some(text) = table.optional::<String>(key)? else { return Ok(None) };
    match text.value.parse() {
        Ok(value) => Ok(Some(value)),
        Err(_) => Err(no(table, key, &text.value, what, example)),
    }
}

/// The list under `key`, each entry as anything that parses.
pub(super) fn list<T: FromStr>(table: &Table, key: &str, what: &str, example: &str) -> Checked<Vec<T>> {
    let texts = table.or::<Vec<String>>(key, Vec::new())?;
    texts.iter().map(|text| text.parse().map_err(|_| no(table, key, text, what, example))).collect()
}

pub(super) fn no(table: &Table, key: &str, text: &str, what: &str, example: &str) -> Mistake {
    let shown: String = text.escape_debug().take(60).collect();
    table.blame(key, Reason::new(format!("\"{shown}\" is not {what}"), format!("write for example {example}")))
}

/// What stands beside the word under `key` in `words`, if the key is given.
pub(super) fn word<T: Copy>(table: &Table, key: &str, words: &[(&str, T)], fix: &str) -> Checked<Option<T>> {
    let Some(text) = table.optional::<String>(key)? else { return Ok(None) };
    let known = words.iter().find(|(word, _)| *word == text.value).map(|(_, value)| *value);
    known.map(Some).ok_or_else(|| table.blame(key, Reason::new("not known", fix)))
}

pub(super) fn path(table: &Table, key: &str) -> Checked<Option<PathBuf>> {
    let Some(text) = table.optional::<String>(key)? else { return Ok(None) };
    if text.value.starts_with('/') && !text.value.contains('\0') {
        return Ok(Some(PathBuf::from(text.value)));
    }
    Err(table.blame(key, Reason::new("not an absolute path", "write a path that begins with /")))
}

/// Whether it is an interface's name that is safe to be part of a command.
pub(in crate::enforce) fn is_interface(name: &str) -> bool {
    let good = |byte: u8| byte.is_ascii_alphanumeric() || b"_.-@".contains(&byte);
    (1..=15).contains(&name.len())
        && name.bytes().all(good)
        && !name.starts_with(['-', '.'])
        && !name.starts_with("fairair")
}

/// An interface's name, safe to be part of a command.
pub(super) fn interface(table: &Table, key: &str, name: &str) -> Checked<String> {
    if is_interface(name) {
        return Ok(name.to_owned());
    }
    if name.starts_with("fairair") {
        let fix = "name the interface towards the access point or the gateway";
        return Err(table.blame(key, Reason::new("the box makes devices with such names itself", fix)));
    }
    Err(no(table, key, name, "the name of an interface", "\"eth1\" (at most 15 letters, digits, dots, dashes)"))
}

/// Whether a device can have `address`.
pub(in crate::enforce) fn is_one_host(address: &IpAddr) -> bool {
    let is_broadcast = matches!(address, IpAddr::V4(address) if address.is_broadcast());
    !(address.is_multicast() || address.is_unspecified() || address.is_loopback() || is_broadcast)
}

/// The name of one of `aps` under `ap`, if it is given.
pub(super) fn ap(table: &Table, aps: &[Ap]) -> Checked<Option<String>> {
    match table.optional::<String>("ap")?.map(|ap| ap.value) {
        Some(name) if aps.iter().all(|ap| ap.name != name) => {
            Err(table.blame("ap", Reason::new("there is no such AP", format!("write one of {}", names(aps)))))
        }
        name => Ok(name),
    }
}

/// The names of `aps`, with commas.
pub(in crate::enforce) fn names(aps: &[Ap]) -> String {
    aps.iter().map(|ap| ap.name.as_str()).collect::<Vec<_>>().join(", ")
}

/// Weight and cap of `table`, else of `usual`.
pub(super) fn plan(table: &Table, usual: Plan) -> Checked<Plan> {
    Ok(Plan {
        weight: table.within("weight", WEIGHTS, usual.weight)?,
        cap: table.optional_within("cap", RATES)?.or(usual.cap),
    })
}
