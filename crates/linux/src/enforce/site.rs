//! Who is there: pools, stations, their classes. Pure bookkeeping; [`Site::layout`] says what the kernel should hold.

mod addresses;
mod admit;
mod air;
mod known;
mod layout;
#[cfg(test)]
mod named_tests;
mod place;
mod plans;
mod station;
#[cfg(test)]
mod tests;
mod wan;

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::net::IpAddr;

use fairair_core::control::CapacityParams;
use fairair_core::shaper::Policy;
use fairair_core::units::{Bitrate, Bytes};

pub use self::addresses::Addresses;
pub use self::air::ForeignRate;
pub use self::station::Station;

use self::admit::{MOST_OF_AN_AP, SILENCE_S, is_list};
use self::air::is_rate_told;
use self::known::Known;
use self::plans::plans;
use super::config::{Ap, Config, Mac, Mode, is_one_host, names};
use super::datapath::{MOST_LEAVES, MOST_POOLS, leaf_minor, newcomers_minor, slot_of};
pub use super::discovery::Source;
use super::discovery::{Associations, Sighting};
use super::settings::Settings;

/// A pool of the site: an AP, or all APs on a channel.
#[derive(Clone, Debug, PartialEq)]
pub struct SitePool {
    /// Its number; it keeps it as long as it has the same name.
    pub id: u16,
    /// That of its AP, or of the channel.
    pub name: String,
    /// As configured, at least one; they have the same capacity and radio.
    pub aps: Vec<Ap>,
    /// C now: the only home of it. The machine of the pool decides it; a `Layout` is what the kernel was given.
    pub rate: Bitrate,
    /// IP bytes that a class of the least weight sends at once now.
    pub turn: Bytes,
}

impl SitePool {
    /// What sets C.
    pub fn capacity(&self) -> &CapacityParams {
        &self.aps[0].capacity
    }

    /// Names of its APs.
    pub fn ap_names(&self) -> String {
        names(&self.aps)
    }
}

/// All pools and stations.
#[derive(Clone, Debug)]
pub struct Site {
    config: Config,
    /// By name.
    pools: BTreeMap<String, SitePool>,
    stations: Vec<Station>,
    /// Slots that may be used again: their classes are gone from the kernel.
    free: BTreeSet<u16>,
    /// Slots below this have been used.
    used: u16,
    /// Numbers that stations without classes have had, of all that there are for them.
    numbered: u16,
    /// Classes of policies that are not by station: pool and slot.
    fixed: Vec<(u16, u16)>,
    associations: Associations,
    settings: Settings,
}

/// There is no class left.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Full {
    /// For stations.
    #[error(
        "stations that were found have taken all the classes that they may have ({MOST_OF_AN_AP} an access point, {MOST_LEAVES} in all, see \
         docs/vsb.md), and none was found or had traffic more than {SILENCE_S} s ago: others share the newcomers' class. Is somebody making \
         up addresses? If not, run a second box"
    )]
    Stations,
    /// For pools.
    #[error("old and new access points have more than {MOST_POOLS} names together: rename fewer in one reload")]
    Pools,
}

impl Site {
    /// The pools and the stations that the configuration names.
    ///
    /// # Errors
    /// More classes than there can be.
    pub fn new(config: Config) -> Result<Site, Full> {
        let mut site = Site {
            config: config.clone(),
            pools: BTreeMap::new(),
            stations: Vec::new(),
            free: BTreeSet::new(),
            used: 0,
            numbered: 0,
            fixed: Vec::new(),
            associations: Associations::default(),
            settings: Settings::default(),
        };
        site.configure(config)?;
        Ok(site)
    }

    /// Takes another configuration: what has the same name keeps its class.
    ///
    /// # Errors
    /// More classes than there can be; the site is then as before.
    pub fn configure(&mut self, config: Config) -> Result<(), Full> {
        *self = self.configured(config)?;
        Ok(())
    }

    /// The same as another site.
    ///
    /// # Errors
    /// More classes than there can be.
    pub fn configured(&self, config: Config) -> Result<Site, Full> {
        let mut next = self.clone();
        next.take(config)?;
        Ok(next)
    }

