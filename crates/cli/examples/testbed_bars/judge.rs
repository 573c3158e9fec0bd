//! The tables of docs/testbed.md with a verdict on each row.

use std::fmt::Write as _;

use fairair_core::metrics::Estimate;

use fairair_linux::emulate::TcpStack;

use crate::measure::{Answer, Figures};
use crate::points::{Cell, SIMULATED};

/// A cell with its answers: of the testbed, of the simulator with the same hosts and with the RFCs' TCP.
pub(crate) struct Row<'a> {
    pub cell: &'a Cell,
    pub testbed: &'a Answer,
    pub hosts: &'a Answer,
    pub rfc: &'a Answer,
}

/// What a point may be off: level and total, drop probabilities, queues, and how sure the level has to be on both sides.
const LEVEL: f64 = 0.15;
const TOTAL: f64 = 0.07;
const DROPS: f64 = 0.03;
const QUEUE: f64 = 0.20;
const SURE: f64 = 0.10;
/// A queue that holds less has no mean to speak of.
const LEAST_QUEUE: f64 = 1.0;

/// All tables, in Markdown.
pub(crate) fn tables(rows: &[Row], jobs: usize, seconds: u64) -> String {
    let all = rows.iter().flat_map(|row| row.testbed.replicas());
    let too_late = all.clone().filter(|replica| !replica.is_on_time()).count();
    let late = all.filter(|replica| replica.is_on_time()).filter_map(|replica| replica.late);
    let ms = |late: fairair_core::units::Duration| late.as_secs_f64() * 1e3;
    let p99 = late.clone().filter_map(|(p99, _)| p99).map(ms).fold(0.0, f64::max);
    let worst = late.clone().map(|(_, worst)| ms(worst)).fold(0.0, f64::max);
    let mut text = format!(
        "{}; {} replicas on the testbed, {jobs} side by side, {seconds} s in all, {too_late} more too late and left out; the \
         simulator's side has {} of {} s; hand-over p99 at most {p99:.2} ms, latest {worst:.1} ms\n\n",
        fairair_linux::kernel(),
        late.count(),
        SIMULATED.1,
        SIMULATED.0,
    );
    let (remedies, points): (Vec<&Row>, Vec<&Row>) = rows.iter().partition(|row| row.cell.table == "remedies");
    let (each, linux): (Vec<&Row>, Vec<&Row>) = points.iter().partition(|row| row.cell.stack == TcpStack::Scenario);
    text += &against_simulator(&linux);
    text += &against_paper(&points);
    if !each.is_empty() {
        text += "With `--stack scenario`, SACK and an ACK for each segment:\n\n";
        text += &against_simulator(&each);
    }
    text += &rate_independence(&points);
    text += &at_the_ap(&remedies);
    text
}

fn against_simulator(rows: &[&Row]) -> String {
    let mut text = "| Fig. | k or W | level | off | total, Mbit/s | DATA dropped | ACKs dropped | AP queue | station 1 queue | verdict |\n\
                    |---|---|---|---|---|---|---|---|---|---|\n"
        .to_owned();
    let (mut good, mut good_rfc) = (0, 0);
    for row in rows {
        let all = [row.testbed, row.hosts, row.rfc].map(Answer::figures);
        let [testbed, hosts, rfc] = &all;
        let three = |pick: fn(&Figures) -> Estimate, show: fn(Estimate) -> String| {
            [pick(testbed), pick(hosts), pick(rfc)].map(show).join(" / ")
        };
        let misses = misses(testbed, hosts);
        good += u32::from(misses.is_empty());
        good_rfc += u32::from(self::misses(testbed, rfc).is_empty());
        let verdict = if misses.is_empty() { "yes".to_owned() } else { misses.join(", ") };
        let _ = writeln!(
            text,
            "| {} | {} | {} | {} | {} | {} | {} | {} | {} | {verdict} |",
            number(row.cell.table),
            row.cell.x,
            three(|f| f.level, sure),
            off(testbed.level, hosts.level).map_or_else(|| "-".to_owned(), |off| format!("{:+.0} %", off * 100.0)),
            three(|f| f.total_mbps, |e| plain(e, 2)),
            three(|f| f.data_drops, percent),
            three(|f| f.ack_drops, percent),
            three(|f| f.ap_queue, |e| plain(e, 0)),
            three(|f| f.first_queue, |e| plain(e, 1)),
        );
    }
    if !rows.is_empty() {
        let _ = writeln!(
            text,
            "\nAll of it within the tolerances at {good} of {} points (against `profile = \"rfc\"`: {good_rfc}).\n",
            rows.len()
        );
    }
    text
}

