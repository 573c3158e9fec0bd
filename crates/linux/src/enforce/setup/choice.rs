//! What the operator takes of what was found, and its configuration as TOML.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::Path;

use fairair_core::scenario::ScenarioError;
use fairair_core::units::Bitrate;
use serde::Serialize;

use super::machine::Machine;
use super::roles::{Candidate, Roles, named, shown};
use super::{Lack, Lists};
use crate::enforce::config::{Channel, Config, Mode};

/// Proposed for a cell whose wire carries more.
const USUAL: Bitrate = Bitrate::mbps(300);
/// Where the reasons begin.
const COMMENTS: usize = 28;
/// Why a capacity is what it is, if it was not guessed.
const SAID: &str = "as you said";

/// What the operator asks for; what is left out is proposed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Wish {
    /// Name, if it is not the interface's, and interface of each AP; empty: all that were found.
    pub aps: Vec<(Option<String>, String)>,
    /// How packets pass the box.
    pub mode: Option<Mode>,
}

/// What sets C.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Capacity {
    /// The box finds it below this.
    Adaptive(Bitrate),
    /// It is this.
    Fixed(Bitrate),
}

/// An AP that was taken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChosenAp {
    /// As it was found, with the name that it gets.
    pub found: Candidate,
    /// What sets its C.
    pub capacity: Capacity,
    /// Where the capacity comes from.
    pub why: String,
}

impl ChosenAp {
    /// Takes what the operator says in place of what is proposed.
    pub fn say(&mut self, capacity: Capacity) {
        self.capacity = capacity;
        SAID.clone_into(&mut self.why);
    }

    /// Whether nobody has said what the cell carries.
    pub fn is_guessed(&self) -> bool {
        self.why != SAID
    }
}

/// A list of stations that the box reads.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Source {
    /// Its key in `[discovery]`.
    pub key: &'static str,
    /// Files, sockets or radios.
    pub names: Vec<String>,
    /// What it tells.
    pub why: &'static str,
    /// The AP whose stations it lists, if it is one AP's alone.
    pub ap: Option<String>,
}

/// A configuration to be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Choice {
    /// Name of the site.
    pub name: String,
    /// How packets pass the box.
    pub mode: Mode,
    /// What says so.
    pub why: String,
    /// Interfaces towards the gateway, at least one.
    pub uplinks: Vec<String>,
    /// The APs, at least one.
    pub aps: Vec<ChosenAp>,
    /// Where stations are listed.
    pub lists: Lists,
    uplink_why: String,
    /// Radios that `iw` tells of.
    iw: BTreeSet<String>,
}

impl Choice {
    /// What follows from `wish` on `machine`, with the capacities that are proposed.
    ///
    /// # Errors
    /// No uplink or AP is known, or the wish does not fit the machine.
    pub fn new(machine: &Machine, roles: &Roles, wish: &Wish) -> Result<Choice, Lack> {
        let uplinks = roles.uplinks.clone()?;
        let found = if wish.aps.is_empty() { roles.aps.clone() } else { taken(machine, roles, &uplinks, &wish.aps)? };
        if found.is_empty() {
            return Err(Lack::new(
                format!("no interface besides {} leads to stations", uplinks.join(", ")),
                "name the one towards the AP: --ap NAME=INTERFACE",
            ));
        }
        let (mode, why) = mode(machine, &uplinks, &found, wish.mode)?;
        let tells = |radio: &&String| {
            let kind = machine.interface(radio).and_then(|own| own.radio.as_ref()).map(|radio| radio.kind.as_str());
            kind.is_some_and(|kind| !kind.is_empty()) && machine.lists.hostapd_of(radio).is_none()
        };
        let iw = found.iter().flat_map(|ap| &ap.radios).filter(tells).cloned().collect();
        let uplink_why = roles.verdicts.iter().find(|verdict| verdict.name == uplinks[0]);
        let host: String = machine.host.chars().filter(|c| c.is_ascii_alphanumeric() || "-_.".contains(*c)).collect();
        let host = host.trim_start_matches('.');
        let aps = found.into_iter().map(|found| {
            let (capacity, why) = proposed(machine, &found);
            ChosenAp { found, capacity, why }
        });
        Ok(Choice {
            name: if host.is_empty() { "site".to_owned() } else { host.to_owned() },
            mode,
            why,
            aps: aps.collect(),
            lists: machine.lists.clone(),
            uplink_why: uplink_why.map(|verdict| verdict.why.clone()).unwrap_or_default(),
            uplinks,
            iw,
        })
    }

