//! Commands of an access point with Linux that give it the queue and the uplink limiter of a scenario.

use crate::ap::{LimiterCapacity, LimiterShare};
use crate::qdisc::{FqCodelParams, Mac80211Params, QdiscSpec};
use crate::scenario::Scenario;

/// Where a driver that reports air is told what of it counts: bit 0 what it sends, bit 1 what it receives (`net/mac80211/debugfs.c`).
const FLAGS: &str = "/sys/kernel/debug/ieee80211/phy0/airtime_flags";

/// Before a queue that `tc` sets.
const BELOW: &str = "# Only where `tc qdisc show dev wlan0` does not say noqueue: else the driver queues in mac80211, and this does nothing";

/// What an access point with another queue needs to have that of mac80211.
const DRIVER: &str = "; the driver has to queue in mac80211: `tc qdisc show dev wlan0` says noqueue";

/// Bytes of an Ethernet header, which the limiter does not count, and the longest frame.
const ETHERNET: usize = 14;
const FRAME: usize = 1514;

/// Commands for the first radio, whose interface is `wlan0`, and for the interface to the gateway, `eth0`; none for what is as before, or what
/// Linux does not have.
pub(super) fn commands(scenario: &Scenario, applied: &Scenario) -> Vec<String> {
    let mut lines = queue(scenario, applied);
    lines.extend(limiter(scenario, applied));
    lines
}

/// Half of a given R is a token bucket; its overhead makes the rate one of IP bytes.
fn limiter(scenario: &Scenario, applied: &Scenario) -> Option<String> {
    let own = applied.ap.uplink_limiter.filter(|own| Some(*own) != scenario.ap.uplink_limiter)?;
    let (LimiterCapacity::Given(capacity), LimiterShare::Half) = (own.capacity, own.share) else { return None };
    let (rate, burst) = (capacity.as_bps() / 2, own.burst.0 as usize + ETHERNET);
    let limit = applied.ap.uplink_queue * FRAME;
    Some(format!(
        "tc qdisc replace dev eth0 root stab overhead -{ETHERNET} tbf rate {rate}bit burst {burst} limit {limit}  # eth0: towards the gateway"
    ))
}

fn queue(scenario: &Scenario, applied: &Scenario) -> Vec<String> {
    let (before, after) = (scenario.ap.queue, applied.ap.queue);
    if before == after {
        return Vec::new();
    }
    match after {
        QdiscSpec::Mac80211(params) => {
            let usual = Mac80211Params::default();
            let was = match before {
                QdiscSpec::Mac80211(was) => was,
                _ => usual,
            };
            let mut lines = Vec::new();
            if params.limit != was.limit {
                lines.push(format!("iw phy phy0 set txq limit {}", params.limit));
            }
            // Drivers differ in what they report, so that this is said whatever was before.
            let (flags, says) = match (params.airtime, params.rx_airtime) {
                (false, _) => (0, "no airtime fairness; a driver without this file has none"),
                (true, false) => (1, "received air is not charged"),
                (true, true) => (3, "needs a driver that reports the air of both directions"),
            };
            let needs = if matches!(before, QdiscSpec::Mac80211(_)) { "" } else { DRIVER };
            lines.push(format!("echo {flags} > {FLAGS}  # {says}{needs}"));
            lines
        }
        QdiscSpec::FqCodel(FqCodelParams { limit, target, .. }) => {
            let target = target.as_nanos() / 1000;
            vec![BELOW.to_owned(), format!("tc qdisc replace dev wlan0 root fq_codel limit {limit} target {target}us")]
        }
        QdiscSpec::Droptail { limit } => {
            vec![BELOW.to_owned(), format!("tc qdisc replace dev wlan0 root pfifo limit {limit}")]
        }
        _ => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What a plan proves without airtime fairness is another cell with it.
    #[test]
    fn what_the_queue_needs_of_the_kernel_is_said() {
        let with = |queue: &str| {
            let text = format!(
                "name = \"x\"\nrun.duration = \"9 s\"\nradio.phy = \"802.11ac\"\n[ap]\nqueue = {queue}\n\
                 [[station]]\nname = \"a\"\nflows = [{{ direction = \"up\" }}]\n"
            );
            Scenario::from_toml(&text, "x.toml").unwrap()
        };
        let fifo = with("{ kind = \"shared-fifo\", limit = 300 }");
        let told = |queue: &str| commands(&fifo, &with(queue));
        let [limit, flags] = &told("{ kind = \"mac80211\", airtime = false, limit = 108 }")[..] else { panic!() };
        assert_eq!(limit, "iw phy phy0 set txq limit 108");
        assert!(flags.starts_with("echo 0 > /sys/kernel/debug/ieee80211/phy0/airtime_flags"), "{flags}");
        assert!(
            flags.ends_with("has none; the driver has to queue in mac80211: `tc qdisc show dev wlan0` says noqueue")
        );
        let linux = with("{ kind = \"mac80211\" }");
        let off = commands(&linux, &with("{ kind = \"mac80211\", airtime = false }"));
        assert!(off[0].ends_with("a driver without this file has none"), "it has these queues: {off:?}");
        assert!(told("{ kind = \"mac80211\", rx_airtime = false }")[0].starts_with("echo 1 > "));
        assert!(told("{ kind = \"mac80211\" }")[0].starts_with("echo 3 > "));
        let codel = told("{ kind = \"fq-codel\", limit = 200, target = \"12.5 ms\" }");
        assert_eq!(codel, [BELOW, "tc qdisc replace dev wlan0 root fq_codel limit 200 target 12500us"]);
        assert_eq!(
            told("{ kind = \"droptail\", limit = 7 }"),
            [BELOW, "tc qdisc replace dev wlan0 root pfifo limit 7"]
        );
        assert!(told("{ kind = \"las\", limit = 7 }").is_empty() && commands(&fifo, &fifo).is_empty());
        let limited =
            |limiter: &str| told(&format!("{{ kind = \"droptail\", limit = 7 }}\nuplink_limiter = {{ {limiter} }}"));
        let [_, _, bucket] = &limited("capacity = \"21.9 Mbit/s\"")[..] else { panic!() };
        let expected = "tc qdisc replace dev eth0 root stab overhead -14 tbf rate 10950000bit burst 1514 limit";
        assert!(bucket.starts_with(expected), "{bucket}");
        assert_eq!(limited("capacity = \"auto\"").len(), 2, "Linux measures no R");
        assert_eq!(limited("capacity = \"21.9 Mbit/s\", share = \"flows\"").len(), 2, "Linux counts no flows");
    }
}
