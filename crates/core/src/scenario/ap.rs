//! `[ap]`: its queues, and what else it does to packets.

use super::cursor::{Kind, Table};
use super::defaults::LARGEST_QUEUE;
use super::error::Checked;
use super::{Ap, Preset, Radio, Wire, queue};
use crate::ap::{LimiterCapacity, UplinkLimiterParams, WindowCapParams, WindowRule};
use crate::qdisc::QdiscSpec;
use crate::tcp::TcpParams;
use crate::units::{Bitrate, Bytes, Duration};

/// Keys of `[ap]`.
pub(super) const AP: &[&str] = &["queue", "uplink_queue", "window_cap", "uplink_limiter"];
/// Keys of `uplink_limiter`.
pub(super) const LIMITER: &[&str] = &["capacity", "share", "burst", "flow_timeout"];
/// Keys that window caps of all kinds have.
pub(super) const WINDOW_CAP: &[&str] = &["buffer", "flow_timeout"];

const TFBR: &[&str] = &["delay", "throughput"];

/// Every rule of `window_cap`, with its keys.
const RULES: &[Kind<WindowRule>] = &[
    Kind { name: "lossless", keys: &[], read: |_| Ok(WindowRule::Lossless) },
    Kind { name: "b-over-n", keys: &[], read: |_| Ok(WindowRule::BOverN) },
    Kind { name: "tfbr", keys: TFBR, read: |_| Ok(WindowRule::Tfbr) },
    Kind { name: "tfbr-exact", keys: TFBR, read: |_| Ok(WindowRule::TfbrExact) },
];

impl Ap {
    /// The length of the queue for the wire where the file says nothing.
    pub const fn usual_uplink_queue(radio: &Radio) -> usize {
        // An A-MPDU brings up to 256 packets at once; 1000 is Linux' `txqueuelen`.
        if radio.qos.is_some() { 1000 } else { 100 }
    }
}

/// Reads `[ap]`. A window cap takes delay and segment size from `[wire]` and `[tcp]` unless its own keys say otherwise.
pub(super) fn ap(root: &Table, wire: &Wire, tcp: &TcpParams, radio: &Radio, preset: Preset) -> Checked<Ap> {
    let table = root.table("ap", "[ap]")?;
    table.allow(AP)?;
    let queue = queue::spec(&table, preset)?;
    Ok(Ap {
        queue,
        uplink_queue: table.within("uplink_queue", 1..=LARGEST_QUEUE, Ap::usual_uplink_queue(radio))?,
        window_cap: if table.has("window_cap") { Some(window_cap(&table, queue, wire, tcp)?) } else { None },
        uplink_limiter: if table.has("uplink_limiter") { Some(uplink_limiter(&table)?) } else { None },
    })
}

fn window_cap(ap: &Table, queue: QdiscSpec, wire: &Wire, tcp: &TcpParams) -> Checked<WindowCapParams> {
    let defaults = |rule| WindowCapParams::usual(rule, queue.limit(), tcp.mss, wire.delay);
    if let Some(rule) = ap.word::<WindowRule>("window_cap")? {
        return Ok(defaults(rule));
    }
    let table = ap.table("window_cap", "window_cap")?;
    let usual = defaults((table.kind(RULES, None, WINDOW_CAP)?.read)(&table)?);
    Ok(WindowCapParams {
        buffer: table.within("buffer", 1..=LARGEST_QUEUE, usual.buffer)?,
        flow_timeout: table.within("flow_timeout", MEMORY, usual.flow_timeout)?,
        delay: table.or("delay", usual.delay)?,
        throughput: table.or("throughput", usual.throughput)?,
        ..usual
    })
}

/// How long connections may be remembered.
const MEMORY: std::ops::RangeInclusive<Duration> = Duration::from_millis(100)..=Duration::from_secs(3600);

fn uplink_limiter(ap: &Table) -> Checked<UplinkLimiterParams> {
    let table = ap.table("uplink_limiter", "uplink_limiter")?;
    table.allow(LIMITER)?;
    let usual = UplinkLimiterParams::default();
    let capacity = if table.is("capacity", "auto") {
        usual.capacity
    } else {
        LimiterCapacity::Given(table.required("capacity", "capacity = \"4.6 Mbit/s\" or \"auto\"")?.value)
    };
    let (LimiterCapacity::Given(r) | LimiterCapacity::Auto(r)) = capacity;
    if r < Bitrate::from_bps(1_000) {
        return Err(table.wrong("capacity", format!("{r} is too slow"), "write at least \"1 kbit/s\""));
    }
    Ok(UplinkLimiterParams {
        capacity,
        share: table.or("share", usual.share)?,
        burst: table.within("burst", Bytes(0)..=Bytes(1_000_000_000), usual.burst)?,
        flow_timeout: table.within("flow_timeout", MEMORY, usual.flow_timeout)?,
    })
}
