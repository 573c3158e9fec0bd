//! The tables that stand once: `[run]`, `[radio]`, `[wire]`.

use super::cursor::Table;
use super::defaults::{LARGEST_QUEUE, MOST_REPLICAS, RATES_OF_ERROR, RadioSection};
use super::error::Checked;
use super::modulation::phy_rate;
use super::protection::protection_rate;
use super::qos;
use super::value::{AnyPhy, params};
use super::{Preset, Radio, Run, Wire};
use crate::mac::{Phy, Preamble};
use crate::units::{Bitrate, Duration, Probability};

/// Keys of `[run]`.
pub(super) const RUN: &[&str] =
    &["duration", "warmup", "replicas", "seed", "start_spread", "sample_interval", "preset"];
/// Keys of `[radio]`.
pub(super) const RADIO: &[&str] = &[
    "phy",
    "rate",
    "basic_rate",
    "protection_rate",
    "preamble",
    "retry_limit",
    "eifs",
    "cw_min",
    "cw_max",
    "frame_error",
    "bit_error_rate",
];
/// Most samples of one time series: they are kept in memory.
const MOST_SAMPLES: u64 = 10_000_000;
/// Reads `[run]`.
pub(super) fn run(root: &Table) -> Checked<Run> {
    let table = root.table("run", "[run]")?;
    table.allow(RUN)?;
    let preset = table.or("preset", Preset::Standard)?;
    let given = table.required::<Duration>("duration", "[run] with duration = \"180 s\"")?;
    let duration = given.value;
    if duration == Duration::ZERO {
        return Err(table.wrong("duration", "a run of no length", "write for example \"180 s\""));
    }
    let part = |n: u64| Duration::from_nanos(duration.as_nanos() / n);
    let warmup = table.or("warmup", part(6))?;
    if warmup >= duration {
        let problem = format!("{warmup} leaves nothing of a duration of {duration}");
        let fix = format!("write a warm-up below the duration, such as \"{}\"", part(10));
        return Err(table.wrong("warmup", problem, fix).and(&given.span, "the run's end"));
    }
    let start_spread = table.within("start_spread", Duration::ZERO..=duration, Duration::from_secs(1).min(part(10)))?;
    let shortest = Duration::from_nanos((duration.as_nanos() / MOST_SAMPLES).max(1));
    Ok(Run {
        duration,
        warmup,
        replicas: table.within("replicas", 1..=MOST_REPLICAS, 5)?,
        seed: table.or("seed", 1)?,
        start_spread,
        sample_interval: table.optional_within("sample_interval", shortest..=duration)?,
        preset,
    })
}

/// Reads `[radio]`.
pub(super) fn radio(root: &Table, preset: Preset) -> Checked<RadioSection> {
    let table = root.table("radio", "[radio]")?;
    table.allow(&[RADIO, qos::KEYS].concat())?;
    let phy = table.or("phy", AnyPhy(Phy::B))?.0;
    let radio =
        if phy.has_mcs() { qos::radio(root, &table, phy, preset)? } else { without_mcs(root, &table, phy, preset)? };
    Ok(RadioSection {
        radio,
        mcs_named: phy.has_mcs() && (table.has("mcs") || table.has("rate")),
        frame_error: table.or("frame_error", Probability::ZERO)?,
        bit_error_rate: table.within("bit_error_rate", RATES_OF_ERROR, 0.0)?,
    })
}

/// The radio of 802.11a, b or g.
fn without_mcs(root: &Table, table: &Table, phy: Phy, preset: Preset) -> Checked<Radio> {
    qos::refuse_keys(table, qos::KEYS, phy)?;
    if preset == Preset::Ns3 {
        let problem = format!("`preset = \"ns3\"` with {}", phy.name());
        let fix = "write phy = \"802.11n\", \"802.11ac\" or \"802.11ax\", or another preset";
        let (place, key) = if table.has("phy") { (table, "phy") } else { (&root.table("run", "[run]")?, "preset") };
        return Err(place.wrong(key, problem, fix));
    }
    let highest = phy.rates_kbps().last().map_or(Bitrate::mbps(1), |kbps| Bitrate::from_bps(kbps * 1000));
    let rate = phy_rate(table, "rate", phy)?.unwrap_or(highest);
    let basic_rate = phy_rate(table, "basic_rate", phy)?;
    if let Some(basic) = basic_rate.filter(|basic| *basic > rate) {
        let fix = format!("write at most \"{rate}\", or raise `rate`: every frame can be sent at a basic rate");
        return Err(table.wrong("basic_rate", format!("{basic} is above the data rate of {rate}"), fix));
    }
    let usual_basic = match (phy, preset) {
        (Phy::B, Preset::Ns2) => Bitrate::mbps(1),
        (Phy::B, Preset::Standard | Preset::Ns3) => Bitrate::mbps(2),
        (Phy::A | Phy::G | Phy::N | Phy::Ac | Phy::Ax, _) => Bitrate::mbps(24),
    };
    let protection_rate = protection_rate(root, table, (phy, phy.usual_band()), preset)?;
    if phy != Phy::B && protection_rate.is_none() && table.has("preamble") {
        let fix = format!("remove it: {} has one preamble only; or write phy = \"802.11b\"", phy.name());
        return Err(table.wrong("preamble", format!("an 802.11b preamble, but the PHY is {}", phy.name()), fix));
    }
    let radio = Radio {
        phy,
        rate,
        basic_rate: basic_rate.unwrap_or(usual_basic.min(rate)),
        protection_rate,
        preamble: table.or("preamble", Preamble::Long)?,
        retry_limit: table.within("retry_limit", 1..=1000, 7)?,
        eifs: table.or("eifs", true)?,
        cw_min: table.optional_within("cw_min", 1..=65_535)?,
        cw_max: table.optional_within("cw_max", 1..=65_535)?,
        qos: None,
    };
    let (cw_min, cw_max) = (radio.cw_min.unwrap_or(phy.cw_min()), radio.cw_max.unwrap_or(phy.cw_max()));
    if cw_min > cw_max {
        let key = if radio.cw_min.is_some() { "cw_min" } else { "cw_max" };
        let problem = format!("the smallest contention window, {cw_min}, is above the largest, {cw_max}");
        return Err(table.wrong(key, problem, "write cw_min and cw_max with cw_min <= cw_max"));
    }
    Ok(radio)
}

/// Reads `[wire]`. Behind a modern AP is gigabit Ethernet; at 100 Mbit/s the wire, not the cell, would be what is shared.
pub(super) fn wire(root: &Table, radio: &Radio) -> Checked<Wire> {
    let rate = Bitrate::mbps(if radio.qos.is_some() { 1000 } else { 100 });
    let usual = Wire { rate, delay: Duration::ZERO, queue: 10_000 };
    wire_with(&root.table("wire", "[wire]")?, usual)
}

/// Reads a wired path; what it does not say is as in `base`.
pub(super) fn wire_with(table: &Table, base: Wire) -> Checked<Wire> {
    table.allow(&["rate", "delay", "queue"])?;
    Ok(params!(table, base, Wire { rate, delay, queue in 1..=LARGEST_QUEUE }))
}
