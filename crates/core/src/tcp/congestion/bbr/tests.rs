//! BBR by rule: samples in, window and rate out. A segment has 1000 bytes, the path 1 segment a millisecond and 40 ms.

use super::super::Rate;
use super::*;

const MSS: u32 = 1000;
const RTT: Duration = Duration::from_millis(40);

fn at(ms: u64) -> Instant {
    Instant::ZERO + Duration::from_millis(ms)
}

/// A connection whose acknowledgements are the test's.
struct Path {
    bbr: Bbr,
    cwnd: u32,
    delivered: u64,
    now: u64,
}

impl Path {
    fn new() -> Self {
        let mut bbr = Bbr::new(MSS, Rng::fork(1, "bbr"));
        bbr.start(at(0), 10, Some(RTT));
        Path { bbr, cwnd: 10, delivered: 1, now: 0 }
    }

    /// In the steady state, with the first phase ahead.
    fn steady() -> Self {
        let mut path = Path::new();
        path.bbr.full = true;
        path.bbr.bandwidth.take(BANDWIDTH_ROUNDS, 0, Bandwidth::of(1, Duration::from_millis(1)).0);
        path.bbr.enter_probe_bw(at(0));
        path.bbr.phase = 2;
        path.bbr.update_gains();
        path.round(1, 40);
        path
    }

    fn sample(&self, rate: Option<Rate>) -> Sample {
        Sample {
            rate,
            rtt: Some(RTT),
            delivered: self.delivered,
            lost: 0,
            delivered_at: at(self.now),
            losses: 0,
            prior_in_flight: self.cwnd,
            in_flight: self.cwnd,
            repair: Repair::Nothing,
            release: at(self.now),
        }
    }

    /// One acknowledgement of `segments`, `ms` after the last one, as `change` has it.
    fn ack(&mut self, ms: u64, segments: u32, change: impl FnOnce(&mut Sample)) {
        self.now += ms;
        self.delivered += u64::from(segments);
        let rate = Rate { delivered: 1, interval: RTT, prior_delivered: 0, limited: false };
        let mut sample = self.sample(Some(rate));
        change(&mut sample);
        let ack = Ack { now: at(self.now), segments, srtt: Some(RTT), sample: Some(sample) };
        self.cwnd = self.bbr.on_ack(&ack, &sample, self.cwnd);
    }

    /// A round trip, told by one acknowledgement, in which `segments` came at `per_round` in 40 ms.
    fn round(&mut self, segments: u32, per_round: u64) {
        let prior_delivered = self.delivered;
        self.ack(40, segments, |sample| {
            sample.rate = Some(Rate { delivered: per_round, interval: RTT, prior_delivered, limited: false });
        });
    }

    /// Pacing against the rate of the path, in thousandths.
    fn pace(&self) -> u64 {
        self.bbr.pacing().unwrap().rate / 1000
    }
}

#[test]
fn pacing_starts_with_a_window_in_a_round_trip_times_two_over_ln_two() {
    // 10 segments in 40 ms: 250 kB/s; times 2.887, less 1 %.
    assert_eq!(Path::new().pace(), 714);
    let mut unknown = Bbr::new(MSS, Rng::fork(1, "bbr"));
    assert_eq!(unknown.pacing(), None);
    unknown.start(at(0), 10, None);
    assert_eq!(unknown.pacing().unwrap().rate / 1000, 28_578, "1 ms where no round trip is known");
    assert_eq!(unknown.bdp(Bandwidth::of(9, RTT), UNIT), 10);
}

#[test]
fn start_up_ends_after_three_rounds_without_a_quarter_more() {
    let mut path = Path::new();
    for (round, rate) in [10, 20, 40, 45, 49].into_iter().enumerate() {
        path.round(10, rate);
        assert_eq!(path.bbr.mode, Mode::Startup, "round {round}");
    }
    assert_eq!(path.cwnd, 60, "by segments acknowledged");
    path.round(10, 49);
    assert_eq!(path.bbr.mode, Mode::Drain);
    // 49 segments a round trip, times 88/256.
    assert_eq!(path.pace(), 416);
    // 49 and three bursts of two, rounded up: the queue is gone with 56 in flight.
    path.ack(1, 1, |sample| sample.in_flight = 57);
    assert_eq!(path.bbr.mode, Mode::Drain);
    path.ack(1, 1, |sample| sample.in_flight = 56);
    assert_eq!(path.bbr.mode, Mode::ProbeBw);
    assert_ne!(path.bbr.phase, 1, "the cycle does not start with the slow phase");
}

