//! A half-duplex radio that is not our emulation: the kernel's HTB on one IFB, in a namespace for the access point.
//!
//! Host, box, access point and stations are network namespaces. All frames of both directions enter one IFB, which carries
//! them at one rate. The access point has one queue for all stations, each station has its own; the queues take turns by
//! bytes, as equal contenders do. So uploads starve downloads, as on the air.

use std::fmt::Write as _;
use std::fs;
use std::path::PathBuf;
use std::process::Stdio;
use std::time::Duration;

use fairair_linux::command::entering;
use fairair_linux::netns::Namespace;

use crate::path::Path;

/// How the box is put between host and access point.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mode {
    /// It routes between two subnets.
    Routed,
    /// It is a bridge without any address.
    Bridged,
}

impl Mode {
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Mode::Routed => "routed",
            Mode::Bridged => "bridged",
        }
    }
}

/// What the radio is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Cell {
    pub(crate) mode: Mode,
    /// Ethernet bytes of both directions, Mbit/s.
    pub(crate) mbps: u32,
    /// Packets that wait at the access point.
    pub(crate) buffer: u32,
    /// Number of stations, at most 90.
    pub(crate) stations: usize,
    /// Congestion control of the transfers.
    pub(crate) control: Control,
}

/// Congestion control. Always named: a machine's default may be any.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Control {
    Cubic,
    Reno,
    Bbr,
}

impl Control {
    /// As Linux names it.
    pub(crate) fn name(self) -> String {
        format!("{self:?}").to_lowercase()
    }
}

/// Packets that wait at a station.
const UPLINK_QUEUE: u32 = 300;

/// The namespaces; they go when this is dropped.
#[derive(Debug)]
pub(crate) struct Radio {
    pub(crate) cell: Cell,
    pub(crate) host: Namespace,
    pub(crate) router: Namespace,
    ap: Namespace,
    pub(crate) stations: Vec<Namespace>,
    /// Where round trips are longer than the cell's own.
    pub(crate) path: Option<Path>,
}

type Result<T> = std::result::Result<T, String>;

fn text(error: impl std::fmt::Display) -> String {
    error.to_string()
}

impl Radio {
    /// Builds the cell; `number` tells cells that exist side by side apart.
    pub(crate) fn new(cell: Cell, number: usize) -> Result<Radio> {
        Self::with_path(cell, number, &[])
    }

    /// The same, with round trips between host and box by station; none: as short as can be.
    pub(crate) fn with_path(cell: Cell, number: usize, round_trips: &[Duration]) -> Result<Radio> {
        let prefix = format!("vr{}-{number}", std::process::id());
        let names = ["host", "box", "ap"].map(str::to_owned).into_iter();
        let names = names.chain((0..cell.stations).map(|index| format!("s{index}")));
        let mut all = Namespace::create_all(names.map(|name| format!("{prefix}-{name}"))).map_err(text)?.into_iter();
        let mut next = || all.next().ok_or_else(|| "a namespace is missing".to_owned());
        let (host, router, ap) = (next()?, next()?, next()?);
        let path = if round_trips.is_empty() {
            None
        } else {
            Some(Path::new(&router, "wan", &host, "eth0", round_trips).map_err(text)?)
        };
        let radio = Radio { cell, host, router, ap, stations: all.collect(), path };
        radio.wire()?;
        radio.tune()?;
        Ok(radio)
    }

    /// Address of station `index`.
    pub(crate) fn station_address(index: usize) -> String {
        format!("10.1.0.{}", 10 + index)
    }

