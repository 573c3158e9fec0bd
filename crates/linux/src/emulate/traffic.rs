//! iperf3 for the scenario's streams, a server where the data goes and a client where it comes from; files; and ping.

use std::fs::{self, File};
use std::io;
use std::path::PathBuf;
use std::process::{Child, Command};
use std::sync::Arc;
use std::sync::mpsc::Receiver;
use std::time::{Duration as Wait, Instant as Clock};

use fairair_core::packet::Direction;
use fairair_core::rng::Rng;
use fairair_core::scenario::{Flow, Scenario, Traffic};
use fairair_core::units::Duration;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use super::datagrams::{DatagramFlow, Refill};
use super::error::TestbedError;
use super::files::FileFlow;
use super::rig::Rig;
use super::{Uplink, addresses as addr};
use crate::command::in_namespace;
use crate::netns::Namespace;
use crate::realtime;

/// How long servers may take to listen.
const PATIENCE: Wait = Wait::from_secs(20);

/// The traffic of one replica.
pub(super) struct TrafficPrograms<'a> {
    scenario: &'a Scenario,
    rig: &'a Rig,
    seed: u64,
    /// Where programs write.
    directory: tempfile::TempDir,
    servers: Vec<Child>,
    /// By flow.
    senders: Vec<Sender>,
    refills: Vec<Arc<Refill>>,
    /// By station; empty when nobody pings.
    pings: Vec<Child>,
    /// Replies to pings before this one are the warm-up's.
    first_ping: u64,
}

/// What sends the data of a flow.
enum Sender {
    /// iperf3, once it has started and until it is stopped.
    Program(Option<Child>),
    /// Files, and what tells of the end of one, until the sender starts.
    Files(FileFlow, Option<Receiver<()>>),
    /// A paced upload.
    Datagrams(DatagramFlow),
}

/// What ping measured of a station after the warm-up.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Pings {
    /// Echo requests sent.
    pub sent: u64,
    /// Round-trip times of the answered ones.
    pub round_trips: Vec<Duration>,
}

impl<'a> TrafficPrograms<'a> {
    /// Starts all servers and waits until they listen.
    pub(super) fn new(
        scenario: &'a Scenario,
        rig: &'a Rig,
        seed: u64,
        uplink: Uplink,
        finished: Vec<Receiver<()>>,
    ) -> Result<Self, TestbedError> {
        let mut programs = TrafficPrograms {
            scenario,
            rig,
            seed,
            directory: tempfile::tempdir()?,
            servers: Vec::new(),
            senders: Vec::new(),
            refills: Vec::new(),
            pings: Vec::new(),
            first_ping: 0,
        };
        for (id, ((station, flow), finished)) in scenario.flows().zip(finished).enumerate() {
            let (_, receiver) = programs.ends(station, flow);
            let port = addr::port(id);
            let sender = if matches!(flow.traffic, Traffic::Files { .. }) {
                Sender::Files(FileFlow::listen(receiver, port)?, Some(finished))
            } else if uplink == Uplink::Deep && is_greedy_upload(flow) {
                // A driver makes a greedy sender wait by itself.
                let sends = &scenario.stations[station];
                let greedy = sends.flows.iter().filter(|flow| is_greedy_upload(flow)).count();
                let refill = Arc::new(Refill::new(station, greedy, sends.greedy_fill()));
                programs.refills.push(Arc::clone(&refill));
                Sender::Datagrams(DatagramFlow::listen(receiver, port, refill)?)
            } else {
                let mut server = programs.program("iperf3", receiver, &format!("server-{id}"))?;
                server.args(["--server", "--one-off", "--port", &port.to_string()]);
                programs.servers.push(server.spawn().map_err(|error| missing("iperf3", error))?);
                Sender::Program(None)
            };
            programs.senders.push(sender);
        }
        programs.wait_for_servers()?;
        Ok(programs)
    }

    /// Where the emulation tells greedy uploads that there is room.
    pub(super) fn refills(&self) -> Vec<Arc<Refill>> {
        self.refills.clone()
    }

    /// Namespaces of the sender and the receiver of a flow's data.
    fn ends(&self, station: usize, flow: &Flow) -> (&'a Namespace, &'a Namespace) {
        let station = &self.rig.stations[station];
        match flow.direction {
            Direction::Up => (station, &self.rig.host),
            Direction::Down => (&self.rig.host, station),
        }
    }

    /// A program in a namespace, with what it prints in files called `name`.
    fn program(&self, program: &str, namespace: &Namespace, name: &str) -> Result<Command, TestbedError> {
        let mut command = in_namespace(&namespace.path(), program)?;
        let file = |end: &str| File::create(self.directory.path().join(format!("{name}.{end}")));
        command.stdout(file("json")?).stderr(file("err")?);
        hurried(&mut command);
        Ok(command)
    }

