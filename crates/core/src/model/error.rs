//! Why a model gives no answer.

use thiserror::Error;

/// A model was asked for what it cannot know.
#[derive(Clone, Debug, PartialEq, Error)]
pub enum ModelError {
    /// An input is outside the range in which the formulas have a meaning.
    #[error("{symbol} = {value} is outside its range, {range}")]
    OutOfRange {
        /// The paper's symbol.
        symbol: &'static str,
        /// What was given.
        value: f64,
        /// What may be given.
        range: &'static str,
    },
    /// No flow, so nothing is shared.
    #[error("there is no flow to share the cell")]
    NoFlows,
    /// The scenario has something that the model knows nothing about.
    #[error("the model does not know {what}")]
    Unsupported {
        /// What it is.
        what: String,
    },
}

/// `value` if it is a number in `[low, high]`.
pub(super) fn within(
    symbol: &'static str,
    value: f64,
    low: f64,
    high: f64,
    range: &'static str,
) -> Result<f64, ModelError> {
    // Not a number is in no range.
    if (low..=high).contains(&value) { Ok(value) } else { Err(ModelError::OutOfRange { symbol, value, range }) }
}
