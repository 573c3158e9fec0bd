//! The addresses of a station, and which of too many stay.

use std::collections::BTreeMap;
use std::net::IpAddr;

/// Addresses that a station may have besides those that the file names: privacy extensions (RFC 8981) make some ten.
pub(super) const MOST_ADDRESSES: usize = 64;
/// So many of them, the longest known, stay whatever others come.
const FIRM: usize = 8;

/// How it is known that a station has an address, the better the later.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Evidence {
    /// Somebody says so, and anybody may forge that.
    Heard,
    /// A list says so, or traffic went both ways.
    Proven,
    /// The file says so.
    File,
}

#[derive(Clone, Copy, Debug, PartialEq)]
struct Told {
    evidence: Evidence,
    since_s: u64,
    seen_s: u64,
}

/// The addresses of a station.
///
/// Anybody can send with another device's MAC address and with addresses of his own making. So a new address takes the place of a
/// silent one only; an address with evidence also that of the one that was only heard of last.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Addresses(BTreeMap<IpAddr, Told>);

impl Addresses {
    /// In order.
    pub fn iter(&self) -> impl Iterator<Item = &IpAddr> + Clone {
        self.0.keys()
    }

    /// Whether `address` is among them.
    pub fn contains(&self, address: &IpAddr) -> bool {
        self.0.contains_key(address)
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Those that the file names.
    pub fn of_file(addresses: impl IntoIterator<Item = IpAddr>) -> Addresses {
        let told = Told { evidence: Evidence::File, since_s: 0, seen_s: 0 };
        Addresses(addresses.into_iter().map(|address| (address, told)).collect())
    }

    /// Takes what the same station had before, but for what `is_named` of others; what an earlier file named counts as heard.
    pub(super) fn inherit(&mut self, old: &Addresses, is_named: impl Fn(&IpAddr) -> bool) {
        for (address, told) in old.0.iter().filter(|(address, _)| !is_named(address)) {
            let evidence = if told.evidence == Evidence::File { Evidence::Heard } else { told.evidence };
            self.0.entry(*address).or_insert(Told { evidence, ..*told });
        }
    }

    pub(super) fn remove(&mut self, address: &IpAddr) {
        self.0.remove(address);
    }

    /// Removes those that `is_named`.
    pub(super) fn remove_if(&mut self, is_named: impl Fn(&IpAddr) -> bool) {
        self.0.retain(|address, _| !is_named(address));
    }

    /// The station has `address`; one that was not named for `age_s` is silent. Answers whether it is among them now.
    pub(super) fn take(&mut self, address: IpAddr, evidence: Evidence, now_s: u64, age_s: u64) -> bool {
        if let Some(told) = self.0.get_mut(&address) {
            (told.evidence, told.seen_s) = (told.evidence.max(evidence), now_s);
            return true;
        }
        let mut others: Vec<_> = self.0.iter().filter(|(_, told)| told.evidence != Evidence::File).collect();
        if others.len() >= MOST_ADDRESSES {
            others.sort_by_key(|(_, told)| told.since_s);
            let loose = &others[FIRM..];
            let silent =
                loose.iter().filter(|(_, told)| told.seen_s + age_s <= now_s).min_by_key(|(_, told)| told.seen_s);
            let heard = || loose.iter().rev().find(|(_, told)| told.evidence == Evidence::Heard);
            let gone = silent.or_else(|| heard().filter(|_| evidence > Evidence::Heard)).map(|(gone, _)| **gone);
            let Some(gone) = gone else { return false };
            self.0.remove(&gone);
        }
        self.0.insert(address, Told { evidence, since_s: now_s, seen_s: now_s });
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ip(low: u32) -> IpAddr {
        format!("fd01::{low:x}").parse().unwrap()
    }

    /// Named each second for as long as the flood lasts, with two addresses of the device before.
    fn flooded(evidence: Evidence) -> Addresses {
        let mut own = Addresses::default();
        assert!(own.take(ip(0xffff), Evidence::Proven, 0, 600) && own.take(ip(0xfffe), Evidence::Heard, 0, 600));
        for low in 0..1000 {
            own.take(ip(low), evidence, 900 + u64::from(low / 100), 600);
        }
        assert_eq!(own.iter().count(), MOST_ADDRESSES);
        own
    }

    #[test]
    fn a_flood_takes_no_address_that_is_longer_known() {
        for evidence in [Evidence::Heard, Evidence::Proven] {
            let own = flooded(evidence);
            assert!(own.contains(&ip(0xffff)) && own.contains(&ip(0xfffe)), "silent for long, and longest known");
        }
    }

    #[test]
    fn what_is_proven_takes_the_place_of_what_was_heard_and_anything_that_of_the_silent() {
        let mut own = flooded(Evidence::Heard);
        assert!(!own.take(ip(0xfff0), Evidence::Heard, 910, 600));
        assert!(own.take(ip(0xfff0), Evidence::Proven, 910, 600));
        assert!(own.take(ip(0xfff1), Evidence::Heard, 1600, 600), "the flood is over");
        let mut own = flooded(Evidence::Proven);
        assert!(!own.take(ip(0xfff0), Evidence::Proven, 910, 600), "none was only heard of, but the longest known");
        own = Addresses::of_file([ip(0xf000)]);
        assert!((0..64).all(|low| own.take(ip(low), Evidence::Heard, 0, 600)), "those of the file do not count");
    }
}
