//! The heart of FairAir: everything that decides who gets the air, with no input or output of its own.
//!
//! Time is an argument throughout: a state machine takes `now` and answers `poll_timeout`; the
//! simulator, the emulator and the live box drive the same code with different clocks.

pub mod ap;
pub mod cell;
pub mod control;
#[cfg(test)]
mod generated;
pub mod mac;
pub mod metrics;
pub mod model;
pub mod packet;
pub mod preset;
pub mod qdisc;
pub mod record;
pub mod remedy;
pub mod rng;
pub mod scenario;
pub mod shaper;
pub mod tcp;
pub mod units;
