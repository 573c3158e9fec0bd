//! Modulations by MCS: the keys `mcs`, `streams`, `width`, `guard_interval`, or a `rate` that names one of them.

use super::cursor::{At, Table};
use super::error::{Checked, Mistake};
use crate::mac::{Band, Mcs, McsError, Phy, TxVector, Width};
use crate::units::{Bitrate, Duration};

/// Keys that name a modulation with an MCS, besides `rate`.
pub(super) const KEYS: &[&str] = &["mcs", "streams", "width", "guard_interval"];

/// How far a written rate may be from the modulation's: tables print one decimal of Mbit/s.
const ROUNDING: u64 = 50_000;

/// What holds where a table names nothing else.
#[derive(Clone, Copy)]
pub(super) struct ModulationDefaults {
    /// Index of the MCS; `None`: the highest that exists.
    pub(super) index: Option<u8>,
    pub(super) streams: u8,
    pub(super) width: Width,
    pub(super) guard_interval: Duration,
}

impl ModulationDefaults {
    /// For a cell of `phy` in `band`: one stream, the width that access points are set to, a guard interval of 0.8 us.
    pub(super) fn of(phy: Phy, band: Band) -> Self {
        let width = if phy == Phy::N || band == Band::Ghz2 { Width::Mhz20 } else { Width::Mhz80 };
        ModulationDefaults { index: None, streams: 1, width, guard_interval: Duration::from_nanos(800) }
    }

    /// For a station of `phy` in a cell with the modulation `cell`; `named`: the file names its MCS.
    pub(super) fn in_cell(phy: Phy, band: Band, cell: (Phy, Mcs), named: bool) -> Self {
        let (cell_phy, mcs) = cell;
        let knows_guard = phy.guard_intervals().0.contains(&mcs.guard_interval.as_nanos());
        ModulationDefaults {
            index: (named && phy == cell_phy).then_some(mcs.index),
            streams: mcs.streams,
            width: mcs.width.min(phy.widest(band)),
            guard_interval: if knows_guard { mcs.guard_interval } else { Duration::from_nanos(800) },
        }
    }
}

/// What a table says.
struct Given {
    index: Option<u8>,
    streams: Option<u8>,
    width: Option<Width>,
    guard_interval: Option<Duration>,
}

impl Given {
    fn allows(&self, mcs: &Mcs) -> bool {
        self.index.is_none_or(|index| index == mcs.index)
            && self.streams.is_none_or(|streams| streams == mcs.streams)
            && self.width.is_none_or(|width| width == mcs.width)
            && self.guard_interval.is_none_or(|guard| guard == mcs.guard_interval)
    }
}

/// Reads the modulation of `phy` that `table` names; what it leaves open is as in `usual`.
pub(super) fn modulation(table: &Table, phy: Phy, band: Band, usual: ModulationDefaults) -> Checked<TxVector> {
    let given = given(table, phy, band)?;
    if let Some(rate) = table.optional::<Bitrate>("rate")? {
        if table.has("mcs") {
            let problem = format!("`rate` and `mcs` both name the modulation of {}", phy.name());
            return Err(Mistake::new(&rate.span, problem, "remove one of them"));
        }
        return by_rate(table, phy, band, usual, &given, &rate);
    }
    let mcs = Mcs {
        index: 0,
        streams: given.streams.unwrap_or(usual.streams),
        width: given.width.unwrap_or(usual.width),
        guard_interval: given.guard_interval.unwrap_or(usual.guard_interval),
    };
    let existing = |index| TxVector::with_mcs(phy, Mcs { index, ..mcs }, band);
    let below = |most: u8| (0..=most).rev().find_map(|index| existing(index).ok().map(|tx| (index, tx)));
    let Some(index) = given.index.or(usual.index) else {
        return Ok(below(phy.highest_mcs()).expect("MCS 0 is there").1);
    };
    existing(index).map_err(|error| {
        let key = KEYS.iter().find(|key| table.has(key)).copied().unwrap_or("mcs");
        let problem = format!("{} with {}: {error}", phy.name(), Mcs { index, ..mcs });
        let fix = match below(index.min(phy.highest_mcs())) {
            Some((index, _)) => format!("write mcs = {index}, the nearest that exists with these"),
            None => format!("write mcs, streams and width that {} has", phy.name()),
        };
        table.wrong(key, problem, fix)
    })
}

