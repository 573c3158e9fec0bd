//! One exception for all bad input: `fairair.FairAirError(place, problem, fix)`.

use fairair_core::model::ModelError;
use fairair_core::scenario::ScenarioError;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::PyType;

/// What was wrong with an input, where, and how to mend it.
#[derive(Clone, Debug)]
pub(crate) struct BadInput {
    pub(crate) place: String,
    pub(crate) problem: String,
    pub(crate) fix: String,
}

impl BadInput {
    pub(crate) fn new(place: impl Into<String>, problem: impl Into<String>, fix: impl Into<String>) -> Self {
        BadInput { place: place.into(), problem: problem.into(), fix: fix.into() }
    }

    /// What is called `name` is none of `known`.
    pub(crate) fn unknown<'a>(what: &str, name: &str, known: impl IntoIterator<Item = &'a str>) -> Self {
        let known: Vec<_> = known.into_iter().collect();
        let fix = format!("use one of: {}", known.join(", "));
        BadInput::new(what, format!("there is no {what} called {name:?}"), fix)
    }

    /// A mistake in a file: the error already knows line and column.
    pub(crate) fn in_file(error: &ScenarioError) -> Self {
        match error {
            ScenarioError::Unreadable { path, what, reason, fix } => {
                BadInput::new(path, format!("cannot read the {what} file: {reason}"), fix)
            }
            ScenarioError::Invalid(invalid) => BadInput::new(
                format!("{}:{}:{}", invalid.file, invalid.line, invalid.column),
                &invalid.problem,
                &invalid.fix,
            ),
        }
    }

    /// A model that has no answer.
    pub(crate) fn of_model(place: impl Into<String>, error: &ModelError) -> Self {
        let fix = match error {
            ModelError::OutOfRange { .. } => "give a value inside the range",
            ModelError::NoFlows => "give some station a flow",
            ModelError::Unsupported { .. } => "ask another model, or simulate; docs/models.md says what each knows",
        };
        BadInput::new(place, error.to_string(), fix)
    }
}

/// The JSON of what `place` is called.
pub(crate) fn json(place: &str, text: serde_json::Result<String>) -> PyResult<String> {
    Ok(text.map_err(|error| BadInput::new(place, error.to_string(), "report this"))?)
}

static CLASS: PyOnceLock<Py<PyType>> = PyOnceLock::new();

impl From<BadInput> for PyErr {
    fn from(error: BadInput) -> PyErr {
        Python::attach(|py| match CLASS.import(py, "fairair._errors", "FairAirError") {
            Ok(class) => PyErr::from_type(class.clone(), (error.place, error.problem, error.fix)),
            Err(missing) => missing,
        })
    }
}
