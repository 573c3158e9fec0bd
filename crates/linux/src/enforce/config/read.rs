//! From a file to a [`Config`].

use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};
use std::os::unix::fs::FileTypeExt as _;
use std::path::{Path, PathBuf};

use fairair_core::control::CapacityParams;
use fairair_core::mac::Phy;
use fairair_core::scenario::reader::{
    Checked, KnownKeys, Mistake, Reason, Table, capacity, checked_name, from_toml, load,
};
use fairair_core::scenario::{Enforce, ScenarioError};
use fairair_core::shaper::{Policy, QueueRule, UdpRule};
use fairair_core::units::{Bitrate, Bytes};
use ipnet::IpNet;

use super::channel;
use super::discovery::{self, Discovery};
use super::journal;
use super::stations::stations;
use super::value::{RATES, interface, list, no, parsed, path, plan, word};
use super::wan;
use super::{Ap, Config, Gso, Leaf, LeafKind, Matcher, Mode, Plan, Wan};

const ROOT: &[&str] = &[
    "name",
    "mode",
    "uplink",
    "policy",
    "udp",
    "queue",
    "quantum",
    "batch",
    "leaf",
    "gso",
    "exclude",
    "metrics",
    "dashboard",
    "state",
    "journal",
    "ap",
    "plan",
    "station",
    "discovery",
    "wan",
];
const AP: &[&str] = &["name", "interface", "prefixes", "channel", "capacity", "phy", "basic_rate"];
const PLAN: &[&str] = &["name", "weight", "cap"];
const STATION: &[&str] = &["name", "ap", "mac", "addresses", "plan", "weight", "cap", "rate"];
pub(super) const KNOWN_KEYS: KnownKeys = &[
    ("[[ap]]", AP),
    ("[[station]]", STATION),
    ("[[plan]]", PLAN),
    ("[discovery]", discovery::KEYS),
    ("[[discovery.hostapd]]", discovery::HOSTAPD),
    ("[[discovery.snmp]]", discovery::SNMP),
    ("[journal]", journal::KEYS),
    ("[wan]", wan::KEYS),
    ("the top of the file, before the first [table]", ROOT),
];

/// Most access points: each has a class for newcomers among the first 255.
pub(crate) const MOST_APS: usize = 255;
const EXAMPLE: &str = "[[ap]] with name = \"ap1\", interface = \"eth1\" and capacity = \"5 Mbit/s\"";

impl Config {
    /// Names of the interfaces that are shaped: the uplinks, then each AP's.
    pub(in crate::enforce) fn interfaces(&self) -> impl Iterator<Item = &String> {
        self.uplinks.iter().chain(self.aps.iter().map(|ap| &ap.interface))
    }

    /// Reads the configuration in the file at `path`.
    ///
    /// # Errors
    /// The file cannot be read, or see [`Config::from_toml`].
    pub fn load(path: &Path) -> Result<Config, ScenarioError> {
        // A named FIFO without a writer would hold a daemon that reloads for good. That of a shell's `<(..)` has no path.
        let is_fifo = std::fs::metadata(path).is_ok_and(|file| file.file_type().is_fifo());
        if is_fifo && std::fs::canonicalize(path).is_ok() {
            return Err(ScenarioError::Unreadable {
                path: path.display().to_string(),
                what: "configuration",
                reason: "it is a FIFO, no regular file".to_owned(),
                fix: "name a configuration file that exists and that you may read".to_owned(),
            });
        }
        load(path, "configuration", KNOWN_KEYS, |root| {
            let config = config(root)?;
            journal::apart_from(root, &config, path)?;
            Ok(config)
        })
    }

    /// Reads a configuration from the text of a file; `name_of_file` is for messages only.
    ///
    /// # Errors
    /// The first mistake, with its place and remedy.
    pub fn from_toml(text: &str, name_of_file: &str) -> Result<Config, ScenarioError> {
        from_toml(text, name_of_file, KNOWN_KEYS, config)
    }
}

/// Refuses keys that stand in the wrong table, before one of them is missed where it belongs.
fn placed(root: &Table) -> Checked<()> {
    root.allow(ROOT)?;
    for (key, title, keys) in [("ap", "[[ap]]", AP), ("plan", "[[plan]]", PLAN), ("station", "[[station]]", STATION)] {
        let tables = root.tables(key, title, &format!("{title} and its keys below"))?;
        tables.iter().flatten().try_for_each(|table| table.allow(keys))?;
    }
    root.table("journal", "[journal]")?.allow(journal::KEYS)?;
    root.table("wan", "[wan]")?.allow(wan::KEYS)?;
    discovery::placed(root)
}