    /// The configuration, each value with the reason for it.
    pub fn text(&self) -> String {
        let mut text = "# Written by `fairair vsb init`. All keys: docs/vsb.md\n".to_owned();
        line(&mut text, "name", &quoted(&self.name), "of the site, for logs and the journal");
        let mode = if self.mode == Mode::Bridged { "bridged" } else { "routed" };
        line(&mut text, "mode", &quoted(mode), &self.why);
        let names: Vec<_> = self.uplinks.iter().map(|name| quoted(name)).collect();
        let uplink = if let [only] = &names[..] { only.clone() } else { format!("[{}]", names.join(", ")) };
        line(&mut text, "uplink", &uplink, &format!("towards the gateway: {}", self.uplink_why));
        let mut pools: Vec<Channel> = Vec::new();
        for (place, ap) in self.aps.iter().enumerate() {
            text += "\n[[ap]]\n";
            line(&mut text, "name", &quoted(&ap.found.name), "");
            line(&mut text, "interface", &quoted(&ap.found.interface), &ap.found.why);
            let is_shared = |channel: &Channel| {
                self.aps.iter().enumerate().any(|(other, ap)| other != place && ap.found.channel == Some(*channel))
            };
            if let Some(channel) = ap.found.channel.filter(is_shared) {
                line(&mut text, "channel", &quoted(&channel.to_string()), "APs on one channel share one capacity");
                if pools.contains(&channel) {
                    continue;
                }
                pools.push(channel);
            }
            match ap.capacity {
                Capacity::Fixed(rate) => {
                    text += "# A fixed capacity has to be a little less than what the cell carries.\n";
                    line(&mut text, "capacity", &quoted(&rate.to_string()), &ap.why);
                }
                Capacity::Adaptive(max) => {
                    text += "# The box finds the capacity of the cell, no higher than `max`: what one station alone measures beside the\n\
                        # AP, both directions at once, without the box. `fairair vsb status` says when it is too low.\n";
                    let value = format!("{{ kind = \"adaptive\", max = {} }}", quoted(&max.to_string()));
                    line(&mut text, "capacity", &value, &ap.why);
                }
            }
        }
        self.discovery(&mut text);
        text
    }

    /// Lists of stations that this machine has.
    pub fn sources(&self) -> Vec<Source> {
        let text = |path: &Path| path.to_string_lossy().into_owned();
        let mut sources = Vec::new();
        for (key, file) in [("dnsmasq", &self.lists.dnsmasq), ("kea", &self.lists.kea)] {
            if let Some(file) = file {
                let why = "names and addresses of stations, found there";
                sources.push(Source { key, names: vec![text(file)], why, ap: None });
            }
        }
        if !self.iw.is_empty() {
            let names = self.iw.iter().cloned().collect();
            sources.push(Source { key: "iw", names, why: "radios of this box: stations and rates", ap: None });
        }
        for ap in &self.aps {
            for socket in ap.found.radios.iter().filter_map(|radio| self.lists.hostapd_of(radio)) {
                let ap = Some(ap.found.name.clone());
                let why = "who is associated, and at which rate";
                sources.push(Source { key: "hostapd", names: vec![text(socket)], why, ap });
            }
        }
        sources
    }

    fn discovery(&self, text: &mut String) {
        let mut keys = String::new();
        let mut own = String::new();
        for Source { key, names, why, ap } in self.sources() {
            let names: Vec<_> = names.iter().map(|name| quoted(name)).collect();
            if let Some(ap) = ap {
                let _ = writeln!(own, "\n[[discovery.{key}]]");
                line(&mut own, "socket", &names.concat(), why);
                line(&mut own, "ap", &quoted(&ap), "");
            } else {
                let value = if key == "iw" { format!("[{}]", names.join(", ")) } else { names.concat() };
                line(&mut keys, key, &value, why);
            }
        }
        *text +=
            "\n# Stations are found by the neighbour table and their first packets, and by these lists:\n[discovery]\n";
        *text += if keys.is_empty() {
            "# no list was found on this box: a controller or AP elsewhere may have one (SNMP)\n"
        } else {
            &keys
        };
        *text += &own;
    }

    /// The text, if the daemon would take it.
    ///
    /// # Errors
    /// A name or value that configurations do not take, with its place and fix.
    pub fn checked(&self, path: &Path) -> Result<String, ScenarioError> {
        let text = self.text();
        Config::from_toml(&text, &path.display().to_string()).map(|_| text)
    }
}

/// A string of TOML: JSON's escapes are TOML's, but for DEL, which the reader then refuses.
fn quoted(text: &str) -> String {
    serde_json::to_string(text).expect("a string")
}

