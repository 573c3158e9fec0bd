//! The air of a cell: every PPDU of a part of a run, as columns.

use fairair_core::mac::{Ppdu, Trace};
use fairair_core::units::{Duration, Instant};
use fairair_sim::Watch;
use numpy::{Element, PyArray1};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::engine::scenario_under;
use crate::error::BadInput;
use crate::watch::watched;

/// Replica 0 of a document under a remedy, from a time on (by default the end of the warm-up), for so many seconds:
/// where the part begins and ends, the nodes, and columns with a row a PPDU in the order of their start. Node 0 is the
/// AP, node n the n-th station, and further access points follow.
#[pyfunction]
#[pyo3(signature = (document, remedy_name, from_s, seconds))]
pub(crate) fn air<'py>(
    py: Python<'py>,
    document: &str,
    remedy_name: Option<&str>,
    from_s: Option<f64>,
    seconds: f64,
) -> PyResult<(f64, f64, Vec<String>, Bound<'py, PyDict>)> {
    let mut scenario = scenario_under(document, remedy_name)?;
    let nodes = scenario.node_names().collect();
    let stations = scenario.stations.len();
    let run = &mut scenario.run;
    let length = run.duration.as_secs_f64();
    let from_s = from_s.unwrap_or(run.warmup.as_secs_f64());
    if !(0.0..length).contains(&from_s) {
        let fix = format!("give a time of the run, from 0 to below {length}");
        return Err(BadInput::new("from_s", format!("{from_s} s is no time of a run of {length} s"), fix).into());
    }
    if seconds.is_nan() || seconds <= 0.0 {
        return Err(BadInput::new("seconds", format!("{seconds} is not above 0"), "give a length, such as 0.1").into());
    }
    let to_s = (from_s + seconds).min(length);
    // What happens later does not change what happened before; a run needs some length.
    let least = run.warmup + Duration::from_millis(1);
    run.duration = Duration::from_secs_f64(to_s).max(least).min(run.duration);
    let work = move |_: Watch| {
        let mut trace = Trace::new(Instant::ZERO + Duration::from_secs_f64(from_s), usize::MAX);
        fairair_sim::run_monitored(&scenario, 0, Some(&mut |frame| trace.see(frame)));
        trace
    };
    let trace = watched(py, None, work)?;
    // A run that had to be as long as its warm-up went on.
    let end = Instant::ZERO + Duration::from_secs_f64(to_s);
    let seen: Vec<Ppdu> = trace.ppdus.into_iter().filter(|ppdu| ppdu.at < end).collect();
    Ok((from_s, to_s, nodes, columns(py, &seen, stations)?))
}

fn columns<'py>(py: Python<'py>, seen: &[Ppdu], stations: usize) -> PyResult<Bound<'py, PyDict>> {
    fn column<'py, T: Element>(py: Python<'py>, seen: &[Ppdu], of: impl Fn(&Ppdu) -> T) -> Bound<'py, PyArray1<T>> {
        PyArray1::from_iter(py, seen.iter().map(of))
    }
    let table = PyDict::new(py);
    table.set_item("at_s", column(py, seen, |ppdu| ppdu.at.as_secs_f64()))?;
    table.set_item("duration_s", column(py, seen, |ppdu| ppdu.duration.as_secs_f64()))?;
    table.set_item("sender", column(py, seen, |ppdu| ppdu.transmitter.position(stations) as i64))?;
    table.set_item("receiver", column(py, seen, |ppdu| ppdu.receiver.position(stations) as i64))?;
    table.set_item("kind", seen.iter().map(|ppdu| ppdu.kind.name()).collect::<Vec<_>>())?;
    table.set_item("rate_bps", column(py, seen, |ppdu| ppdu.rate.as_bps() as f64))?;
    table.set_item("mpdus", column(py, seen, |ppdu| i64::from(ppdu.mpdus)))?;
    table.set_item("lost", column(py, seen, |ppdu| i64::from(ppdu.lost)))?;
    table.set_item("retries", column(py, seen, |ppdu| i64::from(ppdu.retries)))?;
    table.set_item("ip_bytes", column(py, seen, |ppdu| i64::from(ppdu.bytes)))?;
    table.set_item("collided", column(py, seen, |ppdu| ppdu.collided))?;
    Ok(table)
}
