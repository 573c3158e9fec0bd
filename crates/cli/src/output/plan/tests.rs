//! Plans as text, by hand.

use fairair_core::metrics::Estimate;
use fairair_core::remedy::Paste;
use fairair_sim::plan::{Least, Loss, OwnTime, SCHEMA};
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
        risk: None,
        least: None,
        own_time: None,
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
        in_doubt: false,
        risk: None,
        not_today: None,
        paste: None,
    };
    let constraint = Constraint {
        goal: "level=1".to_owned(),
        reached: "1.01".to_owned(),
        met: true,
        in_doubt: false,
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
        fairer: None,
        doubtful: Some(Point { goodput_bps: 12e6, meets: false, ..point }),
        deployable: None,
        deployable_losses: Vec::new(),
        constraints: vec![constraint],
        losses: Vec::new(),
        not_tried: vec!["three remedies at once".to_owned()],
        grouped: Vec::new(),
    }
}

#[test]
fn a_goal_that_costs_more_than_doubt_has_its_price_told() {
    let told = |without, noise| table(&plan(without, noise), page(100)).contains("without level=1: ");
    assert!(told(10.5, 0.05), "5 % more without it");
    assert!(!told(10.2, 0.05), "2 % are not sure");
    assert!(!told(10.5, 0.6), "nor are 5 % where they are in doubt by 6 %");
    let text = table(&plan(11.5, 0.4), page(100));
    assert!(text.contains("without level=1: at least 11.5 ± 0.4 Mb/s, 15.0 ± 4.1 % more"), "{text}");
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
fn the_title_and_the_lines_to_paste_say_what_holds_of_them() {
    let where_to = "What stands under [[station]] goes into the table of the station of that name.";
    let mut plan = plan(12.0, 0.1);
    assert!(!table(&plan, page(200)).contains(where_to));
    plan.goals = vec!["level-1 >= 1 Mbit/s".to_owned()];
    plan.rows[0].snippet.push_str("\n[[station]]\nname = \"level-1\"\nweight = 2\n");
    let text = table(&plan, page(200));
    assert!(text.contains(where_to) && !text.contains("ratios within"), "{text}");
}

#[test]
fn a_longer_search_is_named_where_nothing_meets_the_goals() {
    let mut own = plan(12.0, 0.1);
    assert_eq!(longer(&own, Page::FILE), "");
    own.met = false;
    assert!(longer(&own, Page::FILE).starts_with("`--thorough` searches longer"));
    own.interrupted = true;
    assert_eq!(longer(&own, Page::FILE), "");
    own.interrupted = false;
    own.rows[0].meets = false;
    own.front.clear();
    assert!(table(&own, Page::FILE).contains("1.000"));
    own.families[0].goodput_bps = 0.0;
    own.rows[0].report.totals.goodput_bps.mean = Some(0.0);
    assert_eq!(longer(&own, Page::FILE), "", "a longer search does not mend a dead link");
    let text = table(&own, Page::FILE);
    assert!(!text.contains("1.000"), "nothing is shared: {text}");
    assert!(text.contains("In none of them anything arrives") && !text.contains("What can be had"), "{text}");
}

#[test]
fn a_small_floor_is_no_zero() {
    let told = |share| exact_per_cent(share).to_string();
    assert_eq!([0.07, 0.005, 1e-9, 1.2345e-6, 0.0].map(told), ["7", "0.5", "0.0000001", "0.000123", "0"]);
}

#[test]
fn a_goal_about_uploads_and_downloads_has_its_column_on_every_page() {
    let mut own = plan(12.0, 0.1);
    assert!(!table(&own, page(80)).contains("up/down  "));
    own.goals = vec!["down/up=1".to_owned()];
    assert!(table(&own, page(80)).contains("up/down  "), "{}", table(&own, page(80)));
}

#[test]
fn where_nothing_that_is_proved_can_be_had_this_is_told() {
    let mut own = plan(12.0, 0.1);
    own.rows[0].not_today = Some("TLAS-SAF".to_owned());
    let text = table(&own, Page::FILE);
    assert!(
        text.contains("TLAS-SAF exists in simulation only.\nNothing of what can is proved to meet this; `--today` searches among that alone."),
        "{text}"
    );
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
    doubtful.doubtful = doubtful.doubtful.map(|point| Point { risk: Some("far has 5.4 %".to_owned()), ..point });
    let text = table(&doubtful, Page::FILE);
    assert!(
        text.contains("Its means meet this, but far has 5.4 %, so that somebody may starve with other seeds"),
        "{text}"
    );
    let lacks = Some("the window cap".to_owned());
    doubtful.doubtful = doubtful.doubtful.map(|point| Point { not_today: lacks, ..point });
    let text = table(&doubtful, Page::FILE);
    assert!(text.contains("b/s (in simulation only: the window cap). Its means"), "{text}");
    doubtful.rows[0].risk = Some("far has 5.4 %".to_owned());
    assert!(table(&doubtful, Page::FILE).contains("at risk"));
    doubtful.doubtful = None;
    assert!(!table(&doubtful, Page::FILE).contains("Not proved"));
}

#[test]
fn what_can_be_deployed_stands_beside_what_cannot() {
    let mut own = plan(12.0, 0.1);
    let linux = vec!["tc qdisc replace dev wlan0 root pfifo limit 347".to_owned()];
    own.rows[0].paste = Some(Paste { linux, ..Paste::default() });
    assert!(table(&own, Page::FILE).contains("limit 347"));
    own.rows[0].not_today = Some("the queue `tlas-saf`".to_owned());
    let text = table(&own, Page::FILE);
    assert!(!text.contains("Of what can") && !text.contains("limit 347"), "half of a remedy may do harm: {text}");
    let (has, cannot) = (text.find("it has"), text.find("It cannot be deployed today"));
    assert!(
        has.is_some() && has < cannot,
        "what is said of the first row stands before what is said of the other: {text}"
    );
    let snippet = "[ap]\nqueue = { kind = \"mac80211\" }".to_owned();
    own.deployable = Some(Point { goodput_bps: 9e6, snippet, ..own.families[0].clone() });
    let text = table(&own, Page::FILE);
    let told = "Of what can, this meets it too, with 9.00 ± 0.10 Mb/s and a delay of 12 ms: [ap] queue = { kind = \"mac80211\" }";
    assert!(text.contains(told), "{text}");
    assert!(text.contains("It costs 10 % of the goodput") && !text.contains("Against the cell as it is"), "{text}");
    let loss = Loss { who: "each of the 3 d".to_owned(), goodput_bps: Some([1.2e6, 0.59e6]), transfer_s: None };
    own.deployable_losses = vec![loss];
    let text = table(&own, Page::FILE);
    assert!(text.contains("Against the cell as it is, each of the 3 d has 590 kb/s instead of 1.20 Mb/s."), "{text}");
}

#[test]
fn half_of_a_long_delay_is_named_where_nothing_has_a_short_one() {
    let mut own = plan(12.0, 0.1);
    own.rows[0].delay_s = 1.2;
    own.alternative = own.alternative.map(|point| Point { delay_s: 0.4, ..point });
    let text = table(&own, Page::FILE);
    assert!(text.contains("suffer. Nothing that meets this was found below 100 ms. 400 ms costs "), "{text}");
    own.alternative = own.alternative.map(|point| Point { delay_s: 0.06, ..point });
    assert!(table(&own, Page::FILE).contains("suffer. 60 ms costs "));
}

/// Of a long delay it is said whose it is, where others have a short one.
#[test]
fn who_waits_long_is_named_where_others_do_not() {
    let mut own = plan(12.0, 0.1);
    (own.rows[0].delay_s, own.alternative) = (0.4, None);
    own.rows[0].report.enforce = None;
    let text = |own: &Plan| table(own, Page::FILE);
    for station in &mut own.rows[0].report.stations {
        station.ap_delay_p95_s.mean = Some(0.4);
    }
    assert!(text(&own).contains("400 ms at p95: calls and games in that queue suffer. Nothing"));
    own.rows[0].report.stations[1].ap_delay_p95_s.mean = Some(0.042);
    let named = ", that of sta1, other-2, other-3, other-4; each other station has at most 42 ms. Nothing";
    assert!(text(&own).contains(named), "{}", text(&own));
}

#[test]
fn who_needs_a_table_of_its_own_is_told_where_nothing_meets_the_goals() {
    let mut own = plan(12.0, 0.1);
    own.grouped = vec!["web-2".to_owned()];
    assert!(!table(&own, Page::FILE).contains("web-2"));
    (own.met, own.rows[0].meets) = (false, false);
    assert!(table(&own, Page::FILE).contains("The box can weight or cap web-2 only with a [[station]] of its own"));
}

/// A plan that gives a station what it needs may take most of what others had.
#[test]
fn who_loses_much_by_the_recommended_plan_is_told() {
    let mut own = plan(12.0, 0.1);
    assert!(!table(&own, Page::FILE).contains("Against the cell as it is"));
    own.losses = vec![
        Loss { who: "each of the 8 std".to_owned(), goodput_bps: Some([4.9e6, 0.77e6]), transfer_s: None },
        Loss { who: "files of 200 kB".to_owned(), goodput_bps: None, transfer_s: Some([0.75, 4.2]) },
    ];
    let text = table(&own, Page::FILE);
    let told = "Against the cell as it is, each of the 8 std has 770 kb/s instead of 4.90 Mb/s; files of 200 kB take 4.20 s instead of 0.75.";
    assert!(text.contains(told), "{text}");
}

#[test]
fn a_plan_that_was_stopped_recommends_no_staying_either() {
    let mut stopped = plan(12.0, 0.1);
    (stopped.interrupted, stopped.rows) = (true, Vec::new());
    let as_is = Point { family: AS_IS, snippet: String::new(), meets: true, rung: 0, ..stopped.families[0].clone() };
    stopped.families.push(as_is);
    let text = table(&stopped, Page::FILE);
    assert!(text.contains("seems to meet this already (one short look).") && !text.contains("leave it"), "{text}");
    stopped.families[1].meets = false;
    assert!(!table(&stopped, Page::FILE).contains("already"));
}

/// What takes from others is said with its fairer alternative, and the file's own time where the proof is longer.
#[test]
fn what_is_less_fair_than_the_cell_has_an_alternative() {
    let mut own = plan(10.0, 0.1);
    own.rows[0].fairness = 0.164;
    let fairer = Point { goodput_bps: 9.2e6, fairness: 0.823, rung: 2, ..own.front[0].clone() };
    own.fairer = Some(fairer);
    let reached = vec!["0.99".to_owned()];
    own.rows[0].own_time =
        Some(OwnTime { measured_s: 4.0, replicas: 24, goodput_bps: 9.5e6, fairness: 0.2, delay_s: 0.232, reached });
    let text = table(&own, Page::FILE);
    assert!(text.contains("less fair than the cell as it is: 0.164. A fairness of 0.823 costs 8"), "{text}");
    assert!(text.contains("(looked at, not proved): [ap] queue"), "{text}");
    own.fairer.as_mut().unwrap().not_today = Some("the window cap".to_owned());
    let lacking = table(&own, Page::FILE);
    assert!(lacking.contains("(looked at, not proved; in simulation only: the window cap): [ap] queue"), "{lacking}");
    assert!(
        text.contains(
            "In the 4 s that the file measures, its start included: 9.50 Mb/s, delay 232 ms at p95; level=1: 0.99"
        ),
        "{text}"
    );
    own.front[0].in_doubt = true;
    own.front[0].meets = false;
    assert!(table(&own, Page::FILE).contains("in doubt"));
}

/// What only a look has shown does not read as proved, doubt is no miss, and who has little is told.
#[test]
fn what_is_not_proved_and_who_has_little_are_marked() {
    let mut own = plan(12.0, 0.1);
    own.families[0].rung = 2;
    let text = table(&own, Page::FILE);
    assert!(text.contains("likely  tlas-saf") && text.contains("level=1: it has 1.01\n"), "{text}");
    assert!(!text.contains("Least of all") && !text.contains("as models predict them"), "{text}");
    let least = Least { who: "station far".to_owned(), share: 0.11, lowest: 0.09 };
    own.rows[0].least = Some(least);
    let text = table(&own, Page::FILE);
    assert!(
        text.contains("Least of all: station far has 11.0 % of its max-min share, 9.0 % in one replica."),
        "{text}"
    );
    (own.rows[0].meets, own.met) = (false, false);
    let constraint = &mut own.constraints[0];
    (constraint.met, constraint.in_doubt, constraint.missed_by) = (false, true, Some(0.3));
    assert!(table(&own, Page::FILE).contains("level=1: it has 1.01, in doubt: its mean meets that"));
    own.constraints[0].in_doubt = false;
    let text = table(&own, Page::FILE);
    assert!(text.contains("level=1: it has 1.01, missed by 2.1 % with doubt counted"));
    assert!(!text.contains("which is longer than the scenario"), "{text}");
    (own.constraints[0].met, own.constraints[0].missed_by, own.rows[0].in_doubt) = (true, Some(0.0), true);
    let text = table(&own, Page::FILE);
    assert!(
        text.contains("level=1: it has 1.01, met\nThat is its proof, which is longer than the scenario."),
        "{text}"
    );
}
