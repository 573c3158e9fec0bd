//! Bulk transfers and pings of Linux hosts.

use std::io::{Read as _, Write as _};
use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream};
use std::process::Stdio;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use fairair_linux::command::in_namespace;
use fairair_linux::netns::Namespace;
use fairair_linux::realtime;
use socket2::{Domain, SockRef, Socket, Type};

use crate::radio::Radio;

/// Bulk transfers of one station.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Wants {
    pub(crate) up: u32,
    pub(crate) down: u32,
}

/// Transfers under way; they end when this is dropped.
#[derive(Debug)]
pub(crate) struct Load {
    /// Payload bytes that receivers have read, by station.
    received: Vec<Arc<AtomicU64>>,
    over: Arc<AtomicBool>,
    /// Senders write nothing for now.
    is_paused: Arc<AtomicBool>,
    threads: Vec<JoinHandle<std::io::Result<()>>>,
}

type Result<T> = std::result::Result<T, String>;

impl Load {
    /// Starts all transfers at once.
    pub(crate) fn start(radio: &Radio, wants: &[Wants]) -> Result<Load> {
        let over = Arc::new(AtomicBool::new(false));
        let mut load = Load { received: Vec::new(), over, is_paused: Arc::default(), threads: Vec::new() };
        let mut port = 5001;
        for (index, wanted) in wants.iter().enumerate() {
            let received = Arc::new(AtomicU64::new(0));
            load.received.push(Arc::clone(&received));
            let station = (&radio.stations[index], Radio::station_address(index));
            let host = (&radio.host, radio.host_address().to_owned());
            for flow in 0..wanted.up + wanted.down {
                let (from, to) = if flow < wanted.up { (&station, &host) } else { (&host, &station) };
                let control = radio.cell.control.name();
                load.transfer((from.0, control), to.0, &to.1, port, Arc::clone(&received))?;
                port += 1;
            }
        }
        Ok(load)
    }

    fn transfer(
        &mut self,
        (from, control): (&Namespace, String),
        to: &Namespace,
        address: &str,
        port: u16,
        received: Arc<AtomicU64>,
    ) -> Result<()> {
        let at = SocketAddr::new(address.parse::<IpAddr>().map_err(|error| error.to_string())?, port);
        let listener = to.enter(|| TcpListener::bind(at)).map_err(|error| format!("{at}: {error}"))?;
        let over = Arc::clone(&self.over);
        self.threads
            .push(std::thread::spawn(move || realtime::give_way().and_then(|()| sink(&listener, &received, &over))));
        let (over, is_paused) = (Arc::clone(&self.over), Arc::clone(&self.is_paused));
        self.threads.push(
            from.spawn(move || realtime::give_way().and_then(|()| source(at, &control, &over, &is_paused)))
                .map_err(|error| error.to_string())?,
        );
        Ok(())
    }

    /// All senders pause, or go on.
    pub(crate) fn pause(&self, is_paused: bool) {
        self.is_paused.store(is_paused, Ordering::Relaxed);
    }

    /// Goodput of each station over `seconds`, bit/s.
    pub(crate) fn goodputs(&self, seconds: f64) -> Vec<f64> {
        let look = || self.received.iter().map(|bytes| bytes.load(Ordering::Relaxed)).collect::<Vec<_>>();
        let (begin, before) = (Instant::now(), look());
        std::thread::sleep(Duration::from_secs_f64(seconds));
        let (after, took) = (look(), begin.elapsed().as_secs_f64());
        after.iter().zip(&before).map(|(after, before)| (after - before) as f64 * 8.0 / took).collect()
    }
}

impl Drop for Load {
    fn drop(&mut self) {
        self.over.store(true, Ordering::Relaxed);
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
    }
}

const PATIENCE: Duration = Duration::from_millis(200);

fn sink(listener: &TcpListener, received: &AtomicU64, over: &AtomicBool) -> std::io::Result<()> {
    listener.set_nonblocking(true)?;
    let mut stream = loop {
        match listener.accept() {
            Ok((stream, _)) => break stream,
            Err(_) if over.load(Ordering::Relaxed) => return Ok(()),
            Err(_) => std::thread::sleep(Duration::from_millis(5)),
        }
    };
    stream.set_nonblocking(false)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    let mut buffer = vec![0; 1 << 18];
    while !over.load(Ordering::Relaxed) {
        match stream.read(&mut buffer) {
            Ok(0) => break,
            Ok(read) => drop(received.fetch_add(read as u64, Ordering::Relaxed)),
            Err(_) => {}
        }
    }
    reset(&stream)
}

fn source(to: SocketAddr, control: &str, over: &AtomicBool, is_paused: &AtomicBool) -> std::io::Result<()> {
    let mut stream: TcpStream = loop {
        let socket = Socket::new(Domain::for_address(to), Type::STREAM, None)?;
        socket.set_tcp_congestion(control.as_bytes())?;
        match socket.connect_timeout(&to.into(), Duration::from_secs(5)) {
            Ok(()) => break socket.into(),
            Err(_) if over.load(Ordering::Relaxed) => return Ok(()),
            Err(_) => std::thread::sleep(Duration::from_millis(20)),
        }
    };
    stream.set_write_timeout(Some(PATIENCE))?;
    let buffer = vec![0; 1 << 16];
    while !over.load(Ordering::Relaxed) {
        if is_paused.load(Ordering::Relaxed) {
            std::thread::sleep(Duration::from_millis(5));
            continue;
        }
        match stream.write(&buffer) {
            Err(error) if error.kind() == std::io::ErrorKind::ConnectionReset => break,
            _ => {}
        }
    }
    reset(&stream)
}

/// Nothing of it is sent any more.
fn reset(stream: &TcpStream) -> std::io::Result<()> {
    SockRef::from(stream).set_linger(Some(Duration::ZERO))
}

/// Round-trip times in ms of pings from `from` to `to`, one every 50 ms for `seconds`; a lost one counts as 2 s.
pub(crate) fn ping(from: &Namespace, to: &str, seconds: u32) -> Result<Vec<f64>> {
    let mut ping = in_namespace(&from.path(), "ping").map_err(|error| error.to_string())?;
    let count = seconds * 20;
    let (count_text, seconds_text) = (count.to_string(), (seconds + 2).to_string());
    let words = ["-n", "-i", "0.05", "-c", &count_text, "-w", &seconds_text, to];
    let output = ping.args(words).stderr(Stdio::null()).output().map_err(|error| error.to_string())?;
    let told = String::from_utf8_lossy(&output.stdout).into_owned();
    let mut times: Vec<f64> =
        told.lines().filter_map(|line| line.split("time=").nth(1)?.split(' ').next()?.parse().ok()).collect();
    // Where the machine is busy fewer are sent in the time: these are not lost.
    let sent = told.lines().find_map(|line| line.split_once(" packets transmitted")?.0.parse().ok());
    times.resize(times.len().max(sent.unwrap_or(count as usize)), 2000.0);
    times.sort_by(f64::total_cmp);
    Ok(times)
}

/// The value at `share` (0 to 1) of sorted times.
pub(crate) fn percentile(sorted: &[f64], share: f64) -> f64 {
    let last = sorted.len().saturating_sub(1);
    sorted.get((last as f64 * share).round() as usize).copied().unwrap_or(f64::NAN)
}
