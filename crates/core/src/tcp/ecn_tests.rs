//! Explicit congestion notification between the two ends of a connection (RFC 3168).

use super::{Profile, Receiver, Sender, TcpParams, Transmission, Variant};
use crate::packet::{Ecn, Kind, NO_SACK};
use crate::rng::Rng;
use crate::units::{Duration, Instant};

const MSS: u32 = 1000;

fn params(profile: Profile, ecn: bool) -> TcpParams {
    let base = TcpParams { variant: Variant::Cubic, mss: MSS, window: 100, ecn, sack: true, ..TcpParams::default() };
    match profile {
        Profile::Rfc => TcpParams { initial_cwnd: 10, initial_ssthresh: Some(10), ..base },
        Profile::Linux => base.linux(),
        Profile::Quic => unreachable!("ECN is left out there"),
    }
}

/// Round trips of 10 ms over a queue that marks the first segment of the second round: the window before the mark, the segments of
/// each round, and the sender at the end.
fn talk(profile: Profile, ecn: bool) -> (f64, Vec<Vec<Transmission>>, Sender) {
    let params = params(profile, ecn);
    let mut sender = Sender::connect(&params, None, &mut Rng::fork(1, "ecn"));
    let mut receiver = Receiver::new(&params);
    let mut now = Instant::ZERO;
    let (mut rounds, mut before) = (Vec::new(), 0.0);
    for round in 0..6 {
        let sent: Vec<Transmission> = std::iter::from_fn(|| sender.poll_transmit(now)).collect();
        now += Duration::from_millis(10);
        for (nth, segment) in sent.iter().enumerate() {
            if segment.kind == Kind::Data {
                let marked = segment.ecn.capable && round == 2 && nth == 0;
                receiver.handle_ecn(Ecn { marked, ..segment.ecn });
            }
            receiver.handle_segment(now, segment.kind, segment.seq, segment.payload, segment.push);
            while let Some(ack) = receiver.poll_transmit() {
                if ack.ecn.echo && ack.kind == Kind::Ack {
                    if before == 0.0 {
                        before = sender.cwnd();
                    }
                    sender.handle_echo();
                }
                sender.handle_ack(now, ack.kind, ack.ack, ack.window, &NO_SACK);
            }
        }
        rounds.push(sent);
    }
    (before, rounds, sender)
}

#[test]
fn a_mark_reduces_the_window_once_and_nothing_is_sent_again() {
    for profile in [Profile::Rfc, Profile::Linux] {
        let (before, rounds, sender) = talk(profile, true);
        assert!(before >= 10.0, "{profile:?}: the mark was echoed at {before}");
        // CUBIC keeps 0.7 of it; three round trips of growth on top.
        let share = sender.cwnd() / before;
        assert!((0.6..0.95).contains(&share), "{profile:?}: from {before} to {}", sender.cwnd());
        assert_eq!((sender.stats().retransmits, sender.stats().fast_retransmits), (0, 0), "{profile:?}");
        let told = rounds.iter().flatten().filter(|segment| segment.kind == Kind::Data && segment.ecn.reduced);
        assert_eq!(told.count(), 1, "{profile:?}: CWR goes with one segment");
        let syn = rounds[0][0].ecn;
        assert!(syn.echo && syn.reduced && !syn.capable, "{profile:?}: an ECN-setup SYN has ECE and CWR");
        assert!(rounds[1..].iter().flatten().all(|segment| segment.ecn.capable), "{profile:?}: data may be marked");
    }
}

#[test]
fn without_ecn_no_header_names_it() {
    for profile in [Profile::Rfc, Profile::Linux] {
        let (before, rounds, _) = talk(profile, false);
        assert!(before == 0.0, "{profile:?}: nothing is echoed");
        assert!(rounds.iter().flatten().all(|segment| segment.ecn == Ecn::NONE), "{profile:?}");
    }
}

#[test]
fn the_echo_goes_with_each_ack_until_the_sender_has_answered_it() {
    let mut receiver = Receiver::new(&TcpParams { delayed_ack: false, ..params(Profile::Rfc, true) });
    let (marked, reduced) = (Ecn { marked: true, ..Ecn::NONE }, Ecn { reduced: true, ..Ecn::NONE });
    let mut echoes = Vec::new();
    for (seq, ecn) in [(0, Ecn::NONE), (1, marked), (2, Ecn::NONE), (3, reduced), (4, Ecn { marked: true, ..reduced })]
    {
        receiver.handle_ecn(ecn);
        receiver.handle_segment(Instant::ZERO, Kind::Data, seq * u64::from(MSS), MSS, false);
        echoes.push(receiver.poll_transmit().unwrap().ecn.echo);
    }
    assert_eq!(echoes, [false, true, true, false, true]);
}
