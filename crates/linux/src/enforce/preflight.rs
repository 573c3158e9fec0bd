//! `fairair vsb check`: what `run` would find and do, without doing it.

mod remarks;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Display;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::{fs, io};

use fairair_core::units::plural;
use serde::Serialize;

use super::config::{Config, Mode};
use super::datapath::{
    Engine, HYSTERESIS, Layout, Link, Outlook, PARAMETER, PREFERENCES, Preview, link_named, links, neighbours,
    stage_preferences, tools,
};
use super::discovery::{Discovery as _, Neighbours};
use super::error::{BATCHES, VsbError};
use super::protocol::{Answer, Ask, ask};
use super::rehearsal::differences;
use super::setup::Machine;
use super::site::{Site, Source};
use super::state::{Lock, State};

/// What was found, for people; and whether `run` would start.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Preflight {
    /// Lines that begin with `ok`, `note` or `FAIL`.
    pub findings: Vec<String>,
    /// Commands that `run`, or `reload` where a daemon runs, would give.
    pub commands: String,
    /// What they would change, as a unified diff: `+` would be added, `-` removed.
    pub changes: String,
    /// Nothing failed.
    pub is_good: bool,
}

/// Looks at this box with the configuration at `path`.
///
/// # Errors
/// The configuration is wrong, or names more stations than there can be.
pub fn preflight(path: &Path) -> Result<Preflight, VsbError> {
    let config = Config::load(path)?;
    let mut preflight = Preflight { is_good: true, ..Preflight::default() };
    preflight.ok(format!("{} is a good configuration", path.display()));
    let mtu = mtu(&config);
    let links = links().unwrap_or_default();
    for name in config.interfaces() {
        match links.iter().find(|link| link.name == *name) {
            None => {
                let error = VsbError::NoInterface(name.clone());
                preflight.fail(format!("{error}: {}", error.fix()));
            }
            Some(link) if !link.is_up => preflight.note(format!("{name} is down")),
            Some(link) => preflight.ok(format!("{name} is up, MTU {}", link.mtu)),
        }
    }
    for fault in bridge_faults(&config, &links) {
        preflight.fail(fault);
    }
    for fault in remarks::foreign(&config).into_iter().chain(remarks::stateless(&config)) {
        preflight.fail(fault);
    }
    placeless(&mut preflight, &config);
    // A box without `ip` is told below.
    let of_machine = Machine::read().map_or_else(
        |_| Vec::new(),
        |machine| [remarks::swapped(&config, &machine), remarks::borrowed(&config, &machine)].concat(),
    );
    for remark in remarks::places(&config)
        .into_iter()
        .chain(remarks::readers(&config))
        .chain(remarks::left_out(&config))
        .chain(remarks::contradicted(&config))
        .chain(remarks::leaky_caps(&config))
        .chain(remarks::astray(&config, &links))
        .chain(of_machine)
    {
        preflight.note(remark);
    }
    let mut site = Site::new(config)?;
    see(&mut preflight, &mut site, &links.iter().map(|link| (link.index, link.name.clone())).collect());
    let layout = site.layout(mtu.unwrap_or(1500));
    // One that is missing was told above.
    for interface in layout.interfaces().into_iter().filter(|name| links.iter().any(|link| link.name == **name)) {
        match tools::dump(interface) {
            Ok(dump) if others(&dump.filters) => preflight.note(format!(
                "{interface} has tc filters; those that end with `ok` or `drop` keep their packets from being shaped"
            )),
            Ok(_) => {}
            Err(error) => preflight.fail(error),
        }
    }
    let directory = site.config().state.clone();
    let Some(preview) = preflight.preview(path, &directory, &layout) else { return Ok(preflight) };
    batches(&mut preflight, &layout);
    if let Err(error) = tools::nft_check(&preview.whole_nft) {
        preflight.fail(error);
    } else {
        preflight.ok("nftables accepts the rules");
    }
    preflight.commands.clone_from(&preview.commands);
    // Also those that are redirected now and then no longer.
    let before = State::load(&directory).ok().flatten().into_iter().flat_map(|state| state.before);
    let mut interfaces = preview.interfaces.clone();
    interfaces.extend(before.map(|dump| dump.interface));
    interfaces.sort();
    interfaces.dedup();
    match differences(&preview, &interfaces) {
        Ok(changes) => {
            preflight.ok("the kernel took all of it in an empty network namespace");
            preflight.changes = changes;
        }
        Err(error) => preflight.fail(format!("rehearsal in an empty network namespace: {error}")),
    }
    Ok(preflight)
}

