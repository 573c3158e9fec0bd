//! A thread that writes to disk what the daemon says, so that a slow disk never holds up shaping.

use std::io;
use std::sync::mpsc::{Receiver, Sender, SyncSender, channel, sync_channel};
use std::time::Duration;

/// Entries that may wait for the disk.
const ROOM: usize = 10_000;
/// For how long the end waits for the disk.
const PATIENCE: Duration = Duration::from_secs(3);

/// Hands entries to the thread. When this is dropped, what waits is written first.
#[derive(Debug)]
pub(super) struct Writer<T> {
    sender: Option<SyncSender<T>>,
    ended: Receiver<()>,
}

impl<T: Send + 'static> Writer<T> {
    /// Starts a thread that does `write` until nobody sends any more.
    pub(super) fn start(name: &str, write: impl FnOnce(&Receiver<T>) + Send + 'static) -> io::Result<Self> {
        let (sender, receiver) = sync_channel(ROOM);
        let (end, ended): (Sender<()>, _) = channel();
        std::thread::Builder::new().name(name.to_owned()).spawn(move || {
            write(&receiver);
            drop(end);
        })?;
        Ok(Writer { sender: Some(sender), ended })
    }

    /// Never waits; false if there is no room.
    pub(super) fn put(&self, entry: T) -> bool {
        self.sender.as_ref().is_some_and(|sender| sender.try_send(entry).is_ok())
    }
}

impl<T> Drop for Writer<T> {
    fn drop(&mut self) {
        drop(self.sender.take());
        // The thread says nothing; its end closes the channel.
        let _ = self.ended.recv_timeout(PATIENCE);
    }
}
