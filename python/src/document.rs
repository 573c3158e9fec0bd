//! Scenario documents: the tables of a scenario file as JSON, changed by path, and checked by the one reader that
//! all engines share.

use fairair_core::scenario::{InvalidScenario, Scenario, ScenarioError};
use pyo3::prelude::*;
use serde_json::{Map, Value};
use toml::de::{DeTable, DeValue};

use crate::error::{BadInput, json};

/// What messages call a document that came from no file.
const NO_FILE: &str = "scenario";

/// The text of a scenario file as JSON, checked.
#[pyfunction]
pub(crate) fn read_toml(text: &str, file: &str) -> PyResult<String> {
    Scenario::from_toml(text, file).map_err(|error| BadInput::in_file(&error))?;
    let table: toml::Table = text.parse().map_err(|error: toml::de::Error| {
        BadInput::new(file, format!("not TOML: {}", error.message()), "write key = value on a line of its own")
    })?;
    Ok(serde_json::to_string(&table).map_err(|error| BadInput::new(file, error.to_string(), "simplify the file"))?)
}

/// A document as the text of a scenario file.
#[pyfunction]
pub(crate) fn write_toml(document: &str) -> PyResult<String> {
    Ok(to_toml(&parse(document)?)?)
}

/// Checks a document; the scenario that engines run comes back as JSON, defaults filled in and groups expanded.
#[pyfunction]
pub(crate) fn check(document: &str) -> PyResult<String> {
    json(NO_FILE, serde_json::to_string(&scenario(&parse(document)?)?))
}

/// The document with `value` (JSON) at `path`, not checked.
#[pyfunction]
pub(crate) fn set_path(document: &str, path: &str, value: &str) -> PyResult<String> {
    let mut root = parse(document)?;
    set(&mut root, path, &parse(value)?)?;
    Ok(root.to_string())
}

/// JSON text as a value.
pub(crate) fn parse(text: &str) -> Result<Value, BadInput> {
    serde_json::from_str(text).map_err(|error| {
        BadInput::new(NO_FILE, format!("not JSON: {error}"), "use texts, finite numbers, lists and dictionaries")
    })
}

/// The scenario that a document describes.
pub(crate) fn scenario(document: &Value) -> Result<Scenario, BadInput> {
    let text = to_toml(document)?;
    Scenario::from_toml(&text, NO_FILE).map_err(|error| match error {
        ScenarioError::Invalid(invalid) => BadInput::new(place(&text, &invalid), &invalid.problem, &invalid.fix),
        unreadable @ ScenarioError::Unreadable { .. } => BadInput::in_file(&unreadable),
    })
}

fn to_toml(document: &Value) -> Result<String, BadInput> {
    toml::to_string(&without_nulls(document)).map_err(|error| {
        BadInput::new(NO_FILE, format!("this cannot be written as TOML: {error}"), "see docs/scenario.md for the keys")
    })
}

/// TOML has no null: a key whose value is null is left out, which is its default.
fn without_nulls(value: &Value) -> Value {
    match value {
        Value::Object(map) => {
            let kept = map.iter().filter(|(_, value)| !value.is_null());
            Value::Object(kept.map(|(key, value)| (key.clone(), without_nulls(value))).collect())
        }
        Value::Array(list) => Value::Array(list.iter().map(without_nulls).collect()),
        plain => plain.clone(),
    }
}

/// Where in the document a mistake is, as a dotted path: line and column of a text that nobody wrote say nothing.
fn place(text: &str, invalid: &InvalidScenario) -> String {
    if (invalid.line, invalid.column) == (1, 1) {
        // What is missing stands nowhere.
        return NO_FILE.to_owned();
    }
    let before: usize = text.split_inclusive('\n').take(invalid.line - 1).map(str::len).sum();
    let offset = before + invalid.column - 1;
    let path = DeTable::parse(text).ok().and_then(|root| in_table(root.get_ref(), offset));
    path.unwrap_or_else(|| NO_FILE.to_owned())
}

fn in_table(table: &DeTable, offset: usize) -> Option<String> {
    // The header of a table stands away from its keys: look into all of them.
    table.iter().find_map(|(key, value)| {
        let name = key.get_ref();
        let hit = key.span().contains(&offset) || value.span().contains(&offset);
        in_value(value.get_ref(), offset).map(|rest| format!("{name}.{rest}")).or_else(|| hit.then(|| name.to_string()))
    })
}

fn in_value(value: &DeValue, offset: usize) -> Option<String> {
    match value {
        DeValue::Table(table) => in_table(table, offset),
        DeValue::Array(list) => list.iter().enumerate().find_map(|(index, item)| {
            let name = match item.get_ref() {
                DeValue::Table(table) => match table.get("name").map(toml::Spanned::get_ref) {
                    Some(DeValue::String(name)) => name.to_string(),
                    _ => index.to_string(),
                },
                _ => index.to_string(),
            };
            let hit = item.span().contains(&offset);
            in_value(item.get_ref(), offset).map(|rest| format!("{name}.{rest}")).or_else(|| hit.then_some(name))
        }),
        _ => None,
    }
}

/// Sets what `path` names: keys, and in lists a position, the `name` of a table, or `*` for all.
pub(crate) fn set(root: &mut Value, path: &str, value: &Value) -> Result<(), BadInput> {
    let steps: Vec<&str> = path.split('.').collect();
    if steps.iter().any(|step| step.is_empty()) {
        let fix = "write keys with dots between them, as ap.queue.limit or station.sta1.flows.0.count";
        return Err(BadInput::new(path, "the path has an empty part", fix));
    }
    walk(root, path, &steps, value)
}

fn walk(at: &mut Value, path: &str, steps: &[&str], value: &Value) -> Result<(), BadInput> {
    let Some((step, rest)) = steps.split_first() else {
        at.clone_from(value);
        return Ok(());
    };
    match at {
        Value::Object(map) => {
            if value.is_null() && rest.is_empty() {
                map.remove(*step);
                return Ok(());
            }
            // A table that is not there has defaults only; the reader judges whether there is such a table.
            walk(map.entry(*step).or_insert_with(|| Value::Object(Map::new())), path, rest, value)
        }
        Value::Array(list) => {
            if *step == "*" {
                return list.iter_mut().try_for_each(|item| walk(item, path, rest, value));
            }
            let named = |item: &Value| item.get("name").and_then(Value::as_str) == Some(step);
            let known: Vec<String> = list
                .iter()
                .enumerate()
                .map(|(index, item)| item.get("name").and_then(Value::as_str).map_or(index.to_string(), str::to_owned))
                .collect();
            let index = list.iter().position(named).or_else(|| step.parse().ok());
            match index.and_then(|index| list.get_mut(index)) {
                Some(item) => walk(item, path, rest, value),
                None => Err(BadInput::new(
                    path,
                    format!("there is no `{step}` in this list"),
                    format!("use one of: {}, or * for all", known.join(", ")),
                )),
            }
        }
        _ => Err(BadInput::new(
            path,
            format!("`{step}` stands below a plain value, which has no keys"),
            "end the path before it, or see docs/scenario.md for the keys",
        )),
    }
}
