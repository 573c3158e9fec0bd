//! Results as text: for people, for programs, for spreadsheets; on stdout and in files.

pub(crate) mod comparison;
pub(crate) mod csv;
pub(crate) mod engines;
pub(crate) mod files;
#[cfg(test)]
pub(crate) mod fixture;
pub(crate) mod front;
mod grid;
pub(crate) mod plan;
mod quantity;
pub(crate) mod table;
mod testbed;
#[cfg(test)]
mod verdict_tests;

use std::io::{self, ErrorKind, IsTerminal, Write};

use serde::Serialize;

use crate::error::CliError;

/// Colours or none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Style {
    /// Text alone: files, pipes.
    Plain,
    /// ANSI escapes: terminals.
    Ansi,
}

/// How text is laid out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Page {
    pub(crate) style: Style,
    /// Columns of the terminal; [`usize::MAX`] where nothing is left out.
    pub(crate) width: usize,
}

/// Columns where no terminal says how many it has.
const USUAL_WIDTH: usize = 100;

impl Page {
    /// For a file: everything, without colours.
    pub(crate) const FILE: Page = Page { style: Style::Plain, width: usize::MAX };

    /// For standard output. Without `wide` the text fits the terminal, or the variable COLUMNS says how wide it is.
    pub(crate) fn of_stdout(wide: bool) -> Self {
        let set = || std::env::var("COLUMNS").ok()?.parse().ok().filter(|columns| *columns > 0);
        let terminal = || terminal_size::terminal_size_of(io::stdout()).map(|(columns, _)| columns.0.into());
        let width = if wide { usize::MAX } else { terminal().or_else(set).unwrap_or(USUAL_WIDTH) };
        Page { style: Style::of_stdout(), width }
    }

    /// `text` in lines of at most the page's width.
    pub(crate) fn wrapped(self, text: &str) -> Vec<String> {
        // A line that breaks at a hyphen breaks what is to be pasted.
        let whole = textwrap::Options::new(self.width)
            .word_separator(textwrap::WordSeparator::AsciiSpace)
            .word_splitter(textwrap::WordSplitter::NoHyphenation);
        textwrap::wrap(text, whole).into_iter().map(Into::into).collect()
    }
}

impl Style {
    /// Colours on a terminal, unless `NO_COLOR` is set (no-color.org) or the terminal is dumb.
    pub(crate) fn of_stdout() -> Self {
        let refused = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty())
            || std::env::var_os("TERM").is_some_and(|term| term == "dumb");
        if io::stdout().is_terminal() && !refused { Style::Ansi } else { Style::Plain }
    }

    /// `text` in bold.
    pub(crate) fn bold(self, text: &str) -> String {
        self.paint("1", text)
    }

    /// `text` faintly.
    pub(crate) fn dim(self, text: &str) -> String {
        self.paint("2", text)
    }

    /// `text` in the colour of shares.
    pub(crate) fn bar(self, text: &str) -> String {
        self.paint("36", text)
    }

    fn paint(self, code: &str, text: &str) -> String {
        match self {
            Style::Plain => text.to_owned(),
            Style::Ansi => format!("\x1b[{code}m{text}\x1b[0m"),
        }
    }
}

/// A result as JSON, indented.
pub(crate) fn json(result: &impl Serialize) -> String {
    serde_json::to_string_pretty(result).expect("results have string keys and finite numbers") + "\n"
}

/// Names, or the first few of many.
pub(crate) fn listed(names: &[String]) -> String {
    const MANY: usize = 6;
    match names.len().checked_sub(MANY) {
        Some(more) if more > 0 => format!("{} and {more} more", names[..MANY].join(", ")),
        _ => names.join(", "),
    }
}

/// Writes to stdout. A reader that has seen enough (`fairair run ... | head -1`) is no error.
pub(crate) fn print(text: &str) -> Result<(), CliError> {
    let mut stdout = io::stdout().lock();
    match stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush()) {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => Err(CliError::write("standard output", &error)),
        _ => Ok(()),
    }
}

/// Writes a line to stderr; a closed stderr is no error.
pub(crate) fn say(line: &str) {
    let _ = writeln!(io::stderr(), "{line}");
}
