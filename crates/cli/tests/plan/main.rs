//! `fairair plan` on the committed problems: is what it recommends right when others simulate it?
//!
//! A few problems run always. `FAIRAIR_PLAN_PROBLEMS=all cargo test --release -p fairair --test plan -- --nocapture` runs
//! all of them, looks for better candidates, and prints the table of docs/planner.md; names instead of `all` run those.

mod judge;
mod problem;

use std::process::{Command, Output};

use problem::Problem;

/// One of each kind, the quick ones.
const ALWAYS: [&str; 6] =
    ["cafe-box", "noisy-twice", "rates-as-much", "short-queue", "no-instant-rates", "no-window-ratio"];

/// What is said of a problem, and whether that is right.
struct Verdict {
    name: String,
    met: bool,
    unmeetable: bool,
    /// The recommended configuration meets the goal elsewhere too.
    holds: bool,
    /// Goodput over that of the best candidate that meets the goal; 0 when none is said to and one does.
    of_best: f64,
    cpu_s: f64,
    told: String,
}

#[test]
fn there_are_problems_of_all_kinds() {
    let problems = problem::all();
    let count = |of: fn(&Problem) -> bool| problems.iter().filter(|problem| of(problem)).count();
    assert!(problems.len() >= 40);
    assert!(count(Problem::multi_rate) >= 10);
    assert!(count(Problem::channel_errors) >= 10);
    assert!(count(|problem| problem.unmeetable.is_some()) >= 10);
    for option in ["level=", "down/up=", "up/down=", "--max-delay", "ap", "box"] {
        assert!(problems.iter().any(|p| p.options.iter().any(|given| given.starts_with(option))), "{option}");
    }
}

#[test]
fn recommended_configurations_meet_their_goals_in_other_simulations() {
    let chosen = std::env::var("FAIRAIR_PLAN_PROBLEMS").unwrap_or_else(|_| ALWAYS.join(","));
    let names: Vec<&str> = chosen.split(',').map(str::trim).collect();
    let audited = std::env::var_os("FAIRAIR_PLAN_PROBLEMS").is_some();
    let problems: Vec<Problem> =
        problem::all().into_iter().filter(|p| chosen == "all" || names.contains(&p.name.as_str())).collect();
    assert!(chosen == "all" || problems.len() == names.len(), "{chosen}: not all of these are problems");
    println!("| problem | asked | verdict | independently | of the best | CPU s |\n|---|---|---|---|---|---|");
    let mut verdicts = Vec::new();
    for problem in &problems {
        let verdict = verdict(problem, audited);
        println!("{}", verdict.told);
        verdicts.push(verdict);
    }
    let share = |right: usize, of: usize| if of == 0 { 1.0 } else { right as f64 / of as f64 };
    let met: Vec<&Verdict> = verdicts.iter().filter(|verdict| verdict.met).collect();
    let holds = share(met.iter().filter(|verdict| verdict.holds).count(), met.len());
    let best = share(verdicts.iter().filter(|verdict| verdict.of_best >= 0.95).count(), verdicts.len());
    let cpu = verdicts.iter().map(|verdict| verdict.cpu_s).fold(0.0, f64::max);
    println!(
        "{} planned, {} met; {:.1} % hold; {:.1} % within 5 % of the best; at most {cpu:.1} s of CPU",
        verdicts.len(),
        met.len(),
        100.0 * holds,
        100.0 * best
    );
    for verdict in &verdicts {
        assert!(!(verdict.met && verdict.unmeetable), "{} cannot be met", verdict.name);
    }
    assert!(holds >= 0.95 && best >= 0.95);
}

/// Plans, pastes, and judges.
fn verdict(problem: &Problem, audited: bool) -> Verdict {
    let before = children_cpu_s();
    let Output { status, stdout, stderr } = Command::new(env!("CARGO_BIN_EXE_fairair"))
        .arg("plan")
        .arg(&problem.path)
        .args(&problem.options)
        .args(["--format", "json"])
        .output()
        .unwrap();
    let cpu_s = children_cpu_s() - before;
    let plan: serde_json::Value = serde_json::from_slice(&stdout)
        .unwrap_or_else(|_| panic!("{}: {}", problem.name, String::from_utf8_lossy(&stderr)));
    let met = plan["met"].as_bool().unwrap();
    assert_eq!(status.code(), Some(if met { 0 } else { 3 }), "{}", problem.name);
    let snippet = plan["rows"][0]["snippet"].as_str().unwrap();
    let judged = judge::judge(problem, &problem.pasted(snippet));
    // When nothing is said to meet the goal, whatever does is better.
    let goodput = if met { judged.goodput } else { 0.0 };
    let better = if audited { judge::better_than(problem, goodput) } else { None };
    let of_best = match &better {
        Some((_, better)) => goodput / better.goodput,
        // What is called the closest meets it after all.
        None if !met && judged.meets => 0.0,
        None => 1.0,
    };
    let rival = better.map_or(String::new(), |(snippet, better)| {
        format!(" `{}` has {:.2} Mbit/s", snippet.replace('\n', " "), better.goodput / 1e6)
    });
    let told = format!(
        "| {} | {} | {} | {}{}, {:.2} Mbit/s | {:.3}{rival} | {cpu_s:.1} |",
        problem.name,
        problem.options.join(" "),
        match (met, problem.unmeetable.is_some()) {
            (true, _) => snippet.replace('\n', " "),
            (false, true) => "nothing meets it, as nothing can".to_owned(),
            (false, false) => "nothing meets it".to_owned(),
        },
        if judged.meets { "" } else { "not met: " },
        judged.figures,
        judged.goodput / 1e6,
        of_best,
    );
    Verdict {
        name: problem.name.clone(),
        met,
        unmeetable: problem.unmeetable.is_some(),
        holds: judged.meets,
        of_best,
        cpu_s,
        told,
    }
}

/// User and system time of all children that have ended, where /proc tells; for the table only.
fn children_cpu_s() -> f64 {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    // After the name in brackets comes field 3; cutime and cstime are fields 16 and 17, in hundredths.
    let after = stat.rsplit_once(')').map_or("", |(_, after)| after);
    after.split_whitespace().skip(13).take(2).filter_map(|ticks| ticks.parse::<f64>().ok()).sum::<f64>() / 100.0
}
