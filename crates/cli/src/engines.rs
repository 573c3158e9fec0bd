//! `fairair compare --engines`: each engine is asked, and their answers are printed side by side.

use fairair_core::scenario::Scenario;
use fairair_sim::{Effort, EngineComparison};

use crate::args::{CompareArgs, Engine, Format};
use crate::error::{CliError, Exit};
use crate::output::{self, Style};
use crate::work;

/// Asks each engine and prints their answers side by side; a signal leaves the engines out that have not begun.
pub(crate) fn compare_engines(args: &CompareArgs, scenario: &Scenario) -> Result<Exit, CliError> {
    let pool = work::pool(args.jobs)?;
    let ask = |engine: fairair_sim::Engine| {
        work::watched(|watch| engine.report(scenario, Effort::default(), &pool, watch)).map_err(|error| {
            CliError::Usage { what: error.to_string(), help: "leave `model` out of --engines".to_owned() }
        })
    };
    let mut reports = Vec::new();
    for engine in &args.engines {
        let report = match engine {
            Engine::Model => ask(fairair_sim::Engine::Model(None))?,
            Engine::Sim => ask(fairair_sim::Engine::Simulator)?,
            #[cfg(target_os = "linux")]
            Engine::Testbed => crate::testbed::measure_by_default(scenario)?,
        };
        let is_over = report.interrupted;
        reports.push(report);
        if is_over {
            break;
        }
    }
    let comparison = EngineComparison::new(scenario, reports);
    output::print(&match args.format {
        Format::Table => output::engines::table(&comparison, Style::of_stdout()),
        Format::Json => output::json(&comparison),
        Format::Csv => output::engines::csv(&comparison),
    })?;
    Ok(if comparison.interrupted { Exit::Interrupted } else { Exit::Success })
}
