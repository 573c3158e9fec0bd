//! A comparison for people and for spreadsheets: a row a remedy.

use fairair_core::metrics::quantity::CELL;
use fairair_core::metrics::{CellQuantity, Estimate};
use fairair_core::remedy::Paste;
use fairair_sim::{Comparison, Row};

use super::csv;
use super::grid::{Align, Keep, Table, quantities, titled};
use super::quantity::{NONE, Quantity};
use super::{Page, Style};

/// The value of the quantity called `name` in a row.
fn value(row: &Row, name: &str) -> Estimate {
    CellQuantity::named(name).map(|cell| cell.of(&row.report)).expect("a name of the catalogue")
}

/// The comparison as text, ending with a line break.
pub(crate) fn table(comparison: &Comparison, page: Page) -> String {
    let style = page.style;
    let rows = &comparison.rows;
    let mut lines = vec![header(comparison, style)];
    if comparison.interrupted {
        lines.push(style.bold("INTERRUPTED: not all replicas are done"));
    }
    lines.push(String::new());
    let mut table = Table::default();
    table.add(Keep::Always, titled("remedy", rows.iter().map(|row| row.remedy.to_owned()).collect(), Align::Left));
    table.add(Keep::Useful, titled("change", rows.iter().map(|row| row.deploy.to_owned()).collect(), Align::Left));
    // A remedy that never ran starves nobody that is known.
    let count = |row: &Row| if row.report.replicas > 0 { row.starved.len().to_string() } else { NONE.to_owned() };
    table.add(Keep::Always, titled("starved", rows.iter().map(count).collect(), Align::Right));
    let mut add = |keep: Keep, title: &str, name: &str, show: &dyn Fn(Estimate) -> Quantity| {
        let cells: Vec<Quantity> = rows.iter().map(|row| show(value(row, name))).collect();
        // A column that no remedy has (no uploads, no files) says nothing.
        if cells.iter().any(|cell| *cell != Quantity::none()) {
            table.add(keep, quantities(title, &cells));
        }
    };
    let ms = |estimate| bare(estimate, 1e3);
    let number = |estimate| bare(estimate, 1.0);
    add(Keep::Always, "total", "goodput_bps", &Quantity::rate);
    add(Keep::Useful, "up, a flow", "flow_goodput_up_bps", &flow_rate);
    add(Keep::Useful, "down, a flow", "flow_goodput_down_bps", &flow_rate);
    add(Keep::Always, "up/down", "up_down_ratio", &Quantity::plain);
    add(Keep::Mostly, "level", "fairness_level", &Quantity::plain);
    add(Keep::Useful, "Jain, stations", "jain_stations", &number);
    add(Keep::Extra, "Jain, flows", "jain_flows", &number);
    add(Keep::Extra, "delay, mean ms", "ap_delay_s", &ms);
    add(Keep::Always, "delay, p95 ms", "ap_delay_p95_s", &ms);
    add(Keep::Extra, "p99 ms", "ap_delay_p99_s", &ms);
    add(Keep::Useful, "box ms", "box_sojourn_s", &ms);
    add(Keep::Useful, "short file s", "small_transfer_s", &number);
    add(Keep::Extra, "CoV", "small_transfer_cov", &number);
    lines.extend(table.lines(page));
    lines.push(String::new());
    let note = "level: first station over the mean of the others; delay: in the AP, its MAC included with 802.11n, ac and ax; box: mean delay in the box, \
                at the station where it is longest; starved: stations below 5 % of their max-min share in any replica, and \
                flows of other stations";
    lines.extend(page.wrapped(note).iter().map(|line| style.dim(line)));
    lines.extend(page.wrapped(&last_line(rows)).iter().map(|line| style.bold(line)));
    for caution in cautions(rows) {
        lines.extend(page.wrapped(&caution));
    }
    lines.extend(rows.iter().flat_map(of_row));
    lines.join("\n") + "\n"
}

