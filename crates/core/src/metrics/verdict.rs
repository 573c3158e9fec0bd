//! One sentence in plain words: who gets the air, and what the AP's queue has to do with it.

use super::estimate::Estimate;
use super::report::Report;
use super::starvation::{FLOOR, MaxMin};
use crate::packet::Direction;
use crate::scenario::Scenario;
use crate::units::plural;

/// Ratios this near to 1 are called equal.
const EQUAL: f64 = 0.1;
/// Drop probabilities below this are not worth a word.
const FEW_DROPS: f64 = 0.005;

/// A station with less than this share of its max-min share is named.
const LITTLE: f64 = 0.2;
/// Spoilt frames from this share on, and a link slower than the fastest by this factor, are named.
const SPOILT: f64 = 0.1;
const SLOW: u64 = 3;
/// A station with this share of the air, and no more than this of the mean goodput, is named.
const MUCH_AIR: f64 = 0.4;
const MORE: f64 = 1.2;
/// Most names in the sentence.
const NAMES: usize = 3;

/// The sentence. It says what was measured; reasons are given only where the counters show them.
pub fn verdict(report: &Report, scenario: &Scenario) -> String {
    let Some(total) = report.totals.goodput_bps.mean else {
        return "No replica was finished: nothing is known.".to_owned();
    };
    if total <= 0.0 {
        return "Nothing was delivered.".to_owned();
    }
    let shares = MaxMin::of(scenario, total);
    // Who is gone before anything is measured is not compared.
    let goes = |direction: Direction| {
        scenario.flows().zip(scenario.measured_flows()).any(|((_, flow), there)| there && flow.direction == direction)
    };
    let (up, down) = (&report.directions.up, &report.directions.down);
    let who = match (up.flows > 0 && goes(Direction::Up), down.flows > 0 && goes(Direction::Down)) {
        (false, _) | (_, false) => stations(report, scenario),
        _ => greedy_directions(report, &shares).unwrap_or_else(|| directions(report)),
    };
    let who = match starving(report) {
        Some(starving) => format!("{starving}{}. {who}", starved_by_name(report, &shares, scenario)),
        None => who,
    };
    let who = [with_little(report, &shares), with_air(report)]
        .into_iter()
        .flatten()
        .fold(who, |who, more| format!("{who}; {more}"));
    match ap_queue(report) {
        Some(queue) => format!("{who}; {queue}."),
        None => format!("{who}."),
    }
}