    fn wait_for_servers(&self) -> Result<(), TestbedError> {
        let begin = Clock::now();
        loop {
            let mut missing = None;
            for (id, (station, flow)) in self.scenario.flows().enumerate() {
                if !matches!(self.senders[id], Sender::Datagrams(_))
                    && !listens(self.ends(station, flow).1, addr::port(id))?
                {
                    missing = Some(id);
                    break;
                }
            }
            match missing {
                None => return Ok(()),
                Some(flow) if begin.elapsed() > PATIENCE => {
                    return Err(TestbedError::Traffic { flow, message: self.said(&format!("server-{flow}")) });
                }
                Some(_) => std::thread::sleep(Wait::from_millis(20)),
            }
        }
    }

    /// Starts to ping each station from the fixed host, once an `interval`.
    pub(super) fn ping(&mut self, interval: Duration) -> Result<(), TestbedError> {
        self.first_ping = self.scenario.run.warmup.as_nanos() / interval.as_nanos() + 2;
        for station in 0..self.scenario.stations.len() {
            let mut ping = self.program("ping", &self.rig.host, &format!("ping-{station}"))?;
            ping.args(["-n", "-i", &interval.as_secs_f64().to_string(), &addr::station(station).to_string()]);
            let child = ping.spawn().map_err(|error| missing("ping", error))?;
            self.pings.push(child);
        }
        Ok(())
    }

    /// Ends the pings and tells what they measured, one entry a station.
    pub(super) fn pings(&mut self) -> Vec<Pings> {
        let mut all = Vec::new();
        for station in 0..self.pings.len() {
            // Interrupted, ping prints its sums.
            end(&mut self.pings[station], Signal::SIGINT);
            let path = self.directory.path().join(format!("ping-{station}.json"));
            all.push(pings(&fs::read_to_string(path).unwrap_or_default(), self.first_ping));
        }
        self.pings.clear();
        all
    }

    /// Starts the sender of a flow, to send for `lasts`.
    pub(super) fn start(&mut self, id: usize, lasts: Duration) -> Result<(), TestbedError> {
        let (station, flow) = self.scenario.flows().nth(id).expect("flows are counted");
        let (sender, _) = self.ends(station, flow);
        let to = match flow.direction {
            Direction::Up => addr::HOST,
            Direction::Down => addr::station(station),
        };
        let target = (to, addr::port(id)).into();
        match &mut self.senders[id] {
            Sender::Files(files, finished) => {
                let Some(finished) = finished.take() else { return Ok(()) };
                let rng = Rng::fork(self.seed, &format!("files/{id}"));
                return Ok(files.start(sender, target, flow, rng, finished)?);
            }
            Sender::Datagrams(datagrams) => {
                let Traffic::UdpGreedy { payload } = flow.traffic else { return Ok(()) };
                return Ok(datagrams.start(sender, target, payload.0 as usize)?);
            }
            Sender::Program(_) => {}
        }
        let mut client = self.program("iperf3", sender, &format!("client-{id}"))?;
        client.args(["--client", &to.to_string(), "--port", &addr::port(id).to_string(), "--json", "--interval", "0"]);
        // Whole seconds; who is to stop in between is stopped.
        client.args(["--time", &(lasts.as_secs_f64().ceil() as u64 + 1).to_string()]);
        match flow.traffic {
            Traffic::Bulk | Traffic::Files { .. } => {
                let control = flow.tcp.variant.in_linux();
                client.args(["--congestion", control, "--set-mss", &flow.tcp.mss.to_string()]);
            }
            Traffic::Quic => unreachable!("`check` refuses it"),
            Traffic::UdpGreedy { payload } => {
                // Twice what the radio could carry, as the simulator's greedy downloads.
                let rate = self.scenario.stations[station].rate.as_bps() * 2;
                client.args(["--udp", "--length", &payload.0.to_string(), "--bitrate", &rate.to_string()]);
            }
            Traffic::UdpCbr { payload, rate } => {
                let rate = rate.as_bps();
                client.args(["--udp", "--length", &payload.0.to_string(), "--bitrate", &rate.to_string()]);
            }
        }
        self.senders[id] = Sender::Program(Some(client.spawn().map_err(|error| missing("iperf3", error))?));
        Ok(())
    }

    /// Stops the sender of a flow: it sends nothing new.
    pub(super) fn stop(&mut self, id: usize) {
        match &mut self.senders[id] {
            Sender::Program(child) => {
                if let Some(mut child) = child.take() {
                    end(&mut child, Signal::SIGKILL);
                }
            }
            Sender::Files(files, _) => files.stop(),
            Sender::Datagrams(datagrams) => datagrams.stop(),
        }
    }

    /// A sender that ended although nobody stopped it.
    pub(super) fn ended_early(&mut self) -> Option<TestbedError> {
        let failed = |(flow, sender): (usize, &mut Sender)| {
            let message = match sender {
                Sender::Files(files, _) => Some(files.failure()?),
                Sender::Datagrams(datagrams) => Some(datagrams.failure()?),
                Sender::Program(child) => {
                    let has_ended = !matches!(child.as_mut()?.try_wait(), Ok(None));
                    has_ended.then_some(None)?
                }
            };
            Some((flow, message))
        };
        let (flow, message) = self.senders.iter_mut().enumerate().find_map(failed)?;
        let message = message.unwrap_or_else(|| self.said(&format!("client-{flow}")));
        Some(TestbedError::Traffic { flow, message })
    }

