//! Who gets a class, and which addresses belong to it.

use std::collections::BTreeMap;
use std::net::IpAddr;

use fairair_core::units::Bitrate;

use super::addresses::{Addresses, Evidence};
use super::{Full, Site, Source, Station};
use crate::enforce::config::{Ap, Mac, Mode, Plan};
use crate::enforce::datapath::{Key, MOST_LEAVES};
use crate::enforce::discovery::Sighting;

/// Stations of an AP that no list names, at most: an AP of the largest kind has half as many clients.
pub(super) const MOST_OF_AN_AP: usize = 1024;
/// Stations without MAC address in a prefix of 64 bits, at most: a device may take any address there (RFC 4862), and behind a
/// router nobody can tell whether two addresses are one device's.
const MOST_OF_A_PREFIX: usize = 64;
/// Classes that are kept free: below that, who is silent makes room.
const RESERVE: u16 = 64;
/// A station that no list names makes room for another after this silence, in seconds.
pub(super) const SILENCE_S: u64 = 5;

/// Whether `source` is a list that somebody keeps of the stations.
pub(super) const fn is_list(source: Source) -> bool {
    matches!(source, Source::Config | Source::Leases | Source::Association)
}

impl Site {
    /// What `sighting` calls the station at position `known` (one more than there are: a new one), if it has another name and that
    /// name is neither another station's nor looks like an address.
    pub(super) fn name_for(&self, sighting: &Sighting, known: usize) -> Option<String> {
        let name = sighting.name.as_ref()?;
        let own = self.stations.get(known);
        let is_address = name.parse::<Mac>().is_ok() || name.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
        let other = |(at, other): (usize, &Station)| at != known && other.name.eq_ignore_ascii_case(name);
        let is_free = !is_address && !self.stations.iter().enumerate().any(other);
        (is_free && own.is_none_or(|own| own.source != Source::Config && own.name != *name)).then(|| name.clone())
    }

    /// Guaranteed rate of the newcomers' class of a pool with the access points `aps` and a C of `capacity`. A real station gets a class of its
    /// own within a second. What stays in the newcomers' class has forged addresses and may be a flood, so the class gets at most a fiftieth
    /// of C. Where stations may stay newcomers for good, `None`: the class shares C as one station.
    pub(super) fn newcomers_floor(&self, capacity: Bitrate, aps: &[Ap]) -> Option<Bitrate> {
        let open =
            |own: &Ap| self.aps().filter(|(_, ap)| ap.interface == own.interface && ap.prefixes.is_empty()).count();
        let is_clear = aps.iter().all(|own| open(own) < 2);
        let leave = self.config.policy.is_by_station() && self.config.discovery.first_sight && is_clear;
        // A power of two: not each change of C is one of this class.
        leave.then(|| Bitrate::from_bps((1 << capacity.as_bps().max(1).ilog2()) / 64))
    }

    /// Makes room for a station that `source` has found at `ap`: the oldest silent one that no list names goes. Answers
    /// whether there is room.
    fn make_room(&mut self, sighting: &Sighting, source: Source, ap: &str, now_s: u64) -> bool {
        let prefix = |ip: &IpAddr| if let IpAddr::V6(ip) = ip { Some(ip.segments()[..4].to_vec()) } else { None };
        let wanted = sighting.address.as_ref().and_then(prefix).filter(|_| sighting.mac.is_none());
        let shares = |own: &Station| own.mac.is_none() && own.addresses.iter().any(|ip| prefix(ip) == wanted);
        let unknown = |own: &Station| !own.is_listed;
        if !is_list(source) {
            if wanted.is_some()
                && self.stations.iter().filter(|own| unknown(own) && shares(own)).count() >= MOST_OF_A_PREFIX
            {
                return self.evict(now_s, |own| unknown(own) && shares(own));
            }
            if self.stations.iter().filter(|own| unknown(own) && own.ap == ap).count() >= MOST_OF_AN_AP {
                return self.evict(now_s, |own| unknown(own) && own.ap == ap);
            }
        }
        let left = if self.config.policy.is_by_station() {
            self.free.len() as u16 + MOST_LEAVES - self.used
        } else {
            MOST_LEAVES.saturating_sub(self.stations.len() as u16)
        };
        if left < RESERVE {
            // The slot of who goes is free when its class has gone from the kernel; until then there is the reserve.
            return self.evict(now_s, unknown) || is_list(source) && left > 0;
        }
        true
    }

