//! Flows of files: each a connection of its own, from a thread in the sender's namespace to one in the receiver's.
//!
//! iperf3 cannot: it opens a connection to control each transfer, which would share the cell.

use std::collections::BTreeMap;
use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, Shutdown, SocketAddr};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration as Wait, Instant as Clock};

use fairair_core::rng::Rng;
use fairair_core::scenario::{Flow, Traffic};
use fairair_core::units::Duration;
use socket2::{Domain, Socket, Type};

use crate::netns::Namespace;

/// How often a thread that waits looks whether it is to stop.
const LOOK: Wait = Wait::from_millis(50);
/// What is written and read at a time.
const BLOCK: usize = 64 * 1024;
/// Connections that wait to be accepted at most.
const BACKLOG: i32 = 64;

/// What the threads of a flow share.
#[derive(Default)]
struct Shared {
    stop: AtomicBool,
    /// Sockets in use, so that whoever waits in one can be woken.
    open: Mutex<BTreeMap<u64, Socket>>,
}

/// A socket that stands in [`Shared::open`] as long as it lives.
struct Open<'a> {
    socket: Socket,
    shared: &'a Shared,
    id: u64,
}

impl<'a> Open<'a> {
    fn new(shared: &'a Shared, socket: Socket) -> io::Result<Self> {
        let mut open = shared.open.lock().unwrap_or_else(PoisonError::into_inner);
        let id = open.last_key_value().map_or(0, |(id, _)| id + 1);
        open.insert(id, socket.try_clone()?);
        drop(open);
        if shared.stop.load(Ordering::SeqCst) {
            let _ = socket.shutdown(Shutdown::Both);
        }
        Ok(Open { socket, shared, id })
    }
}

impl Drop for Open<'_> {
    fn drop(&mut self) {
        self.shared.open.lock().unwrap_or_else(PoisonError::into_inner).remove(&self.id);
    }
}

/// The two ends of a flow of files.
pub(super) struct FileFlow {
    shared: Arc<Shared>,
    /// Receiver, then sender once it has started.
    threads: Vec<JoinHandle<io::Result<()>>>,
}

impl FileFlow {
    /// A receiver that listens.
    ///
    /// # Errors
    /// When the namespace cannot be entered or the port is taken.
    pub(super) fn listen(namespace: &Namespace, port: u16) -> io::Result<Self> {
        let listener = namespace.enter(|| {
            let socket = Socket::new(Domain::IPV4, Type::STREAM, None)?;
            socket.set_reuse_address(true)?;
            socket.bind(&SocketAddr::from((Ipv4Addr::UNSPECIFIED, port)).into())?;
            socket.listen(BACKLOG)?;
            Ok(socket)
        })?;
        let shared = Arc::new(Shared::default());
        let of_thread = Arc::clone(&shared);
        let receiver = std::thread::spawn(move || receive(&of_thread, listener));
        Ok(FileFlow { shared, threads: vec![receiver] })
    }

    /// Starts the sender. `finished` says when the last ACK of a file has reached it; `rng` draws bursts and pauses.
    ///
    /// # Errors
    /// When the namespace cannot be entered.
    pub(super) fn start(
        &mut self,
        namespace: &Namespace,
        to: SocketAddr,
        flow: &Flow,
        rng: Rng,
        finished: Receiver<()>,
    ) -> io::Result<()> {
        let (shared, flow) = (Arc::clone(&self.shared), *flow);
        self.threads.push(namespace.spawn(move || {
            let sent = Source { shared: &shared, to, flow: &flow, rng, finished }.run();
            // Who is stopped ends with whatever error that gives.
            if shared.stop.load(Ordering::SeqCst) { Ok(()) } else { sent }
        })?);
        Ok(())
    }

    /// Nothing new is sent.
    pub(super) fn stop(&self) {
        self.shared.stop.store(true, Ordering::SeqCst);
        for socket in self.shared.open.lock().unwrap_or_else(PoisonError::into_inner).values() {
            let _ = socket.shutdown(Shutdown::Both);
        }
    }

