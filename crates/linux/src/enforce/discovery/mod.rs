//! Discovery of stations: several sources behind one trait.

mod associations;
mod error;
mod hostapd;
mod kernel;
mod leases;
mod passing;
mod snmp;
mod survey;
mod way;
mod ways;
mod workers;

pub use associations::Associations;
pub use error::{AgentError, DiscoveryError};
pub use hostapd::Hostapd;
pub use kernel::{FirstSight, Neighbours};
pub use leases::Leases;
pub use passing::Passing;
pub use snmp::Snmp;
pub use survey::{Iw, parse_iw};
pub use way::{Discovery, NEWCOMERS, Sighting, Source, Way};
pub(super) use way::{sanitized, sanitized_line};
pub use ways::ways;
pub use workers::{Report, Workers};
