//! What a user wishes for, and how far a result is from it.

use std::fmt;
use std::str::FromStr;

use fairair_core::metrics::{Estimate, Report};

/// A wish about goodput.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Goal {
    /// Goodput of the first station over the mean of the others. At 1: of every station over the mean of the others.
    Level(f64),
    /// Mean goodput of a download over that of an upload.
    DownUp(f64),
}

impl FromStr for Goal {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        const HOW: &str = "write level=1, down/up=2 or up/down=0.5";
        let (name, number) = text.split_once('=').ok_or(HOW)?;
        let ratio: f64 = number.trim().parse().map_err(|_| format!("`{}` is no number: {HOW}", number.trim()))?;
        if !(ratio.is_finite() && (0.001..=1000.0).contains(&ratio)) {
            return Err("a ratio between 0.001 and 1000 is needed".to_owned());
        }
        match name.trim() {
            "level" => Ok(Goal::Level(ratio)),
            "down/up" => Ok(Goal::DownUp(ratio)),
            "up/down" => Ok(Goal::DownUp(1.0 / ratio)),
            other => Err(format!("`{other}` is no goal: {HOW}")),
        }
    }
}

impl fmt::Display for Goal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Goal::Level(level) => write!(f, "level={level}"),
            Goal::DownUp(ratio) => write!(f, "down/up={ratio}"),
        }
    }
}

/// All that a plan has to meet.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Wish {
    pub(crate) goals: Vec<Goal>,
    /// Most that the 95th percentile of the delay in the AP's queue may be, in seconds; the mean delay in a box counts
    /// too, at the station where it is longest.
    pub(crate) max_delay_s: Option<f64>,
    /// How far a ratio may be off, as a share.
    pub(crate) tolerance: f64,
}

impl Wish {
    /// How far `report` is from the wish: zero when all of it is met, also if only `margin` (0 to 1) of the tolerance
    /// were allowed; else the sum of what is missing, in tolerances.
    pub(crate) fn shortfall(&self, report: &Report, margin: f64) -> f64 {
        let allowed = self.tolerance.ln_1p();
        let ratios: f64 = self.goals.iter().map(|goal| (goal.distance(report) / allowed - margin).max(0.0)).sum();
        let delay = self.max_delay_s.map_or(0.0, |most| {
            // A queue that nothing passed through delays nothing. A box moves the queue from the AP to itself.
            let p95 = report.ap_queue.p95_sojourn_s.mean.unwrap_or(0.0) + report.box_sojourn_s().mean.unwrap_or(0.0);
            let most = most * (1.0 - self.tolerance * (1.0 - margin));
            ((p95 / most).ln() / allowed).max(0.0)
        });
        ratios + delay
    }
}

impl Goal {
    /// The largest distance of a ratio from the one wished for, on a logarithmic scale; infinite when there is none.
    fn distance(self, report: &Report) -> f64 {
        let off = |estimate: Estimate, wanted: f64| match estimate.mean {
            Some(mean) if mean > 0.0 => (mean / wanted).ln().abs(),
            _ => f64::INFINITY,
        };
        match self {
            Goal::Level(level) if (level - 1.0).abs() < f64::EPSILON => worst_level(report),
            Goal::Level(level) => off(report.indices.fairness_level_first_station, level),
            Goal::DownUp(ratio) => off(report.indices.up_down_ratio, 1.0 / ratio),
        }
    }
}

/// The station that is furthest from the mean of the others. Stations without goodput in the plan are infinitely far.
fn worst_level(report: &Report) -> f64 {
    let active = |row: &&fairair_core::metrics::StationReport| report.flows.iter().any(|flow| flow.station == row.name);
    let goodputs: Vec<f64> =
        report.stations.iter().filter(active).filter_map(|station| station.goodput_bps.mean).collect();
    let total: f64 = goodputs.iter().sum();
    let others = goodputs.len() as f64 - 1.0;
    let distance = |own: &f64| {
        let level = own * others / (total - own);
        if level > 0.0 && level.is_finite() { level.ln().abs() } else { f64::INFINITY }
    };
    if goodputs.len() < 2 { 0.0 } else { goodputs.iter().map(distance).fold(0.0, f64::max) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::output::fixture;

    #[test]
    fn goals_are_read_and_refused() {
        assert_eq!("level=1".parse(), Ok(Goal::Level(1.0)));
        assert_eq!("down/up = 2".parse(), Ok(Goal::DownUp(2.0)));
        assert_eq!("up/down=4".parse(), Ok(Goal::DownUp(0.25)));
        for wrong in ["", "level", "level=x", "level=0", "level=-1", "speed=2", "down/up=inf", "level=nan"] {
            assert!(wrong.parse::<Goal>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn the_fixture_is_far_from_fair_and_meets_what_it_is() {
        let report = fixture::report();
        let wish = |goals: &[Goal]| Wish { goals: goals.to_vec(), max_delay_s: None, tolerance: 0.1 };
        let level = report.indices.fairness_level_first_station.mean.unwrap();
        assert!(wish(&[Goal::Level(1.0)]).shortfall(&report, 1.0) > 10.0);
        assert!(wish(&[Goal::Level(level * 1.05)]).shortfall(&report, 1.0).abs() < f64::EPSILON);
        assert!(wish(&[Goal::Level(level * 1.05)]).shortfall(&report, 0.2) > 0.0, "not with a margin");
        let ratio = report.indices.up_down_ratio.mean.unwrap();
        assert!(wish(&[Goal::DownUp(1.0 / ratio)]).shortfall(&report, 0.0).abs() < 1e-9);
    }
}
