//! `fairair vsb check`: what `run` would find and do, without doing it.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;

use super::config::{Config, Mode};
use super::daemon::mtu;
use super::datapath::{Engine, Script, Tools, links, neighbours};
use super::discovery::{Discovery as _, Neighbours};
use super::error::VsbError;
use super::site::{Site, Source};

/// What was found, for people; and whether `run` would start.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Preflight {
    /// Lines that begin with `ok`, `note` or `FAIL`.
    pub findings: Vec<String>,
    /// Commands that `run` would give.
    pub commands: String,
    /// Nothing failed.
    pub is_good: bool,
}

/// Looks at this box with the configuration at `path`.
///
/// # Errors
/// The configuration is wrong, or names more stations than there can be.
pub fn preflight(path: &Path) -> Result<Preflight, VsbError> {
    let config = Config::load(path)?;
    let mut preflight = Preflight { is_good: true, ..Preflight::default() };
    preflight.say("ok", &format!("{} is a good configuration", path.display()));
    let mtu = mtu(&config);
    let links = links().unwrap_or_default();
    for name in config.uplinks.iter().chain(config.aps.iter().map(|ap| &ap.interface)) {
        match links.iter().find(|link| link.name == *name) {
            None => preflight.say("FAIL", &format!("there is no interface {name}")),
            Some(link) if !link.is_up => preflight.say("note", &format!("{name} is down")),
            Some(link) => preflight.say("ok", &format!("{name} is up, MTU {}", link.mtu)),
        }
    }
    let mut site = Site::new(config)?;
    see(&mut preflight, &mut site, &links.iter().map(|link| (link.index, link.name.clone())).collect());
    let layout = site.layout(mtu.unwrap_or(1500));
    let script = Script::create(&layout);
    match Tools.nft_check(&script.nft) {
        Ok(()) => preflight.say("ok", "nftables accepts the rules"),
        Err(error) => preflight.say("FAIL", &error.to_string()),
    }
    for interface in layout.interfaces() {
        match Tools.dump(interface) {
            Ok(dump) if !dump.filters.trim().is_empty() => preflight.say(
                "note",
                &format!("{interface} has tc filters; those that end with `ok` or `drop` keep their packets from being shaped"),
            ),
            Ok(_) => {}
            Err(error) => preflight.say("FAIL", &error.to_string()),
        }
    }
    match Engine::is_present() {
        Ok(true) => {
            preflight.say("note", "a datapath of ours is there: of a running daemon, or of one that was killed");
        }
        Ok(false) => preflight.say("ok", "nothing of ours is in the kernel yet"),
        Err(error) => preflight.say("FAIL", &error.to_string()),
    }
    preflight.commands = commands(&script, layout.interfaces().into_iter());
    Ok(preflight)
}

/// Who could be shaped now.
fn see(preflight: &mut Preflight, site: &mut Site, interfaces: &BTreeMap<u32, String>) {
    let named = site.stations().len();
    if site.config().discovery.neighbours {
        for sighting in Neighbours.look().unwrap_or_default() {
            // A full box is told by `run`.
            let _ = site.sight(&sighting, Source::Neighbours, interfaces, 0);
        }
    }
    let seen = neighbours().map_or(0, |table| table.len());
    let found = site.stations().len() - named;
    preflight.say("ok", &format!("{named} stations are named, {found} more found among {seen} neighbours"));
    let without_address = site.stations().iter().filter(|station| station.addresses.is_empty()).count();
    if without_address > 0 && site.config().mode == Mode::Routed {
        preflight.say("note", &format!("{without_address} stations have no address yet"));
    }
}

fn commands<'a>(script: &Script, interfaces: impl Iterator<Item = &'a str>) -> String {
    let mut text = String::from("# ip\nlink add fairair0 type ifb\nlink set fairair0 up\n# tc -batch\n");
    text += &script.add;
    for interface in interfaces {
        let _ = writeln!(text, "qdisc add dev {interface} clsact   # unless it is there");
        text += &Script::redirect(interface);
    }
    text + "# nft -f\n" + &script.nft
}

impl Preflight {
    fn say(&mut self, kind: &str, what: &str) {
        self.is_good &= kind != "FAIL";
        self.findings.push(format!("{kind:4} {what}"));
    }
}
