//! Tables of a report as columns: an estimate `x` becomes `x` and its 95 % half-width `x_ci95`.

use fairair_core::metrics::{Estimate, Quantity};
use numpy::PyArray1;
use pyo3::prelude::*;
use pyo3::types::PyDict;

/// Puts `columns` of `rows` into `table` as arrays of float64; what does not exist is NaN.
pub(crate) fn estimates<'a, Row: 'a>(
    table: &Bound<'_, PyDict>,
    columns: &[Quantity<Row>],
    rows: impl Iterator<Item = &'a Row> + Clone,
) -> PyResult<()> {
    for Quantity { name, of, .. } in columns {
        estimate(table, name, rows.clone().map(of))?;
    }
    if let Some(Quantity { of, .. }) = columns.first() {
        table.set_item("n", PyArray1::from_iter(table.py(), rows.map(|row| of(row).n)))?;
    }
    Ok(())
}

/// Puts the estimates `values` into `table` as `name`, with their half-widths beside it.
pub(crate) fn estimate(
    table: &Bound<'_, PyDict>,
    name: &str,
    values: impl Iterator<Item = Estimate> + Clone,
) -> PyResult<()> {
    table.set_item(name, PyArray1::from_iter(table.py(), values.clone().map(mean)))?;
    table.set_item(format!("{name}_ci95"), PyArray1::from_iter(table.py(), values.map(ci95)))
}

/// The mean, NaN when there is none.
pub(crate) fn mean(estimate: Estimate) -> f64 {
    estimate.mean.unwrap_or(f64::NAN)
}

/// The half-width, NaN when there is none.
pub(crate) fn ci95(estimate: Estimate) -> f64 {
    estimate.ci95.unwrap_or(f64::NAN)
}
