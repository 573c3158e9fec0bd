//! What an operator, a captive portal or a script has set for single stations while the box runs. It is kept in
//! `settings.json` beside the state file, and outlives the daemon.

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use fairair_core::units::Bitrate;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use thiserror::Error;

use super::config::{Config, Mac, Plan, RATES, WEIGHTS, is_one_host};
use super::site::{Source, Station};
use super::state::{read, write};

const VERSION: u32 = 1;
/// Most settings: more than a box has classes.
const MOST: usize = 8000;
const LONGEST: usize = 100;
/// No setting ends later than in so many years.
const FARTHEST: i64 = 100;
const UNTIL: &str = "write a time such as 2030-12-31T18:00:00Z, or a duration such as 2h";

/// What is wanted for a station, as a request says it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SetStation {
    /// Name, address or MAC address. It need not be there yet.
    pub station: String,
    /// Name of a plan of the configuration.
    #[serde(default)]
    pub plan: Option<String>,
    /// Share against the others', from 0.01 to 100, in place of the plan's.
    #[serde(default)]
    pub weight: Option<f64>,
    /// Most that it gets, in place of the plan's.
    #[serde(default)]
    pub cap: Option<Bitrate>,
    /// When it ends: a time of RFC 3339, or a duration from now such as `2h`; `None`: when it is unset.
    #[serde(default)]
    pub until: Option<String>,
}

/// What is set for a station.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Setting {
    /// MAC address where it is known, else name or address.
    pub station: String,
    /// Name of a plan of the configuration.
    pub plan: Option<String>,
    /// In place of the plan's.
    pub weight: Option<f64>,
    /// In place of the plan's.
    pub cap: Option<Bitrate>,
    /// When it ends, by the wall clock; `None`: when it is unset.
    pub until: Option<Timestamp>,
}

/// All settings.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Settings {
    version: u32,
    stations: BTreeMap<String, Setting>,
}

/// Why a setting is refused; the text says what to write.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum SettingError {
    /// No station can be called so.
    #[error("this cannot be the name of a station: write its name, address or MAC address")]
    NoStation,
    /// No device has this address.
    #[error("no station has an address of this kind: write the address that it sends from, IPv4 as 10.1.0.2")]
    NoAddress,
    /// The configuration has no station of this name.
    #[error(
        "no [[station]] of the configuration has this name, and what a device calls itself does not count: write its MAC address or \
         address (see `fairair vsb stations`)"
    )]
    Unnamed,
    /// Stations have no shares of their own.
    #[error("with this policy stations have no shares of their own: choose a policy by station")]
    Policy,
    /// There is nothing to set.
    #[error("nothing is set: give a plan, a weight or a cap")]
    Nothing,
    /// The configuration has no plan of this name.
    #[error("there is no such plan: {}", match known.as_str() {
        "" => "add a [[plan]] to the configuration and reload".to_owned(),
        known => format!("write one of {known}"),
    })]
    NoPlan {
        /// The plans that it has.
        known: String,
    },
    /// The weight.
    #[error("the weight is out of range: write one from {} to {}", WEIGHTS.start(), WEIGHTS.end())]
    Weight,
    /// The cap.
    #[error("the cap is out of range: write one from {} to {}", RATES.start(), RATES.end())]
    Cap,
    /// The end is neither a time nor a duration.
    #[error("`until` is neither a time nor a duration: {UNTIL}")]
    Until,
    /// The end is beyond what anybody plans.
    #[error("`until` is more than {FARTHEST} years away: leave it out for a setting that ends by `unset`")]
    Far,
    /// The end was before this moment.
    #[error("`until` has passed (it is {0} now): {UNTIL}")]
    Passed(Timestamp),
    /// As many stations are set as can be.
    #[error("{MOST} stations are set already: unset some, or give each an end with `until`")]
    Full,
}

/// Why the settings cannot be read or written.
#[derive(Debug, Error)]
pub enum SettingsFileError {
    /// They cannot be read.
    #[error("settings of stations, {}: {reason}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// The system's words.
        reason: io::Error,
    },
    /// The file is damaged, and was renamed.
    #[error("settings of stations, {}: {why}; the file is now {}", path.display(), aside.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        why: String,
        /// Its new name.
        aside: PathBuf,
    },
    /// They cannot be written.
    #[error("cannot keep settings of stations in {}: {reason}", directory.display())]
    Write {
        /// Where to.
        directory: PathBuf,
        /// The system's words.
        reason: io::Error,
    },
}