/// A key with its reason.
fn line(text: &mut String, key: &str, value: &str, why: &str) {
    let setting = format!("{key} = {value}");
    if why.is_empty() {
        let _ = writeln!(text, "{setting}");
    } else {
        let why: String = why.chars().filter(|c| !c.is_control()).collect();
        let _ = writeln!(text, "{setting:COMMENTS$} # {why}");
    }
}

/// The APs that were named.
fn taken(
    machine: &Machine,
    roles: &Roles,
    uplinks: &[String],
    wanted: &[(Option<String>, String)],
) -> Result<Vec<Candidate>, Lack> {
    let bridge = uplinks.iter().find_map(|name| machine.bridge_of(name));
    let mut aps: Vec<Candidate> = Vec::new();
    for (name, interface) in wanted {
        named(machine, std::slice::from_ref(interface))?;
        if uplinks.contains(interface) {
            let others: Vec<_> = roles.aps.iter().map(|ap| ap.interface.as_str()).collect();
            let fix = if others.is_empty() { String::new() } else { format!(": {} may be one", others.join(", ")) };
            return Err(Lack::new(
                format!("{interface} is towards the gateway, so no AP is behind it"),
                format!("an AP's interface is the one towards its stations{fix}; --uplink names another way up"),
            ));
        }
        let own = machine.interface(interface).ok_or_else(|| Lack::new(interface, ""))?;
        let known = roles.aps.iter().find(|ap| ap.name == *interface || ap.interface == *interface);
        let mut ap = known.cloned().unwrap_or_else(|| machine.candidates(own, bridge).remove(0));
        // The name of a bridge whose radios were taken apart is that of all of them.
        if known.is_some_and(|known| known.name != *interface) {
            ap = machine.candidates(own, bridge).into_iter().reduce(joined).unwrap_or(ap);
            ap.name.clone_from(interface);
        }
        if let Some(name) = name {
            ap.name.clone_from(name);
        }
        if aps.iter().any(|other| other.name == ap.name) {
            return Err(Lack::new(
                format!("two APs have the name {}", shown(&ap.name)),
                "give each its own: --ap NAME=INTERFACE",
            ));
        }
        aps.push(ap);
    }
    Ok(aps)
}

/// Radios of one bridge as one AP.
fn joined(mut all: Candidate, next: Candidate) -> Candidate {
    all.radios.extend(next.radios);
    all.channel = None;
    all
}

/// Bridged if all interfaces are ports of one bridge, else routed.
fn mode(
    machine: &Machine,
    uplinks: &[String],
    aps: &[Candidate],
    wanted: Option<Mode>,
) -> Result<(Mode, String), Lack> {
    let all: Vec<&str> = uplinks.iter().map(String::as_str).chain(aps.iter().map(|ap| ap.interface.as_str())).collect();
    let first = all.iter().find_map(|name| Some((*name, machine.bridge_of(name)?)));
    let Some((port, bridge)) = first else {
        if wanted == Some(Mode::Bridged) {
            let fix = format!(
                "leave --mode out where the box routes, or make {} ports of one bridge (`ip link set NAME master br0`)",
                all.join(", ")
            );
            return Err(Lack::new(
                format!("{} are ports of no bridge, so the box cannot be bridged", all.join(", ")),
                fix,
            ));
        }
        return Ok((Mode::Routed, "the interfaces are ports of no bridge: the box routes".to_owned()));
    };
    if let Some(other) = all.iter().find(|name| machine.bridge_of(name) != Some(bridge)) {
        return Err(Lack::new(
            format!("{port} is a port of the bridge {bridge}, and {other} is not"),
            format!(
                "where the box routes name the bridge, {bridge}, in place of its port; where it bridges name ports of one bridge only"
            ),
        ));
    }
    if wanted == Some(Mode::Routed) {
        return Err(Lack::new(
            format!("{} are ports of {bridge}: between them the box bridges, and nothing is routed", all.join(", ")),
            "leave --mode out, or name interfaces that are ports of no bridge",
        ));
    }
    Ok((Mode::Bridged, format!("the interfaces are ports of {bridge}")))
}

/// The most that the cell may carry, and why.
fn proposed(machine: &Machine, ap: &Candidate) -> (Capacity, String) {
    // IP bytes of full frames on Ethernet: 1500 of 1538.
    let wire = machine.speed(&ap.interface).map(|speed| (speed, Bitrate::mbps(speed.as_bps() * 97 / 100_000_000)));
    let (max, why) = match wire {
        Some((speed, carried)) if ap.radios.is_empty() && carried < USUAL => {
            (carried.max(Bitrate::mbps(1)), format!("what the wire of {speed} carries: measure, and write that"))
        }
        _ => (USUAL, "a usual cell of today, not measured: measure, and write that".to_owned()),
    };
    (Capacity::Adaptive(max), why)
}
