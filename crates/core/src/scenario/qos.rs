//! The part of `[radio]` that 802.11n, ac and ax have.

use toml::de::DeValue;

use super::cursor::Table;
use super::defaults::RadioSection;
use super::edca::edca;
use super::error::Checked;
use super::modulation::{self, ModulationDefaults, phy_rate};
use super::protection::protection_rate;
use super::value::{FromToml, Reason};
use super::{Preset, QosRadio, Radio};
use crate::mac::{Aggregation, Band, LONGEST_PPDU, Modulation, Phy, Preamble, TxVector};
use crate::units::{Bitrate, Bytes, Duration};

/// Keys of `[radio]` that the other PHYs have not.
pub(super) const KEYS: &[&str] = &[
    "band",
    "mcs",
    "streams",
    "width",
    "guard_interval",
    "aggregation",
    "amsdu",
    "bar",
    "rts",
    "txop",
    "lifetime",
    "edca",
];
/// Keys of `aggregation`.
pub(super) const AGGREGATION: &[&str] = &["max_bytes", "window", "max_mpdus", "max_duration"];

/// Attempts of an MPDU unless the file says otherwise: ath9k's with aggregation (`ATH_MAX_SW_RETRIES`), the standard's without.
const USUAL_ATTEMPTS: (u32, u32) = (30, 7);

/// The shortest limit of an A-MSDU that a file may name: it holds two packets without data.
const SHORTEST_AMSDU: u64 = 256;

/// The shortest limit of a PPDU's duration that a file may name.
const SHORTEST_LIMIT: Duration = Duration::from_micros(100);

/// `rts`: for all data, for none, for PSDUs above a size, or for PPDUs above a duration.
#[derive(Default)]
struct Rts {
    above: Option<Bytes>,
    longer: Option<Duration>,
}

impl FromToml for Rts {
    fn from_toml(value: &DeValue) -> Result<Self, Reason> {
        if let Some(all) = value.as_bool() {
            return Ok(Rts { above: all.then_some(Bytes(0)), longer: None });
        }
        if let Ok(longer) = Duration::from_toml(value) {
            return Ok(Rts { above: None, longer: Some(longer) });
        }
        Bytes::from_toml(value).map(|bytes| Rts { above: Some(bytes), longer: None }).map_err(|reason| {
            let fix = "write true, false, or the longest PSDU or PPDU without RTS, such as \"1000 B\" or \"2 ms\"";
            Reason::new(reason.problem, fix)
        })
    }
}

/// Reads `[radio]` with `phy`, which has MCSs. The keys are known to be good.
pub(super) fn radio(root: &Table, table: &Table, phy: Phy, preset: Preset) -> Checked<Radio> {
    if preset == Preset::Ns2 {
        let problem = format!("`preset = \"ns2\"` with {}, which ns-2 does not have", phy.name());
        return Err(table.wrong("phy", problem, "write preset = \"ns3\", or leave `preset` out"));
    }
    let band = table.or("band", phy.usual_band())?;
    if !phy.is_in(band) {
        let problem = format!("{} is not in this band", phy.name());
        return Err(table.wrong("band", problem, "write \"5 GHz\", or phy = \"802.11ax\""));
    }
    let protection_rate = protection_rate(root, table, (phy, band), preset)?;
    if protection_rate.is_none() && table.has("preamble") {
        return Err(table.wrong(
            "preamble",
            format!("an 802.11b preamble, but the PHY is {}", phy.name()),
            "remove it",
        ));
    }
    let data = modulation::modulation(table, phy, band, ModulationDefaults::of(phy, band))?;
    let Modulation::Mcs(mcs) = data.modulation() else { unreachable!("{} has MCSs", phy.name()) };
    let aggregation = aggregation(table, phy, preset)?;
    let usual_limit = match (preset, aggregation) {
        (Preset::Ns3, _) => None,
        (_, Some(_)) => Some(USUAL_ATTEMPTS.0),
        (_, None) => Some(USUAL_ATTEMPTS.1),
    };
    let retry_limit = limit(table, "retry_limit", 1..=1000, usual_limit)?;
    let lifetime = limit(table, "lifetime", Duration::from_millis(1)..=Duration::from_secs(3600), None)?;
    let rts = table.or("rts", Rts::default())?;
    let qos = QosRadio {
        band,
        mcs,
        edca: edca(table, preset)?,
        aggregation,
        amsdu: amsdu(table, phy, aggregation.is_some())?,
        bar: table.or("bar", preset == Preset::Ns3)?,
        rts_above: rts.above,
        rts_longer: rts.longer,
        retry_limit,
        lifetime,
    };
    Ok(Radio {
        phy,
        rate: data.rate(),
        basic_rate: phy_rate(table, "basic_rate", phy)?.unwrap_or(Bitrate::mbps(24)),
        protection_rate,
        preamble: table.or("preamble", Preamble::Long)?,
        retry_limit: retry_limit.unwrap_or(USUAL_ATTEMPTS.1),
        eifs: table.or("eifs", preset != Preset::Ns3)?,
        cw_min: None,
        cw_max: None,
        qos: Some(qos),
    })
}

/// A limit, which `"none"` removes.
fn limit<T>(table: &Table, key: &str, range: std::ops::RangeInclusive<T>, usual: Option<T>) -> Checked<Option<T>>
where
    T: FromToml + PartialOrd + std::fmt::Display,
{
    if table.is(key, "none") {
        return Ok(None);
    }
    Ok(table.optional_within(key, range)?.or(usual))
}

