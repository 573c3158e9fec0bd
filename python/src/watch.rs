//! Work on other threads while the interpreter stays responsive.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;
use std::sync::mpsc::RecvTimeoutError;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;

/// How long Ctrl-C may wait to be seen.
const LOOK: Duration = Duration::from_millis(50);

/// Runs `work` on a thread of its own without the GIL. A signal handler that raises (Ctrl-C) sets the flag that `work`
/// was given and returns at once; what is under way then ends by itself and is dropped.
/// Meanwhile `look` is called again and again; what it raises ends the wait too.
pub(crate) fn interruptible<T: Send + 'static>(
    py: Python<'_>,
    work: impl FnOnce(&AtomicBool) -> T + Send + 'static,
    mut look: impl FnMut(Python<'_>) -> PyResult<()>,
) -> PyResult<T> {
    let cancel = Arc::new(AtomicBool::new(false));
    let flag = Arc::clone(&cancel);
    let (send, receive) = mpsc::channel();
    // Nobody listens any more after an interruption.
    thread::Builder::new().name("fairair".to_owned()).spawn(move || drop(send.send(work(&flag))))?;
    // A receiver alone may not be lent to a closure that gives up the GIL.
    let receive = Mutex::new(receive);
    loop {
        match py.detach(|| receive.lock().unwrap_or_else(PoisonError::into_inner).recv_timeout(LOOK)) {
            Ok(result) => return Ok(result),
            Err(RecvTimeoutError::Timeout) => {
                if let Err(raised) = py.check_signals().and_then(|()| look(py)) {
                    cancel.store(true, Ordering::SeqCst);
                    return Err(raised);
                }
            }
            Err(RecvTimeoutError::Disconnected) => {
                return Err(PyRuntimeError::new_err("the engine panicked; its message is on stderr. Please report it"));
            }
        }
    }
}