fn config(root: &Table) -> Checked<Config> {
    placed(root)?;
    let name = checked_name(root, "name = \"lobby\"")?.value;
    let modes = [("routed", Mode::Routed), ("bridged", Mode::Bridged)];
    let mode = word(root, "mode", &modes, "write \"routed\" or \"bridged\"")?.unwrap_or(Mode::Routed);
    let kinds = [("auto", LeafKind::Auto), ("fifo", LeafKind::Fifo), ("fq_codel", LeafKind::FqCodel)];
    let leaf = word(root, "leaf", &kinds, "write \"auto\", \"fifo\" or \"fq_codel\"")?.unwrap_or(LeafKind::Auto);
    let rules = [("auto", Gso::Auto), ("split", Gso::Split), ("keep", Gso::Keep)];
    let gso = word(root, "gso", &rules, "write \"auto\", \"split\" or \"keep\"")?.unwrap_or(Gso::Auto);
    let policy = root.or("policy", Policy::PerStation)?;
    let uplinks = uplinks(root)?;
    let aps = aps(root, policy, &uplinks)?;
    let discovery = discovery::read(root, &aps)?;
    apart(root, policy, &aps, &discovery)?;
    let plans = plans(root)?;
    let wan = wan::read(root)?;
    let metrics = parsed::<SocketAddr>(root, "metrics", "an address and port", "\"127.0.0.1:9477\"")?;
    Ok(Config {
        name,
        mode,
        policy,
        udp: udp(root, wan.as_ref())?,
        leaf: Leaf {
            kind: leaf,
            queue: if !root.has("queue") || root.is("queue", "auto") {
                QueueRule::Auto
            } else {
                QueueRule::Packets(root.within("queue", 1..=10_000, 200)?)
            },
            quantum: root.within("quantum", Bytes(1500)..=Bytes(1_000_000), Bytes(1500))?,
            batch: batch(root)?,
        },
        gso,
        exclude: exclude(root, mode)?,
        stations: stations(root, policy, mode, &aps, &discovery, &plans)?,
        plans,
        uplinks,
        aps,
        discovery,
        metrics,
        dashboard: dashboard(root, metrics)?,
        state: path(root, "state")?.unwrap_or_else(|| PathBuf::from("/run/fairair")),
        journal: journal::read(root)?,
        wan,
    })
}

/// Where metrics do not listen.
fn dashboard(root: &Table, metrics: Option<SocketAddr>) -> Checked<Option<SocketAddr>> {
    let dashboard = parsed::<SocketAddr>(root, "dashboard", "an address and port", "\"127.0.0.1:8080\"")?;
    let is_taken = |own: &SocketAddr| {
        metrics.is_some_and(|metrics| {
            let is_same = metrics.ip() == own.ip() || metrics.ip().is_unspecified() || own.ip().is_unspecified();
            is_same && metrics.port() == own.port() && own.port() != 0
        })
    };
    if dashboard.as_ref().is_some_and(is_taken) {
        let reason = Reason::new("`metrics` has this address and port", "give one of them another port");
        return Err(root.blame("dashboard", reason));
    }
    Ok(dashboard)
}

/// No batch, or more than a packet.
fn batch(root: &Table) -> Checked<Bytes> {
    match root.within("batch", Bytes(0)..=Bytes(1_000_000), Bytes(0))? {
        Bytes(1..3000) => {
            let fix = "write batch = \"0 B\" for one packet at a time, or batch = \"24 kB\"";
            Err(root.blame("batch", Reason::new("less than two packets are no batch", fix)))
        }
        batch => Ok(batch),
    }
}

/// Uplink UDP has its station's class on the Internet link, which knows no flows.
fn udp(root: &Table, wan: Option<&Wan>) -> Checked<UdpRule> {
    match root.or("udp", UdpRule::BypassUplink)? {
        UdpRule::Auto if wan.is_some_and(|wan| wan.up.is_some()) => {
            let problem = "`udp = \"auto\"` does not go with `up` of [wan], whose stage tells no flows of UDP apart";
            let fix =
                "write udp = \"shape\" where most of it is QUIC, or udp = \"bypass-uplink\" where most of it is calls";
            Err(root.blame("udp", Reason::new(problem, fix)))
        }
        rule => Ok(rule),
    }
}

fn uplinks(root: &Table) -> Checked<Vec<String>> {
    const EXAMPLE: &str = "uplink = \"eth0\"";
    if root.is_string("uplink") {
        let name = root.required::<String>("uplink", EXAMPLE)?.value;
        return Ok(vec![interface(root, "uplink", &name)?]);
    }
    let names = root.required::<Vec<String>>("uplink", EXAMPLE)?.value;
    if names.is_empty() {
        return Err(root.blame("uplink", Reason::new("the list is empty", format!("write {EXAMPLE}"))));
    }
    names.iter().map(|name| interface(root, "uplink", name)).collect()
}

