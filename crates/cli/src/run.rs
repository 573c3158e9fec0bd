//! `fairair run`: load, check the outputs, simulate, report.

use std::io::IsTerminal;
use std::path::Path;

use fairair_core::metrics::Report;
use fairair_core::scenario::Scenario;
use fairair_sim::{Effort, SIMULATOR};

use crate::args::{CaptureArgs, Format, Percent, RunArgs};
use crate::capture::{self, Capture};
use crate::error::{CliError, Exit};
use crate::output::files::{OutDir, is_same, spared};
use crate::output::{self, Style};
use crate::pcap::STDOUT;
use crate::work;

/// Files that `--out` gets.
pub(crate) const FILES: &[&str] = &["result.json", "stations.csv", "flows.csv", "table.txt", "scenario.toml"];

/// Simulates a scenario and prints the report.
///
/// # Errors
/// For bad input and outputs that cannot be written, before anything runs; for failing writes after.
pub fn run_command(args: &RunArgs) -> Result<Exit, CliError> {
    let scenario = scenario(args)?;
    let out = args.out.as_deref().map(|dir| OutDir::prepare(dir, &args.scenario, FILES)).transpose()?;
    let captured_on_stdout = check_capture(&args.capture, &args.scenario, out.as_ref())?;
    let capture = Capture::of(&args.capture, &scenario)?;
    let effort =
        Effort { until_ci_percent: args.until_ci.map(|Percent(percent)| percent), max_replicas: args.max_replicas };
    let pool = work::pool(args.jobs)?;
    let run = work::watched(|watch| capture::simulate(&scenario, effort, &pool, watch, capture.as_ref()))?;
    let report = run.report(&scenario, SIMULATOR);
    deliver(&report, &scenario, args.format, out, captured_on_stdout)
}

/// Writes and prints a result; on standard error where a capture has standard output to itself.
pub(crate) fn deliver(
    report: &Report,
    scenario: &Scenario,
    format: Format,
    out: Option<OutDir>,
    captured_on_stdout: bool,
) -> Result<Exit, CliError> {
    // An interrupted run that has nothing to show must not take an earlier result away.
    if let Some(out) = out.filter(|_| report.replicas > 0) {
        let table = output::table::render(report, scenario, Style::Plain);
        let texts = [output::json(report), output::csv::stations(report), output::csv::flows(report), table];
        out.write(texts.map(String::into_bytes).to_vec())?;
    }
    let text = match format {
        Format::Table => output::table::render(report, scenario, Style::of_stdout()),
        Format::Json => output::json(report),
        Format::Csv => output::csv::stations(report),
    };
    if captured_on_stdout {
        output::say(text.trim_end());
    } else {
        output::print(&text)?;
    }
    Ok(if report.interrupted { Exit::Interrupted } else { Exit::Success })
}

/// Refuses a capture or trace that would replace the scenario (a slip of the pen must not cost it) or the other, that a result of
/// `out` would replace, and a capture that a terminal would show. Says whether the capture has standard output to itself.
pub(crate) fn check_capture(capture: &CaptureArgs, scenario: &Path, out: Option<&OutDir>) -> Result<bool, CliError> {
    let (pcap, trace) = (capture.pcap.as_deref(), capture.trace.as_deref());
    for (option, path, example) in [("--pcap", pcap, "air.pcap"), ("--trace", trace, "air.parquet")] {
        let Some(path) = path else { continue };
        spared(scenario, option, path, example)?;
        out.map_or(Ok(()), |out| out.spares(option, path))?;
    }
    let is_pcap = |trace: &Path| pcap.is_some_and(|pcap| is_same(trace, pcap));
    if trace.is_some_and(|trace| trace == Path::new(STDOUT) || is_pcap(trace)) {
        return Err(CliError::Usage {
            what: "--trace needs a file of its own".to_owned(),
            help: "name one, such as air.parquet".to_owned(),
        });
    }
    let on_stdout = pcap == Some(Path::new(STDOUT));
    if on_stdout && std::io::stdout().is_terminal() {
        return Err(CliError::Usage {
            what: "--pcap - writes a capture to standard output, which is a terminal".to_owned(),
            help: "pipe it, as in `fairair run FILE --pcap - | tshark -r -`, or name a file".to_owned(),
        });
    }
    Ok(on_stdout)
}

/// The scenario of the file with the options' values in it.
fn scenario(args: &RunArgs) -> Result<Scenario, CliError> {
    let mut scenario = Scenario::load(&args.scenario)?;
    if let Some(seed) = args.seed {
        scenario.run.seed = seed;
    }
    if let Some(replicas) = args.replicas {
        if args.until_ci.is_some() && replicas > args.max_replicas {
            return Err(CliError::Usage {
                what: format!("--replicas {replicas} is more than --max-replicas {}", args.max_replicas),
                help: "ask for fewer replicas in the first batch, or allow more in all".to_owned(),
            });
        }
        scenario.run.replicas = replicas;
    }
    Ok(scenario)
}