/// What is out of tolerance.
fn misses(testbed: &Figures, simulator: &Figures) -> Vec<String> {
    let mut misses = Vec::new();
    let mut miss = |is: bool, what: &str| misses.extend(is.then(|| what.to_owned()));
    let beyond = |a: Estimate, b: Estimate, most: f64| off(a, b).is_some_and(|off| off.abs() > most);
    let unsure = |estimate: Estimate| estimate.relative_half_width().is_none_or(|width| width > SURE);
    let apart = |a: Estimate, b: Estimate| a.mean.zip(b.mean).is_some_and(|(a, b)| (a - b).abs() > DROPS);
    miss(off(testbed.level, simulator.level).is_none_or(|off| off.abs() > LEVEL), "level");
    miss(unsure(testbed.level), "level unsure");
    miss(unsure(simulator.level), "simulator's level unsure");
    miss(beyond(testbed.total_mbps, simulator.total_mbps, TOTAL), "total");
    miss(apart(testbed.data_drops, simulator.data_drops), "DATA drops");
    miss(apart(testbed.ack_drops, simulator.ack_drops), "ACK drops");
    miss(beyond(testbed.ap_queue, simulator.ap_queue, QUEUE), "AP queue");
    let holds = [testbed, simulator].iter().any(|f| f.first_queue.mean.is_some_and(|mean| mean >= LEAST_QUEUE));
    miss(holds && beyond(testbed.first_queue, simulator.first_queue, QUEUE), "station queue");
    misses
}

fn against_paper(rows: &[&Row]) -> String {
    let of = |table: &str| {
        let rows = rows.iter().filter(move |row| row.cell.table == table);
        rows.map(|row| (row.cell.x, row.testbed.figures())).collect::<Vec<_>>()
    };
    let level = |figures: &Figures| figures.level.mean.unwrap_or(f64::NAN);
    let mut text = "| claim of detti2011 | measured | off at most | within |\n|---|---|---|---|\n".to_owned();
    let before = text.len();
    let mut claim = |what: &str, values: &[(f64, f64)], most: f64| {
        if values.is_empty() {
            return;
        }
        let shown = values.iter().map(|(value, _)| format!("{value:.2}")).collect::<Vec<_>>().join(", ");
        let worst = values.iter().map(|(value, paper)| value / paper - 1.0);
        let worst = worst.max_by(|a, b| a.abs().total_cmp(&b.abs())).unwrap_or(f64::NAN);
        let yes = if worst.abs() <= most { "yes" } else { "no" };
        let _ = writeln!(text, "| {what} | {shown} | {:+.0} % | {:.0} %: {yes} |", worst * 100.0, most * 100.0);
    };
    let (fig6, fig6_each) = (of("fig06"), of("fig06-each"));
    let levels: Vec<_> = fig6.iter().map(|(k, f)| (level(f), f64::from(*k))).collect();
    claim("Fig. 6: level k, k = 1..6", &levels, 0.15);
    let fig9 = of("fig09");
    let flat: Vec<_> = fig9.iter().filter(|(k, _)| *k >= 3).map(|(_, f)| (level(f), 2.14)).collect();
    claim("Fig. 9: flat at 2.14 from k = 3 on", &flat, 0.25);
    for (name, of_fig, with) in [
        ("Fig. 7 as Fig. 6", of("fig07"), &fig6),
        ("the same, an ACK for each segment", of("fig07-each"), &fig6_each),
        ("Fig. 10 as Fig. 9", of("fig10"), &fig9),
    ] {
        let pair = |(k, f): &(u32, Figures)| {
            let (_, other) = with.iter().find(|(x, _)| x == k)?;
            Some((level(f), level(other)))
        };
        let pairs: Vec<_> = of_fig.iter().filter(|(k, _)| *k >= 2).filter_map(pair).collect();
        claim(&format!("{name}, k = 2, 3, .."), &pairs, 0.15);
    }
    if let Some((_, f)) = fig9.iter().find(|(k, _)| *k == 6) {
        let (queue, ap) = (f.first_queue.mean.unwrap_or(f64::NAN), f.ap_queue.mean.unwrap_or(f64::NAN));
        let yes = if (130.0..=200.0).contains(&queue) && ap >= 0.95 * 75.0 { "yes" } else { "no" };
        let _ = writeln!(
            text,
            "| uploads 6 to 1: station 1 queues about 170, AP queue 75 | {queue:.0} and {ap:.0} | - | 130 to 200 and full: {yes} |"
        );
    }
    if text.len() == before { String::new() } else { text + "\n" }
}

