//! Files and sockets of this machine that list stations.

use std::fs;
use std::os::unix::fs::FileTypeExt as _;
use std::path::{Path, PathBuf};

/// Where distributions have the leases of dnsmasq.
const DNSMASQ: [&str; 3] = ["/var/lib/misc/dnsmasq.leases", "/var/lib/dnsmasq/dnsmasq.leases", "/tmp/dhcp.leases"];
/// The same of Kea.
const KEA: [&str; 2] = ["/var/lib/kea/kea-leases4.csv", "/var/lib/kea/dhcp4.leases"];
/// Where hostapd has its control sockets.
const HOSTAPD: [&str; 2] = ["/run/hostapd", "/var/run/hostapd"];

/// What was found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Lists {
    /// dnsmasq's lease file.
    pub dnsmasq: Option<PathBuf>,
    /// Kea's lease file.
    pub kea: Option<PathBuf>,
    /// hostapd's sockets; their names are those of its interfaces.
    pub hostapd: Vec<PathBuf>,
    /// Whether hostapd's directory is there, but may not be read.
    pub is_hidden: bool,
}

impl Lists {
    /// Looks below `root`, which is `/` but in tests.
    pub fn read(root: &Path) -> Lists {
        let below = |path: &&str| root.join(path.trim_start_matches('/'));
        let first = |paths: &[&str]| paths.iter().find(|path| below(path).is_file()).map(PathBuf::from);
        let mut lists = Lists { dnsmasq: first(&DNSMASQ), kea: first(&KEA), ..Lists::default() };
        for directory in HOSTAPD {
            match fs::read_dir(below(&directory)) {
                Ok(entries) => {
                    let is_socket = |entry: &fs::DirEntry| entry.file_type().is_ok_and(|kind| kind.is_socket());
                    let sockets = entries.flatten().filter(is_socket);
                    lists.hostapd = sockets.map(|entry| Path::new(directory).join(entry.file_name())).collect();
                    // hostapd keeps one more for all its interfaces.
                    lists.hostapd.retain(|path| !path.ends_with("global"));
                    lists.hostapd.sort();
                    break;
                }
                Err(error) => lists.is_hidden |= error.kind() == std::io::ErrorKind::PermissionDenied,
            }
        }
        lists
    }

    /// The socket of the hostapd of `interface`.
    pub fn hostapd_of(&self, interface: &str) -> Option<&PathBuf> {
        self.hostapd.iter().find(|path| path.ends_with(interface))
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::net::UnixDatagram;

    use super::*;

    #[test]
    fn what_is_there_is_found_and_what_is_no_socket_is_none() {
        let root = tempfile::tempdir().unwrap();
        assert_eq!(Lists::read(root.path()), Lists::default());
        let made = |path: &str| {
            let path = root.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            path
        };
        fs::write(made("tmp/dhcp.leases"), "").unwrap();
        fs::write(made("var/lib/kea/kea-leases4.csv"), "").unwrap();
        fs::write(made("run/hostapd/note"), "").unwrap();
        let _sockets = ["wlan1", "wlan0", "global"]
            .map(|name| UnixDatagram::bind(made("run/hostapd/x").with_file_name(name)).unwrap());
        let lists = Lists::read(root.path());
        assert_eq!(lists.dnsmasq, Some("/tmp/dhcp.leases".into()));
        assert_eq!(lists.kea, Some("/var/lib/kea/kea-leases4.csv".into()));
        assert_eq!(lists.hostapd, [PathBuf::from("/run/hostapd/wlan0"), PathBuf::from("/run/hostapd/wlan1")]);
        assert_eq!(lists.hostapd_of("wlan0"), Some(&PathBuf::from("/run/hostapd/wlan0")));
        assert_eq!(lists.hostapd_of("lan0"), None);
    }
}
