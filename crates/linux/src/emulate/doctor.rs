//! What this machine lacks to run a testbed.

use std::fs;
use std::path::Path;
use std::process::Command;

use fairair_core::tcp::Variant;

use super::registry::PREFIX;
use crate::netns::Namespace;
use crate::tap::Tap;
use crate::{is_root, realtime};

/// Something that was looked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Check {
    /// What was examined.
    pub what: String,
    /// Whether a testbed can be run without it.
    pub optional: bool,
    /// Package, option or command that brings it; `None` when it is there.
    pub remedy: Option<String>,
}

/// Looks for all that a testbed needs. Makes a namespace for it, and removes it again.
pub fn examine() -> Vec<Check> {
    let mut checks = Vec::new();
    let mut say = |what: &str, optional: bool, there: bool, remedy: &str| {
        let remedy = (!there).then(|| remedy.to_owned());
        checks.push(Check { what: what.to_owned(), optional, remedy });
        there
    };
    let root = say("root", false, is_root(), "run it as root: sudo fairair testbed ...");
    for (program, package) in [("ip", "iproute2"), ("iperf3", "iperf3"), ("ping", "iputils-ping")] {
        let there = Command::new(program).arg("-V").output().is_ok();
        say(program, false, there, &format!("apt-get install {package}"));
    }
    let controls = fs::read_to_string("/proc/sys/net/ipv4/tcp_available_congestion_control").unwrap_or_default();
    let mut wanted = Variant::ALL.map(Variant::in_linux).to_vec();
    wanted.dedup();
    for name in wanted {
        let there = controls.split_whitespace().any(|control| control == name);
        say(&format!("congestion control {name}"), name != "reno", there, &format!("modprobe tcp_{name}"));
    }
    let tun = Path::new("/dev/net/tun").exists();
    say("/dev/net/tun", false, tun, "modprobe tun (CONFIG_TUN)");
    if !root {
        return checks;
    }
    say(
        "real-time priority",
        true,
        std::thread::spawn(realtime::is_granted).join().unwrap_or(false),
        "CAP_SYS_NICE, or no RT limit of the control group (cpu.rt_runtime_us)",
    );
    let name = format!("{PREFIX}doctor{}", std::process::id());
    let namespace = Namespace::create_all([name]).ok().and_then(|mut made| made.pop());
    say(
        "network namespaces",
        false,
        namespace.is_some(),
        "a kernel with CONFIG_NET_NS, and the right to mount in /run/netns",
    );
    let Some(namespace) = namespace else { return checks };
    say("TAP devices", false, Tap::create(&namespace, "tap0").is_ok(), "modprobe tun (CONFIG_TUN)");
    let link = |lines: &str| namespace.ip(lines).is_ok();
    say("veth pairs", false, link("link add probe0 type veth peer name probe1\n"), "modprobe veth (CONFIG_VETH)");
    say("bridges", false, link("link add br0 type bridge\n"), "modprobe bridge (CONFIG_BRIDGE)");
    let macvtap = link("link add link probe1 name ring0 type macvtap mode passthru\n");
    say("macvtap (for --uplink driver)", true, macvtap, "modprobe macvtap (CONFIG_MACVTAP)");
    checks
}
