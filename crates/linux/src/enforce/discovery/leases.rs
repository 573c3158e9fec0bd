//! DHCP leases: dnsmasq's file and Kea's memfile. Their names come from the devices and may be anything.

use std::fs::{FileType, OpenOptions};
use std::io::Read as _;
use std::os::unix::fs::{FileTypeExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime};

use super::{Discovery, DiscoveryError, Sighting, sanitized};

/// No lease file is longer.
const LONGEST: u64 = 16 << 20;

/// A file that has not changed is read again after this time: leases in it end.
const REREAD: Duration = Duration::from_secs(10);

/// A lease file.
#[derive(Debug)]
pub struct Leases {
    path: PathBuf,
    /// The leases in its text that are good at a time, in seconds since 1970.
    parse: fn(&str, u64) -> Vec<Sighting>,
    /// When it was read, and its time and length then.
    read: Option<(Instant, Option<SystemTime>, u64)>,
}

impl Leases {
    /// dnsmasq's: expiry, MAC address, address, name, client id on each line.
    pub fn dnsmasq(path: PathBuf) -> Self {
        Leases { path, parse: dnsmasq, read: None }
    }

    /// Kea's: comma-separated, appended to, the last line of an address counts.
    pub fn kea(path: PathBuf) -> Self {
        Leases { path, parse: kea, read: None }
    }

    /// Its text, if that may be news.
    fn text(&mut self) -> Result<Option<String>, DiscoveryError> {
        let found = std::fs::metadata(&self.path);
        let (time, length) = found.as_ref().map_or((None, 0), |found| (found.modified().ok(), found.len()));
        let is_same = |(at, then, long): &(Instant, Option<SystemTime>, u64)| {
            at.elapsed() < REREAD && time.is_some() && *then == time && *long == length
        };
        if self.read.as_ref().is_some_and(is_same) {
            return Ok(None);
        }
        // What failed is tried again at the next look.
        self.read = None;
        let text = read(&self.path)?;
        self.read = Some((Instant::now(), time, length));
        Ok(Some(text))
    }
}

impl Discovery for Leases {
    fn look(&mut self) -> Result<Vec<Sighting>, DiscoveryError> {
        Ok(self.text()?.map_or_else(Vec::new, |text| (self.parse)(&text, now())))
    }
}

