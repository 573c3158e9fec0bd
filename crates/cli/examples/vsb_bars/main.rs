//! Measures the live box against its bars: `fairair vsb` in the kernel, Linux TCP, an emulated cell.
//!
//! `make vsb-bars` (root): detti2011 Figs. 4-12, 20 stations, the estimator's traces, several testbeds side by side. Writes
//! bars.csv (a row a run, with the simulator's answer to the same scenario) and bars.md.

mod cases;
mod measure;
mod table;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use clap::Parser;
use fairair_core::metrics::Report;

use cases::Case;
use measure::Seen;

/// Measures the live box against its bars, on the testbed.
#[derive(Debug, Parser)]
struct Args {
    /// The command `fairair` [default: beside this program].
    #[arg(long)]
    fairair: Option<PathBuf>,
    /// Testbeds side by side; a core carries about four.
    #[arg(long, default_value_t = 8)]
    jobs: usize,
    /// Only cases whose group and point contain this text.
    #[arg(long, default_value = "")]
    only: String,
    /// Where bars.csv and bars.md go.
    #[arg(long, default_value = "target/vsb-bars")]
    out: PathBuf,
}

/// A case with what both engines showed.
pub(crate) struct Row {
    pub(crate) case: Case,
    /// What the cell carries, bit/s.
    pub(crate) carried: f64,
    pub(crate) testbed: Seen,
    pub(crate) simulator: Seen,
    /// Load average of the machine when the run ended.
    pub(crate) load: String,
}

fn main() -> ExitCode {
    match measured(&Args::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

fn measured(args: &Args) -> Result<(), String> {
    let beside = || Some(std::env::current_exe().ok()?.parent()?.parent()?.join("fairair"));
    let fairair = args.fairair.clone().or_else(beside).ok_or("name the command with --fairair")?;
    if !fairair.is_file() {
        return Err(format!("{} does not exist: name the command with --fairair", fairair.display()));
    }
    std::fs::create_dir_all(&args.out).map_err(|error| format!("{}: {error}", args.out.display()))?;
    let mut cases = cases::all();
    cases.retain(|case| format!("{} {} {}", case.group, case.point, case.the_box.name()).contains(&args.only));
    let begin = Instant::now();
    let mut cells: Vec<String> = cases.iter().map(|case| measure::lossless(&case.cell)).collect();
    cells.sort();
    cells.dedup();
    eprintln!("{} cells, {} runs, {} at a time", cells.len(), cases.len(), args.jobs);
    let capacities = side_by_side(&cells, args.jobs, |cell| measure::testbed(&fairair, cell, 1));
    let carried: BTreeMap<&String, f64> = cells
        .iter()
        .zip(&capacities)
        .filter_map(|(cell, result)| Some((cell, measure::capacity(&result.as_ref()?.0))))
        .collect();
    if carried.len() < cells.len() {
        return Err("a cell could not be measured: nothing can be compared with it".to_owned());
    }
    let of_cell = |case: &Case| carried[&measure::lossless(&case.cell)];
    let reports = side_by_side(&cases, args.jobs, |case| {
        measure::testbed(&fairair, &measure::with_box(case, of_cell(case)), case.seed)
    });
    let minutes = begin.elapsed().as_secs_f64() / 60.0;
    let mut rows = Vec::new();
    let planned = cases.len();
    for (case, result) in cases.into_iter().zip(reports) {
        let Some((report, load)) = result else { continue };
        let sim_carried = measure::capacity(&measure::simulated(&measure::lossless(&case.cell), 1)?);
        let simulated = measure::simulated(&measure::with_box(&case, sim_carried), case.seed)?;
        let carried = of_cell(&case);
        let (testbed, simulator) =
            (measure::seen(&case, &report, carried), measure::seen(&case, &simulated, sim_carried));
        rows.push(Row { case, carried, testbed, simulator, load });
    }
    let csv = args.out.join("bars.csv");
    table::csv(&csv, &rows).map_err(|error| format!("{}: {error}", csv.display()))?;
    let late = rows.iter().filter(|row| !row.testbed.on_time).count();
    let text = format!(
        "{} of {planned} runs, {} at a time, {minutes:.0} minutes; {late} came too late.\n\n{}",
        rows.len(),
        args.jobs,
        table::markdown(&rows)
    );
    std::fs::write(args.out.join("bars.md"), &text).map_err(|error| error.to_string())?;
    println!("{text}");
    Ok(())
}

/// Does all of `work`, `jobs` at a time; each result comes with the load average at its end. What fails is tried once more,
/// and then is none.
fn side_by_side<T: Sync>(
    work: &[T],
    jobs: usize,
    run: impl Fn(&T) -> Result<Report, String> + Sync,
) -> Vec<Option<(Report, String)>> {
    let next = AtomicUsize::new(0);
    let done = Mutex::new(BTreeMap::new());
    std::thread::scope(|scope| {
        for _ in 0..jobs.max(1) {
            scope.spawn(|| {
                loop {
                    let index = next.fetch_add(1, Ordering::Relaxed);
                    let Some(item) = work.get(index) else { return };
                    let again = |error: String| {
                        eprintln!("run {index}: {error}; once more");
                        run(item)
                    };
                    let result = run(item).or_else(again).map_err(|error| eprintln!("run {index}: {error}"));
                    let result = result.ok().map(|report| (report, load()));
                    done.lock().unwrap_or_else(PoisonError::into_inner).insert(index, result);
                }
            });
        }
    });
    done.into_inner().unwrap_or_else(PoisonError::into_inner).into_values().collect()
}

/// The load average of the last minute.
fn load() -> String {
    let text = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    text.split_whitespace().next().unwrap_or_default().to_owned()
}