    fn take(&mut self, config: Config) -> Result<(), Full> {
        let before = std::mem::take(&mut self.pools);
        let mut ids: BTreeSet<u16> = before.values().map(|pool| pool.id).collect();
        for (name, aps) in config.pools() {
            let first = aps[0].most();
            let (id, rate) = match before.get(&name) {
                Some(pool) if *pool.capacity() == aps[0].capacity => (pool.id, pool.rate),
                Some(pool) => (pool.id, first),
                None => {
                    // The next number would be that of the first station's class. Pools that go keep theirs until then.
                    let id = (0..MOST_POOLS).find(|id| !ids.contains(id)).ok_or(Full::Pools)?;
                    ids.insert(id);
                    (id, first)
                }
            };
            // A packet at a time until the first look.
            let turn = before.get(&name).filter(|_| self.config.leaf == config.leaf).map(|pool| pool.turn);
            let turn = turn.unwrap_or(config.leaf.quantum);
            self.pools.insert(name.clone(), SitePool { id, name, aps, rate, turn });
        }
        if self.config.policy != config.policy {
            self.fixed.clear();
        }
        let previous = std::mem::replace(&mut self.config, config);
        let known = self.stations.clone();
        let by_mark = Known::new(&known);
        let is_by_station = self.config.policy.is_by_station();
        if !is_by_station {
            self.fix_classes()?;
        }
        // Numbers of classes are for stations that have one.
        let keeps = previous.policy.is_by_station() == is_by_station;
        let (mut stations, mut named, mut was) = (Vec::new(), BTreeSet::new(), Vec::new());
        let plans = plans(&previous);
        let of_file: HashSet<IpAddr> = self.config.stations.iter().flat_map(|own| own.addresses.clone()).collect();
        let mut macs: HashSet<Mac> = self.config.stations.iter().filter_map(|own| own.mac).collect();
        for station in self.config.stations.clone() {
            let (pool, ap) = self.pool_of(&station);
            // A device that was found before it was named keeps its class.
            let alike = by_mark.of(&station);
            let old = alike.iter().copied().find(|old| old.pool == pool && !named.contains(&old.slot));
            named.extend(old.map(|old| old.slot));
            let slot = match old.filter(|_| keeps).map_or_else(|| self.number(), |old| Ok(old.slot)) {
                // Only the machines that set C would know it.
                Err(_) if !is_by_station => continue,
                slot => slot?,
            };
            // The device may have had another name.
            let of_name =
                |old: &Station| plans.get(old.name.as_str()).copied().filter(|_| old.source == Source::Config);
            was.push(alike.first().copied().and_then(of_name).unwrap_or_default());
            // Who has its address is still the device that it was.
            let is_same = |old: &&Station| station.addresses.iter().any(|address| old.addresses.contains(address));
            let mut known_macs = alike.iter().copied().filter(is_same).filter_map(|old| old.mac);
            let mac = station.mac.or_else(|| known_macs.find(|mac| macs.insert(*mac)));
            let mut addresses = Addresses::of_file(station.addresses.iter().copied());
            for old in alike.iter().filter(|old| old.mac.is_some() && old.mac == mac) {
                addresses.inherit(&old.addresses, |address| of_file.contains(address));
            }
            // Facts from leases and association lists stay; facts from the old file go with its line.
            let told = old.filter(|old| !is_rate_told(&previous, old)).and_then(|old| old.rate);
            stations.push(Station {
                name: station.name,
                pool,
                ap,
                slot,
                mac,
                addresses,
                plan: station.plan,
                rate: station.rate.or(told),
                source: Source::Config,
                seen_s: 0,
                is_listed: true,
            });
        }
        // A name of the file is its station's.
        let mut taken: HashSet<String> = stations.iter().map(|own: &Station| own.name.to_ascii_lowercase()).collect();
        for mut old in known.into_iter().filter(|old| old.source != Source::Config) {
            let is_excluded =
                self.is_excluded(None, old.mac) || old.addresses.iter().any(|own| self.is_excluded(Some(*own), None));
            // What the file names is its station's, though that may have kept another class.
            let is_named = named.contains(&old.slot) || old.mac.is_some_and(|mac| macs.contains(&mac));
            old.addresses.remove_if(|address| of_file.contains(address));
            let is_nobody = old.mac.is_none() && old.addresses.is_empty();
            if is_named || is_nobody || self.pool_with(&old.ap) != Some(old.pool) || is_excluded {
                continue;
            }
            if !keeps {
                // Who finds no class now is found again.
                let Ok(slot) = self.number() else { continue };
                old.slot = slot;
            }
            if taken.contains(&old.name.to_ascii_lowercase()) {
                old.name = old.own_name();
            }
            taken.insert(old.name.to_ascii_lowercase());
            stations.push(old);
        }
        self.stations = stations;
        self.end_settings(&was);
        Ok(())
    }