/// Says whether HTB can send batches, where it is to.
fn batches(preflight: &mut Preflight, layout: &Layout) {
    if !layout.sends_batches() {
        return;
    }
    match HYSTERESIS.outlook() {
        Ok(Outlook::Set) if !all_may_read(PARAMETER) => preflight.note(format!(
            "{PARAMETER} is set, as batches need it, but only root may read it: the unit's daemon needs `chmod a+r` of it"
        )),
        Ok(Outlook::Set) => preflight.ok(format!("{PARAMETER} is set, as batches need it")),
        Ok(Outlook::Settable | Outlook::NotLoaded) => preflight.note(format!(
            "`run` as root sets {PARAMETER} to 1 for batches: for all HTBs of this machine, until the box stops. The unit's daemon may \
             not: docs/vsb.md has a drop-in"
        )),
        Err(error) => preflight.fail(format!("{error}. Remedy: {BATCHES}")),
    }
}

fn all_may_read(file: &str) -> bool {
    fs::metadata(file).is_ok_and(|data| data.permissions().mode() & 0o004 != 0)
}

/// What keeps the box from shaping: in bridged mode interfaces that are ports of no bridge, or of several, and in routed mode ports of a
/// bridge. `check` lists missing interfaces on lines of their own.
pub(super) fn bridge_faults(config: &Config, links: &[Link]) -> Vec<String> {
    let ports: Vec<_> = config.interfaces().filter_map(|name| links.iter().find(|link| link.name == *name)).collect();
    let bridge_of = |port: &Link| links.iter().find(|link| link.is_bridge && Some(link.index) == port.master);
    if config.mode == Mode::Routed {
        let fault = |(port, bridge): (&Link, &Link)| {
            let (port, bridge) = (&port.name, &bridge.name);
            format!(
                "{port} is a port of {bridge}, and in routed mode what passes a bridge is not shaped: write `mode = \"bridged\"` where \
                 the box sits in the cable, or name {bridge} in place of {port} where it is the router"
            )
        };
        let faults: BTreeSet<_> = ports.iter().filter_map(|port| Some(fault((port, bridge_of(port)?)))).collect();
        return faults.into_iter().collect();
    }
    let first = ports.iter().find_map(|port| Some((port, bridge_of(port)?)));
    let wanted = first.map_or("br0", |(_, bridge)| bridge.name.as_str());
    let mut faults = BTreeSet::new();
    for port in &ports {
        let fix = format!("`ip link set {} master {wanted}`", port.name);
        match (bridge_of(port), first) {
            (None, _) if port.is_bridge => {
                let of_it =
                    |link: &&Link| link.master == Some(port.index) && ports.iter().all(|own| own.name != link.name);
                let others: Vec<_> = links.iter().filter(of_it).map(|link| link.name.as_str()).collect();
                let fix = if others.is_empty() {
                    format!("make the interface a port of it (`ip link set PORT master {}`) and name that", port.name)
                } else {
                    format!("in place of it name its port towards there, of {}", others.join(", "))
                };
                faults.insert(format!("{} is the bridge, and in bridged mode its ports are shaped: {fix}", port.name));
            }
            (None, _) => {
                let what = format!("{} is a port of no bridge, and in bridged mode nothing of it is shaped", port.name);
                faults.insert(format!("{what}: {fix}, or write `mode = \"routed\"`"));
            }
            (Some(own), Some((other, bridge))) if own.index != bridge.index => {
                let what =
                    format!("{} is a port of {}, but {} is one of {}", port.name, own.name, other.name, bridge.name);
                faults.insert(format!("{what}: nothing passes between them. {fix}"));
            }
            _ => {}
        }
    }
    faults.into_iter().collect()
}

/// Says where stations behind routers cannot have classes.
fn placeless(preflight: &mut Preflight, config: &Config) {
    let interfaces: BTreeSet<_> = config.aps.iter().map(|ap| &ap.interface).collect();
    for interface in interfaces.into_iter().filter(|_| config.discovery.first_sight && config.policy.is_by_station()) {
        let here = config.aps.iter().filter(|ap| ap.interface == *interface && ap.prefixes.is_empty());
        let names: Vec<_> = here.map(|ap| ap.name.as_str()).collect();
        if names.len() > 1 && config.mode == Mode::Routed {
            preflight.note(format!(
                "{} share {interface} without prefixes: stations behind a router there cannot be told apart by AP, and share \
                 the newcomers' class of {}; give these APs `prefixes`",
                names.join(" and "),
                names[0]
            ));
        }
    }
}

