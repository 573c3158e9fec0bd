//! What trials of a fixed C have found: whether it is too high, or whether nobody answers so that no trial can tell.

use serde::{Deserialize, Serialize};

/// So many trials in a row are believed.
const SURE: u32 = 2;
/// A C up to this share of what the cell carried is not too high: what an access point with few buffers drops was counted as carried.
const BELOW: f64 = 0.8;

/// What trials have found so far.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Findings {
    /// Trials in a row that found a queue in the cell, and what passed in the last of them, in bit/s.
    pub(super) found: u32,
    pub(super) carried: f64,
    /// Trials in a row that found none.
    missed: u32,
    /// C is too high: two trials in a row have found that, and no two since then the contrary.
    pub(super) is_told: bool,
    /// Only the C before this one was found to be too high.
    pub(super) is_suspected: bool,
    /// Trials in a row that ended before they began, as no station answered.
    pub(super) unheard: u32,
}

impl Findings {
    /// The C before `fixed` was above what the cell carries, `carried`, in bit/s: so is `fixed` until the contrary is found, unless it is lower.
    pub(super) fn suspect(&mut self, fixed: f64, carried: f64) {
        if fixed > BELOW * carried {
            (self.is_told, self.is_suspected, self.carried) = (true, true, carried);
        }
    }

    /// A trial found a queue in the cell, which carries so much; or it found none, if it is one that may count. Whether the next trial should
    /// come soon, to confirm it.
    pub(super) fn conclude(&mut self, carried: Option<f64>, is_missed: bool) -> bool {
        if let Some(carried) = carried {
            (self.found, self.carried, self.missed) = (self.found + 1, carried, 0);
            self.is_told |= self.found >= SURE;
            self.is_suspected &= self.found < SURE;
            return !self.is_told;
        }
        self.found = 0;
        self.missed += u32::from(is_missed);
        self.is_told &= self.missed < SURE;
        (self.is_told && self.missed > 0) || (1..SURE).contains(&self.unheard)
    }

    /// A station answers.
    pub(super) const fn hear(&mut self) {
        self.unheard = 0;
    }

    /// Whether nobody answers, so that no trial can tell.
    pub(super) const fn is_blind(&self) -> bool {
        self.unheard >= SURE
    }

    /// The box divides what passes, or something before it does: what was found counts no more.
    pub(super) const fn forget(&mut self) {
        (self.found, self.missed, self.unheard, self.is_told) = (0, 0, 0, false);
    }
}