/// `aggregation = "off"`, or its limits.
fn aggregation(radio: &Table, phy: Phy, preset: Preset) -> Checked<Option<Aggregation>> {
    let (most_bytes, most_mpdus) = phy.most_aggregated();
    let usual = match preset {
        Preset::Ns3 => Aggregation::new(Bytes(65_535), 64),
        Preset::Standard | Preset::Ns2 => Aggregation::new(Bytes(most_bytes), most_mpdus),
    };
    if radio.is_string("aggregation") {
        radio.one_of("aggregation", &[("off", ())])?;
        return Ok(None);
    }
    let table = radio.table("aggregation", "aggregation")?;
    table.allow(AGGREGATION)?;
    Ok(Some(Aggregation {
        max_bytes: Bytes(table.within("max_bytes", 256..=most_bytes, usual.max_bytes.0)?),
        window: table.within("window", 1..=most_mpdus, usual.window)?,
        max_mpdus: table.optional_within("max_mpdus", 1..=most_mpdus)?,
        max_duration: table.optional_within("max_duration", SHORTEST_LIMIT..=LONGEST_PPDU)?,
    }))
}

/// `amsdu = "off"`, or the longest.
fn amsdu(radio: &Table, phy: Phy, in_ampdu: bool) -> Checked<Option<Bytes>> {
    let most = phy.most_amsdu(in_ampdu);
    if radio.is_string("amsdu") && radio.is("amsdu", "off") {
        return Ok(None);
    }
    radio.optional_within("amsdu", Bytes(SHORTEST_AMSDU)..=Bytes(most))
}

/// The PHY and modulation of a station in a cell of `radio`; `None` where the cell has no MCSs.
pub(super) fn station(table: &Table, section: &RadioSection) -> Checked<Option<TxVector>> {
    let radio = &section.radio;
    let phy = table.optional::<super::value::AnyPhy>("phy")?.map_or(radio.phy, |phy| phy.value.0);
    let Some(qos) = radio.qos else {
        refuse_keys(table, modulation::KEYS, radio.phy)?;
        return without_mcs(table, phy, radio);
    };
    if !fits(phy, radio.phy, qos.band) {
        let fitting: Vec<String> = Phy::ALL
            .into_iter()
            .filter(|phy| fits(*phy, radio.phy, qos.band))
            .map(|phy| format!("\"{}\"", phy.name()))
            .collect();
        let problem = format!("a station of {} in this cell of {}", phy.name(), radio.phy.name());
        return Err(table.wrong("phy", problem, format!("write one of {}", fitting.join(", "))));
    }
    if !phy.has_mcs() {
        refuse_keys(table, modulation::KEYS, phy)?;
        return without_mcs_among_newer(table, phy).map(Some);
    }
    let usual = ModulationDefaults::in_cell(phy, qos.band, (radio.phy, qos.mcs), section.mcs_named);
    let tx = modulation::modulation(table, phy, qos.band, usual)?;
    match tx.modulation() {
        Modulation::Mcs(mcs) if mcs.width > qos.mcs.width => {
            let key = if table.has("width") { "width" } else { "rate" };
            let problem =
                format!("a channel of {}, but that of the cell has {}", mcs.width.name(), qos.mcs.width.name());
            let fix = format!("write at most \"{}\", or a wider channel in [radio]", qos.mcs.width.name());
            Err(table.wrong(key, problem, fix))
        }
        Modulation::Mcs(_) | Modulation::Rate(_) => Ok(Some(tx)),
    }
}

/// The modulation of a station of 802.11b, a or g in a cell of 802.11n, ac or ax: its `rate`, or the PHY's highest.
fn without_mcs_among_newer(table: &Table, phy: Phy) -> Checked<TxVector> {
    let highest = phy.rates_kbps().last().map_or(Bitrate::mbps(1), |kbps| Bitrate::from_bps(kbps * 1000));
    Ok(TxVector::at_rate(phy, phy_rate(table, "rate", phy)?.unwrap_or(highest)))
}

/// The modulation of a station of `phy` in a cell without MCSs, where it is not the cell's: 802.11b among 802.11g.
fn without_mcs(table: &Table, phy: Phy, radio: &Radio) -> Checked<Option<TxVector>> {
    if phy == radio.phy {
        return Ok(None);
    }
    if phy == Phy::B && radio.protection_rate.is_some() {
        let rate = phy_rate(table, "rate", phy)?.unwrap_or(Bitrate::mbps(11));
        return Ok(Some(TxVector::at_rate(phy, rate)));
    }
    let problem = format!("a station of {} in a cell of {}", phy.name(), radio.phy.name());
    let fix = match (radio.phy, phy) {
        (Phy::B, Phy::G) => {
            "write phy = \"802.11g\" in [radio] and phy = \"802.11b\" in the stations of 802.11b; stations of several ages may also be in a \
             cell of 802.11n, ac or ax"
        }
        _ => {
            "stations may differ where [radio] has 802.11g (then: 802.11b), or 802.11n, ac or ax (then: older ones of these)"
        }
    };
    Err(table.wrong("phy", problem, fix))
}

/// Whether a station of `phy` may be in a cell of `cell`: it is in the same band and not newer.
fn fits(phy: Phy, cell: Phy, band: Band) -> bool {
    let age = |phy: Phy| Phy::ALL.iter().position(|own| *own == phy);
    phy.is_in(band) && age(phy) <= age(cell)
}

/// Refuses keys that only PHYs with MCSs have.
pub(super) fn refuse_keys(table: &Table, keys: &[&str], phy: Phy) -> Checked<()> {
    let Some(key) = keys.iter().find(|key| table.has(key)) else { return Ok(()) };
    let fix = "remove it, or write phy = \"802.11n\", \"802.11ac\" or \"802.11ax\" in [radio]";
    Err(table.wrong(key, format!("`{key}` with {}, which does not have it", phy.name()), fix))
}
