//! The models that answer scenarios: one file a model, each of which describes itself.

mod detti2011;
mod ha2009;
mod modern;
mod pokhrel2016;
mod saturation;
mod shares;
#[cfg(test)]
mod tests;
mod unified;

use super::assumptions::broken_bottleneck;
use super::error::ModelError;
use super::prediction::{Model, Prediction};
use crate::scenario::Scenario;

/// All models. Where none is named, the first answers that is the default for the scenario.
pub const MODELS: &[Model] =
    &[shares::MODEL, ha2009::MODEL, detti2011::MODEL, pokhrel2016::MODEL, saturation::MODEL, unified::MODEL];

impl Model {
    /// The model called `name`.
    ///
    /// # Errors
    /// There is none; the text lists those that there are.
    pub fn named(name: &str) -> Result<&'static Model, String> {
        MODELS.iter().find(|model| model.name == name).ok_or_else(|| {
            let known = MODELS.iter().map(|model| model.name).collect::<Vec<_>>().join(", ");
            format!("there is no model `{name}`: use one of {known}")
        })
    }

    /// The model that answers `scenario` where none is named.
    pub fn default_of(scenario: &Scenario) -> &'static Model {
        MODELS.iter().find(|model| (model.is_default)(scenario)).unwrap_or(&unified::MODEL)
    }
}

/// Asks `model`, or the default for `scenario`. The default for drop-tail is `unified`, whose domain holds those of the papers and which is as
/// a rule the nearest to the simulator in them too (docs/models.md).
///
/// # Errors
/// The scenario has something that the model knows nothing about.
pub fn predict(scenario: &Scenario, model: Option<&Model>) -> Result<Prediction, ModelError> {
    if let Some(what) = scenario.several_access_points() {
        return Err(ModelError::Unsupported { what });
    }
    let mut prediction = (model.unwrap_or_else(|| Model::default_of(scenario)).answer)(scenario)?;
    prediction.section.assumptions.extend(broken_bottleneck(scenario, &prediction.flows));
    Ok(prediction)
}
