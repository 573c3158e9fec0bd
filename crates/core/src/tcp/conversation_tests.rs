//! Sender and receiver as timed conversations: `ms`, what arrives, what goes out. Segments are numbered from 0.

use super::{Receiver, Sender, TcpParams, Variant};
use crate::packet::{Kind, NO_SACK, SackBlocks};
use crate::rng::Rng;
use crate::scenario::Preset;
use crate::units::{Duration, Instant};

const MSS: u32 = 1000;

fn params() -> TcpParams {
    TcpParams { mss: MSS, window: 20, initial_cwnd: 2, ..TcpParams::default() }
}

fn at(ms: u64) -> Instant {
    Instant::ZERO + Duration::from_millis(ms)
}

/// A sender whose peer is the test.
struct Host {
    sender: Sender,
    window: u32,
}

impl Host {
    /// The handshake took 100 ms.
    #[track_caller]
    fn established(params: TcpParams) -> Self {
        let mut host = Host::new(params);
        host.expect_syn(0);
        host.sender.handle_ack(at(100), Kind::SynAck, 0, host.window, &NO_SACK);
        host
    }

    fn new(params: TcpParams) -> Self {
        Host { sender: Sender::connect(&params, None, &mut Rng::fork(1, "host")), window: params.window * params.mss }
    }

    #[track_caller]
    fn expect_syn(&mut self, ms: u64) {
        assert_eq!(self.sender.poll_transmit(at(ms)).map(|t| t.kind), Some(Kind::Syn));
        assert_eq!(self.sender.poll_transmit(at(ms)), None);
    }

    /// The segments that go out at `ms`, all of them.
    #[track_caller]
    fn expect(&mut self, ms: u64, segments: &[u64]) {
        let mut sent = Vec::new();
        while let Some(t) = self.sender.poll_transmit(at(ms)) {
            assert_eq!((t.kind, t.payload), (Kind::Data, MSS));
            sent.push(t.seq / u64::from(MSS));
        }
        assert_eq!(sent, segments, "at {ms} ms");
    }

    /// An ACK for all segments below `next`.
    fn ack(&mut self, ms: u64, next: u64) {
        self.sack(ms, next, &[]);
    }

    fn sack(&mut self, ms: u64, next: u64, blocks: &[(u64, u64)]) {
        let mut sack: SackBlocks = NO_SACK;
        for (slot, block) in sack.iter_mut().zip(blocks) {
            *slot = (block.0 * u64::from(MSS), block.1 * u64::from(MSS));
        }
        self.sender.handle_ack(at(ms), Kind::Ack, next * u64::from(MSS), self.window, &sack);
    }

    /// Nothing happens before `ms`, then the retransmission timer fires.
    #[track_caller]
    fn timeout(&mut self, ms: u64) {
        assert_eq!(self.sender.poll_timeout(), Some(at(ms)));
        self.sender.handle_timeout(at(ms));
    }
}

#[test]
fn slow_start_doubles_per_round_trip_and_stops_at_the_receive_window() {
    let mut host = Host::established(TcpParams { window: 5, ..params() });
    host.expect(100, &[0, 1]);
    host.ack(200, 1);
    host.expect(200, &[2, 3]);
    host.ack(200, 2);
    host.expect(200, &[4, 5]);
    host.ack(300, 3);
    host.expect(300, &[6, 7]);
    host.ack(300, 4);
    host.expect(300, &[8]);
    host.ack(300, 5);
    host.expect(300, &[9]);
}

#[test]
fn a_cumulative_ack_of_many_segments_opens_the_window_once() {
    // detti2005 section 3: a lost ACK costs an upload nothing but the growth it would have brought.
    let mut host = Host::established(TcpParams { initial_cwnd: 4, ..params() });
    host.expect(100, &[0, 1, 2, 3]);
    host.ack(200, 4);
    host.expect(200, &[4, 5, 6, 7, 8]);
}

