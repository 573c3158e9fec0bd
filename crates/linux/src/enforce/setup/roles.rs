//! What each interface is: which way is up, which lead to APs, and why.

use std::fmt::Write as _;

use fairair_core::units::plural;
use serde::Serialize;

use super::Lack;
use super::machine::{Interface, Machine};
use crate::enforce::config::{Channel, is_interface};

/// Names that programs give to bridges and ports of containers and virtual machines.
const OF_CONTAINERS: [&str; 12] =
    ["docker", "veth", "virbr", "vnet", "lxcbr", "lxdbr", "incusbr", "podman", "cni", "cali", "flannel", "tap"];

/// What an interface is for the box.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Role {
    /// Towards the gateway.
    Up,
    /// It may lead to an AP.
    Ap,
    /// Neither.
    Neither,
}

/// What was found about an interface.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Verdict {
    /// Its name, safe to print.
    pub name: String,
    /// What it is.
    pub role: Role,
    /// What says so.
    pub why: String,
}

/// What may be an AP.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Candidate {
    /// Name for the AP: that of the interface or of the radio.
    pub name: String,
    /// The interface towards it.
    pub interface: String,
    /// Radios of this machine that it has.
    pub radios: Vec<String>,
    /// Channel of its only radio.
    pub channel: Option<Channel>,
    /// What says that stations are there.
    pub why: String,
}

/// All of them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Roles {
    /// Interfaces towards the gateway, at least one; or why they are not known.
    pub uplinks: Result<Vec<String>, Lack>,
    /// What may be APs.
    pub aps: Vec<Candidate>,
    /// About each interface.
    pub verdicts: Vec<Verdict>,
}

/// A name as it may be printed.
pub(super) fn shown(name: &str) -> String {
    name.escape_debug().to_string()
}

fn names(interfaces: &[&Interface]) -> String {
    interfaces.iter().map(|own| shown(&own.name)).collect::<Vec<_>>().join(", ")
}

impl Roles {
    /// Of `machine`; with `wanted` these are the uplinks, whatever the routes say.
    pub fn of(machine: &Machine, wanted: &[String]) -> Roles {
        let (uplinks, why) = match named(machine, wanted) {
            Err(lack) => (Err(lack), String::new()),
            Ok(()) if wanted.is_empty() => match machine.uplinks() {
                Ok((uplinks, why)) => (Ok(uplinks), why),
                Err(lack) => (Err(lack), String::new()),
            },
            Ok(()) => (Ok(wanted.to_vec()), "named as the uplink".to_owned()),
        };
        let up = uplinks.as_deref().unwrap_or_default();
        let bridge = up.iter().find_map(|name| machine.bridge_of(name));
        let (mut aps, mut verdicts) = (Vec::new(), Vec::new());
        for own in &machine.interfaces {
            let (role, why) = if up.contains(&own.name) {
                (Role::Up, machine.gateway_by(&own.name).unwrap_or_else(|| why.clone()))
            } else if let Some(why) = machine.unfit(own, bridge) {
                (Role::Neither, why)
            } else if uplinks.is_err() {
                (Role::Ap, "the gateway or stations may be behind it".to_owned())
            } else {
                let found = machine.candidates(own, bridge);
                let why = found[0].why.clone();
                aps.extend(found);
                (Role::Ap, why)
            };
            verdicts.push(Verdict { name: shown(&own.name), role, why });
        }
        Roles { uplinks, aps, verdicts }
    }
}

/// Interfaces of these names are there, and configurations take them.
pub(super) fn named(machine: &Machine, wanted: &[String]) -> Result<(), Lack> {
    for name in wanted {
        if machine.interface(name).is_none() {
            let all: Vec<_> = machine.interfaces.iter().collect();
            return Err(Lack::new(
                format!("there is no interface {}", shown(name)),
                format!("name one of {}", names(&all)),
            ));
        }
        if !is_interface(name) {
            return Err(Lack::new(odd(name), renamed(name)));
        }
    }
    Ok(())
}

fn odd(name: &str) -> String {
    format!("the name of the interface {} is not of at most 15 letters, digits, dots and dashes", shown(name))
}

fn renamed(name: &str) -> String {
    format!("rename it: ip link property, udev or `ip link set dev '{}' name eth9` while it is down", shown(name))
}