/// The keys, each within what `phy` has.
fn given(table: &Table, phy: Phy, band: Band) -> Checked<Given> {
    let width = table.optional::<Width>("width")?.map(|width| width.value);
    if width.is_some_and(|width| width > phy.widest(band)) {
        let problem = format!("{}: {}", phy.name(), McsError::Width(phy.widest(band)));
        return Err(table.wrong("width", problem, format!("write at most \"{}\"", phy.widest(band).name())));
    }
    let guard_interval = table.optional::<Duration>("guard_interval")?.map(|guard| guard.value);
    let (known, names) = phy.guard_intervals();
    if let Some(guard) = guard_interval.filter(|guard| !known.contains(&guard.as_nanos())) {
        let problem = format!("{} has no guard interval of {guard}", phy.name());
        return Err(table.wrong("guard_interval", problem, format!("write one of {names}")));
    }
    let mut streams = table.optional_within("streams", 1..=4)?.map(|streams: u32| streams as u8);
    // 802.11n numbers its MCSs through: 8 to 15 are 0 to 7 with two streams.
    let most = if phy == Phy::N { 31 } else { u32::from(phy.highest_mcs()) };
    let mut index = table.optional_within("mcs", 0..=most)?.map(|index: u32| index as u8);
    if let Some(number) = index.filter(|index| phy == Phy::N && *index > 7) {
        let own = number / 8 + 1;
        if let Some(other) = streams.filter(|streams| *streams != own) {
            let fix = format!("write mcs = {} for {other} streams, or remove `streams`", number % 8);
            return Err(table.wrong("mcs", format!("MCS {number} of 802.11n has {own} streams, not {other}"), fix));
        }
        (index, streams) = (Some(number % 8), Some(own));
    }
    Ok(Given { index, streams, width, guard_interval })
}

/// The one modulation with the written rate: among those that the other keys allow, and then with the usual values.
fn by_rate(
    table: &Table,
    phy: Phy,
    band: Band,
    usual: ModulationDefaults,
    given: &Given,
    rate: &At<Bitrate>,
) -> Checked<TxVector> {
    let all = all(phy, band);
    let allowed: Vec<&(Mcs, TxVector)> = all.iter().filter(|(mcs, _)| given.allows(mcs)).collect();
    let distance = |tx: &TxVector| tx.rate().as_bps().abs_diff(rate.value.as_bps());
    let mut named: Vec<&(Mcs, TxVector)> = allowed.iter().copied().filter(|(_, tx)| distance(tx) <= ROUNDING).collect();
    let is_usual = |mcs: &Mcs| {
        mcs.streams == usual.streams && mcs.width == usual.width && mcs.guard_interval == usual.guard_interval
    };
    if named.len() > 1 {
        let with_usual: Vec<_> = named.iter().copied().filter(|(mcs, _)| is_usual(mcs)).collect();
        if let [one] = with_usual[..] {
            named = vec![one];
        }
    }
    let list =
        |some: &[&(Mcs, TxVector)]| some.iter().take(3).map(|(_, tx)| tx.to_string()).collect::<Vec<_>>().join("; ");
    match &named[..] {
        [(_, tx)] => Ok(*tx),
        [] => {
            let nearest = allowed.iter().copied().min_by_key(|(_, tx)| distance(tx));
            let problem = format!("{} has no modulation of {} with the other keys", phy.name(), rate.value);
            let fix = match nearest {
                Some(nearest) => format!("the nearest is {}; write it, or mcs, streams and width", list(&[nearest])),
                None => "write mcs, streams and width".to_owned(),
            };
            Err(table.wrong("rate", problem, fix))
        }
        several => {
            let problem = format!("{} modulations of {} have {}", several.len(), phy.name(), rate.value);
            let fix = format!("add streams, width or guard_interval, or write mcs: {}", list(several));
            Err(table.wrong("rate", problem, fix))
        }
    }
}

/// Every modulation of `phy` in `band`.
fn all(phy: Phy, band: Band) -> Vec<(Mcs, TxVector)> {
    let mut all = Vec::new();
    for width in Width::ALL {
        for streams in 1..=4 {
            for guard in phy.guard_intervals().0 {
                for index in 0..=phy.highest_mcs() {
                    let mcs = Mcs { index, streams, width, guard_interval: Duration::from_nanos(*guard) };
                    all.extend(TxVector::with_mcs(phy, mcs, band).map(|tx| (mcs, tx)));
                }
            }
        }
    }
    all
}

/// The rate under `key`, which the PHY must have.
pub(super) fn phy_rate(table: &Table, key: &str, phy: Phy) -> Checked<Option<Bitrate>> {
    let Some(rate) = table.optional::<Bitrate>(key)? else { return Ok(None) };
    if phy.has_rate(rate.value) {
        return Ok(Some(rate.value));
    }
    let rates: Vec<_> = phy.rates_kbps().iter().map(|kbps| Bitrate::from_bps(kbps * 1000).to_string()).collect();
    let problem = format!("{} does not have {}", phy.name(), rate.value);
    Err(table.wrong(key, problem, format!("write one of {}", rates.join(", "))))
}
