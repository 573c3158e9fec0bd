//! What a machine is shown and what it answers.

use serde::{Deserialize, Serialize};

use crate::shaper::Totals;
use crate::units::{Bitrate, Bytes, Duration, Instant, sums};

/// What the box has counted of one station.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StationView {
    /// Packets that wait in the box for C.
    pub backlog: usize,
    /// IP bytes since the start of the box.
    pub totals: Totals,
    /// IP bytes of UDP in both directions, where they are counted: their senders may not back off. Of several stations together the
    /// first may have them.
    pub datagrams: Bytes,
    /// Nobody is at this position now: it is not asked.
    pub is_absent: bool,
    /// Packets wait in the box for the most that this station may have, not for C.
    pub is_at_cap: bool,
    /// Air that an IP byte of it takes at its rate, contention included, in ns; 0: unknown.
    pub air_ns: u32,
}

/// How much a machine knows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum State {
    /// Traffic and answers: C follows the cell.
    Run,
    /// Too little traffic to learn from: C stays.
    #[default]
    Idle,
    /// No packet comes from any station: C stays.
    NoSignal,
    /// Traffic, but no probe is answered: C stays.
    Blind,
}

impl State {
    /// All of them.
    pub const ALL: [State; 4] = [State::Run, State::Idle, State::NoSignal, State::Blind];
}

/// Why C is what it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Reason {
    /// The value to begin with, and again after a trial of a fixed one.
    Start,
    /// The value that the machine before had found (`adaptive`).
    Kept,
    /// The round-trip time is below the threshold (`wce`) or target (`adaptive`).
    DelayLow,
    /// The round-trip time is below the low threshold: faster up (`wce`).
    DelayVeryLow,
    /// The round-trip time is above the threshold or target.
    DelayHigh,
    /// The round-trip time is above the high threshold, or the rate that the cell delivered is below C.
    Overload,
    /// A probe was lost (`wce`: taken for overload).
    ProbeLost,
    /// Nobody waits for C: no reason to rise.
    NoBacklog,
    /// Less than C passes and nothing waits: C goes below that for a moment (`adaptive`).
    Trial,
    /// A trial found no queue in the cell: the stations ask for no more, or the bottleneck is elsewhere.
    NoQueue,
    /// Packets wait in the box, and nobody answers (`adaptive`).
    NoDelay,
    /// Too little traffic.
    Quiet,
    /// No sign of life from any station.
    Silence,
    /// Stations send, but answer no probe.
    Unanswered,
    /// Signals are back.
    Recovered,
    /// C would leave its bounds.
    Bound,
    /// Other stations are served, whose bytes take more or less air (`air`).
    Mix,
}

/// A value of C, or a change of state.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Decision {
    /// Time of the decision.
    pub at: Instant,
    /// C, in IP bytes of both directions.
    pub capacity: Bitrate,
    /// What is known.
    pub state: State,
    /// Reason of the decision.
    pub reason: Reason,
}

/// What a machine hands on to the next one of the same cell, so that a new start does not begin at the largest C under
/// load. The next one checks it as it checks any C.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Kept {
    /// C.
    pub capacity: Bitrate,
    /// For cells whose full queue adds little delay: the C that was too high, and the delay of half a full queue if it was measured.
    pub ceiling: Option<(Bitrate, Option<Duration>)>,
}

/// Counters of a machine.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ControlStats {
    /// Probes sent.
    pub probes: u64,
    /// Probes answered in time.
    pub replies: u64,
    /// Probes given up.
    pub lost: u64,
    /// Times that C rose.
    pub rises: u64,
    /// Times that C fell.
    pub falls: u64,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::units::word;

    #[test]
    fn states_and_reasons_have_the_words_of_the_docs() {
        assert_eq!(State::ALL.map(|state| word(&state)), ["run", "idle", "no-signal", "blind"]);
        assert_eq!(word(&Reason::DelayVeryLow), "delay-very-low");
    }
}

sums! { ControlStats { probes, replies, lost, rises, falls } }