/// What to write into the AP's files, for rows that have it.
fn of_row(row: &Row) -> Vec<String> {
    let Some(paste) = row.paste.as_ref().filter(|paste| !paste.hostapd.is_empty()) else { return Vec::new() };
    let mut lines = pasted(paste);
    lines[1] = format!("{}: in hostapd.conf", row.remedy);
    lines
}

/// Lines of hostapd.conf, and the same for OpenWrt; lines of vsb.toml.
pub(super) fn pasted(paste: &Paste) -> Vec<String> {
    let indented = |lines: &[String]| lines.iter().map(|line| format!("    {line}")).collect::<Vec<_>>();
    let mut lines = Vec::new();
    if !paste.hostapd.is_empty() {
        lines.extend([String::new(), "In hostapd.conf write:".to_owned()]);
        lines.extend(indented(&paste.hostapd));
        lines.push("or with OpenWrt, for each radio".to_owned());
        lines.extend(indented(&paste.uci));
    }
    if !paste.linux.is_empty() {
        lines.extend([String::new(), "On an access point with Linux run:".to_owned()]);
        lines.extend(indented(&paste.linux));
    }
    if !paste.vsb.is_empty() {
        lines.extend([String::new(), "For the live box, in the vsb.toml that `fairair vsb init` wrote:".to_owned()]);
        lines.extend(indented(&paste.vsb));
    }
    lines
}

/// What does not fit the cell, each with the remedies that have it.
fn cautions(rows: &[Row]) -> Vec<String> {
    let mut all: Vec<(&str, Vec<&str>)> = Vec::new();
    for row in rows {
        for caution in &row.cautions {
            match all.iter_mut().find(|(known, _)| known == caution) {
                Some((_, remedies)) => remedies.push(row.remedy),
                None => all.push((caution, vec![row.remedy])),
            }
        }
    }
    all.into_iter().map(|(caution, remedies)| format!("Beware of {}: {caution}.", remedies.join(", "))).collect()
}

/// With which remedies nothing arrives, and which leave flows or stations with next to nothing. Of one that was not simulated nothing is said.
fn last_line(rows: &[Row]) -> String {
    let (ran, left): (Vec<&Row>, Vec<&Row>) = rows.iter().partition(|row| row.report.replicas > 0);
    let names = |rows: &[&Row]| rows.iter().map(|row| format!("`{}`", row.remedy)).collect::<Vec<_>>().join(", ");
    let unknown = if left.is_empty() { String::new() } else { format!("Not simulated: {}.", names(&left)) };
    // Where nobody gets anything, nobody starves: all have their share of it.
    let (alive, dead): (Vec<&Row>, Vec<&Row>) =
        ran.into_iter().partition(|row| row.report.totals.goodput_bps.mean.is_none_or(|total| total > 0.0));
    let empty = if dead.is_empty() {
        String::new()
    } else if dead.len() == rows.len() {
        "Nothing is delivered with any remedy here.".to_owned()
    } else {
        format!("Nothing is delivered with {}.", names(&dead))
    };
    let starving: Vec<&Row> = alive.iter().copied().filter(|row| !row.starved.is_empty()).collect();
    let known = match starving.len() {
        _ if alive.is_empty() => "",
        0 if alive.len() == rows.len() => "No remedy here starves a flow or a station.",
        0 => "No other remedy here starves a flow or a station.",
        n if n == rows.len() => "Each of these starves a flow or a station.",
        _ => &format!("These starve a flow or a station: {}.", names(&starving)),
    };
    let said = [unknown.as_str(), empty.as_str(), known];
    said.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(" ")
}

fn header(comparison: &Comparison, style: Style) -> String {
    let replicas = comparison.rows.iter().map(|row| row.report.replicas);
    let (least, most) = (replicas.clone().min().unwrap_or_default(), replicas.max().unwrap_or_default());
    let replicas = if least == most { most.to_string() } else { format!("{least} to {most}") };
    let measured = comparison.rows.first().map_or(0.0, |row| row.report.measured_s);
    format!(
        "{}: {} {}, {replicas} replicas x {measured} s each; ± is the 95 % confidence half-width",
        style.bold(&comparison.name),
        comparison.rows.len(),
        if comparison.rows.len() == 1 { "remedy" } else { "remedies" }
    )
}