#[test]
fn three_duplicate_acks_repair_one_loss_without_a_timeout() {
    // Segment 2 of 0..8 is lost. RFC 5681: ssthresh = 8/2; RFC 3042: two duplicates release 8 and 9.
    let mut host = Host::established(TcpParams { initial_cwnd: 8, ..params() });
    host.expect(100, &[0, 1, 2, 3, 4, 5, 6, 7]);
    host.ack(200, 2);
    host.expect(200, &[8, 9, 10]);
    host.ack(201, 2);
    host.expect(201, &[11]);
    host.ack(202, 2);
    host.expect(202, &[12]);
    host.ack(203, 2);
    host.expect(203, &[2]);
    // cwnd 9 -> ssthresh 4; each further duplicate inflates by one: 4 + 3 + n must pass 11 outstanding.
    for ms in 204..208 {
        host.ack(ms, 2);
        host.expect(ms, &[]);
    }
    host.ack(208, 2);
    host.expect(208, &[13]);
    host.ack(300, 13);
    // Recovery is over at cwnd = min(ssthresh, flight + 1) = 2, then one ACK of slow start: 3.
    host.expect(300, &[14, 15]);
    assert_eq!(host.sender.stats().fast_retransmits, 1);
    assert_eq!(host.sender.stats().timeouts, 0);
}

