//! The rows as CSV and Markdown.

use std::fmt::Write as _;
use std::path::Path;

use crate::Row;
use crate::cases::{Look, TheBox};
use crate::measure::Seen;

const HEADER: [&str; 23] = [
    "group",
    "point",
    "box",
    "seed",
    "level",
    "jain_tcp_stations",
    "least_over_most_tcp_station",
    "tcp_goodput_mbps",
    "goodput_over_without",
    "true_c_mbps",
    "c_mbps",
    "probe_p95_ms",
    "follow_s",
    "fall_percent",
    "lateness_p99_ms",
    "on_time",
    "load",
    "sim_level",
    "sim_least_over_most",
    "sim_tcp_goodput_mbps",
    "sim_c_mbps",
    "sim_follow_s",
    "sim_fall_percent",
];

/// Writes a row a run.
///
/// # Errors
/// The disk's.
pub(crate) fn csv(path: &Path, rows: &[Row]) -> Result<(), csv::Error> {
    let mut file = csv::Writer::from_path(path)?;
    file.write_record(HEADER)?;
    let number =
        |value: Option<f64>, scale: f64| value.map_or_else(String::new, |value| format!("{:.4}", value * scale));
    let c = |seen: &Seen| seen.capacity.iter().map(|c| format!("{:.3}", c / 1e6)).collect::<Vec<_>>().join(" ");
    for row in rows {
        let (testbed, sim) = (&row.testbed, &row.simulator);
        let of = |look: Look, seen: &Seen| seen.figure.filter(|_| row.case.look == look);
        file.write_record([
            row.case.group.clone(),
            row.case.point.clone(),
            row.case.the_box.name().to_owned(),
            row.case.seed.to_string(),
            number(testbed.level, 1.0),
            number(testbed.jain, 1.0),
            number(testbed.least_over_most, 1.0),
            number(Some(testbed.goodput), 1e-6),
            number(without(rows, row).map(|other| testbed.goodput / other.goodput), 1.0),
            number(Some(row.carried), 1e-6),
            c(testbed),
            number(testbed.probe_p95, 1e3),
            number(of(Look::Follow, testbed), 1.0),
            number(of(Look::Fall, testbed), 1.0),
            number(testbed.lateness_p99, 1e3),
            testbed.on_time.to_string(),
            row.load.clone(),
            number(sim.level, 1.0),
            number(sim.least_over_most, 1.0),
            number(Some(sim.goodput), 1e-6),
            c(sim),
            number(of(Look::Follow, sim), 1.0),
            number(of(Look::Fall, sim), 1.0),
        ])?;
    }
    file.flush()?;
    Ok(())
}

/// The same point without the box.
fn without<'a>(rows: &'a [Row], row: &Row) -> Option<&'a Seen> {
    let same = |other: &&Row| {
        other.case.the_box == TheBox::Without
            && other.case.group == row.case.group
            && other.case.point == row.case.point
    };
    rows.iter().find(same).map(|other| &other.testbed)
}

/// Tables of figures, and of the estimator.
pub(crate) fn markdown(rows: &[Row]) -> String {
    let mut text = String::new();
    shares(&mut text, rows);
    figures(&mut text, rows);
    estimator(&mut text, rows);
    text
}

/// A line a point: without, with a fixed C, adaptive.
fn shares(text: &mut String, rows: &[Row]) {
    let _ = writeln!(
        text,
        "| | | level: without, fixed, adaptive (simulator's) | TCP goodput, Mbit/s: without, fixed, adaptive | true C | C \
         adaptive | probes p95, ms |\n|---|---|---|---|---|---|---|"
    );
    let mut points: Vec<(&str, &str)> = Vec::new();
    for row in rows.iter().filter(|row| row.case.look == Look::Shares) {
        let point = (row.case.group.as_str(), row.case.point.as_str());
        if !points.contains(&point) {
            points.push(point);
        }
    }
    for (group, point) in points {
        let of = |the_box| {
            rows.iter().find(|row| row.case.group == group && row.case.point == point && row.case.the_box == the_box)
        };
        let all = [TheBox::Without, TheBox::Fixed, TheBox::Adaptive].map(of);
        // Twenty stations are equal or not: the least over the most says it, and Jain's index.
        let level = |seen: &Seen| {
            if group.starts_with("Fig.") {
                shown(seen.level, 2)
            } else {
                format!("{} (Jain {})", shown(seen.least_over_most, 2), shown(seen.jain, 3))
            }
        };
        let list = |of: &dyn Fn(&Row) -> String| all.map(|row| row.map_or("-".to_owned(), of)).join(", ");
        let adaptive = all[2];
        let c = adaptive.and_then(|row| row.testbed.capacity.first()).copied();
        let _ = writeln!(
            text,
            "| {group} | {point} | {} ({}) | {} | {} | {} | {} |",
            list(&|row| level(&row.testbed)),
            list(&|row| level(&row.simulator)),
            list(&|row| shown(Some(row.testbed.goodput / 1e6), 2)),
            shown(all.into_iter().flatten().next().map(|row| row.carried / 1e6), 2),
            shown(c.map(|c| c / 1e6), 2),
            shown(adaptive.and_then(|row| row.testbed.probe_p95).map(|p95| p95 * 1e3), 0),
        );
    }
}

