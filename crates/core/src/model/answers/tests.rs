//! Predictions as reports, and what they refuse.

use std::fmt::Write as _;

use super::*;
use crate::metrics::Estimate;

const CELL: &str = r#"
name = "cell"
[run]
duration = "100 s"
warmup = "20 s"
[ap]
queue = { kind = "droptail", limit = 75 }
[[station]]
name = "sta1"
beta = 1.2
flows = [{ direction = "up", count = 2 }]
[[station]]
name = "other"
count = 4
beta = 1.2
flows = [{ direction = "down" }]
"#;

fn named(model: &str) -> &'static Model {
    Model::named(model).unwrap()
}

fn scenario(more: &str) -> Scenario {
    Scenario::from_toml(&(CELL.to_owned() + more), "cell.toml").unwrap()
}

#[test]
fn every_model_that_applies_answers_in_the_schema_of_runs() {
    let scenario = scenario("");
    for model in ["unified", "detti2011"] {
        let report = predict(&scenario, Some(named(model))).unwrap().report(&scenario, "0");
        assert_eq!((report.engine.as_str(), report.flows.len(), report.stations.len()), ("model", 6, 5));
        let level = report.indices.fairness_level_first_station;
        assert!(level.mean.is_some_and(|level| level > 1.0) && level.ci95.is_none() && level.n == 1, "{level:?}");
        assert_eq!(report.mac.ap.attempts, Estimate::default());
        let section = report.model.unwrap();
        assert_eq!(section.name, model);
        assert!(section.assumptions.iter().all(|assumption| assumption.holds), "{section:?}");
    }
}

/// Each model answers a scenario of the repository, or one with its own queue, in numbers, and the default of any scenario is found before the list's last.
#[test]
fn every_model_answers_a_scenario_of_the_repository() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../scenarios");
    let files: Vec<_> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    let mut scenarios: Vec<Scenario> = files.iter().map(|file| Scenario::load(file).unwrap()).collect();
    // None has ha2009's queue, or greedy datagrams alone in a modern cell.
    let dual = CELL.replace(r#"{ kind = "droptail", limit = 75 }"#, r#"{ kind = "dual-queue", p = 0.7 }"#);
    let udp = MODERN.replace("direction = \"up\"", "direction = \"up\", kind = \"udp\"");
    let udp = udp.replace("direction = \"down\"", "direction = \"down\", kind = \"udp\"");
    scenarios.extend([dual, udp].iter().map(|text| Scenario::from_toml(text, "cell.toml").unwrap()));
    for model in MODELS {
        let answers = scenarios.iter().filter_map(|scenario| Some((scenario, predict(scenario, Some(model)).ok()?)));
        let reports: Vec<_> = answers.map(|(scenario, answer)| answer.report(scenario, "0")).collect();
        assert!(!reports.is_empty(), "{} answers no scenario", model.name);
        for report in reports {
            let goodput = report.totals.goodput_bps.mean;
            assert!(goodput.is_none_or(|goodput| goodput > 0.0 && goodput.is_finite()), "{}: {goodput:?}", model.name);
            assert!(report.model.unwrap().assumptions.iter().all(|assumption| !assumption.what.is_empty()));
        }
    }
    // It takes what no other does: what stands behind it would never be a default.
    let last = MODELS.last().unwrap();
    assert!(scenarios.iter().all(|scenario| (last.is_default)(scenario)), "{} is no default of all", last.name);
}

/// detti2011's levels are those of its own equations: Fig. 5 at two uploads with the full Q_i.
#[test]
fn relative_models_keep_their_ratios() {
    let scenario = scenario("");
    let report = predict(&scenario, Some(named("detti2011"))).unwrap().report(&scenario, "0");
    let level = report.indices.fairness_level_first_station.mean.unwrap();
    assert!((level / 10.53 - 1.0).abs() < 0.01, "{level}");
    let total = report.totals.goodput_bps.mean.unwrap();
    assert!((4e6..6e6).contains(&total), "{total}");
}

