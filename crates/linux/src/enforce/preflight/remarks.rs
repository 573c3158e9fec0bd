//! What a good configuration may not mean: nothing of it keeps `run` from shaping.

use std::fmt::Display;
use std::fs;
use std::io::ErrorKind;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::{Path, PathBuf};

use fairair_core::shaper::UdpRule;

use crate::enforce::config::{Ap, Config, Matcher, Mode, Station, excludes_all};
use crate::enforce::datapath::{Link, routes};
use crate::enforce::setup::{Interface, Machine};
use crate::enforce::{journal, log};

/// Where the unit keeps files; systemd makes it at the start.
const OF_UNIT: &str = "/var/lib/fairair";

/// Files that `run` could not make.
pub(super) fn places(config: &Config) -> Vec<String> {
    let Some(journal) = &config.journal else { return Vec::new() };
    let files = [("file", Some(&journal.file)), ("log", journal.log.as_ref())];
    files.into_iter().filter_map(|(key, file)| unwritable(key, file?)).collect()
}

/// Why `state` can be no directory of the box.
pub(super) fn stateless(config: &Config) -> Option<String> {
    let own = &config.state;
    // `run` makes what is missing of it, and as root: what another user may not see is no fault.
    let (above, found) = own.ancestors().find_map(|above| Some((above, fs::metadata(above).ok()?)))?;
    let lack = if !found.is_dir() {
        format!("{} is no directory", above.display())
    } else if ["/proc", "/sys"].iter().any(|kernels| own.starts_with(kernels)) {
        format!("{} takes no files", own.display())
    } else {
        return None;
    };
    Some(format!("`state`: {lack}, so `run` could not start: name a directory, such as /run/fairair"))
}

/// Files of [journal] that have something else in them; `run` leaves them alone.
pub(super) fn foreign(config: &Config) -> Vec<String> {
    let Some(journal) = &config.journal else { return Vec::new() };
    let is_log = |log: &&PathBuf| log::is_foreign(log).unwrap_or_default();
    let found = [
        ("file", Some(&journal.file).filter(|file| journal::is_foreign(file)), "journal"),
        ("log", journal.log.as_ref().filter(is_log), "control log"),
    ];
    let told = |(key, file, kind): (&str, Option<&PathBuf>, &str)| {
        // Of a directory [`places`] speaks.
        let shown = file.filter(|file| !file.is_dir())?.display();
        Some(format!("`{key}` in [journal]: there is something else than a {kind} in {shown}: name another file"))
    };
    found.into_iter().filter_map(told).collect()
}

/// That others read the metrics, which ask for no password.
pub(super) fn readers(config: &Config) -> Option<String> {
    let address = config.metrics.filter(|address| !address.ip().to_canonical().is_loopback())?;
    let own = SocketAddr::new(
        if address.is_ipv4() { Ipv4Addr::LOCALHOST.into() } else { Ipv6Addr::LOCALHOST.into() },
        address.port(),
    );
    Some(format!(
        "`metrics`: everybody who reaches {address} may read it, names of stations included: write \"{own}\" unless others may"
    ))
}

/// That a whole IP version is not shaped.
pub(super) fn left_out(config: &Config) -> Option<String> {
    let family = match excludes_all(&config.exclude) {
        [true, _] => "IPv4",
        [_, true] => "IPv6",
        _ => return None,
    };
    Some(format!("`exclude`: no {family} is shaped: leave out what covers all addresses if it shall be"))
}

/// Stations that the configuration names and excludes.
pub(super) fn contradicted(config: &Config) -> Vec<String> {
    let remark = |name: &str, key: &str, own: &dyn Display, whole: &Matcher| {
        format!(
            "`{key}` of station {name}: `exclude` has {whole}, so {own} is not shaped: take {whole} out of `exclude`, or {own} out of the \
             station"
        )
    };
    let of = |own: &Station| {
        let by = |address, mac| config.exclude.iter().find(|matcher| matcher.has(address, mac));
        let mac = own.mac.and_then(|mac| Some(remark(&own.name, "mac", &mac, by(None, Some(mac))?)));
        let remarks = own
            .addresses
            .iter()
            .filter_map(|own_address| Some(remark(&own.name, "addresses", own_address, by(Some(*own_address), None)?)));
        mac.into_iter().chain(remarks).collect::<Vec<_>>()
    };
    config.stations.iter().flat_map(of).collect()
}

