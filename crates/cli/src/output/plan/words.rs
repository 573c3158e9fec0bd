//! Words and numbers of a plan's text.

use fairair_core::metrics::Estimate;

use crate::output::Page;
use crate::output::quantity::Quantity;

/// The rung of a proof.
pub(super) const PROVED: u64 = 3;

/// Lines in bold.
pub(super) fn bold(page: Page, text: &str) -> Vec<String> {
    page.wrapped(text).iter().map(|line| page.style.bold(line)).collect()
}

/// A snippet in one line.
pub(super) fn short(snippet: &str) -> String {
    match snippet.split_once('\n') {
        None => "the cell as it is".to_owned(),
        Some((table, keys)) => format!("{table} {}", keys.replace('\n', ", ").replace("], ", "] ")),
    }
}

/// A bit rate with its doubt.
pub(super) fn rate(mean: f64, ci95: Option<f64>) -> String {
    Quantity::rate(Estimate { mean: Some(mean), ci95, n: 0 }).text()
}
