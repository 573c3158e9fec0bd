//! Settings of stations: asked for over the control socket, kept, and ended in time.

use jiff::Timestamp;
use tracing::info;

use super::Daemon;
use super::refused::Refused;
use super::troubles::Trouble;
use crate::enforce::protocol::{Answer, StationList};
use crate::enforce::settings::{SetStation, Setting, Settings, is_it, key};
use crate::enforce::site::Station;

impl Daemon {
    /// Sets what `wanted` says; answers what is kept.
    pub(super) fn set_station(&mut self, wanted: &SetStation) -> Result<Answer, Refused> {
        let station = self.found_as(&wanted.station).cloned();
        // An address may be another device's tomorrow, its MAC address may not.
        let own = station.as_ref().and_then(|station| station.mac).map(|mac| mac.to_string());
        let own = own.map_or_else(|| key(&wanted.station), Ok)?;
        let setting = wanted.check(own, self.site.config(), Timestamp::now())?;
        let mut settings = self.site.settings().clone();
        settings.set(setting.clone(), station.as_ref())?;
        self.keep_settings(settings)?;
        self.tell("set", &setting);
        Ok(Answer::Setting { setting, is_there: station.is_some() })
    }

    /// Ends what is set for `what`.
    pub(super) fn unset_station(&mut self, what: &str) -> Result<Answer, Refused> {
        let mut settings = self.site.settings().clone();
        let by_station = self.found_as(what).cloned().and_then(|station| settings.remove(&station));
        let gone = by_station.or(settings.remove_key(&key(what)?));
        let gone = gone.ok_or(Refused::NotSet)?;
        self.keep_settings(settings)?;
        self.tell("unset", &gone);
        Ok(Answer::Done(format!("unset: {} has what the configuration says", gone.station)))
    }

    /// All stations, and what is set and not in force: for those that are not there, and where classes are not by station.
    pub(super) fn station_list(&self) -> StationList {
        let (settings, stations) = (self.site.settings(), self.site.stations());
        let is_by_station = self.site.config().policy.is_by_station();
        let is_there =
            |setting: &&Setting| is_by_station && stations.iter().any(|station| settings.of(station) == Some(setting));
        StationList {
            stations: self.stations(),
            absent: settings.iter().filter(|setting| !is_there(setting)).cloned().collect(),
        }
    }

    /// Ends what has run out: once a second.
    pub(super) fn expire_settings(&mut self) {
        let now = Timestamp::now();
        let is_over = |setting: &Setting| setting.until.is_some_and(|until| until <= now);
        if !self.site.settings().iter().any(is_over) {
            return;
        }
        let mut settings = self.site.settings().clone();
        let gone = settings.end(is_over);
        let kept = self.keep_settings(settings);
        if self.troubles.watch(Trouble::Settings, kept).is_some() {
            for setting in &gone {
                self.tell("expired", setting);
            }
        }
    }

    /// After a reload: keeps what it left of `before`; answers how many it ended.
    pub(super) fn note_ended(&mut self, before: &Settings) -> usize {
        if before == self.site.settings() {
            return 0;
        }
        let kept = self.site.settings().save(&self.site.config().state);
        self.troubles.watch(Trouble::Settings, kept);
        let now = self.site.settings().clone();
        let gone = before.iter().filter(|setting| !now.iter().any(|own| own == *setting));
        gone.inspect(|setting| self.tell("ended by the configuration", setting)).count()
    }

    /// Brings kernel and file to `settings`; where one fails both stay as they were.
    fn keep_settings(&mut self, settings: Settings) -> Result<(), Refused> {
        let directory = self.site.config().state.clone();
        settings.save(&directory)?;
        let mut site = self.site.clone();
        site.set_settings(settings);
        if self.adopt(site) {
            return Ok(());
        }
        self.site.settings().save(&directory)?;
        Err(Refused::Kernel)
    }

    fn found_as(&self, what: &str) -> Option<&Station> {
        self.site.stations().iter().find(|station| is_it(station, what))
    }

    /// For log and journal.
    fn tell(&self, event: &'static str, setting: &Setting) {
        let cap = setting.cap.map(|cap| cap.to_string());
        let until = setting.until.map(|until| until.to_string());
        info!(station = setting.station, plan = setting.plan, weight = setting.weight, cap, until, "{event}");
        self.records.journal.station(&setting.station, event);
    }
}
