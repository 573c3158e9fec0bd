//! The box with the real programs of a site: hostapd, net-snmp's agent, dnsmasq with a DHCP client.
//!
//! `scripts/test-programs.sh` brings them; without one its test is loudly skipped, and a failure where the environment has
//! `CI`.

use std::os::linux::net::SocketAddrExt as _;
use std::os::unix::net::{SocketAddr, UnixDatagram};
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use crate::bench::{Bench, Place, needs_root};
use crate::operator::{datapath, troubles, until};

/// Where the program `name` is: what `scripts/test-programs.sh` unpacked, else the system's own.
pub(crate) fn program(name: &str) -> Option<PathBuf> {
    let unpacked = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/test-programs/bin");
    let path = std::env::var("PATH").unwrap_or_default();
    let places = std::env::split_paths(&path).chain(["/usr/sbin".into(), "/sbin".into()]);
    std::iter::once(unpacked).chain(places).map(|place| place.join(name)).find(|path| path.exists())
}

/// The path of a program in text; ends the test early, and says so, where it is missing.
macro_rules! needs_program {
    ($name:literal) => {
        match crate::programs::program($name) {
            Some(path) => path.to_str().expect("text").to_owned(),
            None => {
                assert!(std::env::var_os("CI").is_none(), "CI must have {}: scripts/test-programs.sh", $name);
                eprintln!("*** SKIPPED (needs {}: scripts/test-programs.sh): {} ***", $name, module_path!());
                return;
            }
        }
    };
}
pub(crate) use needs_program;

/// A program in a namespace, ended when this is dropped.
struct Running {
    child: Child,
    log: PathBuf,
}

impl Running {
    #[track_caller]
    fn start(bench: &Bench, place: Place, name: &str, words: &[&str]) -> Running {
        let log = bench.directory.path().join(format!("{name}.log"));
        let file = std::fs::File::create(&log).expect("a log");
        let mut command = bench.command(place, words);
        // snmpd keeps what it learns; not on this system.
        command.env("SNMP_PERSISTENT_DIR", bench.directory.path()).env("MIBS", "");
        command.stdin(Stdio::null()).stdout(file.try_clone().expect("a log")).stderr(file);
        Running { child: command.spawn().expect("started"), log }
    }

    fn log(&self) -> String {
        std::fs::read_to_string(&self.log).unwrap_or_default()
    }

