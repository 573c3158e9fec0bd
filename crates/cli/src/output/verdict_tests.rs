//! The sentence on results by hand.

use fairair_core::metrics::{Estimate, ModelSection, Report, verdict};
use fairair_core::scenario::Traffic;
use fairair_core::units::{Bitrate, Bytes};

use crate::output::fixture;

fn sure(mean: f64) -> Estimate {
    Estimate { mean: Some(mean), ci95: Some(0.01), n: 9 }
}

#[track_caller]
fn says(report: &Report, beginning: &str) {
    let said = verdict(report, &fixture::scenario());
    assert!(said.starts_with(beginning) && said.ends_with('.'), "{said}");
}

#[test]
fn directions_are_compared_where_there_are_two() {
    let mut report = fixture::report();
    report.indices.up_down_ratio = sure(17.2);
    report.ap_queue.drop_probability.data = sure(0.241);
    report.ap_queue.drop_probability.ack = sure(0.2);
    report.ap_queue.drop_probability.other = Estimate::default();
    assert_eq!(
        verdict(&report, &fixture::scenario()),
        "Uploads get 17x what downloads get; other-1, other-2, other-3 and 1 more have at most 9.1 % of the max-min share; the \
         AP's queue drops 24 % of the DATA and 20 % of the ACKs."
    );
    report.indices.up_down_ratio = sure(0.25);
    says(&report, "Downloads get 4.0x what uploads get");
    report.indices.up_down_ratio = sure(1.05);
    says(&report, "Uploads and downloads get the same");
    report.indices.up_down_ratio = Estimate { ci95: Some(1.5), ..sure(2.0) };
    says(&report, "Uploads get 2.0x what downloads get (uncertain: more replicas would tell)");
    report.indices.up_down_ratio = Estimate { mean: None, ci95: None, n: 9 };
    says(&report, "Uploads take everything");
}

/// A call that asks for little is no upload that loses.
#[test]
fn flows_that_ask_for_less_are_no_side_of_the_comparison() {
    let mut scenario = fixture::scenario();
    let (payload, rate) = (Bytes(160), Bitrate::from_bps(64_000));
    scenario.stations[0].flows[0].traffic = Traffic::UdpCbr { payload, rate };
    let mut report = fixture::report();
    for flow in &mut report.flows {
        flow.goodput_bps = sure(1e6);
    }
    report.flows[0].goodput_bps = sure(64e3);
    report.indices.up_down_ratio = sure(0.69);
    let said = verdict(&report, &scenario);
    let expected = "Of the flows that send all they can, uploads and downloads get the same (ratio 1.00)";
    assert!(said.starts_with(expected), "{said}");
}

#[test]
fn who_starves_is_said_before_any_mean() {
    let mut report = fixture::report();
    report.indices.up_down_ratio = sure(1.05);
    report.indices.starved_flows = sure(2.0);
    says(
        &report,
        "2 of 7 flows starve (below 5 % of the max-min share; mean of the replicas), in turns. Uploads and downloads",
    );
    report.indices.starved_flows = sure(5.0 / 3.0);
    says(&report, "1.7 of 7 flows starve");
    report.indices.starved_flows = sure(0.0);
    report.indices.starved_stations = sure(0.4);
    says(&report, "0.4 of 5 stations starve");
    report.indices.starved_stations = Estimate::default();
    says(&report, "Uploads and downloads get the same");
}

#[test]
fn who_starves_or_has_little_is_named() {
    let mut report = fixture::report();
    report.indices.up_down_ratio = sure(1.05);
    report.indices.starved_flows = sure(2.0);
    // 30 kbit/s of 1.04 Mbit/s, and one of three flows.
    (report.stations[1].goodput_bps, report.flows[3].goodput_bps) = (sure(30e3), sure(30e3));
    report.flows[1].goodput_bps = sure(1e3);
    let said = verdict(&report, &fixture::scenario());
    let names = "(below 5 % of the max-min share; mean of the replicas): other-1, flow 2 of sta1. Uploads";
    assert!(said.contains(names), "{said}");
    report.indices.starved_flows = sure(4.0);
    says(
        &report,
        "4 of 7 flows starve (below 5 % of the max-min share; mean of the replicas): other-1, flow 2 of sta1, and others in turns. Uploads",
    );
    report.indices.starved_flows = sure(1.0);
    says(
        &report,
        "1 of 7 flows starve (below 5 % of the max-min share; mean of the replicas), in turns: other-1, flow 2 of sta1. Uploads",
    );
    report.indices.starved_flows = sure(2.0);
    assert!(said.contains("; other-2, other-3, other-4 have at most 9.1 % of the max-min share"), "{said}");
    for index in 2..5 {
        report.stations[index].goodput_bps = sure(1e6);
    }
    assert!(!verdict(&report, &fixture::scenario()).contains("at most"));
    report.stations[4].goodput_bps = sure(150e3);
    let said = verdict(&report, &fixture::scenario());
    assert!(said.contains("; other-4 has 14 % of the max-min share"), "{said}");
}

/// A simulation may have drops where the model has none worth a word.
#[test]
fn what_a_model_says_of_drops_is_its_expectation() {
    let mut report = fixture::report();
    report.ap_queue.drop_probability.data = sure(0.001);
    report.ap_queue.drop_probability.ack = Estimate::default();
    let ends = |report: &Report, end: &str| {
        let said = verdict(report, &fixture::scenario());
        assert!(said.ends_with(end), "{said}");
    };
    ends(&report, "; the AP's queue drops hardly anything.");
    report.model = Some(ModelSection {
        name: "unified".to_owned(),
        values: Vec::new(),
        assumptions: Vec::new(),
        starvation: false,
    });
    ends(&report, "; the model expects that the AP's queue drops hardly anything.");
}

#[test]
fn stations_are_compared_where_all_flows_go_one_way() {
    let mut report = fixture::report();
    report.directions.down.flows = 0;
    report.indices.jain_stations = sure(0.5);
    report.indices.fairness_level_first_station = sure(6.0);
    says(&report, "sta1 gets 6.0x what another station gets");
    report.indices.fairness_level_first_station = sure(0.5);
    says(&report, "Another station gets 2.0x what sta1 gets");
    report.indices.jain_stations = sure(0.999);
    says(&report, "All stations get the same");
    report.totals.goodput_bps = sure(0.0);
    says(&report, "Nothing was delivered");
}

/// Who has no flows has nothing, and is no part of the index.
#[test]
fn stations_without_flows_are_not_said_to_get_the_same() {
    let mut report = fixture::report();
    report.directions.down.flows = 0;
    report.indices.jain_stations = sure(1.0);
    let mut scenario = fixture::scenario();
    scenario.stations[1].flows.clear();
    let said = verdict(&report, &scenario);
    assert!(said.starts_with("All stations with flows get the same"), "{said}");
    report.indices.jain_stations = sure(0.5);
    report.indices.fairness_level_first_station = Estimate::default();
    let said = verdict(&report, &scenario);
    assert!(said.starts_with("The stations with flows share unequally"), "{said}");
    scenario.stations[2..].iter_mut().for_each(|station| station.flows.clear());
    let said = verdict(&report, &scenario);
    assert!(said.starts_with("There is nobody to compare sta1 with"), "{said}");
}
