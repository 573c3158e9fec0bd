//! `fairair plan` on the committed problems: is what it recommends right when others simulate it, and does it harm nobody?
//!
//! A few problems run always. `FAIRAIR_PLAN_PROBLEMS=all cargo test --release -p fairair --test plan -- --nocapture` runs
//! all of them and prints the table of docs/planner.md; names separated by commas instead of `all` run those.
//! `FAIRAIR_PLAN_LONG=all` compares with a search of ten times the work on twenty problems; names run those.

mod judge;
mod problem;

use std::process::{Command, Output};
use std::sync::atomic::AtomicBool;
use std::time::Instant;

use fairair_core::scenario::Scenario;
use fairair_core::shaper::LeafRule;
use fairair_linux::enforce::config::{Config, LeafKind};
use fairair_sim::replicas::Pool;
use judge::{Judgement, judge};
use problem::Problem;

/// One of each kind, the quick ones.
const ALWAYS: [&str; 3] = ["named-five-delay", "rates-as-much", "no-deaf-slow"];
/// Compared with a long search.
const LONG: [&str; 20] = [
    "named-five-delay",
    "named-cafe-twelve",
    "named-web-cafe-box",
    "named-slow-edge",
    "short-queue",
    "gaming-ap",
    "pages",
    "telephone",
    "guest-half",
    "premium",
    "rates-as-much",
    "three-rates",
    "noisy-twice",
    "noisy-short",
    "box-twice",
    "rates-delay-box",
    "least-uploader",
    "delay-web",
    "files-short",
    "slow-cell",
];
/// Work of the long search, times the default's.
const TIMES: f64 = 10.0;

/// What is said of a problem, and whether that is right.
struct Verdict {
    name: String,
    met: bool,
    unmeetable: bool,
    judged: Judgement,
    at_least: f64,
    cpu_s: f64,
    told: String,
}

#[test]
fn there_are_problems_of_all_kinds() {
    let problems = problem::all();
    let count = |of: fn(&Problem) -> bool| problems.iter().filter(|problem| of(problem)).count();
    assert!(problems.len() >= 117);
    assert!(count(Problem::multi_rate) >= 10);
    assert!(count(Problem::channel_errors) >= 10);
    assert!(count(|problem| problem.unmeetable.is_some()) >= 10);
    assert!(LONG.iter().all(|name| problems.iter().any(|problem| problem.name == *name)));
    for option in ["level=", "down/up=", "up/down=", "--max-delay", "ap", "box", "delay(", "files"] {
        assert!(problems.iter().any(|p| p.options.iter().any(|given| given.starts_with(option))), "{option}");
    }
}

/// The problems that an environment variable names, `usual` without it.
fn chosen(variable: &str, usual: &[&str], all: &[&str]) -> Vec<Problem> {
    let wanted = std::env::var(variable).unwrap_or_else(|_| usual.join(","));
    let names: Vec<&str> = wanted.split(',').map(str::trim).filter(|name| !name.is_empty()).collect();
    let names: Vec<&str> = if names == ["all"] { all.to_vec() } else { names };
    let problems: Vec<Problem> =
        problem::all().into_iter().filter(|p| names.is_empty() || names.contains(&p.name.as_str())).collect();
    assert!(names.is_empty() || problems.len() == names.len(), "{wanted}: not all of these are problems");
    problems
}

#[test]
fn recommended_configurations_meet_their_goals_and_starve_nobody_in_other_simulations() {
    let problems = chosen("FAIRAIR_PLAN_PROBLEMS", &ALWAYS, &[]);
    println!(
        "| problem | asked | recommended | with 20 other seeds | starved | CPU s | wall s |\n|---|---|---|---|---|---|---|"
    );
    let mut verdicts = Vec::new();
    for problem in &problems {
        let verdict = verdict(problem);
        println!("{}", verdict.told);
        verdicts.push(verdict);
    }
    let met: Vec<&Verdict> = verdicts.iter().filter(|verdict| verdict.met).collect();
    let holds = met.iter().filter(|verdict| verdict.judged.meets).count();
    let starving = met.iter().filter(|verdict| verdict.judged.starved > 0).count();
    let cpu = verdicts.iter().map(|verdict| verdict.cpu_s).fold(0.0, f64::max);
    println!(
        "{} planned, {} met; {holds} of these hold, {starving} starve somebody; at most {cpu:.1} s of CPU",
        verdicts.len(),
        met.len(),
    );
    for verdict in &met {
        assert!(!verdict.unmeetable, "{} cannot be met", verdict.name);
        assert!(verdict.judged.starved == 0, "{} starves somebody", verdict.name);
        assert!(verdict.judged.meets, "{}: {}", verdict.name, verdict.judged.figures);
    }
    for verdict in &verdicts {
        let goodput = if verdict.met { verdict.judged.goodput } else { 0.0 };
        assert!(goodput >= verdict.at_least, "{} has {goodput}, not {}", verdict.name, verdict.at_least);
    }
}

