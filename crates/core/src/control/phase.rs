//! What the guard of a fixed C does: looks, a trial with a lower C and its parts, a trial with a higher one.

use serde::{Deserialize, Serialize};

use super::ebb::Ebb;
use super::room::Raised;
use crate::units::Instant;

/// What it does now.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) enum Phase {
    /// Looks at the box.
    #[default]
    Watches,
    /// Measures round trips since then.
    Listens(Instant),
    /// C is lowered since then; so much passed before, in bit/s.
    Lowered(Instant, f64),
    /// The load has ended, and round trips are measured without it.
    Ebbs(Ebb),
    /// Measures round trips since then, before C rises.
    Weighs(Instant),
    /// C is raised.
    Raised(Raised),
    /// C is lowered until then, for what passed above the user's C.
    Repays(Instant),
}