/// That UDP exceeds the caps.
pub(super) fn leaky_caps(config: &Config) -> Option<String> {
    let has_caps = config.stations.iter().any(|own| own.plan.cap.is_some())
        || config.plans.values().any(|plan| plan.cap.is_some());
    let passes_by = config.udp != UdpRule::Shape && config.wan.as_ref().is_none_or(|wan| wan.up.is_none());
    (has_caps && passes_by).then(|| {
        "`cap`: uplink UDP passes the shaper by and counts to no cap: write udp = \"shape\" if a station may not exceed its cap by QUIC or a \
         VPN either"
            .to_owned()
    })
}

/// Addresses of stations that are this box's own, or the gateway's.
pub(super) fn borrowed(config: &Config, machine: &Machine) -> Vec<String> {
    let owner = |address: IpAddr| {
        let has = |own: &&Interface| own.addresses.iter().any(|net| net.addr() == address);
        if let Some(own) = machine.interfaces.iter().find(has) {
            return Some(format!("this box's own, on {}", own.name));
        }
        let gateway =
            machine.defaults.iter().find(|(name, hop)| *hop == Some(address) && config.uplinks.contains(name));
        gateway.map(|(name, _)| format!("the gateway's, the next hop of the default route on {name}"))
    };
    let remark = |name: &str, address: IpAddr| {
        let whose = owner(address)?;
        Some(format!("`addresses` of station {name}: {address} is {whose}: write the station's own address"))
    };
    let all = config.stations.iter().flat_map(|own| own.addresses.iter().map(move |address| (&own.name, *address)));
    all.filter_map(|(name, address)| remark(name, address)).collect()
}

/// Addresses of stations to which no route leads by an interface of an access point: no packet of them passes there.
pub(super) fn astray(config: &Config, links: &[Link]) -> Vec<String> {
    let named = config.stations.iter().flat_map(|own| own.addresses.iter().map(move |address| (&own.name, *address)));
    let named: Vec<_> = named.filter(|_| config.mode == Mode::Routed).collect();
    let addresses: Vec<_> = named.iter().map(|(_, address)| *address).collect();
    let name_of = |index| links.iter().find(|link| link.index == index).map(|link| link.name.as_str());
    let remark = |name: &String, address: IpAddr, device: Option<&str>| {
        if device.is_some_and(|device| config.aps.iter().any(|ap| ap.interface == device)) {
            return None;
        }
        let way = device.map_or_else(
            || "has no route".to_owned(),
            |device| format!("is reached by {device}, and not by an access point's interface"),
        );
        Some(format!("`addresses` of station {name}: {address} {way}: is it right?"))
    };
    let ways = routes(&addresses).unwrap_or_default().into_iter().map(|way| way.and_then(|way| name_of(way.interface)));
    named.into_iter().zip(ways).filter_map(|((name, address), device)| remark(name, address, device)).collect()
}

/// Interfaces towards access points by which the default route goes.
pub(super) fn swapped(config: &Config, machine: &Machine) -> Vec<String> {
    let mut ways: Vec<&String> = machine.defaults.iter().map(|(name, _)| name).collect();
    ways.dedup();
    ways.retain(|name| !config.uplinks.contains(name));
    let ap_of = |name: &&String| config.aps.iter().find(|ap| ap.interface == **name);
    let remark = |name: &String, ap: &Ap| {
        format!(
            "the default route goes by {name}, which is the `interface` of AP {}: name the interface towards the gateway as `uplink`, and the \
             one towards the AP as `interface`",
            ap.name
        )
    };
    ways.into_iter().filter_map(|name| ap_of(&name).map(|ap| remark(name, ap))).collect()
}

