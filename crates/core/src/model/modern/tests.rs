//! Limits that are known, and inputs that nobody would choose.

use proptest::prelude::*;

use super::aggregate::{Exchanges, mean_mpdus};
use super::contention::{Contender, Load, contend};
use super::*;
use crate::mac::AccessParams;
use crate::scenario::Scenario;
use crate::units::{Bytes, Duration};

fn access(aifsn: u32, cw_min: u32) -> AccessParams {
    AccessParams { aifsn, cw_min, cw_max: 1023, txop: Duration::ZERO }
}

fn scenario(more: &str) -> Scenario {
    Scenario::from_toml(&format!("name = \"x\"\n[run]\nduration = \"60 s\"\nwarmup = \"20 s\"\n{more}"), "x").unwrap()
}

fn stations(up: u32, down: u32) -> String {
    let table = |way: &str, count: u32| {
        let flows = format!("flows = [{{ direction = \"{way}\" }}]");
        if count > 0 { format!("[[station]]\nname = \"{way}\"\ncount = {count}\n{flows}\n") } else { String::new() }
    };
    table("up", up) + &table("down", down)
}

/// Bianchi's own collision probabilities, windows of 15 to 1023.
#[test]
fn alike_contenders_collide_as_published() {
    for (n, expected) in [(2.0, 0.105), (5.0, 0.272), (10.0, 0.384)] {
        let contention = contend(&[Contender::new(n, access(2, 15), None, Load::Saturated)], 0, None);
        let collision = contention.outcomes[0].collision;
        assert!((collision - expected).abs() < 0.003, "n = {n}: {collision} for {expected}");
    }
}

/// Windows of 7 beside ones of 15: about twice the attempts. A longer AIFS costs the boundaries before its end.
#[test]
fn windows_and_aifs_tell_contenders_apart() {
    let pair = |a, b| {
        let of = |access| Contender::new(1.0, access, None, Load::Saturated);
        let contention = contend(&[of(a), of(b)], 0, None);
        contention.outcomes[0].successes / contention.outcomes[1].successes
    };
    assert!((pair(access(2, 15), access(2, 15)) - 1.0).abs() < 1e-6);
    assert!((1.8..2.6).contains(&pair(access(2, 7), access(2, 15))));
    // The medium is busy about every fifth boundary: one of five is lost.
    assert!((1.15..1.45).contains(&pair(access(2, 15), access(3, 15))));
    assert!(pair(access(2, 15), access(7, 15)) > 2.0);
}

#[test]
fn a_share_is_kept_and_no_more_than_saturation() {
    let of = |load| Contender::new(1.0, access(3, 15), None, load);
    for (share, expected) in [(0.0, 0.0), (0.25, 0.25), (9.0, 1.0)] {
        let contention = contend(&[of(Load::Saturated), of(Load::Share(share))], 0, None);
        let ratio = contention.outcomes[1].successes / contention.outcomes[0].successes;
        assert!((ratio - expected).abs() < 1e-4, "{ratio} for {expected}");
    }
}

/// The chain itself, run for 4000 PPDUs at random.
#[test]
fn lost_mpdus_shorten_aggregates_as_the_chain_does() {
    for (window, most, error, expected) in [
        (64.0, 64.0, 0.02, 46.0),
        (64.0, 64.0, 0.2, 29.1),
        (64.0, 42.0, 0.05, 36.4),
        (64.0, 28.0, 0.2, 25.2),
        (256.0, 256.0, 0.05, 127.2),
        (256.0, 125.0, 0.1, 102.9),
    ] {
        let mean = mean_mpdus(error, window, most);
        assert!((mean / expected - 1.0).abs() < 0.04, "{window}, {most}, {error}: {mean} for {expected}");
    }
    assert!((mean_mpdus(0.0, 64.0, 42.0) - 42.0).abs() < 1e-9 && mean_mpdus(1.0, 64.0, 42.0) >= 1.0);
}

/// 802.11n MCS 7 at 20 MHz: 28 packets and their BlockAck take 5408 us, one takes 272 us.
#[test]
fn a_txop_holds_what_fits() {
    let cell = scenario(&format!("[radio]\nphy = \"802.11n\"\nwidth = \"20 MHz\"\nmcs = 7\n{}", stations(1, 0)));
    let exchanges = Exchanges::new(&cell.mac(), cell.radio.station_tx(&cell.stations[0]), Bytes(1500));
    assert!((exchanges.exchange(28.0) * 1e6 - 5408.0).abs() < 4.0);
    let packets = |limit| exchanges.access(28.0, limit, 16e-6).0 as u32;
    assert_eq!((packets(0.0), packets(3.0e-3), packets(6.0e-3)), (28, 15, 30));
    assert_eq!(packets(1e-4), 1, "one MPDU goes though it is longer");
}