    /// Classes of `per-direction` (one more than the newcomers') and `per-flow`.
    fn fix_classes(&mut self) -> Result<(), Full> {
        let wanted = if self.config.policy == Policy::PerDirection { 1 } else { super::datapath::FLOW_BUCKETS };
        let pools: Vec<_> = self.pools.values().map(|pool| pool.id).collect();
        self.fixed.retain(|(pool, _)| pools.contains(pool));
        for pool in pools {
            for _ in self.fixed.iter().filter(|(own, _)| *own == pool).count()..usize::from(wanted) {
                let slot = self.slot()?;
                self.fixed.push((pool, slot));
            }
        }
        Ok(())
    }

    /// A number for another station: that of its class, or, where classes are not by station, of none. These go round: who has just gone is not
    /// taken for who comes.
    fn number(&mut self) -> Result<u16, Full> {
        if self.config.policy.is_by_station() {
            return self.slot();
        }
        let is_free = |own: &u16| !self.stations.iter().any(|station| station.slot == *own);
        let mut all = (0..MOST_LEAVES).map(|own| MOST_LEAVES + (self.numbered + own) % MOST_LEAVES);
        let slot = all.find(is_free).ok_or(Full::Stations)?;
        self.numbered = (slot - MOST_LEAVES + 1) % MOST_LEAVES;
        Ok(slot)
    }

    fn slot(&mut self) -> Result<u16, Full> {
        if let Some(slot) = self.free.pop_first() {
            return Ok(slot);
        }
        if self.used == MOST_LEAVES {
            return Err(Full::Stations);
        }
        self.used += 1;
        Ok(self.used - 1)
    }

    /// The class of `slot` is gone from the kernel.
    pub fn release(&mut self, slot: u16) {
        if !self.stations.iter().any(|station| station.slot == slot) && !self.fixed.iter().any(|(_, own)| *own == slot)
        {
            self.free.insert(slot);
        }
    }

    /// Minor numbers of the classes of pool `id` that are no station's.
    pub fn common_classes(&self, id: u16) -> impl Iterator<Item = u16> {
        let fixed = self.fixed.iter().filter(move |(pool, _)| *pool == id).map(|(_, slot)| leaf_minor(*slot));
        [newcomers_minor(id)].into_iter().chain(fixed)
    }

    /// The class with this minor number is gone from the kernel.
    pub fn release_minor(&mut self, minor: u16) {
        if let Some(slot) = slot_of(minor) {
            self.release(slot);
        }
    }

    /// As it was read.
    pub const fn config(&self) -> &Config {
        &self.config
    }

    /// By name.
    pub const fn pools(&self) -> &BTreeMap<String, SitePool> {
        &self.pools
    }

    /// In the order in which they came.
    pub fn stations(&self) -> &[Station] {
        &self.stations
    }

