//! Whether the box says that it is not the bottleneck, that nobody answers or that the cell carries more, and how soon; and
//! that it does not say so where all is right.

use std::fmt::Write as _;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::sleep;
use std::time::{Duration, Instant};

use crate::cases::side_by_side;
use crate::live::Live;
use crate::load::{Load, Wants};
use crate::radio::{Cell, Control, Mode, Radio, tc};

type Result<T> = std::result::Result<T, String>;

const MBPS: u32 = 20;
const STATIONS: usize = 5;
/// From the start of the daemon until the word, in seconds: the bar, and how long is waited for it.
const BAR: f64 = 15.0;
const LONGEST: Duration = Duration::from_secs(40);
/// Words of the three sentences.
const ELSEWHERE: &str = "the box divides nothing";
const BLIND: &str = "none answers a probe";
const FASTER: &str = "carries more";

/// A situation.
#[derive(Clone, Copy, Debug)]
struct Case {
    name: &'static str,
    capacity: &'static str,
    uploads: bool,
    is_blind: bool,
    /// What the radio carries, in Mbit/s.
    mbps: u32,
    /// Packets that the access point holds.
    buffer: u32,
    /// The last station may have 1 Mbit/s.
    is_capped: bool,
    /// The host sends at most so many kbit/s to each station.
    demand: Option<u32>,
    /// After so many seconds there is no access point for four more, and then one that carries three times as much: time
    /// counts from there.
    replaced_after: Option<u64>,
    /// All transfers pause together: so many seconds of load, and so many without.
    pauses: Option<(u64, u64)>,
    /// What must be said; nothing else may be.
    expects: Option<&'static str>,
}

const TOO_HIGH: Case = Case {
    name: "C fixed 30 % too high, one station uploads",
    capacity: "\"26 Mbit/s\"",
    uploads: true,
    is_blind: false,
    mbps: MBPS,
    buffer: 75,
    is_capped: false,
    demand: None,
    replaced_after: None,
    pauses: None,
    expects: Some(ELSEWHERE),
};
const ADAPTIVE: &str = "{ kind = \"adaptive\", max = \"40 Mbit/s\" }";

fn cases() -> [Case; 15] {
    let right = Case { capacity: "\"18.6 Mbit/s\"", expects: None, ..TOO_HIGH };
    [
        TOO_HIGH,
        Case { name: "C fixed 30 % too high, all download", uploads: false, ..TOO_HIGH },
        Case {
            name: "12 Mbit/s, C fixed 30 % too high, one station capped",
            capacity: "\"15.6 Mbit/s\"",
            mbps: 12,
            is_capped: true,
            ..TOO_HIGH
        },
        Case { name: "C fixed 17 % too high, buffer of 300", capacity: "\"23.4 Mbit/s\"", buffer: 300, ..TOO_HIGH },
        Case { name: "C fixed 30 % too high, 3 s of load in turn with 3 s of none", pauses: Some((3, 3)), ..TOO_HIGH },
        Case {
            name: "`adaptive`, nobody answers",
            capacity: ADAPTIVE,
            is_blind: true,
            expects: Some(BLIND),
            ..TOO_HIGH
        },
        Case {
            name: "the AP is replaced by a faster one, C fixed at 93 % of the old one",
            replaced_after: Some(65),
            expects: Some(FASTER),
            ..right
        },
        Case {
            name: "the AP is replaced by a faster one, `adaptive` with a `max` for the old one",
            capacity: "{ kind = \"adaptive\", max = \"22 Mbit/s\" }",
            replaced_after: Some(15),
            expects: Some(FASTER),
            ..right
        },
        Case { name: "C fixed at 93 %, one station uploads", ..right },
        Case { name: "C fixed at 93 %, all download", uploads: false, ..right },
        Case { name: "C fixed at 93 %, one station capped", is_capped: true, ..right },
        Case { name: "C fixed at 93 %, 3 s of load in turn with 3 s of none", pauses: Some((3, 3)), ..right },
        Case {
            name: "C fixed at 93 %, all download, 4 s of load in turn with 10 s of none",
            uploads: false,
            pauses: Some((4, 10)),
            ..right
        },
        Case { name: "`adaptive`, one station uploads", capacity: ADAPTIVE, ..right },
        Case {
            name: "C fixed, each station gets the 2 Mbit/s it asks for",
            uploads: false,
            demand: Some(2000),
            ..right
        },
    ]
}

