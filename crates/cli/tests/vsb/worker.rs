//! Traffic from inside a namespace: this test binary, started there once more as a worker.

use std::io::{Read as _, Write as _};
use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream};
use std::process::{Child, Stdio};
use std::time::{Duration, SystemTime};

use crate::bench::{Bench, Place};

const JOB: &str = "FAIRAIR_TEST_WORKER";

/// One bulk transfer.
#[derive(Clone, Copy)]
pub(crate) struct Transfer<'a> {
    /// Address of the station, in text.
    pub(crate) station: &'a str,
    pub(crate) is_up: bool,
}

pub(crate) const fn up(station: &str) -> Transfer<'_> {
    Transfer { station, is_up: true }
}

pub(crate) const fn down(station: &str) -> Transfer<'_> {
    Transfer { station, is_up: false }
}

/// Transfers under way.
pub(crate) struct Transfers {
    sinks: Vec<Child>,
    sources: Vec<Child>,
    seconds: u64,
}

/// Runs all transfers at once; goodput of each in bit/s from second `skip` to second `skip + seconds`.
pub(crate) fn goodputs(bench: &Bench, transfers: &[Transfer<'_>], skip: u64, seconds: u64) -> Vec<f64> {
    start(bench, transfers, skip, seconds).finish()
}

/// Starts all transfers at once.
pub(crate) fn start(bench: &Bench, transfers: &[Transfer<'_>], skip: u64, seconds: u64) -> Transfers {
    // All count between the same two moments. Workers need a moment to start.
    let begin = now_ms() + 500;
    let (from_ms, to_ms) = (begin + skip * 1000, begin + (skip + seconds) * 1000);
    let mut under_way = Transfers { sinks: Vec::new(), sources: Vec::new(), seconds };
    for (index, transfer) in transfers.iter().enumerate() {
        let host = if transfer.station.contains(':') { "fd02::2" } else { "10.2.0.2" };
        let port = 5001 + index as u16;
        // The sink listens.
        let device = if transfer.station.starts_with("10.1.9.") { Place::Other } else { Place::Stations };
        let (sink, source) = if transfer.is_up { (Place::Host, device) } else { (device, Place::Host) };
        let (to, from) = if transfer.is_up { (host, transfer.station) } else { (transfer.station, host) };
        under_way.sinks.push(spawn(bench, sink, &format!("sink {to} {port} {from_ms} {to_ms}")));
        under_way.sources.push(spawn(bench, source, &format!("source {to} {port} {from} {to_ms}")));
    }
    under_way
}

impl Transfers {
    /// Waits until all are done; their goodputs in bit/s.
    pub(crate) fn finish(self) -> Vec<f64> {
        let rates = self.sinks.into_iter().map(|sink| {
            let output = sink.wait_with_output().expect("a worker");
            let text = String::from_utf8_lossy(&output.stdout);
            let words = text.split("RECEIVED ").nth(1).and_then(|rest| rest.split_whitespace().next());
            let bytes = words.and_then(|bytes| bytes.parse::<f64>().ok());
            bytes.unwrap_or_else(|| panic!("a sink said {text}")) * 8.0 / self.seconds as f64
        });
        let rates = rates.collect();
        for mut source in self.sources {
            let _ = source.wait();
        }
        rates
    }
}

/// Starts a worker.
pub(crate) fn spawn(bench: &Bench, place: Place, job: &str) -> Child {
    let binary = std::env::current_exe().expect("this binary");
    let words = [binary.to_str().expect("text"), "--ignored", "--exact", "worker::work", "--nocapture"];
    let mut command = bench.command(place, &words);
    command.env(JOB, job).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().expect("started")
}

/// Not a test: what [`worker`] starts.
#[test]
#[ignore = "a worker of other tests"]
fn work() {
    let Ok(job) = std::env::var(JOB) else { return };
    let words: Vec<_> = job.split(' ').collect();
    match words[..] {
        ["sink", to, port, from_ms, to_ms] => sink(address(to, port), number(from_ms), number(to_ms)),
        ["source", to, port, from, to_ms] => {
            source(address(to, port), from.parse().expect("an address"), number(to_ms));
        }
        ["flood", port, stations, rate, end] => {
            crate::bars::flood(number(port) as u16, number(stations) as u32, number(rate), number(end));
        }
        ["count", port, end] => crate::bars::count(number(port) as u16, number(end)),
        _ => panic!("no job: {job}"),
    }
}

fn address(ip: &str, port: &str) -> SocketAddr {
    SocketAddr::new(ip.parse().expect("an address"), port.parse().expect("a port"))
}

fn number(text: &str) -> u64 {
    text.parse().expect("a number")
}

/// Milliseconds since 1970: a clock that all workers share.
pub(crate) fn now_ms() -> u64 {
    SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).expect("a clock").as_millis() as u64
}

/// Counts what comes between two moments.
fn sink(at: SocketAddr, from_ms: u64, to_ms: u64) {
    let listener = TcpListener::bind(at).expect("bound");
    let (mut stream, _) = listener.accept().expect("a source");
    let mut bytes = 0;
    let mut buffer = vec![0; 1 << 16];
    stream.set_read_timeout(Some(Duration::from_millis(100))).expect("set");
    while now_ms() < to_ms {
        match stream.read(&mut buffer) {
            Ok(0) => break,
            Ok(read) if (from_ms..to_ms).contains(&now_ms()) => bytes += read,
            _ => {}
        }
    }
    println!("RECEIVED {bytes}");
}

fn source(to: SocketAddr, from: IpAddr, to_ms: u64) {
    let mut stream = connect(to, from, to_ms);
    stream.set_write_timeout(Some(Duration::from_millis(100))).expect("set");
    let buffer = vec![0; 1 << 16];
    // A little longer than the sinks count.
    while now_ms() < to_ms + 500 {
        match stream.write(&buffer) {
            Err(error) if !matches!(error.kind(), std::io::ErrorKind::WouldBlock | std::io::ErrorKind::TimedOut) => {
                break;
            }
            _ => {}
        }
    }
}

/// Connects from the address `from`, as soon as the sink is there.
fn connect(to: SocketAddr, from: IpAddr, until_ms: u64) -> TcpStream {
    use socket2::{Domain, Protocol, Socket, Type};
    loop {
        let socket = Socket::new(Domain::for_address(to), Type::STREAM, Some(Protocol::TCP)).expect("a socket");
        socket.bind(&SocketAddr::new(from, 0).into()).expect("bound");
        // Longer than until the second SYN (1 s): a sink takes the first connection only, also one that was given up. IPv6
        // loses the first SYN while the box's link-local address is still being checked for duplicates.
        if socket.connect_timeout(&to.into(), Duration::from_millis(2500)).is_ok() {
            return socket.into();
        }
        assert!(now_ms() < until_ms, "{to} does not answer");
        std::thread::sleep(Duration::from_millis(20));
    }
}
