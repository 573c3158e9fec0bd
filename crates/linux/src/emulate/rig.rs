//! The namespaces of a testbed and what joins them.
//!
//! ```text
//! host  eth0 ---- lan  gw  wlan ---- uplink  box (bridge)  ap0 ==emulation== wlan0  station
//! ```

use std::fmt::Write as _;
use std::{fs, io};

use fairair_core::scenario::Scenario;

use super::addresses as addr;
use super::driver::Taps;
use super::error::TestbedError;
use super::registry::{Claim, Entry};
use super::stack;
use super::{Options, Uplink};
use crate::command::tool;
use crate::netns::Namespace;
use crate::tap::Tap;

/// Frames that wait in a TAP for the emulation at most: it reads at once, so that only a stall could fill it.
const TAP_QUEUE: usize = 10_000;
/// What an interface of the drivers carries at most: the station's own MTU is what counts.
const MOST_MTU: u32 = 2500;
/// The wireless interface of a station, and the AP's towards the box.
const WLAN: &str = "wlan0";
pub(super) const AP_PORT: &str = "ap0";
/// The box's interface towards the gateway.
pub(super) const UPLINK: &str = "uplink";

/// A testbed that stands. Dropping it takes it down.
pub struct Rig {
    pub(super) host: Namespace,
    gateway: Namespace,
    pub(super) the_box: Namespace,
    pub(super) stations: Vec<Namespace>,
    /// The stations' drivers, in the mode `driver`; kept for its `Drop`.
    _air: Option<Namespace>,
    wire: Tap,
    radios: Vec<Tap>,
    /// Last, so that the names are gone when the claim is.
    claim: Claim,
}

impl Rig {
    /// What is noted about it.
    pub fn entry(&self) -> &Entry {
        self.claim.entry()
    }

    /// Notes that programs can be run in it.
    pub(super) fn announce(&mut self) -> io::Result<()> {
        self.claim.note(true)
    }

