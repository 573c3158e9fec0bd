//! `[enforce]`: the box between gateway and AP.

use super::cursor::{Kind, Table};
use super::defaults::LARGEST_QUEUE;
use super::error::{Checked, Mistake};
use super::value::{Reason, params};
use super::{Enforce, Radio};
use crate::control::{AdaptiveParams, AirParams, CapacityParams, WceParams};
use crate::shaper::{Policy, PoolRule, QueueRule, UdpRule, VsbParams};
use crate::units::{Bitrate, Bytes, Duration};

/// Keys of `[enforce]`.
pub(super) const ENFORCE: &[&str] = &["policy", "pool", "capacity", "queue", "leaf", "quantum", "batch", "udp"];

/// Reads the parameters of a machine; the second argument is `max` where the file gives none.
type Read = fn(&Table, Bitrate) -> Checked<CapacityParams>;

/// Every machine that sets C, with its keys and their reader.
const KINDS: &[Kind<Read>] = &[
    Kind { name: "fixed", keys: &["rate"], read: |_| Ok(fixed) },
    Kind {
        name: "wce",
        keys: &[
            "interval",
            "threshold",
            "high",
            "low",
            "step",
            "back_off",
            "speed_up",
            "base_samples",
            "timeout",
            "min",
            "max",
        ],
        read: |_| Ok(wce),
    },
    Kind { name: "adaptive", keys: &["interval", "target", "rise", "timeout", "min", "max"], read: |_| Ok(adaptive) },
    Kind { name: "air", keys: &["share", "interval", "min", "max"], read: |_| Ok(air) },
];

/// Intervals of probes, thresholds and time-outs.
const TIMES: std::ops::RangeInclusive<Duration> = Duration::from_millis(1)..=Duration::from_secs(60);

/// Reads `[enforce]`, if there is one.
pub(super) fn enforce(root: &Table, radio: &Radio) -> Checked<Option<Enforce>> {
    if !root.has("enforce") {
        return Ok(None);
    }
    let table = root.table("enforce", "[enforce]")?;
    table.allow(ENFORCE)?;
    let usual = Enforce::usual_box(radio);
    let vsb = VsbParams {
        policy: table.or("policy", Policy::PerStation)?,
        pool: table.or("pool", PoolRule::Channel)?,
        queue: if table.is("queue", "auto") {
            QueueRule::Auto
        } else {
            table.optional_within("queue", 1..=LARGEST_QUEUE)?.map_or(usual.queue, QueueRule::Packets)
        },
        leaf: table.or("leaf", usual.leaf)?,
        quantum: table.within("quantum", Bytes(100)..=Bytes(1_000_000), usual.quantum)?,
        batch: table.within("batch", Bytes(0)..=Bytes(1_000_000), usual.batch)?,
        udp: table.or("udp", UdpRule::BypassUplink)?,
    };
    Ok(Some(Enforce { vsb, capacity: capacity(&table, Enforce::most_in(radio))? }))
}

/// Reads the key `capacity` of `enforce`; `max` is the largest C where the file gives none.
///
/// # Errors
/// The mistake at its place.
pub fn capacity(enforce: &Table, max: Bitrate) -> Checked<CapacityParams> {
    if !enforce.has("capacity") || enforce.is("capacity", "auto") {
        return Ok(CapacityParams::Adaptive(AdaptiveParams { max, ..AdaptiveParams::default() }));
    }
    if let Some(kind) = KINDS.iter().find(|kind| enforce.is("capacity", kind.name)) {
        let fix = match kind.name {
            "fixed" => "write capacity = \"4.5 Mbit/s\"".to_owned(),
            name => format!("write capacity = {{ kind = \"{name}\" }}"),
        };
        return Err(
            enforce.blame("capacity", Reason::new(format!("`{}` is a kind of capacity, not a rate", kind.name), fix))
        );
    }
    if enforce.is_string("capacity") {
        let rate = enforce.required::<Bitrate>("capacity", "capacity = \"auto\"")?.value;
        return Ok(CapacityParams::Fixed { rate });
    }
    let table = enforce.table("capacity", "capacity")?;
    ((table.kind(KINDS, None, &[])?.read)(&table)?)(&table, max)
}

fn fixed(table: &Table, _max: Bitrate) -> Checked<CapacityParams> {
    Ok(CapacityParams::Fixed { rate: table.required("rate", "rate = \"4.5 Mbit/s\"")?.value })
}

fn wce(table: &Table, max: Bitrate) -> Checked<CapacityParams> {
    let usual = WceParams { max, ..WceParams::default() };
    let params = params!(table, usual, WceParams {
        interval in TIMES, threshold in TIMES, high in TIMES, low in TIMES, step, back_off in 0.01..=1.0,
        speed_up in 1.0..=100.0, base_samples in 1..=1_000_000, timeout in TIMES, min, max,
    });
    if !(params.low <= params.threshold && params.threshold <= params.high) {
        let problem = format!("thresholds out of order: {}, {}, {}", params.low, params.threshold, params.high);
        return Err(Mistake::new(table.span(), problem, "write low <= threshold <= high"));
    }
    check_bounds(table, params.min, params.max)?;
    Ok(CapacityParams::Wce(params))
}

fn adaptive(table: &Table, max: Bitrate) -> Checked<CapacityParams> {
    let usual = AdaptiveParams { max, ..AdaptiveParams::default() };
    let params = params!(table, usual, AdaptiveParams {
        interval in TIMES, target in TIMES, rise in 0.001..=1.0, timeout in TIMES, min, max,
    });
    check_bounds(table, params.min, params.max)?;
    Ok(CapacityParams::Adaptive(params))
}

fn air(table: &Table, max: Bitrate) -> Checked<CapacityParams> {
    let usual = AirParams { max, ..AirParams::default() };
    let params = params!(table, usual, AirParams { share in 0.01..=2.0, interval in TIMES, min, max });
    check_bounds(table, params.min, params.max)?;
    Ok(CapacityParams::Air(params))
}

fn check_bounds(table: &Table, min: Bitrate, max: Bitrate) -> Checked<()> {
    if min <= max {
        return Ok(());
    }
    let key = if table.has("min") { "min" } else { "max" };
    Err(table.wrong(key, format!("the smallest capacity, {min}, is above the largest, {max}"), "write min <= max"))
}
