//! Points of a sweep on all processors, without the interpreter: scenarios are made, run and reduced to numbers here.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use cpu_time::ProcessTime;
use fairair_core::metrics::quantity::{CELL, Entry, Quantity, STATION, catalogue};
use fairair_core::metrics::{Estimate, Report, StationReport};
use fairair_core::scenario::Scenario;
use numpy::{PyArray1, PyReadonlyArray1};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use serde_json::Value;

use crate::columns::estimate;
use crate::document;
use crate::engine::Engine;
use crate::error::BadInput;

/// What is kept of each station: the name and the quantity.
fn of_stations() -> impl Iterator<Item = (&'static str, &'static Quantity<StationReport>)> {
    STATION.iter().filter_map(|quantity| Some((quantity.swept_as?, quantity)))
}

/// Names and units of what a batch measures, of the cell and of each station.
#[pyfunction]
#[allow(clippy::type_complexity)] // Two tables.
pub(crate) fn measures() -> (Vec<(&'static str, &'static str)>, Vec<(&'static str, &'static str)>) {
    (
        CELL.iter().map(|cell| (cell.quantity.name, cell.quantity.unit.symbol())).collect(),
        of_stations().map(|(name, quantity)| (name, quantity.unit.symbol())).collect(),
    )
}

/// The catalogue of quantities: level, key, column, name in comparisons if that is another, unit, meaning.
#[pyfunction]
#[allow(clippy::type_complexity)] // A row of the catalogue.
pub(crate) fn quantities() -> Vec<(&'static str, String, &'static str, Option<&'static str>, &'static str, String)> {
    let row = |entry: Entry| (entry.level, entry.key, entry.name, entry.compared_as, entry.unit, entry.what);
    catalogue().into_iter().map(row).collect()
}

/// One parameter of the grid.
struct Axis {
    path: String,
    values: Vec<Value>,
}

/// A finished point.
pub(crate) struct Row {
    point: usize,
    cell: Vec<Estimate>,
    names: Vec<String>,
    stations: Vec<Vec<Estimate>>,
}

struct Shared {
    base: Value,
    axes: Vec<Axis>,
    points: Vec<usize>,
    engine: Engine,
    next: AtomicUsize,
    cancel: AtomicBool,
    done: Mutex<Done>,
    wake: Condvar,
}

#[derive(Default)]
struct Done {
    rows: Vec<Row>,
    /// Threads still at work.
    busy: usize,
    failure: Option<BadInput>,
}

impl Shared {
    fn done(&self) -> MutexGuard<'_, Done> {
        self.done.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The scenario of a point: its position along each axis, the last axis fastest.
    fn scenario(&self, point: usize) -> Result<Scenario, BadInput> {
        let mut document = self.base.clone();
        let mut rest = point;
        let mut chosen = Vec::with_capacity(self.axes.len());
        for axis in self.axes.iter().rev() {
            chosen.push((axis, &axis.values[rest % axis.values.len()]));
            rest /= axis.values.len();
        }
        for (axis, value) in chosen.iter().rev() {
            document::set(&mut document, &axis.path, value)?;
        }
        document::scenario(&document).map_err(|mut error| {
            let values: Vec<String> =
                chosen.iter().rev().map(|(axis, value)| format!("{} = {value}", axis.path)).collect();
            error.place = format!("{} (sweep point {})", error.place, values.join(", "));
            error
        })
    }

    fn work(&self) {
        while !self.cancel.load(Ordering::Relaxed) {
            let taken = self.next.fetch_add(1, Ordering::Relaxed);
            let Some(&point) = self.points.get(taken) else { break };
            match self.scenario(point).and_then(|scenario| self.engine.report(&scenario)) {
                Ok(report) => {
                    let row = row(point, &report);
                    self.done().rows.push(row);
                }
                Err(failure) => {
                    self.cancel.store(true, Ordering::Relaxed);
                    self.done().failure.get_or_insert(failure);
                }
            }
        }
    }
}

/// What is kept of a report.
pub(crate) fn row(point: usize, report: &Report) -> Row {
    Row {
        point,
        cell: CELL.iter().map(|cell| cell.of(report)).collect(),
        names: report.stations.iter().map(|row| row.name.clone()).collect(),
        stations: of_stations().map(|(_, quantity)| report.stations.iter().map(quantity.of).collect()).collect(),
    }
}

/// Tells those who wait that a thread has ended, also when it panicked.
struct Leave(Arc<Shared>);

impl Drop for Leave {
    fn drop(&mut self) {
        let mut done = self.0.done();
        done.busy -= 1;
        if thread::panicking() {
            let fix = "please report it with the scenario";
            done.failure.get_or_insert(BadInput::new("sweep", "the engine panicked; its message is on stderr", fix));
            self.0.cancel.store(true, Ordering::Relaxed);
        }
        drop(done);
        self.0.wake.notify_all();
    }
}

/// Points of a grid under way.
#[pyclass(frozen, module = "fairair._native")]
pub(crate) struct Batch {
    shared: Arc<Shared>,
}

#[pymethods]
impl Batch {
    /// `axes` are paths with their values as JSON, `points` positions in the grid with the last axis fastest. Nothing
    /// runs before `start`.
    #[new]
    #[pyo3(signature = (document, axes, points, engine, model))]
    #[allow(clippy::needless_pass_by_value)] // The extractors own what they take.
    fn new(
        document: &str,
        axes: Vec<(String, Vec<String>)>,
        points: PyReadonlyArray1<'_, i64>,
        engine: &str,
        model: Option<&str>,
    ) -> PyResult<Batch> {
        let parsed = |(path, values): (String, Vec<String>)| {
            let values = values.iter().map(|value| document::parse(value)).collect::<Result<_, _>>()?;
            Ok(Axis { path, values })
        };
        let axes = axes.into_iter().map(parsed).collect::<Result<Vec<Axis>, BadInput>>()?;
        let points = points.as_array().iter().map(|point| *point as usize).collect();
        let shared = Shared {
            base: document::parse(document)?,
            axes,
            points,
            engine: Engine::named(engine, model)?,
            next: AtomicUsize::new(0),
            cancel: AtomicBool::new(false),
            done: Mutex::default(),
            wake: Condvar::new(),
        };
        Ok(Batch { shared: Arc::new(shared) })
    }

