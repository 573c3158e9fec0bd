//! TCP parameters: `[tcp]` for all flows, `tcp = { .. }` for one.

use super::cursor::Table;
use super::error::{Checked, Mistake};
use super::{Preset, Radio};
use crate::tcp::{Profile, TcpParams, Variant};
use crate::units::{Bytes, Duration};

/// Keys of `[tcp]` and of a flow's `tcp`.
pub(super) const KEYS: &[&str] = &[
    "profile",
    "variant",
    "mss",
    "window",
    "initial_cwnd",
    "initial_ssthresh",
    "sack",
    "ecn",
    "limited_transmit",
    "delayed_ack",
    "delayed_ack_timeout",
    "initial_rto",
    "min_rto",
    "max_rto",
    "granularity",
];
/// Keys that a profile other than `rfc` decides.
const OF_RFC: &[&str] =
    &["initial_ssthresh", "sack", "limited_transmit", "delayed_ack", "delayed_ack_timeout", "granularity"];
/// The largest receive window with window scaling (RFC 7323), in bytes.
const LARGEST_WINDOW: u64 = 1 << 30;
/// An MSDU of 2304 bytes less LLC/SNAP (8) and two headers of 20 bytes.
const LARGEST_MSS: Bytes = Bytes(2304 - 8 - 40);
/// The longest timeout that a file may name.
const LONGEST_TIMEOUT: Duration = Duration::from_secs(3600);
const SHORTEST: Duration = Duration::from_nanos(1);

/// Reads `[tcp]`.
pub(super) fn common(root: &Table, preset: Preset, radio: &Radio) -> Checked<TcpParams> {
    let base = match preset {
        Preset::Standard if radio.qos.is_some() => TcpParams::hosts_of_today(),
        Preset::Standard => TcpParams::default(),
        Preset::Ns2 => TcpParams::ns2(),
        Preset::Ns3 => TcpParams::ns3(),
    };
    params(&root.table("tcp", "[tcp]")?, base)
}

/// Reads TCP parameters; what the table does not say is as in `base`.
pub(super) fn params(table: &Table, base: TcpParams) -> Checked<TcpParams> {
    table.allow(KEYS)?;
    let base = profile(table, base)?;
    let timeout = |key, usual| table.within(key, SHORTEST..=LONGEST_TIMEOUT, usual);
    let mss = table.optional_within("mss", Bytes(1)..=LARGEST_MSS)?;
    let params = TcpParams {
        profile: base.profile,
        variant: table.or("variant", base.variant)?,
        mss: mss.map_or(base.mss, |mss| mss.0 as u32),
        window: table.within("window", 1..=LARGEST_WINDOW as u32, base.window)?,
        initial_cwnd: table.within("initial_cwnd", 1..=LARGEST_WINDOW as u32, base.initial_cwnd)?,
        initial_ssthresh: table
            .optional_within("initial_ssthresh", 1..=LARGEST_WINDOW as u32)?
            .or(base.initial_ssthresh),
        sack: table.or("sack", base.sack)?,
        ecn: table.or("ecn", base.ecn)?,
        limited_transmit: table.or("limited_transmit", base.limited_transmit)?,
        delayed_ack: table.or("delayed_ack", base.delayed_ack)?,
        // RFC 1122 section 4.2.3.2: an ACK must not wait longer than half a second.
        delayed_ack_timeout: table.within(
            "delayed_ack_timeout",
            SHORTEST..=Duration::from_millis(500),
            base.delayed_ack_timeout,
        )?,
        initial_rto: timeout("initial_rto", base.initial_rto)?,
        min_rto: timeout("min_rto", base.min_rto)?,
        max_rto: timeout("max_rto", base.max_rto)?,
        granularity: timeout("granularity", base.granularity)?,
        preset: base.preset,
    };
    check_variant(table, &params)?;
    check_window(table, &params)?;
    check_timeouts(table, &params)?;
    Ok(params)
}

/// `base` as the profile has it that the table names.
fn profile(table: &Table, base: TcpParams) -> Checked<TcpParams> {
    let profile = table.or("profile", base.profile)?;
    let base = match (base.profile, profile) {
        (Profile::Rfc, Profile::Linux) => base.linux(),
        // A flow of its own rules among Linux hosts.
        (Profile::Linux, Profile::Rfc) => {
            TcpParams { mss: base.mss, window: base.window, ecn: base.ecn, ..TcpParams::default() }
        }
        _ => base,
    };
    if profile == Profile::Rfc {
        return Ok(base);
    }
    if base.preset == Preset::Ns2 {
        let problem = "`profile = \"linux\"` with `preset = \"ns2\"`: they are different hosts";
        return Err(table.wrong("profile", problem, "leave one of them out"));
    }
    let Some(key) = OF_RFC.iter().find(|key| table.has(key)) else { return Ok(base) };
    let problem = format!("`{key}` with `profile = \"linux\"`, which decides it");
    Err(table.wrong(key, problem, format!("remove `{key}`, or write profile = \"rfc\"")))
}

/// BBR needs the samples of rates that Linux' sender takes.
fn check_variant(table: &Table, params: &TcpParams) -> Checked<()> {
    if params.variant != Variant::Bbr || params.profile == Profile::Linux {
        return Ok(());
    }
    let problem = "`variant = \"bbr\"` with `profile = \"rfc\"`, which measures no delivery rates";
    Err(table.wrong("variant", problem, "write profile = \"linux\" beside it"))
}

fn check_window(table: &Table, params: &TcpParams) -> Checked<()> {
    let bytes = u64::from(params.window) * u64::from(params.mss);
    if bytes <= LARGEST_WINDOW {
        return Ok(());
    }
    let key = if table.has("window") { "window" } else { "mss" };
    let problem = format!("{} segments of {} B are more than TCP can announce, 1 GiB", params.window, params.mss);
    let fix = format!("write a window of at most {} packets", LARGEST_WINDOW / u64::from(params.mss));
    Err(table.wrong(key, problem, fix))
}

fn check_timeouts(table: &Table, params: &TcpParams) -> Checked<()> {
    for (key, value) in [("min_rto", params.min_rto), ("initial_rto", params.initial_rto)] {
        if value > params.max_rto {
            let span = table.span_of(if table.has(key) { key } else { "max_rto" });
            let problem = format!("`{key}` of {value} is above `max_rto` of {}", params.max_rto);
            return Err(Mistake::new(&span, problem, format!("write {key} <= max_rto")));
        }
    }
    Ok(())
}
