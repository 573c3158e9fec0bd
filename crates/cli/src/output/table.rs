//! The report for people: who gets the air.

use fairair_core::metrics::{ByClass, Estimate, Report, SizeTransfers, StationReport, verdict};
use fairair_core::packet::Direction;
use fairair_core::qdisc::{Mac80211Params, QdiscSpec};
use fairair_core::scenario::{Scenario, Station};
use fairair_core::units::{Bytes, plural, word};

use super::grid::{Align, Keep, Table, bar, pad, quantities, titled};
use super::quantity::{NONE, Quantity};
use super::{Page, Style, testbed};

/// More rows than this are folded by group.
const ROWS: usize = 12;
/// Columns of the bar of shares.
const BAR: usize = 12;
/// Columns of the labels below the stations.
const LABEL: usize = 16;

/// The report as text, ending with a line break.
pub(crate) fn render(report: &Report, scenario: &Scenario, style: Style) -> String {
    let mut lines = header(report, scenario, style);
    lines.push(String::new());
    lines.extend(stations(report, scenario, style));
    lines.push(String::new());
    let summary = summary(report, scenario).into_iter();
    lines.extend(summary.map(|(label, line)| style.bold(&pad(label, LABEL, Align::Left)) + &line));
    lines.push(String::new());
    lines.extend(broken_assumptions(report).iter().map(|line| style.bold(line)));
    lines.push(style.bold(&verdict(report, scenario)));
    lines.join("\n") + "\n"
}

/// A sixth of a duration, the usual warm-up, is seldom a round number.
fn to_the_millisecond(seconds: f64) -> f64 {
    (seconds * 1e3).round() / 1e3
}

fn header(report: &Report, scenario: &Scenario, style: Style) -> Vec<String> {
    let preset = word(&scenario.run.preset);
    let mut lines = vec![
        format!(
            "{}: {} at {}, {}{}, {}, {}, preset {preset}",
            style.bold(&scenario.name),
            scenario.radio.phy.name(),
            scenario.radio.data(),
            several_aps(scenario),
            plural(scenario.stations.len(), "station"),
            plural(scenario.flow_count(), "flow"),
            queues(scenario),
        ),
        style.dim(&match &report.model {
            Some(model) => format!("predicted by the model {}; nothing was simulated", model.name),
            None => replicas(report, scenario),
        }),
    ];
    if report.interrupted {
        lines.push(
            style.bold(&format!("INTERRUPTED: {} of {} replicas are done", report.replicas, report.replicas_planned)),
        );
    }
    if let Some(until) = report.until_ci.filter(|until| !until.reached) {
        lines.push(
            style.bold(&format!(
                "NOT PRECISE: some half-width is above the wanted {} % of its mean",
                until.target_percent
            )),
        );
    }
    lines
}

/// How many access points there are, if several.
fn several_aps(scenario: &Scenario) -> String {
    match scenario.access_points.len() {
        0 => String::new(),
        more => format!("{} APs, ", more + 1),
    }
}

/// How often and how long was measured.
fn replicas(report: &Report, scenario: &Scenario) -> String {
    format!(
        "{} x {} s after {} s of warm-up, seed {}{}",
        plural(report.replicas as usize, "replica"),
        to_the_millisecond(report.measured_s),
        to_the_millisecond(scenario.run.warmup.as_secs_f64()),
        report.seed,
        if report.replicas > 1 {
            "; ± is the 95 % confidence half-width"
        } else {
            "; no confidence from fewer than 2"
        },
    )
}

/// What a model's answer has to be read with: the assumptions that the scenario breaks.
fn broken_assumptions(report: &Report) -> Vec<String> {
    let assumptions = report.model.iter().flat_map(|model| &model.assumptions);
    let broken = assumptions.filter(|assumption| !assumption.holds);
    broken
        .map(|assumption| format!("OUTSIDE THE MODEL ({}): it assumes that {}", assumption.name, assumption.what))
        .collect()
}

/// The queue of all access points, or each one's where they differ.
fn queues(scenario: &Scenario) -> String {
    let more = || scenario.access_points.iter().map(|own| own.queue);
    let first = scenario.ap.queue;
    if more().all(|own| own == first) {
        return format!("AP queue {}", queue(first));
    }
    let named = scenario.access_point_names().zip(std::iter::once(first).chain(more()));
    let each: Vec<String> = named.map(|(name, own)| format!("{} at {name}", queue(own))).collect();
    format!("AP queues {}", each.join(", "))
}

