//! How each station is asked: by echo request, or by ARP and ND where it does not answer those.

use std::collections::VecDeque;
use std::net::IpAddr;
use std::time::{Duration, Instant};

use crate::enforce::protocol::ProbeMethod;
use crate::enforce::site::Addresses;

/// So many echo requests, or questions by ARP or ND, without an answer, over at least [`PATIENCE`], and the station is asked in
/// another way.
const MISSES: [u32; 2] = [3, 2];
/// Time that an answer may take at least; twice the last round-trip time if that is longer.
const PATIENCE: Duration = Duration::from_millis(600);
/// Time for which no second question by ARP or ND goes to the same address, at least; thrice the last round-trip time if that is
/// longer.
const ALONE: Duration = Duration::from_millis(500);
/// A question that is older has no answer.
const FORGOTTEN: Duration = Duration::from_secs(2);
/// Answers by ARP or ND that nobody asked for are counted for so long.
const COUNTED: Duration = Duration::from_secs(10);
/// So many may come in that time: the kernel of this box asks, too, and devices announce themselves.
const UNASKED: usize = 2;
/// How often a station that is asked by ARP or ND is tried by echo request, too.
const TRIAL: Duration = Duration::from_mins(1);

/// A question on its way.
#[derive(Clone, Copy, Debug)]
struct Asked {
    id: u64,
    at: Instant,
    method: ProbeMethod,
    address: IpAddr,
}

/// What is known of how a station answers.
#[derive(Debug)]
pub(super) struct Responder {
    method: ProbeMethod,
    address: Option<IpAddr>,
    /// The oldest first.
    waiting: VecDeque<Asked>,
    /// Questions in the present way since the last answer, and when the first of them left.
    unanswered: (u32, Instant),
    answered_at: Option<Instant>,
    rtt: Duration,
    tried_at: Instant,
    pub(super) asked_at: Instant,
    /// An answer came that may have been for either of two questions by ARP or ND: the other answer comes until then, or that question
    /// was the lost one.
    unsettled_until: Option<Instant>,
    /// When answers by ARP or ND came that nobody had asked for.
    unasked: VecDeque<Instant>,
}

/// What to send.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Question {
    pub(super) method: ProbeMethod,
    pub(super) address: IpAddr,
    /// Also send the address an echo request whose reply counts for nothing but that the station answers echo again.
    pub(super) is_trial_due: bool,
}

impl Responder {
    pub(super) fn new(now: Instant) -> Self {
        Responder {
            method: ProbeMethod::Echo,
            address: None,
            waiting: VecDeque::new(),
            unanswered: (0, now),
            answered_at: None,
            rtt: Duration::ZERO,
            tried_at: now,
            asked_at: now,
            unsettled_until: None,
            unasked: VecDeque::new(),
        }
    }

    /// How it answers, if it does.
    pub(super) fn method(&self) -> Option<ProbeMethod> {
        self.answered_at.map(|_| self.method)
    }

