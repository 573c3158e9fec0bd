//! What a machine saw and decided, one event a line, and the same machine or another one on such a log.

mod recorder;
mod replay;

pub use self::recorder::{Event, Recorder, Seen};
pub use self::replay::{LogError, Replayed, replay};
