//! What goes wrong is told with its own cause, its place and what to do; and `stop` says what the log says.

use std::io::{BufRead as _, BufReader, Read as _};
use std::net::TcpListener;
use std::os::unix::net::UnixStream;
use std::process::Output;
use std::time::{Duration, Instant};

use crate::bench::{Bench, Place, needs_root, needs_tool};
use crate::operator::{ONE, furnished, in_box, reaches, until};

/// What a command said, without the frame that long errors are printed in.
fn words(output: &Output) -> String {
    let text = String::from_utf8_lossy(&output.stderr).replace(['│', '×', '╰', '─', '▶'], " ");
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn kill(bench: &mut Bench) {
    bench.daemon().kill().unwrap();
    bench.daemon().wait().unwrap();
}

/// Client, log and exit codes agree: nothing is called as before that is not.
#[test]
fn stop_says_to_its_client_what_the_log_says() {
    needs_root!();
    let (mut bench, _) = furnished();
    in_box(&bench, "nft add table ip another");
    let stopped = bench.vsb(&["stop"]);
    let told = words(&stopped);
    assert_eq!(stopped.status.code(), Some(1), "{told}");
    assert!(told.contains("not as before: nftables rules") && !told.contains("everything is as before"), "{told}");
    let log = bench.log();
    assert!(log.contains("not as before: nftables rules") && !log.contains("everything is as before"), "{log}");
    // Not 1: the unit would start it again.
    assert_eq!(bench.daemon().wait().unwrap().code(), Some(3));
    assert!(!bench.dump().contains("fairair"));
}

/// What a killed daemon left is in its own network namespace: elsewhere `stop` finds nothing, and says where it looks.
#[test]
fn stop_in_another_namespace_does_not_say_that_all_is_well() {
    needs_root!();
    let mut bench = Bench::light(1);
    bench.configure(ONE);
    bench.start(&[]);
    kill(&mut bench);
    let state = bench.state.to_str().expect("text").to_owned();
    let stop = [env!("CARGO_BIN_EXE_fairair"), "vsb", "stop", "--state", &state];
    let told = words(&bench.command(Place::Host, &stop).output().unwrap());
    assert!(told.contains("vsb.json is of a box in another network namespace"), "{told}");
    let stopped = bench.vsb(&["stop"]);
    assert!(stopped.status.success() && words(&stopped).contains("everything is as before"), "{}", words(&stopped));
    let told = words(&bench.vsb(&["stop"]));
    assert!(told.contains("nothing to take back") && !told.contains("namespace"), "{told}");
}

/// A daemon that was killed while it took back what another had left: what remains is still known by the state file.
#[test]
fn what_remains_of_an_interrupted_stop_is_taken_back() {
    needs_root!();
    let mut bench = Bench::light(1);
    let before = bench.dump();
    bench.configure(ONE);
    bench.start(&[]);
    kill(&mut bench);
    for line in [
        "nft delete table inet fairair",
        "tc filter del dev lan egress",
        "tc filter del dev wan egress",
        "ip link del fairair0",
    ] {
        in_box(&bench, line);
    }
    assert_ne!(bench.dump(), before, "clsact is left");
    let stopped = bench.vsb(&["stop"]);
    assert!(stopped.status.success() && words(&stopped).contains("everything is as before"), "{}", words(&stopped));
    assert_eq!(bench.dump(), before);
}

/// Others' counters go on while the box shapes; that is no change.
#[test]
fn counters_of_others_are_no_difference() {
    needs_root!();
    let mut bench = Bench::light(1);
    in_box(&bench, "nft add table ip own");
    bench.run(Place::Box, &["nft", "add chain ip own forward { type filter hook forward priority 0; }"]);
    in_box(&bench, "nft add rule ip own forward counter accept");
    bench.configure(ONE);
    bench.start(&[]);
    assert!(reaches(&bench) && in_box(&bench, "nft list table ip own").contains("counter packets"));
    let stopped = bench.vsb(&["stop"]);
    assert!(stopped.status.success() && words(&stopped).contains("everything is as before"), "{}", words(&stopped));
    assert!(bench.daemon().wait().unwrap().success(), "{}", bench.log());
}

/// The daemon stays within reach, and a start after a kill finds what to take back.
#[test]
fn a_removed_state_directory_is_made_anew() {
    needs_root!();
    let mut bench = Bench::light(1);
    let before = bench.dump();
    bench.configure(ONE);
    bench.start(&[]);
    let state = bench.state.clone();
    std::fs::remove_dir_all(&state).unwrap();
    until(8, &bench, || bench.vsb(&["status"]).status.success());
    assert!(bench.log().contains("the control socket was removed: made anew"), "{}", bench.log());
    assert!(state.join("vsb.json").exists());
    let stopped = bench.vsb(&["stop"]);
    assert!(stopped.status.success() && words(&stopped).contains("everything is as before"), "{}", words(&stopped));
    assert_eq!(bench.dump(), before);
}

/// A state file that a power failure left half written, or that is gone: `run` and `stop` find in the kernel what is
/// ours, keep the damaged file, and say that the rest is unknown.
#[test]
fn a_damaged_state_file_blocks_neither_run_nor_stop() {
    needs_root!();
    let (mut bench, before) = furnished();
    let file = bench.state.join("vsb.json");
    kill(&mut bench);
    std::fs::write(&file, "{\"version\":1,").unwrap();
    bench.start(&[]);
    let log = bench.log();
    assert!(
        log.contains("vsb.json: EOF") && log.contains("vsb.json.damaged") && log.contains("nothing is known"),
        "{log}"
    );
    assert_eq!(std::fs::read_to_string(bench.state.join("vsb.json.damaged")).unwrap(), "{\"version\":1,");
    assert!(reaches(&bench));
    // A daemon that runs has it in mind, whatever becomes of the file.
    std::fs::write(&file, "").unwrap();
    let stopped = bench.vsb(&["stop"]);
    assert!(stopped.status.success(), "{}", words(&stopped));
    assert_eq!(bench.dump(), before);
    assert!(bench.daemon().wait().unwrap().success());

    for (contents, why) in [(Some("rubbish"), "vsb.json.damaged"), (None, "is missing")] {
        bench.start(&[]);
        kill(&mut bench);
        match contents {
            Some(contents) => std::fs::write(&file, contents).unwrap(),
            None => std::fs::remove_file(&file).unwrap(),
        }
        let stopped = bench.vsb(&["stop"]);
        let told = words(&stopped);
        assert!(stopped.status.code() == Some(1) && told.contains(why) && told.contains("nothing is known"), "{told}");
        assert!(reaches(&bench), "filters that redirect to a device that is gone would drop all");
        assert_eq!(bench.dump(), before, "all that is ours goes by its name");
    }
}

/// Each with its own words: a full disk, a taken port, an address of others.
#[test]
fn a_start_that_fails_names_place_and_fix() {
    needs_root!();
    let mut bench = Bench::light(1);
    let before = bench.dump();
    let _listener = bench.inside(Place::Box, || TcpListener::bind("127.0.0.1:9477").unwrap());
    for (line, place, fix) in [
        ("metrics = \"127.0.0.1:9477\"\n", "metrics at 127.0.0.1:9477", "ss -ltnp"),
        ("metrics = \"192.0.2.1:9477\"\n", "metrics at 192.0.2.1:9477", "ip address"),
    ] {
        bench.configure(&format!("{line}{ONE}"));
        let run = bench.vsb(&["run"]);
        let told = words(&run);
        assert!(run.status.code() == Some(1) && told.contains(place) && told.contains(fix), "{told}");
        assert!(!told.contains("root") && bench.dump() == before, "{told}");
    }
    let disk = bench.directory.path().join("disk");
    std::fs::create_dir(&disk).unwrap();
    bench.state = disk.join("state");
    bench.configure(ONE);
    let script = format!(
        "mount -t tmpfs -o size=8k disk {0} && mkdir {0}/state && ! cat /dev/zero > {0}/ballast 2> /dev/null && \"$@\"",
        disk.display()
    );
    let config = bench.config();
    let run = [env!("CARGO_BIN_EXE_fairair"), "vsb", "run", config.to_str().unwrap()];
    let words_of = [&["unshare", "--mount", "sh", "-c", &script, "sh"][..], &run].concat();
    let run = bench.command(Place::Box, &words_of).output().unwrap();
    let told = words(&run);
    assert!(told.contains("vsb.json: No space left") && told.contains("make room"), "{told}");
    assert!(!told.contains("root") && bench.dump() == before, "{told}");
}

/// Who may not open the socket is not told to start a second daemon, nor who names another directory.
#[test]
fn a_client_is_told_why_nobody_answers() {
    needs_root!();
    needs_tool!("setpriv");
    let bench = Bench::shaping_light(1, ONE);
    let binary = bench.binary_for_all();
    let (binary, state) = (binary.to_str().unwrap(), bench.state.to_str().unwrap());
    let nobody = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", binary];
    for command in ["status", "stop"] {
        let words_of = [&nobody[..], &["vsb", command, "--state", state]].concat();
        let told = words(&bench.command(Place::Box, &words_of).output().unwrap());
        assert!(told.contains("may not open") && told.contains("member of the group"), "{told}");
        assert!(!told.contains("start it"), "{told}");
    }
    let elsewhere = bench.directory.path().join("elsewhere");
    let told = words(&bench.fairair(&["vsb", "status", "--state", elsewhere.to_str().unwrap()]));
    assert!(told.contains("a daemon runs") && told.contains("--state") && !told.contains("start it"), "{told}");
    assert!(bench.vsb(&["stop"]).status.success());
    let told = words(&bench.vsb(&["status"]));
    assert!(told.contains("no daemon runs") && told.contains("start it"), "{told}");
}

/// A hundred clients that say nothing, and who comes next is answered at once.
#[test]
fn idle_clients_keep_nobody_from_the_control_socket() {
    needs_root!();
    let bench = Bench::shaping_light(1, ONE);
    let socket = bench.state.join("vsb.sock");
    let idle: Vec<_> = (0..100).map(|_| UnixStream::connect(&socket).unwrap()).collect();
    let begin = Instant::now();
    assert!(bench.vsb(&["status"]).status.success());
    println!("answered {:?} after 100 idle clients had come", begin.elapsed());
    assert!(begin.elapsed() < Duration::from_secs(5), "{:?}", begin.elapsed());
    // The last of them, which was not put out, is told why.
    let mut told = String::new();
    let mut last = idle.last().unwrap();
    last.read_to_string(&mut told).unwrap();
    assert!(told.contains("no request within 2s"), "{told}");
}

/// Ctrl-C ends `top` at once and without a word; it shows a daemon that is started anew, and ends some time after one
/// that stopped.
#[test]
fn top_ends_by_ctrl_c_and_after_the_daemon() {
    use std::process::Stdio;
    needs_root!();
    let mut bench = Bench::shaping_light(1, ONE);
    let state = bench.state.to_str().unwrap().to_owned();
    let spawn = |bench: &Bench, options: &[&str]| {
        let words = [&[env!("CARGO_BIN_EXE_fairair"), "vsb", "top", "--state", &state], options].concat();
        bench.command(Place::Box, &words).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
    };
    let mut json = spawn(&bench, &["--json"]);
    let mut line = String::new();
    BufReader::new(json.stdout.take().unwrap()).read_line(&mut line).unwrap();
    json.kill().and_then(|()| json.wait()).unwrap();
    let shown: serde_json::Value = serde_json::from_str(&line).unwrap();
    assert_eq!(shown["status"]["pools"][0]["ap"], "ap1", "{line}");
    assert!(shown["stations"].is_array(), "{line}");

    let top = |bench: &Bench| {
        let mut child = spawn(bench, &[]);
        let mut shown = [0; 4];
        child.stdout.as_mut().unwrap().read_exact(&mut shown).unwrap();
        child
    };
    let interrupted = top(&bench);
    in_box(&bench, &format!("kill -INT {}", interrupted.id()));
    let output = interrupted.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(0));
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");

    let watching = top(&bench);
    kill(&mut bench);
    std::thread::sleep(Duration::from_secs(2));
    bench.start(&[]);
    std::thread::sleep(Duration::from_secs(2));
    assert!(bench.vsb(&["stop"]).status.success());
    let begin = Instant::now();
    let output = watching.wait_with_output().unwrap();
    println!("top ended {:?} after the daemon", begin.elapsed());
    let shown = String::from_utf8_lossy(&output.stdout);
    let away = shown.find("does not answer; Ctrl-C ends").expect("told");
    assert!(shown[away..].contains("ap1"), "shown again: {shown}");
    assert!(output.status.code() == Some(1) && words(&output).contains("has not answered for 10 s"), "{output:?}");
}

/// One of each is not called many.
#[test]
fn one_pool_is_one_pool() {
    needs_root!();
    let bench = Bench::shaping_light(1, ONE);
    let reload = bench.vsb(&["reload"]);
    let told = String::from_utf8_lossy(&reload.stdout);
    assert!(told.contains("reloaded: 1 pool, 1 station\n"), "{told}");
}