/// A rate without its spread, which the total's stands for.
fn flow_rate(estimate: Estimate) -> Quantity {
    Quantity { spread: String::new(), ..Quantity::rate(estimate) }
}

/// A mean alone.
fn bare(estimate: Estimate, scale: f64) -> Quantity {
    Quantity { spread: String::new(), ..Quantity::scaled(estimate, scale, "") }
}

/// One row a remedy; an estimate becomes two columns.
pub(crate) fn csv(comparison: &Comparison) -> String {
    let column = |cell: &'static CellQuantity| -> Option<csv::Column<Row>> {
        Some((cell.compared_as?, Box::new(|row: &Row| cell.of(&row.report))))
    };
    let columns: Vec<_> = CELL.iter().filter_map(column).collect();
    let labels = |(_, row): (usize, &Row)| vec![row.remedy.to_owned(), row.deploy.to_owned(), row.needs.to_owned()];
    csv::table(&["remedy", "change", "needs"], &columns, &comparison.rows, labels, |row| row.report.replicas)
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, Ordering};

    use fairair_core::remedy::{REMEDIES, Remedy};
    use fairair_core::scenario::Scenario;
    use fairair_sim::replicas::Pool;
    use fairair_sim::{Progress, Watch, compare};

    use super::*;

    /// Nobody has less than the others where nobody has anything: that is no clean bill.
    #[test]
    fn remedies_with_which_nothing_arrives_are_named() {
        let text = "name = \"dead\"\n[run]\nduration = \"1 s\"\nreplicas = 2\n[radio]\nframe_error = 1.0\n\
                    [[station]]\nname = \"a\"\nflows = [{ direction = \"down\" }]\n";
        let remedies: Vec<&Remedy> = REMEDIES.iter().take(2).collect();
        let (cancel, progress) = (AtomicBool::new(false), |_: Progress| ());
        let rows = |text: &str| {
            let watch = Watch { cancel: &cancel, progress: &progress };
            compare(&Scenario::from_toml(text, "dead.toml").unwrap(), &remedies, &Pool::new(1).unwrap(), watch).rows
        };
        let mut dead = rows(text);
        assert_eq!(last_line(&dead), "Nothing is delivered with any remedy here.");
        let name = dead[0].remedy;
        dead[1] = rows(&text.replace("1.0", "0.0")).remove(1);
        let said = format!("Nothing is delivered with `{name}`. No other remedy here starves a flow or a station.");
        assert_eq!(last_line(&dead), said);
    }

    /// What never ran is not called harmless.
    #[test]
    fn nothing_is_said_of_remedies_that_were_not_simulated() {
        let text = "name = \"small\"\n[run]\nduration = \"1 s\"\nwarmup = \"0 s\"\nreplicas = 2\n\
                    [[station]]\nname = \"a\"\nflows = [{ direction = \"down\" }]\n";
        let scenario = Scenario::from_toml(text, "small.toml").unwrap();
        let remedies: Vec<&Remedy> = REMEDIES.iter().take(3).collect();
        let said = |most: u32| {
            let cancel = AtomicBool::new(most == 0);
            let progress = |progress: Progress| cancel.store(progress.done >= most, Ordering::SeqCst);
            let watch = Watch { cancel: &cancel, progress: &progress };
            let comparison = compare(&scenario, &remedies, &Pool::new(1).unwrap(), watch);
            (last_line(&comparison.rows), header(&comparison, Style::Plain))
        };
        let names: Vec<String> = remedies.iter().map(|remedy| format!("`{}`", remedy.name)).collect();
        assert_eq!(said(0).0, format!("Not simulated: {}.", names.join(", ")));
        let (line, head) = said(1);
        assert_eq!(
            line,
            format!("Not simulated: {}, {}. No other remedy here starves a flow or a station.", names[1], names[2])
        );
        assert!(head.contains("0 to 1 replicas"), "{head}");
        assert_eq!(said(6).0, "No remedy here starves a flow or a station.");
    }
}
