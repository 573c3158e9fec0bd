//! Which station is next: deficit round robin by airtime and limits of the air that the driver holds (`net/mac80211/tx.c`).

use std::collections::VecDeque;

use super::Mac80211Params;
use crate::packet::{Category, Direction};
use crate::units::{Bytes, Duration};

/// A top-up of a station's deficit (`IEEE80211_DEFAULT_AIRTIME_WEIGHT`: 256 us), in ns.
const WEIGHT: i64 = 256_000;
/// A station below this may always send (`IEEE80211_DEFAULT_AQL_TXQ_LIMIT_L`: 5 ms), in ns.
const LIMIT_LOW: f64 = 5e6;
/// A station above this may not (`IEEE80211_DEFAULT_AQL_TXQ_LIMIT_H`: 12 ms), in ns.
const LIMIT_HIGH: f64 = 12e6;
/// Between the two it may while all stations together hold less (`IEEE80211_AQL_THRESHOLD`: 24 ms), in ns.
const THRESHOLD: f64 = 24e6;

/// One category of one station (`struct airtime_info`).
#[derive(Clone, Copy, Debug)]
struct Account {
    /// In ns.
    deficit: i64,
    /// Bytes of IP that the driver holds.
    pending: u64,
    /// Whether it stands on the list of its category.
    listed: bool,
}

/// One station.
#[derive(Clone, Copy, Debug)]
struct Station {
    accounts: [Account; 4],
    /// Category of what was handed over last: downlink air is charged to it.
    last: Category,
    /// Downlink air since the last completion, and its mean a byte: ns.
    air: u64,
    ns_a_byte: f64,
}

/// Deficit round robin of stations by airtime.
pub(super) struct Scheduler {
    airtime: bool,
    rx_airtime: bool,
    aql: bool,
    /// By node; the AP's own is not used.
    stations: Vec<Station>,
    /// Stations with packets, by category (`local->active_txqs`).
    active: [VecDeque<usize>; 4],
}

impl Scheduler {
    pub(super) fn new(params: &Mac80211Params) -> Self {
        let Mac80211Params { airtime, rx_airtime, aql, .. } = *params;
        Scheduler { airtime, rx_airtime, aql, stations: Vec::new(), active: Default::default() }
    }

    /// Nodes that are known, the AP included.
    pub(super) fn stations(&self) -> usize {
        self.stations.len()
    }

    fn station(&mut self, station: usize) -> &mut Station {
        if station >= self.stations.len() {
            let account = Account { deficit: WEIGHT, pending: 0, listed: false };
            let fresh = Station { accounts: [account; 4], last: Category::BestEffort, air: 0, ns_a_byte: 0.0 };
            self.stations.resize(station + 1, fresh);
        }
        &mut self.stations[station]
    }

    /// `__ieee80211_schedule_txq`: at the head of the list under airtime fairness, where only a negative deficit moves it
    /// back; at its tail otherwise.
    pub(super) fn activate(&mut self, station: usize, category: Category) {
        let account = &mut self.station(station).accounts[category.index()];
        if !account.listed {
            account.listed = true;
            let list = &mut self.active[category.index()];
            if self.airtime { list.push_front(station) } else { list.push_back(station) }
        }
    }

    /// Air that the driver holds for a station and category, in ns.
    fn pending(&self, station: usize, category: Category) -> f64 {
        let station = &self.stations[station];
        station.accounts[category.index()].pending as f64 * station.ns_a_byte
    }

    /// `ieee80211_txq_airtime_check`.
    pub(super) fn may_send(&self, station: usize, category: Category) -> bool {
        if !self.aql || station >= self.stations.len() {
            return true;
        }
        let own = self.pending(station, category);
        if own < LIMIT_LOW {
            return true;
        }
        let all = || (0..self.stations.len()).flat_map(|s| Category::ALL.map(|c| self.pending(s, c))).sum::<f64>();
        own < LIMIT_HIGH && all() < THRESHOLD
    }

    /// `ieee80211_sta_deficit`: less what the driver holds.
    fn deficit(&self, station: usize, category: Category) -> i64 {
        let pending = if self.aql { self.pending(station, category) as i64 } else { 0 };
        self.stations[station].accounts[category.index()].deficit - pending
    }

    /// `ieee80211_next_txq`: the first station of the list that may send and is owed air. Others move back; those in
    /// debt get a top-up. Stations that have nothing (`stays`) leave the list. What the driver sends again (`resends`) is
    /// pending already: the limits of pending air do not hold it back.
    pub(super) fn next(
        &mut self,
        category: Category,
        stays: impl Fn(usize) -> bool,
        resends: impl Fn(usize) -> bool,
        has_room: impl Fn(usize) -> bool,
    ) -> Option<usize> {
        let index = category.index();
        let stations = &mut self.stations;
        self.active[index].retain(|station| {
            let stays = stays(*station);
            stations[*station].accounts[index].listed = stays;
            stays
        });
        let mut head = None;
        let mut any_may_send = false;
        loop {
            let first = *self.active[index].front()?;
            if head == Some(first) && !std::mem::take(&mut any_may_send) {
                return None;
            }
            head.get_or_insert(first);
            let may_send = resends(first) || (has_room(first) && self.may_send(first, category));
            any_may_send |= may_send;
            let owes = self.airtime && self.deficit(first, category) < 0;
            if owes {
                self.stations[first].accounts[index].deficit += WEIGHT;
            }
            let is_next = may_send && !owes;
            if !is_next || !self.airtime {
                self.active[index].rotate_left(1);
            }
            if is_next {
                return Some(first);
            }
        }
    }

    /// `ieee80211_sta_update_pending_airtime`, handed to the driver.
    pub(super) fn handed_over(&mut self, station: usize, category: Category, bytes: Bytes) {
        let station = self.station(station);
        station.last = category;
        station.accounts[category.index()].pending += bytes.0;
    }

    /// The same, sent or given up. Linux expects the air of a packet from the rate control's rate; here it is the mean that
    /// the station's bytes took so far.
    pub(super) fn completed(&mut self, station: usize, category: Category, bytes: Bytes) {
        let station = self.station(station);
        let account = &mut station.accounts[category.index()];
        account.pending = account.pending.saturating_sub(bytes.0);
        if station.air > 0 && bytes.0 > 0 {
            let sample = station.air as f64 / bytes.0 as f64;
            let first = station.ns_a_byte == 0.0;
            station.ns_a_byte = if first { sample } else { 0.875 * station.ns_a_byte + 0.125 * sample };
            station.air = 0;
        }
    }

    /// `ieee80211_sta_register_airtime`: air of both directions is charged, or that of transmitted frames alone.
    pub(super) fn charge(&mut self, station: usize, direction: Direction, airtime: Duration) {
        if direction == Direction::Up && !self.rx_airtime {
            return;
        }
        let station = self.station(station);
        let category = match direction {
            Direction::Down => station.last,
            Direction::Up => Category::BestEffort,
        };
        if direction == Direction::Down {
            station.air += airtime.as_nanos();
        }
        station.accounts[category.index()].deficit -= airtime.as_nanos() as i64;
    }
}
