//! The questions of `fairair vsb init` in a terminal.

use std::io::{BufRead, Write};
use std::str::FromStr as _;

use fairair_core::units::Bitrate;
use fairair_linux::enforce::config::Mode;
use fairair_linux::enforce::setup::{Capacity, Choice, MEASURE, Machine, Role, Roles, Wish};

use super::stage::lacking;
use crate::error::CliError;
use crate::vsb::args::{ForAp, InitArgs, ModeArg, NamedAp};

/// Who answers, and where questions are written.
pub(super) struct Asking<R, W> {
    pub(super) answers: R,
    pub(super) paper: W,
    pub(super) may_ask: bool,
}

impl<R: BufRead, W: Write> Asking<R, W> {
    /// The text of the file; `None`: it is not wanted.
    pub(super) fn configuration(&mut self, machine: &Machine, args: &InitArgs) -> Result<Option<String>, CliError> {
        let mut roles = Roles::of(machine, &args.uplink);
        self.show(&roles);
        if self.may_ask && args.uplink.is_empty() {
            roles = self.roles(machine, &roles)?;
        }
        let choice = self.choice(machine, &roles, args)?;
        let text = choice.checked(&args.config)?;
        if self.may_ask {
            self.tell(&format!("\n{text}"));
            let question = format!("Write this to {}? yes or no", args.config.display());
            let is_wanted = self.ask(&question, "yes", |answer| match answer {
                "yes" | "y" => Ok(true),
                "no" | "n" => Ok(false),
                _ => Err("write yes or no".to_owned()),
            })?;
            return Ok(is_wanted.then_some(text));
        }
        self.guesses(&choice, args);
        Ok(Some(text))
    }

    /// What nobody said, where nobody is asked.
    fn guesses(&mut self, choice: &Choice, args: &InitArgs) {
        if args.uplink.is_empty() {
            self.tell(&format!("guessed: {} is towards the gateway", choice.uplinks.join(", ")));
        }
        for ap in &choice.aps {
            let name = &ap.found.name;
            if args.ap.is_empty() {
                self.tell(&format!("guessed: {} leads to the access point {name}", ap.found.interface));
            }
            if let Capacity::Adaptive(max) = ap.capacity
                && ap.is_guessed()
            {
                self.tell(&format!("guessed: the cell of {name} carries at most {max}: {}", ap.why));
            }
        }
    }

    fn show(&mut self, roles: &Roles) {
        self.tell("What this machine has:");
        for verdict in &roles.verdicts {
            let role = match verdict.role {
                Role::Up => "up",
                Role::Ap => "AP?",
                Role::Neither => "-",
            };
            self.tell(&format!("  {:<15} {role:<4} {}", verdict.name, verdict.why));
        }
    }

    /// With the uplinks that somebody said.
    fn roles(&mut self, machine: &Machine, proposed: &Roles) -> Result<Roles, CliError> {
        let usual = match &proposed.uplinks {
            Ok(uplinks) => uplinks.join(" "),
            Err(lack) => {
                let told = format!("{}: {}", lack.what, lack.fix);
                self.tell(&told);
                String::new()
            }
        };
        let roles = self.ask("Which interface is towards the gateway?", &usual, |answer| {
            let wanted: Vec<String> =
                answer.split([' ', ',']).filter(|name| !name.is_empty()).map(str::to_owned).collect();
            if wanted.is_empty() {
                return Err("name an interface".to_owned());
            }
            if proposed.uplinks.as_ref() == Ok(&wanted) {
                return Ok(proposed.clone());
            }
            let roles = Roles::of(machine, &wanted);
            roles.uplinks.clone().map(|_| roles).map_err(|lack| format!("{}: {}", lack.what, lack.fix))
        })?;
        if roles != *proposed {
            self.show(&roles);
        }
        Ok(roles)
    }

