//! Points of a sweep on all processors, without the interpreter: scenarios are made, run and reduced to numbers here.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use cpu_time::ProcessTime;
use fairair_core::metrics::{Column, Estimate, Report, SizeTransfers, StationReport};
use fairair_core::scenario::Scenario;
use numpy::{PyArray1, PyReadonlyArray1};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use serde_json::Value;

use crate::columns::{ci95, mean};
use crate::document;
use crate::engine::Engine;
use crate::error::BadInput;

/// A measure's name, unit ("1": dimensionless) and where a report has it.
type Measure = (&'static str, &'static str, fn(&Report) -> Estimate);

/// What is kept of a point.
const MEASURES: [Measure; 36] = [
    ("goodput_bps", "bit/s", |r| r.totals.goodput_bps),
    ("packets_per_second", "1/s", |r| r.totals.packets_per_second),
    ("goodput_up_bps", "bit/s", |r| r.directions.up.goodput_bps),
    ("goodput_down_bps", "bit/s", |r| r.directions.down.goodput_bps),
    ("flow_goodput_up_bps", "bit/s", |r| r.directions.up.mean_flow_goodput_bps),
    ("flow_goodput_down_bps", "bit/s", |r| r.directions.down.mean_flow_goodput_bps),
    ("sigma_over_mean_up", "1", |r| r.directions.up.sigma_over_mean),
    ("sigma_over_mean_down", "1", |r| r.directions.down.sigma_over_mean),
    ("retransmit_share_up", "1", |r| r.directions.up.retransmit_share),
    ("retransmit_share_down", "1", |r| r.directions.down.retransmit_share),
    ("timeouts_up", "1", |r| r.directions.up.timeouts),
    ("timeouts_down", "1", |r| r.directions.down.timeouts),
    ("jain_flows", "1", |r| r.indices.jain_flows),
    ("jain_stations", "1", |r| r.indices.jain_stations),
    ("up_down_ratio", "1", |r| r.indices.up_down_ratio),
    ("fairness_level", "1", |r| r.indices.fairness_level_first_station),
    ("ap_queue_packets", "packets", |r| r.ap_queue.mean_packets),
    ("ap_queue_sojourn_s", "s", |r| r.ap_queue.mean_sojourn_s),
    ("ap_queue_p95_sojourn_s", "s", |r| r.ap_queue.p95_sojourn_s),
    ("ap_queue_p99_sojourn_s", "s", |r| r.ap_queue.p99_sojourn_s),
    ("ap_drop_probability_data", "1", |r| r.ap_queue.drop_probability.data),
    ("ap_drop_probability_ack", "1", |r| r.ap_queue.drop_probability.ack),
    ("ap_uplink_queue_packets", "packets", |r| r.ap_uplink_queue.mean_packets),
    ("ap_collision_probability", "1", |r| r.mac.ap.collision_probability),
    ("station_collision_probability", "1", |r| r.mac.stations.collision_probability),
    ("ap_discards", "frames", |r| r.mac.ap.discards),
    ("station_discards", "frames", |r| r.mac.stations.discards),
    ("box_sojourn_s", "s", Report::box_sojourn_s),
    ("small_transfer_s", "s", |r| transfers(r.transfers.first(), |t| t.transfers.mean_s)),
    ("small_transfer_cov", "1", |r| transfers(r.transfers.first(), |t| t.transfers.cov)),
    ("small_transfer_count", "files", |r| transfers(r.transfers.first(), |t| t.transfers.count)),
    ("large_transfer_s", "s", |r| transfers(r.transfers.last(), |t| t.transfers.mean_s)),
    ("large_transfer_cov", "1", |r| transfers(r.transfers.last(), |t| t.transfers.cov)),
    ("large_transfer_count", "files", |r| transfers(r.transfers.last(), |t| t.transfers.count)),
    ("transfer_s_up", "s", |r| r.directions.up.transfers.mean_s),
    ("transfer_s_down", "s", |r| r.directions.down.transfers.mean_s),
];

/// What is kept of each station.
const STATION_MEASURES: [Column<StationReport>; 5] = [
    ("goodput_bps", |row| row.goodput_bps),
    ("goodput_up_bps", |row| row.goodput_up_bps),
    ("goodput_down_bps", |row| row.goodput_down_bps),
    ("airtime_share", |row| row.airtime_share),
    ("uplink_queue_packets", |row| row.uplink_queue_mean_packets),
];

fn transfers(row: Option<&SizeTransfers>, of: fn(&SizeTransfers) -> Estimate) -> Estimate {
    row.map(of).unwrap_or_default()
}

/// Names and units of what a batch measures, of the cell and of each station.
#[pyfunction]
#[allow(clippy::type_complexity)] // Two tables.
pub(crate) fn measures() -> (Vec<(&'static str, &'static str)>, Vec<(&'static str, &'static str)>) {
    let unit = |name: &str| {
        if name.ends_with("_bps") {
            "bit/s"
        } else if name.ends_with("packets") {
            "packets"
        } else {
            "1"
        }
    };
    (
        MEASURES.iter().map(|(name, unit, _)| (*name, *unit)).collect(),
        STATION_MEASURES.iter().map(|(name, _)| (*name, unit(name))).collect(),
    )
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
        cell: MEASURES.iter().map(|(_, _, of)| of(report)).collect(),
        names: report.stations.iter().map(|row| row.name.clone()).collect(),
        stations: STATION_MEASURES.iter().map(|(_, of)| report.stations.iter().map(of).collect()).collect(),
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
        let axes = axes
            .into_iter()
            .map(|(path, values)| {
                let values = values.iter().map(|value| document::parse(value)).collect::<Result<_, _>>()?;
                Ok(Axis { path, values })
            })
            .collect::<Result<Vec<Axis>, BadInput>>()?;
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
        match self.shared.done().failure.take() {
            Some(failure) => Err(failure.into()),
            None => Ok(()),
        }
    }
}

/// Rows as columns.
pub(crate) fn columns<'py>(py: Python<'py>, rows: &[Row]) -> PyResult<Bound<'py, PyDict>> {
    let table = PyDict::new(py);
    table.set_item("point", PyArray1::from_iter(py, rows.iter().map(|row| row.point as i64)))?;
    table.set_item("n", PyArray1::from_iter(py, rows.iter().map(|row| row.cell[0].n)))?;
    for (index, (name, _, _)) in MEASURES.iter().enumerate() {
        let column = |get: fn(Estimate) -> f64| PyArray1::from_iter(py, rows.iter().map(|row| get(row.cell[index])));
        table.set_item(*name, column(mean))?;
        table.set_item(format!("{name}_ci95"), column(ci95))?;
    }
    let names: Vec<&str> = rows.iter().flat_map(|row| row.names.iter().map(String::as_str)).collect();
    let ends = rows.iter().scan(0, |end, row| {
        *end += row.names.len() as i32;
        Some(*end)
    });
    table.set_item("offsets", PyArray1::from_iter(py, std::iter::once(0).chain(ends).collect::<Vec<i32>>()))?;
    table.set_item("station", names)?;
    for (index, (name, _)) in STATION_MEASURES.iter().enumerate() {
        let column = |get: fn(Estimate) -> f64| {
            PyArray1::from_iter(
                py,
                rows.iter().flat_map(|row| row.stations[index].iter().map(|x| get(*x))).collect::<Vec<_>>(),
            )
        };
        table.set_item(format!("station.{name}"), column(mean))?;
        table.set_item(format!("station.{name}_ci95"), column(ci95))?;
    }
    Ok(table)
}