fn aps(root: &Table, policy: Policy, uplinks: &[String]) -> Checked<Vec<Ap>> {
    let tables = root.tables("ap", "[[ap]]", EXAMPLE)?.unwrap_or_default();
    if tables.is_empty() {
        return Err(Mistake::new(&root.span_of("ap"), "there is no AP", format!("add {EXAMPLE}")));
    }
    if let Some(table) = tables.get(MOST_APS) {
        let problem = format!("{} APs, more than {MOST_APS}", tables.len());
        return Err(Mistake::new(table.span(), problem, "remove some, or run a second box"));
    }
    let mut aps: Vec<Ap> = Vec::new();
    for table in &tables {
        let ap = ap(table, policy, &aps)?;
        if aps.iter().any(|other| other.name == ap.name) {
            return Err(table.blame("name", Reason::new("another AP has this name", "give each its own")));
        }
        if uplinks.contains(&ap.interface) {
            let fix = "an AP's interface is the one towards its stations";
            return Err(table.blame("interface", Reason::new("this is an uplink", fix)));
        }
        aps.push(ap);
    }
    Ok(aps)
}

/// APs that share an interface need `prefixes`, or lists of their associated stations, so that each station has one AP.
fn apart(root: &Table, policy: Policy, aps: &[Ap], discovery: &Discovery) -> Checked<()> {
    let tables = root.tables("ap", "[[ap]]", EXAMPLE)?.unwrap_or_default();
    for (place, (ap, table)) in aps.iter().zip(&tables).enumerate() {
        for other in aps[..place].iter().filter(|other| other.interface == ap.interface) {
            let overlap = |one: &IpNet| other.prefixes.iter().any(|two| one.contains(two) || two.contains(one));
            let is_open = ap.prefixes.is_empty() && other.prefixes.is_empty();
            let is_told = policy.is_by_station() && discovery.lists(&ap.name) && discovery.lists(&other.name);
            if ap.prefixes.is_empty() != other.prefixes.is_empty()
                || ap.prefixes.iter().any(overlap)
                || is_open && !is_told
            {
                let problem =
                    format!("\"{}\" has the same interface, and nothing tells their stations apart", other.name);
                let fix = "give both prefixes that do not overlap, or, with a policy by station, no prefixes and \
                    [[discovery.snmp]] or [[discovery.hostapd]] for each";
                return Err(table.blame("interface", Reason::new(problem, fix)));
            }
        }
    }
    Ok(())
}

/// A rate of the PHY.
fn basic_rate(table: &Table, phy: Option<Phy>) -> Checked<Option<Bitrate>> {
    let Some(rate) = table.optional::<Bitrate>("basic_rate")?.map(|rate| rate.value) else { return Ok(None) };
    let Some(phy) = phy else { return Err(table.lacks("phy", "phy = \"802.11b\": `basic_rate` is one of its rates")) };
    let kbps = phy.rates_kbps();
    if kbps.iter().any(|kbps| Bitrate::from_bps(kbps * 1000) == rate) {
        return Ok(Some(rate));
    }
    let rates: Vec<_> = kbps.iter().map(|kbps| Bitrate::from_bps(kbps * 1000).to_string()).collect();
    let reason = Reason::new(format!("{rate} is no rate of this PHY"), format!("write one of {}", rates.join(", ")));
    Err(table.blame("basic_rate", reason))
}

