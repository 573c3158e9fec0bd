//! What Linux' airtime scheduling does for a cell with a slow station.

use fairair_core::record::Record;
use fairair_core::scenario::Scenario;

use crate::assert_in;

/// A run of 802.11n in 2.4 GHz, two streams, with downloads of `fast` stations and of a slow one.
fn run(queue: &str, (fast, slow, flow): (usize, &str, &str), seconds: u32) -> Record {
    let text = format!(
        r#"
        name = "slow-guest"
        [run]
        duration = "{seconds} s"
        warmup = "3 s"
        [radio]
        phy = "802.11n"
        band = "2.4 GHz"
        streams = 2
        mcs = 7
        guard_interval = "0.4 us"
        [ap]
        queue = {queue}
        [[station]]
        name = "fast"
        count = {fast}
        flows = [{{ direction = "down"{flow} }}]
        [[station]]
        name = "slow"
        {slow}
        flows = [{{ direction = "down"{flow} }}]
        "#
    );
    fairair_sim::run(&Scenario::from_toml(&text, "slow-guest.toml").unwrap(), 0)
}

/// Mbit/s of the whole cell.
fn total(record: &Record) -> f64 {
    let bytes: u64 = record.flows.iter().map(|flow| flow.delivered_bytes).sum();
    bytes as f64 * 8e-6 / record.measured.as_secs_f64()
}

#[test]
fn two_fast_stations_and_a_slow_one_have_equal_air() {
    for flow in ["", ", kind = \"udp\", rate = \"100 Mbit/s\""] {
        let record = run("{ kind = \"mac80211\" }", (2, "mcs = 0\nstreams = 1", flow), 18);
        let air: Vec<f64> =
            record.stations.iter().map(|station| (station.airtime_down + station.mac.airtime).as_secs_f64()).collect();
        let mean = air.iter().sum::<f64>() / 3.0;
        for own in air {
            assert_in(&format!("share of{flow}"), own / mean, 0.98, 1.02);
        }
    }
}

/// The change that gave ath9k airtime fairness reports 2.14 Mbit/s before and 17.76 after.
#[test]
fn one_station_at_1_mbps_does_not_take_the_air_of_thirty() {
    let of = |queue| total(&run(queue, (29, "phy = \"802.11b\"\nrate = \"1 Mbit/s\"", ""), 13));
    let fifo = of("{ kind = \"droptail\", limit = 1000 }");
    let pool = of("{ kind = \"shared-fifo\", limit = 1000 }");
    let turns = of("{ kind = \"mac80211\", airtime = false }");
    let airtime = of("{ kind = \"mac80211\" }");
    println!("FIFO {fifo:.2}, shared FIFO {pool:.2}, turns {turns:.2}, airtime {airtime:.2} Mbit/s");
    assert!(airtime > 6.0 * fifo, "{airtime} of {fifo}");
}

/// The change that gave ath9k airtime fairness reports 19.17, 19.83 and 2.58 Mbit/s before, and 25.09, 25.21 and 1.77 after. What it leaves
/// open, the loss at the highest rate, is one MPDU of ten in the gallery's scenario.
#[test]
fn the_change_that_gave_ath9k_airtime_fairness_has_the_reported_goodputs() {
    let text = include_str!("../../../../gallery/modern/rates.toml");
    for (airtime, reported) in [("false", [19.17, 19.83, 2.58]), ("true", [25.09, 25.21, 1.77])] {
        let text = text.replace("airtime = true", &format!("airtime = {airtime}"));
        let record = fairair_sim::run(&Scenario::from_toml(&text, "rates.toml").unwrap(), 0);
        for (flow, reported) in record.flows.iter().zip(reported) {
            let own = flow.delivered_bytes as f64 * 8e-6 / record.measured.as_secs_f64();
            assert_in(&format!("airtime {airtime}, over the report's {reported}"), own / reported, 0.8, 1.2);
        }
    }
}
