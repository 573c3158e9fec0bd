//! `fairair vsb init --page`: the same steps as a page. The process that serves the page is the box that is tried.

use std::io;
use std::path::PathBuf;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use fairair_linux::enforce::config::Config;
use fairair_linux::enforce::preflight::{Preflight, preflight};
use fairair_linux::enforce::protocol::{Answer, Ask};
use fairair_linux::enforce::setup::{CONFIRM, Lack, MEASURE, Machine, Roles};
use fairair_linux::enforce::state::Lock;
use fairair_linux::is_root;
use fairair_web::{NoAnswer, Said, SetUp, SetUpPage, Step};
use serde_json::{Value, json};

use super::choose::{chosen, shown, text};
use super::stage::{ENDED, HELD, Run, STAGE, is_there, tried, written};
use crate::error::{CliError, Exit};
use crate::output::{print, say};
use crate::vsb::args::InitArgs;
use crate::vsb::client::{answer, failed, no_answer};

/// Serves the page until a signal comes, and runs the box when the page starts it.
///
/// # Errors
/// The port is taken.
pub(super) fn page_command(args: &InitArgs, run: Run) -> Result<Exit, CliError> {
    let (starter, orders) = channel();
    let page = Arc::new(Page { config: args.config.clone(), starter: starter.clone(), now: Mutex::default() });
    let server = SetUpPage::bind(args.port, page.clone()).map_err(|error| CliError::Usage {
        what: format!("cannot listen on port {} of 127.0.0.1: {error}", args.port),
        help: "name another --port, or 0 for one that is free".to_owned(),
    })?;
    // No browser is opened: other users may read the arguments of a program, and with them the token.
    print(&format!("The set-up is at {}\n", server.url()))?;
    let port = server.address().port();
    say(&format!(
        "Open this address in a browser of this machine, or elsewhere after `ssh -L {port}:127.0.0.1:{port} BOX`."
    ));
    say("Ctrl-C ends the set-up, and takes back what it has started.");
    std::thread::spawn(move || {
        let ended = server.serve();
        let _ = starter.send(Order::Lost(ended));
    });
    loop {
        match orders.recv() {
            Ok(Order::Start) => {
                if let Some(exit) = page.ended(tried(&args.config, run)) {
                    return Ok(exit);
                }
                STAGE.store(ENDED, Ordering::SeqCst);
            }
            Ok(Order::Lost(Err(error))) => return Err(CliError::Threads(error.to_string())),
            Ok(Order::Lost(Ok(()))) | Err(_) => return Ok(Exit::Success),
        }
    }
}

/// What the thread that may run the box is told.
enum Order {
    Start,
    /// The server of the page has ended.
    Lost(io::Result<()>),
}

/// What the page has done with this machine.
struct Page {
    config: PathBuf,
    starter: Sender<Order>,
    now: Mutex<Now>,
}

/// Where things stand.
#[derive(Default)]
struct Now {
    /// The file as it was written here, and what its check found.
    written: Option<(String, Preflight)>,
    trial: Trial,
}

#[derive(Default)]
enum Trial {
    #[default]
    None,
    /// With the directory of the control socket, and whether the page has asked for its end.
    Runs { state: PathBuf, is_stopped: bool },
    /// It was taken back, or did not come to be.
    Ended(NoAnswer),
}

fn none(problem: impl Into<String>, fix: impl Into<String>) -> NoAnswer {
    NoAnswer { problem: problem.into(), fix: fix.into() }
}

/// Whether two files have the same keys. Comments say how many devices were seen: these come and go while an operator reads.
fn say_the_same(one: &str, other: &str) -> bool {
    let read = |text: &str| text.parse::<toml::Table>().ok();
    read(one).is_some_and(|one| Some(one) == read(other))
}

fn lacks(lack: Lack) -> NoAnswer {
    none(lack.what, lack.fix)
}