/// Why nothing can be written to `file`, as far as its directory tells.
fn unwritable(key: &str, file: &Path) -> Option<String> {
    let directory = file.parent()?;
    let shown = directory.display();
    let (lack, fix) = match fs::metadata(directory) {
        Ok(own) if !own.is_dir() => (format!("{shown} is no directory"), "name a file in a directory".to_owned()),
        Ok(_) if file.is_dir() => (format!("{} is a directory", file.display()), "name a file in it".to_owned()),
        Err(error) if error.kind() == ErrorKind::NotFound && directory == Path::new(OF_UNIT) => {
            (format!("there is no directory {shown}"), format!("the unit makes it; else `mkdir {shown}`"))
        }
        Err(error) if error.kind() == ErrorKind::NotFound => {
            (format!("there is no directory {shown}"), format!("`mkdir -p {shown}`"))
        }
        Err(error) if error.kind() == ErrorKind::NotADirectory => {
            (format!("{shown} is below a file"), "name a file in a directory".to_owned())
        }
        // It is there; or this user may not see it, and `run` may.
        _ => return None,
    };
    Some(format!("`{key}` in [journal]: {lack}, so `run` would shape without it and say TROUBLE: {fix}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    const SITE: &str =
        "name = \"x\"\nuplink = \"wan\"\n[[ap]]\nname = \"a\"\ninterface = \"lan\"\ncapacity = \"8 Mbit/s\"\n";

    fn config(more: &str) -> Config {
        Config::from_toml(&format!("{SITE}{more}"), "test").unwrap()
    }

    #[test]
    fn a_journal_without_its_directory_is_told() {
        let directory = tempfile::tempdir().unwrap();
        let at = directory.path().display();
        std::fs::write(directory.path().join("taken"), "").unwrap();
        let told = |file: &str, log: &str| {
            places(&config(&format!("[journal]\nfile = \"{at}/{file}\"\nlog = \"{at}/{log}\"\n")))
        };
        assert_eq!(told("journal.db", "control.log"), [""; 0]);
        let both = told("none/journal.db", "taken/control.log");
        let [file, log] = &both[..] else { panic!("{both:?}") };
        assert!(file.contains(&format!("`file` in [journal]: there is no directory {at}/none")), "{file}");
        assert!(file.ends_with(&format!("say TROUBLE: `mkdir -p {at}/none`")), "{file}");
        assert!(log.contains(&format!("`log` in [journal]: {at}/taken is no directory")), "{log}");
        let told = places(&config(&format!("[journal]\nfile = \"{at}\"\n")));
        assert!(told.len() == 1 && told[0].contains("is a directory"), "{told:?}");
    }

    #[test]
    fn a_state_that_can_be_no_directory_is_told() {
        let directory = tempfile::tempdir().unwrap();
        let at = directory.path().display();
        let told =
            |state: &str| stateless(&Config::from_toml(&format!("state = \"{state}\"\n{SITE}"), "test").unwrap());
        for good in [format!("{at}"), format!("{at}/none/yet")] {
            assert_eq!(told(&good), None);
        }
        for (state, lack) in [
            ("/dev/null", "/dev/null is no directory"),
            ("/dev/null/x", "/dev/null is no directory"),
            ("/proc", "/proc takes no files"),
            ("/sys/fairair", "/sys/fairair takes no files"),
        ] {
            let told = told(state).expect(state);
            assert!(told.starts_with(&format!("`state`: {lack}")) && told.ends_with("as /run/fairair"), "{told}");
        }
    }

    #[test]
    fn files_of_others_are_told() {
        let directory = tempfile::tempdir().unwrap();
        let at = directory.path().display();
        let told = || foreign(&config(&format!("[journal]\nfile = \"{at}/journal.db\"\nlog = \"{at}/seen.jsonl\"\n")));
        assert_eq!(told(), [""; 0]);
        std::fs::write(directory.path().join("journal.db"), "SQLite format 3\0more").unwrap();
        std::fs::write(directory.path().join("seen.jsonl"), "\n").unwrap();
        assert_eq!(told(), [""; 0]);
        for name in ["journal.db", "seen.jsonl"] {
            std::fs::write(directory.path().join(name), "127.0.0.1 localhost\n").unwrap();
        }
        let all = told();
        let [file, log] = &all[..] else { panic!("{all:?}") };
        assert!(file.starts_with("`file` in [journal]: ") && file.ends_with("journal.db: name another file"), "{file}");
        assert!(log.starts_with("`log` in [journal]: ") && log.ends_with("seen.jsonl: name another file"), "{log}");
    }

    #[test]
    fn an_ip_version_that_passes_by_is_told() {
        let told = |exclude: &str| {
            Config::from_toml(&format!("exclude = [{exclude}]\n{SITE}"), "test").map(|config| left_out(&config))
        };
        assert_eq!(told("\"10.1.0.9\", \"::/1\"").unwrap(), None);
        assert!(told("\"0.0.0.0/0\"").unwrap().is_some_and(|told| told.contains("no IPv4 is shaped")));
        assert!(told("\"8000::/1\", \"::/1\"").unwrap().is_some_and(|told| told.contains("no IPv6 is shaped")));
        let error = told("\"::/0\", \"0.0.0.0/1\", \"128.0.0.0/1\"").unwrap_err().to_string();
        assert!(error.contains("test:1:11: `exclude`") && error.contains("nothing would be shaped"), "{error}");
    }

    #[test]
    fn a_named_station_that_is_excluded_is_told() {
        let told = |head: &str, station: &str| {
            let text = format!("{head}\n{SITE}[[station]]\nname = \"s\"\n{station}\n");
            contradicted(&Config::from_toml(&text, "test").unwrap())
        };
        let addresses = "addresses = [\"10.1.0.2\", \"fd01::2\"]";
        assert_eq!(told("exclude = [\"10.1.1.0/24\"]", addresses), [""; 0]);
        for whole in ["10.1.0.2", "10.1.0.0/24"] {
            let words = format!(
                "`addresses` of station s: `exclude` has {whole}, so 10.1.0.2 is not shaped: take {whole} out of `exclude`, or 10.1.0.2 out \
                 of the station"
            );
            assert_eq!(told(&format!("exclude = [\"{whole}\"]"), addresses), [words]);
        }
        let mac = "02:00:5e:10:00:01";
        let all = told(&format!("mode = \"bridged\"\nexclude = [\"{mac}\"]"), &format!("mac = \"{mac}\""));
        assert!(all.len() == 1 && all[0].starts_with("`mac` of station s: `exclude` has 02:"), "{all:?}");
    }

    #[test]
    fn caps_that_udp_exceeds_are_told() {
        let capped = "[[station]]\nname = \"s\"\naddresses = [\"10.1.0.2\"]\ncap = \"2 Mbit/s\"\n";
        assert!(leaky_caps(&config(capped)).is_some_and(|told| told.contains("udp = \"shape\"")));
        assert!(leaky_caps(&config("[[plan]]\nname = \"p\"\ncap = \"2 Mbit/s\"\n")).is_some());
        assert!(leaky_caps(&config("")).is_none());
        assert!(
            leaky_caps(&config(&format!("[wan]\nup = \"10 Mbit/s\"\n{capped}"))).is_none(),
            "the link's classes have caps"
        );
        let shaped = Config::from_toml(&format!("udp = \"shape\"\n{SITE}{capped}"), "test").unwrap();
        assert!(leaky_caps(&shaped).is_none());
    }

    #[test]
    fn metrics_that_others_may_read_are_told() {
        let told = |address: &str| {
            let site = format!("metrics = \"{address}\"\n{SITE}");
            readers(&Config::from_toml(&site, "test").unwrap())
        };
        for closed in ["127.0.0.1:9477", "127.8.0.1:9477", "[::1]:9477"] {
            assert_eq!(told(closed), None);
        }
        assert!(readers(&config("")).is_none());
        for (open, fix) in
            [("0.0.0.0:9477", "\"127.0.0.1:9477\""), ("[::]:80", "\"[::1]:80\""), ("10.1.0.1:1", "\"127.0.0.1:1\"")]
        {
            let told = told(open).expect(open);
            assert!(told.contains(&format!("everybody who reaches {open} ")) && told.contains(fix), "{told}");
        }
    }

    #[test]
    fn a_default_route_by_an_access_point_is_told() {
        let told = |ways: &[&str]| {
            let defaults = ways.iter().map(|name| ((*name).to_owned(), None)).collect();
            swapped(&config(""), &Machine { defaults, ..Machine::default() })
        };
        for right in [&[][..], &["wan"], &["ppp0"]] {
            assert_eq!(told(right), [""; 0]);
        }
        let all = told(&["lan", "lan"]);
        assert!(
            all.len() == 1 && all[0].starts_with("the default route goes by lan, which is the `interface` of AP a"),
            "{all:?}"
        );
    }

    #[test]
    fn an_address_of_the_box_or_the_gateway_is_no_stations() {
        let net = |text: &str| text.parse().unwrap();
        let own = |name: &str, addresses| Interface { name: name.to_owned(), addresses, ..Interface::default() };
        let hop = |name: &str, text: &str| (name.to_owned(), Some(text.parse().unwrap()));
        let machine = Machine {
            interfaces: vec![
                own("lan", vec![net("10.1.0.1/16"), net("fd01::1/64")]),
                own("wan", vec![net("192.0.2.2/24")]),
            ],
            defaults: vec![hop("wan", "192.0.2.1"), hop("wan", "2001:db8::1"), hop("lan", "10.1.0.9")],
            ..Machine::default()
        };
        let told = |addresses: &str| {
            borrowed(&config(&format!("[[station]]\nname = \"desk\"\naddresses = [{addresses}]\n")), &machine)
        };
        // Also a default route by way of a station, on no uplink.
        assert_eq!(told("\"10.1.0.2\", \"fd01::2\", \"10.1.0.9\""), [""; 0]);
        for (address, whose) in [
            ("10.1.0.1", "this box's own, on lan"),
            ("fd01:0::1", "this box's own, on lan"),
            ("192.0.2.2", "this box's own, on wan"),
            ("192.0.2.1", "the gateway's, the next hop of the default route on wan"),
            ("2001:db8::1", "the gateway's"),
        ] {
            let all = told(&format!("\"10.1.0.2\", \"{address}\""));
            let [told] = &all[..] else { panic!("{all:?}") };
            assert!(told.starts_with("`addresses` of station desk: ") && told.contains(whose), "{told}");
        }
    }
}