    /// Its devices, for the emulation.
    pub(super) fn taps(&self, options: Options) -> Taps<'_> {
        Taps { wire: &self.wire, stations: self.radios.iter().collect(), ring: options.ring() }
    }

    /// Builds namespaces, devices, addresses and routes for a scenario.
    ///
    /// # Errors
    /// When something is missing or refused; nothing is left behind then.
    pub fn build(scenario: &Scenario, options: Options) -> Result<Rig, TestbedError> {
        let claim = Claim::new(scenario)?;
        let roles = ["host".to_owned(), "gw".to_owned(), "box".to_owned()];
        let stations = (1..=scenario.stations.len()).map(|number| format!("s{number}"));
        let air = matches!(options.uplink, Uplink::Driver).then(|| "air".to_owned());
        let names = roles.into_iter().chain(stations).chain(air).map(|role| claim.namespace(&role));
        let mut namespaces = Namespace::create_all(names)?.into_iter();
        let mut next = || namespaces.next().expect("one namespace a name");
        let (host, gateway, the_box) = (next(), next(), next());
        let stations: Vec<Namespace> = (0..scenario.stations.len()).map(|_| next()).collect();
        let air = namespaces.next();
        let wire = Tap::create(&the_box, AP_PORT)?;
        let radios = match &air {
            Some(air) => driver_radios(&stations, air)?,
            None => stations.iter().map(|station| Tap::create(station, WLAN)).collect::<Result<_, _>>()?,
        };
        let rig = Rig { host, gateway, the_box, stations, _air: air, wire, radios, claim };
        rig.configure(scenario, options)?;
        Ok(rig)
    }

    fn configure(&self, scenario: &Scenario, options: Options) -> Result<(), TestbedError> {
        let gateway = &self.gateway;
        for namespace in [&self.host, gateway, &self.the_box].into_iter().chain(&self.stations) {
            quiet(namespace)?;
        }
        let mtu = stack::mtu(scenario);
        // No segmentation offload: a frame is what one 802.11 frame carries.
        let up = format!("mtu {mtu} gso_max_segs 1 txqueuelen {TAP_QUEUE} up");
        let (g, b) = (gateway.name(), self.the_box.name());
        self.host.ip(&format!("link add eth0 type veth peer name lan netns {g}\n"))?;
        gateway.ip(&format!("link add wlan address {} type veth peer name {UPLINK} netns {b}\n", addr::GATEWAY_MAC))?;
        self.host.ip(&format!(
            "link set lo up\nlink set eth0 {up}\naddress add {host}/24 dev eth0\naddress add {host6}/64 dev eth0 nodad\n\
             route add default via {up4}{route}\nroute add default via {up6}{route}\n",
            host = addr::HOST,
            host6 = addr::HOST6,
            up4 = addr::UPSTREAM,
            up6 = addr::UPSTREAM6,
            route = stack::route(scenario, options),
        ))?;
        gateway.sysctl(&[("net/ipv4/ip_forward", "1"), ("net/ipv6/conf/all/forwarding", "1")])?;
        let mut lines = format!(
            "link set lo up\nlink set lan {up}\nlink set wlan {up}\naddress add {up4}/24 dev lan\n\
             address add {up6}/64 dev lan nodad\naddress add {gw}/24 dev wlan\naddress add {gw6}/64 dev wlan nodad\n",
            up4 = addr::UPSTREAM,
            up6 = addr::UPSTREAM6,
            gw = addr::GATEWAY,
            gw6 = addr::GATEWAY6,
        );
        if options.known_neighbours {
            for index in 0..self.stations.len() {
                let mac = addr::mac_text(addr::station_mac(index));
                for ip in [addr::station(index).to_string(), addr::station6(index).to_string()] {
                    let _ = writeln!(lines, "neighbour add {ip} lladdr {mac} dev wlan nud permanent");
                }
            }
        }
        gateway.ip(&lines)?;
        let mut lines = format!(
            "link add br0 address {mac} type bridge stp_state 0 forward_delay 0 mcast_snooping 0\nlink set {UPLINK} {up}\n\
             link set {AP_PORT} {up}\nlink set {UPLINK} master br0\nlink set {AP_PORT} master br0\nlink set br0 up\n\
             address add {ip}/24 dev br0\n",
            mac = addr::mac_text(addr::BOX_MAC),
            ip = addr::BOX,
        );
        if options.known_neighbours {
            for index in 0..self.stations.len() {
                let (ip, mac) = (addr::station(index), addr::mac_text(addr::station_mac(index)));
                let _ = writeln!(lines, "neighbour add {ip} lladdr {mac} dev br0 nud permanent");
            }
        }
        self.the_box.ip(&lines)?;
        for (index, station) in self.stations.iter().enumerate() {
            station.ip(&station_lines(scenario, options, index, &up))?;
        }
        let allowed = fs::read_to_string("/proc/sys/net/ipv4/tcp_allowed_congestion_control").unwrap_or_default();
        for host in std::iter::once(&self.host).chain(&self.stations) {
            host.sysctl(&stack::sysctls(scenario, options.stack, &allowed))?;
        }
        Ok(())
    }

    /// Frames that the kernel dropped between a host and the emulation, because the emulation stalled.
    pub(super) fn overruns(&self) -> u64 {
        let dropped = |namespace: &Namespace, device: &str| {
            let read = || fs::read_to_string("/proc/thread-self/net/dev");
            let text = namespace.enter(read).unwrap_or_default();
            transmit_drops(&text, device)
        };
        let stations: u64 = self.stations.iter().map(|station| dropped(station, WLAN)).sum();
        stations + dropped(&self.the_box, AP_PORT)
    }
}