    /// Address of the host.
    pub(crate) fn host_address(&self) -> &'static str {
        match self.cell.mode {
            Mode::Routed => "10.2.0.2",
            Mode::Bridged => "10.1.200.2",
        }
    }

    fn wire(&self) -> Result<()> {
        // Senders make packets of one frame each: the radio counts packets.
        let veth = |a: &Namespace, name: &str, b: &Namespace, peer: &str| {
            // As a device's driver without offloads: no segment is longer than a frame.
            a.ip(&format!("link add {name} type veth peer name {peer} netns {}\n", b.name())).map_err(text)?;
            a.ip(&format!("link set {name} gso_max_segs 1\nlink set {name} up\n")).map_err(text)?;
            b.ip(&format!("link set {peer} gso_max_segs 1\nlink set {peer} up\n")).map_err(text)
        };
        if self.path.is_some() {
            self.router.ip("link set wan up\n").map_err(text)?;
            self.host.ip("link set eth0 up\n").map_err(text)?;
        } else {
            veth(&self.router, "wan", &self.host, "eth0")?;
        }
        veth(&self.router, "lan", &self.ap, "wire")?;
        self.ap.ip("link add air type bridge\nlink set air up\nlink set wire master air\n").map_err(text)?;
        for (index, station) in self.stations.iter().enumerate() {
            veth(&self.ap, &format!("w{index}"), station, "eth0")?;
            self.ap.ip(&format!("link set w{index} master air\n")).map_err(text)?;
            let address = Self::station_address(index);
            let mut lines = format!("link set lo up\naddr add {address}/16 dev eth0\n");
            if self.cell.mode == Mode::Routed {
                lines += "route add default via 10.1.0.1\n";
            }
            station.ip(&lines).map_err(text)?;
        }
        match self.cell.mode {
            Mode::Routed => {
                self.router.ip("addr add 10.1.0.1/16 dev lan\naddr add 10.2.0.1/24 dev wan\n").map_err(text)?;
                self.host.ip("addr add 10.2.0.2/24 dev eth0\nroute add default via 10.2.0.1\n").map_err(text)?;
                self.router.sysctl(&[("net/ipv4/ip_forward", "1".to_owned())]).map_err(text)
            }
            Mode::Bridged => {
                let lines =
                    "link add br0 type bridge\nlink set br0 up\nlink set wan master br0\nlink set lan master br0\n";
                self.router.ip(lines).map_err(text)?;
                // Without any address of its own, as a transparent bridge often is.
                self.router.sysctl(&[("net/ipv6/conf/br0/disable_ipv6", "1".to_owned())]).map_err(text)?;
                self.host.ip("addr add 10.1.200.2/16 dev eth0\n").map_err(text)
            }
        }
    }

    /// The radio: one IFB, a class for the access point and one for each station.
    fn tune(&self) -> Result<()> {
        self.ap.ip("link add radio type ifb\nlink set radio up\n").map_err(text)?;
        let mut lines = "qdisc add dev radio root handle 1: htb default 10\n".to_owned();
        let _ = writeln!(lines, "class add dev radio parent 1: classid 1:1 {}", air(self.cell.mbps));
        let mut contender = |minor: usize, limit: u32| {
            let _ = writeln!(
                lines,
                "class add dev radio parent 1:1 classid 1:{minor} htb rate 8bit ceil 10gbit burst 1600 cburst 1600 quantum 1514\n\
                 qdisc add dev radio parent 1:{minor} pfifo limit {limit}"
            );
        };
        contender(10, self.cell.buffer);
        for index in 0..self.stations.len() {
            contender(100 + index, UPLINK_QUEUE);
        }
        for (index, station) in self.stations.iter().enumerate() {
            let mac = mac_of(station)?;
            let _ = writeln!(
                lines,
                "filter add dev radio parent 1: protocol all pref 1 u32 match ether src {mac} flowid 1:{}",
                100 + index
            );
        }
        let ports = (0..self.stations.len()).map(|index| format!("w{index}")).chain(["wire".to_owned()]);
        for port in ports {
            let _ = writeln!(
                lines,
                "qdisc add dev {port} clsact\nfilter add dev {port} ingress protocol all pref 1 u32 match u32 0 0 action \
                 mirred egress redirect dev radio"
            );
        }
        tc(&self.ap, &lines)
    }

    /// Another access point, which carries `mbps`, after `pause` without any.
    pub(crate) fn replace(&self, mbps: u32, pause: Duration) -> Result<()> {
        self.ap.ip("link set wire down\n").map_err(text)?;
        std::thread::sleep(pause);
        tc(&self.ap, &format!("class change dev radio parent 1: classid 1:1 {}\n", air(mbps)))?;
        self.ap.ip("link set wire up\n").map_err(text)
    }

    /// Stations answer no ping.
    pub(crate) fn deafen(&self) -> Result<()> {
        for station in &self.stations {
            station.sysctl(&[("net/ipv4/icmp_echo_ignore_all", "1".to_owned())]).map_err(text)?;
        }
        Ok(())
    }

    /// Stations answer neither ping nor ARP requests of strangers.
    pub(crate) fn blind(&self) -> Result<()> {
        self.deafen()?;
        // The host is known for good; nobody else gets an answer.
        let hosts = [(&self.host, "eth0")];
        for (namespace, device) in hosts {
            for (index, station) in self.stations.iter().enumerate() {
                let line = format!(
                    "neigh replace {} lladdr {} dev {device} nud permanent\n",
                    Self::station_address(index),
                    mac_of(station)?
                );
                if self.cell.mode == Mode::Bridged {
                    namespace.ip(&line).map_err(text)?;
                } else {
                    self.router.ip(&line.replace("dev eth0", "dev lan")).map_err(text)?;
                }
            }
        }
        for station in &self.stations {
            station.sysctl(&[("net/ipv4/conf/all/arp_ignore", "8".to_owned())]).map_err(text)?;
        }
        Ok(())
    }
}

/// HTB words for a radio of `mbps`.
fn air(mbps: u32) -> String {
    // 4 ms of bytes, about a TXOP. HTB forgets what a late timer did not send beyond its burst: with 1 ms, a virtual processor that
    // pauses for longer costs a radio of 200 Mbit/s more than the 7 % that C leaves.
    let burst = (mbps * 500).max(1600);
    format!("htb rate {mbps}mbit ceil {mbps}mbit burst {burst} cburst {burst}")
}

fn mac_of(station: &Namespace) -> Result<String> {
    let told = run(station, &["ip", "-o", "link", "show", "eth0"])?;
    let mac = told.split("link/ether ").nth(1).and_then(|rest| rest.split(' ').next());
    mac.map(str::to_owned).ok_or_else(|| format!("no MAC address in {told}"))
}

/// What a command prints in a namespace.
pub(crate) fn run(namespace: &Namespace, words: &[&str]) -> Result<String> {
    let mut command = entering(&namespace.path(), words[0]).map_err(text)?;
    let output = command.args(&words[1..]).stdin(Stdio::null()).output().map_err(text)?;
    if !output.status.success() {
        return Err(format!("{words:?}: {}", String::from_utf8_lossy(&output.stderr)));
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// Does lines of `tc -batch` in a namespace.
pub(crate) fn tc(namespace: &Namespace, lines: &str) -> Result<()> {
    let file: PathBuf = std::env::temp_dir().join(format!("{}.tc", namespace.name()));
    fs::write(&file, lines).map_err(text)?;
    let done = run(namespace, &["tc", "-batch", file.to_str().unwrap_or_default()]);
    let _ = fs::remove_file(&file);
    done.map(drop)
}