    /// APs, capacities and name.
    fn choice(&mut self, machine: &Machine, roles: &Roles, args: &InitArgs) -> Result<Choice, CliError> {
        let mode = args.mode.map(|mode| match mode {
            ModeArg::Routed => Mode::Routed,
            ModeArg::Bridged => Mode::Bridged,
        });
        let choose = |aps: &[NamedAp]| {
            let aps = aps.iter().map(|ap| (ap.name.clone(), ap.interface.clone())).collect();
            Choice::new(machine, roles, &Wish { aps, mode })
        };
        let mut choice = if self.may_ask && args.ap.is_empty() {
            let usual: Vec<_> = roles.aps.iter().map(|ap| ap.name.as_str()).collect();
            let question = "Which lead to access points (INTERFACE or NAME=INTERFACE, with spaces between)?";
            self.ask(question, &usual.join(" "), |answer| {
                let aps: Result<Vec<NamedAp>, _> = answer.split_whitespace().map(NamedAp::from_str).collect();
                choose(&aps?).map_err(|lack| format!("{}: {}", lack.what, lack.fix))
            })?
        } else {
            choose(&args.ap).map_err(lacking)?
        };
        if let Some(name) = &args.name {
            choice.name.clone_from(name);
        }
        self.capacities(&mut choice, args)?;
        if self.may_ask && args.name.is_none() {
            choice.name =
                self.ask("What is the name of this site?", &choice.name.clone(), |answer| Ok(answer.to_owned()))?;
        }
        Ok(choice)
    }

    fn capacities(&mut self, choice: &mut Choice, args: &InitArgs) -> Result<(), CliError> {
        let adaptive = args.max.iter().map(|max| (max, Capacity::Adaptive(max.value)));
        let fixed = args.capacity.iter().map(|fixed| (fixed, Capacity::Fixed(fixed.value)));
        let given: Vec<(&ForAp<Bitrate>, Capacity)> = adaptive.chain(fixed).collect();
        if let Some(name) = given
            .iter()
            .filter_map(|(given, _)| given.ap.as_ref())
            .find(|name| choice.aps.iter().all(|ap| ap.found.name != **name))
        {
            let names: Vec<_> = choice.aps.iter().map(|ap| ap.found.name.as_str()).collect();
            return Err(CliError::Usage {
                what: format!("a capacity is for {name}, and no AP has this name"),
                help: format!("name one of {}", names.join(", ")),
            });
        }
        let mut is_told = false;
        for ap in &mut choice.aps {
            let is_its =
                |(given, _): &&(&ForAp<Bitrate>, Capacity)| given.ap.as_deref() == Some(ap.found.name.as_str());
            let own = given.iter().find(is_its).or(given.iter().find(|(given, _)| given.ap.is_none()));
            if let Some((_, capacity)) = own {
                ap.say(*capacity);
            } else if self.may_ask {
                if !is_told {
                    self.tell(MEASURE);
                    is_told = true;
                }
                let Capacity::Adaptive(usual) = ap.capacity else { continue };
                let question = format!("What does the cell of {} carry at most?", ap.found.name);
                let said = self.ask(&question, &usual.to_string(), |answer| {
                    answer.parse::<Bitrate>().map_err(|error| error.to_string())
                })?;
                if said != usual {
                    ap.say(Capacity::Adaptive(said));
                }
            }
        }
        Ok(())
    }

    /// The answer to `question`, asked until it can be read; an empty one is `usual`.
    fn ask<T>(&mut self, question: &str, usual: &str, read: impl Fn(&str) -> Result<T, String>) -> Result<T, CliError> {
        loop {
            let default = if usual.is_empty() { String::new() } else { format!(" [{usual}]") };
            let _ = write!(self.paper, "{question}{default} ").and_then(|()| self.paper.flush());
            let mut line = String::new();
            let length = self.answers.read_line(&mut line).map_err(|error| CliError::Usage {
                what: format!("the answer cannot be read: {error}; nothing was written"),
                help: "answer in text, or take what is proposed with --yes".to_owned(),
            })?;
            if length == 0 {
                return Err(CliError::Usage {
                    what: "the answers ended before the questions; nothing was written".to_owned(),
                    help: "answer all, write options, or take what is proposed with --yes".to_owned(),
                });
            }
            let answer = if line.trim().is_empty() { usual } else { line.trim() };
            match read(answer) {
                Ok(value) => return Ok(value),
                Err(problem) => self.tell(&format!("  {problem}")),
            }
        }
    }

