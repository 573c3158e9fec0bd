//! Linux' sender and receiver over one link: 1 segment a millisecond, 20 ms each way, a buffer of 40 segments.

use std::collections::VecDeque;

use crate::packet::{Kind, SackBlocks};
use crate::rng::Rng;
use crate::tcp::{Receiver, Sender, TcpParams, Variant};
use crate::units::{Duration, Instant};

const MSS: u32 = 1000;
const SERVICE: Duration = Duration::from_millis(1);
const DELAY: Duration = Duration::from_millis(20);
const BUFFER: usize = 40;

/// A segment on its way to the receiver: when it arrives.
struct Data {
    at: Instant,
    kind: Kind,
    seq: u64,
    payload: u32,
    push: bool,
}

/// An acknowledgement on its way back.
struct Ack {
    at: Instant,
    kind: Kind,
    next: u64,
    window: u32,
    sack: SackBlocks,
}

struct Link {
    sender: Sender,
    receiver: Receiver,
    data: VecDeque<Data>,
    acks: VecDeque<Ack>,
    /// When the link is free again.
    free: Instant,
    now: Instant,
    drops: u64,
    /// Longest time that a segment waited since the last [`Link::run`] began.
    longest_wait: Duration,
    /// When segments were sent.
    sent: Vec<Instant>,
}

impl Link {
    fn new(variant: Variant) -> Self {
        let params = TcpParams { mss: MSS, window: 1000, variant, ..TcpParams::default() }.linux();
        Link {
            sender: Sender::connect(&params, None, &mut Rng::fork(1, "host")),
            receiver: Receiver::new(&params),
            data: VecDeque::new(),
            acks: VecDeque::new(),
            free: Instant::ZERO,
            now: Instant::ZERO,
            drops: 0,
            longest_wait: Duration::ZERO,
            sent: Vec::new(),
        }
    }

    fn pump(&mut self) {
        while let Some(t) = self.sender.poll_transmit(self.now) {
            self.sent.push(self.now);
            let wait = self.free.saturating_since(self.now);
            if wait > SERVICE * BUFFER as u64 {
                self.drops += 1;
                continue;
            }
            self.longest_wait = self.longest_wait.max(wait);
            self.free = self.free.max(self.now) + SERVICE;
            let at = self.free + DELAY;
            self.data.push_back(Data { at, kind: t.kind, seq: t.seq, payload: t.payload, push: t.push });
        }
        while let Some(a) = self.receiver.poll_transmit() {
            let at = self.now + DELAY;
            self.acks.push_back(Ack { at, kind: a.kind, next: a.ack, window: a.window, sack: a.sack });
        }
    }

    /// Goes on until `ms`; returns the segments delivered in order meanwhile.
    fn run(&mut self, ms: u64) -> u64 {
        let end = Instant::ZERO + Duration::from_millis(ms);
        let before = self.receiver.delivered();
        self.longest_wait = Duration::ZERO;
        let mut at_once = 0;
        loop {
            self.pump();
            let data = self.data.front().map(|data| data.at);
            let ack = self.acks.front().map(|ack| ack.at);
            let timers = [data, ack, self.sender.poll_timeout(), self.receiver.poll_timeout()];
            let next = timers.into_iter().flatten().min().expect("something is always going on");
            at_once = if next > self.now { 0 } else { at_once + 1 };
            assert!(at_once < 100, "time goes on");
            if next > end {
                return (self.receiver.delivered() - before) / u64::from(MSS);
            }
            self.now = next;
            if let Some(data) = self.data.pop_front_if(|data| data.at == next) {
                self.receiver.handle_segment(next, data.kind, data.seq, data.payload, data.push);
            } else if let Some(ack) = self.acks.pop_front_if(|ack| ack.at == next) {
                self.sender.handle_ack(next, ack.kind, ack.next, ack.window, &ack.sack);
            } else {
                self.receiver.handle_timeout(next);
                self.sender.handle_timeout(next);
            }
        }
    }
}

#[test]
fn bbr_fills_the_link_without_filling_its_buffer() {
    let mut bbr = Link::new(Variant::Bbr);
    bbr.run(2000);
    let delivered = bbr.run(9000);
    assert!((6650..=7000).contains(&delivered), "{delivered} of 7000");
    // A quarter of 40 ms while more is tried, and a burst.
    assert!(bbr.longest_wait <= Duration::from_millis(18), "{}", bbr.longest_wait);
    let mut cubic = Link::new(Variant::Cubic);
    cubic.run(2000);
    cubic.run(9000);
    assert!(cubic.longest_wait > Duration::from_millis(38), "{}", cubic.longest_wait);
}

#[test]
fn bbr_sends_evenly() {
    let mut link = Link::new(Variant::Bbr);
    link.run(2000);
    link.sent.clear();
    link.run(9000);
    let gaps = |least| link.sent.windows(2).filter(|pair| pair[1] - pair[0] > Duration::from_micros(least)).count();
    // Two segments a burst, and never more than a few milliseconds without one.
    assert!(gaps(1500) * 2 > link.sent.len() * 9 / 10, "{} of {}", gaps(1500), link.sent.len());
    assert_eq!(gaps(6000), 0);
}

#[test]
fn after_ten_seconds_bbr_empties_the_link_for_a_look() {
    let mut link = Link::new(Variant::Bbr);
    link.run(9500);
    let mut windows = vec![];
    for ms in (9510..11_500).step_by(10) {
        link.run(ms);
        windows.push(link.sender.cwnd() as u32);
    }
    let small = windows.iter().filter(|cwnd| **cwnd == 4).count();
    assert!((20..=32).contains(&small), "{small} times 10 ms");
    assert!(*windows.last().unwrap() > 80);
}

#[test]
fn losses_without_a_queue_do_not_stop_bbr() {
    let mut link = Link::new(Variant::Bbr);
    link.run(3000);
    let mut delivered = 0;
    for step in 0..60 {
        // Every hundred milliseconds a segment is lost: 1 %.
        if link.data.len() > 3 {
            link.data.remove(2);
        }
        delivered += link.run(3000 + 100 * (step + 1));
    }
    assert!(delivered > 5400, "{delivered} of 6000");
    assert_eq!(link.sender.stats().timeouts, 0);
}
