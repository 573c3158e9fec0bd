//! `[discovery]`: how stations are found that the file does not name.

use std::fmt;
use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;

use fairair_core::scenario::reader::{Checked, Reason, Table};
use fairair_core::units::{Bitrate, Duration};

use super::Ap;
use super::value::{ap, interface, names, no, path, word};

pub(super) const KEYS: &[&str] = &["neighbours", "first_sight", "dnsmasq", "kea", "iw", "hostapd", "snmp", "age"];
pub(super) const HOSTAPD: &[&str] = &["socket", "ap"];
pub(super) const SNMP: &[&str] =
    &["agent", "community", "ap", "every", "table", "ports", "oid", "mac", "rate_oid", "rate_unit", "address_oid"];
/// Keys of a table of one's own.
const OWN: [&str; 5] = ["oid", "mac", "rate_oid", "rate_unit", "address_oid"];
const TABLES: &str = "\"mikrotik\", \"cisco-dot11\", \"bridge\", \"q-bridge\"";

/// How stations are found that the file does not name.
#[derive(Clone, Debug, PartialEq)]
pub struct Discovery {
    /// By the kernel's neighbour table.
    pub neighbours: bool,
    /// By their first packet.
    pub first_sight: bool,
    /// dnsmasq's lease file.
    pub dnsmasq: Option<PathBuf>,
    /// Kea's lease file.
    pub kea: Option<PathBuf>,
    /// Radios of this box that `iw` is asked about.
    pub iw: Vec<String>,
    /// hostapds that are asked.
    pub hostapd: Vec<HostapdConfig>,
    /// SNMP agents that are asked.
    pub snmp: Vec<SnmpConfig>,
    /// A station that has not been seen for so long is forgotten.
    pub age: Duration,
}

impl Discovery {
    /// Whether something lists the stations of AP `name`.
    pub fn lists(&self, name: &str) -> bool {
        self.hostapd.iter().any(|hostapd| hostapd.ap == name) || self.snmp.iter().any(|snmp| snmp.ap == name)
    }
}

/// A hostapd on this box.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostapdConfig {
    /// Its control socket.
    pub socket: PathBuf,
    /// Name of the AP that it is.
    pub ap: String,
}

/// An SNMP agent that knows who is associated.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SnmpConfig {
    /// Where it answers.
    pub agent: SocketAddr,
    /// The SNMP community that the agent accepts.
    pub community: Secret,
    /// Name of the AP whose stations it lists.
    pub ap: String,
    /// Time between two looks.
    pub every: Duration,
    /// Where its list is.
    pub table: SnmpTable,
}

/// A secret: it is never written to a log.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    /// For whom it is meant.
    pub fn as_bytes(&self) -> &[u8] {
        self.0.as_bytes()
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(..)")
    }
}

/// A table of an agent by its columns.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SnmpTable {
    /// The column that is walked.
    pub oid: Vec<u32>,
    /// Where its rows have the MAC address.
    pub mac: MacPlace,
    /// Rows that count: those with one of these numbers; empty: all.
    pub ports: Vec<u64>,
    /// PHY rates.
    pub rate: Option<RateColumn>,
    /// The column with addresses.
    pub address: Option<Vec<u32>>,
}

/// Where a row has the MAC address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MacPlace {
    /// The first six numbers of the row's index.
    First,
    /// The last six.
    Last,
    /// The value, six octets.
    Value,
}

/// A column of PHY rates.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RateColumn {
    /// The column.
    pub oid: Vec<u32>,
    /// What a rate of 1 means.
    pub unit: Bitrate,
}

fn hostapds<'t>(table: &Table<'t>) -> Checked<Vec<Table<'t>>> {
    let example = "[[discovery.hostapd]] with socket = \"/run/hostapd/wlan0\"";
    Ok(table.tables("hostapd", "[[discovery.hostapd]]", example)?.unwrap_or_default())
}

fn agents<'t>(table: &Table<'t>) -> Checked<Vec<Table<'t>>> {
    let example = "[[discovery.snmp]] with agent = \"10.0.0.5\", community = \"public\" and table = \"mikrotik\"";
    Ok(table.tables("snmp", "[[discovery.snmp]]", example)?.unwrap_or_default())
}