/// Wireless interfaces whose frames stay their sockets' until they are read: veth pairs that end in macvtaps in `air`.
fn driver_radios(stations: &[Namespace], air: &Namespace) -> Result<Vec<Tap>, TestbedError> {
    let mut lines = String::new();
    for (index, station) in stations.iter().enumerate() {
        station.ip(&format!("link add {WLAN} type veth peer name far{index} netns {}\n", air.name()))?;
        let _ = writeln!(
            lines,
            "link add link far{index} name ring{index} txqueuelen {TAP_QUEUE} type macvtap mode passthru\n\
             link set far{index} mtu {MOST_MTU} up\nlink set ring{index} mtu {MOST_MTU} up"
        );
    }
    air.ip(&lines)?;
    // Device numbers stand in the sysfs of the namespace, which `ip netns exec` mounts.
    let list = tool("ip")
        .args(["netns", "exec", air.name(), "sh", "-c", "grep -H . /sys/class/net/ring*/macvtap/tap*/dev"])
        .output()?;
    let text = String::from_utf8_lossy(&list.stdout);
    let directory = tempfile::tempdir()?;
    let open = |index: usize| {
        let device = device_number(&text, &format!("ring{index}"));
        let device = device.ok_or_else(|| io::Error::other(format!("the kernel made no macvtap number {index}")))?;
        Tap::open_macvtap(device, directory.path())
    };
    Ok((0..stations.len()).map(open).collect::<Result<_, _>>()?)
}

/// The device number of an interface, from lines such as `/sys/class/net/ring0/macvtap/tap3/dev:241:1`.
fn device_number(text: &str, interface: &str) -> Option<libc::dev_t> {
    let line = text.lines().find(|line| line.contains(&format!("/{interface}/")))?;
    let mut numbers = line.rsplit(':');
    let (minor, major) = (numbers.next()?.trim().parse().ok()?, numbers.next()?.parse().ok()?);
    Some(libc::makedev(major, minor))
}

/// Addresses and routes of a station.
fn station_lines(scenario: &Scenario, options: Options, index: usize, up: &str) -> String {
    let mut lines = format!(
        "link set lo up\nlink set {WLAN} address {mac}\nlink set {WLAN} {up}\naddress add {ip}/24 dev {WLAN}\n\
         address add {ip6}/64 dev {WLAN} nodad\nroute add default via {gw}{route}\nroute add default via {gw6}{route}\n\
         neighbour add {the_box} lladdr {box_mac} dev {WLAN} nud permanent\n",
        mac = addr::mac_text(addr::station_mac(index)),
        ip = addr::station(index),
        ip6 = addr::station6(index),
        gw = addr::GATEWAY,
        gw6 = addr::GATEWAY6,
        route = stack::route(scenario, options),
        the_box = addr::BOX,
        box_mac = addr::mac_text(addr::BOX_MAC),
    );
    if options.known_neighbours {
        for ip in [addr::GATEWAY.to_string(), addr::GATEWAY6.to_string()] {
            let _ = writeln!(lines, "neighbour add {ip} lladdr {} dev {WLAN} nud permanent", addr::GATEWAY_MAC);
        }
    }
    lines
}

/// No frame that no one asked for: router solicitations, duplicate address detection.
pub(super) fn quiet(namespace: &Namespace) -> Result<(), TestbedError> {
    let keys = ["accept_ra", "accept_dad", "router_solicitations"];
    let of = |which| keys.map(|key| (format!("net/ipv6/conf/{which}/{key}"), "0"));
    Ok(namespace.sysctl(&[of("all"), of("default")].concat())?)
}

/// The column "transmit drop" of /proc/net/dev.
fn transmit_drops(text: &str, device: &str) -> u64 {
    let line = text.lines().find_map(|line| line.trim().strip_prefix(device)?.strip_prefix(':'));
    line.and_then(|line| line.split_whitespace().nth(11)).and_then(|count| count.parse().ok()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn device_numbers_are_found_by_interface() {
        let text = "/sys/class/net/ring1/macvtap/tap5/dev:241:2\n/sys/class/net/ring10/macvtap/tap6/dev:241:3\n";
        assert_eq!(device_number(text, "ring1"), Some(libc::makedev(241, 2)));
        assert_eq!(device_number(text, "ring2"), None);
    }

    #[test]
    fn transmit_drops_are_found_among_the_other_counters() {
        let text = "Inter-|   Receive\n face |bytes    packets errs drop fifo frame compressed multicast|bytes\n\
                    \x20   lo:       1       2    3    4    5     6          7         8        9      10   11   12    13\n\
                    \x20wlan0:       1       2    3    4    5     6          7         8        9      10   11   77    13\n";
        assert_eq!(transmit_drops(text, "wlan0"), 77);
        assert_eq!(transmit_drops(text, "wlan1"), 0);
    }
}
