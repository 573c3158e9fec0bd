//! A flow: its direction, what it sends, and when.

use super::cursor::{Kind, Table};
use super::defaults::{Defaults, MOST_FLOWS};
use super::error::Checked;
use super::{Flow, Traffic, sections, tcp};
use crate::packet::{Category, Direction, QUIC_IP_HEADER, UDP_IP_HEADER};
use crate::tcp::{TcpParams, Variant};
use crate::units::{Bitrate, Bytes, Duration};

/// The largest file that a flow may send.
const LARGEST_FILE: Bytes = Bytes(1_000_000_000_000);
/// An MSDU of 2304 bytes less LLC/SNAP (8) and the headers of IPv4 and UDP.
const LARGEST_DATAGRAM: Bytes = Bytes(2304 - 8 - 28);
/// A path of QUIC carries at least this (RFC 9000 section 14).
const LEAST_QUIC: Bytes = Bytes(1200);
/// The payload that makes a packet of 1500 bytes.
const USUAL_DATAGRAM: Bytes = Bytes(1472);

/// Keys that flows of all kinds have.
pub(super) const COMMON: &[&str] = &["direction", "count", "start", "stop", "wire", "category"];

/// Every kind of traffic that a file can name, with its keys and their reader.
const KINDS: &[Kind<Traffic>] = &[
    Kind { name: "tcp", keys: &["tcp"], read: |_| Ok(Traffic::Bulk) },
    Kind { name: "files", keys: &["tcp", "size", "files", "burst", "idle"], read: files },
    Kind { name: "quic", keys: &["payload", "variant"], read: |_| Ok(Traffic::Quic) },
    Kind { name: "udp", keys: &["payload", "rate"], read: udp },
];

/// Reads one table of `flows`: the flow, and how many there are of it.
pub(super) fn flow(table: &Table, defaults: &Defaults) -> Checked<(Flow, u64)> {
    let kind = table.kind(KINDS, Some("tcp"), COMMON)?;
    let direction = table.required::<Direction>("direction", "direction = \"up\" or \"down\"")?.value;
    let count = table.within("count", 1..=MOST_FLOWS, 1)?;
    let duration = defaults.run.duration;
    let start = table.or("start", Duration::ZERO)?;
    if start >= duration {
        let problem = format!("{start} is not before the run's end at {duration}");
        return Err(table.wrong("start", problem, format!("write a start below {duration}")));
    }
    let stop = table.optional::<Duration>("stop")?.map(|stop| stop.value);
    if let Some(stop) = stop.filter(|stop| *stop <= start) {
        let problem = format!("{stop} is not after its start at {start}");
        let mistake = table.wrong("stop", problem, format!("write a stop above {start}"));
        return Err(mistake.and(&table.span_of("start"), "the flow starts here"));
    }
    let latest = start + defaults.run.start_spread;
    if let Some(stop) = stop.filter(|stop| *stop <= latest) {
        let problem = format!("{stop} may come before its start, which is up to {latest}");
        let fix = format!("write a stop above {latest}, or `start_spread = \"0 s\"` in [run]");
        return Err(table.wrong("stop", problem, fix));
    }
    if defaults.radio.radio.qos.is_none() && table.has("category") {
        let problem = format!("{} has no access categories", defaults.radio.radio.phy.name());
        let fix = "remove it, or write phy = \"802.11n\", \"802.11ac\" or \"802.11ax\" in [radio]";
        return Err(table.wrong("category", problem, fix));
    }
    let wire = table.table("wire", "the flow's wire")?;
    let traffic = (kind.read)(table)?;
    let flow = Flow {
        direction,
        traffic,
        tcp: match traffic {
            Traffic::Quic => quic(table)?,
            _ => tcp::params(&table.table("tcp", "the flow's tcp")?, defaults.tcp)?,
        },
        start,
        stop,
        wire: if table.has("wire") { Some(sections::wire_with(&wire, defaults.wire)?) } else { None },
        category: table.or("category", Category::BestEffort)?,
    };
    Ok((flow, count))
}

fn files(table: &Table) -> Checked<Traffic> {
    let size = table.optional_within("size", Bytes(1)..=LARGEST_FILE)?;
    Ok(Traffic::Files {
        size: size.ok_or_else(|| table.lacks("size", "size = \"15 kB\""))?,
        count: table.optional_within("files", 1..=u32::MAX)?,
        burst: table.or("burst", Duration::ZERO)?,
        idle: table.or("idle", Duration::ZERO)?,
    })
}

/// The parameters of a QUIC connection.
fn quic(table: &Table) -> Checked<TcpParams> {
    let variant = table.or("variant", Variant::Cubic)?;
    if variant == Variant::Reno {
        let problem = "`variant = \"reno\"` in a QUIC flow, whose recovery is that of NewReno (RFC 9002)";
        return Err(table.wrong("variant", problem, "write variant = \"newreno\""));
    }
    let payload = table.within("payload", LEAST_QUIC..=LARGEST_DATAGRAM, USUAL_DATAGRAM)?;
    Ok(TcpParams::quic(variant, (payload.0 - (QUIC_IP_HEADER - UDP_IP_HEADER)) as u32))
}

fn udp(table: &Table) -> Checked<Traffic> {
    let payload = table.within("payload", Bytes(1)..=LARGEST_DATAGRAM, USUAL_DATAGRAM)?;
    let Some(rate) = table.optional::<Bitrate>("rate")? else { return Ok(Traffic::UdpGreedy { payload }) };
    // Faster than any radio here can take by far, and slow enough that a run comes to an end.
    if payload.time_at(rate.value) < Duration::from_micros(1) {
        let problem = format!("{} in datagrams of {payload} is more than one a microsecond", rate.value);
        let fix = "write a lower rate or a larger payload; leave `rate` out for a flow that always has a packet";
        return Err(table.wrong("rate", problem, fix));
    }
    Ok(Traffic::UdpCbr { payload, rate: rate.value })
}
