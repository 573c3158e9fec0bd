//! `iw dev INTERFACE station dump`: who is associated, and at which rate, where the box has the radio itself.

use std::io::Read;
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use fairair_core::units::Bitrate;

use super::{Discovery, DiscoveryError, Sighting, sanitized_line};
use crate::command::tool;
use crate::enforce::config::{Mac, PHY_RATES};

/// `iw` answers at once, or its driver hangs.
const PATIENCE: Duration = Duration::from_secs(2);
/// No list of stations is longer, in bytes.
const LONGEST: u64 = 8 << 20;

/// Asks `iw`.
#[derive(Debug)]
pub struct Iw {
    /// The radio's interface; its name was checked.
    pub interface: String,
}

impl Discovery for Iw {
    fn look(&mut self) -> Result<Vec<Sighting>, DiscoveryError> {
        let text = output(tool("iw").args(["dev", &self.interface, "station", "dump"]), PATIENCE)?;
        Ok(parse_iw(&text))
    }
}

/// What `command` prints within `patience`.
fn output(command: &mut Command, patience: Duration) -> Result<String, DiscoveryError> {
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().map_err(|reason| DiscoveryError::System { what: "cannot run it", reason })?;
    // Threads read, so that a full pipe holds nothing up; they end when the last who could write has ended.
    let reader = |pipe: Option<Box<dyn Read + Send>>| {
        thread::spawn(move || {
            let mut text = Vec::new();
            // What was read until an error is all that there is.
            let _ = pipe.map(|pipe| pipe.take(LONGEST).read_to_end(&mut text));
            String::from_utf8_lossy(&text).into_owned()
        })
    };
    let printed = reader(child.stdout.take().map(|pipe| Box::new(pipe) as Box<dyn Read + Send>));
    let words = reader(child.stderr.take().map(|pipe| Box::new(pipe) as Box<dyn Read + Send>));
    let begin = Instant::now();
    let status = loop {
        match child.try_wait() {
            Ok(Some(status)) => break status,
            Ok(None) if begin.elapsed() < patience => thread::sleep(Duration::from_millis(5)),
            ended => {
                let _ = (child.kill(), child.wait());
                return Err(ended.map_or_else(DiscoveryError::File, |_| DiscoveryError::NoEnd(patience)));
            }
        }
    };
    if status.success() {
        return printed.join().map_err(|_| DiscoveryError::Failed("cannot read what it prints".to_owned()));
    }
    let words = words.join().unwrap_or_default();
    let words = words.lines().next().filter(|line| !line.is_empty()).unwrap_or("it failed");
    Err(DiscoveryError::Failed(sanitized_line(words)))
}

/// Stations with their transmit rate, as the AP sends to them. Lines of another form are passed over.
pub fn parse_iw(text: &str) -> Vec<Sighting> {
    let mut stations: Vec<Sighting> = Vec::new();
    for line in text.lines() {
        if let Some(rest) = line.strip_prefix("Station ") {
            let mac =
                rest.split_whitespace().next().and_then(|mac| mac.parse().ok()).filter(|mac: &Mac| !mac.is_multicast());
            stations.push(Sighting { mac, ..Sighting::default() });
        } else if let Some(rate) = line.trim().strip_prefix("tx bitrate:")
            && let Some(station) = stations.last_mut()
            && let Some((number, unit)) = rate.trim().split_once(' ')
            && unit.starts_with("MBit/s")
        {
            let rate = number.parse::<f64>().ok().map(|mbps| Bitrate::from_bps((mbps * 1e6) as u64));
            station.rate = rate.filter(|rate| PHY_RATES.contains(rate));
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

    #[test]
    fn a_program_that_hangs_floods_or_fails_is_told() {
        let run = |script| {
            output(Command::new("sh").args(["-c", script]), Duration::from_millis(500))
                .map_err(|error| error.to_string())
        };
        assert_eq!(run("echo good"), Ok("good\n".to_owned()));
        assert_eq!(run("exec sleep 20"), Err("the answer did not end within 500ms".to_owned()));
        assert_eq!(run("exec yes"), Err("it failed".to_owned()), "nobody reads on");
        assert_eq!(run("printf '\\033[2Jno\\nmore' >&2; exit 3"), Err("[2Jno".to_owned()));
        assert_eq!(run("exit 3"), Err("it failed".to_owned()));
        let missing = output(&mut Command::new("/nonexistent/iw"), PATIENCE);
        assert!(missing.unwrap_err().to_string().contains("cannot run it"));
    }

    proptest::proptest! {
        /// Any text is stations or none, and rates are those of radios.
        #[test]
        fn any_text_is_stations_or_none(noise in "(\\PC|[0-9:.\\n\t]|Station |tx bitrate:|MBit/s){0,200}", rate: f64) {
            let text = format!("{noise}\nStation 02:00:5e:10:00:01 (on wlan0)\n\ttx bitrate:\t{rate} MBit/s\n");
            let stations = parse_iw(&text);
            proptest::prop_assert!(stations.iter().all(|own| own.mac.is_some() && own.address.is_none()));
            proptest::prop_assert!(stations.iter().all(|own| own.rate.is_none_or(|rate| PHY_RATES.contains(&rate))));
            proptest::prop_assert_eq!(stations.last().and_then(|own| own.mac), "02:00:5e:10:00:01".parse().ok());
        }
    }
}
