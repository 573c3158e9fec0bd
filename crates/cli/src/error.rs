//! What can go wrong, and the exit code that says so.

use std::io;
use std::path::PathBuf;
use std::process::ExitCode;

use fairair_core::scenario::ScenarioError;
use miette::Diagnostic;
use thiserror::Error;

/// How a command ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    /// Done.
    Success,
    /// Failed while running.
    Failure,
    /// Bad input or usage; nothing was run.
    BadInput,
    /// Done, but the answer is no: no candidate meets what was asked for.
    Unmet,
    /// Stopped by a signal; what was done has been reported.
    Interrupted,
    /// What a program ended with that was run for the user.
    Program(u8),
}

impl Exit {
    /// The process's exit code.
    pub const fn code(self) -> u8 {
        match self {
            Exit::Success => 0,
            Exit::Failure => 1,
            Exit::BadInput => 2,
            Exit::Unmet => 3,
            Exit::Interrupted => 130,
            Exit::Program(code) => code,
        }
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> ExitCode {
        ExitCode::from(exit.code())
    }
}

/// Why a command gave up.
#[derive(Debug, Error, Diagnostic)]
pub enum CliError {
    /// The scenario file is missing or wrong.
    #[error(transparent)]
    #[diagnostic(transparent)]
    Scenario(#[from] ScenarioError),

    /// Options that do not go together.
    #[error("{what}")]
    Usage {
        /// What is wrong.
        what: String,
        /// What to do about it.
        #[help]
        help: String,
    },

    /// An output could not be written if the run were made.
    #[error("cannot write {}: {reason}", path.display())]
    #[diagnostic(help("nothing has been run; name a place that you may write to"))]
    Unwritable {
        /// The file or directory.
        path: PathBuf,
        /// The system's error in words.
        reason: String,
    },

    /// Writing a result failed after the run.
    #[error("writing {} failed: {reason}", path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// The system's error in words.
        reason: String,
    },

    /// A testbed could not be built or run.
    #[error("{what}")]
    Testbed {
        /// What is wrong.
        what: String,
        /// What to do about it.
        #[help]
        help: String,
    },

    /// The live box, or the daemon that runs it.
    #[error("{what}")]
    Box {
        /// What is wrong.
        what: String,
        /// What to do about it.
        #[help]
        help: String,
        /// Whether nothing was done.
        is_input: bool,
    },

    /// The threads could not be started.
    #[error("cannot start the worker threads: {0}")]
    #[diagnostic(help("try fewer with --jobs"))]
    Threads(String),
}

impl CliError {
    /// `path` could not be written if the run were made.
    pub(crate) fn unwritable(path: impl Into<PathBuf>, error: &io::Error) -> Self {
        CliError::Unwritable { path: path.into(), reason: reason(error) }
    }

    /// Writing `path` failed.
    pub(crate) fn write(path: impl Into<PathBuf>, error: &io::Error) -> Self {
        CliError::Write { path: path.into(), reason: reason(error) }
    }

    /// The exit code that it leads to.
    pub const fn exit(&self) -> Exit {
        match self {
            CliError::Scenario(_)
            | CliError::Usage { .. }
            | CliError::Unwritable { .. }
            | CliError::Box { is_input: true, .. } => Exit::BadInput,
            CliError::Box { .. } | CliError::Write { .. } | CliError::Testbed { .. } | CliError::Threads(_) => {
                Exit::Failure
            }
        }
    }
}

/// The error in words, without the name of a temporary file, which says nothing to a user.
fn reason(error: &io::Error) -> String {
    let text = error.to_string();
    text.split_once(" at path ").map_or(text.as_str(), |(reason, _)| reason).to_owned()
}