/// The discipline's name and parameters, as the scenario spells them.
fn queue(own: QdiscSpec) -> String {
    let spec = serde_json::to_value(own).unwrap_or_default();
    let fields = spec.as_object().into_iter().flatten();
    let (kind, parameters): (Vec<_>, Vec<_>) = fields.partition(|(key, _)| *key == "kind");
    let kind = kind.into_iter().filter_map(|(_, name)| name.as_str().map(str::to_owned));
    // Of Linux' queues what is not as usual; else a switch that is off says nothing.
    let usual = matches!(own, QdiscSpec::Mac80211(_))
        .then(|| serde_json::to_value(QdiscSpec::Mac80211(Mac80211Params::default())).unwrap_or_default());
    let says = |key: &str, value: &serde_json::Value| match &usual {
        Some(usual) => key == "limit" || usual.get(key) != Some(value),
        None => !value.is_null() && *value != serde_json::Value::Bool(false),
    };
    let parameters = parameters.into_iter().filter(|(key, value)| says(key, value));
    kind.chain(parameters.map(|(key, value)| format!("{key} {value}"))).collect::<Vec<_>>().join(" ")
}

/// A line of the stations' table: one station, or neighbours of one kind.
struct Row<'a> {
    reports: &'a [StationReport],
    /// Any of them; they are alike.
    station: &'a Station,
}

impl Row<'_> {
    fn name(&self) -> String {
        match self.reports {
            [one] => one.name.clone(),
            [first, ..] => format!("{} ×{}", first.group, self.reports.len()),
            [] => String::new(),
        }
    }

    /// Goodput of one direction, `-` without a flow that way.
    fn goodput(&self, direction: Direction) -> Quantity {
        if !self.station.flows.iter().any(|flow| flow.direction == direction) {
            return Quantity::none();
        }
        let estimates = self.reports.iter().map(|report| match direction {
            Direction::Up => report.goodput_up_bps,
            Direction::Down => report.goodput_down_bps,
        });
        if let [_] = self.reports {
            return estimates.map(Quantity::rate).next().unwrap_or_default();
        }
        let means: Vec<f64> = estimates.filter_map(|estimate| estimate.mean).collect();
        let Some(least) = means.iter().copied().reduce(f64::min) else { return Quantity::none() };
        let most = means.iter().copied().fold(least, f64::max);
        Quantity::rate_between(means.iter().sum::<f64>() / means.len() as f64, least, most)
    }

    /// Sum over its stations.
    fn sum(&self, share: fn(&StationReport) -> Option<f64>) -> Option<f64> {
        self.reports.iter().map(share).sum()
    }

    /// Mean over its stations.
    fn mean(&self, number: fn(&StationReport) -> Option<f64>) -> Option<f64> {
        self.sum(number).map(|sum| sum / self.reports.len() as f64)
    }
}

fn rows<'a>(report: &'a Report, scenario: &'a Scenario) -> Vec<Row<'a>> {
    let fold = report.stations.len() > ROWS;
    let mut station = scenario.stations.iter();
    let chunks = report.stations.chunk_by(|a, b| fold && a.group == b.group);
    let with_station = chunks.map(|reports| {
        let first = station.next();
        // The others of the chunk are like the first.
        station.by_ref().take(reports.len() - 1).for_each(drop);
        first.map(|station| Row { reports, station })
    });
    with_station.flatten().collect()
}