impl SetUp for Page {
    fn step(&self, step: &Step) -> Result<Value, NoAnswer> {
        match step {
            Step::Look => {}
            Step::Propose { said } => return Ok(self.proposed(&Machine::read().map_err(lacks)?, said)),
            Step::Write { said, seen, replace } => {
                self.write(&Machine::read().map_err(lacks)?, said, seen, *replace)?;
            }
            Step::Start => self.start()?,
            Step::Confirm => self.told(Ask::Confirm)?,
            Step::Stop => self.told(Ask::Stop)?,
        }
        Ok(self.look())
    }
}

impl Page {
    fn now(&self) -> MutexGuard<'_, Now> {
        self.now.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What this machine has, what is proposed, and why there is no file yet.
    fn proposed(&self, machine: &Machine, said: &Said) -> Value {
        let roles = Roles::of(machine, &said.uplinks);
        let chosen = chosen(machine, &roles, said);
        let checked = chosen.clone().and_then(|chosen| text(&chosen, &self.config));
        let (text, lack) = match checked {
            Ok(text) => (Some(text), None),
            Err(lack) => (None, Some(json!({ "problem": lack.what, "fix": lack.fix }))),
        };
        json!({
            "interfaces": roles.verdicts,
            "uplinks": roles.uplinks.unwrap_or_default(),
            "lack": lack,
            "choice": chosen.ok().as_ref().map(shown),
            "measure": MEASURE,
            "text": text,
        })
    }

    /// The file as the operator has seen it, or none.
    fn write(&self, machine: &Machine, said: &Said, seen: &str, replace: bool) -> Result<(), NoAnswer> {
        let mut now = self.now();
        if let Trial::Runs { .. } = now.trial {
            return Err(none("the box runs with this file", "take it back first"));
        }
        let chosen = chosen(machine, &Roles::of(machine, &said.uplinks), said).map_err(lacks)?;
        let text = text(&chosen, &self.config).map_err(lacks)?;
        if !say_the_same(&text, seen) {
            return Err(none(
                "this machine has changed, and with it the file",
                "look at the file again, then write it",
            ));
        }
        if !replace && is_there(&self.config) {
            let fix = "allow to replace it, or end this and name another file: `fairair vsb init FILE --page`";
            return Err(none(format!("{} is there already", self.config.display()), fix));
        }
        written(&self.config, &text, replace).map_err(|error| no_answer(&error))?;
        now.trial = Trial::None;
        now.written = None;
        let found = preflight(&self.config).map_err(|error| no_answer(&failed(error)))?;
        now.written = Some((text, found));
        Ok(())
    }

    fn start(&self) -> Result<(), NoAnswer> {
        let mut now = self.now();
        if let Trial::Runs { .. } = now.trial {
            return Err(none("it runs already, perhaps started from another window", "confirm it or take it back"));
        }
        let Some((text, found)) = &now.written else {
            return Err(none("no file is written yet", "write it and have it checked first"));
        };
        if !found.is_good {
            return Err(none("the check has failed", "mend what says FAIL, then write the file again"));
        }
        if std::fs::read_to_string(&self.config).ok().as_ref() != Some(text) {
            let what = format!("{} is no longer what was written here", self.config.display());
            return Err(none(what, "write it again"));
        }
        if Lock::is_held() {
            return Err(none("a box runs here already", HELD));
        }
        let config = Config::load(&self.config).map_err(|error| no_answer(&error.into()))?;
        self.starter.send(Order::Start).map_err(|_| none("the set-up ends", "start it again"))?;
        now.trial = Trial::Runs { state: config.state, is_stopped: false };
        Ok(())
    }

    /// Passes `ask` to the box that is tried.
    fn told(&self, ask: Ask) -> Result<(), NoAnswer> {
        let is_end = ask == Ask::Stop;
        let state = match &mut self.now().trial {
            Trial::None => return Err(none("nothing was started", "start it first")),
            Trial::Ended(why) => return Err(why.clone()),
            Trial::Runs { state, is_stopped } => {
                *is_stopped = is_end;
                state.clone()
            }
        };
        answer(&state, ask).map(drop).map_err(|error| {
            if let Trial::Runs { is_stopped, .. } = &mut self.now().trial {
                *is_stopped = false;
            }
            no_answer(&error)
        })
    }