/// The host sends no more than `kbps` to each station: a server's own limit.
fn limit(radio: &Radio, kbps: u32) -> Result<()> {
    let mut lines = "qdisc add dev eth0 root handle 1: htb default 99\n".to_owned();
    for index in 0..STATIONS {
        let (minor, address) = (10 + index, Radio::station_address(index));
        let _ = writeln!(
            lines,
            "class add dev eth0 parent 1: classid 1:{minor} htb rate {kbps}kbit\n\
             filter add dev eth0 parent 1: protocol ip pref 1 u32 match ip dst {address}/32 flowid 1:{minor}"
        );
    }
    tc(&radio.host, &lines)
}

/// Seconds until each new text among the troubles, in `watched`, or until what is expected has come.
fn watch(
    fairair: &Path,
    case: &Case,
    control: Control,
    number: usize,
    watched: Duration,
) -> Result<Vec<(f64, String)>> {
    let cell = Cell { mode: Mode::Routed, mbps: case.mbps, buffer: case.buffer, stations: STATIONS, control };
    let radio = Radio::new(cell, number)?;
    if case.is_blind {
        radio.blind()?;
    }
    if let Some(kbps) = case.demand {
        limit(&radio, kbps)?;
    }
    let mut live = Live::new(fairair, &radio)?;
    let last = Radio::station_address(STATIONS - 1);
    let capped = format!("[[station]]\nname = \"capped\"\naddresses = [\"{last}\"]\ncap = \"1 Mbit/s\"\n");
    live.configure(case.capacity, "", if case.is_capped { &capped } else { "" })?;
    let mut wants = vec![Wants { up: 0, down: 1 }; STATIONS];
    if case.uploads {
        wants[0] = Wants { up: 2, down: 0 };
    }
    let load = Load::start(&radio, &wants)?;
    sleep(Duration::from_secs(3));
    live.start()?;
    if let Some(after) = case.replaced_after {
        sleep(Duration::from_secs(after));
        radio.replace(3 * case.mbps, Duration::from_secs(4))?;
    }
    let begin = Instant::now();
    let mut said: Vec<(f64, String)> = Vec::new();
    let longest = if case.expects.is_some() { LONGEST } else { watched };
    while begin.elapsed() < longest && !said.iter().any(|(_, text)| is_expected(case, text)) {
        if let Some((on, off)) = case.pauses {
            load.pause(begin.elapsed().as_secs() % (on + off) >= on);
        }
        let status = live.status()?;
        let told = ["troubles", "notes"].into_iter().filter_map(|key| status[key].as_array());
        for line in told.flatten() {
            let text = line.to_string();
            let is_new = !said.iter().any(|(_, old)| old == &text);
            if is_new && [ELSEWHERE, BLIND, FASTER].iter().any(|words| text.contains(words)) {
                said.push((begin.elapsed().as_secs_f64(), text));
            }
        }
        sleep(Duration::from_millis(500));
    }
    drop(load);
    Ok(said)
}

fn is_expected(case: &Case, text: &str) -> bool {
    case.expects.is_some_and(|words| text.contains(words))
}

/// Bar 5 of the live box: said within 15 s where it is so; never in `seconds` of ordinary operation.
pub(crate) fn tells(fairair: &Path, jobs: usize, control: Control, seconds: u64, only: &str) -> bool {
    let mut cases = cases().to_vec();
    cases.retain(|case| case.name.contains(only));
    println!("| case, {MBPS} Mbit/s, {STATIONS} stations | what the box says, and after how long | bar |");
    println!("|---|---|---|");
    let missed = AtomicBool::new(false);
    side_by_side(
        &cases,
        jobs,
        |case| case.mbps,
        |number, case| {
            let seen = watch(fairair, case, control, number, Duration::from_secs(seconds));
            let (is_met, said) = match &seen {
                Ok(said) => {
                    let is_met = match case.expects {
                        Some(_) => {
                            said.iter().all(|(at, text)| is_expected(case, text) && *at <= BAR) && !said.is_empty()
                        }
                        None => said.is_empty(),
                    };
                    let lines = said.iter().map(|(at, text)| format!("{at:.1} s: {text}")).collect::<Vec<_>>();
                    (is_met, lines.join("; "))
                }
                Err(error) => (false, format!("failed: {error}")),
            };
            missed.fetch_or(!is_met, Ordering::Relaxed);
            let said = if said.is_empty() { "nothing".to_owned() } else { said };
            println!("| {} | {said} | {} |", case.name, if is_met { "met" } else { "**missed**" });
        },
    );
    !missed.into_inner()
}