impl Machine {
    /// Which way is up, and why.
    fn uplinks(&self) -> Result<(Vec<String>, String), Lack> {
        let carriers: Vec<_> =
            self.interfaces.iter().filter(|own| own.kind != "bridge" && Self::alien(own).is_none()).collect();
        match carriers[..] {
            [] => {
                return Err(Lack::new(
                    "no network interface was found",
                    "run this on the box; `ip link` lists what it has",
                ));
            }
            [own] => {
                let name = shown(&own.name);
                return Err(Lack::new(
                    format!(
                        "{name} is the only interface that carries traffic, and the box stands between gateway and AP"
                    ),
                    format!(
                        "add a second network card, or a VLAN towards the AP's switch (`ip link add link {name} name {name}.10 type \
                         vlan id 10`), then run this again"
                    ),
                ));
            }
            _ => {}
        }
        let Some((first, _)) = self.defaults.first() else {
            return Err(Lack::new(
                "there is no default route, so nothing says which interface is towards the gateway",
                format!("name it: --uplink with one of {}", names(&carriers)),
            ));
        };
        let defaults: Vec<String> =
            self.defaults.iter().map(|(name, _)| name.clone()).filter(|name| is_interface(name)).collect();
        if defaults.is_empty() {
            return Err(Lack::new(odd(first), renamed(first)));
        }
        let leads = |own: &&Interface| !defaults.contains(&own.name) && self.unfit(own, None).is_none();
        if self.interfaces.iter().any(|own| leads(&own)) {
            return Ok((defaults, String::new()));
        }
        self.port_of_the_gateway(first)
    }

    /// Nothing is routed: the port of a bridge behind which the gateway was seen.
    fn port_of_the_gateway(&self, default: &str) -> Result<(Vec<String>, String), Lack> {
        let fit = |bridge: &Interface| -> Vec<&Interface> {
            let ports = self.ports(&bridge.name);
            ports.into_iter().filter(|port| self.unfit(port, Some(&bridge.name)).is_none()).collect()
        };
        let is_one = |own: &&Interface| own.kind == "bridge" && Self::alien(own).is_none() && fit(own).len() > 1;
        let mut bridges: Vec<_> = self.interfaces.iter().filter(is_one).collect();
        if bridges.iter().any(|bridge| bridge.name == default) {
            bridges.retain(|bridge| bridge.name == default);
        }
        let Some(bridge) = bridges.first() else {
            return Err(Lack::new(
                format!("{} leads to the gateway, but no other interface leads to stations", shown(default)),
                "give the interface towards the AP an address and set it up (the box routes), or make it and the uplink ports of one \
                 bridge; then run this again",
            ));
        };
        let gateways = self.defaults.iter().filter_map(|(_, gateway)| *gateway);
        for gateway in gateways {
            let mac = self.neighbours.iter().find(|(address, ..)| *address == gateway).map(|(_, mac, _)| mac);
            let behind = self.learned.iter().find(|(learned, port)| {
                Some(learned) == mac && bridges.iter().any(|bridge| self.bridge_of(port) == Some(&bridge.name))
            });
            if let Some((_, port)) = behind {
                return Ok((vec![port.clone()], format!("the gateway {gateway} was seen behind it")));
            }
        }
        let ports = names(&fit(bridge));
        Err(Lack::new(
            format!(
                "{} has the ports {ports}, and nothing tells behind which of them the gateway is",
                shown(&bridge.name)
            ),
            format!("ping the gateway and run this again, or name the port: --uplink with one of {ports}"),
        ))
    }

    /// Why `name` is up, if it has a default route.
    fn gateway_by(&self, name: &str) -> Option<String> {
        let (place, (_, gateway)) = self.defaults.iter().enumerate().find(|(_, (own, _))| own == name)?;
        let mut why =
            if place == 0 { "the default route goes by it" } else { "a second default route goes by it" }.to_owned();
        if let Some(gateway) = gateway {
            let _ = write!(why, ", to {gateway}");
        }
        Some(why)
    }

