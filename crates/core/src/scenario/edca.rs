//! `[radio.edca]`: how access categories contend.

use super::Preset;
use super::cursor::Table;
use super::error::Checked;
use crate::mac::{AccessParams, EdcaParams};
use crate::packet::Category;
use crate::units::Duration;

/// Keys of `[radio.edca]`.
pub(super) const EDCA: &[&str] = &["preset", "ap", "stations"];
/// Keys of one category.
pub(super) const CATEGORY: &[&str] = &["aifsn", "cw_min", "cw_max", "txop"];

const CATEGORIES: &[&str] = &["vo", "vi", "be", "bk"];
/// The longest TXOP limit that a beacon can name: 255 times 32 us.
const LONGEST_TXOP: Duration = Duration::from_micros(255 * 32);
/// The largest window that a beacon can name: its exponent has four bits.
const LARGEST_WINDOW: u32 = 32_767;

/// Reads `[radio.edca]`, and `txop`, `cw_min`, `cw_max` of `[radio]`: those of best effort at AP and stations.
pub(super) fn edca(radio: &Table, preset: Preset) -> Checked<EdcaParams> {
    let table = radio.table("edca", "[radio.edca]")?;
    table.allow(EDCA)?;
    let mut edca = table.one_of("preset", &EdcaParams::NAMED)?.unwrap_or(EdcaParams::usual(preset));
    let best_effort = Category::BestEffort.index();
    for access in [&mut edca.ap[best_effort], &mut edca.stations[best_effort]] {
        *access = category(radio, *access, "[radio]")?;
    }
    for (side, title, own) in
        [("ap", "ap of [radio.edca]", &mut edca.ap), ("stations", "stations of [radio.edca]", &mut edca.stations)]
    {
        let side_table = table.table(side, title)?;
        side_table.allow(CATEGORIES)?;
        for (name, access) in CATEGORIES.iter().zip(own.iter_mut()) {
            let one = side_table.table(name, title)?;
            one.allow(CATEGORY)?;
            *access = category(&one, *access, title)?;
        }
    }
    Ok(edca)
}

/// What `table` says of one category; the rest is as in `base`.
fn category(table: &Table, base: AccessParams, title: &str) -> Checked<AccessParams> {
    let access = AccessParams {
        aifsn: table.within("aifsn", 1..=15, base.aifsn)?,
        cw_min: window(table, "cw_min", base.cw_min)?,
        cw_max: window(table, "cw_max", base.cw_max)?,
        txop: table.within("txop", Duration::ZERO..=LONGEST_TXOP, base.txop)?,
    };
    if access.cw_min > access.cw_max {
        let key = if table.has("cw_min") { "cw_min" } else { "cw_max" };
        let problem =
            format!("the smallest window in {title}, {}, is above the largest, {}", access.cw_min, access.cw_max);
        return Err(table.wrong(key, problem, "write cw_min and cw_max with cw_min <= cw_max"));
    }
    Ok(access)
}

/// A contention window: one less than a power of two.
fn window(table: &Table, key: &str, base: u32) -> Checked<u32> {
    let window = table.within(key, 0..=LARGEST_WINDOW, base)?;
    if (window + 1).is_power_of_two() {
        return Ok(window);
    }
    let above = (window + 1).next_power_of_two() - 1;
    let problem = format!("{window} is no contention window of EDCA: they are one less than a power of two");
    Err(table.wrong(key, problem, format!("write {} or {above}", above / 2)))
}
