//! One sentence in plain words: who gets the air, and what the AP's queue has to do with it.

use fairair_core::metrics::{Estimate, Report};
use fairair_core::units::plural;

use super::quantity::{per_cent, times};

/// Ratios this near to 1 are called equal.
const EQUAL: f64 = 0.1;
/// Drop probabilities below this are not worth a word.
const FEW_DROPS: f64 = 0.005;

/// The sentence. It says what was measured; reasons are given only where the counters show them.
pub(crate) fn verdict(report: &Report) -> String {
    let Some(total) = report.totals.goodput_bps.mean else {
        return "No replica was finished: nothing is known.".to_owned();
    };
    if total <= 0.0 {
        return "Nothing was delivered.".to_owned();
    }
    let who = match (report.directions.up.flows, report.directions.down.flows) {
        (0, _) | (_, 0) => stations(report),
        _ => directions(report),
    };
    let who = match starving(report) {
        Some(starving) => format!("{starving}: {}", in_mid_sentence(&who)),
        None => who,
    };
    match ap_queue(report) {
        Some(queue) => format!("{who}; {queue}."),
        None => format!("{who}."),
    }
}

/// Who gets next to nothing, if anybody does; a mean over a direction hides it.
pub(crate) fn starving(report: &Report) -> Option<String> {
    let per_replica = |estimate: Estimate| estimate.mean.filter(|mean| *mean > 0.0);
    let number = |mean: f64| if mean < 1.0 { format!("{mean:.2}") } else { format!("{mean:.3}") };
    let number = |mean: f64| {
        let text = number(mean);
        text.trim_end_matches('0').trim_end_matches('.').to_owned()
    };
    let (flows, stations) = (report.flows.len(), report.stations.len());
    let what = match (per_replica(report.indices.starved_flows), per_replica(report.indices.starved_stations)) {
        (Some(mean), _) => format!("{} of {} starve", number(mean), plural(flows, "flow")),
        (None, Some(mean)) => format!("{} of {} starve", number(mean), plural(stations, "station")),
        (None, None) => return None,
    };
    Some(format!("{what} (below 5 % of the max-min share; mean of the replicas)"))
}

/// A clause that begins with a word of its own, not with a station's name, goes on in lower case.
fn in_mid_sentence(clause: &str) -> String {
    let own = ["Uploads ", "Downloads ", "Another ", "All ", "The ", "There "];
    let mut text = clause.to_owned();
    if own.iter().any(|word| text.starts_with(word)) {
        text[..1].make_ascii_lowercase();
    }
    text
}

/// Both directions have flows.
fn directions(report: &Report) -> String {
    let ratio = report.indices.up_down_ratio;
    match ratio.mean {
        None => "Uploads take everything, downloads get nothing".to_owned(),
        Some(mean) if is_one(mean) => format!("Uploads and downloads get the same (ratio {mean:.2})"),
        Some(mean) if mean > 1.0 => format!("Uploads get {} what downloads get{}", times(mean), doubt(ratio)),
        Some(mean) if mean > 0.0 => format!("Downloads get {} what uploads get{}", times(1.0 / mean), doubt(ratio)),
        Some(_) => "Downloads take everything, uploads get nothing".to_owned(),
    }
}

/// All flows go one way: stations are compared.
fn stations(report: &Report) -> String {
    let level = report.indices.fairness_level_first_station;
    let first = report.stations.first().map_or("", |station| station.name.as_str());
    let jain = report.indices.jain_stations.mean;
    match (level.mean, jain) {
        (_, Some(jain)) if jain > 0.99 => format!("All stations get the same (Jain index {jain:.3})"),
        (Some(mean), _) if !is_one(mean) && mean > 1.0 => {
            format!("{first} gets {} what another station gets on average{}", times(mean), doubt(level))
        }
        (Some(mean), _) if !is_one(mean) && mean > 0.0 => {
            format!("Another station gets {} what {first} gets on average{}", times(1.0 / mean), doubt(level))
        }
        (_, Some(jain)) => format!("The stations share unequally (Jain index {jain:.2})"),
        (_, None) => "There are no stations to compare".to_owned(),
    }
}

