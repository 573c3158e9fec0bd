//! Namespaces: stations and one other device, the box, the host.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use tempfile::TempDir;

use crate::turn::{Kind, Turn};

static BENCHES: AtomicU32 = AtomicU32::new(0);

/// Ends the test early, and says so, where it cannot run.
macro_rules! needs_root {
    () => {
        if !crate::bench::is_root() {
            assert!(std::env::var_os("CI").is_none(), "CI must run this as root");
            eprintln!("*** SKIPPED (needs root, ip, tc and nft): {} ***", module_path!());
            return;
        }
    };
}
pub(crate) use needs_root;

/// The same where a tool is missing.
macro_rules! needs_tool {
    ($tool:literal) => {
        if std::process::Command::new($tool).arg("-V").output().is_err() {
            assert!(std::env::var_os("CI").is_none(), "CI must have {}", $tool);
            eprintln!("*** SKIPPED (needs {}): {} ***", $tool, module_path!());
            return;
        }
    };
}
pub(crate) use needs_tool;

pub(crate) fn is_root() -> bool {
    let id = Command::new("id").arg("-u").output().expect("id");
    let has_tools = ["ip", "tc", "nft"].iter().all(|tool| Command::new(tool).arg("-V").output().is_ok());
    id.stdout == b"0\n" && has_tools
}

/// The namespaces and the daemon's directory; all goes when it is dropped.
pub(crate) struct Bench {
    prefix: String,
    pub(crate) directory: TempDir,
    /// Where the daemon's state is.
    pub(crate) state: PathBuf,
    daemon: Option<Child>,
    /// Last: the next bench begins when the namespaces of this one are gone.
    _turn: Turn,
}

/// Where a command runs.
#[derive(Clone, Copy)]
pub(crate) enum Place {
    Stations,
    /// A device with a MAC address of its own: 10.1.9.9 and 10.1.9.10, fd01::909.
    Other,
    Box,
    Host,
}

const ALL: [Place; 4] = [Place::Stations, Place::Other, Place::Box, Place::Host];

impl Bench {
    /// Stations 10.1.0.2 and on with fd01::2 and on, behind `lan` of the box; the host is 10.2.0.2, fd02::2.
    pub(crate) fn new(stations: u32) -> Bench {
        Bench::with(stations, Kind::Shared)
    }

    /// The same for a test that measures nothing near a bar.
    pub(crate) fn light(stations: u32) -> Bench {
        Bench::with(stations, Kind::Light)
    }

    /// The same while no other bench exists.
    pub(crate) fn alone(stations: u32) -> Bench {
        Bench::with(stations, Kind::Alone)
    }

    fn with(stations: u32, kind: Kind) -> Bench {
        let turn = Turn::take(kind);
        let number = BENCHES.fetch_add(1, Ordering::Relaxed);
        let prefix = format!("fv{}-{number}", std::process::id());
        let directory = tempfile::tempdir().expect("a directory");
        let state = directory.path().join("state");
        let bench = Bench { prefix, directory, state, daemon: None, _turn: turn };
        let [sta, other, router, host] = ALL.map(|place| bench.name(place));
        for name in [&sta, &other, &router, &host] {
            ok("ip", &["netns", "add", name]);
            ok("ip", &["-n", name, "link", "set", "lo", "up"]);
        }
        ok("ip", &["-n", &router, "link", "add", "lan", "type", "bridge"]);
        for (device, peer) in [("lan0", &sta), ("lan1", &other), ("wan", &host)] {
            ok("ip", &["link", "add", device, "netns", &router, "type", "veth", "peer", "name", "eth0", "netns", peer]);
        }
        for port in ["lan0", "lan1"] {
            ok("ip", &["-n", &router, "link", "set", port, "master", "lan", "up"]);
        }
        bench.run(Place::Box, &["sysctl", "-qw", "net.ipv4.ip_forward=1", "net.ipv6.conf.all.forwarding=1"]);
        let mut lines = String::new();
        for (device, net) in [("lan", 1), ("wan", 2)] {
            let _ = write!(
                lines,
                "addr add 10.{net}.0.1/16 dev {device}\naddr add fd0{net}::1/64 dev {device} nodad\nlink set {device} up\n"
            );
        }
        bench.ip(Place::Box, &lines);
        let mut lines = String::new();
        for own in 2..2 + stations {
            let (high, low) = (own >> 8, own & 255);
            let _ = write!(lines, "addr add 10.1.{high}.{low}/16 dev eth0\naddr add fd01::{own:x}/64 dev eth0 nodad\n");
        }
        lines += "link set eth0 up\nroute add default via 10.1.0.1\nroute add default via fd01::1\n";
        bench.ip(Place::Stations, &lines);
        let lines = "addr add 10.1.9.9/16 dev eth0\naddr add 10.1.9.10/16 dev eth0\naddr add fd01::909/64 dev eth0 nodad\n\
            link set eth0 up\nroute add default via 10.1.0.1\nroute add default via fd01::1\n";
        bench.ip(Place::Other, lines);
        let lines = "addr add 10.2.0.2/16 dev eth0\naddr add fd02::2/64 dev eth0 nodad\nlink set eth0 up\n\
            route add default via 10.2.0.1\nroute add default via fd02::1\n";
        bench.ip(Place::Host, lines);
        bench.settle();
        bench
    }