/// Two losses in a window: segments 2 and 4 of 0..10.
fn two_losses(variant: Variant) -> Host {
    let mut host = Host::established(TcpParams { initial_cwnd: 10, limited_transmit: false, variant, ..params() });
    host.expect(100, &[0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
    host.ack(200, 2);
    host.expect(200, &[10, 11, 12]);
    for ms in 201..203 {
        host.ack(ms, 2);
        host.expect(ms, &[]);
    }
    host.ack(203, 2);
    host.expect(203, &[2]);
    host
}

#[test]
fn newreno_repairs_the_second_loss_with_a_partial_ack() {
    let mut host = two_losses(Variant::Newreno);
    host.ack(300, 4);
    host.expect(300, &[4]);
    host.ack(400, 13);
    assert_eq!((host.sender.stats().fast_retransmits, host.sender.stats().retransmits), (1, 2));
}

#[test]
fn reno_leaves_recovery_with_a_partial_ack_and_times_out() {
    let mut host = two_losses(Variant::Reno);
    host.ack(300, 4);
    host.expect(300, &[]);
    // Duplicates of segment 4 do not start another recovery for the same window (RFC 6582 section 1).
    for ms in 301..306 {
        host.ack(ms, 4);
        host.expect(ms, &[]);
    }
    let deadline = host.sender.poll_timeout().unwrap();
    host.sender.handle_timeout(deadline);
    assert_eq!(host.sender.poll_transmit(deadline).map(|t| t.seq), Some(4000));
}

#[test]
fn a_timeout_goes_back_to_the_first_hole_with_one_segment_and_doubles() {
    let mut host = Host::established(TcpParams { initial_cwnd: 4, ..params() });
    host.expect(100, &[0, 1, 2, 3]);
    // RTO after one sample of 100 ms: 3 * 100 ms.
    host.timeout(400);
    host.expect(400, &[0]);
    host.timeout(1000);
    host.expect(1000, &[0]);
    host.ack(1100, 4);
    // cwnd 1 -> 2 in slow start up to ssthresh 2 (half of 4; the second timeout left it alone).
    host.expect(1100, &[4, 5]);
    // Karn: the ACK of a retransmitted segment is no sample; the timeout stays backed off (4 * 300 ms).
    host.timeout(2300);
}

#[test]
fn ns2_halves_ssthresh_again_with_every_timeout() {
    // Standard: ssthresh stays 4, so cwnd goes 2, 3; ns-2: ssthresh 2, so cwnd grows by 1/cwnd.
    for (preset, released) in [(Preset::Standard, &[9, 10][..]), (Preset::Ns2, &[9])] {
        let mut host = Host::established(TcpParams { initial_cwnd: 8, preset, ..params() });
        host.expect(100, &[0, 1, 2, 3, 4, 5, 6, 7]);
        host.timeout(400);
        host.expect(400, &[0]);
        host.timeout(1000);
        host.expect(1000, &[0]);
        host.ack(1100, 7);
        host.expect(1100, &[7, 8]);
        host.ack(1200, 8);
        host.expect(1200, released);
    }
}

#[test]
fn a_lost_syn_is_sent_again_and_costs_the_initial_window() {
    let mut host = Host::new(params());
    host.expect_syn(0);
    host.timeout(1000);
    host.expect_syn(1000);
    host.timeout(3000);
    host.expect_syn(3000);
    host.sender.handle_ack(at(3100), Kind::SynAck, 0, 20 * MSS, &NO_SACK);
    host.expect(3100, &[0]);
}

#[test]
fn a_smaller_advertised_window_is_honoured_at_once() {
    // window-cap rewrites the window in passing ACKs.
    let mut host = Host::established(TcpParams { initial_cwnd: 6, ..params() });
    host.expect(100, &[0, 1, 2, 3, 4, 5]);
    host.window = 3 * MSS + 999;
    for (ms, next) in [(200, 1), (201, 2), (202, 3)] {
        host.ack(ms, next);
        host.expect(ms, &[]);
    }
    host.ack(203, 4);
    host.expect(203, &[6]);
}

#[test]
fn sack_repairs_two_losses_in_one_round_trip() {
    // RFC 6675: 1 and 3 of 0..8 are lost; the scoreboard tells both.
    let mut host = Host::established(TcpParams { initial_cwnd: 8, sack: true, limited_transmit: false, ..params() });
    host.expect(100, &[0, 1, 2, 3, 4, 5, 6, 7]);
    host.ack(200, 1);
    host.expect(200, &[8, 9]);
    host.sack(201, 1, &[(2, 3)]);
    host.expect(201, &[]);
    host.sack(202, 1, &[(4, 5), (2, 3)]);
    host.expect(202, &[]);
    host.sack(203, 1, &[(4, 6), (2, 3)]);
    host.expect(203, &[1]);
    for (ms, end) in [(204, 7), (205, 8)] {
        host.sack(ms, 1, &[(4, end), (2, 3)]);
    }
    host.expect(205, &[3]);
    host.ack(300, 10);
    assert_eq!(host.sender.stats().retransmits, 2);
    assert_eq!(host.sender.stats().timeouts, 0);
}

/// RFC 6675 section 5.1: after a timeout, what the peer holds is not out, so that the window counts repairs only.
#[test]
fn after_a_timeout_held_segments_take_no_window() {
    let mut host = Host::established(TcpParams { initial_cwnd: 8, sack: true, limited_transmit: false, ..params() });
    host.expect(100, &[0, 1, 2, 3, 4, 5, 6, 7]);
    // Only 1 and 3 arrive: too little for a fast retransmit.
    host.sack(200, 0, &[(1, 2)]);
    host.sack(201, 0, &[(3, 4), (1, 2)]);
    host.expect(201, &[]);
    host.timeout(400);
    host.expect(400, &[0]);
    // Two segments may be out: the holes 2 and 4, on both sides of 3.
    host.sack(500, 2, &[(3, 4)]);
    host.expect(500, &[2, 4]);
}

#[test]
fn sack_recovery_outlasts_partial_acks_with_reno_too() {
    // RFC 6675 section 5: recovery ends when all that was out at its start is acknowledged.
    for variant in [Variant::Reno, Variant::Newreno, Variant::Cubic] {
        let params = TcpParams { initial_cwnd: 8, sack: true, limited_transmit: false, variant, ..params() };
        let mut host = Host::established(params);
        host.expect(100, &[0, 1, 2, 3, 4, 5, 6, 7]);
        // 0 and 6 are lost.
        for (ms, end) in [(200, 2), (201, 3)] {
            host.sack(ms, 0, &[(1, end)]);
        }
        host.sack(202, 0, &[(1, 4)]);
        assert_eq!(host.sender.poll_transmit(at(202)).map(|t| t.seq), Some(0), "{variant:?}");
        host.sack(300, 6, &[(7, 8)]);
        assert_eq!(host.sender.poll_transmit(at(300)).map(|t| t.seq), Some(6000), "{variant:?}");
    }
}

#[test]
fn sack_repairs_a_loss_right_after_a_recovery() {
    // 1 of 0..8 is lost, and so is 10, the first segment that recovery sends for the first time: RFC 6675 section 5
    // asks for no more than that the last recovery is over.
    let mut host = Host::established(TcpParams { initial_cwnd: 8, sack: true, limited_transmit: false, ..params() });
    host.expect(100, &[0, 1, 2, 3, 4, 5, 6, 7]);
    host.ack(200, 1);
    host.expect(200, &[8, 9]);
    for (ms, end) in [(201, 3), (202, 4), (203, 5)] {
        host.sack(ms, 1, &[(2, end)]);
    }
    host.expect(203, &[1]);
    for (ms, end, sent) in [(204, 6, &[][..]), (205, 7, &[]), (206, 8, &[10]), (207, 9, &[11]), (208, 10, &[12])] {
        host.sack(ms, 1, &[(2, end)]);
        host.expect(ms, sent);
    }
    host.ack(300, 10);
    host.expect(300, &[13]);
    for (ms, end) in [(301, 12), (302, 13)] {
        host.sack(ms, 10, &[(11, end)]);
        host.expect(ms, &[]);
    }
    host.sack(303, 10, &[(11, 14)]);
    host.expect(303, &[10, 14]);
    assert_eq!((host.sender.stats().fast_retransmits, host.sender.stats().timeouts), (2, 0));
}

#[test]
fn sack_takes_an_ack_without_news_for_no_duplicate() {
    // After a needless timeout the copies of what the peer has already are acknowledged at once; RFC 6675 section 2: a
    // duplicate acknowledgement names data that was not known to have arrived.
    let mut host = Host::established(TcpParams { initial_cwnd: 4, sack: true, limited_transmit: false, ..params() });
    host.expect(100, &[0, 1, 2, 3]);
    host.timeout(400);
    host.expect(400, &[0]);
    host.ack(450, 4);
    host.expect(450, &[4, 5]);
    for ms in 451..455 {
        host.ack(ms, 4);
        host.expect(ms, &[]);
    }
    assert_eq!(host.sender.stats().fast_retransmits, 0);
}

#[test]
fn after_a_lost_syn_data_starts_with_three_seconds() {
    // RFC 6298 (5.7): the SYN's timer expired and is shorter than 3 s, so that 3 s it is for data.
    let mut host = Host::new(params());
    host.expect_syn(0);
    host.timeout(1000);
    host.expect_syn(1000);
    host.sender.handle_ack(at(1100), Kind::SynAck, 0, 20 * MSS, &NO_SACK);
    host.expect(1100, &[0]);
    host.timeout(4100);
}

#[test]
fn a_timeout_at_the_end_of_a_file_halves_what_is_out_not_the_window() {
    // RFC 5681 equation 4: ssthresh is at most half the flight size, here half of 4 segments; cwnd is 12.
    let params = TcpParams { initial_cwnd: 10, limited_transmit: false, ..params() };
    let mut sender = Sender::connect(&params, Some(14_000), &mut Rng::fork(1, "file"));
    let ack = |sender: &mut Sender, now, next: u64| sender.handle_ack(now, Kind::Ack, next * 1000, 20 * MSS, &NO_SACK);
    let sent = |sender: &mut Sender, now| std::iter::from_fn(|| sender.poll_transmit(now)).count();
    assert_eq!(sent(&mut sender, at(0)), 1);
    sender.handle_ack(at(100), Kind::SynAck, 0, 20 * MSS, &NO_SACK);
    assert_eq!(sent(&mut sender, at(100)), 10);
    for (ms, next, released) in [(200, 5, 4), (201, 10, 0)] {
        ack(&mut sender, at(ms), next);
        assert_eq!(sent(&mut sender, at(ms)), released);
    }
    let deadline = sender.poll_timeout().unwrap();
    sender.handle_timeout(deadline);
    assert_eq!(sent(&mut sender, deadline), 1);
    // Slow start up to 2, congestion avoidance from there: 1, 2, 2.5. With half of cwnd it would be 1, 2, 3.
    for (next, cwnd) in [(11, 2.0), (12, 2.5)] {
        ack(&mut sender, deadline, next);
        assert!((sender.cwnd() - cwnd).abs() < 1e-9, "{}", sender.cwnd());
    }
}

#[test]
fn a_file_ends_with_a_short_segment_and_its_last_ack() {
    let mut sender = Sender::connect(&params(), Some(2500), &mut Rng::fork(1, "file"));
    assert!(sender.poll_transmit(at(0)).is_some());
    sender.handle_ack(at(10), Kind::SynAck, 0, 20 * MSS, &NO_SACK);
    let payload = |sender: &mut Sender, ms| sender.poll_transmit(at(ms)).map(|t| t.payload);
    assert_eq!([payload(&mut sender, 10), payload(&mut sender, 10)], [Some(1000), Some(1000)]);
    sender.handle_ack(at(20), Kind::Ack, 1000, 20 * MSS, &NO_SACK);
    assert_eq!([payload(&mut sender, 20), payload(&mut sender, 20)], [Some(500), None]);
    assert!(!sender.is_done());
    sender.handle_ack(at(30), Kind::Ack, 2500, 20 * MSS, &NO_SACK);
    assert!(sender.is_done());
    assert_eq!(sender.poll_timeout(), None);
}

/// A receiver whose peer is the test.
struct Sink(Receiver);

impl Sink {
    fn new(params: TcpParams) -> Self {
        Sink(Receiver::new(&params))
    }

    /// Segment `n` arrives; the ACK that goes out at once names the next segment expected.
    #[track_caller]
    fn segment(&mut self, ms: u64, n: u64, expected: Option<u64>) {
        self.0.handle_segment(at(ms), Kind::Data, n * u64::from(MSS), MSS, false);
        let ack = self.0.poll_transmit().map(|a| a.ack / u64::from(MSS));
        assert_eq!(ack, expected, "segment {n} at {ms} ms");
    }
}

#[test]
fn every_second_segment_is_acknowledged_or_the_timer_does_it() {
    let mut sink = Sink::new(params());
    sink.segment(0, 0, None);
    sink.segment(1, 1, Some(2));
    sink.segment(2, 2, None);
    assert_eq!(sink.0.poll_timeout(), Some(at(102)));
    sink.0.handle_timeout(at(102));
    assert_eq!(sink.0.poll_transmit().map(|a| a.ack), Some(3000));
    assert_eq!(sink.0.poll_timeout(), None);
}

#[test]
fn holes_and_repairs_are_acknowledged_at_once() {
    // RFC 5681 section 4.2.
    let mut sink = Sink::new(params());
    sink.segment(0, 0, None);
    sink.segment(1, 2, Some(1));
    sink.segment(2, 3, Some(1));
    sink.segment(3, 1, Some(4));
    sink.segment(4, 1, Some(4));
    sink.segment(5, 4, None);
}

#[test]
fn sack_blocks_name_the_latest_range_first() {
    let mut sink = Sink::new(TcpParams { sack: true, ..params() });
    let mut blocks = |n: u64| {
        sink.0.handle_segment(at(n), Kind::Data, n * 1000, MSS, false);
        sink.0.poll_transmit().unwrap().sack
    };
    blocks(2);
    blocks(4);
    assert_eq!(blocks(6), [(6000, 7000), (4000, 5000), (2000, 3000)]);
    assert_eq!(blocks(3), [(2000, 5000), (6000, 7000), (0, 0)]);
}

/// The timeout is the estimator's again after each new ACK: `TcpSocketBase::NewAck`. By RFC 6298 an ACK of a retransmission says nothing.
#[test]
fn ns3_ends_the_back_off_with_any_new_ack() {
    for (preset, next) in [(Preset::Standard, 3200), (Preset::Ns3, 2200)] {
        let mut host = Host::established(TcpParams { min_rto: Duration::from_secs(1), preset, ..params() });
        host.expect(100, &[0, 1]);
        host.timeout(1100);
        host.expect(1100, &[0]);
        host.ack(1200, 1);
        host.timeout(next);
    }
}
