//! Traffic from inside a namespace: this test binary, started there once more as a worker.

use std::io::{Read as _, Write as _};
use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream};
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use crate::bench::{Bench, Place};

const JOB: &str = "FAIRAIR_TEST_WORKER";

/// One bulk transfer.
#[derive(Clone, Copy)]
pub(crate) struct Transfer {
    /// Address of the station, in text.
    pub(crate) station: &'static str,
    pub(crate) is_up: bool,
}

pub(crate) const fn up(station: &'static str) -> Transfer {
    Transfer { station, is_up: true }
}

pub(crate) const fn down(station: &'static str) -> Transfer {
    Transfer { station, is_up: false }
}

/// Runs all transfers at once; goodput of each in bit/s from second `skip` to second `skip + seconds`.
pub(crate) fn goodputs(bench: &Bench, transfers: &[Transfer], skip: u64, seconds: u64) -> Vec<f64> {
    let total = skip + seconds;
    let mut sinks = Vec::new();
    let mut sources = Vec::new();
    for (index, transfer) in transfers.iter().enumerate() {
        let host = if transfer.station.contains(':') { "fd02::2" } else { "10.2.0.2" };
        let port = 5001 + index as u16;
        // The sink listens.
        let (sink, source) =
            if transfer.is_up { (Place::Host, Place::Stations) } else { (Place::Stations, Place::Host) };
        let (to, from) = if transfer.is_up { (host, transfer.station) } else { (transfer.station, host) };
        sinks.push(worker(bench, sink, &format!("sink {to} {port} {skip} {total}")));
        sources.push(worker(bench, source, &format!("source {to} {port} {from} {total}")));
    }
    let rates = sinks.into_iter().map(|sink| {
        let output = sink.wait_with_output().expect("a worker");
        let text = String::from_utf8_lossy(&output.stdout);
        let bytes = text.split("RECEIVED ").nth(1).and_then(|rest| rest.split_whitespace().next()?.parse::<f64>().ok());
        bytes.unwrap_or_else(|| panic!("a sink said {text}")) * 8.0 / seconds as f64
    });
    let rates = rates.collect();
    for mut source in sources {
        let _ = source.wait();
    }
    rates
}

fn worker(bench: &Bench, place: Place, job: &str) -> Child {
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
        ["sink", to, port, skip, total] => sink(address(to, port), seconds(skip), seconds(total)),
        ["source", to, port, from, total] => {
            source(address(to, port), from.parse().expect("an address"), seconds(total))
        }
        _ => panic!("no job: {job}"),
    }
}

fn address(ip: &str, port: &str) -> SocketAddr {
    SocketAddr::new(ip.parse().expect("an address"), port.parse().expect("a port"))
}

fn seconds(text: &str) -> Duration {
    Duration::from_secs(text.parse().expect("seconds"))
}

/// Counts what comes between `skip` and `total` after the connection.
fn sink(at: SocketAddr, skip: Duration, total: Duration) {
    let listener = TcpListener::bind(at).expect("bound");
    let (mut stream, _) = listener.accept().expect("a source");
    let begin = Instant::now();
    let mut bytes = 0;
    let mut buffer = vec![0; 1 << 16];
    stream.set_read_timeout(Some(Duration::from_millis(100))).expect("set");
    while begin.elapsed() < total {
        match stream.read(&mut buffer) {
            Ok(0) => break,
            Ok(read) if begin.elapsed() >= skip => bytes += read,
            _ => {}
        }
    }
    println!("RECEIVED {bytes}");
}

fn source(to: SocketAddr, from: IpAddr, total: Duration) {
    let begin = Instant::now();
    let mut stream = connect(to, from, begin + total);
    stream.set_write_timeout(Some(Duration::from_millis(100))).expect("set");
    let buffer = vec![0; 1 << 16];
    // A little longer than the sink counts.
    while begin.elapsed() < total + Duration::from_millis(500) {
        match stream.write(&buffer) {
            Err(error) if !matches!(error.kind(), std::io::ErrorKind::WouldBlock | std::io::ErrorKind::TimedOut) => {
                break;
            }
            _ => {}
        }
    }
}

/// Connects from the address `from`, as soon as the sink is there.
fn connect(to: SocketAddr, from: IpAddr, until: Instant) -> TcpStream {
    use socket2::{Domain, Protocol, Socket, Type};
    loop {
        let socket = Socket::new(Domain::for_address(to), Type::STREAM, Some(Protocol::TCP)).expect("a socket");
        socket.bind(&SocketAddr::new(from, 0).into()).expect("bound");
        if socket.connect_timeout(&to.into(), Duration::from_secs(1)).is_ok() {
            return socket.into();
        }
        assert!(Instant::now() < until, "{to} does not answer");
        std::thread::sleep(Duration::from_millis(20));
    }
}
