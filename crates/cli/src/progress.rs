//! A progress bar on stderr, for terminals and long runs only.

use std::fmt::Write;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;

use fairair_sim::Progress;
use indicatif::{HumanDuration, ProgressBar, ProgressDrawTarget, ProgressState, ProgressStyle};

use crate::output::say;

/// A run shorter than this shows no bar.
const PATIENCE: Duration = Duration::from_millis(500);

/// Replicas done, of those planned. Dropping it removes the bar.
pub(crate) struct Bar {
    drawn: ProgressBar,
    /// Dropped to wake the thread that waits to show the bar.
    over: Option<Sender<()>>,
    shower: Option<JoinHandle<()>>,
}

impl Bar {
    /// A bar of so many of what `of` says, that shows itself when the run turns out to be long and stderr is a terminal.
    pub(crate) fn new(of: &'static str) -> Self {
        let bar = ProgressBar::with_draw_target(Some(0), ProgressDrawTarget::hidden()).with_message(of);
        if let Ok(style) = ProgressStyle::with_template("{bar:30} {pos}/{len} {msg}, {elapsed}, {left}") {
            bar.set_style(style.with_key("left", |state: &ProgressState, line: &mut dyn Write| {
                let _ = line.write_str(&left(state.pos(), state.eta()));
            }));
        }
        let (over, ended) = channel::<()>();
        let shown = bar.clone();
        let shower = std::thread::spawn(move || {
            if ended.recv_timeout(PATIENCE) == Err(RecvTimeoutError::Timeout) {
                // Stays hidden when stderr is not a terminal.
                shown.set_draw_target(ProgressDrawTarget::stderr());
                shown.enable_steady_tick(Duration::from_millis(200));
            }
        });
        Bar { drawn: bar, over: Some(over), shower: Some(shower) }
    }

    /// Shows how far the run is.
    pub(crate) fn show(&self, progress: Progress) {
        self.drawn.set_length(u64::from(progress.planned));
        self.drawn.set_position(u64::from(progress.done));
    }

    /// Says a line above the bar, also where that is hidden.
    pub(crate) fn say(&self, line: &str) {
        self.drawn.suspend(|| say(line));
    }
}

impl Drop for Bar {
    fn drop(&mut self) {
        drop(self.over.take());
        if let Some(shower) = self.shower.take() {
            let _ = shower.join();
        }
        self.drawn.finish_and_clear();
    }
}

/// The words for the time that is left after `done` replicas; the first replica gives the first estimate.
fn left(done: u64, eta: Duration) -> String {
    if done == 0 { "time left not known yet".to_owned() } else { format!("about {:#} left", HumanDuration(eta)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_time_left_is_told_before_the_first_replica() {
        assert_eq!(left(0, Duration::ZERO), "time left not known yet");
        assert_eq!(left(1, Duration::from_secs(5)), "about 5s left");
    }
}
