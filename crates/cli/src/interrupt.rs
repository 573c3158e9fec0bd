//! Ctrl-C and SIGTERM: the first stops the work in order and reports what is done, the second ends the process at once.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, Once, PoisonError};

use crate::error::Exit;
use crate::output::say;

static INTERRUPTED: AtomicBool = AtomicBool::new(false);
static HANDLER: Once = Once::new();
/// Unfinished files and directories that were made for them, what is within after what it is in.
static UNFINISHED: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

/// Lets the second signal remove `path`, an unfinished file or a directory that is still empty.
pub(crate) fn removes(path: &Path) {
    UNFINISHED.lock().unwrap_or_else(PoisonError::into_inner).push(path.to_owned());
}

fn remove_unfinished() {
    for path in UNFINISHED.lock().unwrap_or_else(PoisonError::into_inner).iter().rev() {
        // A finished file has another name by now, and a directory that has something in it stays.
        let _ = fs::remove_file(path).or_else(|_| fs::remove_dir(path));
    }
}

/// The flag that the first signal raises, lowered by this call. The handler is installed once a process.
pub(crate) fn flag() -> &'static AtomicBool {
    flag_saying("waiting for the replicas under way")
}

/// The same, for a command that does something else at the signal.
pub(crate) fn flag_saying(what: &'static str) -> &'static AtomicBool {
    INTERRUPTED.store(false, Ordering::SeqCst);
    HANDLER.call_once(|| {
        // A host program that has a handler of its own keeps it; the run is then not interruptible by ours.
        let _ = ctrlc::set_handler(move || {
            if INTERRUPTED.swap(true, Ordering::SeqCst) {
                remove_unfinished();
                std::process::exit(i32::from(Exit::Interrupted.code()));
            }
            say(&format!("interrupted: {what} (once more quits at once)"));
        });
    });
    &INTERRUPTED
}

/// The first signal ends this process with success, at once: for a command that only watches.
pub(crate) fn ends_quietly() {
    HANDLER.call_once(|| {
        let _ = ctrlc::set_handler(|| std::process::exit(i32::from(Exit::Success.code())));
    });
}

/// A signal ends this process with the words for it; while there are none, somebody else handles signals.
pub(crate) fn ends_saying(words: fn() -> Option<&'static str>) {
    HANDLER.call_once(|| {
        let _ = ctrlc::set_handler(move || {
            if let Some(words) = words() {
                say(words);
                std::process::exit(i32::from(Exit::Interrupted.code()));
            }
        });
    });
}
