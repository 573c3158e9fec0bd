//! What EDCA, aggregation and BlockAck add to the rules of a cell.

use serde::{Deserialize, Serialize};

use super::phy::{LONGEST_PPDU, Phy};
use crate::packet::Category;
use crate::preset::Preset;
use crate::units::{Bytes, Duration};

/// How one access category contends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AccessParams {
    /// AIFS in slots after SIFS.
    pub aifsn: u32,
    /// Smallest contention window.
    pub cw_min: u32,
    /// Largest contention window.
    pub cw_max: u32,
    /// TXOP limit; zero: one PPDU and its answer an access.
    pub txop: Duration,
}

/// How the categories contend, most urgent first, at the AP and at stations.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EdcaParams {
    /// At the AP.
    pub ap: [AccessParams; 4],
    /// At stations: what the AP advertises.
    pub stations: [AccessParams; 4],
}

const fn access(aifsn: u32, cw_min: u32, cw_max: u32, txop_us: u64) -> AccessParams {
    AccessParams { aifsn, cw_min, cw_max, txop: Duration::from_micros(txop_us) }
}

impl EdcaParams {
    /// IEEE 802.11-2020 Table 9-155 with an OFDM PHY, for AP and stations.
    pub const STANDARD: EdcaParams = {
        let all =
            [access(2, 3, 7, 2_080), access(2, 7, 15, 4_096), access(3, 15, 1023, 2_528), access(7, 15, 1023, 2_528)];
        EdcaParams { ap: all, stations: all }
    };

    /// hostapd.conf's defaults: `tx_queue_data*` for the AP, `wmm_ac_*` for stations.
    pub const HOSTAPD: EdcaParams = EdcaParams {
        ap: [access(1, 3, 7, 1_500), access(1, 7, 15, 3_000), access(3, 15, 63, 0), access(7, 15, 1023, 0)],
        stations: [access(2, 3, 7, 1_504), access(2, 7, 15, 3_008), access(3, 15, 1023, 0), access(7, 15, 1023, 0)],
    };

    /// OpenWrt's: hostapd's with bursts of 2 ms for best effort at the AP.
    pub const OPENWRT: EdcaParams = {
        let mut edca = EdcaParams::HOSTAPD;
        edca.ap[Category::BestEffort.index()].txop = Duration::from_millis(2);
        edca
    };

    /// ns-3.44's for AP and stations: the standard's without TXOPs for best effort and background.
    pub const NS3: EdcaParams = {
        let mut edca = EdcaParams::STANDARD;
        let none = Duration::ZERO;
        edca.ap[Category::BestEffort.index()].txop = none;
        edca.ap[Category::Background.index()].txop = none;
        edca.stations[Category::BestEffort.index()].txop = none;
        edca.stations[Category::Background.index()].txop = none;
        edca
    };

    /// All of these, as `preset` of `[radio.edca]` names them.
    pub const NAMED: [(&str, EdcaParams); 4] = [
        ("hostapd", EdcaParams::HOSTAPD),
        ("openwrt", EdcaParams::OPENWRT),
        ("802.11-2020", EdcaParams::STANDARD),
        ("ns3", EdcaParams::NS3),
    ];

    /// Those of a scenario that names none.
    pub const fn usual(preset: Preset) -> EdcaParams {
        match preset {
            Preset::Ns3 => EdcaParams::NS3,
            Preset::Standard | Preset::Ns2 => EdcaParams::HOSTAPD,
        }
    }
}

/// The limits of an A-MPDU besides those of its duration.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Aggregation {
    /// Longest A-MPDU.
    pub max_bytes: Bytes,
    /// BlockAck window: MPDUs from the oldest that is not acknowledged on.
    pub window: usize,
    /// MPDUs of an A-MPDU at most; `None`: the window.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_mpdus: Option<usize>,
    /// Longest PPDU of several MPDUs; `None`: [`LONGEST_PPDU`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_duration: Option<Duration>,
}

impl Aggregation {
    /// Limits of bytes and of the BlockAck window alone.
    pub const fn new(max_bytes: Bytes, window: usize) -> Self {
        Aggregation { max_bytes, window, max_mpdus: None, max_duration: None }
    }

    /// As a station of `phy` can have it: the limits of its PHY hold, too.
    #[must_use]
    pub fn within(self, phy: Phy) -> Self {
        let (bytes, window) = phy.most_aggregated();
        Aggregation { max_bytes: self.max_bytes.min(Bytes(bytes)), window: self.window.min(window), ..self }
    }

    /// MPDUs of an A-MPDU at most.
    pub fn most_mpdus(&self) -> usize {
        self.max_mpdus.map_or(self.window, |most| most.min(self.window))
    }

    /// Longest PPDU of several MPDUs.
    pub fn longest_ppdu(&self) -> Duration {
        self.max_duration.unwrap_or(LONGEST_PPDU)
    }
}

/// The rules of a QoS cell: what a cell under DCF has not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QosParams {
    /// How categories contend.
    pub edca: EdcaParams,
    /// Categories that are used: each is an access function at each node.
    pub categories: [bool; 4],
    /// `None`: one MPDU a PPDU.
    pub aggregation: Option<Aggregation>,
    /// Longest A-MSDU; `None`: each packet is an MPDU.
    pub amsdu: Option<Bytes>,
    /// Whether a missing BlockAck is asked for by a BlockAckReq; otherwise the data are sent again at once.
    pub bar: bool,
    /// PSDUs longer than this are announced by RTS; `None`: none.
    pub rts_above: Option<Bytes>,
    /// PPDUs that last longer than this are announced by RTS, too; `None`: none.
    pub rts_longer: Option<Duration>,
    /// Attempts of an MPDU in all; `None`: without limit.
    pub retry_limit: Option<u32>,
    /// Time from an MPDU's arrival at the queue to when it is given up; `None`: none.
    pub lifetime: Option<Duration>,
    /// Whether the MPDUs of an A-MPDU are handed up one by one as they arrive (ns-3), or together at the PPDU's end.
    pub hand_up_early: bool,
}

/// BlockAck window with aggregation off: the agreement is there, PPDUs carry one MPDU.
const WINDOW_WITHOUT_AGGREGATION: usize = 64;

impl QosParams {
    /// The BlockAck window.
    pub fn window(&self) -> usize {
        self.aggregation.map_or(WINDOW_WITHOUT_AGGREGATION, |aggregation| aggregation.window)
    }

    /// MPDUs that a PPDU carries at most.
    pub fn most_mpdus(&self) -> usize {
        self.aggregation.map_or(1, |aggregation| aggregation.most_mpdus())
    }

    /// Longest A-MSDU to and from a station of `phy`; 0: none. See [`Phy::most_amsdu`].
    pub fn most_amsdu(&self, phy: Phy) -> u64 {
        let most = phy.most_amsdu(self.aggregation.is_some());
        self.amsdu.map_or(0, |amsdu| amsdu.0.min(most))
    }

    /// Only best effort is used.
    pub const BEST_EFFORT: [bool; 4] = [false, false, true, false];
}
