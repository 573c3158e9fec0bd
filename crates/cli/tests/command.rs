//! The built command: exit codes, and what it does to stdout, stderr and files.

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

const CELL: &str = r#"
name = "cell"
[run]
duration = "2 s"
warmup = "1 s"
replicas = 2
seed = 1
[radio]
phy = "802.11b"
rate = "11 Mbit/s"
[[station]]
name = "sta1"
flows = [{ direction = "up" }]
[[station]]
name = "sta2"
flows = [{ direction = "down" }]
"#;

/// A directory with a scenario in it.
struct Place {
    dir: tempfile::TempDir,
    scenario: PathBuf,
}

impl Place {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let scenario = dir.path().join("cell.toml");
        std::fs::write(&scenario, CELL).unwrap();
        Place { dir, scenario }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    fn run(&self) -> Command {
        let mut command = fairair();
        command.arg("run").arg(&self.scenario);
        command
    }

    /// Names of all files and directories but the scenario.
    fn leftovers(&self) -> Vec<String> {
        names(self.dir.path()).into_iter().filter(|name| name != "cell.toml").collect()
    }
}

fn names(dir: &Path) -> Vec<String> {
    let mut names: Vec<String> =
        std::fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

fn fairair() -> Command {
    Command::new(env!("CARGO_BIN_EXE_fairair"))
}

/// Runs to the end and compares the exit code.
#[track_caller]
fn exits(command: &mut Command, code: i32) -> (String, String) {
    let Output { status, stdout, stderr } = command.output().unwrap();
    let (stdout, stderr) = (String::from_utf8(stdout).unwrap(), String::from_utf8(stderr).unwrap());
    assert_eq!(status.code(), Some(code), "stdout: {stdout}\nstderr: {stderr}");
    assert!(!stderr.contains("panicked"), "{stderr}");
    (stdout, stderr)
}

#[test]
fn a_run_prints_its_report_and_nothing_on_stderr() {
    let place = Place::new();
    let (table, noise) = exits(&mut place.run(), 0);
    assert!(table.starts_with("cell: 802.11b at 11 Mbit/s, 2 stations") && table.contains("Jain index"), "{table}");
    assert!(!table.contains('\x1b'), "no colours in a pipe: {table}");
    assert_eq!(noise, "", "no progress bar in a pipe");

    let (json, _) = exits(place.run().args(["--format", "json", "--seed", "9", "--replicas", "3"]), 0);
    let report: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!((report["seed"].as_u64(), report["replicas"].as_u64()), (Some(9), Some(3)));
    assert_eq!(report["schema"], "fairair.result/1");

    let (csv, _) = exits(place.run().args(["--format", "csv"]), 0);
    assert_eq!(
        csv.lines().map(|line| line.split(',').next().unwrap()).collect::<Vec<_>>(),
        ["station", "sta1", "sta2"]
    );
    assert!(place.leftovers().is_empty());
}

#[test]
fn the_number_of_threads_changes_nothing() {
    let place = Place::new();
    let json = |jobs| exits(place.run().args(["--format", "json", "--replicas", "5", "--jobs", jobs]), 0).0;
    assert_eq!(json("1"), json("3"));
}

#[test]
fn results_go_to_a_directory_that_is_made() {
    let place = Place::new();
    exits(place.run().arg("--out").arg(place.path("a/b")), 0);
    assert_eq!(names(&place.path("a/b")), ["flows.csv", "result.json", "scenario.toml", "stations.csv", "table.txt"]);
    assert_eq!(std::fs::read_to_string(place.path("a/b/scenario.toml")).unwrap(), CELL);
}

#[test]
fn usage_errors_exit_with_2_and_say_what_is_wrong() {
    let place = Place::new();
    for (arguments, expected) in [
        (&["--replicas", "0"][..], "--replicas"),
        (&["--until-ci", "200%"], "must lie above 0 % and below 100 %"),
        (&["--until-ci", "two"], "write a percentage"),
        (&["--max-replicas", "10"], "--until-ci"),
        (&["--until-ci", "2%", "--replicas", "20", "--max-replicas", "10"], "--max-replicas 10"),
        (&["--format", "yaml"], "possible values: table, json, csv"),
        (&["--jobs", "0"], "--jobs"),
        (&["--colour"], "--colour"),
    ] {
        let (stdout, stderr) = exits(place.run().args(arguments), 2);
        assert!(stdout.is_empty() && stderr.contains(expected), "{arguments:?}: {stderr}");
    }
    exits(&mut fairair(), 2);
    exits(fairair().arg("fly"), 2);
}

#[test]
fn help_and_version_are_no_errors_and_tell_the_exit_codes() {
    for arguments in [&["--help"][..], &["run", "--help"], &["check", "--help"]] {
        let (help, _) = exits(fairair().args(arguments), 0);
        assert!(help.contains("Exit codes") && help.contains("130"), "{help}");
    }
    assert!(exits(fairair().arg("--version"), 0).0.starts_with("fairair "));
}

#[test]
fn a_scenario_that_cannot_be_read_exits_with_2() {
    let place = Place::new();
    std::fs::write(place.path("wrong.toml"), "nonsense").unwrap();
    for command in ["run", "check"] {
        for file in ["missing.toml", "wrong.toml"] {
            let (stdout, stderr) = exits(fairair().arg(command).arg(place.path(file)), 2);
            assert!(stdout.is_empty() && stderr.contains(file), "{stderr}");
        }
    }
    let (fine, _) = exits(fairair().arg("check").arg(&place.scenario), 0);
    assert!(fine.contains("2 stations"), "{fine}");
}

#[test]
fn an_unwritable_output_exits_with_2_before_the_run() {
    let place = Place::new();
    std::fs::write(place.path("file"), "in the way").unwrap();
    std::fs::create_dir_all(place.path("dir/result.json")).unwrap();
    for out in ["file", "file/deeper", "dir"] {
        let (stdout, stderr) = exits(place.run().arg("--out").arg(place.path(out)), 2);
        assert!(stdout.is_empty() && stderr.contains("cannot write"), "{out}: {stderr}");
    }
    assert_eq!(place.leftovers(), ["dir", "file"]);
    assert_eq!(names(&place.path("dir")), ["result.json"], "nothing half-written");
}

#[test]
fn a_reader_that_leaves_early_is_no_error() {
    let place = Place::new();
    for format in ["table", "json", "csv"] {
        let mut command = place.run();
        let child = command.args(["--format", format]).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = child.spawn().unwrap();
        drop(child.stdout.take());
        let Output { status, stderr, .. } = child.wait_with_output().unwrap();
        assert_eq!((status.code(), String::from_utf8(stderr).unwrap()), (Some(0), String::new()));
    }
}

#[test]
#[cfg(target_os = "linux")]
fn a_full_disk_exits_with_1() {
    let place = Place::new();
    let full = std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
    let Output { status, stderr, .. } = place.run().stdout(full).output().unwrap();
    assert_eq!(status.code(), Some(1));
    assert!(String::from_utf8(stderr).unwrap().contains("standard output"));
    let full = std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
    let help = fairair().arg("--help").stdout(full).output().unwrap();
    assert_eq!(help.status.code(), Some(1), "{}", String::from_utf8_lossy(&help.stderr));
}

/// SIGINT in the middle of a search that takes long.
#[cfg(unix)]
#[test]
fn an_interrupted_plan_says_what_it_knew() {
    let place = Place::new();
    let mut plan = fairair();
    plan.arg("plan").arg(&place.scenario).args(["--goal", "level=1", "--thorough", "--jobs", "1"]);
    let child = plan.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    std::thread::sleep(std::time::Duration::from_millis(700));
    assert!(Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap().success());
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(130));
    let (text, noise) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    // On a machine that is too busy for a first replica nothing is known.
    let known = text.contains("INTERRUPTED") && text.contains("nothing is recommended");
    assert!(known || noise.contains("nothing is known"), "{text}{noise}");
}

