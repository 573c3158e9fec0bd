//! `fairair model`: load, ask a model, report.

use std::io::IsTerminal;

use fairair_core::model::{Model, predict};
use fairair_core::scenario::Scenario;

use crate::args::{Format, ModelArgs, ModelName};
use crate::error::{CliError, Exit};
use crate::output::{self, Style};

/// Predicts a scenario by model and prints the report.
///
/// # Errors
/// When the file is not a scenario, or the model knows nothing about it.
pub fn model_command(args: &ModelArgs) -> Result<Exit, CliError> {
    let scenario = Scenario::load(&args.scenario)?;
    let model = args.model.map(|name| match name {
        ModelName::Detti2011 => Model::Detti2011,
        ModelName::Ha2009 => Model::Ha2009,
        ModelName::Pokhrel2016 => Model::Pokhrel2016,
        ModelName::Shares => Model::Shares,
        ModelName::Unified => Model::Unified,
    });
    let prediction = predict(&scenario, model).map_err(|error| CliError::Usage {
        what: model.map_or_else(
            || format!("no model answers this: {error}"),
            |model| format!("no answer by {}: {error}", model.name()),
        ),
        help: "try another --model, or simulate with `fairair run`; docs/models.md says what each model knows"
            .to_owned(),
    })?;
    let report = prediction.report(&scenario, env!("CARGO_PKG_VERSION"));
    let text = match args.format {
        Format::Table => output::table::render(&report, &scenario, Style::of_stdout(std::io::stdout().is_terminal())),
        Format::Json => output::json(&report),
        Format::Csv => output::csv::stations(&report),
    };
    output::print(&text)?;
    Ok(Exit::Success)
}
