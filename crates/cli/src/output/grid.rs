//! Columns that align, whatever the width of the letters.

use unicode_width::UnicodeWidthStr;

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
    fn bars_fill_by_eighths() {
        assert_eq!(bar(1.0, 3), "███");
        assert_eq!(bar(0.5, 3), "█▌ ");
        assert_eq!(bar(0.0, 3), "   ");
        assert_eq!(bar(2.0, 2), "██");
    }
}
