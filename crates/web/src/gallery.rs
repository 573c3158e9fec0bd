//! The gallery's figures, whose scenarios the page opens. gallery/README.md has the format of their files.

use serde::{Deserialize, Serialize};
use toml_edit::{DocumentMut, InlineTable, Item, TableLike, Value};

use crate::document;
use crate::examples::Scenario;
use crate::reply::Refusal;

include!(concat!(env!("OUT_DIR"), "/gallery.rs"));

/// A paper and its figures.
#[derive(Debug, Serialize)]
pub(crate) struct Paper {
    id: &'static str,
    title: String,
    figures: Vec<Figure>,
}

/// A figure with the series that come from scenarios.
#[derive(Debug, Serialize)]
struct Figure {
    id: String,
    name: String,
    title: String,
    shows: String,
    /// What the x axis shows.
    x: String,
    series: Vec<Series>,
}

#[derive(Debug, Serialize)]
struct Series {
    id: String,
    label: String,
    /// Places on the x axis; empty for a series of one scenario.
    xs: Vec<String>,
}

/// A place of a figure.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Wanted {
    paper: String,
    figure: String,
    series: String,
    /// Position in `xs`; 0 without.
    x: usize,
}

fn unknown() -> Refusal {
    Refusal::unfit("the gallery has no such scenario", "reload the page")
}

/// The table in a file of the gallery.
fn table(paper: &str, file: &str) -> Option<DocumentMut> {
    let path = format!("{paper}/{file}");
    FILES.iter().find(|(name, _)| *name == path)?.1.parse().ok()
}

fn text(table: &dyn TableLike, key: &str) -> String {
    table.get(key).and_then(Item::as_str).unwrap_or_default().to_owned()
}

/// Series of a figure that a scenario gives.
fn series(figure: &DocumentMut) -> impl Iterator<Item = &toml_edit::Table> {
    let all = figure.get("series").and_then(Item::as_array_of_tables);
    all.into_iter().flatten().filter(|series| {
        series.contains_key("scenario") && matches!(text(*series, "engine").as_str(), "" | "sim" | "model")
    })
}

/// The x of a series: its own, or those of the figure.
fn xs(figure: &DocumentMut, series: &dyn TableLike) -> Vec<Value> {
    if series.get("vary").is_none() {
        return Vec::new();
    }
    let of_figure = || figure.get("x").and_then(|x| x.get("values"));
    let values = series.get("values").or_else(of_figure).and_then(Item::as_array);
    values.into_iter().flatten().map(|value| value.clone().decorated("", "")).collect()
}

/// A value as the text that stands for `{x}`.
fn plain(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string().trim().to_owned(), str::to_owned)
}

/// All papers, in the order of their names, and their figures in the papers' order.
pub(crate) fn papers() -> Vec<Paper> {
    let ids = FILES.iter().filter_map(|(name, _)| name.strip_suffix("/paper.toml"));
    ids.filter_map(|id| {
        let paper = table(id, "paper.toml")?;
        let names = paper.get("figures").and_then(Item::as_array)?.iter().filter_map(Value::as_str);
        let figures = names.filter_map(|name| figure(id, name)).filter(|figure| !figure.series.is_empty()).collect();
        Some(Paper { id, title: text(paper.as_table(), "title"), figures })
    })
    .collect()
}

fn figure(paper: &str, id: &str) -> Option<Figure> {
    let file = table(paper, &format!("{id}.toml"))?;
    let one = |own: &toml_edit::Table| Series {
        id: text(own, "id"),
        label: text(own, "label"),
        xs: xs(&file, own).iter().map(plain).collect(),
    };
    Some(Figure {
        id: id.to_owned(),
        name: text(file.as_table(), "name"),
        title: text(file.as_table(), "title"),
        shows: text(file.as_table(), "shows"),
        x: file.get("x").and_then(|x| x.get("label")).and_then(Item::as_str).unwrap_or_default().to_owned(),
        series: series(&file).map(one).collect(),
    })
}

impl Wanted {
    /// The scenario of the series at this x. One that is too large for the lab is the one of a quick build of the gallery.
    pub(crate) fn scenario(&self) -> Result<Scenario, Refusal> {
        let full = self.changed(false).ok_or_else(unknown)?;
        let fits = document::scenario(&full).is_ok();
        let toml = if fits { full } else { self.changed(true).ok_or_else(unknown)? };
        Ok(Scenario { name: format!("{}/{}: {}", self.paper, self.figure, self.series), toml })
    }

