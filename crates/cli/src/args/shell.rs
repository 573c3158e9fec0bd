//! Options of what packages are made with: man pages and completions.

use std::path::PathBuf;

use clap::Args;
use clap_complete::Shell;

/// Options of `fairair man`.
#[derive(Clone, Debug, Args)]
pub struct ManArgs {
    /// Where the pages go; an existing directory.
    #[arg(value_name = "DIR")]
    pub directory: PathBuf,
}

/// Options of `fairair completions`.
#[derive(Clone, Debug, Args)]
pub struct CompletionsArgs {
    /// The shell.
    #[arg(value_enum)]
    pub shell: Shell,
}
