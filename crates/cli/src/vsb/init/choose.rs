//! What a set-up on a page chooses: what was said there, and what is proposed where nothing was.

use std::collections::BTreeMap;
use std::path::Path;

use fairair_core::units::Bitrate;
use fairair_linux::enforce::config::Mode;
use fairair_linux::enforce::setup::{Capacity, Choice, Lack, Machine, Roles, Wish};
use fairair_web::{Said, SaidCapacity};
use serde_json::{Value, json};

use crate::vsb::client::no_answer;

/// What follows from what was said.
#[derive(Clone)]
pub(super) struct Chosen {
    choice: Choice,
    /// The interface or radio of each AP.
    keys: Vec<String>,
    /// What of it cannot be: the choice has what is proposed there.
    lack: Option<Lack>,
}

pub(super) fn chosen(machine: &Machine, roles: &Roles, said: &Said) -> Result<Chosen, Lack> {
    let keys = match &said.aps {
        Some(none) if none.is_empty() => {
            let fix = "choose at least one".to_owned();
            return Err(Lack { what: "no interface leads to an access point".to_owned(), fix });
        }
        Some(keys) => keys.clone(),
        None => roles.aps.iter().map(|ap| ap.name.clone()).collect(),
    };
    let with = |names: &BTreeMap<String, String>| {
        let aps = keys.iter().map(|key| (names.get(key).cloned(), key.clone())).collect();
        Choice::new(machine, roles, &Wish { aps, mode: None })
    };
    let (mut choice, mut lack) = match with(&said.names) {
        Ok(choice) => (choice, None),
        Err(lack) => (with(&BTreeMap::new())?, Some(lack)),
    };
    for (ap, key) in choice.aps.iter_mut().zip(&keys) {
        let (text, kind): (_, fn(Bitrate) -> Capacity) = match said.capacities.get(key) {
            None => continue,
            Some(SaidCapacity::Adaptive(text)) => (text, Capacity::Adaptive),
            Some(SaidCapacity::Fixed(text)) => (text, Capacity::Fixed),
        };
        match text.parse::<Bitrate>() {
            Ok(rate) => ap.say(kind(rate)),
            Err(error) => {
                lack = Some(Lack { what: format!("the capacity of {key}: {}", error.problem), fix: error.fix });
            }
        }
    }
    if let Some(name) = &said.name {
        choice.name.clone_from(name);
    }
    Ok(Chosen { choice, keys, lack })
}

/// The file, if the daemon would take it.
pub(super) fn text(chosen: &Chosen, config: &Path) -> Result<String, Lack> {
    if let Some(lack) = &chosen.lack {
        return Err(lack.clone());
    }
    chosen.choice.checked(config).map_err(|error| {
        let error = no_answer(&error.into());
        Lack { what: error.problem, fix: error.fix }
    })
}

pub(super) fn shown(Chosen { choice, keys, .. }: &Chosen) -> Value {
    let aps = choice.aps.iter().zip(keys).map(|(ap, key)| {
        let (kind, rate) = match ap.capacity {
            Capacity::Adaptive(rate) => ("adaptive", rate),
            Capacity::Fixed(rate) => ("fixed", rate),
        };
        json!({
            "key": key,
            "name": ap.found.name,
            "interface": ap.found.interface,
            "why": ap.found.why,
            "kind": kind,
            "rate": rate,
            "rate_why": ap.why,
        })
    });
    json!({
        "name": choice.name,
        "mode": if choice.mode == Mode::Bridged { "bridged" } else { "routed" },
        "why": choice.why,
        "aps": aps.collect::<Vec<_>>(),
        "sources": choice.sources(),
    })
}
