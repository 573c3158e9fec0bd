//! A timetable in less time: what comes and goes in minutes comes and goes in seconds, for first looks.

use fairair_core::scenario::{Action, Scenario, Traffic};
use fairair_core::units::Duration;

/// Least time between two changes that a look leaves, seconds: windows and queues follow a change in a few round trips.
const BETWEEN_S: f64 = 8.0;
/// Changes that are closer than this are one, seconds.
const ONE_S: f64 = 1.0;
/// A look that is hardly shorter is not worth it.
const WORTH: f64 = 0.8;

/// Warm-up and measured time in seconds of `scenario` in so much less time that about `measured_s` are measured, after a warm-up of
/// `warmup_s` at most; `None` where its changes are too close, or where it sends a given number of files, which take the time that they take.
pub(super) fn squeezed(scenario: &Scenario, warmup_s: f64, measured_s: f64) -> Option<(f64, f64)> {
    let counted = |traffic: &Traffic| matches!(traffic, Traffic::Files { count: Some(_), .. });
    if scenario.flows().any(|(_, flow)| counted(&flow.traffic)) {
        return None;
    }
    let (from, to) = (scenario.run.warmup.as_secs_f64(), scenario.run.duration.as_secs_f64());
    let starts = scenario.flows().flat_map(|(_, flow)| [Some(flow.start), flow.stop]);
    let events = scenario.events.iter().map(|event| Some(event.at));
    let mut changes: Vec<f64> = starts.chain(events).flatten().map(Duration::as_secs_f64).collect();
    changes.retain(|at| (from..to).contains(at));
    changes.extend([from, to]);
    changes.sort_by(f64::total_cmp);
    let gaps = changes.windows(2).map(|pair| pair[1] - pair[0]).filter(|gap| *gap >= ONE_S);
    let shortest = gaps.fold(f64::INFINITY, f64::min);
    let share = (measured_s / (to - from)).max(BETWEEN_S / shortest);
    (share < WORTH).then(|| (from.min(warmup_s), share * (to - from)))
}

/// Puts the whole timetable of `scenario` into that time.
pub(super) fn squeeze(scenario: &mut Scenario, (warmup_s, measured_s): (f64, f64)) {
    let (from, to) = (scenario.run.warmup.as_secs_f64(), scenario.run.duration.as_secs_f64());
    let (before, after) = (warmup_s / from.max(1e-9), measured_s / (to - from).max(1e-9));
    let at = |time: Duration| {
        let time = time.as_secs_f64();
        let squeezed = if time <= from { time * before } else { warmup_s + (time - from) * after };
        Duration::from_millis((squeezed * 1e3).round() as u64)
    };
    for flow in scenario.stations.iter_mut().flat_map(|station| &mut station.flows) {
        flow.start = at(flow.start);
        flow.stop = flow.stop.map(at);
    }
    for event in &mut scenario.events {
        event.at = at(event.at);
        if let Action::Silence { lasts } = &mut event.action {
            *lasts = Duration::from_secs_f64(lasts.as_secs_f64() * after);
        }
    }
    scenario.run.start_spread = at(scenario.run.start_spread);
    (scenario.run.duration, scenario.run.warmup) = (at(scenario.run.duration), at(scenario.run.warmup));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_timetable_keeps_its_proportions() {
        let text = |flow: &str| {
            format!(
                "name = \"x\"\n[run]\nduration = \"220 s\"\nwarmup = \"20 s\"\n[[station]]\nname = \"a\"\nflows = [{flow}]\n\
                 [[event]]\nat = \"120 s\"\nkind = \"rate\"\nstation = \"a\"\nrate = \"2 Mbit/s\"\n"
            )
        };
        let of = |flow: &str| Scenario::from_toml(&text(flow), "x.toml").unwrap();
        let mut late = of("{ direction = \"up\", start = \"170 s\", stop = \"190 s\" }");
        assert_eq!(squeezed(&late, 5.0, 10.0), Some((5.0, 80.0)), "8 of the 20 s before the stop");
        assert_eq!(squeezed(&late, 5.0, 190.0), None, "hardly less");
        assert_eq!(
            squeezed(&of("{ direction = \"up\", kind = \"files\", size = \"1 MB\", files = 9 }"), 5.0, 10.0),
            None
        );
        squeeze(&mut late, (5.0, 50.0));
        let seconds = |times: &[Duration]| times.iter().map(|time| time.as_secs_f64()).collect::<Vec<_>>();
        let (run, flow) = (late.run, late.stations[0].flows[0]);
        assert_eq!(
            seconds(&[run.warmup, late.events[0].at, flow.start, flow.stop.unwrap(), run.duration]),
            [5.0, 30.0, 42.5, 47.5, 55.0]
        );
    }
}
