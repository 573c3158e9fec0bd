//! What a plan has to meet.

use fairair_core::remedy::Deploy;
use fairair_core::scenario::Scenario;
use fairair_core::units::Duration;

use super::goal::Goal;

/// All that a plan has to meet.
#[derive(Clone, Debug, PartialEq)]
pub struct Requirements {
    /// What to reach, at least one. A longest delay is [`Goal::Delay`] without a name.
    pub goals: Vec<Goal>,
    /// How far a ratio may be off, as a share.
    pub tolerance: f64,
    /// Share of the max-min share below which a flow or a station starves.
    pub floor: f64,
    /// What may be changed; `None`: anything.
    pub deploy: Option<Deploy>,
    /// Whether only what access points and the live box have today may be changed.
    pub today: bool,
    /// How many times the default's work to spend; 1 is the default. With more, weights and caps of classes are tried that no goal
    /// names.
    pub effort: f64,
}

impl Requirements {
    /// Whether a goal is about the delay of some stations only.
    pub(super) fn needs_delays(&self) -> bool {
        self.goals.iter().any(|goal| matches!(goal, Goal::Delay { who, .. } if !who.is_empty()))
    }

    /// Whether all goals are about delays and transfer times: then nobody asked for a less fair cell.
    pub(super) fn is_about_time_only(&self) -> bool {
        self.goals.iter().all(|goal| matches!(goal, Goal::Delay { .. } | Goal::Files { .. }))
    }

    /// What is wrong with asking this of `scenario`: the mistake and its remedy.
    pub fn mistake(&self, scenario: &Scenario) -> Option<(String, String)> {
        if let Err(mistake) = scenario.with_one_access_point("the planner does not know") {
            return Some(mistake);
        }
        let wrong = |what: &str, help: &str| Some((what.to_owned(), help.to_owned()));
        if self.goals.is_empty() {
            return wrong("there is nothing to plan for", "give --goal level=1, --goal down/up=2 or --max-delay 50ms");
        }
        if scenario.flow_count() == 0 {
            return wrong("the scenario has no flows", "add flows = [{ direction = \"down\" }] to a [[station]]");
        }
        let goals = &self.goals;
        if goals.iter().any(|a| goals.iter().any(|b| a.contradicts(b))) {
            return wrong("two goals ask for different values of the same ratio", "leave one of them out");
        }
        if goals.iter().any(|goal| matches!(goal, Goal::Delay { most, .. } if *most == Duration::ZERO)) {
            return wrong("no queue has a delay of zero", "write a longer --max-delay, such as 50ms");
        }
        goals.iter().find_map(|goal| goal.mistake(scenario))
    }
}