/// `6` of `fig06-each`.
fn number(table: &str) -> &str {
    table[3..].split('-').next().unwrap_or_default().trim_start_matches('0')
}

/// The level with station 1 at 2 Mbit/s against that at 11, by the testbed and by the simulator with the same hosts.
fn rate_independence(rows: &[&Row]) -> String {
    let mut text = "| | k | 11 Mbit/s | 2 Mbit/s | off | simulator |\n|---|---|---|---|---|---|\n".to_owned();
    let before = text.len();
    for (slow, fast) in [("fig07", "fig06"), ("fig07-each", "fig06-each"), ("fig10", "fig09")] {
        for row in rows.iter().filter(|row| row.cell.table == slow && row.cell.x >= 2) {
            let Some(other) = rows.iter().find(|other| other.cell.table == fast && other.cell.x == row.cell.x) else {
                continue;
            };
            let [a, b, c, d] =
                [row.testbed, other.testbed, row.hosts, other.hosts].map(|answer| answer.figures().level);
            let each = if slow.ends_with("-each") { ", each segment acknowledged" } else { "" };
            let what = format!("Fig. {} as {}{each}", number(slow), number(fast));
            let (testbed, simulator) = (ratio(a, b), ratio(c, d));
            let _ = writeln!(text, "| {what} | {} | {} | {} | {testbed} | {simulator} |", row.cell.x, sure(b), sure(a));
        }
    }
    if text.len() == before { String::new() } else { text + "\n" }
}

/// How far `a` is from `b`, with the half-width of the ratio of two independent means, by the first order of its error.
fn ratio(a: Estimate, b: Estimate) -> String {
    let Some(off) = off(a, b) else { return "-".to_owned() };
    let width = a.relative_half_width().zip(b.relative_half_width()).map(|(a, b)| a.hypot(b) * (1.0 + off));
    let width = width.map_or_else(String::new, |width| format!(" ± {:.0}", width * 100.0));
    format!("{:+.0}{width} %", off * 100.0)
}

fn at_the_ap(rows: &[&Row]) -> String {
    if rows.is_empty() {
        return String::new();
    }
    let mut text = "| at the AP | testbed | simulator, linux | simulator, rfc |\n|---|---|---|---|\n".to_owned();
    for row in rows {
        let cells = [row.testbed, row.hosts, row.rfc].map(|answer| {
            let f = answer.figures();
            format!("{}, {}, {}", plain(f.up_down, 2), plain(f.jain, 2), plain(f.total_mbps, 2))
        });
        let _ = writeln!(text, "| {} | {} |", row.cell.name, cells.join(" | "));
    }
    text
}

fn off(a: Estimate, b: Estimate) -> Option<f64> {
    a.mean.zip(b.mean).filter(|(_, b)| *b > 0.0).map(|(a, b)| a / b - 1.0)
}

fn plain(estimate: Estimate, digits: usize) -> String {
    estimate.mean.map_or_else(|| "-".to_owned(), |mean| format!("{mean:.digits$}"))
}

fn sure(estimate: Estimate) -> String {
    format!("{} ± {}", plain(estimate, 2), plain(Estimate { mean: estimate.ci95, ..estimate }, 2))
}

fn percent(estimate: Estimate) -> String {
    estimate.mean.map_or_else(|| "-".to_owned(), |mean| format!("{:.1} %", mean * 100.0))
}
