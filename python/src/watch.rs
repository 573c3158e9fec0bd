//! Work on other threads while the interpreter stays responsive.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;
use std::sync::mpsc::RecvTimeoutError;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use fairair_sim::{Progress, Watch};
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;

/// How long Ctrl-C may wait to be seen.
const LOOK: Duration = Duration::from_millis(50);

/// Runs `work` as [`interruptible`] does; `progress` is called with the replicas that are done and planned.
pub(crate) fn watched<T: Send + 'static>(
    py: Python<'_>,
    progress: Option<Py<PyAny>>,
    work: impl FnOnce(Watch) -> T + Send + 'static,
) -> PyResult<T> {
    let reached = Arc::new(Mutex::new(Progress::default()));
    let heard = Arc::clone(&reached);
    let mut told = Progress::default();
    let mut look = move |py: Python<'_>| match &progress {
        Some(progress) => {
            let now = *heard.lock().unwrap_or_else(PoisonError::into_inner);
            if now != told {
                told = now;
                progress.call1(py, (now.done, now.planned))?;
            }
            Ok(())
        }
        None => Ok(()),
    };
    let work = move |cancel: &AtomicBool| {
        let note = |now| *reached.lock().unwrap_or_else(PoisonError::into_inner) = now;
        work(Watch { cancel, progress: &note })
    };
    let done = interruptible(py, work, &mut look)?;
    // The last replicas ended between two looks.
    look(py)?;
    Ok(done)
}

/// Runs `work` on a thread of its own without the GIL. A signal handler that raises (Ctrl-C) sets the flag that `work`
/// was given and returns at once; what is under way then ends by itself and is dropped.
/// Meanwhile `look` is called again and again; what it raises ends the wait too.
fn interruptible<T: Send + 'static>(
    py: Python<'_>,
    work: impl FnOnce(&AtomicBool) -> T + Send + 'static,
    look: &mut impl FnMut(Python<'_>) -> PyResult<()>,
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