    /// What a program printed, in one line.
    fn said(&self, name: &str) -> String {
        let read = |end: &str| {
            let path: PathBuf = self.directory.path().join(format!("{name}.{end}"));
            fs::read_to_string(path).unwrap_or_default()
        };
        let json: serde_json::Value = serde_json::from_str(&read("json")).unwrap_or_default();
        let error = json.get("error").and_then(serde_json::Value::as_str).map(str::to_owned);
        error.unwrap_or_else(|| read("err").trim().replace('\n', "; "))
    }
}

impl Drop for TrafficPrograms<'_> {
    fn drop(&mut self) {
        for flow in 0..self.senders.len() {
            self.stop(flow);
        }
        for child in self.servers.iter_mut().chain(&mut self.pings) {
            end(child, Signal::SIGKILL);
        }
    }
}

fn is_greedy_upload(flow: &Flow) -> bool {
    matches!(flow.traffic, Traffic::UdpGreedy { .. }) && flow.direction == Direction::Up
}

/// Has a program run before the machine's other work; without the privilege it has the usual priority.
pub(super) fn hurried(command: &mut Command) {
    use std::os::unix::process::CommandExt;
    // SAFETY: between fork and exec only async-signal-safe calls are allowed; this is a plain system call.
    #[allow(unsafe_code)]
    unsafe {
        command.pre_exec(|| realtime::hurry().or(Ok(())));
    }
}

/// Reads what ping prints: replies to requests from number `first` on, and the number of requests.
fn pings(text: &str, first: u64) -> Pings {
    let after = |line: &str, key: &str| {
        let rest = &line[line.find(key)? + key.len()..];
        rest.split_whitespace().next()?.parse::<f64>().ok()
    };
    let replies = text.lines().filter_map(|line| Some((after(line, "icmp_seq=")?, after(line, "time=")?)));
    let measured = replies.filter(|(seq, _)| *seq as u64 >= first);
    let sums = text.lines().find(|line| line.contains(" packets transmitted"));
    let sent = sums.and_then(|line| line.split_whitespace().next()?.parse::<u64>().ok()).unwrap_or_default();
    Pings {
        sent: (sent + 1).saturating_sub(first),
        round_trips: measured.map(|(_, ms)| Duration::from_secs_f64(ms / 1e3)).collect(),
    }
}

fn end(child: &mut Child, signal: Signal) {
    let _ = kill(Pid::from_raw(child.id() as i32), signal);
    let _ = child.wait();
}

fn missing(program: &str, error: io::Error) -> TestbedError {
    crate::command::CommandError::Start { program: program.to_owned(), error }.into()
}

/// Whether somebody listens at a TCP port.
fn listens(namespace: &Namespace, port: u16) -> io::Result<bool> {
    let tables = namespace.enter(|| {
        let read = |name: &str| fs::read_to_string(format!("/proc/thread-self/net/{name}"));
        Ok(read("tcp")? + &read("tcp6")?)
    })?;
    Ok(tables.lines().any(|line| is_listener(line, port)))
}

/// A line of /proc/net/tcp: local address, remote address, state; 0A is LISTEN.
fn is_listener(line: &str, port: u16) -> bool {
    let mut fields = line.split_whitespace().skip(1);
    let local = fields.next().and_then(|local| local.rsplit(':').next());
    local == Some(&format!("{port:04X}")) && fields.nth(1) == Some("0A")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pings_of_the_warm_up_do_not_count() {
        let text = "PING 10.0.0.11 (10.0.0.11) 56(84) bytes of data.\n\
                    64 bytes from 10.0.0.11: icmp_seq=1 ttl=63 time=3.50 ms\n\
                    64 bytes from 10.0.0.11: icmp_seq=3 ttl=63 time=150 ms\n\
                    64 bytes from 10.0.0.11: icmp_seq=4 ttl=63 time=12.5 ms\n\n\
                    --- 10.0.0.11 ping statistics ---\n\
                    5 packets transmitted, 3 received, 40% packet loss, time 4005ms\n";
        let measured = pings(text, 3);
        assert_eq!(measured.sent, 3);
        assert_eq!(measured.round_trips, [Duration::from_millis(150), Duration::from_micros(12_500)]);
        assert_eq!(pings("", 3), Pings::default());
    }

    #[test]
    fn a_listener_is_told_from_a_connection() {
        let listener = "0: 00000000:1451 00000000:0000 0A 00000000:00000000 00:00000000 00000000 0 0 1 1";
        let connection = "1: 0200000A:1451 0200010A:8000 01 00000000:00000000 00:00000000 00000000 0 0 1 1";
        assert!(is_listener(listener, 0x1451));
        assert!(!is_listener(listener, 0x1452));
        assert!(!is_listener(connection, 0x1451));
    }
}
