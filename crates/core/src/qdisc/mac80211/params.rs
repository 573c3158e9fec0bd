//! Parameters of the discipline.

use serde::{Deserialize, Serialize};

use crate::units::{Bytes, Duration};

/// Parameters of [`Mac80211`](super::Mac80211); the defaults are Linux'.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[allow(clippy::struct_excessive_bools)] // Parts that are switched off apart.
pub struct Mac80211Params {
    /// Packets that wait in all flows together (`fq_init`: 8192).
    pub limit: usize,
    /// Memory of all packets that wait (`ieee80211_txq_setup_flows`: 16 MiB with VHT or HE).
    pub memory: Bytes,
    /// Flow queues of all stations together (`fq_init`: 4096).
    pub flows: u32,
    /// Bytes of a flow in a turn (`fq_init`: 300).
    pub quantum: u64,
    /// Whether flows are under CoDel.
    pub codel: bool,
    /// CoDel's target (`ieee80211_txq_setup_flows`: 20 ms).
    pub target: Duration,
    /// CoDel's interval (100 ms).
    pub interval: Duration,
    /// Whether stations take turns by airtime; otherwise one after the other (MediaTek's drivers).
    pub airtime: bool,
    /// Whether the air of frames from a station is charged to it, too (`airtime_flags` with `AIRTIME_USE_RX`, the default). `false` is
    /// what drivers do that do not report it.
    pub rx_airtime: bool,
    /// Whether the air of what the driver holds has limits.
    pub aql: bool,
}

impl Default for Mac80211Params {
    fn default() -> Self {
        Mac80211Params {
            limit: 8192,
            memory: Bytes(16 << 20),
            flows: 4096,
            quantum: 300,
            codel: true,
            target: Duration::from_millis(20),
            interval: Duration::from_millis(100),
            airtime: true,
            rx_airtime: true,
            aql: true,
        }
    }
}