/// Near enough to 1.
fn is_one(ratio: f64) -> bool {
    (ratio - 1.0).abs() <= EQUAL
}

/// A remark when the confidence interval of a ratio holds 1.
fn doubt(ratio: Estimate) -> &'static str {
    match (ratio.mean, ratio.ci95) {
        (Some(mean), Some(width)) if (mean - 1.0).abs() <= width => " (uncertain: more replicas would tell)",
        _ => "",
    }
}

/// What is dropped; nothing where nobody knows.
fn ap_queue(report: &Report) -> Option<String> {
    let probability = &report.ap_queue.drop_probability;
    let classes = [(probability.data, "DATA"), (probability.ack, "ACKs"), (probability.other, "other packets")];
    if report.model.is_some() && classes.iter().all(|(estimate, _)| estimate.mean.is_none()) {
        return None;
    }
    let drops: Vec<String> = classes
        .into_iter()
        .filter_map(|(estimate, class)| {
            let share = estimate.mean.filter(|share| *share >= FEW_DROPS)?;
            Some(format!("{} of the {class}", per_cent(share)))
        })
        .collect();
    Some(match drops.as_slice() {
        [] => "the AP's queue drops hardly anything".to_owned(),
        drops => format!("the AP's queue drops {}", drops.join(" and ")),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::output::fixture;

    fn sure(mean: f64) -> Estimate {
        Estimate { mean: Some(mean), ci95: Some(0.01), n: 9 }
    }

    #[track_caller]
    fn says(report: &Report, beginning: &str) {
        let said = verdict(report);
        assert!(said.starts_with(beginning) && said.ends_with('.'), "{said}");
    }

    #[test]
    fn directions_are_compared_where_there_are_two() {
        let mut report = fixture::report();
        report.indices.up_down_ratio = sure(17.2);
        report.ap_queue.drop_probability.data = sure(0.241);
        report.ap_queue.drop_probability.ack = sure(0.2);
        report.ap_queue.drop_probability.other = Estimate::default();
        assert_eq!(
            verdict(&report),
            "Uploads get 17x what downloads get; the AP's queue drops 24 % of the DATA and 20 % of the ACKs."
        );
        report.indices.up_down_ratio = sure(0.25);
        says(&report, "Downloads get 4.0x what uploads get");
        report.indices.up_down_ratio = sure(1.05);
        says(&report, "Uploads and downloads get the same");
        report.indices.up_down_ratio = Estimate { ci95: Some(1.5), ..sure(2.0) };
        says(&report, "Uploads get 2.0x what downloads get (uncertain: more replicas would tell)");
        report.indices.up_down_ratio = Estimate { mean: None, ci95: None, n: 9 };
        says(&report, "Uploads take everything");
    }

    #[test]
    fn who_starves_is_said_before_any_mean() {
        let mut report = fixture::report();
        report.indices.up_down_ratio = sure(1.05);
        report.indices.starved_flows = sure(2.0);
        says(
            &report,
            "2 of 7 flows starve (below 5 % of the max-min share; mean of the replicas): uploads and downloads",
        );
        report.indices.starved_flows = sure(0.0);
        report.indices.starved_stations = sure(0.4);
        says(&report, "0.4 of 5 stations starve");
        report.indices.starved_stations = Estimate::default();
        says(&report, "Uploads and downloads get the same");
    }

    #[test]
    fn stations_are_compared_where_all_flows_go_one_way() {
        let mut report = fixture::report();
        report.directions.down.flows = 0;
        report.indices.jain_stations = sure(0.5);
        report.indices.fairness_level_first_station = sure(6.0);
        says(&report, "sta1 gets 6.0x what another station gets");
        report.indices.fairness_level_first_station = sure(0.5);
        says(&report, "Another station gets 2.0x what sta1 gets");
        report.indices.jain_stations = sure(0.999);
        says(&report, "All stations get the same");
        report.totals.goodput_bps = sure(0.0);
        says(&report, "Nothing was delivered");
    }
}
