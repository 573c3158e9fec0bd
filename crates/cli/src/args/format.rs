//! Formats of results.

use clap::ValueEnum;

/// What `fairair run` prints on stdout.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// For people.
    Table,
    /// The whole result, see docs/results.md.
    Json,
    /// One row a station; when comparing, one row a remedy.
    Csv,
}