/// SIGINT while 100000 replicas run.
#[test]
#[cfg(unix)]
fn an_interrupted_run_reports_what_is_done() {
    use std::io::Read;
    let place = Place::new();
    let mut command = place.run();
    let command = command.args(["--replicas", "100000", "--format", "json"]).stdout(Stdio::piped());
    let mut child = command.stderr(Stdio::null()).spawn().unwrap();
    std::thread::sleep(std::time::Duration::from_millis(300));
    assert!(Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap().success());
    let mut json = String::new();
    child.stdout.take().unwrap().read_to_string(&mut json).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(130));
    let report: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!((&report["interrupted"], report["replicas_planned"].as_u64()), (&true.into(), Some(100_000)));
    let done = report["replicas"].as_u64().unwrap();
    assert!(done > 0 && done < 100_000, "{done}");
    assert_eq!(report["totals"]["goodput_bps"]["n"], done);
}

#[test]
fn remedies_are_compared_in_the_order_asked_for() {
    let place = Place::new();
    let mut command = fairair();
    let command = command.arg("compare").arg(&place.scenario).args(["--replicas", "2", "--format", "json"]);
    let (json, _) = exits(command.args(["--remedies", "none,las,buffer-sizing"]), 0);
    let comparison: serde_json::Value = serde_json::from_str(&json).unwrap();
    let names: Vec<_> = comparison["rows"].as_array().unwrap().iter().map(|row| row["remedy"].clone()).collect();
    assert_eq!(names, ["none", "las", "buffer-sizing"]);
    let first = &comparison["rows"][0];
    // The baseline is what `run` says of the same scenario.
    let (json, _) = exits(place.run().args(["--replicas", "2", "--format", "json"]), 0);
    let run: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!(first["report"]["fingerprint"], run["fingerprint"]);
    assert_ne!(first["report"]["fingerprint"], comparison["rows"][1]["report"]["fingerprint"]);
}

