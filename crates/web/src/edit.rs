//! Changes of a scenario's text by the cards of the page: comments and layout of all else stay.

use serde::Deserialize;
use serde_json::Value as Json;
use toml_edit::{Array, ArrayOfTables, DocumentMut, InlineTable, Item, Table, TableLike, Value};

use crate::limits;
use crate::reply::Refusal;

/// A text and what to change in it.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Edits {
    toml: String,
    edits: Vec<Edit>,
}

/// A change.
#[derive(Clone, Debug, Deserialize)]
#[serde(tag = "do", rename_all = "lowercase", deny_unknown_fields)]
enum Edit {
    /// Sets the value at a path of keys and positions; null removes the key, and the default holds.
    Set { path: Vec<Step>, value: Json },
    /// Adds a station at the end; its name is made unique.
    Add { station: Json },
    /// Copies a station; the copy stands behind it.
    Copy { station: usize },
    /// Deletes a station.
    Delete { station: usize },
    /// Moves a station to another position.
    Move { station: usize, to: usize },
    /// Pastes what a remedy or a plan says: its keys take the place of the text's, a station's those of the station of that name.
    Paste { snippet: String },
}

#[derive(Clone, Debug, Deserialize)]
#[serde(untagged)]
enum Step {
    Position(usize),
    Key(String),
}

impl Edits {
    /// The text with the changes.
    pub(crate) fn applied(self) -> Result<String, Refusal> {
        if self.edits.len() > limits::EDITS {
            return Err(Refusal::unfit("too many changes at once", format!("send {} at most", limits::EDITS)));
        }
        let mut document = parse(&self.toml)?;
        for edit in &self.edits {
            edit.apply(&mut document)?;
        }
        Ok(document.to_string())
    }
}

fn parse(text: &str) -> Result<DocumentMut, Refusal> {
    let mend = "mend the text first: it is no TOML";
    text.parse().map_err(|error: toml_edit::TomlError| Refusal::unfit(error.message(), mend))
}

fn nowhere() -> Refusal {
    Refusal::unfit("there is no such place in the scenario", "reload the page")
}

impl Edit {
    fn apply(&self, document: &mut DocumentMut) -> Result<(), Refusal> {
        match self {
            Edit::Set { path, value } => set(document.as_table_mut(), path, value, true),
            Edit::Add { station } => stations(document, |list| {
                let Value::InlineTable(own) = value(station)? else { return Err(nowhere()) };
                list.push(own.into_table());
                Ok(list.len() - 1)
            }),
            Edit::Copy { station } => stations(document, |list| {
                let copy = list.get(*station).ok_or_else(nowhere)?.clone();
                list.insert(station + 1, copy);
                Ok(station + 1)
            }),
            Edit::Delete { station } => stations(document, |list| {
                if *station >= list.len() {
                    return Err(nowhere());
                }
                list.remove(*station);
                Ok(usize::MAX)
            }),
            Edit::Move { station, to } => stations(document, |list| {
                if *station.max(to) >= list.len() {
                    return Err(nowhere());
                }
                let moved = list.remove(*station);
                list.insert(*to, moved);
                Ok(usize::MAX)
            }),
            Edit::Paste { snippet } => paste(document, &parse(snippet)?),
        }
    }
}

/// Changes the list of stations; `change` says which one is new. The list is written as `[[station]]` tables.
fn stations(
    document: &mut DocumentMut,
    change: impl FnOnce(&mut Vec<Table>) -> Result<usize, Refusal>,
) -> Result<(), Refusal> {
    let old = document.get("station").cloned().unwrap_or_else(|| Item::ArrayOfTables(ArrayOfTables::new()));
    let Ok(old) = old.into_array_of_tables() else { return Err(nowhere()) };
    let place = old.iter().filter_map(Table::position).min();
    let mut list: Vec<Table> = old.into_iter().collect();
    let new = change(&mut list)?;
    if new < list.len() {
        rename(&mut list, new);
        list[new].decor_mut().set_prefix("\n");
    }
    let mut tables = ArrayOfTables::new();
    for mut table in list {
        // All at the place of the first one, so that they stand together in this order.
        place_at(&mut table, place);
        tables.push(table);
    }
    document.insert("station", Item::ArrayOfTables(tables));
    Ok(())
}

/// Puts a table and those below it where `place` says; without it behind what stands before.
fn place_at(table: &mut Table, place: Option<isize>) {
    table.set_position(place);
    for (_, item) in table.iter_mut() {
        match item {
            Item::Table(below) => place_at(below, None),
            Item::ArrayOfTables(list) => list.iter_mut().for_each(|below| place_at(below, None)),
            Item::None | Item::Value(_) => {}
        }
    }
}

