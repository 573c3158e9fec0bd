//! What stations weigh and how much air their bytes take, by the rates that are known of them.

use fairair_core::mac::{MacParams, Preamble};
use fairair_core::model::air::byte_ns;
use fairair_core::scenario::{Preset, Radio};
use fairair_core::shaper::{Policy, airtime_per_byte, phy_rate_weight};
use fairair_core::units::Bitrate;

use super::{Site, Source, Station};
use crate::enforce::config::Config;

/// What TCP segments are taken to be like.
const MSS: u32 = 1460;
const ACKS_PER_SEGMENT: f64 = 0.5;

/// Whether `config` says the rate of `station`, whatever lists tell.
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
            (Policy::Airtime, Some((mac, rate))) => 1e-6 / airtime_per_byte(&mac, rate, MSS, ACKS_PER_SEGMENT),
            (Policy::AirtimePhy, mac) => {
                phy_rate_weight(mac.map(|(_, rate)| rate).or(rate).unwrap_or(Bitrate::mbps(54)))
            }
            _ => 1.0,
        }
    }

    /// Air that an IP byte of `station` takes, in ns, for `StationView::air_ns`; 0: the PHY of its AP is not known.
    pub fn air_ns(&self, station: &Station) -> u32 {
        self.mac(station.pool, station.rate).map_or(0, |(mac, rate)| byte_ns(&mac, rate, MSS, ACKS_PER_SEGMENT))
    }

    /// The MAC of a pool, and the rate of its station that is known to have `rate`; unknown: the PHY's highest, so that
    /// nobody else suffers from what is not known.
    fn mac(&self, pool: u16, rate: Option<Bitrate>) -> Option<(MacParams, Bitrate)> {
        let ap = self.radio(pool)?;
        let phy = ap.phy?;
        let rates = || phy.rates_kbps().iter().map(|kbps| Bitrate::from_bps(kbps * 1000));
        let rate = rate.or(rates().max())?;
        let radio = Radio {
            phy,
            rate,
            basic_rate: ap.basic_rate.or(rates().min())?,
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
