//! Greedy UDP uploads into a deep queue: the emulation says when the station's queue has room for the next datagram.

use std::io;
use std::net::{Ipv4Addr, SocketAddr, UdpSocket};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::thread::{JoinHandle, Thread};
use std::time::Duration as Wait;

use crate::netns::Namespace;

/// How often a thread that waits looks whether it is to stop.
const LOOK: Wait = Wait::from_millis(50);
/// Frames of a station that are to wait or be on the air, for each of its greedy flows. The simulator keeps 2; a sender that
/// has to be woken needs a few more to be there in time.
const AHEAD: usize = 4;

/// Where the emulation tells a sender that there is room.
pub(super) struct Refill {
    station: usize,
    /// Fewer frames of the station than this: there is room.
    below: usize,
    room: AtomicBool,
    sender: OnceLock<Thread>,
}

impl Refill {
    /// For one of `flows` greedy uploads of a station, which keep `fill` frames there where others send beside them.
    pub(super) fn new(station: usize, flows: usize, fill: Option<usize>) -> Self {
        Refill { station, below: fill.unwrap_or(AHEAD * flows), room: AtomicBool::new(false), sender: OnceLock::new() }
    }

    /// Wakes the sender if there is room; `backlog` returns the number of frames that wait at a station.
    pub(super) fn look(&self, backlog: impl Fn(usize) -> usize) {
        if let Some(sender) = self.sender.get()
            && backlog(self.station) < self.below
            && !self.room.swap(true, Ordering::SeqCst)
        {
            sender.unpark();
        }
    }

    /// Whether one datagram may go; waits a while for it.
    fn wait(&self) -> bool {
        self.sender.get_or_init(std::thread::current);
        self.room.swap(false, Ordering::SeqCst) || {
            std::thread::park_timeout(LOOK);
            self.room.swap(false, Ordering::SeqCst)
        }
    }
}

/// The two ends of a greedy upload.
pub(super) struct DatagramFlow {
    stop: Arc<AtomicBool>,
    refill: Arc<Refill>,
    threads: Vec<JoinHandle<io::Result<()>>>,
}

impl DatagramFlow {
    /// A receiver that takes what comes.
    ///
    /// # Errors
    /// When the namespace cannot be entered or the port is taken.
    pub(super) fn listen(namespace: &Namespace, port: u16, refill: Arc<Refill>) -> io::Result<Self> {
        let socket = namespace.enter(|| UdpSocket::bind((Ipv4Addr::UNSPECIFIED, port)))?;
        socket.set_read_timeout(Some(LOOK))?;
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = Arc::clone(&stop);
        let receiver = std::thread::spawn(move || {
            let mut datagram = [0; 2048];
            while !stopped.load(Ordering::SeqCst) {
                let _ = socket.recv(&mut datagram);
            }
            Ok(())
        });
        Ok(DatagramFlow { stop, refill, threads: vec![receiver] })
    }

    /// Starts the sender of datagrams with `payload` bytes.
    ///
    /// # Errors
    /// When the namespace cannot be entered.
    pub(super) fn start(&mut self, namespace: &Namespace, to: SocketAddr, payload: usize) -> io::Result<()> {
        let (stop, refill) = (Arc::clone(&self.stop), Arc::clone(&self.refill));
        self.threads.push(namespace.spawn(move || {
            let socket = UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0))?;
            socket.connect(to)?;
            let datagram = vec![0; payload];
            while !stop.load(Ordering::SeqCst) {
                if refill.wait() {
                    socket.send(&datagram)?;
                }
            }
            Ok(())
        })?);
        Ok(())
    }

    /// Nothing new is sent.
    pub(super) fn stop(&self) {
        self.stop.store(true, Ordering::SeqCst);
    }

    /// What went wrong with a thread that has ended.
    pub(super) fn failure(&mut self) -> Option<String> {
        let ended = self.threads.iter().position(JoinHandle::is_finished)?;
        self.threads.remove(ended).join().ok()?.err().map(|error| error.to_string())
    }
}

impl Drop for DatagramFlow {
    fn drop(&mut self) {
        self.stop();
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn room_lets_one_datagram_out_and_a_full_queue_none() {
        let refill = Refill::new(3, 2, None);
        assert!(!refill.wait(), "nobody has looked");
        let backlog = |frames: usize| move |station: usize| if station == 3 { frames } else { 0 };
        refill.look(backlog(8));
        assert!(!refill.wait(), "two flows keep eight frames");
        refill.look(backlog(7));
        refill.look(backlog(7));
        assert!(refill.wait());
        assert!(!refill.wait(), "one datagram for each time");
    }
}