/// Gives the table at `new` a name that no other one has.
fn rename(list: &mut [Table], new: usize) {
    let name = |table: &Table| table.get("name").and_then(Item::as_str).unwrap_or("station").to_owned();
    let own = name(&list[new]);
    let others: Vec<String> = (0..list.len()).filter(|index| *index != new).map(|index| name(&list[index])).collect();
    let stem = own.trim_end_matches(|c: char| c.is_ascii_digit()).trim_end_matches('-');
    let is_free = |name: &String| !others.contains(name);
    let mut numbered = (2..).map(|number: u32| format!("{stem}-{number}"));
    let fresh = if is_free(&own) { own } else { numbered.find(is_free).unwrap_or_default() };
    list[new].insert("name", toml_edit::value(fresh));
}

/// Sets what `path` names below `table`. Tables that are missing are made: at the top with a header of their own.
fn set(table: &mut dyn TableLike, path: &[Step], new: &Json, top: bool) -> Result<(), Refusal> {
    let Some((Step::Key(key), rest)) = path.split_first() else { return Err(nowhere()) };
    if !rest.is_empty() {
        if table.get(key).is_none() {
            if new.is_null() {
                return Ok(());
            }
            let empty = if top { Item::Table(Table::new()) } else { toml_edit::value(InlineTable::new()) };
            table.insert(key, empty);
        }
        return below(table.get_mut(key).ok_or_else(nowhere)?, rest, new);
    }
    if new.is_null() {
        table.remove(key);
        return Ok(());
    }
    take(table, key, &Item::Value(value(new)?));
    Ok(())
}

fn below(item: &mut Item, path: &[Step], new: &Json) -> Result<(), Refusal> {
    if let Some(Step::Position(position)) = path.first() {
        let table: &mut dyn TableLike = match item {
            Item::ArrayOfTables(list) => list.get_mut(*position).ok_or_else(nowhere)?,
            Item::Value(Value::Array(list)) => {
                list.get_mut(*position).and_then(Value::as_inline_table_mut).ok_or_else(nowhere)?
            }
            _ => return Err(nowhere()),
        };
        return set(table, &path[1..], new, false);
    }
    set(item.as_table_like_mut().ok_or_else(nowhere)?, path, new, false)
}

/// JSON as TOML.
fn value(json: &Json) -> Result<Value, Refusal> {
    Ok(match json {
        Json::Null => return Err(nowhere()),
        Json::Bool(truth) => Value::from(*truth),
        Json::Number(number) => match number.as_i64() {
            Some(whole) => Value::from(whole),
            None => Value::from(number.as_f64().ok_or_else(nowhere)?),
        },
        Json::String(text) => Value::from(text.as_str()),
        Json::Array(list) => Value::Array(list.iter().map(value).collect::<Result<Array, Refusal>>()?),
        Json::Object(map) => {
            let entries = map.iter().filter(|(_, json)| !json.is_null());
            let values = entries.map(|(key, json)| Ok((key, value(json)?)));
            Value::InlineTable(values.collect::<Result<InlineTable, Refusal>>()?)
        }
    })
}

/// Each table of a snippet in place of the own one: it is whole.
fn paste(document: &mut DocumentMut, snippet: &DocumentMut) -> Result<(), Refusal> {
    for (name, item) in snippet.iter() {
        if let Item::ArrayOfTables(changed) = item {
            for station in changed {
                weigh(document, station)?;
            }
            continue;
        }
        let keys = item.as_table_like().ok_or_else(nowhere)?;
        if document.get(name).is_none() {
            document.insert(name, Item::Table(Table::new()));
        }
        let target = document.get_mut(name).and_then(Item::as_table_like_mut).ok_or_else(nowhere)?;
        // Of `[radio.edca]` that is the inner table; the rest of `[radio]` stays.
        if !item.as_table().is_some_and(Table::is_implicit) {
            let others = target.iter().map(|(key, _)| key.to_owned()).filter(|key| !keys.contains_key(key));
            for other in others.collect::<Vec<String>>() {
                target.remove(&other);
            }
        }
        keys.iter().for_each(|(key, item)| take(target, key, item));
    }
    Ok(())
}

/// The keys of a station of a snippet go to the station of that name.
fn weigh(document: &mut DocumentMut, changed: &Table) -> Result<(), Refusal> {
    let name = |table: &Table| table.get("name").and_then(Item::as_str).map(str::to_owned);
    let list = document.get_mut("station").and_then(Item::as_array_of_tables_mut).ok_or_else(nowhere)?;
    let own = list.iter_mut().find(|station| name(station) == name(changed)).ok_or_else(nowhere)?;
    changed.iter().for_each(|(key, item)| take(own, key, item));
    Ok(())
}

