//! The testbed: namespaces joined by a real-time emulation of the contended half-duplex cell.
//!
//! `emulation` is the ends of the core's cell without input or output, with `frame`, `connections` and `flows` to read
//! real headers and `probes` to write them. `driver` gives it real time and
//! devices, `hand_over` notes how late it was, `rig` builds the namespaces, `stack` sets their TCP, `traffic` runs iperf3,
//! `files` and `datagrams` are what iperf3 cannot do, `live_box` is the daemon, `registry` knows which
//! testbeds stand, `run` makes a replica of it all.

pub mod addresses;
mod connections;
mod datagrams;
mod doctor;
mod driver;
mod emulation;
#[cfg(test)]
mod emulation_tests;
mod error;
mod files;
mod flows;
mod frame;
mod hand_over;
mod live_box;
mod options;
mod probes;
mod registry;
mod rig;
mod run;
mod stack;
mod traffic;

pub use doctor::{Check, examine};
pub use driver::Monitor;
pub use emulation::{Departure, Emulation, EthernetFrame, Port, UncarriedFrames};
pub use error::TestbedError;
pub use hand_over::{HandOver, Minute};
pub use options::{Options, TcpStack, Uplink};
pub use registry::{Entry, PREFIX, clean, standing, take_down};
pub use rig::Rig;
pub use run::{Outcome, check, check_cell, keep, run, run_monitored};
pub use traffic::Pings;