    /// A device was seen by `source`; answers whether anything changed. `interfaces` has the names of interfaces by index.
    ///
    /// A station is known by its MAC address first, so that all its addresses share a class; without one, by address.
    ///
    /// # Errors
    /// There is no class left for it.
    pub fn sight(
        &mut self,
        sighting: &Sighting,
        source: Source,
        interfaces: &BTreeMap<u32, String>,
        now_s: u64,
    ) -> Result<bool, Full> {
        let is_of_link = |ip: &IpAddr| matches!(ip, IpAddr::V6(ip) if ip.is_unicast_link_local());
        let routable = |ip: &IpAddr| is_one_host(ip) && !is_of_link(ip);
        let address = sighting.address.filter(routable);
        if self.is_excluded(address, sighting.mac) {
            return Ok(false);
        }
        let by_mac = |station: &Station| station.mac.is_some() && station.mac == sighting.mac;
        let by_address = |station: &Station| address.is_some_and(|address| station.addresses.contains(&address));
        let known = self.stations.iter().position(by_mac).or_else(|| {
            // An address whose owner has another MAC address has moved to another device.
            let same = |station: &Station| by_address(station) && (station.mac.is_none() || sighting.mac.is_none());
            self.stations.iter().position(same)
        });
        let Some(known) = known else {
            return if sighting.is_hearsay {
                Ok(false)
            } else {
                self.admit(sighting, address, source, interfaces, now_s)
            };
        };
        let owned_by_file = |station: &Station| station.source == Source::Config;
        let taken = self.stations.iter().position(by_address);
        let mut changed = sighting.is_there && self.follow(known, sighting, source, interfaces)?;
        if let Some(address) = address
            && taken != Some(known)
            && !taken.is_some_and(|taken| owned_by_file(&self.stations[taken]))
        {
            // Where classes go by MAC address nobody loses anything by what another says.
            let keeps = sighting.is_hearsay && self.config.mode == Mode::Bridged;
            let had = self.stations[known].addresses.contains(&address);
            let has = self.give(known, address, source, now_s);
            changed = has && !(keeps && had);
            if has && !keeps {
                self.vacate(address, known);
            }
        } else if let Some(address) = address.filter(|_| taken == Some(known)) {
            self.give(known, address, source, now_s);
        }
        let station = &mut self.stations[known];
        if is_list(source) {
            station.seen_s = now_s;
            station.is_listed = true;
        }
        if station.mac.is_none() && sighting.mac.is_some() {
            station.mac = sighting.mac;
            changed = true;
        }
        if sighting.rate.is_some() && station.rate != sighting.rate {
            // What the file says stays.
            if !is_rate_told(&self.config, station) {
                station.rate = sighting.rate;
                changed = true;
            }
        }
        if let Some(name) = self.name_for(sighting, known) {
            self.stations[known].name = name;
            changed = true;
        }
        if changed {
            self.settle(known);
        }
        Ok(changed)
    }

    /// Packets of the stations at `slots` passed; stations that were found and then silent for too long go. Answers
    /// their names.
    pub fn age(&mut self, slots: &BTreeSet<u16>, now_s: u64) -> Vec<String> {
        let age = self.config.discovery.age.as_secs_f64() as u64;
        let mut gone = Vec::new();
        self.stations.retain_mut(|station| {
            if slots.contains(&station.slot) {
                station.seen_s = now_s;
            }
            let stays = station.source == Source::Config || now_s < station.seen_s + age;
            if !stays {
                gone.push(station.name.clone());
            }
            stays
        });
        gone
    }

    /// The pool with the number `id`.
    pub fn pool(&self, id: u16) -> Option<&SitePool> {
        self.pools.values().find(|pool| pool.id == id)
    }

    /// Classes of pool `id` send `turn` at once now.
    pub fn set_turn(&mut self, id: u16, turn: Bytes) {
        if let Some(pool) = self.pools.values_mut().find(|pool| pool.id == id) {
            pool.turn = turn;
        }
    }

    /// C of pool `id` is `rate` now.
    pub fn set_rate(&mut self, id: u16, rate: Bitrate) {
        if let Some(pool) = self.pools.values_mut().find(|pool| pool.id == id) {
            pool.rate = rate;
        }
    }

    /// The first AP of a pool: all of them have the same radio.
    fn radio(&self, pool: u16) -> Option<&Ap> {
        self.pool(pool).map(|own| &own.aps[0])
    }
}