    /// How to ask the station that has `addresses`, with probe `id`; `may` says which methods are possible. `None`: no method is,
    /// or the answer to an earlier question could be taken for the answer to this one.
    pub(super) fn ask(
        &mut self,
        now: Instant,
        id: u64,
        addresses: &Addresses,
        may: impl Fn(ProbeMethod, IpAddr) -> bool,
    ) -> Option<Question> {
        self.asked_at = now;
        let patience = PATIENCE.max(self.rtt * 2);
        let ways = || {
            let by = |method| addresses.iter().map(move |address| (method, *address));
            by(ProbeMethod::Echo).chain(by(ProbeMethod::Neighbour)).filter(|(method, address)| may(*method, *address))
        };
        let (unanswered, since) = self.unanswered;
        let is_missed =
            unanswered >= MISSES[usize::from(self.method == ProbeMethod::Neighbour)] && since + patience <= now;
        let present = self.address.map(|address| (self.method, address)).filter(|own| ways().any(|way| way == *own));
        let next = if let Some(present) = present.filter(|_| !is_missed) {
            present
        } else {
            self.unanswered = (0, now);
            if is_missed {
                self.answered_at = None;
            }
            // First the same address in the other way, then the other addresses in turn.
            let other = present.filter(|(method, _)| *method == ProbeMethod::Echo);
            let other =
                other.map(|(_, address)| (ProbeMethod::Neighbour, address)).filter(|own| ways().any(|way| way == *own));
            let after = || self.address.and_then(|own| ways().find(|(_, to)| *to > own));
            other.or_else(after).or_else(|| ways().next())?
        };
        (self.method, self.address) = (next.0, Some(next.1));
        let (method, address) = next;
        self.waiting.retain(|asked| now < asked.at + FORGOTTEN);
        if self.unsettled_until.is_some_and(|until| until <= now) {
            self.unsettled_until = None;
            self.waiting.retain(|own| own.method != ProbeMethod::Neighbour);
        }
        // The answer to ARP or ND has nothing that tells for which question it is.
        let alone = ALONE.max(self.rtt * 3);
        let is_out = |own: &Asked| own.method == method && own.address == address && now < own.at + alone;
        let is_unsettled = self.unsettled_until.is_some();
        if method == ProbeMethod::Neighbour && (is_unsettled || self.waiting.iter().any(is_out)) {
            return None;
        }
        self.waiting.push_back(Asked { id, at: now, method, address });
        self.unanswered = (self.unanswered.0 + 1, if self.unanswered.0 == 0 { now } else { self.unanswered.1 });
        let is_trial_due =
            method == ProbeMethod::Neighbour && now >= self.tried_at + TRIAL && may(ProbeMethod::Echo, address);
        if is_trial_due || method == ProbeMethod::Echo {
            self.tried_at = now;
        }
        Some(Question { method, address, is_trial_due })
    }

    /// Echo request `id` is answered.
    pub(super) fn echoed(&mut self, now: Instant, id: u64) {
        let Some(asked) = self.waiting.iter().find(|own| own.id == id && own.method == ProbeMethod::Echo).copied()
        else {
            return;
        };
        self.answered(now, asked);
    }

    /// `address` is answered for by ARP or ND: the probe that asked, if one did and no other may have. An answer names no question, and
    /// one that nobody asked for would make a round trip short. So while such answers come none counts, and the station is
    /// asked in another way.
    pub(super) fn advertised(&mut self, now: Instant, address: IpAddr) -> Option<u64> {
        let asked = |own: &Asked| own.method == ProbeMethod::Neighbour && own.address == address;
        let out = self.waiting.iter().filter(|own| asked(own)).count();
        self.unasked.retain(|at| now < *at + COUNTED);
        let Some(first) = self.waiting.iter().position(asked) else {
            if self.address == Some(address) && self.unasked.len() <= UNASKED {
                self.unasked.push_back(now);
            }
            return None;
        };
        let own = self.waiting.remove(first)?;
        if self.unasked.len() > UNASKED {
            return None;
        }
        let rtt = self.rtt;
        self.answered(now, own);
        if out > 1 {
            (self.rtt, self.unsettled_until) = (rtt, Some(now + ALONE.max(rtt * 3)));
            return None;
        }
        self.unsettled_until = None;
        Some(own.id)
    }

    /// A trial by echo request is answered.
    pub(super) fn trial_answered(&mut self) {
        self.method = ProbeMethod::Echo;
        self.unanswered.0 = 0;
    }