/// An AP after `others`: what is left out is as at the first on its channel.
fn ap(table: &Table, policy: Policy, others: &[Ap]) -> Checked<Ap> {
    let name = checked_name(table, "name = \"ap1\"")?.value;
    let device = table.required::<String>("interface", "interface = \"eth1\"")?.value;
    let channel = channel::read(table)?;
    let same = others.iter().find(|other| channel.is_some() && other.channel == channel);
    let phy = table.optional::<Phy>("phy")?.map(|phy| phy.value).or(same.and_then(|same| same.phy));
    let told = same.filter(|_| !table.has("capacity")).map(|same| same.capacity);
    let is_automatic = !table.has("capacity") || table.is("capacity", "auto");
    if is_automatic && phy.is_none() && told.is_none() {
        let fix = "write capacity = \"5 Mbit/s\", capacity = { kind = \"adaptive\", max = \"6 Mbit/s\" }, or add phy = \"802.11b\"";
        return Err(Mistake::new(&table.span_of("capacity"), "nothing says how much the cell may carry at most", fix));
    }
    if table.has("capacity") && !table.is_string("capacity") && !table.is_table("capacity") {
        let fix = "write capacity = \"5 Mbit/s\" or capacity = { kind = \"adaptive\", max = \"6 Mbit/s\" }";
        return Err(table.blame("capacity", Reason::new("this is neither a rate nor a table", fix)));
    }
    // A misspelt key is told before the one that is then missing.
    let max = phy.map_or(*RATES.end(), Enforce::most);
    let capacity = told.map_or_else(|| capacity(table, max), Ok)?;
    if table.is_table("capacity") && phy.is_none() {
        let inner = table.table("capacity", "capacity")?;
        if !inner.is("kind", "fixed") && !inner.has("max") {
            return Err(inner.lacks("max", "max = \"6 Mbit/s\", the most that the cell may carry"));
        }
    }
    if policy == Policy::Airtime && phy.is_none() {
        return Err(table.lacks("phy", "phy = \"802.11b\": policy = \"airtime\" computes with it"));
    }
    let ap = Ap {
        name,
        interface: interface(table, "interface", &device)?,
        prefixes: list(table, "prefixes", "a prefix", "[\"10.1.0.0/16\", \"fd00:1::/64\"]")?,
        channel,
        capacity,
        phy,
        basic_rate: basic_rate(table, phy)?.or(same.and_then(|same| same.basic_rate)),
    };
    if let Some(same) = same {
        let keys = [
            ("capacity", ap.capacity == same.capacity),
            ("phy", ap.phy == same.phy),
            ("basic_rate", ap.basic_rate == same.basic_rate),
        ];
        if let Some((key, _)) = keys.into_iter().find(|(_, is_same)| !is_same) {
            return Err(channel::differs(table, key, same));
        }
    }
    if matches!(ap.capacity, CapacityParams::Air(_)) {
        if phy.is_none() {
            return Err(table.lacks("phy", "phy = \"802.11b\": capacity of kind `air` computes with it"));
        }
        if !policy.is_by_station() {
            let fix =
                "write kind = \"adaptive\", or a policy by station: \"per-station\", \"airtime\", \"airtime-phy\"";
            return Err(table.blame("capacity", Reason::new("`air` counts by station, and this policy does not", fix)));
        }
    }
    let (least, most) = ap.capacity.bounds();
    if !RATES.contains(&most) || !RATES.contains(&least) {
        let problem = if least == most {
            format!("{most} is outside the range")
        } else {
            format!("{least} to {most} is outside the range")
        };
        let fix = format!("capacities lie between {} and {}", RATES.start(), RATES.end());
        return Err(table.blame("capacity", Reason::new(problem, fix)));
    }
    Ok(ap)
}

fn plans(root: &Table) -> Checked<BTreeMap<String, Plan>> {
    let mut plans = BTreeMap::new();
    let example = "[[plan]] with name = \"gold\" and weight = 2";
    for table in root.tables("plan", "[[plan]]", example)?.unwrap_or_default() {
        let name = checked_name(&table, "name = \"gold\"")?.value;
        if plans.insert(name, plan(&table, Plan::default())?).is_some() {
            return Err(table.blame("name", Reason::new("another plan has this name", "give each its own")));
        }
    }
    Ok(plans)
}

fn exclude(root: &Table, mode: Mode) -> Checked<Vec<Matcher>> {
    let texts = root.or::<Vec<String>>("exclude", Vec::new())?;
    let read = |text: &String| {
        let (example, found) = match mode {
            Mode::Routed => {
                let net = text.parse::<IpNet>().ok().or_else(|| text.parse::<IpAddr>().ok().map(IpNet::from));
                ("[\"10.1.0.9\", \"10.2.0.0/24\"]", net.map(Matcher::Net))
            }
            Mode::Bridged => ("[\"02:00:5e:10:00:01\"]", text.parse().ok().map(Matcher::Mac)),
        };
        match found {
            Some(Matcher::Net(net)) if net != net.trunc() => {
                let problem = format!("{net} is both an address and a prefix");
                let fix = format!("write {} for the prefix, or {} for the host alone", net.trunc(), net.addr());
                Err(root.blame("exclude", Reason::new(problem, fix)))
            }
            found => found.ok_or_else(|| no(root, "exclude", text, "an address that this mode can exclude", example)),
        }
    };
    let exclude = texts.iter().map(read).collect::<Checked<Vec<_>>>()?;
    match excludes_all(&exclude) {
        [true, true] => {
            let fix = "leave only the addresses that the box shall not shape; without the box nothing is shaped either";
            Err(root.blame("exclude", Reason::new("this excludes all addresses, so nothing would be shaped", fix)))
        }
        _ => Ok(exclude),
    }
}

/// Whether nothing is left of IPv4 and of IPv6.
pub(in crate::enforce) fn excludes_all(exclude: &[Matcher]) -> [bool; 2] {
    let net = |own: &Matcher| if let Matcher::Net(net) = own { Some(*net) } else { None };
    let whole = IpNet::aggregate(&exclude.iter().filter_map(net).collect());
    [true, false].map(|is_v4| whole.iter().any(|net| net.prefix_len() == 0 && net.addr().is_ipv4() == is_v4))
}
