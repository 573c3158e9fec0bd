//! A report in Python: whole as JSON, its tables as columns.

use fairair_core::metrics::quantity::{BOX, CELL, DROPS, FLOW, QUEUE, STATION};
use fairair_core::metrics::{self, ByClass, CellQuantity};
use fairair_core::units::word;
use numpy::{PyArray1, PyArray2};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::batch;
use crate::columns::{ci95, estimates, mean};
use crate::error::{BadInput, json};

/// What an engine answered.
#[pyclass(frozen, module = "fairair._native")]
pub(crate) struct Report {
    pub(crate) report: metrics::Report,
    /// Finished files, which a report has means of only.
    pub(crate) transfers: Vec<Transfer>,
}

/// One finished file.
pub(crate) struct Transfer {
    pub(crate) replica: u32,
    pub(crate) flow: u32,
    /// From the first SYN to the last ACK.
    pub(crate) duration_s: f64,
}

impl Report {
    /// Of an engine that transfers nothing.
    pub(crate) fn without_transfers(report: metrics::Report) -> Self {
        Report { report, transfers: Vec::new() }
    }
}

#[pymethods]
impl Report {
    /// A report from its JSON.
    #[staticmethod]
    fn from_json(text: &str, place: &str) -> PyResult<Report> {
        let wrong = |problem: String| BadInput::new(place, problem, "give a result that FairAir wrote");
        let report: metrics::Report =
            serde_json::from_str(text).map_err(|error| wrong(format!("this is not a result: {error}")))?;
        if report.schema != metrics::SCHEMA {
            return Err(wrong(format!("its schema is {}, not {}", report.schema, metrics::SCHEMA)).into());
        }
        Ok(Report::without_transfers(report))
    }

    /// The report as JSON, in the schema of docs/results.md.
    fn json(&self) -> PyResult<String> {
        json("result", serde_json::to_string(&self.report))
    }

    /// What a sweep keeps of this report, as the columns of `Batch.take` with one row, `point`.
    fn measures<'py>(&self, py: Python<'py>, point: usize) -> PyResult<Bound<'py, PyDict>> {
        batch::columns(py, &[batch::row(point, &self.report)])
    }

    /// The cell, all of it or in brief, a row a quantity: name, mean, half-width, n and unit; what does not exist is NaN.
    fn summary(&self, in_brief: bool) -> Vec<(&'static str, f64, f64, u32, &'static str)> {
        let row = |cell: &CellQuantity| {
            let estimate = cell.of(&self.report);
            (cell.quantity.name, mean(estimate), ci95(estimate), estimate.n, cell.quantity.unit.symbol())
        };
        CELL.iter().filter(|cell| cell.in_brief || !in_brief).map(row).collect()
    }

    /// One row a station.
    fn stations<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let rows = &self.report.stations;
        let table = PyDict::new(py);
        table.set_item("station", rows.iter().map(|row| row.name.as_str()).collect::<Vec<_>>())?;
        table.set_item("group", rows.iter().map(|row| row.group.as_str()).collect::<Vec<_>>())?;
        estimates(&table, STATION, rows.iter())?;
        Ok(table)
    }

    /// One row a flow.
    fn flows<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let rows = &self.report.flows;
        let table = PyDict::new(py);
        table.set_item("station", rows.iter().map(|row| row.station.as_str()).collect::<Vec<_>>())?;
        table.set_item("direction", rows.iter().map(|row| word(&row.direction)).collect::<Vec<_>>())?;
        table.set_item("transport", rows.iter().map(|row| word(&row.transport)).collect::<Vec<_>>())?;
        estimates(&table, FLOW, rows.iter())?;
        Ok(table)
    }

    /// One row for each of the AP's queues: towards the stations, towards the wire.
    fn queues<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let table = PyDict::new(py);
        table.set_item("queue", ["ap", "ap_uplink"])?;
        estimates(&table, QUEUE, [&self.report.ap_queue, &self.report.ap_uplink_queue].into_iter())?;
        Ok(table)
    }

    /// One row a queue and reason for which it dropped packets.
    fn drops<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let queues = [("ap", &self.report.ap_queue), ("ap_uplink", &self.report.ap_uplink_queue)];
        let rows: Vec<(&str, &str, &ByClass)> = queues
            .iter()
            .flat_map(|(name, queue)| queue.drops.iter().map(|(reason, row)| (*name, reason.as_str(), row)))
            .collect();
        let table = PyDict::new(py);
        table.set_item("queue", rows.iter().map(|row| row.0).collect::<Vec<_>>())?;
        table.set_item("reason", rows.iter().map(|row| row.1).collect::<Vec<_>>())?;
        estimates(&table, DROPS, rows.iter().map(|row| row.2))?;
        Ok(table)
    }

    /// One row a station in the box between gateway and AP; None without one.
    fn enforce<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyDict>>> {
        let Some(enforce) = &self.report.enforce else { return Ok(None) };
        let table = PyDict::new(py);
        table.set_item("station", enforce.stations.iter().map(|row| row.name.as_str()).collect::<Vec<_>>())?;
        estimates(&table, BOX, enforce.stations.iter())?;
        Ok(Some(table))
    }

    /// One row a finished file: replica, flow, seconds from the first SYN to the last ACK.
    fn transfers<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let table = PyDict::new(py);
        table.set_item("replica", PyArray1::from_iter(py, self.transfers.iter().map(|row| row.replica)))?;
        table.set_item("flow", PyArray1::from_iter(py, self.transfers.iter().map(|row| row.flow)))?;
        table.set_item("duration_s", PyArray1::from_iter(py, self.transfers.iter().map(|row| row.duration_s)))?;
        Ok(table)
    }

    /// The box's capacity over time in replica 0: seconds, bit/s, what was known, why; None without a box.
    #[allow(clippy::type_complexity)] // Four columns.
    fn capacity<'py>(
        &self,
        py: Python<'py>,
    ) -> Option<(Bound<'py, PyArray1<f64>>, Bound<'py, PyArray1<u64>>, Vec<String>, Vec<String>)> {
        let trace = &self.report.enforce.as_ref()?.trace;
        let (at, capacity) = (PyArray1::from_slice(py, &trace.at_s), PyArray1::from_slice(py, &trace.capacity_bps));
        Some((at, capacity, trace.state.clone(), trace.reason.clone()))
    }

    /// Samples of replica 0: seconds, packets at the AP, cwnd in segments (flow x time, NaN for UDP); None without.
    #[allow(clippy::type_complexity)] // Three columns.
    fn series<'py>(
        &self,
        py: Python<'py>,
    ) -> PyResult<Option<(Bound<'py, PyArray1<f64>>, Bound<'py, PyArray1<u32>>, Bound<'py, PyArray2<f32>>)>> {
        let Some(series) = &self.report.series else { return Ok(None) };
        let length = series.at_s.len();
        let rows: Vec<Vec<f32>> = series
            .cwnd_segments
            .iter()
            .map(|row| if row.len() == length { row.clone() } else { vec![f32::NAN; length] })
            .collect();
        Ok(Some((
            PyArray1::from_slice(py, &series.at_s),
            PyArray1::from_slice(py, &series.ap_queue_packets),
            PyArray2::from_vec2(py, &rows)?,
        )))
    }
}
