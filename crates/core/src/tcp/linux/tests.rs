//! Linux' sender and receiver as timed conversations: `ms`, what arrives, what goes out. Segments are numbered from 0.

use crate::packet::{Kind, NO_SACK, SackBlocks};
use crate::rng::Rng;
use crate::tcp::{Receiver, Sender, TcpParams};
use crate::units::{Duration, Instant};

const MSS: u32 = 1000;

fn params(window: u32) -> TcpParams {
    TcpParams { mss: MSS, window, ..TcpParams::default() }.linux()
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
    /// The handshake took 100 ms; there are `segments` to send.
    #[track_caller]
    fn established(window: u32, segments: u64) -> Self {
        let size = segments * u64::from(MSS);
        let mut sender = Sender::connect(&params(window), Some(size), &mut Rng::fork(1, "host"));
        assert_eq!(sender.poll_transmit(at(0)).map(|t| t.kind), Some(Kind::Syn));
        assert_eq!(sender.poll_transmit(at(0)), None);
        sender.handle_ack(at(100), Kind::SynAck, 0, window * MSS, &NO_SACK);
        Host { sender, window: window * MSS }
    }

    /// The segments that go out at `ms`, all of them.
    #[track_caller]
    fn expect(&mut self, ms: u64, segments: impl IntoIterator<Item = u64>) {
        let sent = std::iter::from_fn(|| self.sender.poll_transmit(at(ms))).map(|t| t.seq / u64::from(MSS));
        assert_eq!(sent.collect::<Vec<_>>(), segments.into_iter().collect::<Vec<_>>(), "at {ms} ms");
    }

    /// An ACK for all segments below `next`, with at most one SACK block.
    fn ack(&mut self, ms: u64, next: u64, block: Option<(u64, u64)>) {
        let mut sack: SackBlocks = NO_SACK;
        if let Some((start, end)) = block {
            sack[0] = (start * u64::from(MSS), end * u64::from(MSS));
        }
        self.sender.handle_ack(at(ms), Kind::Ack, next * u64::from(MSS), self.window, &sack);
    }

    /// The timer fires at `ms`.
    #[track_caller]
    fn timer(&mut self, ms: u64) {
        assert_eq!(self.sender.poll_timeout(), Some(at(ms)));
        self.sender.handle_timeout(at(ms));
    }

    #[track_caller]
    fn cwnd(&self, segments: u32) {
        assert!((self.sender.cwnd() - f64::from(segments)).abs() < 1e-9, "cwnd is {}", self.sender.cwnd());
    }
}

#[test]
fn the_window_grows_by_segments_and_stops_at_twice_what_was_ever_out() {
    let mut host = Host::established(42, 10_000);
    host.expect(100, 0..10);
    host.ack(200, 10, None);
    host.expect(200, 10..30);
    host.ack(300, 30, None);
    host.expect(300, 30..70);
    // cwnd was full at 40, so it doubles; the receive window lets 42 out.
    host.ack(400, 70, None);
    host.expect(400, 70..112);
    for (ms, next) in (500..521).zip((72..=112).step_by(2)) {
        host.ack(ms, next, None);
        host.expect(ms, next + 40..next + 42);
    }
    host.cwnd(84);
}

#[test]
fn three_later_segments_tell_a_loss_and_the_rate_is_halved_evenly() {
    let mut host = Host::established(42, 10_000);
    host.expect(100, 0..10);
    host.ack(200, 2, None);
    host.expect(200, 10..14);
    // Segment 2 is lost. What has arrived is not in flight, so that each SACK lets a segment out.
    for (ms, end) in [(201, 4), (202, 5)] {
        host.ack(ms, 2, Some((3, end)));
        host.expect(ms, [ms - 187]);
    }
    host.ack(203, 2, Some((3, 6)));
    host.expect(203, [2]);
    // PRR: ssthresh 6 of 12, one out for two in.
    for (ms, end, sent) in [(204, 7, None), (205, 8, Some(16)), (206, 9, None), (207, 10, Some(17))] {
        host.ack(ms, 2, Some((3, end)));
        host.expect(ms, sent);
    }
    // All is repaired: the window is ssthresh, whatever is in flight. 2 and 10 to 17 earn a segment.
    host.ack(300, 18, None);
    host.cwnd(7);
    host.expect(300, 18..25);
    assert_eq!((host.sender.stats().retransmits, host.sender.stats().timeouts), (1, 0));
}

#[test]
fn a_lost_retransmission_is_found_by_what_was_sent_after_it() {
    let mut host = Host::established(42, 10_000);
    host.expect(100, 0..10);
    host.ack(200, 2, None);
    host.expect(200, 10..14);
    for (ms, end) in [(201, 4), (202, 5), (203, 6), (204, 7), (205, 8)] {
        host.ack(ms, 2, Some((3, end)));
        while host.sender.poll_transmit(at(ms)).is_some() {}
    }
    assert_eq!(host.sender.stats().retransmits, 1, "segment 2 at 203 ms");
    // Segment 16 went at 205 ms. It arrives, the retransmission does not.
    host.ack(306, 2, Some((3, 17)));
    assert_eq!(host.sender.poll_transmit(at(306)).map(|t| t.seq / 1000), Some(2));
    assert_eq!((host.sender.stats().retransmits, host.sender.stats().timeouts), (2, 0));
}