/// Whether there are filters besides ours.
fn others(filters: &str) -> bool {
    let is_ours = |line: &str| {
        PREFERENCES.into_iter().chain(stage_preferences()).any(|(_, own)| line.contains(&format!(" pref {own} ")))
    };
    filters.lines().any(|line| line.starts_with("filter") && !is_ours(line))
}

/// Who could be shaped now.
fn see(preflight: &mut Preflight, site: &mut Site, interfaces: &BTreeMap<u32, String>) {
    let named = site.stations().len();
    if site.config().discovery.neighbours {
        let is_believed = site.config().mode == Mode::Routed || !site.config().discovery.first_sight;
        for sighting in Neighbours::new(site.config().mode, is_believed).look().unwrap_or_default() {
            // A full box is told by `run`.
            let _ = site.sight(&sighting, Source::Neighbours, interfaces, 0);
        }
    }
    let seen = neighbours().map_or(0, |table| table.len());
    let found = site.stations().len() - named;
    preflight.ok(format!("{} named, {found} more found among {}", plural(named, "station"), plural(seen, "neighbour")));
    let without_address = site.stations().iter().filter(|station| station.addresses.is_empty()).count();
    if without_address > 0 && site.config().mode == Mode::Routed {
        preflight.note(format!("{} without an address yet", plural(without_address, "station")));
    }
}

impl Preflight {
    fn ok(&mut self, what: impl Display) {
        self.findings.push(format!("ok   {what}"));
    }

    fn note(&mut self, what: impl Display) {
        self.findings.push(format!("note {what}"));
    }

    fn fail(&mut self, what: impl Display) {
        self.findings.push(format!("FAIL {what}"));
        self.is_good = false;
    }

    /// What would be done: by the daemon's own reckoning if one runs, else from nothing. `None`: a daemon would refuse.
    fn preview(&mut self, path: &Path, directory: &Path, layout: &Layout) -> Option<Preview> {
        let text = std::fs::read_to_string(path).unwrap_or_default();
        match ask(directory, Ask::Preview(text)) {
            Ok(Ok(Answer::Preview(preview))) => {
                self.ok("a daemon runs: this is what `reload` with this configuration would change");
                return Some(preview);
            }
            Ok(Ok(_)) => self.fail("the daemon that runs is of another version"),
            Ok(Err(told)) => self.fail(format!("a daemon runs, and would refuse to reload: {told}")),
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => self.fail(format!(
                "may not ask the daemon at {}: {error}. Run this as root or as the daemon's user",
                directory.display()
            )),
            Err(_) => match Engine::is_present() {
                Ok(true) if matches!(Lock::take(), Ok(None)) => self.fail(format!(
                    "a daemon runs here, and none answers in {}: `state` is another one in its configuration, and `run` would refuse",
                    directory.display()
                )),
                Ok(true) => {
                    self.note("a datapath of ours is there, but no daemon answers: `run` would replace it");
                    return Some(Preview::new(None, layout));
                }
                Ok(false) => {
                    self.ok("nothing of ours is in the kernel yet");
                    return Some(Preview::new(None, layout));
                }
                Err(error) => self.fail(error),
            },
        }
        None
    }
}

/// The largest of the interfaces' MTUs.
pub(in crate::enforce) fn mtu(config: &Config) -> Result<u32, VsbError> {
    let mut largest = 1500;
    for name in config.interfaces() {
        let link = link_named(name).map_err(|_| VsbError::NoInterface(name.clone()))?;
        largest = largest.max(link.mtu);
    }
    Ok(largest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bridge_in_place_of_a_port_is_told_with_its_ports() {
        let site = "name = \"x\"\nmode = \"bridged\"\nuplink = \"wan0\"\n[[ap]]\nname = \"a\"\ninterface = \"br0\"\ncapacity = \"8 Mbit/s\"\n";
        let config = Config::from_toml(site, "test").unwrap();
        let link = |index, name: &str, master| Link { index, name: name.to_owned(), master, ..Link::default() };
        let bridge = Link { is_bridge: true, ..link(1, "br0", None) };
        let told =
            |more: &[Link]| bridge_faults(&config, &[&[bridge.clone(), link(2, "wan0", Some(1))], more].concat());
        let fault = told(&[link(3, "lan0", Some(1)), link(4, "lan1", Some(1)), link(5, "lan2", None)]);
        let is = "br0 is the bridge, and in bridged mode its ports are shaped: ";
        assert_eq!(fault, [format!("{is}in place of it name its port towards there, of lan0, lan1")]);
        assert_eq!(
            told(&[]),
            [format!("{is}make the interface a port of it (`ip link set PORT master br0`) and name that")]
        );
    }
}
