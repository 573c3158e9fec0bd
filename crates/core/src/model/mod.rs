//! Analytical models: what a cell does, without simulating it.
//!
//! Pure functions in the symbols of their papers; docs/models.md derives what is ours and says how near each comes to
//! the simulator. [`detti2011`], [`ha2009`] and [`pokhrel2016`] are the papers' models, [`pftk`] and [`dcf`] the
//! TCP and MAC formulas they stand on; [`capacity`], [`air`], [`unified`] and [`modern`] are ours. [`predict`] asks one of them about a
//! scenario and answers in the schema of results.
//!
//! No solver loops for ever or answers NaN: each searches a bracket that holds its root and counts its steps. Inputs
//! outside a model's range are a [`ModelError`].

pub mod air;
mod answers;
mod assumptions;
pub mod capacity;
pub mod dcf;
pub mod detti2011;
#[cfg(test)]
#[allow(clippy::float_cmp, reason = "these are exact")]
mod detti2011_tests;
mod error;
pub mod ha2009;
mod kinds;
pub mod modern;
pub mod pftk;
pub mod pokhrel2016;
mod prediction;
mod report;
mod root;
mod solver;
pub mod unified;
#[cfg(test)]
#[allow(clippy::float_cmp, reason = "these are exact")]
mod unified_tests;
mod window;

pub use answers::{MODELS, predict};
pub use error::ModelError;
pub use kinds::Kinds;
pub use prediction::{Model, Prediction};