fn stations(report: &Report, scenario: &Scenario, style: Style) -> Vec<String> {
    let rows = rows(report, scenario);
    let cells = |cell: &dyn Fn(&Row) -> String| -> Vec<String> { rows.iter().map(cell).collect() };
    let goodputs = |direction| -> Vec<Quantity> { rows.iter().map(|row| row.goodput(direction)).collect() };
    let share = |row: &Row| row.sum(|report| report.goodput_share.mean);
    let shares = cells(&|row| {
        let percent = number(share(row).map(|share| share * 100.0), 0, "%");
        let percent = pad(&percent, "100 %".len(), Align::Right);
        format!("{} {percent}", style.bar(&bar(share(row).unwrap_or_default(), BAR)))
    });
    let airtimes = cells(&|row| number(row.sum(|report| report.airtime_share.mean).map(|share| share * 100.0), 0, "%"));
    let queues = cells(&|row| number(row.mean(|report| report.uplink_queue_mean_packets.mean), 1, "pkt"));
    let mut table = Table::default();
    table.add(Keep::Always, titled("station", cells(&|row| row.name()), Align::Left));
    table.add(Keep::Always, quantities("up", &goodputs(Direction::Up)));
    table.add(Keep::Always, quantities("down", &goodputs(Direction::Down)));
    // These cells are of one width already, which their colours would hide.
    let title = pad("share", BAR + " 100 %".len(), Align::Left);
    table.add(Keep::Always, std::iter::once(title).chain(shares).collect());
    table.add(Keep::Always, titled("airtime", airtimes, Align::Right));
    table.add(Keep::Always, titled("uplink queue", queues, Align::Right));
    let mut lines = table.lines(Page { style, ..Page::FILE });
    if rows.iter().any(|row| row.reports.len() > 1) {
        lines.push(style.dim("×n: goodput and queue per station, mean [least … most]; share and airtime of all n"));
    }
    let air = rows.iter().filter_map(|row| row.sum(|report| report.airtime_share.mean)).sum::<f64>();
    if air > 1.0 {
        let percent = air * 100.0;
        let note = format!("airtime: {percent:.0} % in all, as frames that collide count for each of their senders");
        lines.push(style.dim(&note));
    }
    lines
}

/// A number with its unit, `-` when there is none.
fn number(value: Option<f64>, decimals: usize, unit: &str) -> String {
    value.map_or_else(|| NONE.to_owned(), |value| format!("{value:.decimals$} {unit}"))
}

/// The lines below the stations, label and text.
fn summary(report: &Report, scenario: &Scenario) -> Vec<(&'static str, String)> {
    let mut lines = Vec::new();
    let indices = &report.indices;
    if indices.fairness_level_first_station.n > 0 {
        let name = scenario.stations.first().map_or("", |station| station.name.as_str());
        let level = match indices.fairness_level_first_station.mean {
            None => "none, the others get nothing".to_owned(),
            Some(_) => Quantity::plain(indices.fairness_level_first_station).text(),
        };
        lines.push(("fairness level", format!("{level}  ({name} over the mean of the others)")));
    }
    let jain = |estimate| Quantity::plain(estimate).text();
    lines.push((
        "Jain index",
        format!("{} over stations, {} over flows", jain(indices.jain_stations), jain(indices.jain_flows)),
    ));
    let (up, down) = (&report.directions.up, &report.directions.down);
    if up.flows > 0 && down.flows > 0 {
        let ratio = match (indices.up_down_ratio.mean, down.goodput_bps.mean) {
            (None, Some(_)) => "none, downloads get nothing".to_owned(),
            _ => Quantity::plain(indices.up_down_ratio).text(),
        };
        let rate = |estimate| Quantity::rate(estimate).text();
        let (up, down) = (rate(up.mean_flow_goodput_bps), rate(down.mean_flow_goodput_bps));
        lines.push(("up/down ratio", format!("{ratio}  (mean flow up {up}, down {down})")));
    }
    let packets = Quantity::scaled(report.totals.packets_per_second, 1.0, "packets/s on the air").text();
    lines.push(("total goodput", format!("{}, {packets}", Quantity::rate(report.totals.goodput_bps).text())));
    lines.extend(files(report).map(|line| ("file transfers", line)));
    lines.push(("AP queue", ap_queue(report)));
    if report.model.is_none() {
        lines.push(("MAC", mac(report)));
    }
    if let Some(section) = &report.testbed {
        lines.push(("hosts", testbed::hosts(section)));
        lines.push(("real time", testbed::real_time(section)));
        lines.extend(section.findings.iter().map(|finding| ("live box", finding.clone())));
    }
    lines
}

