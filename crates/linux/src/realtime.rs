//! Priority over the rest of the machine, where it is granted.

use std::io;

use nix::sys::mman::{MlockAllFlags, mlockall};

/// Asks for SCHED_FIFO at `priority` (1 to 99) for this thread, and locks the process's memory, so that no page of it is ever swapped. Whether
/// the priority was granted.
pub fn keep_time(priority: i32) -> bool {
    let _ = mlockall(MlockAllFlags::MCL_CURRENT | MlockAllFlags::MCL_FUTURE);
    fifo(priority).is_ok()
}

/// Whether this thread may have SCHED_FIFO; it has it from now on.
pub fn is_granted() -> bool {
    fifo(1).is_ok()
}

fn fifo(priority: i32) -> io::Result<()> {
    let parameters = libc::sched_param { sched_priority: priority };
    // SAFETY: sched_setscheduler(2) reads one sched_param, which lives until the call returns; 0 is this thread.
    #[allow(unsafe_code)]
    let result = unsafe { libc::sched_setscheduler(0, libc::SCHED_FIFO, &raw const parameters) };
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Niceness -15 for this thread, short of real time: traffic under SCHED_FIFO would run before the kernel's own network
/// threads, and did stop the network of a loaded machine. Allowed between fork and exec.
///
/// # Errors
/// Without the privilege.
pub fn hurry() -> io::Result<()> {
    niceness(-15)
}

/// Niceness 10 for this thread: what only makes load leaves the processor to the kernel's network threads.
///
/// # Errors
/// What setpriority(2) says.
pub fn give_way() -> io::Result<()> {
    niceness(10)
}

fn niceness(value: i32) -> io::Result<()> {
    // SAFETY: setpriority(2) takes plain numbers; 0 is the thread that calls it.
    #[allow(unsafe_code)]
    let result = unsafe { libc::setpriority(libc::PRIO_PROCESS, 0, value) };
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}
