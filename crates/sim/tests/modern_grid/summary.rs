//! What the grid comes to.

use std::fmt::Write as _;

use super::Row;

/// Absolute relative errors in ascending order.
#[derive(Clone, Debug, Default)]
pub(crate) struct Errors(Vec<f64>);

impl Errors {
    fn of(pairs: impl Iterator<Item = (f64, f64)>) -> Self {
        let mut errors: Vec<f64> = pairs.map(|(model, simulated)| (model / simulated - 1.0).abs()).collect();
        errors.sort_by(f64::total_cmp);
        Errors(errors)
    }

    /// The error that this share of the cells is not above.
    pub(crate) fn percentile(&self, share: f64) -> f64 {
        let index = ((self.0.len() as f64 * share).ceil() as usize).saturating_sub(1);
        self.0.get(index).copied().unwrap_or(0.0)
    }
}

/// Errors of all cells, or of some.
pub(crate) struct Summary {
    /// R: total goodput.
    pub(crate) goodput: Errors,
    /// Level where no flow is starved.
    pub(crate) level: Errors,
    pub(crate) starved: usize,
    pub(crate) flagged: usize,
    pub(crate) false_flags: usize,
    pub(crate) cells: usize,
}

impl Summary {
    pub(crate) fn of<'a>(rows: impl Iterator<Item = &'a Row> + Clone) -> Self {
        let fair = rows.clone().filter(|row| !row.starved);
        Summary {
            goodput: Errors::of(rows.clone().map(|row| (row.unified_goodput, row.goodput))),
            level: Errors::of(fair.filter_map(|row| row.unified_level.zip(row.level))),
            starved: rows.clone().filter(|row| row.starved).count(),
            flagged: rows.clone().filter(|row| row.starved && row.unified_starved).count(),
            false_flags: rows.clone().filter(|row| !row.starved && row.unified_starved).count(),
            cells: rows.count(),
        }
    }

    fn line(&self, name: &str) -> String {
        let percent = |errors: &Errors, share: f64| format!("{:.1}", 100.0 * errors.percentile(share));
        format!(
            "| {name} | {} | {}, {} % | {} | {}, {} % | {}, {}, {} |\n",
            self.cells,
            percent(&self.goodput, 0.5),
            percent(&self.goodput, 0.9),
            self.level.0.len(),
            percent(&self.level, 0.5),
            percent(&self.level, 0.9),
            self.starved,
            self.flagged,
            self.false_flags
        )
    }
}

/// What the rows come to, all together, and the table of medians and 90th percentiles.
pub(crate) fn summaries(rows: &[Row]) -> (Summary, String) {
    let mut text =
        "| cells | n | R: median, 90th | n | level: median, 90th | starved, flagged, false flags |\n".to_owned();
    text += "|---|---|---|---|---|---|\n";
    let mut line = |name: &str, of: &dyn Fn(&Row) -> bool| {
        let _ = write!(text, "{}", Summary::of(rows.iter().filter(|row| of(row))).line(name));
    };
    line("all", &|_| true);
    for queue in ["shared-fifo", "mac80211", "no-rx", "turns"] {
        line(queue, &|row| row.queue == queue);
    }
    line("both ways", &|row| row.up > 0 && row.down > 0);
    line("one way", &|row| row.up == 0 || row.down == 0);
    line("no errors", &|row| row.error <= 0.0);
    line("errors", &|row| row.error > 0.0);
    (Summary::of(rows.iter()), text)
}
