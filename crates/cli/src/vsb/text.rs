//! What the daemon answers, for people.

use std::fmt::Write as _;

use fairair_core::units::word;
use fairair_linux::enforce::protocol::{Answer, Explanation, StationReport, Status, WanReport};
use fairair_linux::enforce::settings::Setting;
use unicode_width::UnicodeWidthStr as _;

/// Digits of a rate that was measured; C has one more.
const MEASURED: u32 = 3;

/// As a table or as sentences.
pub(super) fn of(answer: &Answer) -> String {
    match answer {
        Answer::Status(status) => self::status(status),
        Answer::Stations(stations) => self::stations(stations),
        Answer::Explain(explanation) => explain(explanation),
        Answer::StationList(list) => self::stations(&list.stations) + &absent(&list.absent),
        Answer::Setting { setting, is_there } => {
            let absent = if *is_there { "" } else { "; it is not there: kept until it appears" };
            format!("{}{absent}\n", set(setting))
        }
        Answer::Preview(preview) => preview.commands.clone(),
        Answer::Done(told) => format!("{told}\n"),
        Answer::Stopped(restored) if restored.differences.is_empty() => "everything is as before\n".to_owned(),
        Answer::Stopped(restored) => {
            let lines =
                restored.differences.iter().map(|difference| format!("\nnot as before: {}", printable(difference)));
            format!("what the box had added is gone{}\n", lines.collect::<String>())
        }
    }
}

fn status(status: &Status) -> String {
    let mut text = format!(
        "{}: {}, process {}, up {:.0} s\n",
        printable(&status.name),
        status.policy,
        status.pid,
        status.uptime_s
    );
    if let Some(left) = status.confirm_within_s {
        let _ = writeln!(text, "NOT CONFIRMED: taken back in {left:.0} s unless `fairair vsb confirm` is run");
    }
    for trouble in &status.troubles {
        let _ = writeln!(text, "TROUBLE: {}", printable(trouble));
    }
    for note in &status.notes {
        let _ = writeln!(text, "NOTE: {}", printable(note));
    }
    let mut rows = vec![
        ["AP", "interface", "C", "by", "state", "reason", "in use", "stations", "waiting", "dropped", "RTT"]
            .map(str::to_owned),
    ];
    rows.extend(status.pools.iter().map(|pool| {
        [
            printable(&pool.ap),
            pool.interface.clone(),
            pool.capacity.rounded(MEASURED + 1).to_string(),
            pool.control.clone(),
            word(&pool.state),
            word(&pool.reason),
            pool.rate.rounded(MEASURED).to_string(),
            pool.stations.to_string(),
            pool.backlog.to_string(),
            pool.drops.to_string(),
            pool.rtt_s.map_or_else(|| "-".to_owned(), |rtt| format!("{:.1} ms", rtt * 1e3)),
        ]
    }));
    text + "\n" + &table(&rows) + &wan(&status.wan)
}

/// The Internet link; nothing without `[wan]`.
fn wan(links: &[WanReport]) -> String {
    if links.is_empty() {
        return String::new();
    }
    let mut rows =
        vec![["link", "carries", "in use", "bottleneck", "stations waiting", "waiting", "dropped"].map(str::to_owned)];
    rows.extend(links.iter().map(|link| {
        [
            word(&link.direction),
            link.capacity.to_string(),
            link.rate.rounded(MEASURED).to_string(),
            if link.binds { "yes" } else { "no" }.to_owned(),
            link.waiting.to_string(),
            link.backlog.to_string(),
            link.drops.to_string(),
        ]
    }));
    format!("\n{}", table(&rows))
}

fn stations(stations: &[StationReport]) -> String {
    if stations.is_empty() {
        return "no station has been seen yet\n".to_owned();
    }
    let mut rows = vec![
        ["station", "AP", "addresses", "weight", "cap", "rate", "waiting", "dropped", "found by", "set until"]
            .map(str::to_owned),
    ];
    let mut stations: Vec<&StationReport> = stations.iter().collect();
    // Who is busy comes first: there may be a thousand that are not.
    stations.sort_by_key(|station| std::cmp::Reverse(station.load()));
    rows.extend(stations.into_iter().map(|station| {
        let mut addresses = station.addresses.iter().take(2).cloned().collect::<Vec<_>>().join(" ");
        if station.addresses.len() > 2 {
            let _ = write!(addresses, " +{}", station.addresses.len() - 2);
        }
        [
            printable(&station.name),
            printable(&station.ap),
            addresses,
            station.weight.to_string(),
            station.cap.map_or_else(|| "-".to_owned(), |cap| cap.to_string()),
            rate(station),
            (station.backlog + station.wan_backlog).to_string(),
            (station.drops + station.wan_drops).to_string(),
            word(&station.source),
            station.setting.as_ref().map_or_else(|| "-".to_owned(), Setting::end),
        ]
    }));
    table(&rows)
}

/// What passed of it through the box, and past it.
fn rate(station: &StationReport) -> String {
    let rate = station.rate.rounded(MEASURED);
    let past = station.bypassing.rounded(MEASURED);
    if past.as_bps() == 0 { rate.to_string() } else { format!("{rate} + {past} past the box") }
}

/// What is set for one station.
fn set(setting: &Setting) -> String {
    format!("{}: {}", printable(&setting.station), printable(&setting.words()))
}

/// What is set and not in force.
fn absent(settings: &[Setting]) -> String {
    let lines = settings.iter().map(|setting| set(setting) + "\n").collect::<Vec<_>>().concat();
    if lines.is_empty() {
        lines
    } else {
        format!("\nset, and not in force (not there, or the policy has no classes of stations):\n{lines}")
    }
}

fn explain(explanation: &Explanation) -> String {
    let mut text = match &explanation.station {
        Some(station) if station.class.is_empty() => {
            format!("{} at {}: {}\n", printable(&station.name), printable(&station.ap), station.rate.rounded(MEASURED))
        }
        Some(station) => format!(
            "{} at {}: {}, class {}, {} B a round\n",
            printable(&station.name),
            printable(&station.ap),
            station.rate.rounded(MEASURED),
            station.class,
            station.quantum
        ),
        None => format!("{}: no class of its own\n", printable(&explanation.what)),
    };
    for reason in &explanation.because {
        let _ = writeln!(text, "- {}", printable(reason));
    }
    text
}

/// Text from outside without control characters and without marks that change the direction of writing.
fn printable(text: &str) -> String {
    let is_turn = |c| matches!(c, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    text.chars().map(|c| if c.is_control() || is_turn(c) { char::REPLACEMENT_CHARACTER } else { c }).collect()
}

/// Columns as wide as their widest cell.
fn table<const N: usize>(rows: &[[String; N]]) -> String {
    let mut text = String::new();
    for row in rows {
        let mut line = String::new();
        for (column, cell) in row.iter().enumerate() {
            let width = rows.iter().map(|row| row[column].width()).max().unwrap_or(0);
            let _ = write!(line, "{cell}{}", " ".repeat(width - cell.width() + 2));
        }
        text.push_str(line.trim_end());
        text.push('\n');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hostile_name_moves_no_cursor() {
        assert_eq!(printable("\u{1b}[2Jdesk\n\u{9b}x\u{202e}"), "\u{fffd}[2Jdesk\u{fffd}\u{fffd}x\u{fffd}");
    }

    #[test]
    fn columns_line_up() {
        let rows = [["a".to_owned(), "b".to_owned()], ["long".to_owned(), "c".to_owned()]];
        assert_eq!(table(&rows), "a     b\nlong  c\n");
    }
}
