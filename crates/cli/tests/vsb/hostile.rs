//! Devices and programs that say what they should not: none of it may become a command, or reach a terminal.

use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::net::UnixDatagram;
use std::time::{Duration, Instant};

use crate::bench::{Bench, Place, needs_root};
use crate::operator::until;

const AP: &str = "
[[ap]]
name = \"ap1\"
interface = \"lan\"
prefixes = [\"10.1.0.0/16\"]
capacity = \"20 Mbit/s\"
";

/// Whether a terminal would obey something in `bytes`: a control character besides the end of a line and the tabulator.
fn obeys(bytes: &[u8]) -> bool {
    let text = String::from_utf8_lossy(bytes);
    text.chars().any(|c| c.is_control() && !matches!(c, '\n' | '\t'))
}

/// Lease files, hostapd and iw at their worst.
#[test]
fn nothing_that_devices_say_reaches_a_shell_or_a_terminal() {
    needs_root!();
    let mut bench = Bench::light(1);
    let file = |name: &str| bench.directory.path().join(name);
    let (dnsmasq, kea, socket, touched) = (file("dnsmasq"), file("kea"), file("wlan0"), file("touched"));
    let shell =
        format!("$(touch${{IFS}}{0});`touch\t{0}`|touch {0}&\"';}}\u{1b}[2J\u{9b}2J\u{202e}", touched.display());
    let long = "x".repeat(100_000);
    let mut leases =
        format!("0 02:00:5e:10:00:01 10.1.0.77 {shell} *\n0 02:00:5e:10:00:02 10.1.0.78 {long} *\n").into_bytes();
    leases.extend(b"0 02:00:5e:10:00:03 10.1.0.79 \xff\xfe\x00\x1b]0;x\x07 *\n");
    std::fs::write(&dnsmasq, &leases).unwrap();
    let rows =
        format!("address,hwaddr,expire,hostname\n10.1.0.80,02:00:5e:10:00:04,99999999999,{shell}\n10.1.0.81,{shell}\n");
    std::fs::write(&kea, rows).unwrap();
    bench.put_program("iw", "printf 'Station $(reboot) (on lan)\\n'; printf '\\033[2J%s' \"`reboot`\" >&2; exit 7\n");
    let hostapd = bench.inside(Place::Box, || UnixDatagram::bind(&socket).expect("bound"));
    hostapd.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
    bench.configure(&format!(
        "{AP}[discovery]\ndnsmasq = {dnsmasq:?}\nkea = {kea:?}\niw = [\"lan\"]\n[[discovery.hostapd]]\nsocket = {socket:?}\n"
    ));
    bench.start(&[]);
    let mut buffer = [0; 200];
    let (_, from) = hostapd.recv_from(&mut buffer).expect("asked");
    hostapd.send_to_addr(format!("{shell}\n{long}").as_bytes(), &from).expect("answered");
    let begin = Instant::now();
    while bench.json(&["stations"])["stations"].as_array().is_none_or(|all| all.len() < 4) {
        assert!(begin.elapsed() < Duration::from_secs(10), "{}{}", bench.json(&["stations"]), bench.log());
        std::thread::sleep(Duration::from_millis(50));
    }
    for words in [
        &["stations"][..],
        &["stations", "--json"],
        &["status"],
        &["explain", "10.1.0.77"],
        &["explain", &shell.replace('\0', "")],
    ] {
        let output = bench.vsb(words);
        let shown = String::from_utf8_lossy(&output.stdout);
        let is_hostile = words[1..].iter().any(|word| obeys(word.as_bytes()));
        assert!(output.status.success() != is_hostile && !obeys(&output.stdout) && !obeys(&output.stderr), "{shown}");
        assert!(shown.lines().all(|line| line.len() < 1000), "{shown}");
        assert!(words[0] == "explain" || !shown.contains("$("), "{shown}");
        assert!(!shown.contains('\u{202e}'), "{shown}");
    }
    // What discovery brings waits a while after a report that took long.
    until(10, &bench, || bench.json(&["status"])["status"]["troubles"].to_string().contains("iw lan: "));
    assert!(!obeys(bench.log().as_bytes()), "{}", bench.log());
    assert!(!touched.exists());
    let rules = bench.run(Place::Box, &["nft", "list", "table", "inet", "fairair"]);
    assert!(rules.contains("10.1.0.80") && !rules.contains("touch"), "{rules}");
}

/// Without `metrics` nobody listens on the network; the socket and what is beside it are for user and group.
#[test]
fn the_daemon_is_reached_over_its_socket_only() {
    needs_root!();
    let bench = Bench::shaping_light(1, AP);
    let mode = |name: &str| {
        let path = bench.directory.path().join("state").join(name);
        std::fs::metadata(path).expect("there").permissions().mode() & 0o777
    };
    assert_eq!([mode(""), mode("vsb.sock"), mode("vsb.json")], [0o750, 0o660, 0o600]);
    let sockets = bench.run(Place::Box, &["cat", "/proc/net/tcp", "/proc/net/tcp6", "/proc/net/udp", "/proc/net/udp6"]);
    // A line that begins with a number is a socket; 0A listens, 07 is one of UDP.
    let open: Vec<_> = sockets
        .lines()
        .filter(|line| line.contains(": ") && (line.contains(" 0A ") || line.contains(" 07 ")))
        .collect();
    assert!(open.is_empty(), "{open:?}");
}
