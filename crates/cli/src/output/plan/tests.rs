//! Plans as text, by hand.

use fairair_core::metrics::Estimate;
use fairair_sim::plan::SCHEMA;
use unicode_width::UnicodeWidthStr;

use super::*;
use crate::output::fixture;

const SNIPPET: &str = "[ap]\nqueue = { kind = \"tlas-saf\", cwnd = \"estimated\", limit = 14 }";

fn page(width: usize) -> Page {
    Page { width, ..Page::FILE }
}

/// A plan that recommends [`SNIPPET`] at 10 Mbit/s; without its goal there are `without` +- `noise` Mbit/s.
fn plan(without: f64, noise: f64) -> Plan {
    let mut report = fixture::report();
    report.totals.goodput_bps = Estimate { mean: Some(10e6), ci95: Some(0.1e6), n: 24 };
    let row = Row {
        meets: true,
        deploy: "AP",
        family: "tlas-saf",
        starved: Vec::new(),
        snippet: SNIPPET.to_owned(),
        paste: None,
        not_today: None,
        in_doubt: false,
        cautions: Vec::new(),
        fairness: 1.0,
        delay_s: 0.0123,
        prediction: Prediction::default(),
        report,
    };
    let point = Point {
        family: "tlas-saf",
        deploy: "AP",
        snippet: SNIPPET.to_owned(),
        goodput_bps: 10e6,
        goodput_ci95_bps: Some(0.1e6),
        fairness: 1.0,
        delay_s: 0.0123,
        starved: 0,
        meets: true,
        rung: 3,
    };
    let constraint = Constraint {
        goal: "level=1".to_owned(),
        reached: "1.01".to_owned(),
        met: true,
        missed_by: Some(0.0),
        goodput_without_bps: Some(without * 1e6),
        goodput_without_ci95_bps: Some(noise * 1e6),
        cost: Some(without / 10.0 - 1.0),
        cost_ci95: Some(noise.hypot(0.1) / 10.0),
    };
    Plan {
        schema: SCHEMA,
        name: "cafe".to_owned(),
        goals: vec!["level=1".to_owned()],
        tolerance: 0.07,
        floor: 0.005,
        as_is_starved: Vec::new(),
        already_met: false,
        met: true,
        tried: 500,
        packets: 5e7,
        interrupted: false,
        as_is_goodput_bps: 10e6,
        rows: vec![row],
        front: vec![point.clone()],
        families: vec![point.clone()],
        alternative: Some(Point { goodput_bps: 11e6, delay_s: 0.9, ..point.clone() }),
        doubtful: Some(Point { goodput_bps: 12e6, meets: false, ..point }),
        constraints: vec![constraint],
        not_tried: vec!["three remedies at once".to_owned()],
    }
}

#[test]
fn a_goal_that_costs_more_than_doubt_has_its_price_told() {
    let told = |without, noise| table(&plan(without, noise), page(100)).contains("without level=1: ");
    assert!(told(10.5, 0.05), "5 % more without it");
    assert!(!told(10.2, 0.05), "2 % are not sure");
    assert!(!told(10.5, 0.6), "nor are 5 % where they are in doubt by 6 %");
    let text = table(&plan(11.5, 0.4), page(100));
    assert!(text.contains("without level=1: 11.5 ± 0.4 Mb/s, 15.0 ± 4.1 % more"), "{text}");
    assert!(text.contains("With 900 ms there is 10.0 ± 1.4 % more goodput"), "{text}");
}

#[test]
fn a_plan_fits_eighty_columns_and_keeps_its_remedies() {
    let text = table(&plan(12.0, 0.1), page(80));
    assert!(text.lines().all(|line| line.width() <= 80), "{text}");
    let remedy = short(SNIPPET);
    assert!(text.contains(&format!("1: {remedy}\n")), "{text}");
    assert!(text.contains("(ratios within 7 %), nobody below 0.5 %"), "{text}");
    assert!(table(&plan(12.0, 0.1), Page::FILE).contains(&format!("  {remedy}\n")));
}

#[test]
fn what_is_likely_but_not_proved_is_named() {
    let mut doubtful = plan(12.0, 0.1);
    assert!(table(&doubtful, Page::FILE).contains("Not proved: [ap] queue"));
    (doubtful.already_met, doubtful.as_is_goodput_bps) = (true, 8e6);
    assert!(table(&doubtful, Page::FILE).contains("meets this already; the first row has +25 % goodput."));
    (doubtful.rows[0].meets, doubtful.rows[0].in_doubt) = (false, true);
    let text = table(&doubtful, Page::FILE);
    assert!(text.contains("meets this already: leave it.") && text.contains("in doubt"), "{text}");
    doubtful.doubtful = doubtful.doubtful.map(|point| Point { goodput_bps: 0.2e6, rung: 0, ..point });
    assert!(table(&doubtful, Page::FILE).contains("met this when last looked at, at 2 % of the goodput"));
    doubtful.doubtful = None;
    assert!(!table(&doubtful, Page::FILE).contains("Not proved"));
}
