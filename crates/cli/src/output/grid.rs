//! Columns that align, whatever the width of the letters.

use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

use super::Page;
use super::quantity::Quantity;

/// Where a cell's text stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Align {
    /// At the column's left.
    Left,
    /// At its right.
    Right,
}

/// `text` padded to `width` columns of the terminal.
pub(crate) fn pad(text: &str, width: usize, align: Align) -> String {
    let space = " ".repeat(width.saturating_sub(text.width()));
    match align {
        Align::Left => format!("{text}{space}"),
        Align::Right => format!("{space}{text}"),
    }
}

/// The cells of a column at one width.
pub(crate) fn column(cells: &[String], align: Align) -> Vec<String> {
    let width = cells.iter().map(|cell| cell.width()).max().unwrap_or_default();
    cells.iter().map(|cell| pad(cell, width, align)).collect()
}

/// A column of quantities under its title: means right-aligned, then spreads, then units.
pub(crate) fn quantities(title: &str, cells: &[Quantity]) -> Vec<String> {
    let part = |part: fn(&Quantity) -> &str, align| -> Vec<String> {
        column(&cells.iter().map(|cell| part(cell).to_owned()).collect::<Vec<_>>(), align)
    };
    let means = part(|cell| &cell.mean, Align::Right);
    let spreads = part(|cell| &cell.spread, Align::Left);
    let units = part(|cell| cell.unit, Align::Left);
    let joined = means.into_iter().zip(spreads).zip(units).map(|((mean, spread), unit)| {
        let parts = [mean, spread, unit];
        parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(" ")
    });
    titled(title, joined.collect(), Align::Right)
}

/// A column under its title.
pub(crate) fn titled(title: &str, cells: Vec<String>, align: Align) -> Vec<String> {
    let mut all = vec![title.to_owned()];
    all.extend(cells);
    column(&all, align)
}

/// Columns beside each other.
#[derive(Default)]
pub(crate) struct Table {
    /// How long a column is kept, and its cells, the title first.
    columns: Vec<(Keep, Vec<String>)>,
}

/// Which columns go first when the page is narrow.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Keep {
    /// First to go.
    Extra,
    /// Second to go.
    Useful,
    /// Last to go.
    Mostly,
    /// Stays.
    Always,
}

/// Between columns.
const GAP: &str = "  ";

impl Table {
    /// Adds a column of cells of one width each, as [`titled`] and [`quantities`] make them.
    pub(crate) fn add(&mut self, keep: Keep, cells: Vec<String>) {
        self.columns.push((keep, cells));
    }

    fn width(&self) -> usize {
        let widths = self.columns.iter().map(|(_, cells)| cells.first().map_or(0, |cell| cell.width()));
        widths.sum::<usize>() + GAP.len() * self.columns.len().saturating_sub(1)
    }

    /// The lines with texts that are never cut, one a row: beside the columns where the page has room for them, else below and numbered.
    pub(crate) fn lines_with(mut self, title: &str, texts: &[String], page: Page) -> Vec<String> {
        let kept = self.columns.iter().filter(|(keep, _)| *keep == Keep::Always);
        let kept: usize = kept.map(|(_, cells)| cells.first().map_or(0, |cell| cell.width()) + GAP.len()).sum();
        let column = titled(title, texts.to_owned(), Align::Left);
        if kept + column.first().map_or(0, |cell| cell.width()) <= page.width {
            self.add(Keep::Always, column);
            return self.lines(page);
        }
        let numbers = (1..=texts.len()).map(|number| number.to_string()).collect();
        self.columns.insert(0, (Keep::Always, titled("", numbers, Align::Right)));
        let mut lines = self.lines(page);
        let indented = textwrap::Options::new(page.width).subsequent_indent("      ");
        for (number, text) in (1..).zip(texts) {
            let line = format!("{number:>4}: {text}");
            lines.extend(textwrap::wrap(&line, &indented).into_iter().map(Into::into));
        }
        lines
    }

