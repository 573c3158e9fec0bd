//! The scenario as the page holds it: one text, its tables for the cards, and what is wrong with it.

use fairair_core::scenario::Scenario;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Number, Value};
use toml_edit::{DocumentMut, Item, TableLike};

use crate::answer::Answer;
use crate::limits;
use crate::reply::Refusal;

/// What errors call the text.
const NAME: &str = "scenario";

/// A request with a scenario.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Text {
    /// The text of a scenario file.
    pub(crate) toml: String,
}

/// The scenario of a text, if it is one that the lab takes.
pub(crate) fn scenario(text: &str) -> Result<Scenario, Refusal> {
    let scenario = Scenario::from_toml(text, NAME)?;
    limits::check(&scenario)?;
    Ok(scenario)
}

/// A text, read.
#[derive(Debug, Serialize)]
pub(crate) struct Document {
    toml: String,
    /// Its tables as they are written; null when it is no TOML.
    tables: Option<Value>,
    /// The first mistake.
    error: Option<Refusal>,
    /// What is not written, too: defaults. Null with a mistake.
    cell: Option<Cell>,
    /// The model's answer; null with a mistake or where no model has one.
    model: Option<Answer>,
    /// Why no model has an answer.
    unknown: Option<String>,
}

/// A cell without its stations.
#[derive(Debug, Serialize)]
struct Cell {
    name: String,
    stations: Vec<String>,
    flows: usize,
    run: Value,
    radio: Value,
    ap: Value,
    wire: Value,
    enforce: Value,
}

impl Document {
    /// Reads `toml` and asks the model.
    pub(crate) fn read(toml: String) -> Self {
        let tables = toml.parse::<DocumentMut>().ok().map(|document| table(document.as_table()));
        let scenario = scenario(&toml);
        let known = scenario.as_ref().ok();
        let (cell, model) = (known.map(Cell::new), known.map(Answer::of_model).transpose());
        let (model, unknown) = model.map_or_else(|why| (None, Some(why)), |answer| (answer, None));
        Document { toml, tables, error: scenario.err(), cell, model, unknown }
    }
}

impl Cell {
    fn new(scenario: &Scenario) -> Self {
        fn json(value: impl Serialize) -> Value {
            serde_json::to_value(value).unwrap_or_default()
        }
        Cell {
            name: scenario.name.clone(),
            stations: scenario.stations.iter().map(|station| station.name.clone()).collect(),
            flows: scenario.flow_count(),
            run: json(scenario.run),
            radio: json(scenario.radio),
            ap: json(scenario.ap),
            wire: json(scenario.wire),
            enforce: json(scenario.enforce),
        }
    }
}

fn table(table: &dyn TableLike) -> Value {
    Value::Object(table.iter().map(|(key, item)| (key.to_owned(), of_item(item))).collect::<Map<_, _>>())
}

fn of_item(item: &Item) -> Value {
    match item {
        Item::None => Value::Null,
        Item::Table(own) => table(own),
        Item::ArrayOfTables(list) => list.iter().map(|own| table(own)).collect(),
        Item::Value(value) => of_value(value),
    }
}

fn of_value(value: &toml_edit::Value) -> Value {
    match value {
        toml_edit::Value::String(text) => Value::String(text.value().clone()),
        toml_edit::Value::Integer(number) => Value::from(*number.value()),
        toml_edit::Value::Float(number) => Number::from_f64(*number.value()).map_or(Value::Null, Value::Number),
        toml_edit::Value::Boolean(truth) => Value::Bool(*truth.value()),
        // The reader knows no dates: it says so.
        toml_edit::Value::Datetime(date) => Value::String(date.value().to_string()),
        toml_edit::Value::Array(list) => list.iter().map(of_value).collect(),
        toml_edit::Value::InlineTable(own) => table(own),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mistake_has_its_place_and_the_cards_stay() {
        let document = Document::read("name = \"a\"\n[run]\nduration = 5\n".to_owned());
        let error = document.error.unwrap();
        assert_eq!(error.line, Some(3));
        assert!(error.fix.contains('"'), "{}", error.fix);
        assert_eq!(document.tables.unwrap()["run"]["duration"], 5);
        assert!(document.cell.is_none() && document.model.is_none());
    }

    #[test]
    fn a_text_that_is_no_toml_has_no_tables() {
        let document = Document::read("name = ".to_owned());
        assert!(document.tables.is_none() && document.error.is_some_and(|error| error.line == Some(1)));
    }

    #[test]
    fn a_cell_too_large_for_the_lab_is_refused_with_the_way_out() {
        let text = "name = \"a\"\n[run]\nduration = \"1 s\"\n[[station]]\nname = \"b\"\ncount = 300\n";
        let error = Document::read(text.to_owned()).error.unwrap();
        assert!(error.problem.contains("300") && error.fix.contains("fairair run"), "{error:?}");
    }
}
