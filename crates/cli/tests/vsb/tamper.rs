//! Others change the kernel behind the daemon's back: it brings back what it can, and says what it cannot.

use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::bench::{Bench, Place, needs_root, needs_tool};
use crate::operator::{ONE, datapath, furnished, in_box, reaches, reload, stop, troubles, two, until};
use crate::worker::{down, goodputs, up};

/// A firewall that is loaded anew, a qdisc, class or device that somebody deletes or sets down: within seconds
/// everything is as it was, traffic passes at C, and `stop` still restores.
#[test]
fn what_others_take_away_comes_back() {
    needs_root!();
    let (bench, before) = furnished();
    let whole = datapath(&bench);
    assert!(whole.contains("1:1000") && whole.contains("10.1.0.2"), "{whole}");
    for (deed, told) in [
        ("nft flush chain inet fairair classify", "changed by others"),
        ("nft delete table inet fairair", "changed by others"),
        ("nft flush map inet fairair class4", "changed by others"),
        ("tc class del dev fairair0 classid 1:1000", "1 class gone"),
        ("tc qdisc del dev fairair0 root", "classes of fairair0 were gone"),
        ("tc qdisc replace dev fairair0 root pfifo", "classes of fairair0 were gone"),
        ("ip link set fairair0 down", "fairair0 was down"),
        ("ip link del fairair0", "fairair0 was gone"),
        ("tc filter del dev wan egress protocol ip pref 65100", "filters of wan were gone"),
        ("tc qdisc del dev lan clsact", "filters of lan were gone"),
    ] {
        let mended = bench.log().matches(told).count();
        in_box(&bench, deed);
        let begin = Instant::now();
        // The line shows that the deed did something, however fast that was mended; it comes after the mending.
        until(8, &bench, || datapath(&bench) == whole && bench.log().matches(told).count() == mended + 1);
        println!("{deed}: back after {:.1} s", begin.elapsed().as_secs_f64());
        assert!(reaches(&bench));
    }
    // Of the last thirty seconds.
    assert!(troubles(&bench).contains("others removed"), "{}", troubles(&bench));
    let rates = goodputs(&bench, &[down("10.1.0.2"), up("10.1.0.2")], 3, 10);
    let both = (rates[0] + rates[1]) / 1e6;
    println!("up- and downlink together after all that: {both:.2} of 20 Mbit/s");
    assert!((17.0..20.0).contains(&both), "{rates:?}");
    stop(&bench);
    assert_eq!(bench.dump(), before);
}

/// The configuration is read again before the box has noticed what others removed.
#[test]
fn a_reload_puts_back_what_others_removed() {
    needs_root!();
    let mut bench = Bench::light(2);
    bench.configure(ONE);
    bench.start(&[]);
    let whole = datapath(&bench);
    for deed in ["nft delete table inet fairair", "tc qdisc del dev fairair0 root", "ip link del fairair0"] {
        bench.configure(&two());
        in_box(&bench, deed);
        reload(&bench);
        assert!(in_box(&bench, "nft list map inet fairair class4").contains("10.1.0.3"), "{deed}");
        until(8, &bench, || datapath(&bench).contains("1:1010") && reaches(&bench));
        bench.configure(ONE);
        reload(&bench);
        until(8, &bench, || datapath(&bench) == whole);
    }
}

/// Other rules of a firewall are its own business.
#[test]
fn rules_of_others_are_left_alone() {
    needs_root!();
    let bench = Bench::shaping_light(1, ONE);
    in_box(&bench, "nft add table ip mine");
    std::thread::sleep(Duration::from_millis(2500));
    assert!(!bench.log().contains("changed by others"), "{}", bench.log());
    in_box(&bench, "nft flush ruleset");
    until(8, &bench, || datapath(&bench).contains("chain classify"));
    assert!(!in_box(&bench, "nft list tables").contains("mine"), "what others flushed stays so");
}

/// What an interface of the box may do: `status` says what is wrong as long as it is, and shaping is back with it.
#[test]
fn interfaces_go_down_are_renamed_and_made_anew() {
    needs_root!();
    let bench = Bench::shaping_light(1, ONE);
    let whole = datapath(&bench);
    in_box(&bench, "ip link set wan down");
    until(20, &bench, || troubles(&bench).contains("wan is down"));
    plug(&bench);
    until(20, &bench, || troubles(&bench) == "[]");
    assert!(reaches(&bench) && datapath(&bench) == whole);

    in_box(&bench, "ip link set wan down");
    in_box(&bench, "ip link set wan name wan7");
    until(20, &bench, || troubles(&bench).contains("wan is called wan7 now"));
    in_box(&bench, "ip link set wan7 name wan");
    plug(&bench);
    until(20, &bench, || troubles(&bench) == "[]");
    assert!(reaches(&bench) && datapath(&bench) == whole);

    in_box(&bench, "ip link del wan");
    until(20, &bench, || troubles(&bench).contains("wan is gone"));
    let changed = ONE.replace("20 Mbit/s", "10 Mbit/s");
    bench.configure(&changed);
    reload(&bench);
    // A state file that cannot be written is a trouble, and no reason to leave the new device alone.
    let blocked = bench.state.join(".vsb.json.new");
    std::fs::create_dir(&blocked).unwrap();
    let host = bench.name(Place::Host);
    in_box(&bench, &format!("ip link add wan type veth peer name eth0 netns {host}"));
    plug(&bench);
    until(20, &bench, || troubles(&bench).contains("cannot be written"));
    assert!(!troubles(&bench).contains("is gone") && reaches(&bench), "{}", troubles(&bench));
    std::fs::remove_dir(&blocked).unwrap();
    until(20, &bench, || troubles(&bench) == "[]");
    let anew = datapath(&bench);
    assert!(anew.contains("rate 10Mbit") && anew.matches("Redirect to device fairair0").count() == 4, "{anew}");
    assert!(bench.log().contains("wan is another device than before"), "{}", bench.log());
    let rates = goodputs(&bench, &[down("10.1.0.2"), up("10.1.0.2")], 3, 10);
    let both = (rates[0] + rates[1]) / 1e6;
    println!("after the new device: {both:.2} of 10 Mbit/s");
    assert!((8.5..10.0).contains(&both), "{rates:?}");
    stop(&bench);
    let left = bench.dump();
    assert!(!left.contains("fairair") && !left.contains("clsact") && !left.contains("pref 65100"), "{left}");
}