    /// Lets the station go that has been silent for longest, of those that `may` go; answers whether there was one.
    fn evict(&mut self, now_s: u64, may: impl Fn(&Station) -> bool) -> bool {
        let silent = |own: &&Station| may(own) && own.seen_s + SILENCE_S <= now_s;
        let oldest = self.stations.iter().filter(silent).min_by_key(|own| own.seen_s).map(|own| own.slot);
        self.stations.retain(|own| Some(own.slot) != oldest);
        oldest.is_some()
    }

    /// Addresses in `seen` of which nobody can say at which AP they are: packets of them came from behind a router, to an
    /// interface with several APs.
    pub fn placeless(&self, seen: &[Sighting], interfaces: &BTreeMap<u32, String>) -> Vec<IpAddr> {
        let is_placeless = |sighting: &&Sighting| {
            let device = sighting.interface.and_then(|index| interfaces.get(&index)).map(String::as_str);
            sighting.mac.is_none()
                && !self.is_excluded(sighting.address, None)
                && self.aps().any(|(_, ap)| Some(ap.interface.as_str()) == device)
                && self.pool_at(sighting.address, None, device, Source::FirstSight).is_none()
        };
        seen.iter().filter(is_placeless).filter_map(|sighting| sighting.address).collect()
    }

    /// A station that was not known gets a class, if it is clear which AP it is at.
    pub(super) fn admit(
        &mut self,
        sighting: &Sighting,
        address: Option<IpAddr>,
        source: Source,
        interfaces: &BTreeMap<u32, String>,
        now_s: u64,
    ) -> Result<bool, Full> {
        let key = match self.config.mode {
            Mode::Routed => address.map(Key::Ip),
            Mode::Bridged => sighting.mac.map(Key::Mac),
        };
        // An index that is unknown is none of ours.
        let device = sighting.interface.map(|index| interfaces.get(&index).map_or("", String::as_str));
        let Some((pool, ap)) = self.pool_at(address, sighting.mac, device, source) else {
            return Ok(false);
        };
        let Some(key) = key else { return Ok(false) };
        if let Some(address) = address {
            if self.stations.iter().any(|own| own.source == Source::Config && own.addresses.contains(&address)) {
                return Ok(false);
            }
            self.vacate(address, self.stations.len());
        }
        let own = sighting.mac.map_or_else(|| key.to_string(), |mac| mac.to_string());
        if !self.make_room(sighting, source, &ap, now_s) {
            // Without classes by station nobody goes without.
            return if self.config.policy.is_by_station() { Err(Full::Stations) } else { Ok(false) };
        }
        let name = self.name_for(sighting, self.stations.len()).unwrap_or(own);
        let slot = self.number()?;
        self.stations.push(Station {
            name,
            pool,
            ap,
            slot,
            mac: sighting.mac,
            addresses: Addresses::default(),
            plan: Plan::default(),
            rate: sighting.rate,
            source,
            seen_s: now_s,
            is_listed: is_list(source),
        });
        let position = self.stations.len() - 1;
        if let Some(address) = address {
            self.give(position, address, source, now_s);
        }
        self.settle(position);
        Ok(true)
    }

    /// Whether the configuration excludes who has these.
    pub fn is_excluded(&self, address: Option<IpAddr>, mac: Option<Mac>) -> bool {
        self.config.exclude.iter().any(|matcher| matcher.has(address, mac))
    }

