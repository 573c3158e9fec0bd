//! Settings, their mistakes and their file.

use super::*;
use crate::enforce::discovery::Sighting;
use crate::enforce::site::Site;

const SITE: &str = "name = \"x\"\nuplink = \"wan\"\n[[ap]]\nname = \"a\"\ninterface = \"lan\"\ncapacity = \"8 Mbit/s\"\n\
    [[plan]]\nname = \"gold\"\nweight = 3\n[[station]]\nname = \"desk\"\naddresses = [\"10.1.0.2\"]\n";

fn config() -> Config {
    Config::from_toml(SITE, "test").unwrap()
}

fn wanted(station: &str) -> SetStation {
    SetStation { station: station.to_owned(), plan: Some("gold".to_owned()), ..SetStation::default() }
}

#[test]
fn mistakes_name_the_fix() {
    let now: Timestamp = "2026-01-01T00:00:00Z".parse().unwrap();
    let told = |set: SetStation| set.check("desk".to_owned(), &config(), now).unwrap_err().to_string();
    let desk = wanted("desk");
    for (set, fix) in [
        (SetStation { plan: None, ..desk.clone() }, "give a plan, a weight or a cap"),
        (SetStation { plan: Some("tin".to_owned()), ..desk.clone() }, "write one of gold"),
        (SetStation { weight: Some(0.0), ..desk.clone() }, "from 0.01 to 100"),
        (SetStation { weight: Some(f64::NAN), ..desk.clone() }, "from 0.01 to 100"),
        (SetStation { cap: Some(Bitrate::from_bps(1)), ..desk.clone() }, "from 10 kbit/s"),
        (SetStation { until: Some("soon".to_owned()), ..desk.clone() }, "such as 2h"),
        (SetStation { until: Some("2025-12-31T23:59:59Z".to_owned()), ..desk.clone() }, "has passed"),
    ] {
        let words = told(set);
        assert!(words.contains(fix), "{words}");
    }
    let phone = wanted("phone").check("phone".to_owned(), &config(), now).unwrap_err();
    assert!(phone.to_string().contains("write its MAC address"), "{phone}");
}

#[test]
fn a_setting_without_an_end_says_what_ends_it() {
    let now: Timestamp = "2026-01-01T00:00:00Z".parse().unwrap();
    let set = |set: SetStation| set.check("desk".to_owned(), &config(), now).unwrap().words();
    let capped = SetStation { weight: Some(2.0), cap: Some(Bitrate::mbps(4)), ..wanted("desk") };
    assert_eq!(set(capped), "plan gold weight 2 cap 4 Mbit/s until it is removed");
    assert_eq!(
        set(SetStation { until: Some("2h".to_owned()), ..wanted("desk") }),
        "plan gold until 2026-01-01T02:00:00Z"
    );
}

#[test]
fn a_setting_is_found_by_each_spelling_of_its_station() {
    let setting = wanted("fd00::2").check("fd00::2".to_owned(), &config(), Timestamp::UNIX_EPOCH).unwrap();
    let mut settings = Settings::default();
    settings.set(setting.clone(), None).unwrap();
    assert_eq!(settings.named("FD00:0:0::2"), Some(&setting));
    assert_eq!((settings.named("fd00::3"), settings.named("")), (None, None));
}

#[test]
fn what_no_station_is_called_is_refused() {
    for text in ["", "a\nb", "de\u{202e}sk", "desk\u{200b}", "\u{2066}desk"] {
        assert_eq!(key(text), Err(SettingError::NoStation), "{text:?}");
    }
    for text in [
        "0.0.0.0",
        "0.1.2.3",
        "127.0.0.1",
        "224.0.0.1",
        "255.255.255.255",
        "::",
        "::1",
        "ff02::1",
        "fe80::1",
        "::ffff:10.1.0.2",
        "ff:ff:ff:ff:ff:ff",
        "01:00:5e:00:00:01",
        "00:00:00:00:00:00",
    ] {
        assert_eq!(key(text), Err(SettingError::NoAddress), "{text}");
    }
    assert_eq!(key("02:00:5E:10:00:01").unwrap(), "02:00:5e:10:00:01");
    assert_eq!(key("FD00::0:1").unwrap(), "fd00::1");
}