/// Plans, pastes, and judges.
fn verdict(problem: &Problem) -> Verdict {
    let (before, started) = (children_cpu_s(), Instant::now());
    let Output { status, stdout, stderr } = Command::new(env!("CARGO_BIN_EXE_fairair"))
        .arg("plan")
        .arg(&problem.path)
        .args(&problem.options)
        .args(["--format", "json"])
        .output()
        .unwrap();
    let (cpu_s, wall_s) = (children_cpu_s() - before, started.elapsed().as_secs_f64());
    let plan: serde_json::Value = serde_json::from_slice(&stdout)
        .unwrap_or_else(|_| panic!("{}: {}", problem.name, String::from_utf8_lossy(&stderr)));
    let met = plan["met"].as_bool().unwrap();
    assert_eq!(status.code(), Some(if met { 0 } else { 3 }), "{}", problem.name);
    let snippet = plan["rows"][0]["snippet"].as_str().unwrap();
    for row in plan["rows"].as_array().unwrap() {
        live_box_reads(&row["paste"]["vsb"], &problem.pasted(row["snippet"].as_str().unwrap()));
    }
    let judged = judge(problem, &problem.pasted(snippet));
    let told = format!(
        "| {} | `{}` | {} | {}{}, {:.2} Mbit/s | {} | {cpu_s:.1} | {wall_s:.1} |",
        problem.name,
        problem.options.join(" "),
        match (met, problem.unmeetable.is_some(), snippet) {
            (true, _, "") => "change nothing".to_owned(),
            (true, _, snippet) => format!("`{}`", snippet.replace('\n', " ")),
            (false, true, _) => "nothing meets it, as nothing can".to_owned(),
            (false, false, _) => "nothing meets it".to_owned(),
        },
        if judged.meets { "" } else { "not met: " },
        judged.figures,
        judged.goodput / 1e6,
        judged.starved,
    );
    Verdict {
        name: problem.name.clone(),
        met,
        unmeetable: problem.unmeetable.is_some(),
        judged,
        at_least: problem.at_least_bps,
        cpu_s,
        told,
    }
}

/// What is to be written into vsb.toml makes the live box the one that was simulated.
fn live_box_reads(lines: &serde_json::Value, simulated: &Scenario) {
    let Some(lines) = lines.as_array() else { return };
    let mut text = "name = \"site\"\nuplink = \"eth0\"\n".to_owned();
    for (index, line) in lines.iter().map(|line| line.as_str().unwrap()).enumerate() {
        text += &line.replace("...", &format!("02:00:00:00:00:{index:02x}"));
        text += if line == "[[ap]]" { "\nname = \"ap\"\ninterface = \"eth1\"\n" } else { "\n" };
    }
    let read = Config::from_toml(&text, "vsb.toml").unwrap_or_else(|error| panic!("{error}\n{text}"));
    let own = simulated.enforce.unwrap();
    assert_eq!((read.policy, read.aps[0].capacity, read.leaf.queue), (own.vsb.policy, own.capacity, own.vsb.queue));
    assert_eq!((read.leaf.batch, read.leaf.kind == LeafKind::Fifo), (own.vsb.batch, own.vsb.leaf == LeafRule::Fifo));
    assert_eq!(read.udp, own.vsb.udp);
    for station in &read.stations {
        let named = simulated.stations.iter().find(|other| other.name_in_file() == station.name).unwrap();
        assert_eq!((station.plan.cap, station.plan.weight.to_bits()), (named.cap, named.weight.to_bits()));
    }
}

/// On request: does ten times the work find more goodput? Both answers are judged with the same fresh seeds.
#[test]
fn a_long_search_finds_hardly_more() {
    let Some(_) = std::env::var_os("FAIRAIR_PLAN_LONG") else {
        println!("*** SKIPPED: a search of ten times the work. FAIRAIR_PLAN_LONG=all ***");
        return;
    };
    let problems = chosen("FAIRAIR_PLAN_LONG", &LONG, &LONG);
    let pool = Pool::new(0).unwrap();
    println!("| problem | default | long | default / long |\n|---|---|---|---|");
    let mut shares = Vec::new();
    for problem in &problems {
        let search = |effort: f64| -> (String, f64) {
            let required = problem.requirements(effort);
            let cancel = AtomicBool::new(false);
            let watch = fairair_sim::Watch { cancel: &cancel, progress: &|_| () };
            let plan = fairair_sim::plan::plan(&problem.scenario, &required, &pool, watch);
            let plan = plan.unwrap().unwrap();
            if !plan.met {
                return ("nothing".to_owned(), 0.0);
            }
            // The best that is proved to meet it, not the one that is recommended: the question is what can be had.
            let recommended = &plan.rows[0].snippet;
            let most = |row: &&fairair_sim::plan::Row| row.report.totals.goodput_bps.mean.unwrap_or(0.0);
            let best = plan.rows.iter().filter(|row| row.meets).max_by(|a, b| most(a).total_cmp(&most(b))).unwrap();
            let snippet = if effort > 1.0 { &best.snippet } else { recommended };
            let judged = judge(problem, &problem.pasted(snippet));
            let goodput = if judged.meets && judged.starved == 0 { judged.goodput } else { 0.0 };
            (snippet.replace('\n', " "), goodput)
        };
        let ((short, own), (long, best)) = (search(1.0), search(TIMES));
        let share = if best > 0.0 { own / best } else { 1.0 };
        println!(
            "| {} | {:.2} Mbit/s `{short}` | {:.2} Mbit/s `{long}` | {share:.3} |",
            problem.name,
            own / 1e6,
            best / 1e6
        );
        shares.push(share);
    }
    let within = shares.iter().filter(|share| **share >= 0.95).count();
    let least = shares.iter().copied().fold(f64::INFINITY, f64::min);
    println!("{within} of {} within 5 %, the least {least:.3}", shares.len());
    assert!(20 * within >= 19 * shares.len() && least >= 0.9);
}

/// User and system time of all children that have ended, where /proc tells; for the table only.
fn children_cpu_s() -> f64 {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    // After the name in brackets comes field 3; cutime and cstime are fields 16 and 17, in hundredths.
    let after = stat.rsplit_once(')').map_or("", |(_, after)| after);
    after.split_whitespace().skip(13).take(2).filter_map(|ticks| ticks.parse::<f64>().ok()).sum::<f64>() / 100.0
}
