//! What comes out of a run.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

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

/// What is shown of the air.
#[derive(Clone, Debug, Args)]
pub struct CaptureArgs {
    /// Write the frames on the air in replica 0 to FILE: pcap with radiotap headers, for Wireshark.
    ///
    /// `-` is standard output; the report goes to standard error then.
    #[arg(long, value_name = "FILE")]
    pub pcap: Option<PathBuf>,

    /// Write every PPDU of replica 0 to FILE, a Parquet table with a row each.
    #[arg(long, value_name = "FILE")]
    pub trace: Option<PathBuf>,
}
