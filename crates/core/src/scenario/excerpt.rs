//! The part of a scenario file that an error shows.

use std::ops::Range;

use miette::{MietteError, MietteSpanContents, SourceCode, SourceSpan, SpanContents};

/// Most letters of one line that an error shows.
const MOST: usize = 200;
/// Letters before the mistake that a cut line keeps.
const BEFORE: usize = 80;

/// A file's text with its long lines cut around the mistake. Lines and columns are those of the file.
#[derive(Debug)]
pub(super) struct Excerpt {
    file: String,
    shown: String,
    lines: Vec<Line>,
}

#[derive(Debug)]
struct Line {
    /// In the file.
    whole: Range<usize>,
    /// The part in the file that is shown.
    kept: Range<usize>,
    /// Where the kept part begins in what is shown.
    at: usize,
}

impl Excerpt {
    /// `text` of `file` around the byte `mistake`.
    pub(super) fn new(file: &str, text: &str, mistake: usize) -> Self {
        let mut excerpt = Excerpt { file: file.to_owned(), shown: String::new(), lines: Vec::new() };
        let mut begin = 0;
        while begin < text.len() {
            let end = (begin..text.len()).find(|at| ends_line(text, *at)).map_or(text.len(), |at| at + 1);
            let whole = begin..end;
            begin = whole.end;
            let line = &text[whole.clone()];
            let ending = line.len() - line.trim_end_matches(['\n', '\r']).len();
            let kept = kept(text, whole.start..whole.end - ending, mistake);
            excerpt.lines.push(Line { whole: whole.clone(), kept: kept.clone(), at: excerpt.shown.len() });
            excerpt.shown.push_str(&text[kept]);
            excerpt.shown.push_str(&text[whole.end - ending..whole.end]);
        }
        excerpt
    }

    /// Where bytes of the file stand in what is shown.
    pub(super) fn span(&self, of: &Range<usize>) -> Range<usize> {
        let place = |byte: usize| {
            let line = self.lines.iter().find(|line| byte < line.whole.end);
            // A parser's place may be behind the last line.
            line.map_or(self.shown.len(), |line| line.at + byte.clamp(line.kept.start, line.kept.end) - line.kept.start)
        };
        let start = place(of.start);
        start..place(of.end).max(start)
    }
}

/// Whether a line ends with the byte at `at`, as miette counts lines: with `\n`, `\r\n` or a lone `\r`.
pub(super) fn ends_line(text: &str, at: usize) -> bool {
    let bytes = text.as_bytes();
    bytes[at] == b'\n' || bytes[at] == b'\r' && bytes.get(at + 1) != Some(&b'\n')
}

/// The part of the line at `line` that is shown.
fn kept(text: &str, line: Range<usize>, mistake: usize) -> Range<usize> {
    if line.len() <= MOST {
        return line;
    }
    let start = if line.contains(&mistake) { mistake.saturating_sub(BEFORE).max(line.start) } else { line.start };
    let end = (start + MOST).min(line.end);
    text.floor_char_boundary(start)..text.floor_char_boundary(end)
}

impl SourceCode for Excerpt {
    fn read_span<'a>(
        &'a self,
        span: &SourceSpan,
        lines_before: usize,
        lines_after: usize,
    ) -> Result<Box<dyn SpanContents<'a> + 'a>, MietteError> {
        let found = self.shown.read_span(span, lines_before, lines_after)?;
        // Context begins where its line does; a place inside a line is counted from the line's begin in the file.
        let left_out = match (found.column(), self.lines.get(found.line())) {
            (0, _) | (_, None) => 0,
            (_, Some(line)) => line.kept.start - line.whole.start,
        };
        let (line, column) = (found.line(), found.column() + left_out);
        let contents = MietteSpanContents::new_named(
            self.file.clone(),
            found.data(),
            *found.span(),
            line,
            column,
            found.line_count(),
        );
        Ok(Box::new(contents.with_language("toml")))
    }
}

#[cfg(test)]
mod tests {
    use super::super::error::Mistake;

    #[test]
    fn a_long_line_is_cut_around_the_mistake() {
        let before = "x".repeat(5000);
        let text = format!("first = 1\nlong = \"{before}\", oops = {}\nlast = 2\n", "9".repeat(3000));
        let at = text.find("oops").unwrap();
        let error = Mistake::new(&(at..at + 4), "`oops` is no key", "mend it").within(&text, "cell.toml");
        let shown = format!("{:?}", miette::Report::new(error));
        assert!(shown.contains("cell.toml:2:5012"), "{shown}");
        assert_eq!(shown.matches("2:5012").count(), 2, "message and excerpt name the same place: {shown}");
        assert!(shown.contains("oops"), "{shown}");
        assert!(shown.lines().all(|line| line.chars().count() < 240), "{shown}");
    }

    #[test]
    fn a_long_value_in_the_words_is_cut() {
        let long = "y".repeat(5000);
        let text = format!("a = \"{long}\"\n");
        let error = Mistake::new(&(4..5006), format!("`{long}` is no rate"), "write one").within(&text, "cell.toml");
        let words = error.to_string();
        assert!(words.chars().count() < 260 && words.ends_with("is no rate"), "{words}");
    }
}