/// facts.md: 59.750 Mbit/s for a lone sender of 802.11n, MCS 7.
#[test]
fn a_lone_sender_has_its_cycle() {
    let udp = "[[station]]\nname = \"a\"\nflows = [{ direction = \"up\", kind = \"udp\", payload = \"1472 B\" }]\n";
    let cell = scenario(&format!("[radio]\nphy = \"802.11n\"\nwidth = \"20 MHz\"\nmcs = 7\n{udp}"));
    let goodput = Saturation::of(&cell).unwrap().stations[0];
    assert!((goodput / 59.75e6 - 1.0).abs() < 1e-3, "{goodput}");
    assert!(Saturation::of(&scenario(&format!("[radio]\nphy = \"802.11n\"\n{}", stations(1, 0)))).is_err());
}

/// docs/modern.md: what the AP counts decides.
#[test]
fn what_the_ap_counts_decides_who_gets_the_air() {
    let ratio = |queue: &str| {
        let radio = format!("[radio]\nphy = \"802.11ac\"\n[ap]\nqueue = {queue}\n[wire]\ndelay = \"10 ms\"\n");
        let cell = Cell::of(&scenario(&(radio + &stations(5, 5)))).unwrap();
        let answer = cell.solve();
        (answer.flows[0].goodput / answer.flows[1].goodput, cell.starves(&answer))
    };
    let (air, starves) = ratio("{ kind = \"mac80211\" }");
    assert!((0.9..1.6).contains(&air) && !starves, "{air}");
    let (turns, _) = ratio("{ kind = \"mac80211\", airtime = false }");
    // The simulator has 3.8.
    assert!((3.3..6.0).contains(&turns), "{turns}");
    let (sent, _) = ratio("{ kind = \"mac80211\", rx_airtime = false }");
    assert!((15.0..40.0).contains(&sent), "{sent}");
    let (fifo, starves) = ratio("{ kind = \"shared-fifo\", limit = 300 }");
    assert!(fifo > 100.0 && starves, "{fifo}");
}

/// The simulator, 40 s and six seeds: up/down of 802.11ac under mac80211, by whether received air is charged.
#[test]
fn many_stations_are_near_what_the_simulator_says() {
    for (n, rx_airtime, expected) in [(7, true, 1.23), (10, true, 1.45), (7, false, 34.0)] {
        let radio = format!(
            "[radio]\nphy = \"802.11ac\"\n[ap]\nqueue = {{ kind = \"mac80211\", rx_airtime = {rx_airtime} }}\n\
             [wire]\ndelay = \"10 ms\"\n"
        );
        let flows = Cell::of(&scenario(&(radio + &stations(n, n)))).unwrap().solve().flows;
        let level = flows[0].goodput / flows[1].goodput;
        assert!((level / expected - 1.0).abs() < 0.25, "{n} + {n}, {rx_airtime}: {level} for {expected}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]

    #[test]
    fn any_cell_has_an_answer_in_range(
        up in 0_u32..40, down in 0_u32..40,
        phy in prop::sample::select(vec!["802.11n", "802.11ac", "802.11ax"]),
        mcs in 0_u32..8,
        queue in prop::sample::select(vec![
            "{ kind = \"shared-fifo\", limit = 1 }", "{ kind = \"shared-fifo\", limit = 5000 }", "{ kind = \"mac80211\" }",
            "{ kind = \"mac80211\", rx_airtime = false }", "{ kind = \"mac80211\", airtime = false, limit = 1 }",
        ]),
        error in prop::sample::select(vec![0.0, 0.3, 0.99, 1.0]),
        delay in prop::sample::select(vec![0, 5, 1000]),
        window in prop::sample::select(vec![1, 40, 2730]),
        aggregation in prop::sample::select(vec!["", "aggregation = \"off\"\n", "edca = { stations = { be = { aifsn = 15 } } }\n"]),
    ) {
        prop_assume!(up + down > 0);
        let radio = format!(
            "[radio]\nphy = \"{phy}\"\nmcs = {mcs}\nframe_error = {error:?}\n{aggregation}[ap]\nqueue = {queue}\n\
             [wire]\ndelay = \"{delay} ms\"\n[tcp]\nwindow = {window}\n"
        );
        let cell = Cell::of(&scenario(&(radio + &stations(up, down)))).unwrap();
        let answer = cell.solve();
        for flow in &answer.flows {
            // 80 MHz MCS 7 carries no more than 33,000 packets of 1460 B.
            prop_assert!((0.0..33_000.0).contains(&flow.goodput) && (0.0..=1.0).contains(&flow.loss), "{flow:?}");
            prop_assert!(flow.least <= flow.goodput * (1.0 + 1e-9), "{flow:?}");
        }
        prop_assert!(answer.packets.is_finite());
    }
}
