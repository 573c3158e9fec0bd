//! What the daemon says of itself.

use fairair_core::control::{CapacityParams, Reason, State};
use fairair_core::shaper::limit::QUEUE_TIME;
use fairair_core::shaper::{BATCHES, Policy, QueueRule};
use fairair_core::units::{Bitrate, Bytes, plural, word};

use super::super::config::{Mac, Matcher};
use super::super::datapath::{leaf_minor, newcomers_minor};
use super::super::discovery::NEWCOMERS;
use super::super::protocol::{ClassReport, Explanation, PoolReport, StationReport, Status};
use super::super::settings::check_text;
use super::super::site::{SitePool, Source, Station};
use super::Daemon;
use super::pools::{PASSES_BY, PoolControl, UDP_LOAD};
use super::refused::Refused;
use super::why::{Case, MEASURED, limit};

/// Most stations that notes of one kind name.
const NAMED: usize = 3;
const EXCLUDED: &str = "the configuration excludes it: it is not shaped";

impl Daemon {
    pub(super) fn status(&self) -> Status {
        let left = |(at, _): (std::time::Instant, _)| at.saturating_duration_since(std::time::Instant::now());
        Status {
            name: self.site.config().name.clone(),
            pid: std::process::id(),
            uptime_s: self.started.elapsed().as_secs_f64(),
            policy: word(&self.site.config().policy),
            confirm_within_s: self.confirm.map(|confirm| left(confirm).as_secs_f64()),
            troubles: self.troubles.texts().chain(self.workers.troubles()).cloned().collect(),
            notes: self.notes.clone(),
            pools: self.site.pools().values().map(|pool| self.pool_report(pool)).collect(),
            wan: self.wan_reports(),
        }
    }

    fn pool_control(&self, id: u16) -> Option<&PoolControl> {
        self.pools.iter().find(|control| control.id == id)
    }

    fn pool_report(&self, pool: &SitePool) -> PoolReport {
        let leaves = self.engine.layout().leaves.iter().filter(|(_, leaf)| leaf.pool == pool.id);
        let counters: Vec<_> = leaves.filter_map(|(minor, _)| self.counts.classes.get(minor)).collect();
        let control = self.pool_control(pool.id);
        let heard = control.filter(|_| self.counts.is_heard(pool.id, std::time::Instant::now()));
        // Where classes are not by station this is one of those that all share.
        let newcomers = Some(self.counts.class(newcomers_minor(pool.id)));
        let newcomers = newcomers.filter(|_| self.site.config().policy.is_by_station()).unwrap_or_default();
        let interfaces: std::collections::BTreeSet<_> = pool.aps.iter().map(|ap| ap.interface.as_str()).collect();
        PoolReport {
            ap: pool.ap_names(),
            channel: pool.aps[0].channel.map(|channel| channel.to_string()),
            aps: pool.aps.iter().map(|ap| ap.name.clone()).collect(),
            interface: interfaces.into_iter().collect::<Vec<_>>().join(", "),
            control: match pool.capacity() {
                CapacityParams::Fixed { .. } => "fixed".to_owned(),
                CapacityParams::Wce(_) => "wce".to_owned(),
                CapacityParams::Adaptive(_) => "adaptive".to_owned(),
                CapacityParams::Air(_) => "air".to_owned(),
            },
            capacity: pool.rate,
            turn_bytes: pool.turn.0,
            state: control.map_or(State::Run, PoolControl::state),
            reason: control.map_or(Reason::Start, |control| control.reason),
            stations: self.site.stations().iter().filter(|station| station.pool == pool.id).count(),
            rate: self.counts.rates.of_pool(pool.id),
            backlog: counters.iter().map(|class| u64::from(class.backlog)).sum(),
            drops: self.counts.drops.of_pool(pool.id),
            rtt_s: heard.and_then(|control| control.rtt).map(fairair_core::units::Duration::as_secs_f64),
            rtt_above_baseline_s: heard
                .and_then(|control| control.delay)
                .map(fairair_core::units::Duration::as_secs_f64),
            probes: control.map_or([0; 3], PoolControl::probes),
            newcomers: ClassReport {
                bytes: newcomers.bytes,
                backlog: newcomers.backlog,
                drops: u64::from(newcomers.drops),
            },
            trouble: control.and_then(|control| control.trouble(pool.rate)),
        }
    }