    /// Who has `sighting`'s address under another MAC address, where classes go by address: that one is the other's now, or somebody
    /// claims what is not his.
    pub fn claimed(&self, sighting: &Sighting) -> Option<&Station> {
        let (address, mac) = (sighting.address?, sighting.mac?);
        let is_other = |own: &&Station| own.addresses.contains(&address) && own.mac.is_some_and(|own| own != mac);
        let goes_by_address = self.config.mode == Mode::Routed && self.config.policy.is_by_station();
        self.stations.iter().find(is_other).filter(|_| goes_by_address)
    }

    /// Gives station `position` the address, if it has room for it; answers whether it has the address now.
    pub(super) fn give(&mut self, position: usize, address: IpAddr, source: Source, now_s: u64) -> bool {
        let is_proven = is_list(source) || source == Source::FirstSight;
        let evidence = if is_proven { Evidence::Proven } else { Evidence::Heard };
        let age_s = self.config.discovery.age.as_secs_f64() as u64;
        self.stations[position].addresses.take(address, evidence, now_s, age_s)
    }

    /// Takes `address` from whoever has it, but not from station `keeper`.
    pub(super) fn vacate(&mut self, address: IpAddr, keeper: usize) {
        for (_, station) in self.stations.iter_mut().enumerate().filter(|(position, _)| *position != keeper) {
            station.addresses.remove(&address);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::addresses::MOST_ADDRESSES;
    use super::*;
    use crate::enforce::config::Config;

    const TWO: &str = "name = \"x\"\nuplink = \"eth0\"\n[[ap]]\nname = \"a\"\ninterface = \"eth1\"\ncapacity = \"8 Mbit/s\"\n\
        [[ap]]\nname = \"b\"\ninterface = \"eth2\"\ncapacity = \"8 Mbit/s\"\n[[station]]\nname = \"desk\"\nap = \"a\"\n\
        addresses = [\"10.1.0.1\"]\n";

    /// Seen at `interface`, 1 or 2, by a packet.
    fn sight(site: &mut Site, address: &str, interface: u32, now_s: u64) -> Result<bool, Full> {
        let interfaces = [(1, "eth1".to_owned()), (2, "eth2".to_owned())].into();
        let address = Some(address.parse().unwrap());
        let sighting = Sighting { address, interface: Some(interface), ..Sighting::default() };
        site.sight(&sighting, Source::FirstSight, &interfaces, now_s)
    }

    fn has(site: &Site, address: &str) -> bool {
        let address = address.parse().unwrap();
        site.stations().iter().any(|own| own.addresses.contains(&address))
    }

    #[test]
    fn made_up_addresses_take_a_part_of_the_classes_and_make_room_when_they_are_silent() {
        let mut site = Site::new(Config::from_toml(TWO, "test").unwrap()).unwrap();
        assert_eq!(sight(&mut site, "10.3.0.9", 1, 0), Ok(true), "the oldest, but it goes on sending");
        let slot = site.stations().last().unwrap().slot;
        let full = (0..5000_u32)
            .filter(|own| sight(&mut site, &std::net::Ipv4Addr::from(0x0a40_0000 + own).to_string(), 1, 1).is_err());
        assert_eq!(full.count(), 5001 - MOST_OF_AN_AP);
        assert_eq!(sight(&mut site, "10.2.0.9", 2, 1), Ok(true), "another AP has its own part");
        assert_eq!(sight(&mut site, "10.3.0.10", 1, 2), Err(Full::Stations), "nobody is silent yet");
        assert!(site.age(&[slot].into(), 6).is_empty());
        assert_eq!(sight(&mut site, "10.3.0.10", 1, 6), Ok(true));
        assert!(
            has(&site, "10.3.0.9") && has(&site, "10.1.0.1") && !has(&site, "10.64.0.0"),
            "the oldest silent one went"
        );
        assert_eq!(site.stations().len(), MOST_OF_AN_AP + 2);
    }

    #[test]
    fn a_prefix_of_ipv6_has_a_part_of_its_ap() {
        let mut site = Site::new(Config::from_toml(TWO, "test").unwrap()).unwrap();
        let full = (1..=500_u32).filter(|own| sight(&mut site, &format!("fd03::{own:x}"), 1, 1).is_err());
        assert_eq!(full.count(), 500 - MOST_OF_A_PREFIX);
        assert_eq!(sight(&mut site, "fd03:0:0:1::1", 1, 1), Ok(true));
        assert_eq!(sight(&mut site, "fd03::ffff", 1, 6), Ok(true), "in place of a silent one");
    }

    #[test]
    fn a_lease_is_no_address_and_no_other_station_by_name() {
        let mut site = Site::new(Config::from_toml(TWO, "test").unwrap()).unwrap();
        for (low, name) in ["10.0.0.12", "02-00-00-00-00-09", "DESK", "phone", "Phone", "1.2"].into_iter().enumerate() {
            let mac = Some(Mac([2, 0, 0, 0, 0, low as u8]));
            let address = Some(format!("10.1.1.{low}").parse().unwrap());
            let name = Some(name.to_owned());
            let sighting = Sighting { address, mac, name, interface: Some(1), ..Sighting::default() };
            site.sight(&sighting, Source::Leases, &[(1, "eth1".to_owned())].into(), 0).unwrap();
        }
        let names: Vec<_> = site.stations().iter().map(|own| own.name.as_str()).collect();
        let expected =
            ["desk", "02:00:00:00:00:00", "02:00:00:00:00:01", "02:00:00:00:00:02", "phone", "02:00:00:00:00:04"];
        assert_eq!(names[..6], expected);
        assert_eq!(names[6], "02:00:00:00:00:05");
    }

    #[test]
    fn an_address_that_another_device_claims_is_told() {
        let mut site = Site::new(Config::from_toml(TWO, "test").unwrap()).unwrap();
        let told = |address: &str, low: u8| Sighting {
            address: Some(address.parse().unwrap()),
            mac: Some(Mac([2, 0, 0, 0, 0, low])),
            interface: Some(1),
            ..Sighting::default()
        };
        for (address, low) in [("10.1.0.1", 1), ("10.1.0.7", 7)] {
            assert!(site.claimed(&told(address, low)).is_none(), "nobody has it under a MAC address");
            site.sight(&told(address, low), Source::Neighbours, &[(1, "eth1".to_owned())].into(), 0).unwrap();
            assert!(site.claimed(&told(address, low)).is_none());
        }
        assert_eq!(site.claimed(&told("10.1.0.1", 9)).map(|own| own.name.as_str()), Some("desk"));
        assert_eq!(site.claimed(&told("10.1.0.7", 9)).map(|own| own.name.as_str()), Some("02:00:00:00:00:07"));
    }

    /// Somebody sends with a station's MAC address and a thousand addresses, or claims its address among as many of his own.
    #[test]
    fn made_up_addresses_of_a_mac_address_cost_nobody_his_own() {
        let text = TWO.replace("addresses =", "mac = \"02:00:00:00:00:01\"\naddresses =");
        let mut site = Site::new(Config::from_toml(&text, "test").unwrap()).unwrap();
        let mut say = |low: u8, address: &str, now_s: u64| {
            let (address, mac) = (Some(address.parse().unwrap()), Some(Mac([2, 0, 0, 0, 0, low])));
            let sighting = Sighting { address, mac, interface: Some(1), ..Sighting::default() };
            site.sight(&sighting, Source::Neighbours, &[(1, "eth1".to_owned())].into(), now_s).unwrap()
        };
        say(1, "fd01::ffff", 0);
        for low in 0..1000_u32 {
            say(1, &format!("fd01::{low:x}"), 1);
            say(2, &format!("fd02::{low:x}"), 1);
        }
        assert!(!say(2, "fd01::ffff", 2), "who has too many takes none of others'");
        let desk = &site.stations()[0].addresses;
        assert_eq!(desk.iter().count(), MOST_ADDRESSES + 1);
        assert!(["10.1.0.1", "fd01::ffff"].iter().all(|own| desk.contains(&own.parse().unwrap())));
    }
}
