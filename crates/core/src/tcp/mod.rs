//! TCP as two sans-IO machines over byteless segments.

mod params;

pub use params::{TcpParams, Variant};
