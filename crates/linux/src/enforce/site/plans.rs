//! What stations have by the file and by settings.

use std::collections::HashMap;

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
        self.settle_all();
    }

    /// Gives the station at `position` what the file says, and over that what is set for it.
    pub(super) fn settle(&mut self, position: usize) {
        let station = &self.stations[position];
        let is_named = station.source == Source::Config;
        let own = self.config.stations.iter().find(|own| is_named && own.name == station.name);
        let plan = own.map_or_else(Plan::default, |own| own.plan);
        self.stations[position].plan = self.settings.plan(station, plan, &self.config.plans);
    }

    /// [`Self::settle`] for all of them.
    pub(super) fn settle_all(&mut self) {
        let of_file = plans(&self.config);
        for station in &mut self.stations {
            let own = of_file.get(station.name.as_str()).filter(|_| station.source == Source::Config);
            station.plan = self.settings.plan(station, own.copied().unwrap_or_default(), &self.config.plans);
        }
    }

    /// The configuration has the last word where it has just said something else: settings end of stations whose devices had another
    /// plan, weight or cap in it until now, as `was` has them for its stations, and those with a plan that is no longer there. These
    /// stations come first, and have what the file says.
    pub(super) fn end_settings(&mut self, was: &[Plan]) {
        for (station, was) in self.stations.iter().zip(was) {
            if station.plan != *was {
                self.settings.remove(station);
            }
        }
        let plans = &self.config.plans;
        self.settings.end(|setting| setting.plan.as_ref().is_some_and(|plan| !plans.contains_key(plan)));
        self.settle_all();
    }
}

/// What the file says for its stations, by name.
pub(super) fn plans(config: &Config) -> HashMap<&str, Plan> {
    config.stations.iter().map(|own| (own.name.as_str(), own.plan)).collect()
}
