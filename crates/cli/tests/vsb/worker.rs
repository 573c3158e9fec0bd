//! Traffic from inside a namespace: this test binary, started there once more as a worker.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream};
use std::process::{Child, ChildStdin, ChildStdout, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use crate::bench::{Bench, Place};

const JOB: &str = "FAIRAIR_TEST_WORKER";
/// How long a connection may take.
const PATIENCE: Duration = Duration::from_secs(30);

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

/// Transfers under way; they end when this is dropped.
pub(crate) struct Transfers {
    /// First, so that what a source still has to send goes nowhere.
    sinks: Vec<Worker>,
    _sources: Vec<Worker>,
}

/// Runs all transfers at once; goodput of each in bit/s from second `skip` to second `skip + seconds`. Receivers count bytes in
/// order: behind a lost packet up to a queue of them wait at either end of the time, and a timeout, or a machine that is busy with
/// other things, stops a sender for tenths of a second. Where 15 % too little fails a test, ten seconds keep that below it.
pub(crate) fn goodputs(bench: &Bench, transfers: &[Transfer<'_>], skip: u64, seconds: u64) -> Vec<f64> {
    start(bench, transfers, skip, seconds).finish()
}

/// Goodput in bit/s of the transfers `a` and of the transfers `b`, all at once from second 5 on: of three times of four seconds,
/// the ratio between the others, and the mean of the sums: a trial of C raises one time and lowers the next. What stops one sender for a moment is in one of the three only.
pub(crate) fn share(bench: &Bench, a: &[Transfer<'_>], b: &[Transfer<'_>]) -> (f64, f64) {
    let all: Vec<_> = a.iter().chain(b).copied().collect();
    let rates = begin(bench, &all, 5, 4, 3).counted();
    let sum = |of: &[Vec<f64>], window: usize| of.iter().map(|rates| rates[window]).sum::<f64>();
    let mut windows = [0, 1, 2].map(|window| (sum(&rates[..a.len()], window), sum(&rates[a.len()..], window)));
    let total = windows.iter().map(|(a, b)| a + b).sum::<f64>() / 3.0;
    windows.sort_by(|(a, b), (c, d)| (a / b).total_cmp(&(c / d)));
    let (a, b) = windows[1];
    (a * total / (a + b), b * total / (a + b))
}

/// Starts all transfers at once. Their time begins when all are connected, however long that takes, and they send until
/// [`Transfers::finish`].
#[track_caller]
pub(crate) fn start(bench: &Bench, transfers: &[Transfer<'_>], skip: u64, seconds: u64) -> Transfers {
    begin(bench, transfers, skip, seconds, 1)
}

/// [`start`] with `windows` times to count in, one after the other.
#[track_caller]
fn begin(bench: &Bench, transfers: &[Transfer<'_>], skip: u64, seconds: u64, windows: u64) -> Transfers {
    let ends = |transfer: &Transfer<'_>| {
        let host = if transfer.station.contains(':') { "fd02::2" } else { "10.2.0.2" };
        let device = if transfer.station.starts_with("10.1.9.") { Place::Other } else { Place::Stations };
        let (station, host) = ((device, transfer.station.to_owned()), (Place::Host, host.to_owned()));
        if transfer.is_up { (station, host) } else { (host, station) }
    };
    let ports = transfers.iter().zip(5001_u16..);
    let sinks = ports.clone().map(|(transfer, port)| {
        let (_, (place, to)) = ends(transfer);
        spawn(bench, place, &format!("sink {to} {port}"))
    });
    let mut sinks: Vec<_> = sinks.collect();
    for sink in &mut sinks {
        sink.said("LISTENS");
    }
    let sources = ports.map(|(transfer, port)| {
        let ((place, from), (_, to)) = ends(transfer);
        spawn(bench, place, &format!("source {to} {port} {from}"))
    });
    let mut sources: Vec<_> = sources.collect();
    for source in &mut sources {
        source.said("CONNECTED");
    }
    for sink in &mut sinks {
        sink.tell(&format!("{skip} {seconds} {windows}"));
    }
    for source in &mut sources {
        source.tell("send");
    }
    Transfers { sinks, _sources: sources }
}

impl Transfers {
    /// Waits until all have counted; their goodputs in bit/s. None ends before, for the others would get its share.
    #[track_caller]
    pub(crate) fn finish(self) -> Vec<f64> {
        self.counted().iter().map(|windows| windows[0]).collect()
    }

    /// The same, by transfer and time.
    #[track_caller]
    fn counted(mut self) -> Vec<Vec<f64>> {
        let numbers = |said: String| said.split(' ').map(|word| word.parse().expect("a number")).collect();
        self.sinks.iter_mut().map(|sink| numbers(sink.said("GOODPUT"))).collect()
    }
}

/// A process of this binary in a namespace. It says words, is told words, and ends with its standard input.
pub(crate) struct Worker {
    child: Child,
    orders: Option<ChildStdin>,
    words: BufReader<ChildStdout>,
}

impl Worker {
    /// Waits for `word`; what is behind it in its line.
    #[track_caller]
    pub(crate) fn said(&mut self, word: &str) -> String {
        let mut all = String::new();
        loop {
            let mut line = String::new();
            let length = self.words.read_line(&mut line).expect("text");
            if let Some((_, rest)) = line.split_once(word) {
                return rest.trim().to_owned();
            }
            all += &line;
            assert!(length > 0, "a worker ended without {word}, it said {all}");
        }
    }

    fn tell(&mut self, words: &str) {
        writeln!(self.orders.as_mut().expect("it was not told to end"), "{words}").expect("it listens");
    }

    /// Tells it to end; it may still say something.
    pub(crate) fn end(&mut self) {
        self.orders = None;
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Starts a worker.
pub(crate) fn spawn(bench: &Bench, place: Place, job: &str) -> Worker {
    let binary = std::env::current_exe().expect("this binary");
    let words = [binary.to_str().expect("text"), "--ignored", "--exact", "worker::work", "--nocapture"];
    let mut command = bench.command(place, &words);
    let mut child = command.env(JOB, job).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("started");
    let (orders, words) = (child.stdin.take(), child.stdout.take().expect("piped"));
    Worker { child, orders, words: BufReader::new(words) }
}

/// Not a test: what [`spawn`] starts.
#[test]
#[ignore = "a worker of other tests"]
fn work() {
    let Ok(job) = std::env::var(JOB) else { return };
    let words: Vec<_> = job.split(' ').collect();
    match words[..] {
        ["sink", to, port] => sink(address(to, port)),
        ["source", to, port, from] => source(address(to, port), from.parse().expect("an address")),
        ["flood", port, stations, rate] => {
            crate::bars::flood(number(port) as u16, number(stations) as u32, number(rate));
        }
        ["spoof"] => crate::flood::spoof(None),
        ["spoof", to] => crate::flood::spoof(Some(to)),
        ["count", port] => crate::bars::count(number(port) as u16),
        _ => panic!("no job: {job}"),
    }
}

fn address(ip: &str, port: &str) -> SocketAddr {
    SocketAddr::new(ip.parse().expect("an address"), port.parse().expect("a port"))
}

fn number(text: &str) -> u64 {
    text.parse().expect("a number")
}

/// Says something to who started this worker.
pub(crate) fn say(words: &str) {
    println!("{words}");
}

/// The next line from who started this worker; empty when there is none to come.
fn order() -> String {
    let mut line = String::new();
    std::io::stdin().read_line(&mut line).expect("text");
    line.trim().to_owned()
}

/// Whether this worker is to end, from now on: also when who started it has died.
pub(crate) fn end() -> Arc<AtomicBool> {
    let is_over = Arc::new(AtomicBool::new(false));
    let sets = Arc::clone(&is_over);
    std::thread::spawn(move || {
        while !order().is_empty() {}
        sets.store(true, Ordering::SeqCst);
    });
    is_over
}

/// Counts what comes between two moments.
fn sink(at: SocketAddr) {
    let listener = TcpListener::bind(at).expect("bound");
    say("LISTENS");
    let times: Vec<_> = order().split_whitespace().map(number).collect();
    let [skip, seconds, windows] = times[..] else { return };
    let [skip, seconds] = [skip, seconds].map(Duration::from_secs);
    let (is_over, begin) = (end(), Instant::now());
    listener.set_nonblocking(true).expect("set");
    let mut stream = loop {
        if let Ok((stream, _)) = listener.accept() {
            break stream;
        }
        if begin.elapsed() > skip + seconds * windows as u32 {
            return say(&format!("GOODPUT{}", " 0".repeat(windows as usize)));
        }
        std::thread::sleep(Duration::from_millis(10));
    };
    stream.set_nonblocking(false).expect("set");
    stream.set_read_timeout(Some(Duration::from_millis(100))).expect("set");
    // More than the kernel keeps for a socket: a read takes all that is there. So, who wakes up late counts for as much
    // longer, and what piled up before the first moment is not in it.
    let mut buffer = vec![0; 8 << 20];
    let mut read_until = |moment: Instant| {
        let mut bytes = 0;
        loop {
            match stream.read(&mut buffer) {
                // The source is gone; that goes on until the end.
                Ok(0) => std::thread::sleep(Duration::from_millis(20)),
                Ok(read) => bytes += read,
                Err(_) => {}
            }
            let now = Instant::now();
            if now >= moment {
                return (bytes, now);
            }
        }
    };
    let (_, mut from) = read_until(begin + skip);
    let mut goodputs = Vec::new();
    for _ in 0..windows {
        let (bytes, to) = read_until(from + seconds);
        goodputs.push((bytes as f64 * 8.0 / (to - from).as_secs_f64()).to_string());
        from = to;
    }
    say(&format!("GOODPUT {}", goodputs.join(" ")));
    while !is_over.load(Ordering::SeqCst) {
        read_until(Instant::now());
    }
}

fn source(to: SocketAddr, from: IpAddr) {
    let mut stream = connect(to, from);
    say("CONNECTED");
    if order().is_empty() {
        return;
    }
    let is_over = end();
    stream.set_write_timeout(Some(Duration::from_millis(100))).expect("set");
    let buffer = vec![0; 1 << 16];
    while !is_over.load(Ordering::SeqCst) {
        match stream.write(&buffer) {
            Err(error) if !matches!(error.kind(), std::io::ErrorKind::WouldBlock | std::io::ErrorKind::TimedOut) => {
                break;
            }
            _ => {}
        }
    }
}

/// Connects from the address `from`.
fn connect(to: SocketAddr, from: IpAddr) -> TcpStream {
    use socket2::{Domain, Protocol, Socket, Type};
    let begin = Instant::now();
    loop {
        let socket = Socket::new(Domain::for_address(to), Type::STREAM, Some(Protocol::TCP)).expect("a socket");
        socket.bind(&SocketAddr::new(from, 0).into()).expect("bound");
        // A machine's default may be any; another control has other losses, and so another goodput of the same share.
        socket.set_tcp_congestion(b"cubic").expect("CUBIC");
        // Longer than until the second SYN (1 s): a sink takes the first connection only, also one that was given up. IPv6
        // loses the first SYN while the box's link-local address is still being checked for duplicates.
        if socket.connect_timeout(&to.into(), Duration::from_millis(2500)).is_ok() {
            return socket.into();
        }
        assert!(begin.elapsed() < PATIENCE, "{to} does not answer");
        std::thread::sleep(Duration::from_millis(20));
    }
}