#[test]
fn an_unknown_remedy_is_told_with_the_known_ones() {
    let place = Place::new();
    let (_, stderr) = exits(fairair().arg("compare").arg(&place.scenario).args(["--remedies", "lass"]), 2);
    assert!(stderr.contains("`lass`") && stderr.contains("las, tlas"), "{stderr}");
}

#[test]
fn a_wish_that_the_cell_meets_already_changes_nothing() {
    let place = Place::new();
    let said = |more: &[&str], code| exits(fairair().arg("plan").arg(&place.scenario).args(more), code);
    let plan = |more: &[&str], code| said(more, code).0;
    let (met, early) = said(&["--max-delay", "100s", "--deploy", "box"], 0);
    assert!(met.contains("meets this already") && early.contains("meets this already, as a short look"), "{early}");
    let unwritable = plan(&["--max-delay", "100s", "--deploy", "box", "--svg", "/dev/full"], 1);
    assert!(unwritable.contains("meets this already"), "a disk that is full loses no search");
    let directory = said(&["--max-delay", "100s", "--svg", "."], 2);
    assert!(directory.0.is_empty() && directory.1.contains("directory"), "{directory:?}");
    let (unmet, early) = said(&["--max-delay", "1us", "--deploy", "box"], 3);
    assert!(unmet.contains("candidates meets this") && early.is_empty(), "{unmet}{early}");
}

#[test]
fn a_wish_that_makes_no_sense_is_refused() {
    let place = Place::new();
    for (arguments, expected) in [
        (&[][..], "nothing to plan for"),
        (&["--goal", "level=0"], "between"),
        (&["--goal", "speed=2"], "no goal"),
        (&["--max-delay", "50"], "unit"),
        (&["--tolerance", "0"], "above 0 % and below 100 %"),
        (&["--tolerance", "much"], "above 0 % and below 100 %"),
        (&["--floor", "-1%"], "above 0 % and below 100 %"),
        (&["--floor", "100"], "above 0 % and below 100 %"),
        (&["--goal", "up <= 1 Mbit/s"], "least goodput"),
        (&["--goal", "sta1 >= 1000 Gbit/s"], "exceeds the capacity"),
        (&["--max-delay", "0ms"], "delay of zero"),
        (&["--goal", "level=1", "--goal", "level=2"], "about the same"),
        (&["--goal", "down/up=2", "--goal", "up/down=2"], "about the same"),
    ] {
        let (stdout, stderr) = exits(fairair().arg("plan").arg(&place.scenario).args(arguments), 2);
        assert!(stdout.is_empty() && stderr.contains(expected), "{arguments:?}: {stderr}");
    }
}

