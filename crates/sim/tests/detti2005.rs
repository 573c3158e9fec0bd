//! Validation of detti2005's two remedies: its Table 1 and Fig. 7, and window caps by flow count.
//!
//! `cargo test --release -p fairair-sim --test detti2005 -- --nocapture` prints the tables.

mod common;

use common::{changed, direction_kbps, mean, parse, runs, tcp_capacity, text, within};
use fairair_core::metrics::jain_index;
use fairair_core::packet::Direction;
use fairair_core::record::Record;
use fairair_core::scenario::Scenario;
use fairair_core::units::Bitrate;

const REPLICAS: u32 = 2;

/// The paper's cell with buffers of `buffer` packets and another line in `[ap]`.
fn scenario(buffer: usize, ap: &str) -> Scenario {
    let limit = format!("limit = {buffer} }}\n{ap}");
    let uplink = format!("uplink_queue = {buffer}");
    let changes = [("limit = 100 }", limit.as_str()), ("uplink_queue = 100", uplink.as_str())];
    parse(&changed(&text("detti2005-thirty-stations.toml"), &changes))
}

/// R, measured in the same cell with a buffer in which nothing is lost.
fn lossless_capacity() -> Bitrate {
    tcp_capacity(&runs(&scenario(100_000, ""), 1), 1460)
}

fn limiter(capacity: Bitrate) -> String {
    format!("uplink_limiter = {{ capacity = \"{} bit/s\" }}", capacity.as_bps())
}

struct Row {
    /// kbit/s of an upload and of a download on average.
    up: f64,
    down: f64,
    ap_drops: f64,
    jain: f64,
}

fn row(name: &str, scenario: &Scenario) -> Row {
    let records = runs(scenario, REPLICAS);
    let of = |direction| mean(&records, |record| direction_kbps(record, direction) / 15.0);
    let bytes = |record: &Record| record.flows.iter().map(|flow| flow.delivered_bytes as f64).collect::<Vec<_>>();
    let row = Row {
        up: of(Direction::Up),
        down: of(Direction::Down),
        ap_drops: mean(&records, |record| record.ap_queue.drops.iter().flatten().sum::<u64>() as f64),
        jain: mean(&records, |record| jain_index(&bytes(record)).expect("flows")),
    };
    let (up, down, drops) = (row.up, row.down, row.ap_drops);
    println!(
        "{name:<24} R_u {up:>6.1}  R_d {down:>6.1}  ratio {:>8.3}  Jain {:.3}  AP drops {drops}",
        up / down,
        row.jain
    );
    row
}

/// Bar 1: lossless within 3 % of 146.6, ratio 1.00 +- 0.02, no AP drop. Bar 6: `b-over-n` Jain at least 0.98.
#[test]
fn window_caps() {
    for rule in ["lossless", "b-over-n"] {
        let row = row(rule, &scenario(100, &format!("window_cap = \"{rule}\"")));
        within("R_u over 146.6", row.up / 146.6, 0.97, 1.03);
        within("R_d over 146.6", row.down / 146.6, 0.97, 1.03);
        within("R_u / R_d", row.up / row.down, 0.98, 1.02);
        within("drops at the AP", row.ap_drops, 0.0, 0.0);
        within("Jain's index", row.jain, 0.98, 1.0);
    }
}

/// Bar 1: lossy with R measured in the same cell: ratio 0.9-1.12, `R_u` within 7 % of 136.
#[test]
fn uplink_limiter() {
    let r = lossless_capacity();
    println!("R = {r}");
    within("R in Mbit/s (the paper: 4.6 to 4.7)", r.as_bps() as f64 / 1e6, 4.6, 4.75);
    let given = row("R / 2", &scenario(100, &limiter(r)));
    within("R_u / R_d", given.up / given.down, 0.9, 1.12);
    within("R_u over 136", given.up / 136.0, 0.93, 1.07);
    let auto = row("R / 2, R measured online", &scenario(100, "uplink_limiter = { capacity = \"auto\" }"));
    within("R_u / R_d", auto.up / auto.down, 0.9, 1.12);
}

/// Fig. 7: the lossy remedy comes near the lossless one as the buffer grows; without either the cell stays unfair.
#[test]
fn figure_7_over_buffers() {
    let r = lossless_capacity();
    let rows: Vec<Row> = [25, 100, 400].map(|b| row(&format!("lossy, B = {b}"), &scenario(b, &limiter(r)))).into();
    let away = |row: &Row| (row.up / row.down - 1.0).abs();
    assert!(away(&rows[0]) > away(&rows[1]) && away(&rows[1]) > away(&rows[2]));
    assert!(rows[0].down < rows[1].down && rows[1].down < rows[2].down);
    within("R_d at B = 400 over 146.6", rows[2].down / 146.6, 0.95, 1.03);
    for buffer in [50, 200] {
        let none = row(&format!("none, B = {buffer}"), &scenario(buffer, ""));
        assert!(none.up / none.down > 100.0);
    }
}

/// Without downloads R / 2 halves the uploads; by the flows' ratio it does not.
#[test]
fn the_limiter_without_downloads() {
    let r = lossless_capacity();
    let uploads = |ap: &str| {
        let mut scenario = scenario(100, ap);
        scenario.stations.truncate(15);
        mean(&runs(&scenario, 1), |record| direction_kbps(record, Direction::Up) / 1e3)
    };
    let (none, half) = (uploads(""), uploads(&limiter(r)));
    let flows = uploads(&limiter(r).replace(" }", ", share = \"flows\" }"));
    println!("15 uploads, Mbit/s: none {none:.2}, R / 2 {half:.2}, by flows {flows:.2}");
    within("R / 2 over none", half / none, 0.38, 0.5);
    within("by flows over none", flows / none, 0.8, 1.0);
}

/// Bar 6: `tfbr` inside its domain, one upload and N downloads without losses: khademi2010 Eq. 4 as printed allows
/// windows that need about twice the buffer, the inverse of Eq. 3 keeps the promise.
#[test]
fn tfbr_in_its_domain() {
    for (rule, fair) in [("tfbr", 0.0), ("tfbr-exact", 0.9)] {
        let mut scenario = scenario(100, &format!("window_cap = {{ kind = \"{rule}\", delay = \"0 s\" }}"));
        scenario.stations.drain(1..15);
        scenario.stations.truncate(11);
        let records = runs(&scenario, REPLICAS);
        let down = mean(&records, |record| direction_kbps(record, Direction::Down) / 10.0);
        let up = mean(&records, |record| direction_kbps(record, Direction::Up));
        let drops = mean(&records, |record| record.ap_queue.drops.iter().flatten().sum::<u64>() as f64);
        println!(
            "{rule:<11} 1 upload {up:.1}, 10 downloads {down:.1} kbit/s each, ratio {:.3}, AP drops {drops}",
            up / down
        );
        within("down over up", down / up, fair, 1.1);
    }
}