    /// The trial is over; with an exit code so is the set-up, for a signal or `fairair vsb stop` wanted that.
    fn ended(&self, result: Result<Exit, CliError>) -> Option<Exit> {
        let mut now = self.now();
        let why = match result {
            Err(error) => no_answer(&error),
            Ok(exit) if !matches!(now.trial, Trial::Runs { is_stopped: true, .. }) => return Some(exit),
            Ok(Exit::Success) => {
                none("taken back: everything is as before", "change what was wrong, or start it again")
            }
            Ok(_) => none("taken back, but not all is as before", "the terminal says what differs"),
        };
        say(&format!("{}; {}", why.problem, why.fix));
        now.trial = Trial::Ended(why);
        None
    }

    fn look(&self) -> Value {
        let now = self.now();
        let trial = match &now.trial {
            Trial::None => Value::Null,
            Trial::Ended(why) => json!({ "is": "ended", "problem": why.problem, "fix": why.fix }),
            Trial::Runs { state, .. } => match answer(state, Ask::Status) {
                Ok(Answer::Status(status)) => json!({
                    "is": if status.confirm_within_s.is_some() { "waits" } else { "runs" },
                    "left_s": status.confirm_within_s,
                    "troubles": status.troubles,
                }),
                // It begins, or takes everything back.
                _ => json!({ "is": "busy" }),
            },
        };
        json!({
            "file": { "path": self.config.display().to_string(), "is_there": is_there(&self.config) },
            "is_root": is_root(),
            "confirm_s": CONFIRM.as_secs_f64(),
            "check": now.written.as_ref().map(|(_, found)| found),
            "trial": trial,
        })
    }
}

#[cfg(test)]
mod tests {
    use fairair_linux::enforce::setup::{Choice, Wish};

    use super::*;
    use crate::vsb::init::stage::tests::router;

    fn page(config: PathBuf) -> (Page, std::sync::mpsc::Receiver<Order>) {
        let (starter, orders) = channel();
        (Page { config, starter, now: Mutex::default() }, orders)
    }

    fn said(json: Value) -> Said {
        serde_json::from_value(json).unwrap()
    }

    fn proposal(machine: &Machine, said: &Said) -> Value {
        page(PathBuf::from("vsb.toml")).0.proposed(machine, said)
    }

    #[test]
    fn who_says_nothing_gets_what_the_terminal_proposes() {
        let shown = proposal(&router(), &Said::default());
        assert_eq!((&shown["uplinks"], &shown["lack"]), (&json!(["wan"]), &Value::Null));
        let choice = Choice::new(&router(), &Roles::of(&router(), &[]), &Wish::default()).unwrap();
        assert_eq!(shown["text"], choice.text());
        assert_eq!(shown["interfaces"][0]["role"], "up");
        assert_eq!(shown["interfaces"][1]["why"], "the box is the router of 10.1.0.0/24");
        assert_eq!(
            (&shown["choice"]["aps"][0]["key"], &shown["choice"]["aps"][0]["rate"]),
            (&json!("lan"), &json!("300 Mbit/s"))
        );
    }