/// Who gets next to nothing, if anybody does; a mean over a direction hides it.
pub fn starving(report: &Report) -> Option<String> {
    let per_replica = |estimate: Estimate| estimate.mean.filter(|mean| *mean > 0.0);
    // A count: more decimals than its spread allows would look exact.
    let number = |mean: f64| if mean < 1.0 { format!("{mean:.2}") } else { format!("{mean:.1}") };
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

/// Who starves on average; a flow by its number at its station, from 1.
fn starved_by_name(report: &Report, shares: &MaxMin, scenario: &Scenario) -> String {
    let goodput = |estimate: Estimate| estimate.mean.unwrap_or(0.0);
    let flows: Vec<f64> = report.flows.iter().map(|flow| goodput(flow.goodput_bps)).collect();
    let stations: Vec<f64> = report.stations.iter().map(|station| goodput(station.goodput_bps)).collect();
    let starved = shares.starved(FLOOR, &flows, &stations);
    let whole: Vec<&str> = starved.stations.iter().map(|index| report.stations[*index].name.as_str()).collect();
    let mut names: Vec<String> = starved
        .stations
        .iter()
        .map(|index| report.stations[*index].name.clone() + &weakness(scenario, *index))
        .collect();
    for index in &starved.flows {
        let flow = &report.flows[*index];
        if !whole.contains(&flow.station.as_str()) {
            let own = report.flows[..*index].iter().filter(|other| other.station == flow.station).count();
            names.push(format!("flow {} of {}", own + 1, flow.station));
        }
    }
    if names.is_empty() {
        return ", in turns".to_owned();
    }
    // Below the floor on average are more than starve in a replica.
    if report.indices.starved_flows.mean.is_some_and(|mean| mean + 0.5 < starved.flows.len() as f64) {
        return format!(", in turns: {}", some(&names));
    }
    // Who starves in some replicas only is not below the floor on average.
    let in_turns = report.indices.starved_flows.mean.is_some_and(|mean| mean > starved.flows.len() as f64 + 0.5);
    format!(": {}{}", some(&names), if in_turns { ", and others in turns" } else { "" })
}

/// Why a station may get little whatever the others do, in brackets: its link.
fn weakness(scenario: &Scenario, index: usize) -> String {
    let Some(own) = scenario.stations.get(index) else { return String::new() };
    let fastest = scenario.stations.iter().map(|other| other.rate.as_bps()).max().unwrap_or(0);
    let error = own.frame_error.get();
    if error >= SPOILT {
        format!(" ({} of its frames are spoilt)", per_cent(error))
    } else if own.rate.as_bps() < fastest / SLOW {
        format!(" (its link has {})", own.rate)
    } else {
        String::new()
    }
}

/// A station that holds much of the air and gets no more than others for it.
fn with_air(report: &Report) -> Option<String> {
    let count = report.stations.len() as f64;
    let mean = report.totals.goodput_bps.mean? / count;
    let held = report.stations.iter().filter_map(|own| Some((own.airtime_share.mean?, own)));
    let (share, own) = held.max_by(|a, b| a.0.total_cmp(&b.0))?;
    let gets_no_more = own.goodput_bps.mean? <= MORE * mean;
    (count > 1.0 && gets_no_more && share >= MUCH_AIR && share >= 2.0 / count)
        .then(|| format!("{} holds {} of the air", own.name, per_cent(share)))
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

/// Some flows ask for less than they could get, which says nothing of fairness: the others are compared where both
/// directions have some.
fn greedy_directions(report: &Report, shares: &MaxMin) -> Option<String> {
    if !shares.flow_is_limited.contains(&true) {
        return None;
    }
    let mean = |direction: Direction| {
        let flows = report.flows.iter().enumerate().filter(|(index, flow)| {
            flow.direction == direction && shares.flows[*index].is_some() && !shares.flow_is_limited[*index]
        });
        let goodputs: Vec<f64> = flows.map(|(_, flow)| flow.goodput_bps.mean.unwrap_or(0.0)).collect();
        (!goodputs.is_empty()).then(|| goodputs.iter().sum::<f64>() / goodputs.len() as f64)
    };
    let (up, down) = (mean(Direction::Up)?, mean(Direction::Down)?);
    let among = "Of the flows that send all they can";
    Some(match up / down {
        ratio if ratio.is_nan() => format!("{among}, none gets anything"),
        ratio if ratio.is_infinite() => format!("{among}, uploads take everything"),
        ratio if is_one(ratio) => format!("{among}, uploads and downloads get the same (ratio {ratio:.2})"),
        ratio if ratio > 1.0 => format!("{among}, uploads get {} what downloads get", times(ratio)),
        ratio if ratio > 0.0 => format!("{among}, downloads get {} what uploads get", times(1.0 / ratio)),
        _ => format!("{among}, downloads take everything"),
    })
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

/// All flows go one way: stations are compared, those that have flows.
fn stations(report: &Report, scenario: &Scenario) -> String {
    let with_flows = scenario.measured_stations();
    if let [alone] = with_flows[..] {
        return format!("There is nobody to compare {} with", scenario.stations[alone].name);
    }
    let those = if with_flows.len() < scenario.stations.len() { "stations with flows" } else { "stations" };
    let level = report.indices.fairness_level_first_station;
    let first = report.stations.first().map_or("", |station| station.name.as_str());
    let jain = report.indices.jain_stations.mean;
    match (level.mean, jain) {
        (_, Some(jain)) if jain > 0.99 => format!("All {those} get the same (Jain index {jain:.3})"),
        (Some(mean), _) if !is_one(mean) && mean > 1.0 => {
            format!("{first} gets {} what another station gets on average{}", times(mean), doubt(level))
        }
        (Some(mean), _) if !is_one(mean) && mean > 0.0 => {
            format!("Another station gets {} what {first} gets on average{}", times(1.0 / mean), doubt(level))
        }
        (_, Some(jain)) => format!("The {those} share unequally (Jain index {jain:.2})"),
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
        [] if report.model.is_some() => "the model expects that the AP's queue drops hardly anything".to_owned(),
        [] => "the AP's queue drops hardly anything".to_owned(),
        drops => format!("the AP's queue drops {}", drops.join(" and ")),
    })
}

/// A multiple in words, as in "17x".
pub fn times(factor: f64) -> String {
    let decimals = usize::from(factor < 9.95);
    format!("{factor:.decimals$}x")
}

/// A probability in words, as in "24 %".
pub fn per_cent(share: f64) -> String {
    let decimals = usize::from(share < 0.0995);
    format!("{:.decimals$} %", share * 100.0)
}

/// A share that somebody chose in per cent: three decimals, of what is small three digits, without those that a product of floats adds.
pub fn exact_per_cent(share: f64) -> f64 {
    let per_cent = share * 100.0;
    let decimals = if per_cent > 0.0 { (2.0 - per_cent.log10().floor()).max(3.0) } else { 3.0 };
    let unit = 10_f64.powf(decimals);
    (per_cent * unit).round() / unit
}
