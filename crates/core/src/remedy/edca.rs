//! `edca`: contention windows that the AP advertises to stations, so that the AP gets the accesses that its traffic needs.

use crate::mac::{AccessParams, EdcaParams};
use crate::packet::{Category, Direction};
use crate::qdisc::QdiscSpec;
use crate::scenario::Scenario;

/// The largest window that the rule gives: hostapd's CWmax for best effort.
const LARGEST: u32 = 1023;

/// Accesses that the AP needs for each access of a sending station, so that all stations have as much data on the air: one for each
/// station that receives, and half of one for each that sends, since an ACK stands for two segments and an A-MPDU of ACKs holds as
/// many frames as one of data. An AP that charges received air makes ACKs wait until the receivers have had theirs, so that they
/// need no accesses of their own. Traffic other than TCP counts as TCP.
fn needed(scenario: &Scenario) -> f64 {
    let with = |direction| {
        scenario.stations.iter().filter(|station| station.flows.iter().any(|flow| flow.direction == direction)).count()
    };
    let charges = matches!(scenario.ap.queue, QdiscSpec::Mac80211(params) if params.airtime && params.rx_airtime);
    with(Direction::Down) as f64 + if charges { 0.0 } else { with(Direction::Up) as f64 / 2.0 }
}

/// CWmin and AIFSN of stations where the AP shares air and charges no received air. It then gives a station that sends as many turns for
/// its ACKs as one that receives for its data, so that it needs an access for each. One more slot of AIFS does in such a cell what a
/// window of 1.4 times does (4 + 4 to 15 + 15 stations of 802.11ac), so that windows come in half steps.
fn uncharged(scenario: &Scenario, ap: AccessParams, stations: AccessParams) -> Option<(u32, u32)> {
    let QdiscSpec::Mac80211(params) = scenario.ap.queue else { return None };
    if !params.airtime || params.rx_airtime {
        return None;
    }
    let active = scenario.stations.iter().filter(|station| !station.flows.is_empty()).count();
    let halves = (2.0 * (f64::from(ap.cw_min + 1) * active as f64).log2()).round() as u32;
    let window = (1 << (halves / 2)) - 1;
    (stations.cw_min..=LARGEST).contains(&window).then_some((window, stations.aifsn + halves % 2))
}

/// The windows of best effort at stations by the rule: those of the AP times [`needed`], rounded up to a window of EDCA, and never below
/// what the cell has; [`uncharged`] has its own. Without stations that send nothing changes.
pub(super) fn by_rule(scenario: &Scenario, edca: EdcaParams) -> EdcaParams {
    let sends = scenario.flows().any(|(_, flow)| flow.direction == Direction::Up);
    let mut edca = edca;
    let be = Category::BestEffort.index();
    let slots = f64::from(edca.ap[be].cw_min + 1) * needed(scenario);
    let stations = &mut edca.stations[be];
    if sends {
        let window = (slots.ceil() as u32).max(1).next_power_of_two() - 1;
        let usual = (window.clamp(stations.cw_min, LARGEST.max(stations.cw_min)), stations.aifsn);
        (stations.cw_min, stations.aifsn) = uncharged(scenario, edca.ap[be], *stations).unwrap_or(usual);
        stations.cw_max = stations.cw_max.max(stations.cw_min);
    }
    edca
}

/// Lines of hostapd.conf for best effort: its own queue, and what it advertises. hostapd writes windows of its queue as numbers and
/// advertised ones as exponents, a burst in ms and an advertised TXOP limit in units of 32 us.
pub fn hostapd(edca: &EdcaParams) -> Vec<String> {
    let be = Category::BestEffort.index();
    let (AccessParams { aifsn, cw_min, cw_max, txop }, stations) = (edca.ap[be], edca.stations[be]);
    let exponent = |window: u32| (window + 1).trailing_zeros();
    vec![
        format!("tx_queue_data2_aifs={aifsn}"),
        format!("tx_queue_data2_cwmin={cw_min}"),
        format!("tx_queue_data2_cwmax={cw_max}"),
        format!("tx_queue_data2_burst={:.1}", txop.as_secs_f64() * 1e3),
        format!("wmm_ac_be_aifs={}", stations.aifsn),
        format!("wmm_ac_be_cwmin={}", exponent(stations.cw_min)),
        format!("wmm_ac_be_cwmax={}", exponent(stations.cw_max)),
        format!("wmm_ac_be_txop_limit={}", stations.txop.as_nanos() / 32_000),
    ]
}

