//! What is said over the control socket: a line of JSON each way.

use std::io::{self, BufRead as _, BufReader, Read as _, Write as _};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

use fairair_core::control::{Reason, State};
use fairair_core::packet::Direction;
use fairair_core::units::Bitrate;
use serde::{Deserialize, Serialize};
use thiserror::Error;

use super::config::Mac;
use super::datapath::{Preview, Restored};
use super::settings::{SetStation, Setting};
use super::site::Source;
use super::state;

/// Of the protocol. A daemon answers requests of this version only.
pub const VERSION: u32 = 1;
/// The longest request, in bytes: a configuration with a few thousand stations.
pub const LONGEST_REQUEST: u64 = 1 << 20;

/// A line from the client.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Request {
    /// [`VERSION`].
    pub version: u32,
    /// What is wanted.
    pub ask: Ask,
}

/// What can be wanted.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum Ask {
    /// Pools and their capacity.
    Status,
    /// All stations.
    Stations,
    /// One station, by name or address.
    Explain(String),
    /// All stations, and what is set for those that are not there.
    StationList,
    /// Give a station a plan, weight or cap of its own.
    SetStation(SetStation),
    /// End what is set for a station, by name, address or MAC address.
    UnsetStation(String),
    /// Read the configuration again.
    Reload,
    /// Say what `reload` would do with a configuration of this text.
    Preview(String),
    /// Keep what was applied (`run --confirm-within`).
    Confirm,
    /// Take everything back and end.
    Stop,
}

/// A line from the daemon.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Response {
    /// [`VERSION`].
    pub version: u32,
    /// What was asked for, or why not.
    pub answer: Result<Answer, Refusal>,
}

/// Why the daemon does not do what a client asked for, in words.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Error)]
#[serde(transparent)]
#[error("{0}")]
pub struct Refusal(pub String);

/// A line that is no request.
#[derive(Debug, Error)]
pub enum RequestError {
    /// It is not JSON of the right form.
    #[error("this line is not a request: {0}")]
    Form(#[from] serde_json::Error),
    /// The client speaks another version.
    #[error("this daemon speaks version {VERSION}, not {0}")]
    Version(u32),
}

/// What was asked for.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Answer {
    /// To [`Ask::Status`].
    Status(Status),
    /// To [`Ask::Stations`].
    Stations(Vec<StationReport>),
    /// To [`Ask::Explain`].
    Explain(Explanation),
    /// To [`Ask::StationList`].
    StationList(StationList),
    /// To [`Ask::SetStation`].
    Setting {
        /// As it is kept.
        setting: Setting,
        /// Whether the station is there; else the setting is kept until it appears.
        is_there: bool,
    },
    /// To [`Ask::Preview`].
    Preview(Preview),
    /// Done.
    Done(String),
    /// To [`Ask::Stop`], when everything was taken back.
    Stopped(Restored),
}

/// The daemon and its pools.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Status {
    /// Of the site.
    pub name: String,
    /// Process.
    pub pid: u32,
    /// Seconds since the start.
    pub uptime_s: f64,
    /// As the configuration spells it.
    pub policy: String,
    /// Seconds left to confirm in, if it must be confirmed.
    pub confirm_within_s: Option<f64>,
    /// What is wrong and lasts, such as a journal that cannot be written.
    pub troubles: Vec<String>,
    /// What an operator may want to know though nothing is wrong, such as that the cell carries more than C.
    #[serde(default)]
    pub notes: Vec<String>,
    /// Pools by name of the AP.
    pub pools: Vec<PoolReport>,
    /// The Internet link, each direction that is shaped.
    #[serde(default)]
    pub wan: Vec<WanReport>,
}

/// A direction of the Internet link.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct WanReport {
    /// `up` or `down`.
    pub direction: Direction,
    /// What the configuration says that it carries, IP bytes.
    pub capacity: Bitrate,
    /// Rate in the last second, IP bytes.
    pub rate: Bitrate,
    /// Whether it is the bottleneck: packets waited for it in at least half of the last two seconds' looks.
    pub binds: bool,
    /// Classes of which packets wait for it now.
    pub waiting: usize,
    /// Packets waiting for it now.
    pub backlog: u64,
    /// Packets dropped since the start, or since the stage was made anew.
    pub drops: u64,
    /// IP bytes that were no station's: the box's own, and those of `exclude`.
    pub others_bytes: u64,
}

