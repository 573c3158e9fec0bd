//! The scenarios of the repository, to begin with.

use serde::Serialize;

/// Name of the file and its text.
pub(crate) const EXAMPLES: &[(&str, &str)] = &[
    ("bbr-802.11b", include_str!("../../../scenarios/bbr-802.11b.toml")),
    ("bbr-802.11g", include_str!("../../../scenarios/bbr-802.11g.toml")),
    ("bbr-and-cubic", include_str!("../../../scenarios/bbr-and-cubic.toml")),
    ("beta-udp", include_str!("../../../scenarios/beta-udp.toml")),
    ("bianchi-802.11a", include_str!("../../../scenarios/bianchi-802.11a.toml")),
    ("bianchi-802.11b", include_str!("../../../scenarios/bianchi-802.11b.toml")),
    ("cafe-802.11ax", include_str!("../../../scenarios/cafe-802.11ax.toml")),
    ("capacity-trace", include_str!("../../../scenarios/capacity-trace.toml")),
    ("conference-802.11ac", include_str!("../../../scenarios/conference-802.11ac.toml")),
    ("detti2005-thirty-stations", include_str!("../../../scenarios/detti2005-thirty-stations.toml")),
    ("detti2005-uplink-limiter", include_str!("../../../scenarios/detti2005-uplink-limiter.toml")),
    ("detti2005-window-cap", include_str!("../../../scenarios/detti2005-window-cap.toml")),
    ("detti2011-five-stations", include_str!("../../../scenarios/detti2011-five-stations.toml")),
    ("ha2009-table1", include_str!("../../../scenarios/ha2009-table1.toml")),
    ("hotel-802.11n", include_str!("../../../scenarios/hotel-802.11n.toml")),
    ("hotspot-802.11bg", include_str!("../../../scenarios/hotspot-802.11bg.toml")),
    ("hotspot-with-box", include_str!("../../../scenarios/hotspot-with-box.toml")),
    ("khademi2010-fig10", include_str!("../../../scenarios/khademi2010-fig10.toml")),
    ("multirate", include_str!("../../../scenarios/multirate.toml")),
    ("pokhrel2016", include_str!("../../../scenarios/pokhrel2016.toml")),
    ("remote-slow-server", include_str!("../../../scenarios/remote-slow-server.toml")),
    ("three-aps-802.11ac", include_str!("../../../scenarios/three-aps-802.11ac.toml")),
    ("two-aps-802.11g", include_str!("../../../scenarios/two-aps-802.11g.toml")),
    ("web-and-bulk", include_str!("../../../scenarios/web-and-bulk.toml")),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_scenario_of_the_repository_is_an_example() {
        let directory = concat!(env!("CARGO_MANIFEST_DIR"), "/../../scenarios");
        let files = std::fs::read_dir(directory).unwrap().map(|file| file.unwrap().path());
        let mut names: Vec<_> = files.map(|path| path.file_stem().unwrap().to_string_lossy().into_owned()).collect();
        names.sort();
        assert_eq!(EXAMPLES.iter().map(|(name, _)| *name).collect::<Vec<_>>(), names);
    }

    #[test]
    fn the_lab_takes_every_example() {
        for (name, text) in EXAMPLES {
            crate::document::scenario(text).unwrap_or_else(|error| panic!("{name}: {error:?}"));
        }
    }
}

/// A scenario with the name that the page shows for it.
#[derive(Clone, Debug, Serialize)]
pub struct Scenario {
    /// Name of the file.
    pub name: String,
    /// Its text.
    pub toml: String,
}