/// The names under which a station may be set, the most durable first. What a device calls itself is none: it could take what is
/// meant for another.
fn keys(station: &Station) -> impl Iterator<Item = String> {
    let mac = station.mac.iter().map(ToString::to_string);
    let named = (station.source == Source::Config).then(|| station.name.clone());
    mac.chain(named).chain(station.addresses.iter().map(ToString::to_string))
}

/// `text` as it is kept: addresses in one spelling.
///
/// # Errors
/// It can be no station's.
pub fn key(text: &str) -> Result<String, SettingError> {
    if let Ok(mac) = text.parse::<Mac>() {
        return if mac.is_multicast() || mac.0 == [0; 6] { Err(SettingError::NoAddress) } else { Ok(mac.to_string()) };
    }
    if let Ok(address) = text.parse::<IpAddr>() {
        let is_none = match address {
            IpAddr::V4(own) => own.octets()[0] == 0,
            IpAddr::V6(own) => own.is_unicast_link_local() || own.to_ipv4_mapped().is_some(),
        };
        return if is_none || !is_one_host(&address) { Err(SettingError::NoAddress) } else { Ok(address.to_string()) };
    }
    check_text(text)?;
    Ok(text.to_owned())
}

/// That `text`, from a client, may stand in logs and tables.
///
/// # Errors
/// It is empty or too long, a terminal would obey it, or it turns the direction of writing round.
pub fn check_text(text: &str) -> Result<(), SettingError> {
    let is_hidden = |c: char| {
        c.is_control()
            || matches!(c, '\u{61c}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}')
    };
    if text.is_empty() || text.len() > LONGEST || text.chars().any(is_hidden) {
        return Err(SettingError::NoStation);
    }
    Ok(())
}

/// Whether `text` means `station`.
pub fn is_it(station: &Station, text: &str) -> bool {
    key(text).is_ok_and(|wanted| keys(station).any(|own| own == wanted))
}

impl SetStation {
    /// The setting under `station`, now.
    ///
    /// # Errors
    /// What is wrong with it, and what to write.
    pub fn check(&self, station: String, config: &Config, now: Timestamp) -> Result<Setting, SettingError> {
        if !config.policy.is_by_station() {
            return Err(SettingError::Policy);
        }
        let is_address = station.parse::<Mac>().is_ok() || station.parse::<IpAddr>().is_ok();
        if !is_address && !config.stations.iter().any(|own| own.name == station) {
            return Err(SettingError::Unnamed);
        }
        if self.plan.is_none() && self.weight.is_none() && self.cap.is_none() {
            return Err(SettingError::Nothing);
        }
        if let Some(plan) = &self.plan
            && !config.plans.contains_key(plan)
        {
            let known = config.plans.keys().map(String::as_str).collect::<Vec<_>>().join(", ");
            return Err(SettingError::NoPlan { known });
        }
        if self.weight.is_some_and(|weight| !WEIGHTS.contains(&weight)) {
            return Err(SettingError::Weight);
        }
        if self.cap.is_some_and(|cap| !RATES.contains(&cap)) {
            return Err(SettingError::Cap);
        }
        let until = self.until.as_deref().map(|text| end(text, now)).transpose()?;
        Ok(Setting { station, plan: self.plan.clone(), weight: self.weight, cap: self.cap, until })
    }
}

/// The moment that `text` names.
fn end(text: &str, now: Timestamp) -> Result<Timestamp, SettingError> {
    let until = match (text.parse::<Timestamp>(), text.parse::<fairair_core::units::Duration>()) {
        (Ok(until), _) => until,
        (_, Ok(duration)) => {
            now.checked_add(Duration::from_nanos(duration.as_nanos())).map_err(|_| SettingError::Far)?
        }
        // No clock knows such a year, or no counter so many nanoseconds.
        _ if is_beyond(text) => return Err(SettingError::Far),
        _ => return Err(SettingError::Until),
    };
    if until <= now {
        return Err(SettingError::Passed(whole(now)));
    }
    if until.as_second() - now.as_second() > FARTHEST * 366 * 86_400 {
        return Err(SettingError::Far);
    }
    Ok(whole(until))
}

/// `time` to the second: settings are looked at once a second.
fn whole(time: Timestamp) -> Timestamp {
    time.round(jiff::Unit::Second).unwrap_or(time)
}

/// Whether `text` would be a moment with a smaller number in front: another year, or fewer hours.
fn is_beyond(text: &str) -> bool {
    let rest = text.trim_start_matches(|c: char| c.is_ascii_digit());
    let is_long = text.len() - rest.len() >= 4;
    let is_moment = format!("2000{rest}").parse::<Timestamp>().is_ok();
    is_long && (is_moment || format!("1{rest}").parse::<fairair_core::units::Duration>().is_ok())
}

