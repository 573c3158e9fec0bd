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
/// A limit is news when it differs from the present one by more than this share.
const NEWS: f64 = 0.2;
/// What is left of a rate that has fallen after one look (half a second).
const DECAY: f64 = 0.7;

/// How much may wait in a class.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "Spelling", into = "Spelling")]
pub enum QueueRule {
    /// So many packets, at least 1 (detti2011: 200).
    Packets(usize),
    /// [`QUEUE_TIME`] at the rate that the class has, or would have if it had more to send.
    Auto,
}

/// As files and results have it: a number, or a word.
#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum Spelling {
    Packets(usize),
    Word(Word),
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Word {
    Auto,
}

impl From<Spelling> for QueueRule {
    fn from(spelling: Spelling) -> Self {
        match spelling {
            Spelling::Packets(limit) => QueueRule::Packets(limit),
            Spelling::Word(Word::Auto) => QueueRule::Auto,
        }
    }
}

impl From<QueueRule> for Spelling {
    fn from(rule: QueueRule) -> Self {
        match rule {
            QueueRule::Packets(limit) => Spelling::Packets(limit),
            QueueRule::Auto => Spelling::Word(Word::Auto),
        }
    }
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

    #[test]
    fn small_changes_are_no_news_and_rates_fall_slowly() {
        assert!(!is_news(Bytes(100), Bytes(119)) && !is_news(Bytes(100), Bytes(81)));
        assert!(is_news(Bytes(100), Bytes(121)) && is_news(Bytes(100), Bytes(79)));
        assert_eq!([smoothed(10.0, 20.0), smoothed(10.0, 0.0)].map(|rate| rate.round() as u64), [20, 7]);
    }
}
