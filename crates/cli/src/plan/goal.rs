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
    /// Share of the max-min share below which a flow or a station starves.
    pub(crate) floor: f64,
}

impl Wish {
    /// How far `report` is from the wish: zero when all of it is met even if the truth lies at the wrong end of every
    /// confidence interval and only `margin` (0 to 1) of the tolerance is allowed; else the sum of what is missing, in
    /// tolerances.
    pub(crate) fn shortfall(&self, report: &Report, margin: f64) -> f64 {
        self.missing(report, margin, 1.0)
    }

    /// Whether `report` meets the wish as far as its means go: with a longer look it may turn out that it does.
    pub(crate) fn seems_met(&self, report: &Report) -> bool {
        self.missing(report, 1.0, 0.0) <= 0.0
    }

    fn missing(&self, report: &Report, margin: f64, doubt: f64) -> f64 {
        let allowed = self.tolerance.ln_1p();
        let ratios: f64 =
            self.goals.iter().map(|goal| (goal.distance(report, doubt) / allowed - margin).max(0.0)).sum();
        let delay = self.max_delay_s.map_or(0.0, |most| {
            let most = most * (1.0 - self.tolerance * (1.0 - margin));
            ((delay_s(report, doubt) / most).ln() / allowed).max(0.0)
        });
        ratios + delay
    }
}

/// The 95th percentile of the delay in the AP's queue, and the mean one in a box: a box moves the queue from the AP to
/// itself. A queue that nothing passed through delays nothing. With `doubt` half-widths of both.
fn delay_s(report: &Report, doubt: f64) -> f64 {
    let most = |estimate: Estimate| estimate.mean.unwrap_or(0.0) + doubt * estimate.ci95.unwrap_or(0.0);
    most(report.ap_queue.p95_sojourn_s) + most(report.box_sojourn_s())
}

/// Distance of a ratio from the one wished for on a logarithmic scale, at the far end of the interval; infinite when
/// there is none.
fn off(ratio: Option<f64>, wanted: f64, relative_half_width: Option<f64>) -> f64 {
    match ratio {
        Some(ratio) if ratio > 0.0 && ratio.is_finite() => {
            (ratio / wanted).ln().abs() + relative_half_width.unwrap_or(0.0)
        }
        _ => f64::INFINITY,
    }
}

impl Goal {
    /// The largest distance of a ratio from the one wished for, `doubt` half-widths on.
    fn distance(self, report: &Report, doubt: f64) -> f64 {
        let of = |estimate: Estimate, wanted: f64| {
            off(estimate.mean, wanted, estimate.relative_half_width().map(|width| doubt * width))
        };
        match self {
            Goal::Level(level) if (level - 1.0).abs() < f64::EPSILON => worst_level(report, doubt),
            Goal::Level(level) => of(report.indices.fairness_level_first_station, level),
            Goal::DownUp(ratio) => of(report.indices.up_down_ratio, 1.0 / ratio),
        }
    }
}

/// The station that is furthest from the mean of the others. Stations without goodput in the plan are infinitely far.
fn worst_level(report: &Report, doubt: f64) -> f64 {
    let active = |row: &&fairair_core::metrics::StationReport| report.flows.iter().any(|flow| flow.station == row.name);
    let stations: Vec<Estimate> = report.stations.iter().filter(active).map(|station| station.goodput_bps).collect();
    let goodput = |estimate: &Estimate| estimate.mean.unwrap_or(0.0);
    let total: f64 = stations.iter().map(goodput).sum();
    let others = stations.len() as f64 - 1.0;
    let distance = |own: &Estimate| {
        off(
            Some(goodput(own) * others / (total - goodput(own))),
            1.0,
            own.relative_half_width().map(|width| doubt * width),
        )
    };
    if stations.len() < 2 { 0.0 } else { stations.iter().map(distance).fold(0.0, f64::max) }
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
        let wish = |goals: &[Goal]| Wish { goals: goals.to_vec(), max_delay_s: None, tolerance: 0.1, floor: 0.05 };
        let level = report.indices.fairness_level_first_station.mean.unwrap();
        assert!(wish(&[Goal::Level(1.0)]).shortfall(&report, 1.0) > 10.0);
        let ratio = report.indices.up_down_ratio.mean.unwrap();
        let sure = |mean| Estimate { mean: Some(mean), ci95: Some(0.0), n: 3 };
        let mut report = report;
        (report.indices.fairness_level_first_station, report.indices.up_down_ratio) = (sure(level), sure(ratio));
        assert!(wish(&[Goal::Level(level * 1.05)]).shortfall(&report, 1.0).abs() < f64::EPSILON);
        assert!(wish(&[Goal::Level(level * 1.05)]).shortfall(&report, 0.2) > 0.0, "not with a margin");
        assert!(wish(&[Goal::DownUp(1.0 / ratio)]).shortfall(&report, 0.0).abs() < 1e-9);
        report.indices.up_down_ratio.ci95 = Some(0.2 * ratio);
        assert!(wish(&[Goal::DownUp(1.0 / ratio)]).shortfall(&report, 1.0) > 0.0, "the truth may be elsewhere");
    }
}
