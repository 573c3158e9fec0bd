//! Radio channels: APs on one channel share its air, so they share one pool.

use std::collections::BTreeMap;
use std::fmt;
use std::ops::RangeInclusive;

use fairair_core::scenario::reader::{Checked, Mistake, Reason, Table};

use super::{Ap, Config};

const EXAMPLE: &str =
    "channel = 36 (1 to 14: 2.4 GHz, 32 to 177: 5 GHz), or with its band in GHz \"6/2.4\", \"36/5\", \"37/6\"";

/// Frequency bands in GHz, and the numbers of channels in each (IEEE 802.11-2020 annex E, 802.11ax-2021 table E-4), whatever their width.
const BANDS: [(&str, RangeInclusive<u16>); 3] = [("2.4", 1..=14), ("5", 32..=177), (HIGHEST, 1..=233)];
const HIGHEST: &str = "6";

/// A channel of a band. Without a band a number is one of 2.4 or 5 GHz, which have no number in common.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Channel {
    band: &'static str,
    number: u16,
}

impl fmt::Display for Channel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.number, self.band)
    }
}

impl Channel {
    /// A number, or a number and its band, as `36/5`.
    pub fn parse(text: &str) -> Option<Channel> {
        let (number, band) = text.split_once('/').map_or((text, None), |(number, band)| (number, Some(band)));
        let number = number.parse().ok()?;
        let is_it = |own: &str| band.map_or(own != HIGHEST, |band| band == own);
        let mut bands = BANDS.into_iter().filter(|(own, numbers)| is_it(own) && numbers.contains(&number));
        bands.next().map(|(band, _)| Channel { band, number })
    }
}

/// The channel of an AP: a number or a text.
pub(super) fn read(table: &Table) -> Checked<Option<Channel>> {
    if !table.has("channel") {
        return Ok(None);
    }
    let text = if table.is_string("channel") {
        table.required::<String>("channel", EXAMPLE)?.value
    } else {
        table.required::<u64>("channel", EXAMPLE)?.value.to_string()
    };
    let no = || table.blame("channel", Reason::new("not a channel", format!("write for example {EXAMPLE}")));
    Channel::parse(&text).map(Some).ok_or_else(no)
}

/// The mistake of an AP whose `key` is not that of `other` on the same channel.
pub(super) fn differs(table: &Table, key: &str, other: &Ap) -> Mistake {
    let problem = format!("\"{}\" is on the same channel and has another `{key}` or none", other.name);
    let fix = format!("APs on one channel share its air: write `{key}` at the first of them only, or the same at each");
    let place = if table.has(key) { key } else { "channel" };
    table.blame(place, Reason::new(problem, fix))
}

impl Ap {
    /// Name of its pool: the AP's own, or that of the channel. No AP can be named as a channel, since names have no `/`.
    pub fn pool(&self) -> String {
        self.channel.map_or_else(|| self.name.clone(), |channel| format!("channel {channel}"))
    }
}

impl Config {
    /// The APs of each pool, in the order of the file.
    pub fn pools(&self) -> Vec<(String, Vec<Ap>)> {
        let (mut pools, mut places) = (Vec::<(String, Vec<Ap>)>::new(), BTreeMap::new());
        for ap in &self.aps {
            let name = ap.pool();
            let place = *places.entry(name.clone()).or_insert(pools.len());
            if place == pools.len() {
                pools.push((name, Vec::new()));
            }
            pools[place].1.push(ap.clone());
        }
        pools
    }
}
