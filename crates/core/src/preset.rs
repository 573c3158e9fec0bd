//! Whose rules MAC and TCP follow.

use serde::{Deserialize, Serialize};

/// A set of rules for MAC and TCP details.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Preset {
    /// As IEEE 802.11 and the RFCs say.
    #[default]
    Standard,
    /// As stock ns-2.35 does; docs/ns2.md lists the differences.
    Ns2,
    /// As ns-3.44 does, for 802.11n, ac and ax; docs/ns3.md lists the differences.
    Ns3,
}