#[test]
fn new_data_that_went_before_a_copy_at_the_same_instant_do_not_make_it_lost() {
    let mut host = Host::established(42, 10_000);
    host.expect(100, 0..10);
    // One aggregate brings both ACKs. Segments 4 and 5 are lost.
    host.ack(200, 4, None);
    host.expect(200, 10..18);
    host.ack(200, 4, Some((6, 10)));
    assert_eq!(host.sender.poll_transmit(at(200)).map(|t| t.seq / 1000), Some(4));
    while host.sender.poll_transmit(at(200)).is_some() {}
    // What went before the copy arrives before it.
    host.ack(300, 4, Some((6, 18)));
    while let Some(sent) = host.sender.poll_transmit(at(300)) {
        assert_ne!(sent.seq / 1000, 4, "the copy is on its way");
    }
    assert_eq!(host.sender.stats().timeouts, 0);
}

#[test]
fn one_later_segment_and_a_quarter_of_a_round_trip_tell_a_loss_too() {
    let mut host = Host::established(42, 3);
    host.expect(100, 0..3);
    host.ack(200, 0, Some((1, 3)));
    host.expect(200, []);
    // 100 ms / 4, and two ticks.
    host.timer(227);
    host.expect(227, [0]);
    assert_eq!(host.sender.stats().timeouts, 0);
}

#[test]
fn the_tail_is_probed_before_a_timeout() {
    let mut host = Host::established(42, 3);
    host.expect(100, 0..3);
    host.ack(200, 2, None);
    // SRTT 100 ms, RTO 300 ms: two round trips and the peer's longest delay would be later.
    host.timer(500);
    host.expect(500, [2]);
    host.ack(600, 3, None);
    assert!(host.sender.is_done());
    assert_eq!((host.sender.stats().retransmits, host.sender.stats().timeouts), (1, 0));
    assert_eq!(host.sender.poll_timeout(), None);
}

#[test]
fn a_probe_without_an_answer_is_followed_by_a_timeout_with_one_segment() {
    let mut host = Host::established(10, 10_000);
    host.expect(100, 0..10);
    host.timer(302);
    // The receive window is full: the probe is the last segment again.
    host.expect(302, [9]);
    host.timer(602);
    host.expect(602, [0]);
    assert_eq!(host.sender.stats().timeouts, 1);
    host.timer(1202);
    host.expect(1202, [0]);
    host.cwnd(1);
}

#[test]
fn a_timeout_that_came_too_early_is_taken_back() {
    let mut host = Host::established(42, 10_000);
    host.expect(100, 0..10);
    host.timer(302);
    host.expect(302, [10]);
    host.timer(602);
    host.expect(602, [0]);
    // The ACK of the original: two new segments, RFC 5682 step 2b.
    host.ack(610, 1, None);
    host.expect(610, [11, 12]);
    // Segment 1 was sent once only.
    host.ack(612, 2, None);
    host.cwnd(11);
    host.ack(613, 9, None);
    assert_eq!(host.sender.poll_transmit(at(613)).map(|t| t.seq / 1000), Some(13));
    assert_eq!(host.sender.stats().retransmits, 1);
}

/// `tcp_process_loss`, `REXMIT_LOST`; `tcp_fastretrans_alert`, `FLAG_LOST_RETRANS`.
#[test]
fn after_a_timeout_that_was_right_what_is_lost_goes_again_before_new_data() {
    let mut host = Host::established(42, 10_000);
    host.expect(100, 0..10);
    host.timer(302);
    host.expect(302, [10]);
    host.timer(602);
    host.expect(602, [0]);
    host.ack(702, 1, None);
    host.expect(702, [11, 12]);
    // RFC 5682 step 3a: the new segments arrive, nothing of the old ones did.
    host.ack(802, 1, Some((11, 13)));
    host.expect(802, [1, 2]);
    assert_eq!(host.sender.stats().fast_retransmits, 0);
    // Segment 1 is lost a second time, which the copy of segment 2 tells: a recovery of its own.
    host.ack(902, 1, Some((2, 3)));
    assert_eq!(host.sender.stats().fast_retransmits, 1);
    host.expect(902, [1]);
}

