//! Lines of the file that name devices which were found, or had other names.

use super::tests::{BANK, seen, sight};
use super::*;
use crate::enforce::settings::Setting;

/// A station's address or MAC address in the file was another device's: that device is the station then, whether it was found before or
/// had another name. Nothing of it is left twice, and its setting goes along.
#[test]
fn a_corrected_line_names_the_device_that_was_found() {
    let text = BANK.split("[[discovery.hostapd]]").next().unwrap().split("[[ap]]\nname = \"b\"").next().unwrap();
    for (mode, mark) in [("routed", "addresses = [\"10.1.0.3\"]"), ("bridged", "mac = \"02:00:00:00:00:03\"")] {
        let file = |mark: &str, plan: &str| {
            let station = |name: &str, mark: &str| format!("[[station]]\nname = \"{name}\"\n{mark}\n{plan}");
            let other = mark
                .replace("0.4\"", "0.9\"")
                .replace("0.3\"", "0.9\"")
                .replace("00:04", "00:09")
                .replace("00:03", "00:09");
            let text = format!("mode = \"{mode}\"\n{text}{}{}", station("phone", mark), station("desk", &other));
            Config::from_toml(&text, "test").unwrap()
        };
        let mut site = Site::new(file(mark, "")).unwrap();
        let sight_all = |site: &mut Site| {
            for (low, address) in [(3, "10.1.0.3"), (4, "10.1.0.4"), (4, "fd01::4"), (9, "10.1.0.9")] {
                sight(site, &seen(low, Some(address)), Source::Neighbours);
            }
        };
        sight_all(&mut site);
        let corrected = mark.replace("0.3\"", "0.4\"").replace("00:03", "00:04");
        let (before, found) = (site.layout(1500), site.stations().last().unwrap().clone());
        assert_eq!(found.mac, Some(Mac([2, 0, 0, 0, 0, 4])));
        let mut settings = Settings::default();
        let setting =
            Setting { station: "02:00:00:00:00:04".to_owned(), plan: None, weight: Some(5.0), cap: None, until: None };
        settings.set(setting, None).unwrap();
        site.set_settings(settings);
        site.configure(file(&corrected, "")).unwrap();
        let phone = site.stations().iter().find(|own| own.name == "phone").unwrap().clone();
        assert_eq!((phone.slot, phone.mac, phone.plan.weight), (found.slot, found.mac, 5.0), "{mode}");
        assert!(found.addresses.iter().all(|own| phone.addresses.contains(own)), "{mode}: {phone:?}");
        assert_eq!(site.stations().len(), 2, "{mode}: {:?}", site.stations());
        let own = site.layout(1500);
        assert!(own.members.iter().all(|(key, minor)| before.members.get(key) == Some(minor)), "nothing is reordered");
        sight_all(&mut site);
        assert_eq!(site.stations().len(), 3, "who is named no more is found again");
        site.configure(file(mark, "cap = \"1 Mbit/s\"\n")).unwrap();
        sight_all(&mut site);
        let phone = site.stations().iter().find(|own| own.name == "phone").unwrap();
        assert_eq!((phone.mac, phone.plan.cap), (Some(Mac([2, 0, 0, 0, 0, 3])), Some(Bitrate::mbps(1))), "{mode}");
        let plan = site.layout(1500);
        let keys: Vec<_> = phone.keys(plan.mode).collect();
        assert!(!keys.is_empty() && keys.iter().all(|key| plan.members[key] == leaf_minor(phone.slot)), "{mode}");
        assert_eq!(site.stations().len(), 3, "{mode}");
    }
}

/// The plan is that of the device: another name of it ends no setting, another device of that name does.
#[test]
fn a_setting_ends_with_the_plan_of_its_device() {
    let text = BANK.split("[[discovery.hostapd]]").next().unwrap().split("[[ap]]\nname = \"b\"").next().unwrap();
    let file = |stations: [(&str, u8, u8); 2]| {
        let station = |(name, low, weight)| {
            format!("[[station]]\nname = \"{name}\"\nmac = \"02:00:00:00:00:0{low}\"\nweight = {weight}\n")
        };
        let text = format!("mode = \"bridged\"\n{text}{}", stations.map(station).concat());
        Config::from_toml(&text, "test").unwrap()
    };
    let mut site = Site::new(file([("a", 1, 3), ("b", 2, 2)])).unwrap();
    let mut settings = Settings::default();
    for low in [1, 2] {
        let station = format!("02:00:00:00:00:0{low}");
        settings.set(Setting { station, plan: None, weight: Some(9.0), cap: None, until: None }, None).unwrap();
    }
    site.set_settings(settings);
    let weights = |site: &Site| site.stations().iter().map(|own| own.plan.weight).collect::<Vec<_>>();
    site.configure(file([("ann", 1, 3), ("a", 2, 2)])).unwrap();
    assert_eq!(weights(&site), [9.0, 9.0]);
    site.configure(file([("ann", 2, 3), ("a", 1, 3)])).unwrap();
    assert_eq!(weights(&site), [3.0, 9.0], "only the second device has another weight");
}
