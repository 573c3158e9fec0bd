//! The association table of an AP over SNMP version 2c (detti2011, footnote 3), by get-bulk along one column.

use std::collections::BTreeMap;
use std::hash::{BuildHasher as _, RandomState};
use std::net::IpAddr;
use std::time::{Duration, Instant};

use fairair_core::units::Bitrate;
use snmp2::{Oid, SyncSession, Value};

use super::{AgentError, Discovery, DiscoveryError, Sighting};
use crate::enforce::config::{Mac, MacPlace, PHY_RATES, SnmpConfig};
use crate::enforce::octets::ip;

/// An agent that has not answered after this time is asked once more.
const PATIENCE: Duration = Duration::from_secs(1);
/// A whole look takes no longer.
const LONGEST: Duration = Duration::from_secs(8);
/// Rows asked for at once: their answer fits an Ethernet frame, so that no fragment can be lost.
const ROWS: u32 = 20;
/// Rows in all; tables of bridges have a few thousand.
const MOST: usize = 20_000;

/// Asks one agent.
#[derive(Debug)]
pub struct Snmp(SnmpConfig);

/// What a row says.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Cell {
    Number(u64),
    Octets(Vec<u8>),
}

/// Rows of a column by what follows its object identifier.
type Column = BTreeMap<Vec<u32>, Cell>;

impl Snmp {
    /// As configured.
    pub const fn new(config: SnmpConfig) -> Self {
        Snmp(config)
    }

    fn ask(&self) -> Result<Vec<Sighting>, AgentError> {
        let deadline = Instant::now() + LONGEST;
        let table = &self.0.table;
        let main = self.walk(&table.oid, deadline)?;
        if main.is_empty() && !self.has_mib(&table.oid)? {
            let oid = table.oid.iter().map(ToString::to_string).collect::<Vec<_>>().join(".");
            return Err(AgentError::NoTable(oid));
        }
        let other = |oid: &Option<Vec<u32>>| match oid {
            Some(oid) if *oid == table.oid => Ok(main.clone()),
            Some(oid) => self.walk(oid, deadline),
            None => Ok(Column::new()),
        };
        let rates = other(&table.rate.as_ref().map(|rate| rate.oid.clone()))?;
        let addresses = other(&table.address)?;
        let unit = table.rate.as_ref().map_or(Bitrate::from_bps(1), |rate| rate.unit);
        let stations = main.iter().filter_map(|(index, cell)| {
            let is_wanted = table.ports.is_empty() || matches!(cell, Cell::Number(port) if table.ports.contains(port));
            let mac = is_wanted.then(|| mac(table.mac, index, cell)).flatten()?;
            Some(Sighting {
                mac: Some(mac),
                rate: rates.get(index).and_then(|cell| rate(cell, unit)),
                address: addresses.get(index).and_then(address),
                ..Sighting::default()
            })
        });
        Ok(stations.collect())
    }

    /// Whether the agent has anything of the MIB that the column `oid` is in. A table without rows is as one that is not there;
    /// but a MIB has more than one table.
    fn has_mib(&self, oid: &[u32]) -> Result<bool, AgentError> {
        // Column, entry, table and group.
        let root = &oid[..oid.len().saturating_sub(4).max(2)];
        let (mut last, mut rows) = (root.to_vec(), Column::new());
        step(&mut self.session()?, root, &mut last, &mut rows)?;
        Ok(last != root)
    }

    /// A port that was not used before and a number that nobody guesses: who answers has seen the request.
    fn session(&self) -> Result<SyncSession, AgentError> {
        let number = RandomState::new().hash_one(Instant::now()) as i32 & i32::MAX;
        Ok(SyncSession::new_v2c(self.0.agent, self.0.community.as_bytes(), Some(PATIENCE), number)?)
    }

    /// All rows below `oid`.
    fn walk(&self, oid: &[u32], deadline: Instant) -> Result<Column, AgentError> {
        let mut column = Column::new();
        let mut last = oid.to_vec();
        let mut session = self.session()?;
        let mut failures = 0;
        while column.len() < MOST {
            if Instant::now() > deadline {
                return Err(AgentError::Slow(LONGEST));
            }
            match step(&mut session, oid, &mut last, &mut column) {
                Ok(true) => failures = 0,
                Ok(false) => return Ok(column),
                Err(error) if failures > 0 => return Err(error),
                Err(_) => {
                    failures += 1;
                    // The old session might take a late answer for that to its next request.
                    session = self.session()?;
                }
            }
        }
        Err(AgentError::Long(MOST))
    }
}

