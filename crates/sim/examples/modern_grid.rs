//! Holds `unified` to the simulator over the grid of modern cells.
//!
//! `cargo run --release -p fairair-sim --example modern_grid` asks the model anew and prints the table. With `simulate` it also runs the
//! simulator anew (three minutes) and writes docs/measured/modern-grid.csv; with `series` and a name it simulates as many cells of another series
//! and prints them, with `again`, its name and a file of those lines it asks the model anew of that series, with `show` and a number it prints
//! a cell, and with `speed` it measures solves per second.

#[path = "../tests/modern_grid/mod.rs"]
mod modern_grid;

use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::time::Instant;

use fairair_sim::replicas::Pool;
use modern_grid::{HEADER, JUDGE, Row, SIZE};

fn main() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/measured/modern-grid.csv");
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let second = arguments.get(1).map_or(JUDGE, String::as_str);
    match arguments.first().map(String::as_str) {
        Some("show") => print!("{}", modern_grid::toml(JUDGE, second.parse().expect("the number of a cell"))),
        Some("speed") => speed(),
        Some("series") => {
            let rows = simulate(second);
            for row in &rows {
                println!("{}", row.to_csv());
            }
            print!("{}", modern_grid::summaries(&rows).1);
        }
        Some("again") => {
            let text = std::fs::read_to_string(arguments.get(2).expect("a file")).expect("rows that were printed");
            let rows = text.lines().filter(|line| line.starts_with(|first: char| first.is_ascii_digit()));
            let rows: Vec<Row> = rows.map(|row| modern_grid::with_model(second, Row::from_csv(row))).collect();
            for row in &rows {
                println!("{}", row.to_csv());
            }
            print!("{}", modern_grid::summaries(&rows).1);
        }
        Some("simulate") => finish(&file, &simulate(JUDGE)),
        _ => {
            let text = std::fs::read_to_string(&file).expect("the table is in the repository");
            let rows = text.lines().skip(1).map(Row::from_csv);
            finish(&file, &rows.map(|row| modern_grid::with_model(JUDGE, row)).collect::<Vec<_>>());
        }
    }
}

fn simulate(label: &str) -> Vec<Row> {
    let pool = Pool::new(0).expect("threads");
    let done = |case: u32| eprint!("\r{case}");
    pool.run(0..SIZE as u32, &AtomicBool::new(false), |case| modern_grid::row(label, case as usize), done)
}

fn finish(file: &Path, rows: &[Row]) {
    let lines: Vec<String> = std::iter::once(HEADER.to_owned()).chain(rows.iter().map(Row::to_csv)).collect();
    std::fs::write(file, lines.join("\n") + "\n").expect("the table can be written");
    let (all, table) = modern_grid::summaries(rows);
    println!("{} of {} cells starve", all.starved, all.cells);
    print!("{table}");
}

/// Solves per second on one core.
fn speed() {
    let cells: Vec<_> = (0..SIZE).map(|case| modern_grid::cell(JUDGE, case)).collect();
    let start = Instant::now();
    let mut solved = 0;
    while start.elapsed().as_secs() < 2 {
        for cell in &cells {
            std::hint::black_box(cell.solve());
            solved += 1;
        }
    }
    println!("unified, the cells of the grid: {:.0} solves/s", f64::from(solved) / start.elapsed().as_secs_f64());
}