/// One of the two engines' sides of a row.
type Of = fn(&Row) -> &Seen;

/// A line a figure: what the bars ask for.
fn figures(text: &mut String, rows: &[Row]) {
    let _ = writeln!(
        text,
        "\n| | level off by at most: fixed, adaptive (simulator's) | goodput over without, mean of the points: fixed, adaptive \
         (simulator's) |\n|---|---|---|"
    );
    for figure in 5..=11 {
        let group = format!("Fig. {figure}");
        let of = |the_box: TheBox| -> Vec<&Row> {
            rows.iter().filter(|row| row.case.group == group && row.case.the_box == the_box).collect()
        };
        let worst = |the_box, seen: Of| {
            let off = of(the_box).into_iter().filter_map(|row| seen(row).level).map(|level| (level - 1.0).abs());
            shown(off.reduce(f64::max), 3)
        };
        let ratio = |the_box, seen: Of| {
            let pairs = of(the_box).into_iter().filter_map(|row| {
                let plain = of(TheBox::Without).into_iter().find(|other| other.case.point == row.case.point)?;
                Some((seen(row).goodput, seen(plain).goodput))
            });
            let pairs: Vec<_> = pairs.collect();
            let (with, plain) = pairs.iter().fold((0.0, 0.0), |(a, b), (c, d)| (a + c, b + d));
            let mean = pairs.iter().map(|(with, plain)| with / plain).sum::<f64>() / pairs.len() as f64;
            format!("{} (sums {})", shown(Some(mean), 3), shown(Some(with / plain), 3))
        };
        if of(TheBox::Without).is_empty() {
            continue;
        }
        let (testbed, simulator): (Of, Of) = (|row| &row.testbed, |row| &row.simulator);
        let both = |of: &dyn Fn(TheBox, Of) -> String| {
            let [a, b, c, d] = [
                (TheBox::Fixed, testbed),
                (TheBox::Adaptive, testbed),
                (TheBox::Fixed, simulator),
                (TheBox::Adaptive, simulator),
            ]
            .map(|(the_box, seen)| of(the_box, seen));
            format!("{a}, {b} (simulator {c}, {d})")
        };
        let _ = writeln!(text, "| {group} | {} | {} |", both(&worst), both(&ratio));
    }
}

/// A line a trace: all runs of it.
fn estimator(text: &mut String, rows: &[Row]) {
    let _ = writeln!(text, "\n| trace | runs | testbed | simulator |\n|---|---|---|---|");
    let traces: Vec<&Row> = rows.iter().filter(|row| row.case.look != Look::Shares).collect();
    for first in traces.iter().filter(|row| row.case.seed == 1) {
        let case = &first.case;
        let same = |row: &&&Row| {
            (&row.case.group, &row.case.point, row.case.the_box) == (&case.group, &case.point, case.the_box)
        };
        let all: Vec<&&Row> = traces.iter().filter(same).collect();
        let told = |seen: Of| {
            let each = all.iter().map(|row| {
                let seen = seen(row);
                match case.look {
                    Look::Follow => format!("{} s", shown(seen.figure, 2)),
                    Look::Fall => format!("{} %", shown(seen.figure, 1)),
                    Look::Steady => {
                        let share = seen.share;
                        let p95 = shown(seen.probe_p95.map(|p95| p95 * 1e3), 0);
                        format!("C {} of the true one, probes p95 {p95} ms", shown(share, 3))
                    }
                    Look::Spans(_) | Look::Shares => {
                        seen.capacity.iter().map(|c| shown(Some(c / 1e6), 2)).collect::<Vec<_>>().join(", ") + " Mbit/s"
                    }
                }
            });
            each.collect::<Vec<_>>().join("; ")
        };
        let _ = writeln!(
            text,
            "| {} {}, {} | {} | {} | {} |",
            case.group,
            case.point,
            case.the_box.name(),
            all.len(),
            told(|row| &row.testbed),
            told(|row| &row.simulator),
        );
    }
}

fn shown(value: Option<f64>, digits: usize) -> String {
    value.map_or_else(|| "-".to_owned(), |value| format!("{value:.digits$}"))
}