/// `tcp_time_to_recover`: what a recovery found to be lost behind its end is a reason for the next one.
#[test]
fn losses_behind_the_end_of_a_recovery_begin_another() {
    let mut host = Host::established(42, 10_000);
    host.expect(100, 0..10);
    host.ack(200, 0, Some((1, 10)));
    host.expect(200, [0, 10, 11, 12, 13]);
    // Segments 10 and 11 are lost, and segment 0 seems to be again.
    host.ack(300, 0, Some((12, 14)));
    host.expect(300, [0, 10, 11, 14, 15]);
    assert_eq!(host.sender.stats().fast_retransmits, 1);
    host.ack(350, 10, None);
    assert_eq!(host.sender.stats().fast_retransmits, 2);
    host.cwnd(5);
}

#[test]
fn a_segment_is_pushed_when_half_of_the_largest_window_is_written() {
    let mut host = Host::established(20, 40);
    let mut pushed = Vec::new();
    for ms in 200..240 {
        while let Some(t) = host.sender.poll_transmit(at(ms)) {
            pushed.extend(t.push.then_some(t.seq / 1000));
        }
        host.ack(ms, ms - 199, None);
    }
    assert_eq!(pushed, [10, 21, 32, 39], "the last one ends the file");
}

/// A receiver whose peer is the test.
struct Sink(Receiver);

impl Sink {
    /// A SYN came at 0 ms, so that the first segment at 10 ms tells a round trip of 10 ms and a timeout of 210 ms.
    fn new() -> Self {
        let mut receiver = Receiver::new(&params(42));
        receiver.handle_segment(at(0), Kind::Syn, 0, 0, false);
        assert_eq!(receiver.poll_transmit().map(|a| a.kind), Some(Kind::SynAck));
        Sink(receiver)
    }

    /// After 16 segments, which are acknowledged one by one.
    #[track_caller]
    fn warm() -> Self {
        let mut sink = Sink::new();
        for n in 0..16 {
            sink.segment(10 + n, n, false, Some(n + 1));
        }
        sink
    }

    /// Segment `n` arrives; the ACK that goes out at once names the next segment expected.
    #[track_caller]
    fn segment(&mut self, ms: u64, n: u64, push: bool, expected: Option<u64>) {
        self.0.handle_segment(at(ms), Kind::Data, n * u64::from(MSS), MSS, push);
        let ack = self.0.poll_transmit().map(|a| a.ack / u64::from(MSS));
        assert_eq!(ack, expected, "segment {n} at {ms} ms");
    }

    /// The delayed ACK for all below `next` goes at `ms`.
    #[track_caller]
    fn delayed(&mut self, ms: u64, next: u64) {
        assert_eq!(self.0.poll_timeout(), Some(at(ms)));
        self.0.handle_timeout(at(ms));
        assert_eq!(self.0.poll_transmit().map(|a| a.ack / u64::from(MSS)), Some(next));
    }
}

#[test]
fn the_first_sixteen_segments_are_acknowledged_at_once_then_every_second() {
    let mut sink = Sink::warm();
    sink.segment(26, 16, false, None);
    sink.segment(27, 17, false, Some(18));
    sink.segment(28, 18, false, None);
    sink.delayed(68, 19);
}

#[test]
fn a_pushed_segment_is_acknowledged_when_it_is_read() {
    let mut sink = Sink::warm();
    sink.segment(26, 16, true, Some(17));
    sink.segment(27, 17, false, None);
    sink.segment(28, 18, true, Some(19));
}

#[test]
fn copies_and_long_pauses_bring_quick_acks_back() {
    let mut sink = Sink::warm();
    sink.segment(26, 3, false, Some(16));
    for n in 16..31 {
        sink.segment(11 + n, n, false, Some(n + 1));
    }
    sink.segment(42, 31, false, None);
    sink.delayed(82, 32);
    // Longer than the timeout of 210 ms: the sender must have started again.
    sink.segment(300, 32, false, Some(33));
    // A shorter pause is no reason.
    let mut sink = Sink::warm();
    sink.segment(220, 16, false, None);
}

#[test]
fn the_fourth_duplicate_ack_waits_a_millisecond_for_more() {
    // The round trip of the handshake is 100 ms.
    let mut sink = Sink::new();
    for n in 0..16 {
        sink.segment(100 + n, n, false, Some(n + 1));
    }
    for n in 17..20 {
        sink.segment(103 + n, n, false, Some(16));
    }
    sink.segment(123, 20, false, None);
    sink.segment(123, 21, false, None);
    sink.delayed(124, 16);
    sink.segment(125, 22, false, None);
    // The repair goes at once, and the waiting one with it.
    sink.segment(125, 16, false, Some(23));
    assert_eq!(sink.0.poll_timeout(), None);
    // The next hole has three of its own.
    for n in 24..27 {
        sink.segment(103 + n, n, false, Some(23));
    }
    sink.segment(131, 27, false, None);
}

#[test]
fn holes_and_their_repair_are_acknowledged_at_once() {
    let mut sink = Sink::warm();
    sink.segment(26, 17, false, Some(16));
    sink.segment(27, 18, false, Some(16));
    sink.segment(28, 16, false, Some(19));
    sink.segment(29, 19, false, None);
}