    /// Bytes that a round gives class `minor` now.
    fn turn_of(&self, minor: u16) -> u32 {
        let layout = self.engine.layout();
        layout.leaves.get(&minor).map_or(0, |leaf| layout.turn_of(leaf))
    }

    pub(super) fn stations(&self) -> Vec<StationReport> {
        self.site.stations().iter().map(|station| self.station_report(station)).collect()
    }

    fn station_report(&self, station: &Station) -> StationReport {
        let is_by_station = self.site.config().policy.is_by_station();
        let common =
            self.class_report(leaf_minor(station.slot), station.name.clone(), station.ap.clone(), station.source);
        StationReport {
            mac: station.mac,
            addresses: station.addresses.iter().map(ToString::to_string).collect(),
            // Where classes are not by station none of these is in force.
            setting: self.site.settings().of(station).filter(|_| is_by_station).cloned(),
            weight: if is_by_station { station.plan.weight } else { 1.0 },
            cap: station.plan.cap.filter(|_| is_by_station),
            class: if is_by_station { common.class } else { String::new() },
            bypassing: self.bypassing(station),
            phy_rate: station.rate,
            answers: self.probes.method(station.slot),
            ..common
        }
    }

    /// What is known of class `minor` alone.
    fn class_report(&self, minor: u16, name: String, ap: String, source: Source) -> StationReport {
        let (class, on_wan) = (self.counts.class(minor), self.on_wan(minor));
        StationReport {
            name,
            ap,
            mac: None,
            addresses: Vec::new(),
            source,
            setting: None,
            weight: 1.0,
            cap: None,
            quantum: self.turn_of(minor),
            class: format!("1:{minor:x}"),
            rate: self.counts.rates.of_class(minor),
            bypassing: Bitrate::default(),
            phy_rate: None,
            bytes: class.bytes,
            backlog: class.backlog,
            wan_backlog: on_wan.waiting,
            drops: u64::from(class.drops),
            wan_drops: on_wan.drops,
            answers: None,
        }
    }

    /// The classes of those that have none of their own, where something has passed.
    pub(super) fn newcomers(&self) -> Vec<StationReport> {
        let by_station = self.site.pools().values().filter(|_| self.site.config().policy.is_by_station());
        let own = by_station.map(|pool| (newcomers_minor(pool.id), pool));
        let used = own.filter(|(minor, _)| self.counts.class(*minor).bytes > 0);
        used.map(|(minor, pool)| self.class_report(minor, NEWCOMERS.to_owned(), pool.ap_names(), Source::Newcomers))
            .collect()
    }

    /// Why `what` (a name, an address, a MAC address) gets its rate.
    pub(super) fn explain(&self, what: &str) -> Result<Explanation, Refused> {
        check_text(what)?;
        let is_it = |station: &&Station| {
            station.name == what
                || station.mac.is_some_and(|mac| what.parse() == Ok(mac))
                || what.parse().is_ok_and(|address| station.addresses.contains(&address))
        };
        Ok(match self.site.stations().iter().find(is_it) {
            Some(station) => {
                let report = self.station_report(station);
                let is_by_station = self.site.config().policy.is_by_station();
                let mut because: Vec<_> = self.excluded(station).into_iter().collect();
                // Of one that is not shaped at all the rest would say nothing.
                if because.first().is_none_or(|told| told != EXCLUDED) {
                    let more = if is_by_station { self.reasons(station, &report) } else { self.without_class(station) };
                    because.extend(more);
                }
                Explanation { what: what.to_owned(), station: Some(report), because }
            }
            None if self.is_no_name(what) => return Err(Refused::NoStation(what.to_owned())),
            None => Explanation { what: what.to_owned(), station: None, because: self.stranger(what) },
        })
    }

