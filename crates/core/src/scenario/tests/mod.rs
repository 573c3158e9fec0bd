//! The reader's tests: good files, bad files, and files that no one would write.

mod access_points;
mod bad;
mod bad_values;
mod fuzz;
mod good;
mod mixed;
mod modern;
mod shipped;

use super::{InvalidScenario, Scenario, ScenarioError};

/// The smallest scenario.
pub(super) const SMALLEST: &str = "name = \"t\"\n[run]\nduration = \"60 s\"\n[[station]]\nname = \"a\"\n";

/// Reads what must be a good file.
#[track_caller]
fn good(text: &str) -> Scenario {
    Scenario::from_toml(text, "test.toml").unwrap_or_else(|error| panic!("{}\n{text}", render(&error)))
}

/// Reads what must be a bad file.
#[track_caller]
fn bad(text: &str) -> Box<InvalidScenario> {
    match Scenario::from_toml(text, "test.toml") {
        Ok(_) => panic!("read without complaint:\n{text}"),
        Err(ScenarioError::Invalid(invalid)) => invalid,
        Err(other) => panic!("{other}"),
    }
}

/// The error as a terminal without colours shows it.
fn render(error: &(dyn miette::Diagnostic + 'static)) -> String {
    let mut text = String::new();
    let handler = miette::GraphicalReportHandler::new_themed(miette::GraphicalTheme::unicode_nocolor()).with_width(100);
    handler.render_report(&mut text, error).expect("a String takes all");
    text
}

/// `~` before the place of the mistake; `$N`, `$R`, `$S` for the usual name, run and station.
///
/// Checks place, words of the problem and of the fix, and that the report for people agrees.
#[track_caller]
fn refuses(marked: &str, problem: &str, fix: &str) {
    let marked = marked
        .replace("$N", "name = \"t\"\n")
        .replace("$R", "[run]\nduration = \"60 s\"\n")
        .replace("$S", "[[station]]\nname = \"a\"\n");
    let (before, after) = marked.split_once('~').expect("a mark");
    let line = before.matches('\n').count() + 1;
    let column = before.len() - before.rfind('\n').map_or(0, |newline| newline + 1) + 1;
    let text = format!("{before}{after}");
    let invalid = bad(&text);
    let place = format!("test.toml:{line}:{column}");
    assert!(invalid.to_string().starts_with(&format!("{place}: ")), "expected {place}, got {invalid}\n{text}");
    assert!(invalid.problem.contains(problem), "expected {problem:?} in {:?}", invalid.problem);
    assert!(invalid.fix.contains(fix), "expected {fix:?} in {:?}", invalid.fix);
    let report = render(&*invalid);
    assert!(report.contains(&format!("[{place}]")), "no {place} in\n{report}");
}