    /// Checks each value of each axis by itself, in the base scenario with the first values of the other axes.
    fn check(&self, py: Python<'_>) -> PyResult<()> {
        let shared = Arc::clone(&self.shared);
        py.detach(|| {
            let mut stride: usize = shared.axes.iter().map(|axis| axis.values.len()).product();
            for axis in &shared.axes {
                stride /= axis.values.len().max(1);
                (0..axis.values.len()).try_for_each(|index| shared.scenario(index * stride).map(drop))?;
            }
            Ok::<(), BadInput>(())
        })?;
        Ok(())
    }

    /// Starts `jobs` threads; 0: one a processor.
    fn start(&self, jobs: usize) -> PyResult<()> {
        let all = thread::available_parallelism().map_or(1, std::num::NonZero::get);
        let jobs = if jobs == 0 { all } else { jobs }.min(self.shared.points.len().max(1));
        for _ in 0..jobs {
            let shared = Arc::clone(&self.shared);
            self.shared.done().busy += 1;
            let leave = Leave(Arc::clone(&self.shared));
            thread::Builder::new().name("fairair".to_owned()).spawn(move || {
                let _leave = leave;
                shared.work();
            })?;
        }
        Ok(())
    }

    /// No further point starts.
    fn cancel(&self) {
        self.shared.cancel.store(true, Ordering::SeqCst);
    }

    /// Points that wait to be taken.
    #[getter]
    fn ready(&self) -> usize {
        self.shared.done().rows.len()
    }

    /// Waits until all threads have ended, at most `seconds`; says whether they have.
    fn wait(&self, py: Python<'_>, seconds: f64) -> bool {
        let shared = Arc::clone(&self.shared);
        py.detach(move || {
            let until = Instant::now() + Duration::from_secs_f64(seconds.clamp(0.0, 3600.0));
            let mut done = shared.done();
            while done.busy > 0 {
                let Some(left) = until.checked_duration_since(Instant::now()) else { return false };
                done = shared.wake.wait_timeout(done, left).unwrap_or_else(PoisonError::into_inner).0;
            }
            true
        })
    }

    /// The points that ended since the last call, in grid order, as columns: `point`, `n`, each measure and its
    /// `_ci95`, `station` (names), `offsets` (where each point's stations begin) and `station.` measures.
    fn take<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let shared = Arc::clone(&self.shared);
        let rows = py.detach(move || {
            let mut rows = std::mem::take(&mut shared.done().rows);
            rows.sort_by_key(|row| row.point);
            rows
        });
        columns(py, &rows)
    }

    /// Seconds, of the clock and of all processors, that the engine alone takes for the points on `jobs` threads: scenarios are made before the clock starts,
    /// and records are dropped. What a sweep takes longer is overhead.
    fn bare_seconds(&self, py: Python<'_>, jobs: usize) -> PyResult<(f64, f64)> {
        let shared = Arc::clone(&self.shared);
        Ok(py.detach(move || {
            let scenarios =
                shared.points.iter().map(|point| shared.scenario(*point)).collect::<Result<Vec<_>, BadInput>>()?;
            let next = AtomicUsize::new(0);
            let (start, cpu) = (Instant::now(), ProcessTime::now());
            thread::scope(|scope| {
                for _ in 0..jobs.max(1) {
                    scope.spawn(|| {
                        while let Some(scenario) = scenarios.get(next.fetch_add(1, Ordering::Relaxed)) {
                            (0..scenario.run.replicas).for_each(|replica| drop(fairair_sim::run(scenario, replica)));
                        }
                    });
                }
            });
            Ok::<_, BadInput>((start.elapsed().as_secs_f64(), cpu.elapsed().as_secs_f64()))
        })?)
    }

    /// Raises what stopped the batch, if anything did.
    fn raise_failure(&self) -> PyResult<()> {
        self.shared.done().failure.take().map_or(Ok(()), |failure| Err(failure.into()))
    }
}

/// Rows as columns.
pub(crate) fn columns<'py>(py: Python<'py>, rows: &[Row]) -> PyResult<Bound<'py, PyDict>> {
    let table = PyDict::new(py);
    table.set_item("point", PyArray1::from_iter(py, rows.iter().map(|row| row.point as i64)))?;
    table.set_item("n", PyArray1::from_iter(py, rows.iter().map(|row| row.cell[0].n)))?;
    for (index, cell) in CELL.iter().enumerate() {
        estimate(&table, cell.quantity.name, rows.iter().map(|row| row.cell[index]))?;
    }
    let names: Vec<&str> = rows.iter().flat_map(|row| row.names.iter().map(String::as_str)).collect();
    let ends = rows.iter().scan(0, |end, row| {
        *end += row.names.len() as i32;
        Some(*end)
    });
    table.set_item("offsets", PyArray1::from_iter(py, std::iter::once(0).chain(ends).collect::<Vec<i32>>()))?;
    table.set_item("station", names)?;
    for (index, (name, _)) in of_stations().enumerate() {
        let values = rows.iter().flat_map(|row| row.stations[index].iter().copied());
        estimate(&table, &format!("station.{name}"), values)?;
    }
    Ok(table)
}