    #[test]
    fn what_is_said_takes_its_place_and_what_does_not_fit_is_told_in_words() {
        let all = said(json!({
            "name": "pier",
            "uplinks": ["office"],
            "aps": ["lan", "wan"],
            "names": { "lan": "lobby" },
            "capacities": { "lan": { "adaptive": "40 Mbit/s" }, "wan": { "fixed": "5 Mbit/s" }, "gone": { "fixed": "x" } },
        }));
        let shown = proposal(&router(), &all);
        let text = shown["text"].as_str().unwrap();
        for words in [
            "name = \"pier\"",
            "uplink = \"office\"",
            "name = \"lobby\"",
            "max = \"40 Mbit/s\"",
            "capacity = \"5 Mbit/s\"",
            "# as you said",
        ] {
            assert!(text.contains(words), "{words}: {text}");
        }
        for (wrong, words) in [
            (json!({ "aps": [] }), "no interface leads to an access point"),
            (json!({ "aps": ["wan"] }), "wan is towards the gateway"),
            (json!({ "aps": ["nosuch0"] }), "there is no interface nosuch0"),
            (json!({ "uplinks": ["nosuch0"] }), "there is no interface nosuch0"),
            (json!({ "names": { "lan": "a\"b" } }), "the name"),
            (json!({ "names": { "lan": "one", "office": "one" } }), "two APs have the name one"),
            (json!({ "name": "" }), "name"),
            (json!({ "capacities": { "lan": { "fixed": "fast" } } }), "the capacity of lan"),
            (json!({ "capacities": { "lan": { "adaptive": "300" } } }), "has no unit"),
        ] {
            let is_shown = wrong.get("names").or(wrong.get("capacities")).or(wrong.get("name")).is_some();
            let shown = proposal(&router(), &said(wrong.clone()));
            assert_eq!(shown["choice"].is_object(), is_shown, "where it is mended: {shown}");
            let told = shown["lack"]["problem"].as_str().unwrap_or_default();
            assert!(told.contains(words) && shown["lack"]["fix"] != "", "{wrong}: {shown}");
            assert!(shown["text"].is_null() && shown["interfaces"].as_array().unwrap().len() == 3, "{wrong}: {shown}");
        }
        let none = proposal(&Machine::default(), &Said::default());
        assert!(none["lack"]["problem"].as_str().unwrap().contains("no network interface was found"), "{none}");
    }

    #[test]
    fn only_what_was_seen_is_written_and_nothing_starts_before_its_check_is_good() {
        let place = tempfile::tempdir().unwrap();
        let (page, orders) = page(place.path().join("vsb.toml"));
        let refused = |result: Result<(), NoAnswer>| result.unwrap_err().problem;
        let said = Said::default();
        let text = page.proposed(&router(), &said)["text"].as_str().unwrap().to_owned();
        assert!(refused(page.start()).contains("no file is written"));
        assert!(refused(page.told(Ask::Confirm)).contains("nothing was started"));
        assert!(refused(page.write(&router(), &said, "other", false)).contains("has changed"));
        assert!(!page.config.exists());
        std::fs::write(&page.config, "mine").unwrap();
        assert!(refused(page.write(&router(), &said, &text, false)).contains("is there already"));
        assert_eq!(std::fs::read_to_string(&page.config).unwrap(), "mine");
        // The machine of this test has no interface `wan` that is up with this address: the check fails.
        page.write(&router(), &said, &text, true).unwrap();
        assert_eq!(std::fs::read_to_string(&page.config).unwrap(), text);
        let look = page.look();
        assert_eq!(look["check"]["is_good"], false, "{look}");
        assert!(look["check"]["findings"].to_string().contains("there is no interface lan"), "{look}");
        assert!(refused(page.start()).contains("the check has failed"));
        page.now().written.as_mut().unwrap().1.is_good = true;
        std::fs::write(&page.config, "mine").unwrap();
        assert!(refused(page.start()).contains("no longer what was written"));
        assert!(orders.try_recv().is_err(), "nothing was started");
    }

    #[test]
    fn a_trial_ends_with_the_set_up_only_when_somebody_else_ended_it() {
        let (page, _orders) = page(PathBuf::from("vsb.toml"));
        let runs = |is_stopped| page.now().trial = Trial::Runs { state: PathBuf::from("/nonexistent"), is_stopped };
        runs(false);
        assert_eq!(page.look()["trial"]["is"], "busy");
        assert_eq!(page.ended(Ok(Exit::Success)), Some(Exit::Success), "a signal");
        runs(true);
        assert_eq!(page.ended(Ok(Exit::Success)), None, "the page");
        assert!(page.look()["trial"]["problem"].as_str().unwrap().contains("everything is as before"));
        runs(false);
        let unconfirmed = fairair_linux::enforce::VsbError::Unconfirmed(std::time::Duration::from_mins(1));
        assert_eq!(page.ended(Err(failed(unconfirmed))), None);
        let told = page.told(Ask::Confirm).unwrap_err();
        assert!(told.problem.contains("nobody confirmed within 60s; everything is as before"), "{told:?}");
    }
}
