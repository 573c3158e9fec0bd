//! The results as CSV: each replica, and the curves that the gallery shows as recorded.

use std::fmt::Write as _;
use std::io;
use std::path::Path;

use fairair_core::metrics::Estimate;
use fairair_linux::emulate::TcpStack;

use crate::judge::Row;
use crate::measure::Answer;

/// The series of gallery/detti2011 that the points belong to: level and total goodput without a box.
const CURVES: [&str; 2] = ["none", "none_mbps"];

/// One line a replica and engine.
pub(crate) fn replicas(path: &Path, rows: &[Row]) -> io::Result<()> {
    let mut table = csv::Writer::from_path(path)?;
    table.write_record([
        "table",
        "x",
        "name",
        "engine",
        "replica",
        "level",
        "total_mbps",
        "data_drop_probability",
        "ack_drop_probability",
        "ap_queue_packets",
        "first_station_queue_packets",
        "up_down_ratio",
        "jain_flows",
        "lateness_p99_ms",
        "lateness_max_ms",
    ])?;
    for row in rows {
        let hosts = match row.cell.stack {
            TcpStack::Linux => "simulator-linux",
            TcpStack::Scenario => "simulator-scenario",
        };
        for (engine, answer) in [("testbed", row.testbed), (hosts, row.hosts), ("simulator-rfc", row.rfc)] {
            for (number, replica) in answer.replicas().iter().enumerate() {
                let f = answer.figures_of(number);
                let mean = |estimate: Estimate| estimate.mean.map_or_else(String::new, |mean| format!("{mean:.6}"));
                let ms = |late: fairair_core::units::Duration| format!("{:.3}", late.as_secs_f64() * 1e3);
                let (p99, worst) = replica.late.map_or((None, None), |(p99, worst)| (p99, Some(worst)));
                let measured =
                    [f.level, f.total_mbps, f.data_drops, f.ack_drops, f.ap_queue, f.first_queue, f.up_down, f.jain];
                let who = [row.cell.table, &row.cell.x.to_string(), row.cell.name, engine, &number.to_string()];
                let who = who.map(str::to_owned).into_iter();
                let late = [p99, worst].into_iter().map(|late| late.map_or_else(String::new, ms));
                table.write_record(who.chain(measured.map(mean)).chain(late))?;
            }
        }
    }
    table.flush()
}

/// `figNN.recorded.csv` for each figure: level and total goodput without a remedy, as docs/gallery.md has it.
pub(crate) fn recorded(directory: &Path, rows: &[Row]) -> io::Result<()> {
    let is_curve = |rows: &&[Row]| rows[0].cell.name.is_empty() && rows[0].cell.stack == TcpStack::Linux;
    for figures in rows.chunk_by(|a, b| a.cell.table == b.cell.table).filter(is_curve) {
        let table = figures[0].cell.table;
        let mut text = format!(
            "# command: make testbed-bars\n# kernel: Linux {}, TCP of `linux`, uplink `deep`\nseries,x,mean,ci95,n\n",
            fairair_linux::kernel().trim_start_matches("Linux ")
        );
        for series in CURVES {
            for row in figures {
                let estimate = curve(series, row.testbed);
                if let Some(mean) = estimate.mean {
                    let ci = estimate.ci95.map_or_else(String::new, |ci| format!("{ci:.6}"));
                    let _ = writeln!(text, "{series},{},{mean:.6},{ci},{}", row.cell.x, estimate.n);
                }
            }
        }
        std::fs::write(directory.join(format!("{table}.recorded.csv")), text)?;
    }
    Ok(())
}

fn curve(series: &str, answer: &Answer) -> Estimate {
    let figures = answer.figures();
    if series == "none" { figures.level } else { figures.total_mbps }
}
