//! Sockets that wait in the runtime.

use std::io;

use tokio::io::unix::AsyncFd;

#[allow(unsafe_code)]
pub(super) fn register<S: std::os::fd::AsRawFd>(socket: S) -> io::Result<AsyncFd<S>> {
    // SAFETY: each socket here owns its descriptor, and names the same one for as long as it lives.
    unsafe { AsyncFd::register(socket) }.map_err(io::Error::from)
}
