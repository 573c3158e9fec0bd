//! `fairair model`: load, ask a model, report.

use fairair_core::model::predict;
use fairair_core::scenario::Scenario;

use crate::args::{Format, ModelArgs};
use crate::error::{CliError, Exit};
use crate::output::{self, Style};

/// Predicts a scenario by model and prints the report.
///
/// # Errors
/// When the file is not a scenario, or the model knows nothing about it.
pub fn model_command(args: &ModelArgs) -> Result<Exit, CliError> {
    let scenario = Scenario::load(&args.scenario)?;
    let prediction = predict(&scenario, args.model).map_err(|error| CliError::Usage {
        what: args.model.map_or_else(
            || format!("no model answers this: {error}"),
            |model| format!("no answer by {}: {error}", model.name),
        ),
        help: "try another --model, or simulate with `fairair run`; docs/models.md says what each model knows"
            .to_owned(),
    })?;
    let report = prediction.report(&scenario, env!("CARGO_PKG_VERSION"));
    let text = match args.format {
        Format::Table => output::table::render(&report, &scenario, Style::of_stdout()),
        Format::Json => output::json(&report),
        Format::Csv => output::csv::stations(&report),
    };
    output::print(&text)?;
    Ok(Exit::Success)
}
