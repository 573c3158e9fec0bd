//! One sentence in plain words: who gets the air, and what the AP's queue has to do with it.

use fairair_core::metrics::{Estimate, FLOOR, MaxMin, Report};
use fairair_core::scenario::Scenario;
use fairair_core::units::plural;

use super::quantity::{per_cent, times};

/// Ratios this near to 1 are called equal.
const EQUAL: f64 = 0.1;
/// Drop probabilities below this are not worth a word.
const FEW_DROPS: f64 = 0.005;

/// A station with less than this share of its max-min share is named.
const LITTLE: f64 = 0.2;
/// Most names in the sentence.
const NAMES: usize = 3;

/// The sentence. It says what was measured; reasons are given only where the counters show them.
pub(crate) fn verdict(report: &Report, scenario: &Scenario) -> String {
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
    let shares = MaxMin::of(scenario, total);
    let who = match starving(report) {
        Some(starving) => format!("{starving}{}: {}", starved_by_name(report, &shares), in_mid_sentence(&who)),
        None => who,
    };
    let who = match with_little(report, &shares) {
        Some(little) => format!("{who}; {little}"),
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

/// Who starves on average; a flow by its number at its station, from 0.
fn starved_by_name(report: &Report, shares: &MaxMin) -> String {
    let goodput = |estimate: Estimate| estimate.mean.unwrap_or(0.0);
    let flows: Vec<f64> = report.flows.iter().map(|flow| goodput(flow.goodput_bps)).collect();
    let stations: Vec<f64> = report.stations.iter().map(|station| goodput(station.goodput_bps)).collect();
    let starved = shares.starved(FLOOR, &flows, &stations);
    let whole: Vec<&str> = starved.stations.iter().map(|index| report.stations[*index].name.as_str()).collect();
    let mut names: Vec<String> = whole.iter().map(|name| (*name).to_owned()).collect();
    for index in &starved.flows {
        let flow = &report.flows[*index];
        if !whole.contains(&flow.station.as_str()) {
            let own = report.flows[..*index].iter().filter(|other| other.station == flow.station).count();
            names.push(format!("flow {own} of {}", flow.station));
        }
    }
    if names.is_empty() { ", in turns".to_owned() } else { format!(": {}", some(&names)) }
}

/// Stations that have little of their share, but do not starve; who asks for less has a smaller share.
fn with_little(report: &Report, shares: &MaxMin) -> Option<String> {
    let part = |index: usize| {
        let share = shares.stations.get(index).copied().flatten().filter(|share| *share > 0.0)?;
        Some(report.stations[index].goodput_bps.mean? / share)
    };
    let mut little: Vec<(f64, &str)> = (0..report.stations.len())
        .filter_map(|index| Some((part(index)?, report.stations[index].name.as_str())))
        .filter(|(part, _)| (FLOOR..LITTLE).contains(part))
        .collect();
    little.sort_by(|a, b| a.0.total_cmp(&b.0));
    let (least, _) = little.first()?;
    let names: Vec<String> = little.iter().map(|(_, name)| (*name).to_owned()).collect();
    let has = if names.len() == 1 { "has" } else { "have" };
    let at_most = little.last().map_or(*least, |(most, _)| *most);
    Some(format!(
        "{} {has} {}{} of the max-min share",
        some(&names),
        if names.len() == 1 { "" } else { "at most " },
        per_cent(at_most)
    ))
}

/// A few names of many.
fn some(names: &[String]) -> String {
    match names.len().checked_sub(NAMES).filter(|more| *more > 0) {
        Some(more) => format!("{} and {more} more", names[..NAMES].join(", ")),
        None => names.join(", "),
    }
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

/// The drops; nothing where the engine does not know them.
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
        let said = verdict(report, &fixture::scenario());
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
            verdict(&report, &fixture::scenario()),
            "Uploads get 17x what downloads get; other-1, other-2, other-3 and 1 more have at most 9.1 % of the max-min share; the \
             AP's queue drops 24 % of the DATA and 20 % of the ACKs."
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
            "2 of 7 flows starve (below 5 % of the max-min share; mean of the replicas), in turns: uploads and downloads",
        );
        report.indices.starved_flows = sure(0.0);
        report.indices.starved_stations = sure(0.4);
        says(&report, "0.4 of 5 stations starve");
        report.indices.starved_stations = Estimate::default();
        says(&report, "Uploads and downloads get the same");
    }

    #[test]
    fn who_starves_or_has_little_is_named() {
        let mut report = fixture::report();
        report.indices.up_down_ratio = sure(1.05);
        report.indices.starved_flows = sure(2.0);
        // 40 kbit/s of 1.04 Mbit/s, and one of three flows.
        (report.stations[1].goodput_bps, report.flows[3].goodput_bps) = (sure(40e3), sure(40e3));
        report.flows[1].goodput_bps = sure(1e3);
        let said = verdict(&report, &fixture::scenario());
        let names = "(below 5 % of the max-min share; mean of the replicas): other-1, flow 1 of sta1: uploads";
        assert!(said.contains(names), "{said}");
        assert!(said.contains("; other-2, other-3, other-4 have at most 9.1 % of the max-min share"), "{said}");
        for index in 2..5 {
            report.stations[index].goodput_bps = sure(1e6);
        }
        assert!(!verdict(&report, &fixture::scenario()).contains("at most"));
        report.stations[4].goodput_bps = sure(150e3);
        let said = verdict(&report, &fixture::scenario());
        assert!(said.contains("; other-4 has 14 % of the max-min share"), "{said}");
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