/// The text of a regular file: what is none may never end, or keep who opens it waiting for good.
fn read(file: &Path) -> Result<String, DiscoveryError> {
    let is_file = |kind: FileType| if kind.is_file() { Ok(()) } else { Err(DiscoveryError::NoFile(what(kind))) };
    is_file(std::fs::metadata(file)?.file_type())?;
    let opened = OpenOptions::new().read(true).custom_flags(libc::O_NONBLOCK | libc::O_NOCTTY).open(file)?;
    // It may be another one by now.
    is_file(opened.metadata()?.file_type())?;
    let mut bytes = Vec::new();
    opened.take(LONGEST + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > LONGEST {
        return Err(DiscoveryError::Long(LONGEST >> 20));
    }
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

fn what(kind: FileType) -> &'static str {
    match kind {
        kind if kind.is_dir() => "a directory",
        kind if kind.is_fifo() => "a FIFO",
        kind if kind.is_socket() => "a socket",
        _ => "a device",
    }
}

/// Seconds since 1970.
#[expect(clippy::disallowed_methods, reason = "leases say when they end by the wall clock")]
fn now() -> u64 {
    SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or(Duration::ZERO).as_secs()
}

/// Leases that have not expired; 0 never does. Lines of another form are passed over.
fn dnsmasq(text: &str, now: u64) -> Vec<Sighting> {
    let lease = |line: &str| {
        let mut words = line.split(' ');
        let expiry: u64 = words.next()?.parse().ok()?;
        let mac = words.next()?.parse().ok();
        let address = words.next()?.trim_matches(['[', ']']).parse().ok()?;
        let name = words.next().filter(|name| *name != "*").and_then(sanitized);
        (expiry == 0 || expiry > now).then_some(Sighting { address: Some(address), mac, name, ..Sighting::default() })
    };
    text.lines().filter_map(lease).collect()
}

/// Leases in state 0 (default) that have not expired.
fn kea(text: &str, now: u64) -> Vec<Sighting> {
    let mut lines = text.lines();
    let Some(header) = lines.next() else { return Vec::new() };
    let column = |name: &str| header.split(',').position(|own| own == name);
    let (Some(address), Some(mac), Some(expire)) = (column("address"), column("hwaddr"), column("expire")) else {
        return Vec::new();
    };
    let (hostname, state) = (column("hostname"), column("state"));
    let mut leases = std::collections::BTreeMap::new();
    for line in lines {
        let cells: Vec<_> = line.split(',').collect();
        let cell = |column: usize| cells.get(column).copied().unwrap_or_default();
        let Ok(ip) = cell(address).parse() else { continue };
        let is_good = state.is_none_or(|state| matches!(cell(state), "" | "0"));
        let is_valid = cell(expire).parse::<u64>().is_ok_and(|expiry| expiry > now);
        leases.remove(&ip);
        if is_good && is_valid {
            let name = hostname.and_then(|hostname| sanitized(cell(hostname)));
            leases.insert(ip, Sighting { address: Some(ip), mac: cell(mac).parse().ok(), name, ..Sighting::default() });
        }
    }
    leases.into_values().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dnsmasq_leases_are_read_and_hostile_names_tamed() {
        let text = "2000 02:00:5e:10:00:01 10.1.0.2 phone 01:02\n\
            10 02:00:5e:10:00:02 10.1.0.3 gone *\n\
            0 02:00:5e:10:00:03 10.1.0.4 $(reboot);\u{1b}[2J\"}\n\
            0 02:00:5e:10:00:04 10.1.0.5 --help\n\
            0 02:00:5e:10:00:05 10.1.0.6 NewComers\n\
            0 02:00:5e:10:00:06 10.1.0.7 \u{430}dmin\u{202e}\u{200b}\n\
            duid 00:01\n\
            2000 12345 [fd00::5] * 00:01\nrubbish\n\n";
        let leases = dnsmasq(text, 1000);
        let names: Vec<_> = leases.iter().map(|lease| lease.name.as_deref()).collect();
        assert_eq!(names, [Some("phone"), Some("reboot2J"), Some("help"), None, Some("dmin"), None]);
        assert_eq!(leases[5].address, Some("fd00::5".parse().unwrap()));
    }

    #[test]
    fn of_keas_lines_the_last_counts() {
        let text = "address,hwaddr,client_id,valid_lifetime,expire,subnet_id,fqdn_fwd,fqdn_rev,hostname,state\n\
            10.1.0.2,02:00:5e:10:00:01,,3600,2000,1,0,0,phone,0\n\
            10.1.0.3,02:00:5e:10:00:02,,3600,2000,1,0,0,tablet,0\n\
            10.1.0.2,02:00:5e:10:00:09,,3600,3000,1,0,0,other,0\n\
            10.1.0.3,02:00:5e:10:00:02,,3600,2000,1,0,0,tablet,2\n\
            10.1.0.4\n";
        let leases = kea(text, 1000);
        assert_eq!(leases.len(), 1);
        assert_eq!(leases[0].mac, Some("02:00:5e:10:00:09".parse().unwrap()));
        assert!(kea("", 0).is_empty() && kea("no,header\n1,2\n", 0).is_empty());
    }

    /// A FIFO without a writer would hold the thread for good, a device has no end. Each look says so until the file is there.
    #[test]
    fn what_is_no_file_is_told_and_holds_nobody() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("leases");
        let looks = |path: PathBuf| {
            let (sender, told) = std::sync::mpsc::channel();
            std::thread::spawn(move || {
                let mut ways = [Leases::dnsmasq(path.clone()), Leases::kea(path)];
                let looks = [0, 1, 0, 1].map(|way| ways[way].look().map_err(|error| error.to_string()));
                let _ = sender.send(looks);
            });
            told.recv_timeout(Duration::from_secs(5)).expect("each look ends")
        };
        let is_told = |path: &Path, fault: &str| {
            for look in looks(path.to_owned()) {
                let told = look.unwrap_err();
                assert!(told.contains(fault) && told.contains("lease"), "{told}");
            }
        };
        assert!(std::process::Command::new("mkfifo").arg(&path).status().unwrap().success());
        is_told(&path, "a FIFO");
        is_told(directory.path(), "a directory");
        is_told(Path::new("/dev/zero"), "a device");
        std::fs::remove_file(&path).unwrap();
        let file = std::fs::File::create(&path).unwrap();
        file.set_len(LONGEST + 1).unwrap();
        is_told(&path, "16 MB");
        file.set_len(LONGEST).unwrap();
        assert!(looks(path).iter().all(Result::is_ok));
    }

    proptest::proptest! {
        /// Any text is leases or none, and no name carries more than letters and digits of ASCII and three signs.
        #[test]
        fn any_text_is_leases_or_none(noise in "(\\PC|[0-9:., \n*]){0,200}", name in ".{0,80}") {
            let line = format!("0 02:00:5e:10:00:01 10.1.0.2 {name} *\n{noise}");
            let table = format!("address,hwaddr,expire,hostname\n10.1.0.2,,9,{name}\n{noise}");
            for lease in dnsmasq(&line, 1).into_iter().chain(kea(&table, 1)).chain(dnsmasq(&noise, 1)).chain(kea(&noise, 1)) {
                let name = lease.name.unwrap_or_default();
                proptest::prop_assert!(name.chars().all(|c| c.is_ascii_alphanumeric() || "-_.".contains(c)), "{}", name);
                proptest::prop_assert!(!name.starts_with('-'), "{}", name);
            }
            let _ = super::super::parse_iw(&noise);
            let _ = crate::enforce::protocol::Request::parse(&noise);
            let _ = crate::enforce::config::Config::from_toml(&noise, "fuzz");
        }
    }
}