    /// Nobody reads any more: no error.
    fn tell(&mut self, line: &str) {
        let _ = writeln!(self.paper, "{line}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Exit;
    use crate::vsb::init::stage::tests::router;

    /// What is written, and what was told; an empty text of answers is what nobody answers.
    fn talk(machine: &Machine, args: &InitArgs, answers: &str) -> (Result<Option<String>, CliError>, String) {
        let mut asking = Asking { answers: answers.as_bytes(), paper: Vec::new(), may_ask: !args.yes };
        let text = asking.configuration(machine, args);
        (text, String::from_utf8(asking.paper).unwrap())
    }

    #[test]
    fn return_alone_takes_what_is_proposed() {
        let (text, told) = talk(&router(), &InitArgs::default(), &"\n".repeat(7));
        let text = text.unwrap().unwrap();
        let (taken, guessed) = talk(&router(), &InitArgs { yes: true, ..InitArgs::default() }, "");
        assert_eq!(text, taken.unwrap().unwrap(), "{told}");
        let cell = "the cell of office carries at most 300 Mbit/s: a usual cell of today, not measured";
        for words in ["wan is towards the gateway", "lan leads to the access point lan", cell] {
            assert!(guessed.contains(&format!("guessed: {words}")), "{guessed}");
        }
        assert!(text.contains("name = \"hotel\"") && text.contains("uplink = \"wan\""), "{text}");
        assert!(text.contains("interface = \"lan\"") && text.contains("interface = \"office\""), "{text}");
        assert!(told.contains("the default route goes by it, to 203.0.113.1"), "{told}");
        assert!(told.contains("[wan]") && told.contains("[lan office]") && told.contains("--bidir"), "{told}");
    }

    #[test]
    fn answers_take_the_place_of_what_is_proposed_and_wrong_ones_are_asked_again() {
        let answers = "nosuch0\nwan\nlobby=wan\nlobby=lan\nfast\n20 Mbit/s\nsea side\nperhaps\ny\n";
        let (text, told) = talk(&router(), &InitArgs::default(), answers);
        let text = text.unwrap().unwrap();
        for words in ["name = \"sea side\"", "name = \"lobby\"", "max = \"20 Mbit/s\" }", "# as you said"] {
            assert!(text.contains(words), "{words}: {text}");
        }
        assert!(!text.contains("office"), "{text}");
        assert!(told.contains("there is no interface nosuch0: name one of wan, lan, office"), "{told}");
        assert!(told.contains("wan is towards the gateway, so no AP is behind it"), "{told}");
        assert!(told.contains("write yes or no"), "{told}");
    }

    #[test]
    fn who_does_not_answer_or_says_no_gets_nothing() {
        for answers in ["", "wan\n", "\n\n\n"] {
            let error = talk(&router(), &InitArgs::default(), answers).0.unwrap_err();
            assert!(error.to_string().contains("nothing was written") && error.exit() == Exit::BadInput);
        }
        assert_eq!(talk(&router(), &InitArgs::default(), "\n\n\n\n\nno\n").0.unwrap(), None);
    }

    #[test]
    fn without_a_default_route_the_question_has_no_default() {
        let machine = Machine { defaults: Vec::new(), ..router() };
        let (text, told) = talk(&machine, &InitArgs::default(), "\noffice\n\n\n\n\n\n");
        let text = text.unwrap().unwrap();
        assert!(text.contains("uplink = \"office\"") && text.contains("interface = \"wan\""), "{text}");
        assert!(told.contains("no default route") && told.contains("name an interface"), "{told}");
        let error = talk(&machine, &InitArgs { yes: true, ..InitArgs::default() }, "").0.unwrap_err();
        assert!(error.to_string().contains("no default route"), "{error}");
    }

    #[test]
    fn options_answer_questions_for_one_ap_or_for_all() {
        let args = InitArgs {
            yes: true,
            name: Some("pier".to_owned()),
            ap: vec!["one=lan".parse().unwrap(), "office".parse().unwrap()],
            max: vec!["40 Mbit/s".parse().unwrap()],
            capacity: vec!["one=5 Mbit/s".parse().unwrap()],
            ..InitArgs::default()
        };
        let (text, told) = talk(&router(), &args, "");
        let text = text.unwrap().unwrap();
        assert!(text.contains("capacity = \"5 Mbit/s\"") && text.contains("max = \"40 Mbit/s\""), "{text}");
        assert_eq!(told.matches("guessed").count(), 1, "the uplink: {told}");
        let args = InitArgs { capacity: vec!["two=5 Mbit/s".parse().unwrap()], ..args };
        let error = talk(&router(), &args, "").0.unwrap_err();
        assert!(error.to_string().contains("two"), "{error}");
        let args = InitArgs { capacity: Vec::new(), name: Some("a\"b\n".to_owned()), ..args };
        assert!(matches!(talk(&router(), &args, "").0, Err(CliError::Scenario(_))));
        assert!("=".parse::<NamedAp>().is_err() && "lan=fast".parse::<ForAp<Bitrate>>().is_err());
    }
}