    /// Waits until `what` holds.
    #[track_caller]
    fn until(&self, what: impl Fn() -> bool) {
        let begin = Instant::now();
        while !what() {
            assert!(begin.elapsed() < Duration::from_secs(20), "it does not come: {}", self.log());
            std::thread::sleep(Duration::from_millis(50));
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Stations by MAC address, with what `field` says of each.
fn stations(bench: &Bench, field: &str) -> Vec<(String, String)> {
    let all = bench.json(&["stations"]);
    let list = all["stations"].as_array().expect("a list");
    let text = |value: &serde_json::Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    let own = list.iter().filter(|station| station["source"] != "newcomers");
    let mut told: Vec<_> = own.map(|station| (text(&station["mac"]), text(&station[field]))).collect();
    told.sort();
    told
}

/// Lets the box learn who is there.
fn ping(bench: &Bench, place: Place) {
    bench.run(place, &["ping", "-q", "-c", "1", "-W", "5", "10.1.0.1"]);
}

/// A hostapd without a radio on the box, with the stations `macs`, and its control socket.
#[track_caller]
fn hostapd(bench: &Bench, binary: &str, name: &str, macs: &[&str]) -> (Running, PathBuf) {
    let directory = bench.directory.path().join(name);
    let config = bench.directory.path().join(format!("{name}.conf"));
    let text = format!("interface=lan\ndriver=none\nctrl_interface={}\nssid={name}\nchannel=1\n", directory.display());
    std::fs::write(&config, text).expect("written");
    let running = Running::start(bench, Place::Box, name, &[binary, config.to_str().expect("text")]);
    let socket = directory.join("lan");
    running.until(|| socket.exists() && running.log().contains("AP-ENABLED"));
    bench.inside(Place::Box, || {
        let own = SocketAddr::from_abstract_name(format!("test-{name}")).expect("a name");
        let asking = UnixDatagram::bind_addr(&own).expect("bound");
        asking.connect(&socket).expect("hostapd is there");
        asking.set_read_timeout(Some(Duration::from_secs(5))).expect("set");
        for mac in macs {
            asking.send(format!("NEW_STA {mac}").as_bytes()).expect("sent");
            let mut answer = [0; 100];
            let length = asking.recv(&mut answer).expect("answered");
            assert_eq!(&answer[..length], b"OK\n", "{}", running.log());
        }
    });
    (running, socket)
}

/// Two APs behind one interface, told apart by what each hostapd lists; one that ends is TROUBLE.
#[test]
fn a_real_hostapd_tells_whose_station_it_is() {
    needs_root!();
    let binary = needs_program!("hostapd");
    let mut bench = Bench::light(1);
    let (one, other) = (bench.mac(Place::Stations), bench.mac(Place::Other));
    let (first, first_socket) = hostapd(&bench, &binary, "hostapd1", &["02:00:5e:10:00:01", &one]);
    let (_second, second_socket) = hostapd(&bench, &binary, "hostapd2", &[&other]);
    let ap = |name: &str| format!("[[ap]]\nname = \"{name}\"\ninterface = \"lan\"\ncapacity = \"8 Mbit/s\"\n");
    let lists = |ap: &str, socket: &Path| format!("[[discovery.hostapd]]\nap = \"{ap}\"\nsocket = {socket:?}\n");
    let text = [ap("ap1"), ap("ap2"), lists("ap1", &first_socket), lists("ap2", &second_socket)].concat();
    bench.configure(&text);
    bench.start(&[]);
    for place in [Place::Stations, Place::Other] {
        ping(&bench, place);
    }
    let mut wanted = [(one.clone(), "ap1".to_owned()), (other.clone(), "ap2".to_owned())];
    wanted.sort();
    until(20, &bench, || {
        let told = stations(&bench, "ap");
        wanted.iter().all(|wanted| told.contains(wanted))
    });
    assert_eq!(troubles(&bench), "[]");
    drop(first);
    until(20, &bench, || troubles(&bench).contains(&format!("hostapd {}", first_socket.display())));
    assert!(stations(&bench, "ap").contains(&(one, "ap1".to_owned())), "it stays where it was");
}

/// net-snmp's agent tells of the devices in its ARP table (`ipNetToMediaPhysAddress`), with their addresses.
#[test]
fn a_real_snmpd_tells_who_is_there() {
    needs_root!();
    let binary = needs_program!("snmpd");
    let mut bench = Bench::light(1);
    let config = bench.directory.path().join("snmpd.conf");
    std::fs::write(&config, "rocommunity secret 127.0.0.1\n").unwrap();
    let at = "udp:127.0.0.1:1611";
    let words = [&binary, "-f", "-Lo", "-C", "-c", config.to_str().unwrap(), at];
    let agent = Running::start(&bench, Place::Box, "snmpd", &words);
    agent.until(|| agent.log().contains("NET-SNMP version"));
    let (one, other) = (bench.mac(Place::Stations), bench.mac(Place::Other));
    for place in [Place::Stations, Place::Other] {
        ping(&bench, place);
    }
    bench.configure(
        "[[ap]]\nname = \"ap1\"\ninterface = \"lan\"\nprefixes = [\"10.1.0.0/16\"]\ncapacity = \"8 Mbit/s\"\n\
         [discovery]\nneighbours = false\nfirst_sight = false\n\
         [[discovery.snmp]]\nap = \"ap1\"\nagent = \"127.0.0.1:1611\"\ncommunity = \"secret\"\nevery = \"1 s\"\n\
         oid = \"1.3.6.1.2.1.4.22.1.2\"\nmac = \"value\"\n",
    );
    bench.start(&[]);
    let mut wanted = vec![(one, "association".to_owned()), (other, "association".to_owned())];
    wanted.sort();
    until(20, &bench, || stations(&bench, "source") == wanted);
    assert_eq!(troubles(&bench), "[]");
    drop(agent);
    until(20, &bench, || troubles(&bench).contains("snmp 127.0.0.1:1611"));
}

/// A device that dnsmasq gave an address has a class by the lease file, with the name that the device gave itself.
#[test]
fn a_real_dhcp_client_of_a_real_dnsmasq_has_a_class() {
    needs_root!();
    let (dnsmasq, busybox) = (needs_program!("dnsmasq"), needs_program!("busybox"));
    let mut bench = Bench::light(1);
    let file = |name: &str| bench.directory.path().join(name).to_str().expect("text").to_owned();
    let (leases, script) = (file("leases"), file("bin/lease"));
    std::fs::write(&leases, "").unwrap();
    let lease_file = format!("--dhcp-leasefile={leases}");
    let words = [
        dnsmasq.as_str(),
        "--no-daemon",
        "--conf-file=/dev/null",
        "--port=0",
        "--interface=lan",
        "--bind-interfaces",
        "--dhcp-range=10.1.50.10,10.1.50.50,255.255.0.0,1h",
        "--dhcp-authoritative",
        "--no-ping",
        "--user=root",
        "--pid-file=",
        &lease_file,
    ];
    let server = Running::start(&bench, Place::Box, "dnsmasq", &words);
    server.until(|| server.log().contains("DHCP, IP range"));
    bench.configure(&format!(
        "[[ap]]\nname = \"ap1\"\ninterface = \"lan\"\nprefixes = [\"10.1.0.0/16\"]\ncapacity = \"8 Mbit/s\"\n\
         [discovery]\nneighbours = false\nfirst_sight = false\ndnsmasq = {leases:?}\n"
    ));
    bench.start(&[]);
    assert_eq!(stations(&bench, "name"), []);
    bench.put_program("lease", "[ \"$1\" != bound ] || ip addr add \"$ip/16\" dev \"$interface\"\n");
    let words = [&busybox, "udhcpc", "-i", "eth0", "-f", "-n", "-q", "-x", "hostname:phone", "-s", &script];
    println!("{}", bench.run(Place::Other, &words));
    let mac = bench.mac(Place::Other);
    until(20, &bench, || stations(&bench, "name") == [(mac.clone(), "phone".to_owned())]);
    let (_, address) = stations(&bench, "addresses").remove(0);
    let address = address.trim_matches(['[', ']', '"']).to_owned();
    assert!(
        address.starts_with("10.1.50.") && bench.run(Place::Other, &["ip", "addr"]).contains(&address),
        "{address}"
    );
    assert!(datapath(&bench).contains(&address));
}
