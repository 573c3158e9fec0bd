//! What stations weigh and how much air their bytes take, by the rates that are known of them.

use fairair_core::mac::{MacParams, Phy, Preamble};
use fairair_core::model::air::byte_ns;
use fairair_core::scenario::{Preset, Radio};
use fairair_core::shaper::{Policy, airtime_per_byte, phy_rate_weight};
use fairair_core::units::{Bitrate, plural};

use super::{Site, Source, Station};
use crate::enforce::config::Config;

/// What TCP segments are taken to be like.
const MSS: u32 = 1460;
const ACKS_PER_SEGMENT: f64 = 0.5;

/// Stations have rates that the PHY of their AP does not have, as lists name them for stations of 802.11n, ac and ax.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "{station}{}: {rate} is no rate of the AP's `phy`; its air is reckoned at the nearest rate below. The air of 802.11n, ac and ax is \
     not known here: use policy \"per-station\" and an adaptive capacity",
    if *.others > 0 { format!(" and {}", plural(*.others, "other station")) } else { String::new() }
)]
pub struct ForeignRate {
    /// The first of the stations.
    station: String,
    /// Its rate.
    rate: Bitrate,
    /// How many others there are.
    others: usize,
}

/// Whether `config` has a rate for `station`; association lists then do not change it.
pub(super) fn is_rate_told(config: &Config, station: &Station) -> bool {
    station.source == Source::Config && config.stations.iter().any(|own| own.rate.is_some() && own.name == station.name)
}

impl Site {
    /// A newcomer's rate is not known.
    pub(super) fn newcomers_weight(&self, pool: u16) -> f64 {
        self.air_weight(pool, None)
    }

    /// Weight by the file times weight by the policy.
    pub(super) fn weight(&self, station: &Station) -> f64 {
        station.plan.weight * self.air_weight(station.pool, station.rate)
    }

    /// The policy's weight for a station with data at `rate`.
    fn air_weight(&self, pool: u16, rate: Option<Bitrate>) -> f64 {
        match (self.config.policy, self.mac(pool, rate)) {
            (Policy::Airtime, Some((mac, rate))) => 1e-6 / airtime_per_byte(&mac, mac.tx(rate), MSS, ACKS_PER_SEGMENT),
            (Policy::AirtimePhy, mac) => {
                phy_rate_weight(mac.map(|(_, rate)| rate).or(rate).unwrap_or(Bitrate::mbps(54)))
            }
            _ => 1.0,
        }
    }

    /// Whether all known rates are rates of the PHY of their AP.
    ///
    /// # Errors
    /// Names the first of the other stations; their air is reckoned at the nearest rate below.
    pub fn rates_are_known(&self) -> Result<(), ForeignRate> {
        let known = |phy: Phy, rate| phy.has_rate(rate) || (phy == Phy::G && Phy::B.has_rate(rate));
        let foreign_rate = |station: &Station| {
            let phy = self.radio(station.pool).and_then(|ap| ap.phy)?;
            station.rate.filter(|rate| !known(phy, *rate))
        };
        let mut foreign = self.stations.iter().filter_map(|station| Some((station, foreign_rate(station)?)));
        let Some((first, rate)) = foreign.next() else { return Ok(()) };
        Err(ForeignRate { station: first.name.clone(), rate, others: foreign.count() })
    }

    /// Air that an IP byte of `station` takes, in ns, for `StationView::air_ns`; 0: the PHY of its AP is not known.
    pub fn air_ns(&self, station: &Station) -> u32 {
        self.mac(station.pool, station.rate).map_or(0, |(mac, rate)| byte_ns(&mac, mac.tx(rate), MSS, ACKS_PER_SEGMENT))
    }

    /// The MAC of a pool, and the rate of its station that is known to have `rate`; unknown: the PHY's highest, so that
    /// nobody else suffers from what is not known.
    fn mac(&self, pool: u16, rate: Option<Bitrate>) -> Option<(MacParams, Bitrate)> {
        let ap = self.radio(pool)?;
        let phy = ap.phy?;
        let is_old = |rate: Bitrate| phy == Phy::G && Phy::B.has_rate(rate);
        // A station of 802.11g that has fallen to a rate of 802.11b cannot be told from one of 802.11b.
        let mixed = self.stations.iter().any(|other| other.pool == pool && other.rate.is_some_and(is_old));
        let rates = || phy.rates_kbps().iter().map(|kbps| Bitrate::from_bps(kbps * 1000));
        // A rate of 802.11n, ac or ax has no frame time in this PHY: the highest that the PHY has and that is not above it.
        let rate = match rate {
            Some(rate) if is_old(rate) => rate,
            Some(rate) => rates().filter(|known| *known <= rate).max().or(rates().min())?,
            None => rates().max()?,
        };
        let radio = Radio {
            phy,
            rate,
            basic_rate: ap.basic_rate.or(rates().min())?,
            protection_rate: mixed.then_some(Bitrate::mbps(1)),
            preamble: Preamble::Long,
            retry_limit: 7,
            eifs: true,
            cw_min: None,
            cw_max: None,
            qos: None,
        };
        Some((MacParams::new(&radio, Preset::Standard), rate))
    }
}
