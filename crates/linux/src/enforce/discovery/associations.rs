//! Which device is at which AP, by the lists that APs give of their stations.

use std::collections::BTreeMap;

use crate::enforce::config::Mac;

/// The last list of every AP.
#[derive(Clone, Debug, Default)]
pub struct Associations {
    /// By the way that gave it: the AP, and since when in seconds each device is on the list.
    lists: BTreeMap<String, (String, BTreeMap<Mac, u64>)>,
}

impl Associations {
    /// `way` says that `macs` are all stations of `ap`.
    pub fn take(&mut self, way: &str, ap: &str, macs: impl Iterator<Item = Mac>, now_s: u64) {
        let before = self.lists.remove(way).filter(|(own, _)| own == ap).map(|(_, list)| list).unwrap_or_default();
        let list = macs.map(|mac| (mac, before.get(&mac).copied().unwrap_or(now_s))).collect();
        self.lists.insert(way.to_owned(), (ap.to_owned(), list));
    }

    /// The AP whose list `mac` joined last: an AP that it has left may keep it on its own for minutes.
    pub fn ap_of(&self, mac: Mac) -> Option<&str> {
        let on = self.lists.values().filter_map(|(ap, list)| Some((list.get(&mac)?, ap)));
        on.max_by_key(|(since, _)| **since).map(|(_, ap)| ap.as_str())
    }

    /// Forgets the lists of ways that are not among `ways`.
    pub fn keep(&mut self, ways: &[String]) {
        self.lists.retain(|way, _| ways.contains(way));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_device_is_where_it_came_last() {
        let [one, two] = [Mac([2, 0, 0, 0, 0, 1]), Mac([2, 0, 0, 0, 0, 2])];
        let mut all = Associations::default();
        all.take("snmp a", "a", [one, two].into_iter(), 10);
        all.take("snmp b", "b", [].into_iter(), 10);
        assert_eq!((all.ap_of(one), all.ap_of(two)), (Some("a"), Some("a")));
        all.take("snmp b", "b", [one].into_iter(), 20);
        all.take("snmp a", "a", [one, two].into_iter(), 30);
        assert_eq!((all.ap_of(one), all.ap_of(two)), (Some("b"), Some("a")), "the old AP has not noticed yet");
        all.take("snmp b", "b", [].into_iter(), 40);
        assert_eq!(all.ap_of(one), Some("a"), "it is back");
        all.keep(&["snmp b".to_owned()]);
        assert_eq!(all.ap_of(two), None);
    }
}