impl Setting {
    /// What is set, and until when; in the words of the request.
    pub fn words(&self) -> String {
        let plan = self.plan.as_ref().map(|plan| format!("plan {plan}"));
        let weight = self.weight.map(|weight| format!("weight {weight}"));
        let cap = self.cap.map(|cap| format!("cap {cap}"));
        let set: Vec<_> = plan.into_iter().chain(weight).chain(cap).collect();
        format!("{} until {}", set.join(" "), self.end())
    }

    /// When it ends.
    pub fn end(&self) -> String {
        self.until.map_or_else(|| "it is removed".to_owned(), |until| until.to_string())
    }

    /// What `plan`, the configuration's for this station, becomes.
    fn apply(&self, plan: Plan, plans: &BTreeMap<String, Plan>) -> Plan {
        let plan = self.plan.as_ref().and_then(|name| plans.get(name)).copied().unwrap_or(plan);
        Plan { weight: self.weight.unwrap_or(plan.weight), cap: self.cap.or(plan.cap) }
    }
}

impl Settings {
    /// All of them.
    pub fn iter(&self) -> impl Iterator<Item = &Setting> {
        self.stations.values()
    }

    /// What is set for `station`.
    pub fn of(&self, station: &Station) -> Option<&Setting> {
        if self.stations.is_empty() { None } else { keys(station).find_map(|key| self.stations.get(&key)) }
    }

    /// What is set under `text`, a name or address of a station that need not be there.
    pub fn named(&self, text: &str) -> Option<&Setting> {
        self.stations.get(&key(text).ok()?)
    }

    /// What `station` has, for which the configuration says `plan`.
    pub fn plan(&self, station: &Station, plan: Plan, plans: &BTreeMap<String, Plan>) -> Plan {
        self.of(station).map_or(plan, |setting| setting.apply(plan, plans))
    }

    /// Adds `setting`, in place of any for the same station (`None`: it is not there).
    ///
    /// # Errors
    /// There are too many.
    pub fn set(&mut self, setting: Setting, station: Option<&Station>) -> Result<(), SettingError> {
        if let Some(station) = station {
            self.remove(station);
        }
        if self.stations.len() >= MOST && !self.stations.contains_key(&setting.station) {
            return Err(SettingError::Full);
        }
        self.stations.insert(setting.station.clone(), setting);
        Ok(())
    }

    /// Removes what is set for `station`.
    pub fn remove(&mut self, station: &Station) -> Option<Setting> {
        if self.stations.is_empty() { None } else { keys(station).filter_map(|key| self.stations.remove(&key)).last() }
    }

    /// Removes what is set under `key`, as it is kept.
    pub fn remove_key(&mut self, key: &str) -> Option<Setting> {
        self.stations.remove(key)
    }

    /// Removes those that `ends` says yes to; answers them.
    pub fn end(&mut self, ends: impl Fn(&Setting) -> bool) -> Vec<Setting> {
        let gone: Vec<_> = self.iter().filter(|setting| ends(setting)).cloned().collect();
        self.stations.retain(|_, setting| !ends(setting));
        gone
    }

    fn file(directory: &Path) -> PathBuf {
        directory.join("settings.json")
    }

    /// Reads them; none without a file.
    ///
    /// # Errors
    /// The file cannot be read, or is damaged. It is then renamed to `settings.json.damaged`.
    pub fn load(directory: &Path) -> Result<Settings, SettingsFileError> {
        let path = Self::file(directory);
        let unread = |reason| SettingsFileError::Read { path: path.clone(), reason };
        let text = match read(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Settings::default()),
            Err(error) if error.kind() == io::ErrorKind::InvalidData => Vec::new(),
            other => other.map_err(unread)?,
        };
        let settings: Result<Settings, _> = serde_json::from_slice(&text);
        match settings {
            Ok(settings) if settings.version == VERSION => Ok(settings),
            other => {
                let aside = directory.join("settings.json.damaged");
                fs::rename(&path, &aside).map_err(unread)?;
                let why = other.map_or_else(|error| error.to_string(), |other| format!("version {}", other.version));
                Err(SettingsFileError::Damaged { path, why, aside })
            }
        }
    }

    /// Writes them, whole or not at all.
    ///
    /// # Errors
    /// The system's.
    pub fn save(&self, directory: &Path) -> Result<(), SettingsFileError> {
        let written = write(&Self::file(directory), &Settings { version: VERSION, ..self.clone() }, true);
        written.map_err(|reason| SettingsFileError::Write { directory: directory.to_owned(), reason })
    }
}