#[test]
fn broken_assumptions_are_flagged_and_unknown_traffic_is_refused() {
    let noisy = scenario("[[station]]\nname = \"noisy\"\nframe_error = 0.1\nflows = [{ direction = \"down\" }]");
    let section = predict(&noisy, Some(named("detti2011"))).unwrap().section;
    let broken: Vec<&str> = section.assumptions.iter().filter(|a| !a.holds).map(|a| a.name.as_str()).collect();
    assert_eq!(broken, ["a7"]);
    let udp = scenario("[[station]]\nname = \"udp\"\nflows = [{ direction = \"down\", kind = \"udp\" }]");
    assert!(matches!(predict(&udp, None), Err(ModelError::Unsupported { .. })));
    let two = scenario("[[access_point]]\nname = \"hall\"\n[[station]]\nname = \"b\"\nap = \"hall\"\n");
    assert!(predict(&two, None).unwrap_err().to_string().contains("does not know several access points (`hall`"));
    assert!(predict(&scenario(""), Some(named("ha2009"))).is_err());
    assert!(predict(&scenario(""), Some(named("pokhrel2016"))).is_err(), "two flows at one station");
}

#[test]
fn starvation_is_flagged() {
    let text = CELL
        .replace(r#"{ direction = "down" }"#, r#"{ direction = "down" }, { direction = "up" }"#)
        .replace("75", "40");
    let crowded = Scenario::from_toml(&text, "cell.toml").unwrap();
    let section = predict(&crowded, None).unwrap().section;
    assert!(section.starvation && section.assumptions.iter().any(|a| a.name == "starvation" && !a.holds));
}

/// What other queues and boxes share by rule, and what single-queue models must not answer as if it were not there.
#[test]
fn the_model_that_applies_answers_boxes_limiters_fair_queues_and_dual_queues() {
    let with = |queue: &str, more: &str| {
        let text = CELL.replace(r#"{ kind = "droptail", limit = 75 }"#, queue) + more;
        Scenario::from_toml(&text, "cell.toml").unwrap()
    };
    let droptail = r#"{ kind = "droptail", limit = 75 }"#;
    for (queue, more, model) in [
        (r#"{ kind = "per-flow-fq" }"#, "", "shares"),
        (r#"{ kind = "dual-queue" }"#, "", "shares"),
        (r#"{ kind = "dual-queue", p = 0.7 }"#, "", "ha2009"),
        (droptail, "[enforce]\npolicy = \"per-station\"", "shares"),
    ] {
        let prediction = predict(&with(queue, more), None).unwrap();
        assert_eq!(prediction.section.name, model, "{queue} {more}");
        assert!(prediction.flows.iter().all(|goodput| goodput.is_finite() && *goodput > 0.0), "{prediction:?}");
    }
    let boxed = with(droptail, "[enforce]\npolicy = \"per-station\"");
    assert!(predict(&boxed, Some(named("unified"))).is_err(), "a box is not nothing");
    let level = predict(&boxed, None).unwrap().report(&boxed, "0").indices.fairness_level_first_station;
    assert!((level.mean.unwrap() - 1.0).abs() < 1e-6);
    let all = |more: &str| predict(&with(droptail, more), None).unwrap().flows.iter().sum::<f64>();
    let free = all("[enforce]\ncapacity = \"20 Mbit/s\"");
    // What the box reckons of a lone station is within 3 % of R.
    let air = all("[enforce]\ncapacity = { kind = \"air\", share = 0.9 }") / free;
    assert!((0.87..0.93).contains(&air), "{air}");
    assert!(all("[enforce]\ncapacity = { kind = \"air\", max = \"1 Mbit/s\" }") < 1e6);
    let least = all("[enforce]\ncapacity = { kind = \"air\", share = 0.01, min = \"1 Mbit/s\" }");
    assert!((0.9e6..1e6).contains(&least), "{least}");
    assert!(predict(&with(r#"{ kind = "las" }"#, ""), None).is_err());
}

/// A window cap is windows: half the window, and a buffer that holds them all.
#[test]
fn a_window_cap_is_a_smaller_window() {
    let capped = CELL.replace("[ap]", "[ap]\nwindow_cap = { kind = \"b-over-n\", buffer = 60 }");
    let small = CELL.to_owned() + "[tcp]\nwindow = 10\n";
    let [capped, small] = [capped, small].map(|text| Scenario::from_toml(&text, "cell.toml").unwrap());
    assert_eq!(predict(&capped, None).unwrap().flows, predict(&small, None).unwrap().flows);
}

/// 2 x 100 ms: the second segment that delayed ACKs wait for does not come in a window of one.
#[test]
fn a_window_of_one_waits_for_delayed_acks() {
    let slow = Scenario::from_toml(&(CELL.to_owned() + "[tcp]\nwindow = 1\n"), "cell.toml").unwrap();
    let total: f64 = predict(&slow, None).unwrap().flows.iter().sum();
    assert!(total < 6.0 * 1460.0 * 8.0 / 0.1, "{total}");
}

/// The models are of DCF with one frame an access.
#[test]
fn a_model_of_a_cell_with_aggregates_says_that_it_is_outside() {
    let modern = scenario("[radio]\nphy = \"802.11n\"\n");
    for model in ["unified", "shares"] {
        let Ok(prediction) = predict(&modern, Some(named(model))) else { continue };
        let section = prediction.report(&modern, "0").model.unwrap();
        assert!(section.assumptions.iter().any(|row| row.name == "dcf" && !row.holds), "{section:?}");
    }
    let section = predict(&modern, None).unwrap().report(&modern, "0").model.unwrap();
    assert!(section.assumptions.iter().any(|row| row.name == "dcf" && !row.holds), "{section:?}");
}

const MODERN: &str = r#"
name = "modern"
[run]
duration = "60 s"
warmup = "20 s"
[radio]
phy = "802.11ac"
[ap]
queue = { kind = "mac80211" }
[wire]
delay = "10 ms"
[[station]]
name = "up"
count = 3
flows = [{ direction = "up" }]
[[station]]
name = "down"
count = 3
flows = [{ direction = "down" }]
"#;

fn broken(section: &crate::metrics::ModelSection) -> Vec<&str> {
    section.assumptions.iter().filter(|row| !row.holds).map(|row| row.name.as_str()).collect()
}

#[test]
fn modern_cells_have_an_answer_and_say_when_they_are_outside() {
    let of = |text: &str| Scenario::from_toml(text, "modern.toml").unwrap();
    let cell = of(MODERN);
    let prediction = predict(&cell, None).unwrap();
    assert_eq!((prediction.section.name.as_str(), broken(&prediction.section)), ("unified", vec![]));
    let report = prediction.report(&cell, "0");
    let total = report.totals.goodput_bps.mean.unwrap();
    assert!((200e6..300e6).contains(&total), "{total}");
    assert!(report.ap_queue.drop_probability.data.mean.is_none(), "flows lose by themselves");
    for (from, to, name) in [
        ("[ap]", "rts = true\n[ap]", "edca"),
        ("[ap]", "[tcp]\nvariant = \"reno\"\n[ap]", "cubic"),
        ("delay = \"10 ms\"", "delay = \"100 ms\"", "range"),
        ("count = 3", "count = 30", "range"),
        ("kind = \"mac80211\"", "kind = \"mac80211\", codel = false", "queue"),
        ("kind = \"mac80211\"", "kind = \"shared-fifo\", limit = 1000", "order"),
        ("flows = [{ direction = \"up\" }]", "flows = [{ direction = \"up\", count = 2 }]", "plain"),
    ] {
        let section = predict(&of(&MODERN.replace(from, to)), None).unwrap().section;
        assert!(broken(&section).contains(&name), "{name}: {section:?}");
    }
    for (from, to) in [
        ("[[station]]\nname = \"up\"", "[enforce]\npolicy = \"per-station\"\n[[station]]\nname = \"up\""),
        ("flows = [{ direction = \"up\" }]", "flows = [{ direction = \"up\", kind = \"udp\" }]"),
        ("flows = [{ direction = \"up\" }]", "flows = [{ direction = \"up\" }, { direction = \"down\" }]"),
        ("flows = [{ direction = \"up\" }]", "flows = [{ direction = \"up\", category = \"vo\" }]"),
    ] {
        assert!(predict(&of(&MODERN.replacen(from, to, 1)), Some(named("unified"))).is_err(), "{to}");
    }
}

/// Models know the air alone: a wire that carries less than they give its flows is said, whichever model answers.
#[test]
fn a_wire_that_is_slower_than_what_its_flows_get_is_outside() {
    let of = |text: &str, more: &str, own: &str| {
        let text = text.replace("direction = \"down\"", &format!("direction = \"down\"{own}")) + more;
        Scenario::from_toml(&text, "cell.toml").unwrap()
    };
    let udp = MODERN.replace("[wire]\ndelay = \"10 ms\"\n", "").replace("\" }]", "\", kind = \"udp\" }]");
    let boxed = CELL.to_owned() + "[enforce]\n";
    for (text, model) in
        [(CELL, "unified"), (CELL, "detti2011"), (boxed.as_str(), "shares"), (udp.as_str(), "saturation")]
    {
        let is_broken = |more: &str, own: &str| {
            let section = predict(&of(text, more, own), Some(named(model))).unwrap().section;
            broken(&section).contains(&"bottleneck")
        };
        assert!(!is_broken("", "") && !is_broken("[wire]\nrate = \"300 Mbit/s\"\n", ""), "{model}");
        assert!(is_broken("[wire]\nrate = \"200 kbit/s\"\n", ""), "{model}");
        assert!(is_broken("", ", wire = { rate = \"10 kbit/s\" }"), "{model}");
        assert!(!is_broken("", ", wire = { rate = \"300 Mbit/s\" }"), "{model}");
    }
    // A wire carries both directions at once, each with its full rate.
    let both = predict(&of(CELL, "", ""), None).unwrap().flows;
    let up: f64 = both[..2].iter().sum();
    let most = up.max(both.iter().sum::<f64>() - up);
    for (rate, expected) in [(most + 1e3, false), (most - 1e3, true)] {
        let wire = format!("[wire]\nrate = \"{rate:.0} bit/s\"\n");
        let section = predict(&of(CELL, &wire, ""), None).unwrap().section;
        assert_eq!(broken(&section).contains(&"bottleneck"), expected, "{rate}");
    }
}

#[test]
fn greedy_datagrams_are_the_saturation_models() {
    let udp = |way: &str| format!("direction = \"{way}\", kind = \"udp\"");
    let text = MODERN.replace("direction = \"up\"", &udp("up")).replace("direction = \"down\"", &udp("down"));
    let cell = Scenario::from_toml(&text, "modern.toml").unwrap();
    let prediction = predict(&cell, None).unwrap();
    assert_eq!((prediction.section.name.as_str(), broken(&prediction.section)), ("saturation", vec![]));
    assert!(prediction.flows.iter().all(|goodput| *goodput > 1e6), "{prediction:?}");
    assert!(predict(&cell, Some(named("unified"))).is_err());
}

#[test]
fn the_table_in_the_docs_is_what_the_models_say_of_themselves() {
    let mut table = "| `--model` | answers | default for | source |\n|---|---|---|---|\n".to_owned();
    for Model { name, what, default_for, source, .. } in MODELS {
        let _ = writeln!(table, "| `{name}` | {what} | {default_for} | {source} |");
    }
    crate::generated::check_table("models.md", "the models", &table);
}