    fn changed(&self, quick: bool) -> Option<String> {
        let figure = table(&self.paper, &format!("{}.toml", self.figure))?;
        let own = series(&figure).find(|series| text(*series, "id") == self.series)?;
        let mut cell = table(&self.paper, &text(own, "scenario"))?;
        let mut changes: Vec<(String, Value)> = Vec::new();
        let mut add = |table: Option<&Item>| {
            for (path, value) in table.and_then(Item::as_table_like).into_iter().flat_map(TableLike::iter) {
                changes.extend(value.as_value().map(|value| (path.to_owned(), value.clone())));
            }
        };
        if quick {
            add(table(&self.paper, "paper.toml")?.get("quick"));
            add(figure.get("quick"));
        }
        add(own.get("set"));
        let xs = xs(&figure, own);
        for (path, rule) in own.get("vary").and_then(Item::as_table_like).into_iter().flat_map(TableLike::iter) {
            let x = xs.get(self.x)?;
            let value = match rule.as_value()? {
                Value::Array(each) => each.get(self.x)?.clone(),
                Value::String(rule) if rule.value() == "{x}" => x.clone(),
                Value::String(rule) => rule.value().replace("{x}", &plain(x)).into(),
                _ => return None,
            };
            changes.push((path.to_owned(), value));
        }
        for (path, value) in changes {
            let keys: Vec<&str> = path.split('.').collect();
            put(cell.as_table_mut(), &keys, &value.decorated(" ", ""))?;
        }
        Some(cell.to_string())
    }
}

/// Sets the value at a path, as `Scenario.with_` of the Python package: in lists the name of a station, a position, or `*`.
fn put(table: &mut dyn TableLike, path: &[&str], value: &Value) -> Option<()> {
    let (key, rest) = path.split_first()?;
    if rest.is_empty() {
        table.insert(key, Item::Value(value.clone()));
        return Some(());
    }
    if table.get(key).is_none() {
        table.insert(key, toml_edit::value(InlineTable::new()));
    }
    let item = table.get_mut(key)?;
    let one = |index: usize, own: &dyn TableLike| {
        rest[0] == "*" || rest[0] == index.to_string() || text(own, "name") == rest[0]
    };
    let list: Vec<&mut dyn TableLike> = match item {
        Item::ArrayOfTables(list) => list.iter_mut().map(|own| own as &mut dyn TableLike).collect(),
        Item::Value(Value::Array(list)) => {
            let tables = list.iter_mut().map(|own| Some(own.as_inline_table_mut()? as &mut dyn TableLike));
            tables.collect::<Option<_>>()?
        }
        _ => return put(item.as_table_like_mut()?, rest, value),
    };
    let mut met = None;
    for (index, own) in list.into_iter().enumerate() {
        if one(index, own) {
            met = Some(put(own, &rest[1..], value)?);
        }
    }
    met
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lab_takes_the_scenario_of_each_place_of_each_figure() {
        let (mut figures, mut places) = (0, 0);
        for paper in papers() {
            for figure in &paper.figures {
                figures += 1;
                for series in &figure.series {
                    for x in 0..series.xs.len().max(1) {
                        let (paper, figure, series) = (paper.id.to_owned(), figure.id.clone(), series.id.clone());
                        let wanted = Wanted { paper, figure, series, x };
                        let scenario = wanted.scenario().unwrap_or_else(|error| panic!("{wanted:?}: {error:?}"));
                        document::scenario(&scenario.toml).unwrap_or_else(|error| panic!("{wanted:?}: {error:?}"));
                        places += 1;
                    }
                }
            }
        }
        assert!(figures > 50 && places > 500, "{figures} figures, {places} places");
    }

    #[test]
    fn a_place_has_the_changes_of_its_series_and_its_x() {
        let wanted = |x| Wanted { paper: "pokhrel2016".into(), figure: "fig06".into(), series: "up".into(), x };
        let scenario = document::scenario(&wanted(2).scenario().unwrap().toml).unwrap();
        assert_eq!(scenario.ap.queue.limit(), 100);
        assert!(wanted(99).scenario().is_err());
    }
}