#[test]
fn a_model_answers_in_the_same_forms() {
    let place = Place::new();
    let model = |more: &[&str]| {
        let mut command = fairair();
        command.arg("model").arg(&place.scenario).args(more);
        command
    };
    let (table, noise) = exits(&mut model(&[]), 0);
    assert!(table.contains("predicted by the model unified") && noise.is_empty(), "{table}{noise}");
    let (json, _) = exits(&mut model(&["--model", "detti2011", "--format", "json"]), 0);
    let report: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!((&report["engine"], &report["model"]["name"]), (&"model".into(), &"detti2011".into()));
    assert_eq!(report["totals"]["goodput_bps"]["n"], 1);
    let (csv, _) = exits(&mut model(&["--format", "csv"]), 0);
    assert!(csv.starts_with("station,"), "{csv}");
    let (_, refusal) = exits(&mut model(&["--model", "ha2009"]), 2);
    assert!(refusal.contains("dual queue"), "{refusal}");
    exits(&mut model(&["--model", "guess"]), 2);
    assert!(place.leftovers().is_empty());
}

#[test]
fn engines_are_compared_value_by_value() {
    let place = Place::new();
    let mut command = fairair();
    command.arg("compare").arg(&place.scenario).args(["--engines", "model,sim", "--replicas", "2", "--format", "json"]);
    let (json, _) = exits(&mut command, 0);
    let comparison: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!(comparison["engines"], serde_json::json!(["model", "simulator"]));
    let total = &comparison["values"][0];
    assert_eq!(total["key"], "totals.goodput_bps");
    let mean = |engine: usize| total["estimates"][engine]["mean"].as_f64().unwrap();
    let error = total["relative_errors"][0].as_f64().unwrap();
    assert!((mean(0) / mean(1) - 1.0 - error).abs() < 1e-12);
    assert!(error.abs() < 0.2, "the model is about right: {error}");
    assert_eq!(total["relative_errors"][1], 0.0);
}

#[test]
fn a_comma_in_a_name_does_not_break_a_row_of_engines() {
    let place = Place::new();
    std::fs::write(&place.scenario, CELL.replace("sta1", "a,b")).unwrap();
    let mut command = fairair();
    command.arg("compare").arg(&place.scenario).args(["--engines", "model,sim", "--replicas", "2", "--format", "csv"]);
    let (csv, _) = exits(&mut command, 0);
    assert!(csv.contains("a,b"), "{csv}");
    let cells = |line: &str| line.split('"').step_by(2).map(|part| part.matches(',').count()).sum::<usize>();
    let widths: Vec<usize> = csv.lines().map(cells).collect();
    assert!(widths.iter().all(|width| *width == widths[0]), "{csv}");
}

#[test]
fn neither_a_capture_nor_a_trace_replaces_the_scenario() {
    let place = Place::new();
    for option in ["--pcap", "--trace"] {
        let output = place.run().arg(option).arg(&place.scenario).output().unwrap();
        assert_eq!(output.status.code(), Some(2));
        assert_eq!(std::fs::read_to_string(&place.scenario).unwrap(), CELL);
    }
}