/// Refuses keys that stand in the wrong table.
pub(super) fn placed(root: &Table) -> Checked<()> {
    let table = root.table("discovery", "[discovery]")?;
    table.allow(KEYS)?;
    hostapds(&table)?.iter().try_for_each(|table| table.allow(HOSTAPD))?;
    agents(&table)?.iter().try_for_each(|table| table.allow(SNMP))
}

pub(super) fn read(root: &Table, aps: &[Ap]) -> Checked<Discovery> {
    let table = root.table("discovery", "[discovery]")?;
    let radios = table.or::<Vec<String>>("iw", Vec::new())?;
    let (hostapds, agents) = (hostapds(&table)?, agents(&table)?);
    Ok(Discovery {
        dnsmasq: path(&table, "dnsmasq")?,
        kea: path(&table, "kea")?,
        iw: radios.iter().map(|name| interface(&table, "iw", name)).collect::<Checked<_>>()?,
        hostapd: hostapds.iter().map(|table| hostapd(table, aps)).collect::<Checked<_>>()?,
        snmp: agents.iter().map(|table| snmp(table, aps)).collect::<Checked<_>>()?,
        neighbours: table.or("neighbours", true)?,
        first_sight: table.or("first_sight", true)?,
        age: table.within(
            "age",
            Duration::from_secs(1)..=Duration::from_secs(30 * 86_400),
            Duration::from_secs(600),
        )?,
    })
}

/// The AP that a list is of; with one AP it need not be said.
fn listed(table: &Table, aps: &[Ap]) -> Checked<String> {
    match (ap(table, aps)?, aps) {
        (Some(named), _) => Ok(named),
        (None, [only]) => Ok(only.name.clone()),
        (None, _) => Err(table.lacks("ap", &format!("ap = the AP whose stations it lists, one of {}", names(aps)))),
    }
}

fn hostapd(table: &Table, aps: &[Ap]) -> Checked<HostapdConfig> {
    let socket = path(table, "socket")?.ok_or_else(|| table.lacks("socket", "socket = \"/run/hostapd/wlan0\""))?;
    // sockaddr_un has room for 107 bytes.
    if socket.as_os_str().len() > 107 {
        return Err(table.blame("socket", Reason::new("longer than a socket's path can be", "at most 107 bytes")));
    }
    Ok(HostapdConfig { socket, ap: listed(table, aps)? })
}

fn snmp(table: &Table, aps: &[Ap]) -> Checked<SnmpConfig> {
    let agent = table.required::<String>("agent", "agent = \"10.0.0.5\", its address")?.value;
    let at = agent.parse::<SocketAddr>().ok().or_else(|| Some(SocketAddr::new(agent.parse::<IpAddr>().ok()?, 161)));
    let agent = at.ok_or_else(|| no(table, "agent", &agent, "an address", "\"10.0.0.5\" or \"10.0.0.5:161\""))?;
    let community = table.required::<String>("community", "community = \"public\"")?.value;
    if community.is_empty() || community.len() > 255 {
        return Err(
            table.blame("community", Reason::new("none, or too long", "1 to 255 characters, as the agent wants"))
        );
    }
    let second = Duration::from_secs;
    Ok(SnmpConfig {
        agent,
        community: Secret(community),
        ap: listed(table, aps)?,
        every: table.within("every", second(1)..=second(3600), second(10))?,
        table: columns(table)?,
    })
}

