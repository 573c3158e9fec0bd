//! What stations have by the file and by settings.

use super::{Site, Source};
use crate::enforce::config::{Config, Plan};
use crate::enforce::settings::Settings;

impl Site {
    /// What is set for stations.
    pub const fn settings(&self) -> &Settings {
        &self.settings
    }

    /// Takes other settings.
    pub fn set_settings(&mut self, settings: Settings) {
        self.settings = settings;
        (0..self.stations.len()).for_each(|position| self.settle(position));
    }

    /// Gives the station at `position` what the file says, and over that what is set for it.
    pub(super) fn settle(&mut self, position: usize) {
        let station = &self.stations[position];
        let is_named = station.source == Source::Config;
        let own = self.config.stations.iter().find(|own| is_named && own.name == station.name);
        let plan = own.map_or_else(Plan::default, |own| own.plan);
        self.stations[position].plan = self.settings.plan(station, plan, &self.config.plans);
    }

    /// The configuration has the last word where it has just said something else than `previous`: settings end of stations
    /// that have another plan, weight or cap in it now, and those with a plan that is no longer there.
    pub(super) fn end_settings(&mut self, previous: &Config) {
        let of = |config: &Config, name: &str| config.stations.iter().find(|own| own.name == name).map(|own| own.plan);
        for station in self.stations.iter().filter(|station| station.source == Source::Config) {
            if of(previous, &station.name).unwrap_or_default() != of(&self.config, &station.name).unwrap_or_default() {
                self.settings.remove(station);
            }
        }
        let plans = &self.config.plans;
        self.settings.end(|setting| setting.plan.as_ref().is_some_and(|plan| !plans.contains_key(plan)));
        (0..self.stations.len()).for_each(|position| self.settle(position));
    }
}
