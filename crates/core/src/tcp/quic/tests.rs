//! QUIC as timed conversations over a path of 20 ms each way.

use std::collections::BTreeMap;

use crate::packet::Kind;
use crate::rng::Rng;
use crate::tcp::{Acknowledgement, Receiver, Sender, TcpParams, Transmission, Variant};
use crate::units::{Duration, Instant};

const DELAY: Duration = Duration::from_millis(20);
const PAYLOAD: u32 = 1000;

fn ms(ms: u64) -> Instant {
    Instant::ZERO + Duration::from_millis(ms)
}

/// No delay, unless the datagram is lost.
fn unless(lost: bool) -> Option<Duration> {
    (!lost).then_some(Duration::ZERO)
}

enum Event {
    Data(Transmission),
    Ack(Acknowledgement),
}

/// Both ends, and what is between them.
struct Path<L> {
    sender: Sender,
    receiver: Receiver,
    events: BTreeMap<(Instant, u64), Event>,
    count: u64,
    now: Instant,
    /// How long a datagram that the sender sends at this time waits; `None`: it is lost.
    waits: L,
    /// What the sender sent, and when.
    sent: Vec<(Instant, Transmission)>,
    acks: u64,
    delivered: u64,
}

impl<L: FnMut(Instant, &Transmission) -> Option<Duration>> Path<L> {
    fn new(variant: Variant, size: Option<u64>, waits: L) -> Self {
        let params = TcpParams::quic(variant, PAYLOAD);
        let sender = Sender::connect(&params, size, &mut Rng::fork(1, "quic"));
        let (receiver, events) = (Receiver::new(&params), BTreeMap::new());
        Path { sender, receiver, events, count: 0, now: Instant::ZERO, waits, sent: Vec::new(), acks: 0, delivered: 0 }
    }

    fn put(&mut self, at: Instant, event: Event) {
        self.count += 1;
        self.events.insert((at, self.count), event);
    }

    fn run(&mut self, end: Instant) -> &mut Self {
        while self.now < end {
            let now = self.now;
            while let Some(sent) = self.sender.poll_transmit(now) {
                self.sent.push((now, sent));
                if let Some(wait) = (self.waits)(now, &sent) {
                    self.put(now + wait + DELAY, Event::Data(sent));
                }
            }
            while let Some(ack) = self.receiver.poll_transmit() {
                self.acks += 1;
                self.put(now + DELAY, Event::Ack(ack));
            }
            let next = self.events.first_key_value().map(|((at, _), _)| *at);
            let timers = [self.sender.poll_timeout(), self.receiver.poll_timeout(), next];
            let Some(at) = timers.into_iter().flatten().min() else { return self };
            let now = at.max(now);
            self.now = now;
            if self.sender.poll_timeout().is_some_and(|at| at <= now) {
                self.sender.handle_timeout(now);
            }
            self.receiver.handle_timeout(now);
            if let Some(entry) = self.events.first_entry().filter(|entry| entry.key().0 <= now) {
                match entry.remove() {
                    Event::Data(Transmission { kind, seq, payload, number, .. }) => {
                        if kind == Kind::Quic {
                            self.receiver.handle_number(now, number);
                        }
                        self.delivered += self.receiver.handle_segment(now, kind, seq, payload, false);
                    }
                    Event::Ack(Acknowledgement { kind, ack, window, sack, .. }) => {
                        self.sender.handle_ack(now, kind, ack, window, &sack);
                    }
                }
            }
        }
        self
    }

    fn data(&self) -> impl Iterator<Item = &(Instant, Transmission)> {
        self.sent.iter().filter(|(_, sent)| sent.kind == Kind::Quic)
    }
}

#[test]
fn ten_datagrams_go_after_a_round_trip_and_every_second_is_acknowledged() {
    let mut path = Path::new(Variant::Cubic, Some(10_500), |_, _| Some(Duration::ZERO));
    path.run(ms(5000));
    let first: Vec<_> = path.data().take_while(|(at, _)| *at < ms(80)).map(|(_, sent)| sent.number).collect();
    assert_eq!(first, (0..10).collect::<Vec<_>>(), "RFC 9002 section 7.2");
    assert!(path.data().all(|(at, _)| *at >= ms(40)));
    assert!(path.sender.is_done());
    // Five for ten, and the last alone after 25 ms; the Initial's answer.
    assert_eq!((path.acks, path.delivered), (7, 10_500));
}

#[test]
fn a_lost_datagram_goes_again_under_another_number_and_the_window_is_reduced_once() {
    let mut path = Path::new(Variant::Cubic, Some(400_000), |_, sent| unless([60, 61, 63].contains(&sent.number)));
    path.run(ms(3000));
    assert!(path.sender.is_done());
    assert_eq!(path.delivered, 400_000);
    let stats = path.sender.stats();
    assert_eq!((stats.retransmits, stats.fast_retransmits, stats.timeouts), (3, 1, 0));
    let again: Vec<_> = path.data().filter(|(_, sent)| sent.seq == 60_000).map(|(_, sent)| sent.number).collect();
    assert!(again.len() == 2 && again[1] > 63, "{again:?}");
}

#[test]
fn a_probe_timeout_sends_two_probes_and_takes_nothing_from_the_window() {
    // The whole of the second flight is lost.
    let mut path = Path::new(Variant::Newreno, Some(100_000), |at, _| unless(at > ms(70) && at < ms(110)));
    path.run(ms(110));
    let before = path.sender.cwnd();
    while path.sender.stats().timeouts == 0 {
        let next = path.now + Duration::from_millis(1);
        path.run(next);
    }
    let at = path.now;
    path.run(at + Duration::from_millis(1));
    assert_eq!(path.data().filter(|(sent, _)| *sent == at).count(), 2);
    assert!(before > 10.0 && path.sender.cwnd() >= before);
    path.run(ms(3000));
    assert!(path.sender.is_done());
    assert_eq!(path.delivered, 100_000);
}

#[test]
fn a_lost_initial_goes_again_after_a_second() {
    let mut lost = 0;
    let mut path = Path::new(Variant::Cubic, Some(1000), |_, sent| {
        lost += u32::from(sent.kind == Kind::QuicInitial);
        unless(lost == 1 && sent.kind == Kind::QuicInitial)
    });
    path.run(ms(5000));
    assert_eq!(path.sent[1].0, ms(999), "2 * 333 ms and 333 ms");
    assert!(path.sender.is_done());
}

#[test]
fn all_lost_for_long_is_persistent_congestion() {
    let mut path = Path::new(Variant::Cubic, None, |at, _| unless(at > ms(300) && at < ms(2500)));
    path.run(ms(2400));
    let before = path.sender.cwnd();
    let lowest = (2400..6000).map(|at| path.run(ms(at)).sender.cwnd()).fold(before, f64::min);
    assert!(before > 50.0 && lowest <= 4.0, "{before}, then {lowest}");
}

#[test]
fn bbr_keeps_to_the_rate_of_the_path() {
    // A link of 10 Mbit/s: a datagram of 1000 bytes each 800 us, and a queue of 100.
    let mut free = Instant::ZERO;
    let mut path = Path::new(Variant::Bbr, None, move |now, _| {
        let start = free.max(now);
        if start.saturating_since(now) > Duration::from_millis(80) {
            return None;
        }
        free = start + Duration::from_micros(800);
        Some(free.saturating_since(now))
    });
    path.run(ms(10_000));
    let late = path.data().filter(|(at, _)| *at > ms(5000)).count() as f64 / 5.0;
    assert!((1150.0..1450.0).contains(&late), "{late} datagrams a second of 1250");
}