/// A pool.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PoolReport {
    /// Name of the AP; of all APs of a channel, with commas.
    pub ap: String,
    /// The channel, such as `36/5`, if the APs name it.
    #[serde(default)]
    pub channel: Option<String>,
    /// Names of the APs.
    #[serde(default)]
    pub aps: Vec<String>,
    /// Interface towards it; all of them, with commas.
    pub interface: String,
    /// `fixed`, `air`, `wce` or `adaptive`.
    pub control: String,
    /// C.
    pub capacity: Bitrate,
    /// IP bytes that a class of the least weight sends at once now: the quantum, with `batch` more.
    #[serde(default)]
    pub turn_bytes: u64,
    /// What the controller knows.
    pub state: State,
    /// Of the last decision.
    pub reason: Reason,
    /// Stations with a class.
    pub stations: usize,
    /// Rate through the pool in the last second, both directions, IP bytes.
    pub rate: Bitrate,
    /// Packets waiting now.
    pub backlog: u64,
    /// Packets dropped since the start.
    pub drops: u64,
    /// Round-trip time of the last probe, in seconds.
    pub rtt_s: Option<f64>,
    /// Median over the stations of the last round-trip times above their baselines, in seconds (`adaptive`).
    #[serde(default)]
    pub rtt_above_baseline_s: Option<f64>,
    /// Probes sent, answered and lost since the start.
    pub probes: [u64; 3],
    /// The class that stations share until they have one of their own.
    #[serde(default)]
    pub newcomers: ClassReport,
    /// Why the box is not the bottleneck, or cannot know, and what to do.
    #[serde(default)]
    pub trouble: Option<String>,
}

/// What a class carried.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClassReport {
    /// IP bytes of both directions since the start.
    pub bytes: u64,
    /// Packets waiting now.
    pub backlog: u32,
    /// Packets dropped since the start.
    pub drops: u64,
}

/// How a station is asked for the round-trip time to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ProbeMethod {
    /// ICMP or ICMPv6 echo request.
    Echo,
    /// ARP request or neighbour solicitation.
    Neighbour,
}

/// A station.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StationReport {
    /// Name.
    pub name: String,
    /// Name of its AP.
    pub ap: String,
    /// MAC address, if known.
    pub mac: Option<Mac>,
    /// Addresses.
    pub addresses: Vec<String>,
    /// How it was found.
    pub source: Source,
    /// What is set for it over the configuration.
    #[serde(default)]
    pub setting: Option<Setting>,
    /// Of its plan.
    pub weight: f64,
    /// Most that it gets.
    pub cap: Option<Bitrate>,
    /// Bytes that a round gives its class.
    pub quantum: u32,
    /// Class of the kernel.
    pub class: String,
    /// Rate in the last second, both directions, IP bytes.
    pub rate: Bitrate,
    /// Uplink UDP that passes the box by, in the last second, IP bytes: [`Self::rate`] is without it.
    #[serde(default)]
    pub bypassing: Bitrate,
    /// PHY rate, where known.
    #[serde(default)]
    pub phy_rate: Option<Bitrate>,
    /// IP bytes since the class was made.
    pub bytes: u64,
    /// Packets waiting now.
    pub backlog: u32,
    /// Packets waiting for the Internet link now.
    #[serde(default)]
    pub wan_backlog: u32,
    /// Packets dropped since the class was made.
    pub drops: u64,
    /// Packets that waited for the Internet link and were dropped.
    #[serde(default)]
    pub wan_drops: u64,
    /// In which way it answers probes; `None`: it was not asked, or answers none.
    #[serde(default)]
    pub answers: Option<ProbeMethod>,
}

impl StationReport {
    /// By what lists are in order, the largest first: who has most of the air.
    pub fn load(&self) -> (Bitrate, u32) {
        (Bitrate::from_bps(self.rate.as_bps() + self.bypassing.as_bps()), self.backlog)
    }
}

