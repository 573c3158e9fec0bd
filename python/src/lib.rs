//! The native half of the Python package `fairair`: what `fairair/_native.pyi` declares.
//!
//! Scenarios and results cross as JSON text and NumPy columns; the Python half gives them their shape. Nothing here
//! decides who gets the air: that is core's and the simulator's.

mod air;
mod batch;
mod columns;
mod document;
mod engine;
mod error;
mod models;
mod plan;
mod result;
mod watch;

use std::ffi::OsString;

use pyo3::prelude::*;

/// Runs the `fairair` command with `args`, program name first, and returns its exit code.
#[pyfunction]
fn command(py: Python<'_>, args: Vec<OsString>) -> u8 {
    py.detach(|| fairair::exit_with(args).code())
}

#[pymodule]
fn _native(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("VERSION", env!("CARGO_PKG_VERSION"))?;
    module.add_function(wrap_pyfunction!(command, module)?)?;
    module.add_function(wrap_pyfunction!(document::read_toml, module)?)?;
    module.add_function(wrap_pyfunction!(document::write_toml, module)?)?;
    module.add_function(wrap_pyfunction!(document::check, module)?)?;
    module.add_function(wrap_pyfunction!(document::set_path, module)?)?;
    module.add_function(wrap_pyfunction!(air::air, module)?)?;
    module.add_function(wrap_pyfunction!(engine::run, module)?)?;
    module.add_function(wrap_pyfunction!(engine::compare, module)?)?;
    module.add_function(wrap_pyfunction!(engine::remedies, module)?)?;
    module.add_function(wrap_pyfunction!(engine::models, module)?)?;
    module.add_function(wrap_pyfunction!(plan::run_plan, module)?)?;
    module.add_function(wrap_pyfunction!(plan::apply_snippet, module)?)?;
    module.add_function(wrap_pyfunction!(models::call, module)?)?;
    module.add_function(wrap_pyfunction!(batch::measures, module)?)?;
    module.add_function(wrap_pyfunction!(batch::quantities, module)?)?;
    module.add_class::<batch::Batch>()?;
    module.add_class::<result::Report>()
}
