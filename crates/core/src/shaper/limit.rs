//! How long the queue of a class may be: a time, not a number of packets.

use serde::{Deserialize, Serialize};

use crate::units::{Bitrate, Bytes, Duration};

/// Queue of a class with [`QueueRule::Auto`], at the class's rate.
///
/// A Reno flow keeps its class busy over a round trip of `rtt` if the queue holds `rtt` too, a CUBIC flow with 0.43
/// `rtt` (RFC 9438, beta 0.7).
pub const QUEUE_TIME: Duration = Duration::from_millis(50);
/// Least queue of a class with [`QueueRule::Auto`], in packets of the largest size: a slow class can recover from a loss by
/// three duplicate ACKs.
pub const LEAST_PACKETS: u64 = 8;
/// A connection's queue may hold so many packets of the largest size, however many there are: fewer than four packets under
/// way cannot show a loss by three duplicate ACKs.
const LEAST_A_FLOW: u64 = 4;
/// Queues of connections grow until the class holds this share of its limit, by this factor a look at most.
const ROOMY: f64 = 0.8;
const GROWS: f64 = 2.0;
/// A limit is changed when the new one differs by more than this share.
const NEWS: f64 = 0.2;
/// What is left of a rate that has fallen after one look (half a second).
const DECAY: f64 = 0.7;

/// How much may wait in a class: a number, or a word, as files and results have it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum QueueRule {
    /// [`QUEUE_TIME`] at the rate that the class has, or would have if it had more to send.
    Auto,
    /// So many packets, at least 1 (detti2011: 200).
    #[serde(untagged)]
    Packets(usize),
}

/// What a class asks of the capacity.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Demand {
    /// Its share against the others'; above 0.
    pub weight: f64,
    /// What it sends, in bit/s, IP bytes of both directions.
    pub rate: f64,
    /// Most that it gets.
    pub cap: Option<Bitrate>,
}

impl Default for Demand {
    fn default() -> Self {
        Demand { weight: 1.0, rate: 0.0, cap: None }
    }
}

/// The rate, in bit/s for a weight of 1, that a class with much to send would get beside `demands`: max-min fairness of
/// `capacity` between them and one more class of weight 1.
pub fn fair_level(capacity: Bitrate, demands: &[Demand]) -> f64 {
    let mut sated: Vec<_> = demands.iter().map(|demand| (demand.rate / demand.weight, demand)).collect();
    sated.sort_by(|(a, _), (b, _)| a.total_cmp(b));
    let (mut left, mut weights) = (capacity.as_bps() as f64, 1.0 + demands.iter().map(|own| own.weight).sum::<f64>());
    for (level, demand) in sated {
        if level * weights >= left {
            break;
        }
        left -= demand.rate;
        weights -= demand.weight;
    }
    left.max(0.0) / weights
}

/// The queue of a class with [`QueueRule::Auto`], given the `level` of its pool: whole packets, of
/// the `largest` size.
pub fn limit(level: f64, demand: &Demand, largest: Bytes) -> Bytes {
    let rate = demand.rate.max(level * demand.weight);
    let rate = demand.cap.map_or(rate, |cap| rate.min(cap.as_bps() as f64));
    let packets = (rate / 8.0 * QUEUE_TIME.as_secs_f64() / largest.0 as f64).ceil() as u64;
    Bytes(packets.max(LEAST_PACKETS) * largest.0)
}

/// Most that a class holds whose limit is `limit`, while `busy` of its queues for connections have packets: each may hold
/// `LEAST_A_FLOW` of the `largest` size.
pub fn limit_of_flows(limit: Bytes, busy: usize, largest: Bytes) -> Bytes {
    limit.max(Bytes(LEAST_A_FLOW * busy as u64 * largest.0))
}

/// The limit of each queue for connections where the kernel has none for all of them together, by what the class `held` with
/// the limit `before`: so that it comes to hold `limit`, in all.
pub fn limit_of_each(before: Bytes, limit: Bytes, held: Bytes, largest: Bytes) -> Bytes {
    let least = Bytes(LEAST_A_FLOW * largest.0).min(limit);
    let (now, held, wanted) = (before.0 as f64, held.0 as f64, limit.0 as f64);
    let next = if held > wanted {
        now * wanted / held
    } else if held < ROOMY * wanted {
        now * GROWS.min(ROOMY * wanted / held)
    } else {
        now
    };
    Bytes(next as u64).clamp(least, limit)
}

