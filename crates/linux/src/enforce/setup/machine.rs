//! The machine as `ip -j`, `bridge -j`, `iw` and `/sys` tell of it.

use std::collections::BTreeMap;
use std::fs;
use std::net::IpAddr;
use std::path::Path;

use fairair_core::units::Bitrate;
use ipnet::IpNet;
use serde::Deserialize;
use serde::de::DeserializeOwned;

use super::{Lack, Lists};
use crate::command::tool;
use crate::enforce::datapath::{DatapathError, tools};

/// What this machine has.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Machine {
    /// All but the loopback, as the kernel numbers them.
    pub interfaces: Vec<Interface>,
    /// Interfaces of default routes with the gateway, the preferred first; those of IPv4 before those of IPv6.
    pub defaults: Vec<(String, Option<IpAddr>)>,
    /// Addresses with MAC address and interface.
    pub neighbours: Vec<(IpAddr, String, String)>,
    /// MAC addresses with the port of the bridge behind which they are.
    pub learned: Vec<(String, String)>,
    /// Files and sockets that list stations.
    pub lists: Lists,
    /// Name of the machine.
    pub host: String,
}

/// An interface.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Interface {
    /// Name; it may have any character.
    pub name: String,
    /// `bridge`, `vlan`, `veth`; empty: a network card.
    pub kind: String,
    /// Of a VLAN: the interface that carries it.
    pub parent: Option<String>,
    /// The bridge (or bond) whose port it is.
    pub master: Option<String>,
    /// Whether it is administratively up.
    pub is_up: bool,
    /// Whether something is connected.
    pub has_carrier: bool,
    /// Whether nobody is found by ARP or ND behind it.
    pub is_tunnel: bool,
    /// Addresses, without link-local ones.
    pub addresses: Vec<IpNet>,
    /// Rate of the wire, if it is known.
    pub speed: Option<Bitrate>,
    /// What it is as a radio; `None`: it is none.
    pub radio: Option<Radio>,
}

/// A radio of this machine.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Radio {
    /// `AP`, `managed` and others, as `iw` has it; empty: `iw` is not there.
    pub kind: String,
    /// Channel with band, as configurations have it.
    pub channel: Option<String>,
}

