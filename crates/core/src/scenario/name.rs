//! Names of scenarios and stations.

use super::cursor::{At, Table};
use super::error::{Checked, Mistake};
use crate::units::{is_invisible, quote};

/// The longest name of a scenario or a station, in bytes.
const LONGEST_NAME: usize = 100;

/// The `name` of `table`: it becomes part of file names and of lines of text.
///
/// # Errors
/// It is missing, or no good name.
pub fn checked_name(table: &Table, example: &str) -> Checked<At<String>> {
    let name = table.required::<String>("name", example)?;
    let text = &name.value;
    let problem = if text.is_empty() {
        "the name is empty".to_owned()
    } else if text.len() > LONGEST_NAME {
        format!("the name has {} bytes, more than {LONGEST_NAME}", text.len())
    } else if let Some(bad) = text.chars().find(|c| is_invisible(*c) || matches!(c, '/' | '\\' | '"')) {
        format!("the name {} has the character '{}'", quote(text), bad.escape_debug())
    } else if text.starts_with('.') || text.trim() != text {
        format!("the name {} begins with a dot, or begins or ends with a space", quote(text))
    } else {
        return Ok(name);
    };
    let fix = "names become parts of file names: write letters, digits, dots, dashes or underscores";
    Err(Mistake::new(&name.span, problem, fix))
}