/// An item of another document in place of the own one.
fn take(target: &mut dyn TableLike, key: &str, item: &Item) {
    match (target.get_mut(key), item) {
        (Some(Item::Value(old)), Item::Value(new)) => {
            let decor = old.decor().clone();
            *old = new.clone();
            *old.decor_mut() = decor;
        }
        _ => {
            target.insert(key, item.clone());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "# A cell.\nname = \"a\"\n\n[run]\nduration = \"2 s\" # short\n\n# The first.\n[[station]]\nname = \"up\"\nflows = [{ direction = \"up\" }]\n\n[[station]]\nname = \"down\"\n[[station.flows]]\ndirection = \"down\"\n\n[wire]\ndelay = \"1 ms\"\n";

    #[track_caller]
    fn edited(edits: &str) -> String {
        let edits = serde_json::from_str::<Vec<Edit>>(edits).unwrap();
        let text = Edits { toml: TEXT.to_owned(), edits }.applied().unwrap();
        crate::document::scenario(&text).unwrap_or_else(|error| panic!("{error:?} in\n{text}"));
        text
    }

    #[test]
    fn a_value_is_set_and_the_comments_stay() {
        let text = edited(r#"[{"do":"set","path":["run","duration"],"value":"9 s"}]"#);
        assert_eq!(text, TEXT.replace("\"2 s\"", "\"9 s\""));
        let text = edited(r#"[{"do":"set","path":["radio","phy"],"value":"802.11g"}]"#);
        assert!(text.contains("[radio]\nphy = \"802.11g\"\n"), "{text}");
    }

    #[test]
    fn null_removes_a_key_and_the_default_holds() {
        let text = edited(
            r#"[{"do":"set","path":["wire","delay"],"value":null},{"do":"set","path":["ap","queue"],"value":null}]"#,
        );
        assert!(!text.contains("delay") && !text.contains("[ap]"), "{text}");
    }

    #[test]
    fn values_below_a_station_are_set_however_flows_are_written() {
        let text = edited(
            r#"[{"do":"set","path":["station",0,"flows",0,"count"],"value":3},
                {"do":"set","path":["station",1,"flows",0,"count"],"value":5},
                {"do":"set","path":["station",1,"rate"],"value":"2 Mbit/s"}]"#,
        );
        assert!(
            text.contains("{ direction = \"up\" , count = 3 }") || text.contains("{ direction = \"up\", count = 3 }"),
            "{text}"
        );
        assert!(text.contains("direction = \"down\"\ncount = 5\n"), "{text}");
    }

    #[test]
    fn stations_are_copied_moved_and_deleted_with_what_belongs_to_them() {
        let names = |text: &str| {
            let scenario = crate::document::scenario(text).unwrap();
            scenario.stations.iter().map(|station| (station.name.clone(), station.flows.len())).collect::<Vec<_>>()
        };
        let own = |name: &str, flows| (name.to_owned(), flows);
        let text = edited(r#"[{"do":"copy","station":0},{"do":"copy","station":2}]"#);
        assert_eq!(names(&text), [own("up", 1), own("up-2", 1), own("down", 1), own("down-2", 1)], "{text}");
        let text = edited(r#"[{"do":"move","station":1,"to":0}]"#);
        assert_eq!(names(&text), [own("down", 1), own("up", 1)], "{text}");
        assert!(text.contains("# The first.\n[[station]]\nname = \"up\""), "{text}");
        let text =
            edited(r#"[{"do":"delete","station":0},{"do":"add","station":{"name":"down","count":2,"flows":[]}}]"#);
        assert_eq!(names(&text), [own("down", 1), own("down-2-1", 0), own("down-2-2", 0)], "{text}");
    }

    #[test]
    fn a_snippet_takes_the_place_of_what_it_names() {
        let snippet = "[ap]\\nqueue = { kind = \\\"tlas\\\", limit = 20 }\\n[[station]]\\nname = \\\"up\\\"\\nweight = 2.0\\n[enforce]\\npolicy = \\\"per-station\\\"\\ncapacity = \\\"auto\\\"";
        let text =
            edited(&format!(r#"[{{"do":"paste","snippet":"{snippet}"}},{{"do":"paste","snippet":"{snippet}"}}]"#));
        assert_eq!(text.matches("tlas").count(), 1, "{text}");
        assert!(text.starts_with("# A cell.") && text.contains("weight = 2.0"), "{text}");
    }

    #[test]
    fn a_table_of_a_snippet_leaves_nothing_of_the_old_one() {
        let text = edited(
            r#"[{"do":"set","path":["ap","uplink_queue"],"value":7},{"do":"set","path":["radio","phy"],"value":"802.11n"},
                {"do":"set","path":["radio","edca","preset"],"value":"openwrt"},
                {"do":"paste","snippet":"[ap]\nqueue = { kind = \"las\" }\n[radio.edca]\nap = { be = { aifsn = 4 } }"}]"#,
        );
        assert!(text.contains("las") && !text.contains("uplink_queue"), "{text}");
        assert!(text.contains("802.11n") && text.contains("aifsn = 4") && !text.contains("openwrt"), "{text}");
    }

    #[test]
    fn what_is_not_there_is_refused() {
        for wrong in [
            r#"{"do":"copy","station":9}"#,
            r#"{"do":"move","station":0,"to":7}"#,
            r#"{"do":"set","path":["station",5,"name"],"value":"x"}"#,
            r#"{"do":"set","path":[],"value":1}"#,
            r#"{"do":"set","path":["name","x"],"value":1}"#,
        ] {
            let edits = vec![serde_json::from_str::<Edit>(wrong).unwrap()];
            assert!(Edits { toml: TEXT.to_owned(), edits }.applied().is_err(), "{wrong}");
        }
    }
}