    /// What of `station` the configuration excludes though it may name it.
    fn excluded(&self, station: &Station) -> Option<String> {
        let (own, others): (Vec<_>, Vec<_>) =
            station.addresses.iter().partition(|address| self.site.is_excluded(Some(**address), None));
        if self.site.is_excluded(None, station.mac) || others.is_empty() && !own.is_empty() {
            return Some(EXCLUDED.to_owned());
        }
        let own: Vec<_> = own.into_iter().map(ToString::to_string).collect();
        (!own.is_empty()).then(|| format!("the configuration excludes {} of it: that is not shaped", own.join(" and ")))
    }

    /// Whether `what` is neither an address, whose traffic may have no class, nor anything that a setting is kept for.
    fn is_no_name(&self, what: &str) -> bool {
        let is_address = what.parse::<Mac>().is_ok() || what.parse::<std::net::IpAddr>().is_ok();
        !is_address && self.site.config().policy.is_by_station() && self.site.settings().named(what).is_none()
    }

    fn reasons(&self, station: &Station, report: &StationReport) -> Vec<String> {
        let mut because = Vec::new();
        let Some(pool) = self.site.pool(station.pool) else { return because };
        let (capacity, in_use) = (pool.rate, self.counts.rates.of_pool(pool.id));
        let is_busy = |other: &&Station| {
            let minor = leaf_minor(other.slot);
            let sends = self.counts.rates.of_class(minor) > Bitrate::from_bps(1000);
            other.pool == station.pool && (self.counts.class(minor).backlog > 0 || sends)
        };
        let busy: Vec<_> = self.site.stations().iter().filter(is_busy).collect();
        let quanta = |station: &Station| {
            let leaf = self.engine.layout().leaves.get(&leaf_minor(station.slot));
            leaf.map_or(0.0, |leaf| f64::from(leaf.quantum))
        };
        let sum: f64 = busy.iter().map(|other| quanta(other)).sum();
        let others = busy.iter().filter(|other| other.slot != station.slot).count();
        let trouble = self.pool_control(pool.id).and_then(|control| control.trouble(capacity));
        because.push(limit(
            report,
            &Case {
                capacity,
                share: Bitrate::from_bps((quanta(station) / sum.max(1.0) * capacity.as_bps() as f64) as u64),
                others,
                on_wan: self.on_wan(leaf_minor(station.slot)),
                is_doubtful: trouble.is_some(),
            },
        ));
        because.extend(self.pool_control(pool.id).and_then(|control| control.trial(self.now(), capacity)));
        because.extend(trouble);
        because.extend(self.by_air(station));
        because.extend(report.setting.iter().map(|setting| format!("set for it: {}", setting.words())));
        let place = match pool.aps[0].channel {
            None => pool.ap_names(),
            Some(channel) => format!("channel {channel}, whose air all stations of {} share", pool.ap_names()),
        };
        let (used, all) = (in_use.rounded(MEASURED), capacity.rounded(MEASURED + 1));
        because.push(format!("{used} of {all} is in use at {place}"));
        because.extend(self.passes_by(station));
        because.extend(self.udp_flows.of(station));
        if self.wan_binds() {
            because.push("the Internet link ([wan]) is the bottleneck now, so the pool need not be full".to_owned());
        }
        if report.drops > 0 {
            let queue = match self.site.config().leaf.queue {
                QueueRule::Packets(limit) => format!("{limit} packets"),
                QueueRule::Auto if self.site.config().leaf.batch > Bytes(0) => {
                    format!("{QUEUE_TIME} at its rate, at least {BATCHES} turns,")
                }
                QueueRule::Auto => format!("{QUEUE_TIME} at its rate"),
            };
            because.push(format!(
                "{} dropped since its queue of {queue} was full",
                plural(report.drops as usize, "packet")
            ));
        }
        if report.wan_drops > 0 {
            let dropped = plural(report.wan_drops as usize, "packet");
            because.push(format!("{dropped} dropped since its queue for the Internet link was full"));
        }
        because
    }

    /// What holds for a station where classes are not by station.
    fn without_class(&self, station: &Station) -> Vec<String> {
        let mut because = vec![self.no_classes()];
        let trouble =
            self.pool_control(station.pool).and_then(|control| control.trouble(self.site.pool(station.pool)?.rate));
        because.extend(trouble);
        because.extend(self.passes_by(station));
        because.extend(self.udp_flows.of(station));
        because
    }