#[test]
fn rates_that_the_sender_limited_count_only_as_a_maximum() {
    let mut path = Path::new();
    path.round(10, 40);
    let limited = |delivered| {
        move |sample: &mut Sample| {
            sample.rate = Some(Rate { delivered, interval: RTT, prior_delivered: 99, limited: true });
        }
    };
    for _ in 0..20 {
        path.ack(40, 1, limited(20));
    }
    assert_eq!(path.bbr.max_bandwidth(), Bandwidth::of(40, RTT), "not even by age");
    assert!(!path.bbr.full);
    path.ack(40, 1, limited(50));
    assert_eq!(path.bbr.max_bandwidth(), Bandwidth::of(50, RTT));
}

#[test]
fn the_window_is_two_products_and_three_bursts_more() {
    let mut path = Path::steady();
    for _ in 0..80 {
        path.ack(1, 2, |_| {});
    }
    // 2 x 40 + 3 x 2, and two more while the path is probed for more; aggregates come on top.
    let extra = path.bbr.aggregation.extra(path.bbr.bandwidth());
    let probe = if path.bbr.phase == 0 { 2 } else { 0 };
    assert_eq!(path.cwnd, (86 + extra).next_multiple_of(2) + probe);
}

#[test]
fn the_gains_go_round_a_phase_a_round_trip() {
    let mut path = Path::steady();
    let mut rates = vec![];
    for _ in 0..9 {
        rates.push(path.pace());
        // Full enough for the first phase, too full for the second to end early.
        path.ack(41, 1, |sample| sample.prior_in_flight = 100);
    }
    assert_eq!(rates, [989, 989, 989, 989, 989, 989, 1237, 742, 989]);
}

#[test]
fn more_is_tried_until_it_is_in_flight_or_lost_and_less_until_the_queue_is_gone() {
    let probing = || {
        let mut path = Path::steady();
        path.bbr.phase = 0;
        path.bbr.update_gains();
        path
    };
    let mut path = probing();
    path.ack(41, 1, |sample| sample.prior_in_flight = 40);
    assert_eq!(path.bbr.phase, 0, "never mind the time");
    path.ack(1, 1, |sample| sample.losses = 1);
    assert_eq!(path.bbr.phase, 1);
    path.ack(1, 1, |sample| sample.prior_in_flight = 60);
    assert_eq!(path.bbr.phase, 1);
    path.ack(1, 1, |sample| sample.prior_in_flight = 46);
    assert_eq!(path.bbr.phase, 2, "no longer than it takes");
    // 1.25 x 40 + 3 x 2 + 2 = 58; the burst that goes next counts.
    let mut path = probing();
    path.ack(41, 1, |sample| sample.prior_in_flight = 55);
    assert_eq!(path.bbr.phase, 0);
    path.ack(1, 1, |sample| sample.prior_in_flight = 56);
    assert_eq!(path.bbr.phase, 1);
}

#[test]
fn what_pacing_holds_back_until_the_next_burst_has_left_the_network_by_then() {
    let path = Path::steady();
    let mut sample = path.sample(None);
    // A millisecond more than ten segments take: bandwidths are cut to 24 digits.
    sample.release = at(path.now + 11);
    assert_eq!(path.bbr.in_net(at(path.now), &sample, 30), 20);
    assert_eq!(path.bbr.in_net(at(path.now), &sample, 5), 0);
}

#[test]
fn a_round_trip_is_believed_for_ten_seconds_then_four_segments_look_for_it() {
    let mut path = Path::steady();
    while path.now < 10_000 {
        path.ack(10, 2, |sample| sample.rtt = Some(RTT * 2));
        assert_eq!(path.bbr.mode, Mode::ProbeBw);
        assert_eq!(path.bbr.min_rtt, Some(RTT));
    }
    let before = path.cwnd;
    path.ack(10, 2, |sample| sample.rtt = Some(RTT * 2));
    assert_eq!((path.bbr.mode, path.cwnd, path.pace()), (Mode::ProbeRtt, 4, 989));
    assert_eq!(path.bbr.min_rtt, Some(RTT * 2), "whatever it is, the old one is forgotten");
    // In flight are still more than four: the 200 ms have not begun.
    path.ack(300, 2, |sample| sample.in_flight = 5);
    path.ack(10, 2, |sample| {
        sample.in_flight = 4;
        sample.rtt = Some(RTT);
    });
    for _ in 0..20 {
        path.ack(10, 1, |sample| sample.in_flight = 4);
        assert_eq!((path.bbr.mode, path.cwnd), (Mode::ProbeRtt, 4));
    }
    // A round trip has to be over, too.
    path.ack(10, 1, |_| {});
    assert_eq!(path.bbr.mode, Mode::ProbeRtt);
    path.round(1, 40);
    assert_eq!((path.bbr.mode, path.bbr.min_rtt), (Mode::ProbeBw, Some(RTT)));
    assert!(path.cwnd >= before.min(86), "{} of {before}", path.cwnd);
}