    fn answered(&mut self, now: Instant, asked: Asked) {
        self.rtt = now.saturating_duration_since(asked.at);
        self.answered_at = Some(now);
        (self.method, self.address) = (asked.method, Some(asked.address));
        self.unanswered.0 = 0;
        self.waiting.retain(|own| own.at > asked.at);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const STEP: Duration = Duration::from_millis(100);

    fn addresses(list: &[&str]) -> Addresses {
        Addresses::of_file(list.iter().map(|text| text.parse().unwrap()))
    }

    /// Asks every 100 ms; `answers` says what is answered, at once. How it was asked in the end, and how many were answered.
    fn asked(
        responder: &mut Responder,
        now: &mut Instant,
        own: &Addresses,
        times: u64,
        answers: impl Fn(ProbeMethod, IpAddr) -> bool,
    ) -> (Option<Question>, usize) {
        let (mut last, mut answered) = (None, 0);
        for id in 0..times {
            *now += STEP;
            let Some(question) = responder.ask(*now, id, own, |_, _| true) else { continue };
            if answers(question.method, question.address) {
                answered += 1;
                match question.method {
                    ProbeMethod::Echo => responder.echoed(*now, id),
                    ProbeMethod::Neighbour => assert_eq!(responder.advertised(*now, question.address), Some(id)),
                }
            }
            if question.is_trial_due && answers(ProbeMethod::Echo, question.address) {
                responder.trial_answered();
            }
            last = Some(question);
        }
        (last, answered)
    }

    #[test]
    fn a_station_that_ignores_echo_requests_is_asked_by_arp_within_a_second_and_kept() {
        let mut now = Instant::now();
        let (mut responder, own) = (Responder::new(now), addresses(&["10.1.0.2"]));
        let is_neighbour = |method, _| method == ProbeMethod::Neighbour;
        let (_, answered) = asked(&mut responder, &mut now, &own, 10, is_neighbour);
        assert!(answered >= 3, "{answered} of ten");
        let (last, answered) = asked(&mut responder, &mut now, &own, 100, is_neighbour);
        assert_eq!((last.unwrap().method, answered), (ProbeMethod::Neighbour, 100));
        // It answers echo requests again: that is found within a minute.
        let (last, _) = asked(&mut responder, &mut now, &own, 620, |_, _| true);
        assert_eq!(last.unwrap().method, ProbeMethod::Echo);
    }

    #[test]
    fn a_station_that_answers_at_one_of_its_addresses_is_found_there() {
        let mut now = Instant::now();
        let (mut responder, own) = (Responder::new(now), addresses(&["10.1.0.2", "10.9.0.1", "fd01::2"]));
        let at: IpAddr = "fd01::2".parse().unwrap();
        let only = |method, address| method == ProbeMethod::Neighbour && address == at;
        asked(&mut responder, &mut now, &own, 60, only);
        let (last, answered) = asked(&mut responder, &mut now, &own, 20, only);
        assert_eq!((last.map(|last| (last.method, last.address)), answered), (Some((ProbeMethod::Neighbour, at)), 20));
        // It has that address no longer.
        let own = addresses(&["10.1.0.2"]);
        let (last, _) = asked(&mut responder, &mut now, &own, 1, |_, _| true);
        assert_eq!(last.unwrap().address, "10.1.0.2".parse::<IpAddr>().unwrap());
    }

    #[test]
    fn a_deaf_station_is_asked_in_all_ways_in_turn_and_has_none() {
        let mut now = Instant::now();
        let (mut responder, own) = (Responder::new(now), addresses(&["10.1.0.2"]));
        let mut methods = Vec::new();
        for id in 0..100 {
            now += STEP;
            methods.extend(responder.ask(now, id, &own, |_, _| true).map(|question| question.method));
        }
        assert!(methods.contains(&ProbeMethod::Echo) && methods.contains(&ProbeMethod::Neighbour));
        assert!(
            methods[50..].contains(&ProbeMethod::Echo) && methods[50..].contains(&ProbeMethod::Neighbour),
            "{methods:?}"
        );
        assert_eq!(responder.method(), None);
    }

    #[test]
    fn what_was_not_asked_is_no_answer_and_one_question_is_out_at_a_time() {
        let now = Instant::now();
        let (mut responder, own) = (Responder::new(now), addresses(&["10.1.0.2"]));
        let only = |method, _| method == ProbeMethod::Neighbour;
        let at: IpAddr = "10.1.0.2".parse().unwrap();
        assert_eq!(responder.advertised(now, at), None);
        assert!(responder.ask(now, 7, &own, only).is_some());
        assert_eq!(responder.ask(now + STEP, 8, &own, only), None);
        assert_eq!(responder.advertised(now + STEP, "10.1.0.3".parse().unwrap()), None);
        assert_eq!(responder.advertised(now + STEP, at), Some(7));
        assert_eq!(responder.advertised(now + STEP, at), None, "once");
        // Two requests are out: the next answer may belong to either, and the one after it to the second.
        let now = now + COUNTED;
        assert!(responder.ask(now, 9, &own, only).is_some() && responder.ask(now + ALONE, 10, &own, only).is_some());
        assert_eq!(responder.advertised(now + ALONE + STEP, at), None);
        assert_eq!(responder.ask(now + ALONE + STEP, 11, &own, only), None);
        assert_eq!(responder.advertised(now + ALONE + 2 * STEP, at), Some(10));
    }

    /// One of ten answers is lost. The question after it may be taken for the lost one, and none of those that follow.
    #[test]
    fn a_lost_answer_costs_one_more() {
        let begin = Instant::now();
        let (mut responder, own) = (Responder::new(begin), addresses(&["10.1.0.2"]));
        let at: IpAddr = "10.1.0.2".parse().unwrap();
        let (mut asked, mut measured) = (0, Vec::new());
        for ms in (0..60_000_u64).step_by(200) {
            let now = begin + Duration::from_millis(ms);
            let only = |method, _| method == ProbeMethod::Neighbour;
            if responder.ask(now, ms, &own, only).is_some() {
                asked += 1;
                if asked % 10 != 0 {
                    let back = now + Duration::from_millis(5);
                    measured.extend(responder.advertised(back, at).map(|id| ms - id));
                }
            }
        }
        assert!(measured.iter().all(|late| *late == 0), "{measured:?}");
        assert!(measured.len() * 10 > 7 * asked && asked > 150, "{} of {asked}", measured.len());
    }

    /// Somebody sends replies all the time, 25 a second, and each question has its true answer after 150 ms. Few round trips may be
    /// measured too short; without forged replies all are right.
    #[test]
    fn replies_that_nobody_asked_for_make_no_round_trip_short() {
        let at: IpAddr = "10.1.0.2".parse().unwrap();
        let measured = |forged_every_ms: Option<u64>| {
            let begin = Instant::now();
            let (mut responder, own) = (Responder::new(begin), addresses(&["10.1.0.2"]));
            let mut left = std::collections::BTreeMap::new();
            let mut found = Vec::new();
            for ms in (0..60_000_u64).step_by(10) {
                let now = begin + Duration::from_millis(ms);
                if ms % 200 == 0 && responder.ask(now, ms, &own, |method, _| method == ProbeMethod::Neighbour).is_some()
                {
                    left.insert(ms, now);
                }
                let is_true = ms >= 150 && left.contains_key(&(ms - 150));
                let is_forged = forged_every_ms.is_some_and(|every| ms % every == 30 % every);
                for _ in 0..u8::from(is_true) + u8::from(is_forged) {
                    found.extend(responder.advertised(now, at).map(|id| (now - left[&id]).as_millis()));
                }
            }
            (found.iter().filter(|ms| **ms < 150).count(), found.len())
        };
        assert_eq!(measured(None), (0, 300));
        let (short, _) = measured(Some(40));
        assert!(short <= UNASKED, "{short}");
        let (short, all) = measured(Some(1000));
        assert!(short <= 2 * UNASKED, "{short} of {all}");
    }
}