    /// Uplink UDP of `station` that passes the box by, if it is a load.
    fn bypassing(&self, station: &Station) -> Bitrate {
        let bytes = self.counts.udp.get(&station.slot).copied().filter(|bytes| *bytes > UDP_LOAD);
        Bitrate::from_bps(bytes.unwrap_or(0) * 8)
    }

    /// That such UDP is a load.
    fn passes_by(&self, station: &Station) -> Option<String> {
        let rate = Some(self.bypassing(station)).filter(|rate| rate.as_bps() > 0)?.rounded(MEASURED);
        Some(format!(
            "it sends {rate} of UDP, which passes the box by and takes air from all: no class can hold back what has been on the air"
        ))
    }

    /// Notes of stations whose UDP takes much of a pool's air past the box.
    pub(super) fn loads_past_the_box(&self) -> Vec<String> {
        let load = |station: &Station| {
            let (pool, rate) = (self.site.pool(station.pool)?, self.bypassing(station));
            let is_much = rate.as_bps() as f64 > PASSES_BY.end * pool.rate.as_bps() as f64;
            let rate = rate.rounded(MEASURED);
            is_much.then(|| format!("{}: {} sends {rate} of UDP past the box (`udp`)", pool.name, station.name))
        };
        self.site.stations().iter().filter_map(load).take(NAMED).collect()
    }

    /// What the PHY rate of `station` has to do with its share, where that goes by air.
    fn by_air(&self, station: &Station) -> Option<String> {
        matches!(self.site.config().policy, Policy::Airtime | Policy::AirtimePhy).then(|| match station.rate {
            Some(rate) => format!(
                "stations share time on the air, not bytes: at {rate} it has as many bytes as that time carries"
            ),
            None => "stations share time on the air, not bytes: its PHY rate is not known, so it counts as a fast one"
                .to_owned(),
        })
    }

    fn no_classes(&self) -> String {
        format!("with policy {} stations have no classes of their own", word(&self.site.config().policy))
    }

    /// Why `what` has no class.
    fn stranger(&self, what: &str) -> Vec<String> {
        let config = self.site.config();
        let mut because = Vec::new();
        if !config.policy.is_by_station() {
            because.push(self.no_classes());
        }
        let excluded_macs =
            || config.exclude.iter().filter_map(|own| if let Matcher::Mac(mac) = own { Some(*mac) } else { None });
        if let Ok(mac) = what.parse::<Mac>() {
            let own = excluded_macs().find(|own| *own == mac);
            because.extend(own.map(|_| EXCLUDED.to_owned()));
        }
        if let Ok(address) = what.parse::<std::net::IpAddr>() {
            if self.site.is_excluded(Some(address), None) {
                because.push(EXCLUDED.to_owned());
            }
            let at = config.aps.iter().find(|ap| ap.prefixes.iter().any(|prefix| prefix.contains(&address)));
            match at {
                Some(ap) => because.push(format!(
                    "it belongs to {}, but has not been seen to send after something was sent to it",
                    ap.name
                )),
                None if config.aps.iter().all(|ap| !ap.prefixes.is_empty()) => {
                    because.push("no AP has a prefix with this address: it is not shaped".to_owned());
                }
                None => {}
            }
        }
        if because.is_empty() {
            because.push("no station has this address; `fairair vsb stations` lists all".to_owned());
            because.extend(self.newcomers().iter().map(|class| {
                format!(
                    "at {} those that have no class of their own share class {}: {} now, {} packets wait, {} dropped",
                    class.ap,
                    class.class,
                    class.rate.rounded(MEASURED),
                    class.backlog + class.wan_backlog,
                    class.drops + class.wan_drops
                )
            }));
            if excluded_macs().next().is_some() {
                because.push(
                    "`exclude` has MAC addresses: what they send and get is not shaped, whatever their addresses"
                        .to_owned(),
                );
            }
        }
        let waiting = self.site.settings().named(what);
        because.extend(waiting.map(|setting| format!("set for it as soon as it is there: {}", setting.words())));
        because
    }
}