    /// Why neither stations nor the gateway can be behind it, in any mode.
    fn alien(own: &Interface) -> Option<String> {
        if own.name.starts_with("fairair") || own.kind == "ifb" {
            return Some("a queue of the kernel, no way out".to_owned());
        }
        if !is_interface(&own.name) {
            return Some(format!(
                "its name is not of at most 15 letters, digits, dots and dashes: {}",
                renamed(&own.name)
            ));
        }
        if own.kind == "dummy" {
            return Some("a dummy, which leads nowhere".to_owned());
        }
        let is_bridge_of_docker = own
            .name
            .strip_prefix("br-")
            .is_some_and(|rest| rest.len() == 12 && rest.bytes().all(|byte| byte.is_ascii_hexdigit()));
        if is_bridge_of_docker || OF_CONTAINERS.iter().any(|prefix| own.name.starts_with(prefix)) {
            return Some("its name is one of containers or virtual machines".to_owned());
        }
        None
    }

    /// Why no stations are behind it: as a port of `bridge`, or where the box routes.
    fn unfit(&self, own: &Interface, bridge: Option<&str>) -> Option<String> {
        if let Some(why) = Self::alien(own) {
            return Some(why);
        }
        if own.is_tunnel {
            return Some("a tunnel or a point-to-point link: no stations are found behind it".to_owned());
        }
        if own.radio.as_ref().is_some_and(|radio| radio.kind == "managed") {
            return Some("a radio that is a client of another network".to_owned());
        }
        if !own.is_up {
            return Some(format!("it is down: `ip link set {} up` if an AP is behind it", own.name));
        }
        if let Some(bridge) = bridge {
            let is_port = own.master.as_deref() == Some(bridge);
            return (!is_port).then(|| format!("no port of {bridge}, as the uplink is"));
        }
        if let Some(master) = &own.master {
            return Some(format!("a port of {}", shown(master)));
        }
        let carried: Vec<_> = self.interfaces.iter().filter(|vlan| vlan.parent.as_deref() == Some(&own.name)).collect();
        if own.addresses.is_empty() {
            return Some(if carried.is_empty() {
                "it has no address: nothing is routed to stations there".to_owned()
            } else {
                format!("it has no address, and carries the VLANs {}", names(&carried))
            });
        }
        None
    }

    /// The AP that `own` may lead to; its radios one by one where each has a hostapd that lists its stations.
    pub(super) fn candidates(&self, own: &Interface, bridge: Option<&str>) -> Vec<Candidate> {
        let ports = self.ports(&own.name);
        let inside = if ports.is_empty() { vec![own] } else { ports.clone() };
        let radios: Vec<_> = inside.iter().copied().filter(|port| port.radio.is_some()).collect();
        let seen = if bridge.is_some() {
            self.learned.iter().filter(|(_, port)| *port == own.name).count()
        } else {
            self.seen(&own.name)
        };
        let mut why = match bridge {
            Some(bridge) => format!("a port of {bridge}, as the uplink is"),
            None if own.addresses.is_empty() => "named as the way to an AP".to_owned(),
            None => {
                let nets: Vec<_> = own.addresses.iter().map(|net| net.trunc().to_string()).collect();
                format!("the box is the router of {}", nets.join(", "))
            }
        };
        if seen > 0 {
            let _ = write!(why, "; {} seen", plural(seen, "device"));
        }
        if !ports.is_empty() {
            let _ = write!(why, "; its ports: {}", names(&ports));
        }
        if !radios.is_empty() {
            let _ = write!(why, "; {}: {}", if radios.len() == 1 { "radio" } else { "radios" }, names(&radios));
        }
        if !own.has_carrier {
            why += "; nothing is connected now";
        }
        let candidate = |name: &str, radios: &[&Interface]| Candidate {
            name: name.to_owned(),
            interface: own.name.clone(),
            radios: radios.iter().map(|radio| radio.name.clone()).collect(),
            channel: match radios {
                [only] => only.radio.as_ref().and_then(|radio| Channel::parse(radio.channel.as_deref()?)),
                _ => None,
            },
            why: why.clone(),
        };
        let is_told = |radio: &&Interface| self.lists.hostapd_of(&radio.name).is_some();
        if radios.len() > 1 && radios.len() == inside.len() && radios.iter().all(is_told) {
            return radios.iter().map(|radio| candidate(&radio.name, &[radio])).collect();
        }
        vec![candidate(&own.name, &radios)]
    }
}
