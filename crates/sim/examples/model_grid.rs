//! Holds the models to the simulator over the whole grid.
//!
//! `cargo run --release -p fairair-sim --example model_grid` asks the models anew and prints the table. With `simulate` it
//! also runs the simulator anew (two minutes) and writes crates/sim/tests/data/model-grid.csv; with `fresh` it
//! simulates 200 other cases, with `show` and a number it prints the scenario of a case, and with `speed` it measures
//! solves per second.

#[path = "../tests/model_grid/mod.rs"]
mod model_grid;

use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::time::Instant;

use fairair_core::model::{Kinds, detti2011};
use fairair_sim::replicas::Pool;
use model_grid::{HEADER, Row, SIZE, Summary};

/// First of the cases that nobody has looked at while the models were made.
const FRESH: usize = 1000;

fn main() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/model-grid.csv");
    let task = std::env::args().nth(1).unwrap_or_default();
    if task == "speed" {
        speed();
        return;
    }
    if task == "show" {
        let case = std::env::args().nth(2).and_then(|case| case.parse().ok()).expect("the number of a case");
        print!("{}", model_grid::toml(case));
        return;
    }
    if task == "fresh" {
        let pool = Pool::new(0).expect("threads");
        let cases = FRESH as u32..(FRESH + 200) as u32;
        let rows = pool.run(cases, &AtomicBool::new(false), |case| model_grid::row(case as usize), |_| ());
        print!("{}", Summary::of(&rows).table());
        return;
    }
    let rows: Vec<Row> = if task == "simulate" {
        let pool = Pool::new(0).expect("threads");
        let done = |case: u32| eprint!("\r{case}");
        pool.run(0..SIZE as u32, &AtomicBool::new(false), |case| model_grid::row(case as usize), done)
    } else {
        let text = std::fs::read_to_string(&file).expect("the table is in the repository");
        text.lines().skip(1).map(Row::from_csv).map(model_grid::with_models).collect()
    };
    let lines: Vec<String> = std::iter::once(HEADER.to_owned()).chain(rows.iter().map(Row::to_csv)).collect();
    std::fs::write(&file, lines.join("\n") + "\n").expect("the table can be written");
    print!("{}", Summary::of(&rows).table());
}

/// Solves per second on one core.
fn speed() {
    let kinds: Vec<Kinds> = (0..SIZE).map(model_grid::kinds_of).collect();
    let start = Instant::now();
    let mut solved = 0;
    while start.elapsed().as_secs() < 2 {
        for kinds in &kinds {
            std::hint::black_box(kinds.cell.solve().expect("in range"));
            solved += 1;
        }
    }
    println!("unified, the cells of the grid: {:.0} solves/s", f64::from(solved) / start.elapsed().as_secs_f64());
    let mut stations = vec![detti2011::Station { n_up: 0, n_dw: 1, window: 42.0, beta: 1.2 }; 5];
    stations[0] = detti2011::Station { n_up: 2, n_dw: 0, window: 42.0, beta: 1.2 };
    let cell = detti2011::Cell { stations, buffer: 75.0, approximate: false, wire: 0.0 };
    let start = Instant::now();
    let mut solved = 0;
    while start.elapsed().as_secs() < 2 {
        for _ in 0..100 {
            std::hint::black_box(cell.solve().expect("in range"));
        }
        solved += 100;
    }
    println!("detti2011, 5 stations: {:.0} solves/s", f64::from(solved) / start.elapsed().as_secs_f64());
}