    /// The lines, at most `page.width` wide; a line that names the columns left out. Where even the columns that always
    /// stay are too wide, lines are cut.
    pub(crate) fn lines(mut self, page: Page) -> Vec<String> {
        let mut left_out = Vec::new();
        while self.width() > page.width {
            let least = self.columns.iter().map(|(keep, _)| *keep).min();
            let drop_at = self.columns.iter().rposition(|(keep, _)| Some(*keep) == least && *keep != Keep::Always);
            let Some(drop_at) = drop_at else { break };
            left_out.push(self.columns.remove(drop_at).1[0].trim().to_owned());
        }
        let lines = self.columns.first().map_or(0, |(_, cells)| cells.len());
        let line = |number: usize| {
            let cells: Vec<&str> = self.columns.iter().map(|(_, cells)| cells[number].as_str()).collect();
            cut(cells.join(GAP).trim_end(), page.width)
        };
        let mut lines: Vec<String> = (0..lines).map(line).collect();
        if let Some(title) = lines.first_mut() {
            *title = page.style.bold(title);
        }
        left_out.retain(|title| !title.is_empty());
        if !left_out.is_empty() {
            left_out.reverse();
            let note = format!("left out at this width: {}; --wide shows all", left_out.join("; "));
            lines.extend(page.wrapped(&note).iter().map(|line| page.style.dim(line)));
        }
        lines
    }
}

/// `text` in at most `width` columns; what is cut ends in an ellipsis.
pub(crate) fn cut(text: &str, width: usize) -> String {
    if text.width() <= width {
        return text.to_owned();
    }
    let mut kept = String::new();
    for letter in text.chars() {
        if kept.width() + letter.width().unwrap_or(0) + 1 > width {
            break;
        }
        kept.push(letter);
    }
    kept.push('…');
    kept
}

/// A bar of `width` terminal columns, filled to `share` in eighths of a column.
pub(crate) fn bar(share: f64, width: usize) -> String {
    const EIGHTHS: [&str; 8] = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"];
    let eighths = (share.clamp(0.0, 1.0) * width as f64 * 8.0).round() as usize;
    pad(&format!("{}{}", "█".repeat(eighths / 8), EIGHTHS[eighths % 8]), width, Align::Left)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wide_letters_take_two_columns() {
        assert_eq!(pad("駅", 4, Align::Left), "駅  ");
        assert_eq!(pad("é", 3, Align::Right), "  é");
    }

    #[test]
    fn means_align_and_missing_parts_leave_room() {
        let known = Quantity { mean: "4.91".into(), spread: "± 0.05".into(), unit: "Mb/s" };
        assert_eq!(
            quantities("up", &[known, Quantity::none()]),
            ["              up", "4.91 ± 0.05 Mb/s", "   -            ",]
        );
    }

    #[test]
    fn a_narrow_page_loses_the_least_columns_first_and_says_so() {
        let table = || {
            let mut table = Table::default();
            let column = |title: &str| titled(title, vec!["x".repeat(10)], Align::Left);
            table.add(Keep::Always, column("name"));
            table.add(Keep::Extra, column("odd"));
            table.add(Keep::Useful, column("delay"));
            table.add(Keep::Always, column("remedy"));
            table
        };
        let page = |width| Page { width, ..Page::FILE };
        assert_eq!(table().lines(page(46)).len(), 2, "all fits");
        let narrow = table().lines(page(40));
        assert!(narrow[0].contains("delay") && !narrow[0].contains("odd"), "{narrow:?}");
        assert!(narrow[2].starts_with("left out") && narrow[2].contains("odd"), "{narrow:?}");
        let tiny = table().lines(page(18));
        assert_eq!(tiny[1], "xxxxxxxxxx  xxxxx…");
        assert!(tiny.iter().all(|line| line.width() <= 18), "{tiny:?}");
    }

    #[test]
    fn what_must_not_be_cut_goes_below_a_narrow_table() {
        let table = || {
            let mut table = Table::default();
            table.add(Keep::Always, titled("total", vec!["5.1 Mb/s".to_owned(), "4 Mb/s".to_owned()], Align::Right));
            table
        };
        let remedies = || vec!["queue = { kind = \"las\" }".to_owned(), "nothing".to_owned()];
        let page = |width| Page { width, ..Page::FILE };
        assert_eq!(table().lines_with("remedy", &remedies(), page(34))[1], "5.1 Mb/s  queue = { kind = \"las\" }");
        let narrow = table().lines_with("remedy", &remedies(), page(20));
        assert_eq!(narrow[1..3], ["1  5.1 Mb/s", "2    4 Mb/s"]);
        assert_eq!(narrow[3..], ["   1: queue = { kind", "      = \"las\" }", "   2: nothing"]);
    }

    #[test]
    fn bars_fill_by_eighths() {
        assert_eq!(bar(1.0, 3), "███");
        assert_eq!(bar(0.5, 3), "█▌ ");
        assert_eq!(bar(0.0, 3), "   ");
        assert_eq!(bar(2.0, 2), "██");
    }
}
