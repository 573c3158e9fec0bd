//! What a plan has to meet.

use std::mem::discriminant;

use fairair_core::remedy::Deploy;
use fairair_core::scenario::Scenario;
use fairair_core::units::{Bitrate, Duration};

use super::goal::{Goal, alone, rates_change};

/// Goodputs that are reckoned to take so many times the air are not searched: the reckoning is nearer than that.
const FAR_BEYOND: f64 = 1.25;

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
    /// Whether all goals are about delays and transfer times: then nobody asked for a less fair cell.
    pub(super) fn is_about_time_only(&self) -> bool {
        self.goals.iter().all(Goal::is_time)
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
        let same = |a: &Goal, b: &Goal| discriminant(a) == discriminant(b) && a.who() == b.who();
        let twice = goals.iter().enumerate().find_map(|(n, a)| Some((a, goals[..n].iter().find(|b| same(a, b))?)));
        if let Some((one, other)) = twice {
            return wrong(&format!("two goals are about the same: `{other}` and `{one}`"), "leave one of them out");
        }
        if goals.iter().any(|goal| matches!(goal, Goal::Delay { most, .. } if *most == Duration::ZERO)) {
            return wrong("no queue has a delay of zero", "write a longer --max-delay, such as 50ms");
        }
        goals.iter().find_map(|goal| goal.mistake(scenario)).or_else(|| self.joint_excess(scenario))
    }

    /// The mistake of goodputs that the air cannot carry together, even if frames had no headers, or by far not with what they have.
    fn joint_excess(&self, scenario: &Scenario) -> Option<(String, String)> {
        if rates_change(scenario) {
            return None;
        }
        let asked: Vec<_> = self.goals.iter().filter(|goal| matches!(goal, Goal::Goodput { .. })).collect();
        let mut least = vec![0.0_f64; scenario.stations.len()];
        for goal in &asked {
            let Goal::Goodput { least: rate, .. } = goal else { continue };
            for index in goal.stations(scenario) {
                least[index] = least[index].max(rate.as_bps() as f64);
            }
        }
        let air = |capacities: &mut dyn Iterator<Item = Bitrate>| -> f64 {
            least.iter().zip(capacities).map(|(rate, capacity)| rate / capacity.as_bps() as f64).sum()
        };
        let without_headers = air(&mut scenario.stations.iter().map(|station| station.rate));
        let reckoned = air(&mut alone(scenario).into_iter());
        (without_headers > 1.0 || reckoned > FAR_BEYOND).then(|| {
            let named = asked.iter().map(|goal| format!("`{goal}`")).collect::<Vec<_>>().join(" and ");
            let (goals, exceed, take) = if asked.len() > 1 {
                ("goals", "together exceed", "they take")
            } else {
                ("goal", "exceeds", "it takes")
            };
            let takes = format!("{take} about {reckoned:.2} times its air, the headers and contention of TCP included");
            let what = format!("the {goals} {named} {exceed} the capacity of the cell: {takes}");
            let each = if asked.len() > 1 { " of each" } else { " of it" };
            (what, format!("ask for less than {:.0} %{each}", 100.0 / reckoned))
        })
    }
}