#[test]
fn recovery_sends_what_arrives_for_a_round_then_doubles_and_restores() {
    let mut path = Path::steady();
    for _ in 0..60 {
        path.ack(1, 2, |_| {});
    }
    let before = path.cwnd;
    path.bbr.save_window(path.cwnd);
    let repair = |losses, in_flight| {
        move |sample: &mut Sample| {
            (sample.repair, sample.losses, sample.in_flight) = (Repair::Loss, losses, in_flight);
        }
    };
    path.ack(1, 1, repair(30, 40));
    assert_eq!(path.cwnd, 41, "what is in flight, and one for the one that came");
    path.ack(1, 1, repair(0, 39));
    assert_eq!(path.cwnd, 41);
    path.ack(1, 2, repair(0, 42));
    assert_eq!(path.cwnd, 44);
    // The next round: two for each, less the losses.
    let prior_delivered = path.delivered;
    path.ack(38, 1, |sample| {
        repair(3, 40)(sample);
        sample.rate = Some(Rate { delivered: 40, interval: RTT, prior_delivered, limited: false });
    });
    assert_eq!(path.cwnd, 42);
    path.ack(1, 1, |_| {});
    assert!(path.cwnd >= before, "{} of {before}", path.cwnd);
}

#[test]
fn a_timeout_forgets_that_the_pipe_grew_and_gives_the_window_back_afterwards() {
    let mut path = Path::new();
    for rate in [10, 20, 40] {
        path.round(20, rate);
    }
    assert_eq!(path.cwnd, 70);
    path.bbr.on_timeout(path.cwnd);
    path.cwnd = 1;
    path.ack(1, 1, |sample| sample.repair = Repair::Timeout);
    assert_eq!(path.cwnd, 4, "never less");
    assert_eq!(path.bbr.full_bandwidth, Bandwidth::default());
    path.ack(1, 1, |_| {});
    assert_eq!(path.cwnd, 71);
}

#[test]
fn acknowledgements_that_come_together_widen_the_window() {
    let mut path = Path::steady();
    for _ in 0..20 {
        path.ack(1, 1, |_| {});
    }
    let bandwidth = path.bbr.bandwidth();
    let smooth = path.bbr.aggregation.extra(bandwidth);
    assert!(smooth <= 2, "{smooth}");
    // Nothing for 20 ms, then 20 at once.
    for _ in 0..5 {
        path.ack(20, 20, |_| {});
    }
    let extra = path.bbr.aggregation.extra(bandwidth);
    assert!((18..=22).contains(&extra), "{extra}");
    path.ack(1, 150, |_| {});
    assert!(path.bbr.aggregation.extra(bandwidth) <= 100, "not more than 100 ms are worth");
    // What came early is made up for by half the rate, and ten rounds later it is forgotten.
    for _ in 0..20 {
        for _ in 0..19 {
            path.ack(2, 1, |_| {});
        }
        path.round(1, 40);
    }
    let extra = path.bbr.aggregation.extra(bandwidth);
    assert!(extra <= 3, "{extra}");
}

#[test]
fn two_lossy_intervals_of_one_rate_are_a_policer() {
    let mut path = Path::steady();
    let mut lost = 0;
    // A quarter of the segments is lost, the rate is half of the largest.
    let mut rounds = |path: &mut Path, n| {
        for _ in 0..n {
            let prior_delivered = path.delivered;
            lost += 6;
            path.ack(40, 20, |sample| {
                sample.rate = Some(Rate { delivered: 20, interval: RTT, prior_delivered, limited: false });
                (sample.losses, sample.lost) = (6, lost);
            });
        }
    };
    rounds(&mut path, 7);
    assert_eq!(path.bbr.policer.rate(), None, "one interval of four rounds");
    rounds(&mut path, 1);
    let rate = path.bbr.policer.rate().expect("two");
    assert_eq!(rate, Bandwidth::of(20, RTT));
    assert_eq!(path.bbr.pacing_gain, UNIT);
    rounds(&mut path, 47);
    assert_eq!(path.bbr.policer.rate(), Some(rate));
    rounds(&mut path, 1);
    assert_eq!(path.bbr.policer.rate(), None, "after 48 rounds the path is probed again");
}