/// What the tools printed.
pub(super) struct Printed {
    /// `ip -j -d address show`.
    pub(super) addresses: String,
    /// `ip -j -4 route show default`, and of IPv6.
    pub(super) routes: [String; 2],
    /// `ip -j neighbour show`.
    pub(super) neighbours: String,
    /// `bridge -j fdb show`.
    pub(super) learned: String,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct LinkLine {
    ifname: String,
    link: Option<String>,
    flags: Vec<String>,
    master: Option<String>,
    linkinfo: LinkInfo,
    addr_info: Vec<AddressLine>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct LinkInfo {
    info_kind: String,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct AddressLine {
    local: Option<IpAddr>,
    prefixlen: u8,
    scope: String,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct RouteLine {
    r#type: Option<String>,
    dev: Option<String>,
    gateway: Option<IpAddr>,
    via: Option<Via>,
    metric: u32,
    nexthops: Vec<RouteLine>,
}

/// The gateway of an IPv4 route over IPv6.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Via {
    host: Option<IpAddr>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct NeighbourLine {
    dst: Option<IpAddr>,
    dev: String,
    lladdr: String,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct LearnedLine {
    mac: String,
    ifname: String,
    master: Option<String>,
    state: String,
}

impl Machine {
    /// Looks at this machine; changes nothing and needs no privilege.
    ///
    /// # Errors
    /// `ip` of iproute2 is not there.
    pub fn read() -> Result<Machine, Lack> {
        let ip = |words: &[&str]| tools::show("ip", &[&["-j"], words].concat()).map_err(|error| missing(&error));
        let printed = Printed {
            addresses: ip(&["-d", "address", "show"])?,
            // A kernel without IPv6 refuses.
            routes: ["-4", "-6"].map(|family| ip(&[family, "route", "show", "default"]).unwrap_or_default()),
            neighbours: ip(&["neighbour", "show"])?,
            learned: tools::show("bridge", &["-j", "fdb", "show"]).unwrap_or_default(),
        };
        let mut machine = Machine::of(&printed)?;
        let radios = tool("iw").arg("dev").output();
        let radios = radios.map(|output| radios_of(&String::from_utf8_lossy(&output.stdout))).unwrap_or_default();
        for interface in &mut machine.interfaces {
            let own = Path::new("/sys/class/net").join(&interface.name);
            // The name is the kernel's, and has no `/`.
            let megabits = fs::read_to_string(own.join("speed")).ok().and_then(|text| text.trim().parse::<u64>().ok());
            interface.speed = megabits.filter(|megabits| *megabits > 0).map(Bitrate::mbps);
            interface.radio =
                own.join("phy80211").exists().then(|| radios.get(&interface.name).cloned().unwrap_or_default());
        }
        machine.lists = Lists::read(Path::new("/"));
        let host = fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
        host.trim().clone_into(&mut machine.host);
        Ok(machine)
    }

    /// What `printed` says; the rest is not known.
    pub(super) fn of(printed: &Printed) -> Result<Machine, Lack> {
        let mut machine = Machine::default();
        for line in lines::<LinkLine>(&printed.addresses)? {
            let has = |flag: &str| line.flags.iter().any(|own| own == flag);
            if line.ifname.is_empty() || has("LOOPBACK") {
                continue;
            }
            let is_wide = |own: &&AddressLine| own.scope != "link" && own.scope != "host";
            let nets = line.addr_info.iter().filter(is_wide);
            machine.interfaces.push(Interface {
                is_up: has("UP"),
                has_carrier: has("LOWER_UP"),
                is_tunnel: has("POINTOPOINT") || has("NOARP"),
                addresses: nets.filter_map(|own| IpNet::new(own.local?, own.prefixlen).ok()).collect(),
                parent: line.link.filter(|_| line.linkinfo.info_kind == "vlan"),
                name: line.ifname,
                kind: line.linkinfo.info_kind,
                master: line.master,
                ..Interface::default()
            });
        }
        for text in &printed.routes {
            let mut routes = lines::<RouteLine>(text)?;
            routes.retain(|route| route.r#type.as_deref().is_none_or(|kind| kind == "unicast"));
            routes.sort_by_key(|route| route.metric);
            for route in routes.into_iter().flat_map(|mut route| {
                let hops = std::mem::take(&mut route.nexthops);
                std::iter::once(route).chain(hops)
            }) {
                let Some(name) = route.dev else { continue };
                let is_known = machine.defaults.iter().any(|(known, _)| *known == name);
                if !is_known && machine.interface(&name).is_some() {
                    machine.defaults.push((name, route.gateway.or(route.via.and_then(|via| via.host))));
                }
            }
        }
        for line in lines::<NeighbourLine>(&printed.neighbours)? {
            machine
                .neighbours
                .extend(line.dst.filter(|_| !line.lladdr.is_empty()).map(|address| (address, line.lladdr, line.dev)));
        }
        for line in lines::<LearnedLine>(&printed.learned)? {
            // Permanent ones are the ports' own.
            if line.master.is_some() && line.state != "permanent" {
                machine.learned.push((line.mac, line.ifname));
            }
        }
        Ok(machine)
    }

    /// The interface `name`.
    pub fn interface(&self, name: &str) -> Option<&Interface> {
        self.interfaces.iter().find(|own| own.name == name)
    }

    /// Ports of the bridge `name`.
    pub fn ports(&self, name: &str) -> Vec<&Interface> {
        self.interfaces.iter().filter(|own| own.master.as_deref() == Some(name)).collect()
    }

    /// The bridge whose port `name` is.
    pub(super) fn bridge_of(&self, name: &str) -> Option<&str> {
        let master = self.interface(name)?.master.as_deref()?;
        self.interface(master).filter(|master| master.kind == "bridge").map(|master| master.name.as_str())
    }

    /// How many devices were seen behind `name`.
    pub(super) fn seen(&self, name: &str) -> usize {
        let macs: std::collections::BTreeSet<_> =
            self.neighbours.iter().filter(|(_, _, dev)| dev == name).map(|(_, mac, _)| mac).collect();
        macs.len()
    }

    /// What the wire of `name` carries: that of its fastest port, if it is a bridge.
    pub(super) fn speed(&self, name: &str) -> Option<Bitrate> {
        let ports = self.ports(name).into_iter().filter_map(|port| port.speed).max();
        ports.or(self.interface(name)?.speed)
    }
}

/// `ip -j` prints nothing at all where there is nothing.
fn lines<T: DeserializeOwned>(text: &str) -> Result<Vec<T>, Lack> {
    if text.trim().is_empty() {
        return Ok(Vec::new());
    }
    serde_json::from_str(text).map_err(|error| {
        Lack::new(format!("`ip -j` printed what cannot be read: {error}"), "install iproute2 (OpenWrt: ip-full)")
    })
}

fn missing(error: &DatapathError) -> Lack {
    Lack::new(error, "install iproute2 (OpenWrt: ip-full): the box asks its `ip` what this machine has")
}

/// What `iw dev` prints of each radio.
pub(super) fn radios_of(text: &str) -> BTreeMap<String, Radio> {
    let mut radios: BTreeMap<String, Radio> = BTreeMap::new();
    let mut name = None;
    for line in text.lines().map(str::trim) {
        if let Some(own) = line.strip_prefix("Interface ") {
            name = Some(own.to_owned());
            radios.insert(own.to_owned(), Radio::default());
        }
        let Some(radio) = name.as_ref().and_then(|name| radios.get_mut(name)) else { continue };
        if let Some(kind) = line.strip_prefix("type ") {
            kind.clone_into(&mut radio.kind);
        } else if let Some(rest) = line.strip_prefix("channel ")
            && let Some((number, rest)) = rest.split_once(" (")
            && let Some(megahertz) = rest.split(' ').next().and_then(|text| text.parse::<u32>().ok())
        {
            let band = match megahertz {
                ..3000 => "2.4",
                3000..5925 => "5",
                _ => "6",
            };
            radio.channel = Some(format!("{number}/{band}"));
        }
    }
    radios
}