/// All stations, and settings.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StationList {
    /// Those that are there.
    pub stations: Vec<StationReport>,
    /// What is set for others.
    pub absent: Vec<Setting>,
}

/// Why a station gets its rate.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Explanation {
    /// What was looked for.
    pub what: String,
    /// The station, if it has a class.
    pub station: Option<StationReport>,
    /// Sentences, the most important first.
    pub because: Vec<String>,
}

impl Ask {
    /// Whether the answer leaves the box otherwise than it was.
    pub const fn changes(&self) -> bool {
        match self {
            Ask::Status | Ask::Stations | Ask::Explain(_) | Ask::StationList | Ask::Preview(_) => false,
            Ask::SetStation(_) | Ask::UnsetStation(_) | Ask::Reload | Ask::Confirm | Ask::Stop => true,
        }
    }
}

impl Request {
    /// The request in `line`.
    ///
    /// # Errors
    /// It is no request of this version.
    pub fn parse(line: &str) -> Result<Ask, RequestError> {
        // The version first, so that a newer client is told so, whatever else it says.
        #[derive(Deserialize)]
        struct Version {
            version: u32,
        }
        let Version { version } = serde_json::from_str(line)?;
        if version != VERSION {
            return Err(RequestError::Version(version));
        }
        let request: Request = serde_json::from_str(line)?;
        Ok(request.ask)
    }
}

/// How long [`ask`] waits for the daemon: a reload of thousands of stations takes seconds.
pub const PATIENCE: Duration = Duration::from_secs(30);

/// Asks the daemon whose state is in `directory`.
///
/// # Errors
/// There is none, or it does not answer.
pub fn ask(directory: &Path, ask: Ask) -> io::Result<Result<Answer, Refusal>> {
    let mut stream = UnixStream::connect(state::State::socket(directory))?;
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.set_write_timeout(Some(PATIENCE))?;
    let mut line = serde_json::to_string(&Request { version: VERSION, ask })?;
    line.push('\n');
    stream.write_all(line.as_bytes())?;
    let mut answer = String::new();
    BufReader::new(stream.take(64 << 20)).read_line(&mut answer)?;
    let response: Response = serde_json::from_str(&answer)?;
    Ok(response.answer)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_read_back_and_strangers_are_told() {
        for ask in [Ask::Status, Ask::Stations, Ask::Explain("desk\n\"".into()), Ask::Reload, Ask::Confirm, Ask::Stop] {
            let line = serde_json::to_string(&Request { version: VERSION, ask: ask.clone() }).unwrap();
            assert!(!line.contains('\n'), "one line a request");
            assert_eq!(Request::parse(&line).unwrap(), ask);
        }
        let newer = Request::parse("{\"version\":2,\"ask\":\"fly\"}").unwrap_err();
        assert!(newer.to_string().contains("speaks version 1"));
        for wrong in [
            "",
            "{}",
            "[]",
            "{\"version\":1}",
            "{\"version\":1,\"ask\":\"fly\"}",
            "{\"version\":1,\"ask\":\"stop\",\"x\":1}",
        ] {
            assert!(Request::parse(wrong).is_err(), "{wrong}");
        }
    }

    proptest::proptest! {
        /// Any line is a request or a reason, and any text can be asked for.
        #[test]
        fn any_line_is_a_request_or_none(noise in "(\\PC|[{}\\[\\]\",:\u{1b}\n]){0,100}", what in ".{0,100}") {
            for ask in [Ask::Explain(what.clone()), Ask::Preview(what)] {
                let line = serde_json::to_string(&Request { version: VERSION, ask: ask.clone() }).unwrap();
                proptest::prop_assert!(!line.contains('\n'));
                proptest::prop_assert_eq!(Request::parse(&line).unwrap(), ask);
            }
            let error = Request::parse(&format!("{{\"version\":1,\"ask\":{noise}}}")).err();
            let told = error.map(|error| error.to_string()).unwrap_or_default();
            proptest::prop_assert!(Request::parse(&noise).is_err());
            proptest::prop_assert!(!told.contains('\u{1b}'), "{}", told);
        }
    }
}
