//! Why a way of discovery has no answer.

use std::io;
use std::time::Duration;

use thiserror::Error;

/// Why a look of a way of discovery failed. The next look may go well.
#[derive(Debug, Error)]
pub enum DiscoveryError {
    /// A file cannot be read.
    #[error(transparent)]
    File(#[from] io::Error),
    /// A lease file is something else: its kind.
    #[error("it is {0}, no regular file: write the path of the file in which the DHCP server keeps its leases")]
    NoFile(&'static str),
    /// A lease file is longer than so many MB.
    #[error("it is longer than {0} MB: is this the DHCP server's lease file? Let the server clean it up")]
    Long(u64),
    /// The kernel, or a program that cannot be run.
    #[error("{what}: {reason}")]
    System {
        /// What was tried.
        what: &'static str,
        /// The system's words.
        reason: io::Error,
    },
    /// Nobody answers.
    #[error("no answer within {0:?}")]
    NoAnswer(Duration),
    /// A program does not end.
    #[error("the answer did not end within {0:?}")]
    NoEnd(Duration),
    /// A program failed: its first line of errors, without what a terminal obeys.
    #[error("{0}")]
    Failed(String),
    /// An SNMP agent.
    #[error(transparent)]
    Agent(#[from] AgentError),
}

/// What an SNMP agent does wrong.
#[derive(Debug, Error)]
pub enum AgentError {
    /// It has no table there.
    #[error(
        "the agent has no table {0}, nor anything beside it: is `table` (or `oid`) right for this AP, and may this community read it?"
    )]
    NoTable(String),
    /// It does not answer.
    #[error("no answer: is it there, may this box ask it, and is the community right?")]
    Silent,
    /// This system has no socket for it.
    #[error(transparent)]
    Socket(#[from] io::Error),
    /// Its answer is not SNMP version 2c, or nothing can be sent to it.
    #[error("{0}")]
    Session(String),
    /// It answers with an error status.
    #[error("the agent answers with error {0}")]
    Status(u32),
    /// An object identifier of its answer is malformed.
    #[error("the agent answers with a malformed object identifier")]
    Malformed,
    /// It repeats itself.
    #[error("the agent repeats rows: its object identifiers do not increase")]
    Backwards,
    /// The table takes too long.
    #[error("it took longer than {0:?}")]
    Slow(Duration),
    /// The table is too long.
    #[error("more than {0} rows")]
    Long(usize),
}

impl From<snmp2::Error> for AgentError {
    fn from(error: snmp2::Error) -> Self {
        match error {
            snmp2::Error::Receive => AgentError::Silent,
            error => AgentError::Session(error.to_string()),
        }
    }
}