/// A table that is known by name, or of one's own.
fn columns(table: &Table) -> Checked<SnmpTable> {
    let ports: Vec<u64> = table.or("ports", Vec::new())?;
    let named = table.optional::<String>("table")?.map(|named| named.value);
    if let (Some(_), Some(key)) = (&named, OWN.into_iter().find(|key| table.has(key))) {
        return Err(table.blame(key, Reason::new("`table` says it already", "write `table`, or `oid` and `mac`")));
    }
    let is_bridge = matches!(named.as_deref(), Some("bridge" | "q-bridge"));
    if is_bridge && ports.is_empty() {
        return Err(table.lacks("ports", "ports = [2], the radio's ports: a bridge lists who is behind its wire, too"));
    }
    if matches!(named.as_deref(), Some("mikrotik" | "cisco-dot11")) && !ports.is_empty() {
        return Err(table.blame("ports", Reason::new("this table has none", "remove it")));
    }
    let Some(named) = named else { return own(table, ports) };
    let known = |text: &str| object(text).expect("a good one");
    // Its rates stand in the column that is walked.
    let table_of = |oid: &str, mac, unit: Option<u64>, address: Option<&str>| SnmpTable {
        oid: known(oid),
        mac,
        ports,
        rate: unit.map(|unit| RateColumn { oid: known(oid), unit: Bitrate::from_bps(unit) }),
        address: address.map(known),
    };
    Ok(match named.as_str() {
        // mtxrWlRtabTxRate: the registration table, by MAC address and interface.
        "mikrotik" => table_of("1.3.6.1.4.1.14988.1.1.1.2.1.8", MacPlace::First, Some(1), None),
        // cDot11ClientCurrentTxRateSet and cDot11ClientIpAddress, by interface, SSID and MAC address: detti2011's own.
        "cisco-dot11" => {
            let address = Some("1.3.6.1.4.1.9.9.273.1.2.1.1.16");
            table_of("1.3.6.1.4.1.9.9.273.1.3.1.1.1", MacPlace::Last, Some(500_000), address)
        }
        // dot1dTpFdbPort (RFC 4188), and dot1qTpFdbPort (RFC 4363) with the VLAN's table before the MAC address.
        "bridge" => table_of("1.3.6.1.2.1.17.4.3.1.2", MacPlace::Last, None, None),
        "q-bridge" => table_of("1.3.6.1.2.1.17.7.1.2.2.1.2", MacPlace::Last, None, None),
        _ => {
            let fix = format!("write one of {TABLES}, or `oid` and `mac`");
            return Err(table.blame("table", Reason::new("not known", fix)));
        }
    })
}

fn own(table: &Table, ports: Vec<u64>) -> Checked<SnmpTable> {
    let Some(oid) = column(table, "oid")? else {
        return Err(table.lacks("table", &format!("table = one of {TABLES}, or `oid` and `mac` for another")));
    };
    let places = [("first", MacPlace::First), ("last", MacPlace::Last), ("value", MacPlace::Value)];
    let mac = word(table, "mac", &places, "write \"first\" or \"last\" (six numbers of the index) or \"value\"")?;
    let mac = mac.ok_or_else(|| table.lacks("mac", "mac = \"last\""))?;
    let unit = table.within("rate_unit", Bitrate::from_bps(1)..=Bitrate::mbps(1), Bitrate::from_bps(1))?;
    let rate = column(table, "rate_oid")?.map(|oid| RateColumn { oid, unit });
    if rate.is_none() && table.has("rate_unit") {
        return Err(table.blame("rate_unit", Reason::new("there is no `rate_oid`", "add it, or remove this")));
    }
    Ok(SnmpTable { oid, mac, ports, rate, address: column(table, "address_oid")? })
}

fn column(table: &Table, key: &str) -> Checked<Option<Vec<u32>>> {
    let Some(text) = table.optional::<String>(key)?.map(|text| text.value) else { return Ok(None) };
    let example = "\"1.3.6.1.2.1.17.4.3.1.2\"";
    object(&text).map(Some).ok_or_else(|| no(table, key, &text, "an object identifier", example))
}

/// The numbers of an object identifier, with or without a dot before the first.
fn object(text: &str) -> Option<Vec<u32>> {
    let text = text.strip_prefix('.').unwrap_or(text);
    let digits = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
    let numbers =
        text.split('.').map(|part| part.parse().ok().filter(|_| digits(part))).collect::<Option<Vec<u32>>>()?;
    let is_good = (2..=64).contains(&numbers.len()) && numbers[0] <= 2 && (numbers[0] == 2 || numbers[1] < 40);
    is_good.then_some(numbers)
}