/// Killed, and the interface renamed before anybody cleans up: a filter that led to a device that is gone would drop
/// everything.
#[test]
fn a_renamed_interface_is_cleaned_after_kill_9() {
    needs_root!();
    let mut bench = Bench::shaping_light(1, ONE);
    bench.daemon().kill().unwrap();
    bench.daemon().wait().unwrap();
    in_box(&bench, "ip link set wan down");
    in_box(&bench, "ip link set wan name wan7");
    let stopped = bench.vsb(&["stop"]);
    let told = String::from_utf8_lossy(&stopped.stderr).into_owned();
    assert!(stopped.status.code() == Some(1) && told.contains("wan is called wan7 now"), "{told}");
    assert!(!in_box(&bench, "tc qdisc show").contains("clsact"));
    in_box(&bench, "ip link set wan7 name wan");
    plug(&bench);
    assert!(reaches(&bench));
}

/// Another name in the configuration, and the operator reloads: the device is shaped under it.
#[test]
fn a_renamed_interface_is_shaped_under_its_new_name_after_reload() {
    needs_root!();
    let mut bench = Bench::light(1);
    let before = bench.dump();
    bench.configure(ONE);
    bench.start(&[]);
    in_box(&bench, "ip link set wan down");
    in_box(&bench, "ip link set wan name wan7");
    until(20, &bench, || troubles(&bench).contains("wan7"));
    let text = std::fs::read_to_string(bench.config()).unwrap();
    std::fs::write(bench.config(), text.replace("\"wan\"", "\"wan7\"")).unwrap();
    reload(&bench);
    for line in ["ip link set wan7 up", "ip -6 addr add fd02::1/64 dev wan7 nodad"] {
        in_box(&bench, line);
    }
    until(20, &bench, || troubles(&bench) == "[]");
    assert!(reaches(&bench));
    let filters = in_box(&bench, "tc filter show dev wan7 egress");
    assert_eq!(filters.matches("Redirect to device fairair0").count(), 2, "one for each protocol: {filters}");
    stop(&bench);
    in_box(&bench, "ip link set wan7 down");
    in_box(&bench, "ip link set wan7 name wan");
    plug(&bench);
    assert_eq!(bench.dump(), before);
}

/// Every answer of the kernel is an error for a while (ENOBUFS, put in by strace): shaping goes on as it was, `status`
/// says so, and afterwards all is well.
#[test]
fn netlink_errors_are_told_and_pass() {
    needs_root!();
    needs_tool!("strace");
    let mut bench = Bench::shaping_light(
        1,
        &format!(
            "{}capacity = {{ kind = \"adaptive\", max = \"20 Mbit/s\" }}\n[[station]]{}",
            ONE.split("capacity").next().unwrap(),
            ONE.split("[[station]]").nth(1).unwrap()
        ),
    );
    let whole = datapath(&bench);
    // While it lasts the daemon answers nobody either, so its log is read.
    for (call, told) in [("recvfrom", 1), ("sendto", 2)] {
        let id = bench.daemon().id().to_string();
        let inject = format!("inject={call}:error=ENOBUFS");
        let mut strace = Command::new("strace")
            .args(["-f", "-p", &id, "-o", "/dev/null", "-e", &format!("trace={call}"), "-e", &inject])
            .stderr(Stdio::null())
            .spawn()
            .expect("strace");
        let failures = || bench.log().matches("cannot read the counters: No buffer space available").count();
        until(8, &bench, || failures() == told);
        assert!(reaches(&bench), "what the kernel holds goes on");
        assert_eq!(datapath(&bench), whole);
        // It detaches when it is told to end.
        let ended = Command::new("kill").args(["-TERM", &strace.id().to_string()]).status().expect("kill");
        assert!(ended.success() && strace.wait().is_ok());
        until(8, &bench, || troubles(&bench) == "[]");
    }
    assert!(bench.log().contains(" again"), "{}", bench.log());
    assert_eq!(datapath(&bench), whole);
    stop(&bench);
}

/// Sets `wan` and the host's end of it up, with the addresses that the bench began with.
fn plug(bench: &Bench) {
    let script = "ip addr replace 10.2.0.1/16 dev wan; ip addr replace fd02::1/64 dev wan nodad; ip link set wan up";
    bench.run(Place::Box, &["bash", "-c", script]);
    let script = "ip addr replace 10.2.0.2/16 dev eth0; ip addr replace fd02::2/64 dev eth0 nodad; ip link set eth0 up; \
        ip route replace default via 10.2.0.1; ip route replace default via fd02::1";
    bench.run(Place::Host, &["bash", "-c", script]);
    bench.settle();
}
