//! From a file to a [`Scenario`].

use std::fs::File;
use std::io::Read as _;
use std::path::Path;

use toml::de::DeTable;

use super::cursor::{KnownKeys, Table};
use super::defaults::Defaults;
use super::error::{Checked, Mistake, ScenarioError};
use super::{Scenario, access_point, ap, enforce, event, name, qos, sections, station, tcp, traffic};

/// The largest file that is read; a scenario is a page of text, and this keeps `/dev/zero` out of memory.
const LARGEST_FILE: usize = 4 << 20;

/// Where keys of scenarios belong.
const KNOWN_KEYS: KnownKeys = &[
    ("[run]", sections::RUN),
    ("[radio]", sections::RADIO),
    ("[radio]", qos::KEYS),
    ("[tcp], or in tcp = { .. } of a flow", tcp::KEYS),
    ("[[station]]", station::KEYS),
    ("[ap]", ap::AP),
    ("[enforce]", enforce::ENFORCE),
    ("a flow: flows = [{ .. }] of a station", traffic::COMMON),
];

impl Scenario {
    /// Reads the scenario in the file at `path`.
    ///
    /// # Errors
    /// The file cannot be read, or see [`Scenario::from_toml`].
    pub fn load(path: &Path) -> Result<Scenario, ScenarioError> {
        load(path, "scenario", KNOWN_KEYS, read)
    }

    /// Reads a scenario from the text of a file; `name_of_file` is for messages only.
    ///
    /// # Errors
    /// The text is no TOML, has an unknown key, lacks a required one, or has a value of the wrong type, unit or
    /// range. The error is the first that was found and says where it stands and how to mend it.
    pub fn from_toml(text: &str, name_of_file: &str) -> Result<Scenario, ScenarioError> {
        from_toml(text, name_of_file, KNOWN_KEYS, read)
    }
}

/// Reads the TOML file at `path` with `read`; `what` the file is and `known_keys` are for messages.
///
/// # Errors
/// The file cannot be read, or see [`from_toml`].
pub fn load<T>(
    path: &Path,
    what: &'static str,
    known_keys: KnownKeys,
    read: impl FnOnce(&Table) -> Checked<T>,
) -> Result<T, ScenarioError> {
    let shown = path.display().to_string();
    let mut bytes = Vec::new();
    File::open(path).and_then(|file| file.take(LARGEST_FILE as u64 + 1).read_to_end(&mut bytes)).map_err(|error| {
        ScenarioError::Unreadable {
            path: shown.clone(),
            what,
            reason: error.to_string(),
            fix: format!("name a {what} file that exists and that you may read"),
        }
    })?;
    match String::from_utf8(bytes) {
        Ok(text) => from_toml(&text, &shown, known_keys, read),
        Err(error) => {
            let at = error.utf8_error().valid_up_to();
            let text = String::from_utf8_lossy(error.as_bytes());
            let mistake = Mistake::new(&(at..at + 1), "this is not UTF-8 text", "save the file in UTF-8");
            Err(mistake.within(&text, &shown))
        }
    }
}

/// Reads the text of a TOML file with `read`; `name_of_file` and `known_keys` are for messages.
///
/// # Errors
/// The text is no TOML, or what `read` finds.
pub fn from_toml<T>(
    text: &str,
    name_of_file: &str,
    known_keys: KnownKeys,
    read: impl FnOnce(&Table) -> Checked<T>,
) -> Result<T, ScenarioError> {
    parse(text, known_keys, read).map_err(|mistake| mistake.within(text, name_of_file))
}

fn parse<T>(text: &str, known_keys: KnownKeys, read: impl FnOnce(&Table) -> Checked<T>) -> Checked<T> {
    if text.len() > LARGEST_FILE {
        let problem = format!("the file has more than {} MiB", LARGEST_FILE >> 20);
        return Err(Mistake::new(
            &(0..0),
            problem,
            "shorten it: alike stations of a scenario need one [[station]], with `count`",
        ));
    }
    let document = DeTable::parse(text).map_err(|error| {
        let span = error.span().unwrap_or(0..0);
        Mistake::new(&span, format!("not TOML: {}", error.message()), mend_toml(error.message()))
    })?;
    read(&Table::root(document.get_ref(), known_keys))
}

fn read(root: &Table) -> Checked<Scenario> {
    root.allow(&["name", "run", "radio", "ap", "access_point", "wire", "tcp", "enforce", "station", "event"])?;
    let name = name::checked_name(root, "name = \"my-cell\"")?.value;
    let run = sections::run(root)?;
    let radio = sections::radio(root, run.preset)?;
    let wire = sections::wire(root, &radio.radio)?;
    let tcp_params = tcp::common(root, run.preset, &radio.radio)?;
    let first = ap::ap(root, &wire, &tcp_params, &radio.radio, run.preset)?;
    let more = access_point::access_points(root, &first, run.preset)?;
    let enforce = enforce::enforce(root, &radio.radio)?;
    let policy = enforce.map(|enforce| enforce.vsb.policy);
    let defaults = Defaults { run: &run, radio: &radio, policy, access_points: &more.list, wire, tcp: tcp_params };
    let stations = station::stations(root, &defaults)?;
    more.check(root, &stations, enforce.as_ref())?;
    let events = event::events(root, &run, &radio.radio, &stations, enforce.is_some())?;
    let (radio, access_points) = (radio.radio, more.list);
    Ok(Scenario { name, run, radio, ap: first, access_points, wire, stations, enforce, events })
}

/// A hint for the parser's own messages.
fn mend_toml(message: &str) -> &'static str {
    if message.contains("duplicate") {
        "each key may stand once in its table, and each [table] once in the file: merge the two"
    } else if message.contains("quoted") || message.contains("literal") || message.contains("value") {
        "write texts and quantities in double quotes (\"11 Mbit/s\"); numbers, true and false without"
    } else if message.contains("unclosed") || message.contains("expected `") {
        "close the quote, bracket or brace, or write the sign that is expected"
    } else {
        "write key = value on a line of its own, and tables as [run] or [[station]]"
    }
}