    /// Waits until all links of the box are up: the kernel notes that up to a second after their ends are, and
    /// [`Self::dump`] shows it.
    #[track_caller]
    pub(crate) fn settle(&self) {
        let states = ["lan", "lan0", "lan1", "wan"].map(|link| format!("/sys/class/net/{link}/operstate"));
        let words: Vec<_> = std::iter::once("cat").chain(states.iter().map(String::as_str)).collect();
        let begin = Instant::now();
        while self.run(Place::Box, &words).lines().any(|state| state != "up") {
            assert!(begin.elapsed() < Duration::from_secs(20), "{}", self.dump());
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// The same, with a daemon that runs by `text`.
    #[track_caller]
    pub(crate) fn shaping(stations: u32, text: &str) -> Bench {
        Bench::new(stations).shapes(text)
    }

    /// The same for a test that measures nothing near a bar.
    #[track_caller]
    pub(crate) fn shaping_light(stations: u32, text: &str) -> Bench {
        Bench::light(stations).shapes(text)
    }

    #[track_caller]
    fn shapes(mut self, text: &str) -> Bench {
        self.configure(text);
        self.start(&[]);
        self
    }

    /// Makes the box a bridge: everybody sees everybody else without a router.
    pub(crate) fn bridge(&self) {
        self.ip(Place::Box, "addr flush dev wan\nlink set wan master lan\n");
        self.ip(Place::Stations, "route add 10.2.0.0/16 dev eth0\nroute add fd02::/64 dev eth0\n");
        self.ip(Place::Other, "route add 10.2.0.0/16 dev eth0\nroute add fd02::/64 dev eth0\n");
        self.ip(Place::Host, "route add 10.1.0.0/16 dev eth0\nroute add fd01::/64 dev eth0\n");
    }

    /// Makes the box a bridge that has no address at all, neither of IPv4 nor of IPv6.
    pub(crate) fn bridge_without_address(&self) {
        self.bridge();
        for interface in ["lan", "lan0", "lan1", "wan"] {
            let key = format!("net.ipv6.conf.{interface}.disable_ipv6=1");
            self.run(Place::Box, &["sysctl", "-qw", &key]);
            self.run(Place::Box, &["ip", "address", "flush", "dev", interface]);
        }
        let left = self.run(Place::Box, &["ip", "-o", "address", "show"]);
        assert!(left.lines().all(|line| line.contains(" lo ")), "{left}");
    }

    /// MAC address of the device in `place`.
    pub(crate) fn mac(&self, place: Place) -> String {
        let shown = self.run(place, &["ip", "-o", "link", "show", "eth0"]);
        shown.split("link/ether ").nth(1).and_then(|rest| rest.split(' ').next()).expect("a MAC address").to_owned()
    }

    pub(crate) fn name(&self, place: Place) -> String {
        let suffix = match place {
            Place::Stations => "st",
            Place::Other => "ot",
            Place::Box => "bx",
            Place::Host => "ho",
        };
        format!("{}-{suffix}", self.prefix)
    }

    /// Commands for `ip`, one a line.
    pub(crate) fn ip(&self, place: Place, lines: &str) {
        use std::io::Write as _;
        let mut command = Command::new("ip");
        command.args(["-n", &self.name(place), "-batch", "-"]).stdin(Stdio::piped());
        let mut child = command.spawn().expect("ip");
        child.stdin.take().expect("piped").write_all(lines.as_bytes()).expect("written");
        assert!(child.wait().expect("ip").success(), "{lines}");
    }

    /// A command in a namespace, not yet started.
    pub(crate) fn command(&self, place: Place, words: &[&str]) -> Command {
        let mut command = Command::new("ip");
        command.args(["netns", "exec", &self.name(place)]).args(words);
        let path = std::env::var("PATH").unwrap_or_default();
        command.env("PATH", format!("{}:{path}", self.programs().display()));
        command
    }

    /// Where programs stand that come before the system's.
    fn programs(&self) -> PathBuf {
        self.directory.path().join("bin")
    }

    /// A script that is found under `name`.
    pub(crate) fn put_program(&self, name: &str, script: &str) {
        use std::os::unix::fs::PermissionsExt as _;
        std::fs::create_dir_all(self.programs()).expect("made");
        let path = self.programs().join(name);
        std::fs::write(&path, format!("#!/bin/sh\n{script}")).expect("written");
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).expect("set");
    }

    /// What `act` makes on a thread in a namespace: its sockets stay there.
    pub(crate) fn inside<T: Send>(&self, place: Place, act: impl FnOnce() -> T + Send) -> T {
        let namespace = std::fs::File::open(format!("/run/netns/{}", self.name(place))).expect("a namespace");
        let enter = || {
            nix::sched::setns(&namespace, nix::sched::CloneFlags::CLONE_NEWNET).expect("entered");
            act()
        };
        std::thread::scope(|scope| scope.spawn(enter).join().expect("no panic"))
    }

    /// What a command in a namespace prints; it must succeed.
    #[track_caller]
    pub(crate) fn run(&self, place: Place, words: &[&str]) -> String {
        let output = self.command(place, words).output().expect("ip");
        assert!(output.status.success(), "{words:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).expect("text")
    }

    pub(crate) fn config(&self) -> PathBuf {
        self.directory.path().join("vsb.toml")
    }

    /// Writes the configuration: `text` after name, uplink and state.
    pub(crate) fn configure(&self, text: &str) {
        let text = format!("name = \"bench\"\nuplink = \"wan\"\nstate = \"{}\"\n{text}", self.state.display());
        std::fs::write(self.config(), text).expect("written");
    }

    /// `fairair vsb` with these words, in the box.
    pub(crate) fn vsb(&self, words: &[&str]) -> Output {
        // A daemon may have a disk of its own.
        let root = self.daemon.as_ref().map(|daemon| format!("/proc/{}/root", daemon.id()));
        let root = root.filter(|root| Path::new(root).exists()).unwrap_or_default();
        let state = PathBuf::from(root + self.state.to_str().expect("text"));
        let mut all = vec![env!("CARGO_BIN_EXE_fairair"), "vsb"];
        all.extend(words);
        let config = self.config();
        match words[0] {
            "run" | "check" => all.push(config.to_str().expect("text")),
            _ => all.extend(["--state", state.to_str().expect("text")]),
        }
        self.command(Place::Box, &all).output().expect("ip")
    }

    /// A `fairair` command that asks no daemon.
    pub(crate) fn fairair(&self, words: &[&str]) -> Output {
        self.command(Place::Box, &[&[env!("CARGO_BIN_EXE_fairair")], words].concat()).output().expect("ip")
    }

    /// Starts the daemon and waits until it answers.
    #[track_caller]
    pub(crate) fn start(&mut self, options: &[&str]) {
        self.start_by(&[], options);
    }

    /// The same, with `wrapper` in front of the command, which must become it.
    #[track_caller]
    pub(crate) fn start_by(&mut self, wrapper: &[&str], options: &[&str]) {
        self.start_as(Path::new(env!("CARGO_BIN_EXE_fairair")), wrapper, options);
    }

    /// The same, with `binary` for the command.
    #[track_caller]
    pub(crate) fn start_as(&mut self, binary: &Path, wrapper: &[&str], options: &[&str]) {
        let config = self.config();
        let run = [binary.to_str().expect("text"), "vsb", "run", config.to_str().expect("text")];
        let words = [wrapper, &run, options].concat();
        let log = std::fs::File::create(self.directory.path().join("log")).expect("a log");
        let child = self.command(Place::Box, &words).stdin(Stdio::null()).stderr(log).spawn().expect("started");
        self.daemon = Some(child);
        let begin = Instant::now();
        while !self.vsb(&["status"]).status.success() {
            assert!(begin.elapsed() < Duration::from_secs(20), "no answer: {}", self.log());
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// What a client command prints in JSON.
    #[track_caller]
    pub(crate) fn json(&self, words: &[&str]) -> serde_json::Value {
        let mut words = words.to_vec();
        words.push("--json");
        let output = self.vsb(&words);
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        serde_json::from_slice(&output.stdout).expect("JSON")
    }

    /// C of the first pool in Mbit/s, 30 looks over nine seconds, and their median: a trial of the controller lowers C for
    /// less than half of that time.
    #[track_caller]
    pub(crate) fn typical_c(&self) -> (f64, Vec<f64>) {
        let look = |_| {
            std::thread::sleep(Duration::from_millis(300));
            let status = self.json(&["status"]);
            let c = status["status"]["pools"][0]["capacity"].as_str().expect("text");
            c.parse::<fairair_core::units::Bitrate>().expect("a rate").as_bps() as f64 / 1e6
        };
        let found: Vec<f64> = (0..30).map(look).collect();
        let mut sorted = found.clone();
        sorted.sort_by(f64::total_cmp);
        (sorted[15], found)
    }

    /// A copy of the command in this bench's directory, which any user may execute.
    pub(crate) fn binary_for_all(&self) -> PathBuf {
        use std::os::unix::fs::PermissionsExt as _;
        std::fs::set_permissions(self.directory.path(), std::fs::Permissions::from_mode(0o755)).expect("set");
        let binary = self.directory.path().join("fairair");
        // By another process: a child that another test forks meanwhile keeps what this one has open for writing, and
        // nobody may execute that ("Text file busy").
        let copied = Command::new("cp").arg(env!("CARGO_BIN_EXE_fairair")).arg(&binary).status().expect("cp");
        assert!(copied.success());
        binary
    }

    pub(crate) fn log(&self) -> String {
        std::fs::read_to_string(self.directory.path().join("log")).unwrap_or_default()
    }

    /// Process of the daemon (`ip netns exec` becomes it).
    pub(crate) fn daemon(&mut self) -> &mut Child {
        self.daemon.as_mut().expect("it was started")
    }

    /// All qdiscs, filters and nftables rules of the box, without what our own counters say.
    pub(crate) fn dump(&self) -> String {
        let mut dump = String::new();
        for words in [
            &["tc", "qdisc", "show"][..],
            &["tc", "filter", "show", "dev", "lan", "egress"],
            &["tc", "filter", "show", "dev", "wan", "egress"],
            &["nft", "list", "ruleset"],
            &["ip", "-o", "link", "show"],
        ] {
            let output = self.command(Place::Box, words).output().expect("ip");
            dump += &String::from_utf8_lossy(&output.stdout);
        }
        let mut before = "";
        let counts = ["direct_packets_stat", "packets", "bytes"];
        let scrubbed = dump.split_inclusive([' ', '\n']).filter(|word| {
            let is_count = counts.contains(&before.trim());
            before = word;
            !is_count
        });
        scrubbed.collect()
    }
}

impl Drop for Bench {
    fn drop(&mut self) {
        if let Some(daemon) = &mut self.daemon {
            let _ = daemon.kill();
            let _ = daemon.wait();
        }
        for place in ALL {
            let _ = Command::new("ip").args(["netns", "del", &self.name(place)]).status();
        }
    }
}

#[track_caller]
fn ok(tool: &str, words: &[&str]) {
    let output = Command::new(tool).args(words).output().expect("iproute2");
    assert!(output.status.success(), "{tool} {words:?}: {}", String::from_utf8_lossy(&output.stderr));
}
