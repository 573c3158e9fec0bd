//! Whose rules the cell follows where the standard and the simulators part.

use crate::preset::Preset;
use crate::units::Duration;

/// How a transmitter gets at an idle medium when it has no countdown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IdleAccess {
    /// At the next slot boundary after the interframe space (802.11-2007 clause 9.2.5.1).
    NextSlot,
    /// After a backoff that counts from an interframe space after the arrival (ns-2).
    Backoff,
    /// At the next slot boundary, with a count of zero that stays when the medium gets busy before (ns-3's
    /// `ChannelAccessManager::RequestAccess`).
    ZeroCount,
}

/// When the sender of an unanswered frame begins to count down.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AfterNoAnswer {
    /// From the answer timeout on, and not before the interframe space of an idle medium.
    Timeout,
    /// As [`AfterNoAnswer::Timeout`] when its frame outlasts all others; as a listener otherwise (ns-2).
    TimeoutIfLongest,
    /// An interframe space after the answer timeout, though the medium was idle meanwhile (ns-3's
    /// `ChannelAccessManager::GetAccessGrantStart`).
    SpaceAfterTimeout,
}

/// The departures of a preset from the standard, one value a question.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rules {
    /// Whether a draw from a window of `cw` may be `cw` itself; ns-2 draws `random % cw`.
    pub draw_includes_window: bool,
    /// Access to an idle medium without a countdown.
    pub idle_access: IdleAccess,
    /// Whether all transmitters count in the same slots, as carrier sensing keeps them in step; ns-2's timers run freely.
    pub common_slots: bool,
    /// When the sender of an unanswered frame begins to count down.
    pub after_no_answer: AfterNoAnswer,
    /// Whether each frame of a TXOP announces all of its limit, so that others wait for what the holder leaves unused without CF-End while
    /// the holder counts already (ns-3); otherwise the last frame announces its answer alone (802.11-2020 clause 9.2.5.2: no frames are
    /// pending).
    pub announces_txop: bool,
    /// For how long a frame on the air is not noticed, so that who begins meanwhile collides with it (ns-3's preamble detection); zero: those
    /// collide that begin in the same slot.
    pub unnoticed: Duration,
}

impl Rules {
    /// ns-3.44's.
    pub const NS3: Rules = Rules {
        draw_includes_window: true,
        idle_access: IdleAccess::ZeroCount,
        common_slots: false,
        after_no_answer: AfterNoAnswer::SpaceAfterTimeout,
        announces_txop: true,
        unnoticed: Duration::from_micros(4),
    };

    /// The rules of `preset`.
    pub const fn of(preset: Preset) -> Self {
        match preset {
            Preset::Ns3 => Rules::NS3,
            Preset::Standard => Rules {
                draw_includes_window: true,
                idle_access: IdleAccess::NextSlot,
                common_slots: true,
                after_no_answer: AfterNoAnswer::Timeout,
                announces_txop: false,
                unnoticed: Duration::ZERO,
            },
            Preset::Ns2 => Rules {
                draw_includes_window: false,
                idle_access: IdleAccess::Backoff,
                common_slots: false,
                after_no_answer: AfterNoAnswer::TimeoutIfLongest,
                ..Rules::of(Preset::Standard)
            },
        }
    }

    /// The largest number of slots that is drawn from a window of `cw`.
    pub const fn largest_draw(&self, cw: u32) -> u32 {
        if self.draw_includes_window { cw } else { cw.saturating_sub(1) }
    }
}