    /// What went wrong with a thread that has ended.
    pub(super) fn failure(&mut self) -> Option<String> {
        let ended = self.threads.iter().position(JoinHandle::is_finished)?;
        match self.threads.remove(ended).join() {
            Ok(Ok(())) => None,
            Ok(Err(error)) => Some(error.to_string()),
            Err(_) => Some("a thread died".to_owned()),
        }
    }
}

impl Drop for FileFlow {
    fn drop(&mut self) {
        self.stop();
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
    }
}

/// Accepts connections and reads what comes until the flow is stopped.
fn receive(shared: &Arc<Shared>, listener: Socket) -> io::Result<()> {
    let listener = Open::new(shared, listener)?;
    let mut readers = Vec::new();
    let accepted = loop {
        match listener.socket.accept() {
            Ok((connection, _)) => {
                let shared = Arc::clone(shared);
                readers.retain(|reader: &JoinHandle<()>| !reader.is_finished());
                readers.push(std::thread::spawn(move || read_all(&shared, connection)));
            }
            Err(_) if shared.stop.load(Ordering::SeqCst) => break Ok(()),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => break Err(error),
        }
    };
    for reader in readers {
        let _ = reader.join();
    }
    accepted
}

fn read_all(shared: &Shared, connection: Socket) {
    let Ok(mut open) = Open::new(shared, connection) else { return };
    let mut block = vec![0; BLOCK];
    while open.socket.read(&mut block).is_ok_and(|read| read > 0) {}
}

/// The sending application.
struct Source<'a> {
    shared: &'a Shared,
    to: SocketAddr,
    flow: &'a Flow,
    rng: Rng,
    finished: Receiver<()>,
}

impl Source<'_> {
    /// File after file during a burst, then a pause: as the simulator's.
    fn run(mut self) -> io::Result<()> {
        let Traffic::Files { size, count, burst, idle } = self.flow.traffic else { return Ok(()) };
        let mut left = count;
        let mut burst_ends = Clock::now();
        while left != Some(0) && !self.stopped() {
            if burst_ends < Clock::now() {
                burst_ends = Clock::now() + self.draw(burst);
            }
            if !self.send(size.0)? {
                return Ok(());
            }
            left = left.map(|left| left - 1);
            if Clock::now() >= burst_ends {
                let pause_ends = Clock::now() + self.draw(idle);
                while !self.stopped() && Clock::now() < pause_ends {
                    std::thread::sleep(LOOK.min(pause_ends - Clock::now()));
                }
            }
        }
        Ok(())
    }

    /// One file; false when the flow was stopped before its last ACK.
    fn send(&self, size: u64) -> io::Result<bool> {
        let socket = Socket::new(Domain::IPV4, Type::STREAM, None)?;
        socket.set_tcp_congestion(self.flow.tcp.variant.in_linux().as_bytes())?;
        socket.set_tcp_mss(self.flow.tcp.mss)?;
        let mut open = Open::new(self.shared, socket)?;
        open.socket.connect(&self.to.into())?;
        let block = vec![0; BLOCK];
        let mut left = size;
        while left > 0 {
            let part = usize::try_from(left).map_or(BLOCK, |left| left.min(BLOCK));
            left -= open.socket.write(&block[..part])? as u64;
        }
        open.socket.shutdown(Shutdown::Write)?;
        loop {
            match self.finished.recv_timeout(LOOK) {
                Ok(()) => return Ok(true),
                Err(RecvTimeoutError::Timeout) if !self.stopped() => {}
                Err(_) => return Ok(false),
            }
        }
    }

    fn stopped(&self) -> bool {
        self.shared.stop.load(Ordering::SeqCst)
    }

    fn draw(&mut self, mean: Duration) -> Wait {
        if mean == Duration::ZERO {
            Wait::ZERO
        } else {
            Wait::from_secs_f64(mean.as_secs_f64() * self.rng.exponential())
        }
    }
}