/// A capture that a result replaces would be lost without a word.
#[test]
fn neither_a_capture_nor_a_trace_is_a_result_of_out() {
    let place = Place::new();
    let out = place.path("out");
    for (option, name) in [("--pcap", "result.json"), ("--trace", "flows.csv"), ("--pcap", "../out/scenario.toml")] {
        let (stdout, stderr) = exits(place.run().arg("--out").arg(&out).arg(option).arg(out.join(name)), 2);
        assert!(stdout.is_empty() && stderr.contains("help: name another file"), "{stderr}");
        assert!(place.leftovers().is_empty(), "the directory is not left behind");
    }
    exits(place.run().arg("--out").arg(&out).arg("--pcap").arg(out.join("air.pcap")), 0);
    assert!(out.join("air.pcap").exists());
}

/// Both of the same replica, and a trace that needs a file of its own.
#[test]
fn a_trace_stands_beside_a_capture() {
    let place = Place::new();
    let [air, table] = ["air.pcap", "air.parquet"].map(|name| place.scenario.with_file_name(name));
    let output = place.run().arg("--pcap").arg(&air).arg("--trace").arg(&table).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let bytes = std::fs::read(&table).unwrap();
    assert!(bytes.starts_with(b"PAR1") && bytes.ends_with(b"PAR1") && air.exists(), "{} bytes", bytes.len());
    for twice in
        [["--pcap", "x", "--trace", "./x"], ["--replicas", "1", "--pcap", "none/"], ["--replicas", "1", "--trace", "-"]]
    {
        assert_eq!(place.run().args(twice).output().unwrap().status.code(), Some(2));
    }
}

#[test]
fn a_capture_can_go_to_standard_output() {
    let place = Place::new();
    let output = place.run().args(["--pcap", "-", "--replicas", "1"]).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    // Nanosecond pcap, little-endian; the frames of a second and nothing of the report.
    assert_eq!(&output.stdout[..4], 0xa1b2_3c4d_u32.to_le_bytes());
    // Behind the file's header of 24 bytes: 16 and the kept bytes a frame, to the last byte.
    let (mut at, mut frames) = (24, 0);
    while at < output.stdout.len() {
        let kept = u32::from_le_bytes(output.stdout[at + 8..at + 12].try_into().unwrap());
        (at, frames) = (at + 16 + kept as usize, frames + 1);
    }
    assert_eq!(at, output.stdout.len());
    assert!(frames > 500, "{frames} frames");
    assert!(String::from_utf8_lossy(&output.stderr).contains("total goodput"));
    assert!(place.leftovers().is_empty());
}

#[test]
fn a_reader_of_a_capture_may_leave_early() {
    let place = Place::new();
    let mut run = place.run();
    let mut child = run.args(["--pcap", "-"]).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn tables_fit_the_terminal_unless_wide() {
    let place = Place::new();
    let compare = |more: &[&str]| {
        let mut command = fairair();
        command.arg("compare").arg(&place.scenario).args(["--remedies", "none,las"]).args(more);
        exits(command.env("COLUMNS", "90"), 0).0
    };
    let (narrow, wide) = (compare(&[]), compare(&["--wide"]));
    assert!(narrow.lines().all(|line| line.chars().count() <= 90), "{narrow}");
    assert!(narrow.contains("--wide shows all") && !wide.contains("--wide shows all"));
    assert!(wide.contains("p99 ms") && !narrow.contains("p99 ms  "), "{narrow}\n{wide}");
}

#[test]
fn a_station_without_flows_is_remarked_on() {
    let place = Place::new();
    let more = format!("{CELL}[[station]]\nname = \"guest\"\n");
    std::fs::write(&place.scenario, more).unwrap();
    let (stdout, _) = exits(fairair().arg("check").arg(&place.scenario), 0);
    assert!(stdout.contains("no flows at `guest`"), "{stdout}");
}

#[test]
fn transfer_times_of_files_are_reported() {
    let place = Place::new();
    let files = CELL.replace("direction = \"down\"", "direction = \"down\", kind = \"files\", size = \"20000 B\"");
    std::fs::write(&place.scenario, files).unwrap();
    let (stdout, _) = exits(&mut place.run(), 0);
    assert!(stdout.contains("file transfers") && stdout.contains("20000 B"), "{stdout}");
}