/// A device calls itself as a station for which a setting waits.
#[test]
fn a_name_from_a_lease_takes_no_setting() {
    let mut site = Site::new(config()).unwrap();
    let mut settings = Settings::default();
    for name in ["desk", "vip"] {
        let setting = Setting { station: name.to_owned(), plan: None, weight: Some(9.0), cap: None, until: None };
        settings.set(setting, None).unwrap();
    }
    site.set_settings(settings);
    for (low, name) in [(1, "vip"), (2, "desk"), (3, "phone")] {
        let mac = Some(Mac([2, 0, 0, 0, 0, low]));
        let (address, name) = (Some(IpAddr::from([10, 1, 1, low])), Some(name.to_owned()));
        let sighting = Sighting { address, mac, name, interface: Some(1), ..Sighting::default() };
        site.sight(&sighting, Source::Leases, &[(1, "lan".to_owned())].into(), 0).unwrap();
    }
    let weights =
        |site: &Site| site.stations().iter().map(|own| (own.name.clone(), own.plan.weight)).collect::<BTreeMap<_, _>>();
    let of = weights(&site);
    assert_eq!((of["desk"], of["vip"], of["phone"], of.len()), (9.0, 1.0, 1.0, 4));
    let phone = site.stations().iter().find(|own| own.name == "phone").unwrap();
    assert!(!is_it(phone, "phone") && is_it(phone, "02:00:00:00:00:03"));
    // The name becomes another station's by a reload: the device has it no longer.
    let file = format!("{SITE}[[station]]\nname = \"phone\"\nplan = \"gold\"\naddresses = [\"10.1.0.9\"]\n");
    site.configure(Config::from_toml(&file, "test").unwrap()).unwrap();
    let of = weights(&site);
    assert_eq!((of["phone"], of["02:00:00:00:00:03"]), (3.0, 1.0), "{of:?}");
}

#[test]
fn an_end_is_a_time_or_a_duration() {
    let now: Timestamp = "2026-01-01T00:00:00Z".parse().unwrap();
    let later: Timestamp = "2026-01-01T00:00:00.123456789Z".parse().unwrap();
    assert_eq!(super::end("2h", later).unwrap().to_string(), "2026-01-01T02:00:00Z");
    let passed = super::end("2025-01-01T00:00:00Z", later).unwrap_err().to_string();
    assert!(passed.contains("it is 2026-01-01T00:00:00Z now"), "{passed}");
    for (text, end) in [
        ("2h", "2026-01-01T02:00:00Z"),
        ("90 s", "2026-01-01T00:01:30Z"),
        ("2026-01-01T02:00:00+01:00", "2026-01-01T01:00:00Z"),
    ] {
        assert_eq!(super::end(text, now).unwrap(), end.parse().unwrap(), "{text}");
    }
    for text in [
        "9999-12-30T00:00:00Z",
        "9999-12-31T23:59:59Z",
        "99999-01-01T00:00:00Z",
        "9999999999h",
        "99999999999999999999999 s",
    ] {
        assert_eq!(super::end(text, now), Err(SettingError::Far), "{text}");
    }
    for text in ["9999", "9999-13-01T00:00:00Z", "9999 fortnights", "2026-02-30T00:00:00Z"] {
        assert_eq!(super::end(text, now), Err(SettingError::Until), "{text}");
    }
}

#[test]
fn settings_read_back_and_a_damaged_file_goes_aside() {
    let directory = tempfile::tempdir().unwrap();
    let now: Timestamp = "2026-01-01T00:00:00Z".parse().unwrap();
    let mut settings = Settings::default();
    assert_eq!(Settings::load(directory.path()).unwrap(), Settings::default());
    let desk = SetStation { until: Some("2h".to_owned()), cap: Some(Bitrate::mbps(1)), ..wanted("desk") };
    settings.set(desk.check("desk".to_owned(), &config(), now).unwrap(), None).unwrap();
    settings.save(directory.path()).unwrap();
    let read = Settings::load(directory.path()).unwrap();
    assert_eq!(read.iter().collect::<Vec<_>>(), settings.iter().collect::<Vec<_>>());
    fs::write(Settings::file(directory.path()), "{\"version\":1,").unwrap();
    assert!(Settings::load(directory.path()).unwrap_err().to_string().contains("settings.json.damaged"));
    assert_eq!(Settings::load(directory.path()).unwrap(), Settings::default());
}
