//! `[wan]`: the site's Internet link.

use fairair_core::scenario::reader::{Checked, Reason, Table};
use fairair_core::units::Bitrate;

use super::value::RATES;

pub(super) const KEYS: &[&str] = &["up", "down"];

/// The site's Internet link: a second bottleneck, each direction its own. At least one direction has a rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wan {
    /// IP bit/s that the link carries towards the Internet; `None`: this direction is not shaped.
    pub up: Option<Bitrate>,
    /// IP bit/s that the link carries from the Internet; `None`: this direction is not shaped.
    pub down: Option<Bitrate>,
}

/// The table of that name, if there is one.
pub(super) fn read(root: &Table) -> Checked<Option<Wan>> {
    if !root.has("wan") {
        return Ok(None);
    }
    let table = root.table("wan", "[wan]")?;
    let wan = Wan { up: table.optional_within("up", RATES)?, down: table.optional_within("down", RATES)? };
    if wan.up.is_none() && wan.down.is_none() {
        let fix = "write up = \"10 Mbit/s\", down = \"50 Mbit/s\" or both: about 95 % of what the link carries";
        return Err(root.blame("wan", Reason::new("neither direction has a rate", fix)));
    }
    Ok(Some(wan))
}
