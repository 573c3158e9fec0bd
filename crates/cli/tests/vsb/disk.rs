//! A disk that is full: what is written stops, shaping does not.

use std::fs::File;
use std::io::Write as _;
use std::os::fd::AsRawFd as _;
use std::path::Path;

use crate::bench::{Bench, needs_root};
use crate::operator::{ONE, in_box, open, reload, stop, troubles, until};
use crate::worker::{down, start, up};

/// Writes until nothing more fits.
fn fill(directory: &Path) {
    let mut file = File::create(directory.join("ballast")).expect("a file");
    while file.write_all(&[0; 512]).is_ok() {}
}

/// The control log in `directory`, with its older files.
fn log_in(directory: &Path) -> String {
    let files = ["seen.jsonl.3", "seen.jsonl.2", "seen.jsonl.1", "seen.jsonl"];
    files.iter().map(|name| std::fs::read_to_string(directory.join(name)).unwrap_or_default()).collect()
}

/// Journal, control log and state file on a disk of their own, which others fill while the box is at work. C follows the
/// link all the same, `status` says what is not kept, and when there is room again both go on; what the log has, before and
/// after the gap, replays to the same decisions.
#[test]
fn a_full_disk_stops_journal_and_log_but_not_the_shaping() {
    needs_root!();
    let mut bench = Bench::new(2);
    in_box(&bench, "tc qdisc add dev lan0 root tbf rate 5mbit burst 3000 limit 113550");
    let disk = bench.directory.path().join("disk");
    std::fs::create_dir(&disk).unwrap();
    bench.state = disk.join("state");
    let ap = open().replace("\"20 Mbit/s\"", "{ kind = \"adaptive\", max = \"20 Mbit/s\" }");
    let journal = format!(
        "[journal]\nfile = {:?}\nlog = {:?}\nlog_limit = \"1 MB\"\n",
        disk.join("journal.db"),
        disk.join("seen.jsonl")
    );
    bench.configure(&format!("{ap}{journal}"));
    // Room for the journal's own log (4 MB) beside the control log's limit: nobody but the ballast fills it.
    let mount = format!("mount -t tmpfs -o size=8m disk {} && exec \"$0\" \"$@\"", disk.display());
    bench.start_by(&["unshare", "--mount", "sh", "-c", &mount], &[]);
    // Held, for the disk goes with the daemon otherwise.
    let id = bench.daemon().id();
    let held = File::open(format!("/proc/{id}/root{}", bench.state.display())).unwrap();
    let disk = Path::new("/proc").join(std::process::id().to_string()).join(format!("fd/{}/..", held.as_raw_fd()));

    let transfers = start(&bench, &[down("10.1.0.2"), up("10.1.0.3")], 2, 26);
    let (begins, decides) = (r#""event":"state""#, r#""event":"decision""#);
    until(20, &bench, || log_in(&disk).contains(decides));
    assert_eq!(troubles(&bench), "[]");
    fill(&disk);
    until(20, &bench, || {
        let told = troubles(&bench);
        told.contains("the journal loses lines") && told.contains("the control log has a gap")
    });
    bench.configure(&format!("{}{journal}", ap.replace("20 Mbit", "12 Mbit")));
    reload(&bench);
    let begun = log_in(&disk).matches(begins).count();
    std::fs::remove_file(disk.join("ballast")).unwrap();
    until(20, &bench, || troubles(&bench) == "[]");
    // It goes on after the gap: the machines as they are, and what they decide from then on.
    until(20, &bench, || {
        let log = log_in(&disk);
        log.matches(begins).count() > begun && log.rsplit(begins).next().is_some_and(|last| last.contains(decides))
    });
    let rates = transfers.finish();
    println!("behind 4.95 Mbit/s towards the stations: {:.2} down and {:.2} Mbit/s up", rates[0] / 1e6, rates[1] / 1e6);
    assert!(rates.iter().all(|rate| *rate > 1e6), "{rates:?}");
    stop(&bench);

    let replayed = bench.fairair(&["vsb", "replay", disk.join("seen.jsonl").to_str().unwrap()]);
    let told = String::from_utf8_lossy(&replayed.stdout);
    assert!(
        replayed.status.success() && told.contains("all the same"),
        "{told}{}",
        String::from_utf8_lossy(&replayed.stderr)
    );
}

/// Ctrl-C ends the journal as `stop` does: with a line of the stop, and with what stations got since the last minute.
#[test]
fn a_signal_ends_the_journal_in_order() {
    needs_root!();
    let mut bench = Bench::light(1);
    let journal = bench.directory.path().join("journal.db");
    bench.configure(&format!("{ONE}[journal]\nfile = {journal:?}\n"));
    bench.start(&[]);
    start(&bench, &[down("10.1.0.2")], 0, 2).finish();
    let id = bench.daemon().id().to_string();
    in_box(&bench, &format!("kill -INT {id}"));
    assert!(bench.daemon().wait().unwrap().success(), "{}", bench.log());
    let past = fairair_linux::enforce::history::history(&journal, 3600).unwrap();
    assert_eq!(past.changes.iter().map(|change| change.what.as_str()).collect::<Vec<_>>(), ["\"stop\""]);
    assert!(past.goodput.len() == 1 && past.goodput[0].bytes > 1_000_000, "{:?}", past.goodput);
}

/// Without the state file nobody could take back what a start adds: so nothing is added.
#[test]
fn a_start_without_room_for_the_state_file_adds_nothing() {
    needs_root!();
    let mut bench = Bench::light(1);
    let before = bench.dump();
    let disk = bench.directory.path().join("disk");
    std::fs::create_dir(&disk).unwrap();
    bench.state = disk.join("state");
    bench.configure(ONE);
    let script = format!(
        "mount -t tmpfs -o size=8k disk {0} && mkdir {0}/state && ! cat /dev/zero > {0}/ballast 2> /dev/null && \"$@\"",
        disk.display()
    );
    let config = bench.config();
    let fairair = env!("CARGO_BIN_EXE_fairair");
    let words = ["unshare", "--mount", "sh", "-c", &script, "sh", fairair, "vsb", "run", config.to_str().unwrap()];
    let run = bench.command(crate::bench::Place::Box, &words).output().unwrap();
    let told = String::from_utf8_lossy(&run.stderr);
    assert!(run.status.code() == Some(1) && told.contains("No space left"), "{told}");
    assert_eq!(bench.dump(), before);
}

/// The directory of the control log appears while the box is at work: within a minute the log begins, with the machine as it
/// is then.
#[test]
fn a_log_that_could_not_be_opened_begins_when_it_can() {
    needs_root!();
    let mut bench = Bench::light(1);
    let [journal, late] = ["journal.db", "late"].map(|name| bench.directory.path().join(name));
    let log = late.join("seen.jsonl");
    let ap = open().replace("\"20 Mbit/s\"", "{ kind = \"adaptive\", max = \"20 Mbit/s\" }");
    bench.configure(&format!("{ap}[journal]\nfile = {journal:?}\nlog = {log:?}\n"));
    bench.start(&[]);
    assert!(troubles(&bench).contains("control log"), "{}", troubles(&bench));
    start(&bench, &[down("10.1.0.2")], 0, 2).finish();
    std::fs::create_dir(&late).unwrap();
    until(80, &bench, || troubles(&bench) == "[]");
    start(&bench, &[down("10.1.0.2"), up("10.1.0.2")], 0, 3).finish();
    stop(&bench);
    let text = std::fs::read_to_string(&log).unwrap();
    assert_eq!(text.matches("\"event\":\"state\"").count(), 1, "{text}");
    assert!(text.contains("\"event\":\"decision\"") && !text.contains("\"event\":\"start\""), "{text}");
    let replayed = bench.fairair(&["vsb", "replay", log.to_str().unwrap()]);
    assert!(replayed.status.success(), "{}", String::from_utf8_lossy(&replayed.stdout));
}
