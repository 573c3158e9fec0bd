//! What the ways of discovery bring becomes classes.

use std::collections::BTreeMap;

use fairair_core::units::{plural, word};
use tracing::{info, warn};

use super::Daemon;
use super::counts::Claim;
use super::troubles::Trouble;
use crate::enforce::datapath::{leaf_minor, links};
use crate::enforce::discovery::{Report, Sighting, Workers, ways};
use crate::enforce::site::{Site, Source, Station};

/// That an address has moved to a MAC address is told again after this time, in seconds.
const CLAIM_S: u64 = 600;
/// Most such moves that are told in that time.
const CLAIMS: usize = 100;
/// What to do about one.
const CLAIMED: &str = "a class goes by address, so find out who claims it if that is no new device";
/// So many stations that never sent are worth a note.
const CROWD: usize = 100;

impl Daemon {
    /// Starts the discovery workers of the configuration and ends all earlier ones.
    pub(super) fn start_discovery(&mut self) {
        let ways = ways(self.site.config());
        let ways = self.troubles.attempt(Trouble::Discovery, "cannot begin discovery", ways).unwrap_or_default();
        let names: Vec<_> = ways.iter().map(|way| way.name.clone()).collect();
        self.site.keep_ways(&names);
        self.workers = Workers::new(ways);
    }

    /// A way of discovery has looked.
    pub(super) fn found(&mut self, report: &Report) {
        self.workers.note(report);
        let Ok(seen) = &report.seen else { return };
        let interfaces: BTreeMap<u32, String> =
            links().unwrap_or_default().into_iter().map(|link| (link.index, link.name)).collect();
        if report.source == Source::FirstSight {
            let placeless = self.site.placeless(seen, &interfaces);
            let (lack, then) = if self.site.config().policy.is_by_station() {
                ("have no class", "; until then such addresses share the newcomers' class")
            } else {
                ("may be at one or another AP", "")
            };
            let told = placeless.first().map(|first| {
                format!(
                    "{} addresses behind a router ({first}, ...) {lack}: several APs share the interface. Give these APs `prefixes`{then}",
                    placeless.len()
                )
            });
            self.troubles.tell(Trouble::Newcomers, told);
        }
        // An AP's empty list is a report, too.
        if seen.is_empty() && report.ap.is_none() {
            return;
        }
        let now_s = self.started.elapsed().as_secs();
        let known: BTreeMap<String, String> =
            self.site.stations().iter().map(|station| (station.name.clone(), station.ap.clone())).collect();
        let slots: Vec<_> = self.site.stations().iter().map(|own| (own.slot, own.name.clone())).collect();
        let mut site = self.site.clone();
        let (mut changed, mut full) = (false, None);
        if let Some(ap) = &report.ap {
            match site.associate(&report.way, ap, seen, now_s) {
                Ok(moved) => changed |= moved,
                Err(error) => full = Some(error.to_string()),
            }
        }
        for sighting in seen {
            self.warn_of_claim(&site, sighting, now_s);
            match site.sight(sighting, report.source, &interfaces, now_s) {
                Ok(is_new) => changed |= is_new,
                Err(error) => full = Some(error.to_string()),
            }
        }
        // A source that found no new device says nothing about room for classes.
        if full.is_some() || changed || report.source == Source::FirstSight {
            self.troubles.tell(Trouble::Full, full);
        }
        if !changed {
            // When stations were last seen is kept all the same.
            self.site = site;
        } else if self.adopt(site) {
            // Who has moved to another pool has another number, and who has another name has the same.
            let stays =
                |slot: u16, name: &String| self.site.stations().iter().any(|own| own.slot == slot || own.name == *name);
            for (_, name) in slots.iter().filter(|(slot, name)| !stays(*slot, name)) {
                if self.records.stations.has_room(now_s) {
                    info!(station = name, "forgotten: silent, and others needed its class");
                }
                self.records.journal.station(name, "gone");
            }
            for station in self.site.stations() {
                let event = match known.get(&station.name) {
                    None => "found",
                    Some(ap) if *ap != station.ap => "moved",
                    Some(_) => continue,
                };
                if self.records.stations.has_room(now_s) {
                    info!(station = station.name, by = %word(&station.source), ap = station.ap, "{event}");
                }
                self.records.journal.station(&station.name, event);
            }
        }
    }

    /// Warns once in a while of an address with a class that another device has now.
    fn warn_of_claim(&mut self, site: &Site, sighting: &Sighting, now_s: u64) {
        let Some((own, address, mac)) =
            site.claimed(sighting).and_then(|own| Some((own, sighting.address?, sighting.mac?)))
        else {
            return;
        };
        let claims = &mut self.records.claims;
        claims.retain(|_, claim| now_s < claim.told_s + CLAIM_S);
        if claims.len() < CLAIMS && !claims.contains_key(&(address, mac)) {
            let before = own.mac.map_or_else(String::new, |mac| mac.to_string());
            warn!(station = own.name, "{address} was at {before} and is at {mac} now: {CLAIMED}");
            claims.insert((address, mac), Claim { told_s: now_s, before });
        }
    }

    /// Addresses with a class that went to another device in the last minutes, as a note.
    pub(super) fn moved(&self, now_s: u64) -> Option<String> {
        let mut moved = self.records.claims.iter().filter(|(_, claim)| now_s < claim.told_s + CLAIM_S);
        let ((address, mac), Claim { before, .. }) = moved.next()?;
        let others = moved.count();
        let more = if others == 0 { String::new() } else { format!(" ({} more)", plural(others, "move")) };
        Some(format!("{address} moved from {before} to {mac}{more}: {CLAIMED}"))
    }

    /// A note where most of many stations have never sent or got a packet: somebody scans, or makes addresses up.
    pub(super) fn silent_crowd(&self) -> Option<String> {
        let stations = self.site.stations();
        let has_passed = |station: &Station| self.counts.class(leaf_minor(station.slot)).bytes > 0;
        let found = stations.iter().filter(|station| station.source != Source::Config);
        let silent = found.filter(|station| !has_passed(station)).count();
        let harm = if self.site.config().policy.is_by_station() {
            ". Their classes share no capacity while they are silent, and go when others need them"
        } else {
            ""
        };
        (silent >= CROWD && 2 * silent > stations.len()).then(|| {
            format!(
                "{silent} of {} stations have sent and got nothing: somebody scans or makes up addresses{harm}",
                stations.len()
            )
        })
    }

    /// Brings the kernel to `site`; answers whether it is there.
    pub(super) fn adopt(&mut self, site: Site) -> bool {
        let changed = self.mtu(site.config()).and_then(|mtu| {
            self.engine.change(site.layout(mtu))?;
            Ok(mtu)
        });
        let Some(mtu) = self.troubles.watch(Trouble::Datapath, changed) else { return false };
        self.mtu = mtu;
        self.site = site;
        // What was read before has the parameters of before.
        self.counts.read = None;
        self.assign_positions();
        true
    }
}
