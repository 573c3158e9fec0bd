//! How a testbed is built.

use std::ffi::OsString;

use fairair_core::units::Duration;
use serde::Serialize;

/// What becomes of a station's frames before the radio takes them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Uplink {
    /// The station's queue of the scenario takes them as they come: the whole window waits there, as in the papers' time.
    #[default]
    Deep,
    /// A ring of a few frames with back-pressure: the rest waits in the kernel, where TCP small queues sees it.
    Driver,
}

/// Whose TCP the hosts speak.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum TcpStack {
    /// As the kernel has it; congestion control, segment size and window are the scenario's.
    #[default]
    Linux,
    /// As near to the scenario's `[tcp]` as the kernel can be told.
    Scenario,
}

/// How a testbed is built.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// The stations' way to the radio.
    pub uplink: Uplink,
    /// Whose TCP.
    pub stack: TcpStack,
    /// Whether the hosts know each other's hardware addresses from the start, so that ARP cannot disturb a measurement.
    pub known_neighbours: bool,
    /// Distance of the pings to each station; `None`: no pings.
    pub ping: Option<Duration>,
    /// What begins the command `fairair`, whose `vsb` is to be the scenario's box; `None`: the emulation has its own.
    pub live_box: Option<&'static [OsString]>,
}

/// Frames in the ring of [`Uplink::Driver`].
const RING: usize = 4;

impl Options {
    /// Frames that a station's driver holds at most; `None`: as many as come.
    pub(super) fn ring(self) -> Option<usize> {
        (self.uplink == Uplink::Driver).then_some(RING)
    }
}