impl Discovery for Snmp {
    fn look(&mut self) -> Result<Vec<Sighting>, DiscoveryError> {
        Ok(self.ask()?)
    }
}

/// One get-bulk of what follows `last`; answers whether there may be more.
fn step(session: &mut SyncSession, oid: &[u32], last: &mut Vec<u32>, column: &mut Column) -> Result<bool, AgentError> {
    let pdu = session.getbulk(&[&Oid::new(encode(last).into())], 0, ROWS)?;
    if pdu.error_status != 0 {
        return Err(AgentError::Status(pdu.error_status));
    }
    let mut is_on = false;
    for (name, value) in pdu.varbinds {
        // It comes with the name that was asked for.
        if matches!(value, Value::EndOfMibView) {
            return Ok(false);
        }
        let name = decode(name.as_bytes()).ok_or(AgentError::Malformed)?;
        let Some(index) = name.strip_prefix(oid).filter(|index| !index.is_empty()) else { return Ok(false) };
        if name <= *last {
            return Err(AgentError::Backwards);
        }
        let cell = match value {
            Value::Integer(number) => u64::try_from(number).ok().map(Cell::Number),
            Value::Unsigned32(number) | Value::Counter32(number) => Some(Cell::Number(number.into())),
            Value::OctetString(octets) => Some(Cell::Octets(octets.to_vec())),
            Value::IpAddress(octets) => Some(Cell::Octets(octets.to_vec())),
            _ => None,
        };
        column.extend(cell.map(|cell| (index.to_vec(), cell)));
        *last = name;
        is_on = true;
    }
    // An answer without rows is the end, too.
    Ok(is_on)
}

/// The device of a row.
fn mac(place: MacPlace, index: &[u32], cell: &Cell) -> Option<Mac> {
    let octets = |parts: &[u32]| parts.iter().map(|part| u8::try_from(*part).ok()).collect();
    let octets: Vec<u8> = match (place, cell) {
        (MacPlace::Value, Cell::Octets(octets)) => Some(octets.clone()),
        (MacPlace::Value, Cell::Number(_)) => None,
        (MacPlace::First, _) => octets(index.first_chunk::<6>()?),
        (MacPlace::Last, _) => octets(index.last_chunk::<6>()?),
    }?;
    let mac = Mac(octets.try_into().ok()?);
    (!mac.is_multicast() && mac.0 != [0; 6]).then_some(mac)
}

/// A rate as a number, or as the octet of the 802.11 rate sets.
fn rate(cell: &Cell, unit: Bitrate) -> Option<Bitrate> {
    let number = match cell {
        Cell::Number(number) => *number,
        // The bit of basic rates says nothing here.
        Cell::Octets(octets) => u64::from(octets.first()? & 0x7f),
    };
    Some(Bitrate::from_bps(number.checked_mul(unit.as_bps())?)).filter(|rate| PHY_RATES.contains(rate))
}

fn address(cell: &Cell) -> Option<IpAddr> {
    if let Cell::Octets(octets) = cell { ip(octets) } else { None }
}

/// The numbers of an object identifier in BER; `None` if one exceeds 32 bits or the last is cut.
fn decode(bytes: &[u8]) -> Option<Vec<u32>> {
    let mut numbers = Vec::with_capacity(bytes.len() + 1);
    let mut number: u64 = 0;
    let mut is_open = false;
    for byte in bytes {
        number = number << 7 | u64::from(byte & 0x7f);
        is_open = byte & 0x80 != 0;
        if is_open {
            (number < 1 << 32).then_some(())?;
            continue;
        }
        if numbers.is_empty() {
            // The first two are sent as one.
            let first = (number / 40).min(2);
            numbers.push(first as u32);
            number -= first * 40;
        }
        numbers.push(u32::try_from(number).ok()?);
        number = 0;
    }
    (!is_open).then_some(numbers)
}

/// The reverse of [`decode`], for at least two numbers.
fn encode(numbers: &[u32]) -> Vec<u8> {
    let first = u64::from(numbers[0]) * 40 + u64::from(numbers[1]);
    let mut bytes = Vec::new();
    for number in std::iter::once(first).chain(numbers[2..].iter().map(|number| u64::from(*number))) {
        let septets = (64 - number.leading_zeros()).div_ceil(7).max(1);
        for septet in (0..septets).rev() {
            let more = if septet > 0 { 0x80 } else { 0 };
            bytes.push((number >> (7 * septet)) as u8 & 0x7f | more);
        }
    }
    bytes
}

#[cfg(test)]
mod agent;
#[cfg(test)]
mod tests;
