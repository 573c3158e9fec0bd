//! `iw dev INTERFACE station dump`: who is associated, and at which rate, where the box has the radio itself.

use std::process::{Command, Stdio};

use fairair_core::units::Bitrate;

use super::{Discovery, Sighting};
use crate::enforce::site::Source;

/// Asks `iw`.
#[derive(Debug)]
pub struct Iw {
    /// The radio's interface; its name was checked.
    pub interface: String,
}

impl Discovery for Iw {
    fn source(&self) -> Source {
        Source::Association
    }

    fn look(&mut self) -> Result<Vec<Sighting>, String> {
        let mut iw = Command::new("iw");
        iw.args(["dev", &self.interface, "station", "dump"]).env("LC_ALL", "C").stdin(Stdio::null());
        let output = iw.output().map_err(|error| format!("cannot run iw: {error}"))?;
        if !output.status.success() {
            return Err(format!("iw: {}", String::from_utf8_lossy(&output.stderr).trim()));
        }
        Ok(parse_iw(&String::from_utf8_lossy(&output.stdout)))
    }
}

/// Stations with their transmit rate, as the AP sends to them. Lines of another form are passed over.
pub fn parse_iw(text: &str) -> Vec<Sighting> {
    let mut stations: Vec<Sighting> = Vec::new();
    for line in text.lines() {
        if let Some(rest) = line.strip_prefix("Station ") {
            let mac = rest.split_whitespace().next().and_then(|mac| mac.parse().ok());
            stations.push(Sighting { mac, ..Sighting::default() });
        } else if let Some(rate) = line.trim().strip_prefix("tx bitrate:")
            && let Some(station) = stations.last_mut()
            && let Some((number, unit)) = rate.trim().split_once(' ')
            && unit.starts_with("MBit/s")
        {
            let mbps = number.parse::<f64>().ok().filter(|mbps| (0.1..=100_000.0).contains(mbps));
            station.rate = mbps.map(|mbps| Bitrate::from_bps((mbps * 1e6) as u64));
        }
    }
    stations.retain(|station| station.mac.is_some());
    stations
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stations_and_their_rates_are_read() {
        let text = "Station 02:00:5e:10:00:01 (on wlan0)\n\tinactive time:\t304 ms\n\ttx bitrate:\t11.0 MBit/s\n\
            \trx bitrate:\t2.0 MBit/s\nStation rubbish (on wlan0)\n\ttx bitrate:\t1.0 MBit/s\n\
            Station 02:00:5e:10:00:02 (on wlan0)\n\ttx bitrate:\tNaN MBit/s\n";
        let stations = parse_iw(text);
        let rates: Vec<_> = stations.iter().map(|station| station.rate).collect();
        assert_eq!(rates, [Some(Bitrate::mbps(11)), None]);
    }
}
