//! The live Virtual Shared Bottleneck: kernel datapath, capacity control, discovery, journal.

pub mod config;
pub mod daemon;
pub mod datapath;
pub mod discovery;
mod error;
mod frames;
pub mod history;
pub mod journal;
pub mod log;
mod octets;
mod packets;
pub mod preflight;
pub mod protocol;
mod rehearsal;
pub mod settings;
pub mod setup;
pub mod site;
pub mod state;
#[cfg(test)]
mod testing;
mod writer;

pub use error::VsbError;