/// How long files took, the smallest and the largest.
fn files(report: &Report) -> Option<String> {
    let of = |size: &SizeTransfers| {
        let (time, count) = (Quantity::scaled(size.transfers.mean_s, 1.0, "s"), size.transfers.count.mean);
        format!("{} a file of {} ({:.0} a replica)", time.text(), Bytes(size.size_bytes), count.unwrap_or_default())
    };
    match report.transfers.as_slice() {
        [] => None,
        [one] => Some(of(one)),
        [smallest, .., largest] => Some(format!("{}, {}", of(smallest), of(largest))),
    }
}

/// Picks a class.
type Class = fn(&ByClass) -> Estimate;

fn ap_queue(report: &Report) -> String {
    let queue = &report.ap_queue;
    let dropped =
        |class: fn(&ByClass) -> Estimate| -> f64 { queue.drops.values().filter_map(|drops| class(drops).mean).sum() };
    let classes: [(&str, Class); 3] = [("DATA", |by| by.data), ("ACK", |by| by.ack), ("other", |by| by.other)];
    let mut parts = vec![Quantity::scaled(queue.mean_packets, 1.0, "packets waiting").text()];
    for (name, class) in classes {
        let arrived = class(&queue.arrivals).mean.unwrap_or_default();
        if arrived > 0.0 {
            let share = Quantity::percent(class(&queue.drop_probability)).text();
            let dropped = dropped(class);
            // The others waited as the measurement began, and are part of the share.
            let of = if dropped > arrived { "; arrived" } else { " of" };
            parts.push(format!("drops {share} of {name} ({dropped:.0}{of} {arrived:.0})"));
        }
    }
    parts.join(", ")
}

fn mac(report: &Report) -> String {
    let (ap, stations) = (&report.mac.ap, &report.mac.stations);
    let given_up = ap.discards.mean.unwrap_or_default() + stations.discards.mean.unwrap_or_default();
    let on_wires = match report.losses.get("wire-full").and_then(|lost| lost.mean) {
        Some(lost) if lost > 0.0 => format!("; {lost:.0} packets lost in full buffers of wires"),
        _ => String::new(),
    };
    format!(
        "collisions {} of the AP's attempts, {} of the stations'; {given_up:.0} frames given up{on_wires}",
        Quantity::percent(ap.collision_probability).text(),
        Quantity::percent(stations.collision_probability).text(),
    )
}

#[cfg(test)]
mod tests {
    use fairair_core::scenario::AccessPoint;

    use super::*;
    use crate::output::fixture;

    #[test]
    fn a_small_cell_as_committed() {
        let text = render(&fixture::report(), &fixture::scenario(), Style::Plain);
        fixture::golden("table.txt", &text);
        assert!(!text.contains('\x1b'));
        assert!(text.lines().all(|line| line.len() == line.trim_end().len()));
    }

    #[test]
    fn access_points_with_queues_of_their_own_are_named() {
        let mut scenario = fixture::scenario();
        let of = |name: &str, limit| AccessPoint {
            name: name.to_owned(),
            queue: QdiscSpec::Droptail { limit },
            uplink_queue: 100,
        };
        scenario.access_points = vec![of("hall", 75)];
        assert_eq!(queues(&scenario), "AP queue droptail limit 75");
        scenario.access_points.push(of("yard", 20));
        let each = "droptail limit 75 at ap, droptail limit 75 at hall, droptail limit 20 at yard";
        assert_eq!(queues(&scenario), format!("AP queues {each}"));
    }

    #[test]
    fn many_alike_are_folded() {
        let scenario = fixture::scenario_of(40);
        let text = render(&fixture::report_of(&scenario, 3), &scenario, Style::Plain);
        fixture::golden("table-folded.txt", &text);
    }

    #[test]
    fn no_replica_one_replica_and_an_interruption_are_said() {
        let scenario = fixture::scenario();
        let none = render(&fixture::report_of(&scenario, 0), &scenario, Style::Plain);
        assert!(none.contains("No replica was finished"), "{none}");
        let mut one = fixture::report_of(&scenario, 1);
        one.interrupted = true;
        one.replicas_planned = 10;
        let one = render(&one, &scenario, Style::Plain);
        assert!(one.contains("1 of 10 replicas") && !one.contains('±'), "{one}");
    }

    #[test]
    fn colours_are_for_terminals() {
        assert!(render(&fixture::report(), &fixture::scenario(), Style::Ansi).contains("\x1b[1m"));
    }
}