/// Whether it is worth while to change a limit from `old` to `new`.
pub fn is_news(old: Bytes, new: Bytes) -> bool {
    (new.0 as f64 - old.0 as f64).abs() > NEWS * old.0 as f64
}

/// A rate that follows what was measured quickly up and slowly down: a loss must not shorten the queue.
pub fn smoothed(before: f64, measured: f64) -> f64 {
    measured.max(before * DECAY)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn demand(weight: f64, rate: f64) -> Demand {
        Demand { weight, rate, cap: None }
    }

    #[test]
    fn an_idle_pool_gives_all_to_who_comes() {
        assert_eq!(fair_level(Bitrate::mbps(200), &[]).round() as u64, 200_000_000);
        assert_eq!(fair_level(Bitrate::mbps(200), &[demand(1.0, 0.0); 50]).round() as u64, 200_000_000);
    }

    #[test]
    fn a_newcomer_shares_with_who_sends_much_and_not_with_who_sends_little() {
        let level = fair_level(Bitrate::mbps(200), &[demand(1.0, 40e6); 5]);
        assert_eq!(level.round() as u64, 33_333_333);
        let mut demands = vec![demand(1.0, 0.02e6); 1000];
        demands.push(demand(1.0, 180e6));
        assert_eq!(fair_level(Bitrate::mbps(200), &demands).round() as u64, 90_000_000);
        // Weights 3 and 1 on C = 20 Mbit/s, and the newcomer.
        assert_eq!(fair_level(Bitrate::mbps(20), &[demand(3.0, 15e6), demand(1.0, 5e6)]).round() as u64, 4_000_000);
    }

    #[test]
    fn a_queue_is_a_time_with_a_least_number_of_packets() {
        let shared = [demand(1.0, 40e6); 5];
        let level = fair_level(Bitrate::mbps(200), &shared);
        let packet = Bytes(1500);
        assert_eq!(limit(level, &shared[0], packet), Bytes(250_500));
        assert_eq!(limit(0.0, &demand(1.0, 1e6), packet), Bytes(12_000));
        let capped = Demand { cap: Some(Bitrate::mbps(4)), ..demand(1.0, 0.0) };
        assert_eq!(limit(200e6, &capped, packet), Bytes(25_500));
    }

    /// Eight flows with equal queues come to hold what the class may, and one that is left has all of it again soon.
    #[test]
    fn limits_of_queues_follow_the_number_of_flows() {
        let (limit, packet) = (Bytes(150_000), Bytes(1500));
        let settle = |mut each: Bytes, flows: u64, looks: u32| {
            for _ in 0..looks {
                each = limit_of_each(each, limit, Bytes(each.0 * flows), packet);
            }
            each
        };
        assert_eq!(settle(limit, 1, 100), limit);
        let eight = settle(limit, 8, 2);
        assert_eq!(eight, Bytes(18_750));
        assert_eq!(settle(eight, 8, 100), eight);
        // A flow that fills its queue at every look is left with four fifths, one of TCP has all.
        assert_eq!(settle(eight, 1, 4), Bytes(120_000));
        assert_eq!(limit_of_each(Bytes(120_000), limit, Bytes(90_000), packet), Bytes(160_000).min(limit));
        // A slow class: four packets a flow.
        assert_eq!(limit_of_each(Bytes(12_000), Bytes(12_000), Bytes(96_000), packet), Bytes(6000));
        assert_eq!(limit_of_flows(Bytes(12_000), 8, packet), Bytes(48_000));
        assert_eq!(limit_of_flows(limit, 8, packet), limit);
    }

    #[test]
    fn small_changes_are_no_news_and_rates_fall_slowly() {
        assert!(!is_news(Bytes(100), Bytes(119)) && !is_news(Bytes(100), Bytes(81)));
        assert!(is_news(Bytes(100), Bytes(121)) && is_news(Bytes(100), Bytes(79)));
        assert_eq!([smoothed(10.0, 20.0), smoothed(10.0, 0.0)].map(|rate| rate.round() as u64), [20, 7]);
    }
}
