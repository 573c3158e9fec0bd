//! hostapd's control interface (`STA-FIRST`, `STA-NEXT`): who is associated, and at which rate.

use std::io;
use std::os::linux::net::SocketAddrExt as _;
use std::os::unix::net::{SocketAddr, UnixDatagram};
use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use fairair_core::units::Bitrate;

use super::{Discovery, DiscoveryError, Sighting};
use crate::enforce::config::{Mac, PHY_RATES};

/// hostapd answers at once, or hangs.
const PATIENCE: Duration = Duration::from_secs(2);
/// An AP with more stations (IEEE 802.11 numbers them up to 2007) is none.
const MOST: usize = 2007;
/// hostapd's own answers end at 4096.
const LONGEST: usize = 8192;

/// Asks one hostapd.
#[derive(Debug)]
pub struct Hostapd(PathBuf);

impl Hostapd {
    /// By its control socket.
    pub const fn new(socket: PathBuf) -> Self {
        Hostapd(socket)
    }

    fn ask(&self) -> io::Result<Vec<Sighting>> {
        // hostapd answers to the address of who asks. An abstract one leaves no file, and works where `/tmp` is private.
        static ASKED: AtomicU32 = AtomicU32::new(0);
        let own = format!("fairair-hostapd-{}-{}", std::process::id(), ASKED.fetch_add(1, Ordering::Relaxed));
        let socket = UnixDatagram::bind_addr(&SocketAddr::from_abstract_name(own)?)?;
        socket.connect(&self.0)?;
        socket.set_read_timeout(Some(PATIENCE))?;
        socket.set_write_timeout(Some(PATIENCE))?;
        let mut buffer = vec![0; LONGEST];
        let mut stations: Vec<Sighting> = Vec::new();
        let mut request = "STA-FIRST".to_owned();
        while stations.len() < MOST {
            socket.send(request.as_bytes())?;
            let length = socket.recv(&mut buffer)?;
            let Some((mac, rate)) = station(&String::from_utf8_lossy(&buffer[..length])) else { break };
            // A list that bends back would never end.
            if stations.iter().any(|known| known.mac == Some(mac)) {
                break;
            }
            request = format!("STA-NEXT {mac}");
            stations.push(Sighting { mac: Some(mac), rate, ..Sighting::default() });
        }
        Ok(stations)
    }
}

impl Discovery for Hostapd {
    fn look(&mut self) -> Result<Vec<Sighting>, DiscoveryError> {
        self.ask().map_err(|error| match error.kind() {
            // A wait with a limit is not taken up again after a signal.
            io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut | io::ErrorKind::Interrupted => {
                DiscoveryError::NoAnswer(PATIENCE)
            }
            _ => DiscoveryError::File(error),
        })
    }
}

/// A station of an answer, with the rate of what is sent to it, else of what came from it. `None` after the last one.
fn station(answer: &str) -> Option<(Mac, Option<Bitrate>)> {
    let mut lines = answer.lines();
    let mac = lines.next()?.trim().parse().ok().filter(|mac: &Mac| !mac.is_multicast())?;
    let (mut down, mut up) = (None, None);
    for line in lines {
        match line.split_once('=') {
            Some(("tx_rate_info", value)) => down = rate(value),
            Some(("rx_rate_info", value)) => up = rate(value),
            _ => {}
        }
    }
    Some((mac, down.or(up)))
}

/// The first word, in 100 kbit/s; 0 is not known.
fn rate(value: &str) -> Option<Bitrate> {
    let units: u64 = value.split(' ').next()?.parse().ok()?;
    Some(Bitrate::from_bps(units.checked_mul(100_000)?)).filter(|rate| PHY_RATES.contains(rate))
}

#[cfg(test)]
mod tests {
    use std::path::Path;
    use std::thread::{JoinHandle, spawn};

    use super::*;

    const FIRST: &str = "02:00:5e:10:00:01\nflags=[AUTH][ASSOC][AUTHORIZED]\naid=1\ncapability=0x431\n\
        supported_rates=82 84 8b 96\nrx_packets=1\ninactive_msec=304\nsignal=-30\nrx_rate_info=20\ntx_rate_info=110 mcs 7\n\
        connected_time=9\n";
    const SECOND: &str = "02:00:5e:10:00:02\nflags=[AUTH]\nrx_rate_info=20\ntx_rate_info=0\n";

    /// A hostapd that says `answers` in turn to whoever asks, and answers what it was asked.
    fn hostapd(socket: &Path, answers: Vec<&'static [u8]>) -> JoinHandle<Vec<String>> {
        let socket = UnixDatagram::bind(socket).unwrap();
        spawn(move || {
            let mut asked = Vec::new();
            let mut buffer = [0; 200];
            for answer in answers {
                let (length, from) = socket.recv_from(&mut buffer).unwrap();
                asked.push(String::from_utf8_lossy(&buffer[..length]).into_owned());
                socket.send_to_addr(answer, &from).unwrap();
            }
            asked
        })
    }

    fn look(answers: &[&'static [u8]]) -> (Result<Vec<Sighting>, DiscoveryError>, Vec<String>) {
        let directory = tempfile::tempdir().unwrap();
        let socket = directory.path().join("wlan0");
        let server = hostapd(&socket, answers.to_vec());
        let seen = Hostapd::new(socket).look();
        (seen, server.join().unwrap())
    }

    #[test]
    fn stations_are_asked_for_one_by_one_with_their_rates() {
        let (seen, asked) = look(&[FIRST.as_bytes(), SECOND.as_bytes(), b""]);
        assert_eq!(asked, ["STA-FIRST", "STA-NEXT 02:00:5e:10:00:01", "STA-NEXT 02:00:5e:10:00:02"]);
        let rates: Vec<_> = seen.unwrap().into_iter().map(|station| station.rate).collect();
        assert_eq!(rates, [Some(Bitrate::mbps(11)), Some(Bitrate::mbps(2))]);
    }

    #[test]
    fn lists_that_bend_back_or_are_rubbish_end() {
        assert_eq!(look(&[FIRST.as_bytes(), FIRST.as_bytes()]).0.unwrap().len(), 1);
        assert_eq!(look(&[FIRST.as_bytes(), b"FAIL\n"]).0.unwrap().len(), 1);
        assert_eq!(look(&[b"\xff\xfe$(reboot)\n"]).0.unwrap().len(), 0);
    }

    #[test]
    fn one_that_hangs_or_is_not_there_is_told() {
        let directory = tempfile::tempdir().unwrap();
        let socket = directory.path().join("wlan0");
        let ask = || Hostapd::new(socket.clone()).look().unwrap_err().to_string();
        let missing = ask();
        assert!(missing.contains("No such file"), "{missing}");
        let _silent = UnixDatagram::bind(&socket).unwrap();
        let silent = ask();
        assert!(silent.contains("no answer within 2s"), "{silent}");
    }

    proptest::proptest! {
        /// Any answer is a station or none.
        #[test]
        fn any_answer_is_a_station_or_none(noise in proptest::collection::vec(0_u8.., 0..300), units in 0_u64..) {
            let _ = station(&String::from_utf8_lossy(&noise));
            let lines = format!("02:00:5e:10:00:01\n{}\ntx_rate_info={units} mcs\n", String::from_utf8_lossy(&noise));
            let (_, rate) = station(&lines).expect("the first line is one");
            proptest::prop_assert!(rate.is_none_or(|rate| PHY_RATES.contains(&rate)));
        }
    }
}