/// The same as commands of OpenWrt: a radio's `hostapd_options` are lines that OpenWrt adds to the hostapd.conf that it writes.
pub fn uci(edca: &EdcaParams) -> Vec<String> {
    let options =
        hostapd(edca).into_iter().map(|line| format!("uci add_list wireless.radio0.hostapd_options='{line}'"));
    options.chain(["uci commit wireless".to_owned(), "wifi reload".to_owned()]).collect()
}

#[cfg(test)]
mod tests {
    use super::super::{Remedy, cautions};
    use super::*;
    use crate::units::Duration;

    fn cell(radio: &str, up: u32, down: u32) -> Scenario {
        let text = format!(
            "name = \"cell\"\n[run]\nduration = \"10 s\"\n[radio]\n{radio}\n\
             [[station]]\nname = \"u\"\ncount = {up}\nflows = [{{ direction = \"up\" }}]\n\
             [[station]]\nname = \"d\"\ncount = {down}\nflows = [{{ direction = \"down\" }}]\n"
        );
        Scenario::from_toml(&text, "cell.toml").unwrap()
    }

    fn windows(scenario: &Scenario) -> (u32, u32) {
        let be = Category::BestEffort.index();
        let edca = Remedy::named("edca").unwrap().applied(scenario).radio.qos.unwrap().edca;
        (edca.ap[be].cw_min, edca.stations[be].cw_min)
    }

    #[test]
    fn the_window_of_stations_grows_with_what_the_ap_has_to_send() {
        let ac = |up, down| windows(&cell("phy = \"802.11ac\"", up, down));
        assert_eq!(ac(1, 1), (15, 31), "24 slots");
        assert_eq!(ac(5, 5), (15, 127), "120 slots");
        assert_eq!(ac(10, 10), (15, 255), "240 slots");
        assert_eq!(ac(100, 100), (15, 1023), "hostapd's CWmax ends it");
        let linux = |up, down| windows(&cell("phy = \"802.11ac\"\n[ap]\nqueue = { kind = \"mac80211\" }", up, down));
        assert_eq!([linux(1, 1), linux(5, 5), linux(9, 1)], [(15, 15), (15, 127), (15, 15)], "16 slots a receiver");
        let told = |stations: u32| {
            let ap = "phy = \"802.11ac\"\n[ap]\nqueue = { kind = \"mac80211\", rx_airtime = false }";
            let applied = Remedy::named("edca").unwrap().applied(&cell(ap, stations, stations));
            let told = applied.radio.qos.unwrap().edca.stations[Category::BestEffort.index()];
            (told.cw_min, told.aifsn)
        };
        assert_eq!(
            [1, 2, 5, 10, 15].map(told),
            [(31, 3), (63, 3), (127, 4), (255, 4), (511, 3)],
            "received air not charged"
        );
        let own = "phy = \"802.11ac\"\n[radio.edca]\nstations = { be = { cw_min = 511 } }";
        assert_eq!(windows(&cell(own, 5, 5)), (15, 511), "a window is not made smaller");
    }

    #[test]
    fn a_cell_without_edca_or_without_uploads_stays_as_it_is() {
        let edca = Remedy::named("edca").unwrap();
        let old = cell("phy = \"802.11g\"", 2, 2);
        assert_eq!(edca.applied(&old), old);
        let text = "name = \"c\"\n[run]\nduration = \"1 s\"\n[radio]\nphy = \"802.11n\"\n[[station]]\nname = \"d\"\ncount = 9\nflows = [{ direction = \"down\" }]\n";
        let receiving = Scenario::from_toml(text, "c.toml").unwrap();
        assert_eq!(edca.applied(&receiving), receiving);
        assert!(cautions(&edca.applied(&receiving)).is_empty());
    }

    #[test]
    fn hostapd_gets_numbers_for_its_queue_and_exponents_for_stations() {
        let mut edca = EdcaParams::OPENWRT;
        let be = Category::BestEffort.index();
        (edca.stations[be].cw_min, edca.stations[be].txop) = (127, Duration::from_micros(94 * 32));
        let lines = hostapd(&edca);
        assert_eq!(
            lines[..4],
            ["tx_queue_data2_aifs=3", "tx_queue_data2_cwmin=15", "tx_queue_data2_cwmax=63", "tx_queue_data2_burst=2.0"]
        );
        assert_eq!(
            lines[4..],
            ["wmm_ac_be_aifs=3", "wmm_ac_be_cwmin=7", "wmm_ac_be_cwmax=10", "wmm_ac_be_txop_limit=94"]
        );
        assert_eq!(uci(&edca)[5], "uci add_list wireless.radio0.hostapd_options='wmm_ac_be_cwmin=7'");
    }
}
