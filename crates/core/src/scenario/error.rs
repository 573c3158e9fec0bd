//! What is wrong with a scenario file: where, why, and how to mend it.

use std::ops::Range;

use miette::{Diagnostic, LabeledSpan};
use thiserror::Error;

use super::excerpt::{Excerpt, ends_line};
use crate::units::is_invisible;

/// Bytes of the file that a value or a key covers.
pub type Span = Range<usize>;

/// The answer of every reader of this module.
pub type Checked<T> = Result<T, Mistake>;

/// Why a scenario could not be had. `Display` gives one line that begins with `file:line:column:`;
/// as a [`miette::Report`] it also shows the line of the file and the fix.
#[derive(Debug, Error, Diagnostic)]
pub enum ScenarioError {
    /// The file could not be read at all.
    #[error("{path}: cannot read the {what} file: {reason}")]
    Unreadable {
        /// The path as it was given.
        path: String,
        /// What the file is.
        what: &'static str,
        /// The system's words.
        reason: String,
        /// What to do.
        #[help]
        fix: String,
    },
    /// Its text is no scenario.
    #[error(transparent)]
    #[diagnostic(transparent)]
    Invalid(#[from] Box<InvalidScenario>),
}

/// The first mistake of a scenario file.
#[derive(Debug, Error, Diagnostic)]
#[error("{file}:{line}:{column}: {problem}")]
pub struct InvalidScenario {
    /// Name of the file.
    pub file: String,
    /// Line, from 1.
    pub line: usize,
    /// Column in bytes, from 1.
    pub column: usize,
    /// What is wrong.
    pub problem: String,
    /// How to mend it.
    #[help]
    pub fix: String,
    #[source_code]
    source_code: Excerpt,
    #[label(collection)]
    labels: Vec<LabeledSpan>,
}

impl ScenarioError {
    /// How to mend it, in one or two lines.
    pub fn fix(&self) -> &str {
        match self {
            ScenarioError::Unreadable { fix, .. } => fix,
            ScenarioError::Invalid(invalid) => &invalid.fix,
        }
    }
}

/// A mistake on its way out, still without the file around it.
#[derive(Debug)]
pub struct Mistake(Box<Facts>);

/// Boxed, because every reader's answer has room for one.
#[derive(Debug)]
struct Facts {
    span: Span,
    problem: String,
    fix: String,
    also: Option<(Span, String)>,
}

impl Mistake {
    /// A mistake at `span`.
    pub fn new(span: &Span, problem: impl Into<String>, fix: impl Into<String>) -> Self {
        Mistake(Box::new(Facts { span: span.clone(), problem: problem.into(), fix: fix.into(), also: None }))
    }

    /// Points at a second place that has to do with it.
    #[must_use]
    pub fn and(mut self, span: &Span, label: impl Into<String>) -> Self {
        self.0.also = Some((span.clone(), label.into()));
        self
    }

    /// The public error, with the file's text around the mistake.
    pub fn within(self, text: &str, file: &str) -> ScenarioError {
        let Facts { span, problem, fix, also } = *self.0;
        let span = clamp(text, &span);
        let (line, column) = position(text, span.start);
        let source_code = Excerpt::new(file, &printable(text), span.start);
        let mut labels = vec![LabeledSpan::new_primary_with_span(Some("here".to_owned()), source_code.span(&span))];
        let also = also.map(|(span, label)| (source_code.span(&clamp(text, &span)), label));
        labels.extend(also.map(|(span, label)| LabeledSpan::new_with_span(Some(label), span)));
        ScenarioError::Invalid(Box::new(InvalidScenario {
            file: file.to_owned(),
            line,
            column,
            problem: printable(&quoted(&problem)),
            fix: printable(&quoted(&fix)),
            source_code,
            labels,
        }))
    }
}

/// `text` with a question mark for each byte of what is not seen, so that a file that is no text cannot command the terminal
/// that shows it. Lines, tabs and the places of all else stay.
fn printable(text: &str) -> String {
    let harmless = |c: char| !is_invisible(c) || matches!(c, '\n' | '\r' | '\t');
    let mut shown = String::with_capacity(text.len());
    for c in text.chars() {
        if harmless(c) { shown.push(c) } else { shown.extend(std::iter::repeat_n('?', c.len_utf8())) }
    }
    shown
}

/// `text` with what stands between backticks cut to a length that one reads.
fn quoted(text: &str) -> String {
    const MOST: usize = 120;
    let cut = |(number, part): (usize, &str)| match part.char_indices().nth(MOST) {
        Some((end, _)) if number % 2 == 1 => format!("{}…", &part[..end]),
        _ => part.to_owned(),
    };
    text.split('`').enumerate().map(cut).collect::<Vec<_>>().join("`")
}

/// `span` inside `text`, on character boundaries: a parser's span may point just behind the end.
fn clamp(text: &str, span: &Span) -> Span {
    let floor = |at: usize| {
        let at = text.floor_char_boundary(at);
        at - usize::from(text[..at].ends_with('\r') && text[at..].starts_with('\n'))
    };
    let start = floor(span.start);
    start..floor(span.end).max(start)
}

/// Line and column of a byte, both from 1, counted as miette counts them so that both places agree.
pub(super) fn position(text: &str, offset: usize) -> (usize, usize) {
    let ends = (0..offset).filter(|at| ends_line(text, *at));
    let (lines, start) = ends.fold((1, 0), |(lines, _), at| (lines + 1, at + 1));
    (lines, offset - start + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_binary_file_does_not_command_the_terminal() {
        let text = "name = \"\u{1b}[2Jcell\u{9b}\"\nrate = 1\n";
        let shown = printable(text);
        assert_eq!(shown, "name = \"?[2Jcell??\"\nrate = 1\n");
        assert_eq!(shown.len(), text.len(), "places stay");
        let at = text.find("rate").unwrap();
        let error = Mistake::new(&(at..at + 4), "`\u{7}` is no key", "mend it").within(text, "cell.toml");
        let shown = format!("{:?}", miette::Report::new(error));
        assert!(!shown.contains(['\u{7}', '\u{9b}']) && !shown.contains("\u{1b}[2J"), "{shown}");
    }
}
