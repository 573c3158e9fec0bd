//! The testbed against the simulator and against detti2011: the tables of docs/testbed.md, measured anew (`make testbed-bars`).
//!
//! As root: `cargo run --release -p fairair --example testbed_bars -- OUT [JOBS] [FILTER]`. It takes fifty minutes with eight
//! testbeds side by side (JOBS), on two processors that are idle else; replicas that come too late are left out. FILTER names
//! the tables or points to run, such as `fig05,fig06-3,remedies`. OUT gets `replicas.csv` and `tables.md`; figures also
//! `figNN.recorded.csv`, which `gallery/detti2011` takes.

#[cfg(target_os = "linux")]
mod judge;
#[cfg(target_os = "linux")]
mod measure;
#[cfg(target_os = "linux")]
mod points;
#[cfg(target_os = "linux")]
mod write;

#[cfg(target_os = "linux")]
fn main() -> Result<(), Box<dyn std::error::Error>> {
    use std::sync::atomic::{AtomicBool, Ordering};

    static CANCEL: AtomicBool = AtomicBool::new(false);
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let out = std::path::PathBuf::from(arguments.first().ok_or("name a directory for the results")?);
    let jobs = arguments.get(1).map_or(Ok(8), |jobs| jobs.parse())?;
    let filters: Vec<&str> = arguments.get(2).map_or("", String::as_str).split(',').collect();
    ctrlc::set_handler(|| CANCEL.store(true, Ordering::SeqCst))?;
    let mut cells = points::cells();
    cells.retain(|cell| filters.iter().any(|name| cell.table.starts_with(name) || cell.scenario.name == *name));
    if cells.is_empty() {
        return Err(format!("no table or point is called {}", filters.join(" or ")).into());
    }
    std::fs::create_dir_all(&out)?;
    let begin = std::time::Instant::now();
    let testbed = measure::measure(&cells, jobs, &CANCEL)?;
    let seconds = begin.elapsed().as_secs();
    let rfc = measure::simulate(cells.iter().map(|cell| points::simulated(&cell.scenario)).collect(), &CANCEL);
    let hosts = measure::simulate(cells.iter().map(points::as_hosts).collect(), &CANCEL);
    if CANCEL.load(Ordering::SeqCst) {
        return Err("interrupted".into());
    }
    let rows: Vec<judge::Row> = cells
        .iter()
        .zip(testbed.iter().zip(hosts.iter().zip(&rfc)))
        .map(|(cell, (testbed, (hosts, rfc)))| judge::Row { cell, testbed, hosts, rfc })
        .collect();
    write::replicas(&out.join("replicas.csv"), &rows)?;
    let tables = judge::tables(&rows, jobs, seconds);
    std::fs::write(out.join("tables.md"), &tables)?;
    write::recorded(&out, &rows)?;
    print!("{tables}");
    Ok(())
}

#[cfg(not(target_os = "linux"))]
fn main() {
    eprintln!("the testbed needs Linux");
    std::process::exit(1);
}
