//! `protection_rate`: cells with stations of 802.11b among newer ones.

use super::Preset;
use super::cursor::Table;
use super::error::Checked;
use super::modulation::phy_rate;
use crate::mac::{Band, Phy};
use crate::units::Bitrate;

/// The rate of protection, which a cell of OFDM in 2.4 GHz has as soon as a station of 802.11b is there, whether it sends or not
/// (802.11-2020 clauses 9.4.2.11 and 10.27.2).
pub(super) fn protection_rate(
    root: &Table,
    radio: &Table,
    (phy, band): (Phy, Band),
    preset: Preset,
) -> Checked<Option<Bitrate>> {
    // What is wrong with stations is said where they are read.
    let stations = root.tables("station", "[[station]]", "").ok().flatten().unwrap_or_default();
    let is_ofdm = phy != Phy::B && band == Band::Ghz2;
    if !is_ofdm || !stations.iter().any(|station| station.is("phy", Phy::B.name())) {
        if radio.has("protection_rate") {
            let problem = format!("`protection_rate` in a cell of {} without stations of 802.11b", phy.name());
            let fix = "remove it, or write phy = \"802.11g\" in [radio] and phy = \"802.11b\" in a [[station]]";
            return Err(radio.wrong("protection_rate", problem, fix));
        }
        return Ok(None);
    }
    if preset != Preset::Standard {
        let problem = if preset == Preset::Ns2 {
            "`preset = \"ns2\"` with 802.11b and 802.11g in one cell, which ns-2 does not have".to_owned()
        } else {
            format!("`preset = \"ns3\"` with 802.11b and {} in one cell, which was not compared", phy.name())
        };
        let fix = "leave `preset` out, or leave `phy = \"802.11b\"` out";
        return Err(root.table("run", "[run]")?.wrong("preset", problem, fix));
    }
    Ok(Some(phy_rate(radio, "protection_rate", Phy::B)?.unwrap_or(Bitrate::mbps(2))))
}
