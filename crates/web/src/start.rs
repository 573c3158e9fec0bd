//! What the page has to know before anything is asked.

use fairair_core::mac::{Phy, Width};
use fairair_core::qdisc::QdiscSpec;
use fairair_core::remedy::REMEDIES;
use serde::Serialize;

use crate::examples::{EXAMPLES, Scenario};
use crate::limits;

/// The cell that is shown to who names none.
const FIRST: &str = "cafe-802.11ax";

/// The start of a page.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Start {
    version: &'static str,
    scenario: Scenario,
    examples: Vec<Scenario>,
    phys: Vec<PhyChoice>,
    queues: Vec<Queue>,
    remedies: usize,
    most_stations: usize,
    most_seconds: f64,
}

/// A discipline of the AP's queue.
#[derive(Clone, Debug, Serialize)]
struct Queue {
    kind: &'static str,
    /// Whether it has the key `limit`.
    has_limit: bool,
}

/// What can be chosen with a PHY.
#[derive(Clone, Debug, Serialize)]
struct PhyChoice {
    name: &'static str,
    /// Data rates in Mbit/s; empty with MCSs.
    rates_mbps: Vec<f64>,
    /// The highest MCS; null without.
    highest_mcs: Option<u8>,
    /// Channel widths with MCSs.
    widths: Vec<&'static str>,
}

impl Start {
    /// With the scenario that the command named.
    pub(crate) fn new(scenario: Option<Scenario>) -> Self {
        let all =
            || EXAMPLES.iter().map(|(name, toml)| Scenario { name: (*name).to_owned(), toml: (*toml).to_owned() });
        let first = || all().find(|example| example.name == FIRST).expect("a test reads all examples");
        Start {
            version: env!("CARGO_PKG_VERSION"),
            scenario: scenario.unwrap_or_else(first),
            examples: all().collect(),
            phys: [Phy::B, Phy::A, Phy::G, Phy::N, Phy::Ac, Phy::Ax].map(PhyChoice::new).to_vec(),
            queues: QdiscSpec::all().iter().map(Queue::new).collect(),
            remedies: REMEDIES.len(),
            most_stations: limits::STATIONS,
            most_seconds: limits::DURATION.as_secs_f64(),
        }
    }
}

impl Queue {
    fn new(spec: &QdiscSpec) -> Self {
        let has_limit = serde_json::to_value(spec).is_ok_and(|table| table.get("limit").is_some());
        Queue { kind: spec.kind(), has_limit }
    }
}

impl PhyChoice {
    fn new(phy: Phy) -> Self {
        let mcs = phy.has_mcs();
        let widest = phy.widest(phy.usual_band());
        PhyChoice {
            name: phy.name(),
            rates_mbps: if mcs { Vec::new() } else { phy.rates_kbps().iter().map(|kbps| *kbps as f64 / 1e3).collect() },
            highest_mcs: mcs.then(|| phy.highest_mcs()),
            widths: Width::ALL.iter().filter(|width| mcs && **width <= widest).map(|width| width.name()).collect(),
        }
    }
}
