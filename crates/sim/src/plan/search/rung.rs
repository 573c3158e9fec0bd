//! How long and how often candidates are simulated, and what that may cost.

use fairair_core::metrics::{student_t_975, student_t_995};
use fairair_core::packet::Direction;
use fairair_core::record::Record;
use fairair_core::scenario::{Flow, Scenario, Station, Traffic};
use fairair_core::units::Duration;

use super::squeeze::{squeeze, squeezed};
use crate::plan::goal::Goal;

/// How long and how often a candidate is simulated. All candidates of a rung have the same seeds, which no other rung has:
/// luck is shared by all, and who was lucky in one rung is not in the next.
#[derive(Clone, Copy)]
pub(crate) struct Rung {
    pub(crate) number: u64,
    pub(crate) replicas: u32,
    /// Measured time of each replica, in a cell of [`USUAL_PACE`].
    measured_s: f64,
    warmup_s: f64,
    /// Share of the tolerance that it allows. One replica has no confidence interval to leave room for.
    pub(super) margin: f64,
    /// Share of the search's frames that may be spent when the rung is over.
    pub(super) until: f64,
    /// Candidates that are simulated all the same.
    pub(super) least: usize,
    /// Whether it has the scenario's own warm-up and measured time.
    pub(super) is_own: bool,
}

pub(super) const FIRST: Rung =
    Rung { number: 0, replicas: 1, measured_s: 30.0, warmup_s: 8.0, margin: 0.7, until: 0.45, least: 24, ..PROOF };
pub(super) const SECOND: Rung =
    Rung { number: 1, replicas: 3, measured_s: 60.0, margin: 0.8, until: 0.75, least: 6, ..PROOF };
pub(super) const THIRD: Rung = Rung { number: 2, replicas: 6, margin: 0.9, until: 0.85, least: 4, ..PROOF };
pub(crate) const PROOF: Rung = Rung {
    number: 3,
    replicas: 24,
    measured_s: 100.0,
    warmup_s: 15.0,
    margin: 0.95,
    until: 0.95,
    least: 2,
    is_own: false,
};
/// Once more for what the proof leaves in doubt.
pub(super) const LONGER: Rung = Rung { number: 4, replicas: 64, least: 0, ..PROOF };

/// The scenario's own length, where the proof's is shorter: what grows slowly, such as a queue above a box that lets a little too much pass,
/// shows only then. It is a second opinion on what is proved already.
pub(super) const WHOLE: Rung = Rung { number: 5, replicas: 6, until: 1.0, least: 1, ..PROOF };
/// The same and more replicas, where those few differ much.
pub(super) const WHOLE_AGAIN: Rung = Rung { replicas: PROOF.replicas, ..WHOLE };
/// The scenario's own time, where the proof's is longer: what its start does to the means, and who starves while windows grow. The proof has
/// weighed what is rare.
pub(super) const OWN: Rung = Rung { number: 6, until: 1.0, least: 1, is_own: true, ..PROOF };
/// The same in more replicas, for what it leaves in doubt.
pub(super) const OWN_AGAIN: Rung = Rung { replicas: LONGER.replicas, ..OWN };
/// In the place of the second look where the scenario's own time is shorter than that: a plan has to hold there, too, and what does not is not
/// worth a proof. It lasts as long in more replicas.
pub(super) const SECOND_OWN: Rung = Rung { is_own: true, ..SECOND };
/// Most replicas of it.
const OWN_REPLICAS: u32 = 12;
/// Most frames of a replica as long as the scenario.
const WHOLE_FRAMES: f64 = 10e6 / WHOLE.replicas as f64;
/// A time that differs from the proof's by less than this factor is no news.
const LENGTHENED: f64 = 1.2;

/// Packets per second of 802.11b at 11 Mbit/s. A faster cell has as many in less time, down to a quarter: round trips of
/// wires and pauses of users do not get shorter.
const USUAL_PACE: f64 = 800.0;
/// Beyond this many packets per second a quarter of the time is more than is needed, and so are many replicas: they are fewer in the
/// same measure. A replica is not much shorter: who starves for a second need not starve.
const FAST_PACE: f64 = 8000.0;

impl Rung {
    /// The rung for `scenario`, a cell of so many packets per second: where that keeps its time and is longer, fewer replicas say as much.
    pub(super) fn of(self, scenario: &Scenario, pace: f64) -> Self {
        let run = &scenario.run;
        let usual = seconds(self, pace, round_trip_s(scenario)).1;
        let own = in_less_time(scenario, self, pace).map_or((run.duration - run.warmup).as_secs_f64(), |(_, own)| own);
        let longer = if is_steady(scenario) { 1.0 } else { own / usual };
        self.fewer(fast(pace) / longer.max(1.0))
    }

    pub(super) fn fewer(self, share: f64) -> Self {
        let replicas = (f64::from(self.replicas) * share).ceil() as u32;
        Rung { replicas: replicas.max(self.replicas.min(LEAST_REPLICAS)), ..self }
    }

    /// Candidates that are simulated whatever they cost: fewer where each costs so much that they would take all that the search may spend, and where
    /// all of that is `spent`.
    pub(super) fn least(self, cost: f64, most: f64, spent: f64) -> usize {
        let is_dear = cost * self.least as f64 > most * self.until;
        if is_dear || spent > most { self.least.div_ceil(4) } else { self.least }
    }
}

/// In a single replica that is shorter than this, in seconds, a flow that lost its first packets seems to starve: the floor is lower
/// there in the same measure.
const SURE_S: f64 = 10.0;

impl Rung {
    /// Share of the floor that counts in a cell of so many packets per second.
    pub(super) fn strictness(self, pace: f64) -> f64 {
        if self.replicas > 1 { 1.0 } else { (seconds(self, pace, 0.0).1 / SURE_S).min(1.0) }
    }

    /// Half widths of the 95 % confidence intervals that count against `goal`. A proof vouches for the mean over [`OTHERS`] other seeds: this
    /// strays as well, and in a noisy cell more than the mean of a long look. Its interval has 99 % where the goal is a time: times in queues are
    /// skewed, and now and then one is twice as long.
    pub(super) fn doubt(self, goal: &Goal) -> f64 {
        match self.replicas {
            1 => 0.0,
            _ if self.number == WHOLE.number => 0.0,
            _ if self.number < PROOF.number => 1.0,
            replicas => {
                let mean = (1.0 + f64::from(replicas) / OTHERS).sqrt();
                let wider = || student_t_995(replicas - 1) / student_t_975(replicas - 1);
                if goal.is_time() { wider() * mean } else { mean }
            }
        }
    }

    /// How wide the intervals of a proof are, over its own.
    pub(super) fn width_at_proof(self) -> f64 {
        let width = |replicas: u32| student_t_975(replicas - 1) / f64::from(replicas).sqrt();
        if self.replicas < 2 { 1.0 } else { (width(PROOF.replicas) / width(self.replicas)).min(1.0) }
    }

    /// Whether it is as long as plans are proved.
    pub(super) fn is_proof(self) -> bool {
        self.number >= PROOF.number && !self.is_own
    }

    /// Whether it looks at what is proved in another time.
    pub(super) fn is_second_opinion(self) -> bool {
        self.number == WHOLE.number || self.number == OWN.number
    }
}

/// Seeds on whose mean what a plan promises is to hold.
const OTHERS: f64 = 20.0;

/// Fewer replicas say too little of who starves by chance.
pub(crate) const LEAST_REPLICAS: u32 = 6;

fn fast(pace: f64) -> f64 {
    (FAST_PACE / pace).clamp(0.2, 1.0)
}

/// A replica of the proof has 75 round trips of the longest wire to warm up and 100 that are measured, however fast the cell is: a window
/// grows by round trips, and CUBIC's comes back from the losses of its start after many. These are the shares of a rung's time for each
/// second of round trip.
const ROUND_TRIPS: (f64, f64) = (5.0, 1.0);

/// Warm-up and measured time of a replica in a cell of so many packets per second and of that round trip over its wires.
fn seconds(rung: Rung, pace: f64, round_trip_s: f64) -> (f64, f64) {
    let measured = (USUAL_PACE / pace).clamp(0.25, 1.0) * fast(pace).max(0.4);
    let trips = |share: f64| (share * round_trip_s).min(1.0);
    let warmup = fast(pace).max(0.3).max(trips(ROUND_TRIPS.0));
    (rung.warmup_s * warmup, rung.measured_s * measured.max(trips(ROUND_TRIPS.1)))
}

/// The longest round trip over the wires of `scenario`, in seconds.
fn round_trip_s(scenario: &Scenario) -> f64 {
    let own = scenario.flows().filter_map(|(_, flow)| flow.wire).map(|wire| wire.delay).max();
    2.0 * (scenario.wire.delay + own.unwrap_or(Duration::ZERO)).as_secs_f64()
}

/// Flows that begin in the first seconds have begun before the shortest warm-up is over.
const EARLY_S: f64 = 2.0;
/// Flows may begin so late in the measured time, as a share of it, and the rest is as if they had always been there.
const LATE: f64 = 0.05;

/// Whether flows go, files come to an end or something happens in the time of `scenario`, or flows come late in what is measured: the scenario
/// keeps its time then.
pub(crate) fn is_steady(scenario: &Scenario) -> bool {
    let run = &scenario.run;
    let is_endless =
        |flow: &Flow| flow.stop.is_none() && !matches!(flow.traffic, Traffic::Files { count: Some(_), .. });
    let late = settled_s(scenario) - run.warmup.as_secs_f64();
    scenario.events.is_empty()
        && scenario.flows().all(|(_, flow)| is_endless(flow))
        && late <= LATE * (run.duration - run.warmup).as_secs_f64()
}

/// Seconds after which all flows of `scenario` have begun; none where a warm-up sees to that.
pub(crate) fn settled_s(scenario: &Scenario) -> f64 {
    let last = scenario.flows().map(|(_, flow)| flow.start).max().unwrap_or(Duration::ZERO);
    let last = (last + scenario.run.start_spread).as_secs_f64();
    if last > EARLY_S { last } else { 0.0 }
}

/// Warm-up and measured time that `scenario` names.
fn own_lengths(scenario: &Scenario) -> (f64, f64) {
    let run = &scenario.run;
    (run.warmup.as_secs_f64(), (run.duration - run.warmup).as_secs_f64())
}

/// Warm-up and measured time of a replica of `scenario`, which is steady.
fn lengths(scenario: &Scenario, rung: Rung, pace: f64) -> (f64, f64) {
    let (warmup, measured) = seconds(rung, pace, round_trip_s(scenario));
    let warmup = settled_s(scenario) + warmup;
    if rung.is_own {
        return own_lengths(scenario);
    }
    if rung.number != WHOLE.number {
        return (warmup, measured);
    }
    let whole = scenario.run.duration.as_secs_f64().min(WHOLE_FRAMES / pace);
    let warmup = scenario.run.warmup.as_secs_f64().max(warmup);
    (warmup, measured.max(whole - warmup))
}

/// Warm-up and measured time of a look at a scenario with a timetable, where that is shorter than the scenario; a proof keeps its time.
fn in_less_time(scenario: &Scenario, rung: Rung, pace: f64) -> Option<(f64, f64)> {
    if rung.number >= PROOF.number || is_steady(scenario) {
        return None;
    }
    let (warmup, measured) = seconds(rung, pace, round_trip_s(scenario));
    squeezed(scenario, warmup, measured)
}

/// The rung of the scenario's own time, where that is longer than its proof or shorter, or has more of the start in it.
pub(super) fn of_own_time(scenario: &Scenario, pace: f64) -> Option<Rung> {
    let [(warmup, proof), (_, whole), (own_warmup, own)] =
        [PROOF, WHOLE, OWN].map(|rung| lengths(scenario, rung, pace));
    match is_steady(scenario) {
        true if whole > LENGTHENED * proof => Some(WHOLE),
        true if LENGTHENED * own < proof || LENGTHENED * own_warmup < warmup => Some(OWN),
        _ => None,
    }
}

/// The second rung of a search: in the scenario's own time where that is shorter than the look.
pub(super) fn second(scenario: &Scenario, pace: f64) -> Rung {
    let [(warmup, look), (own_warmup, own)] = [lengths(scenario, SECOND, pace), own_lengths(scenario)];
    if !is_steady(scenario) || LENGTHENED * own > look {
        return SECOND;
    }
    let as_many = f64::from(SECOND.replicas) * (warmup + look) / (own_warmup + own);
    Rung { replicas: (as_many as u32).clamp(SECOND.replicas, OWN_REPLICAS), ..SECOND_OWN }
}

/// `scenario` with the rung's length and seeds.
pub(crate) fn timed(scenario: &Scenario, rung: Rung, pace: f64) -> Scenario {
    let mut scenario = scenario.clone();
    scenario.run.replicas = rung.replicas;
    scenario.run.seed = scenario.run.seed.wrapping_add(rung.number << 32);
    if is_steady(&scenario) {
        let (warmup, measured) = lengths(&scenario, rung, pace);
        scenario.run.warmup = Duration::from_millis((warmup * 1e3) as u64);
        scenario.run.duration = scenario.run.warmup + Duration::from_millis((measured * 1e3) as u64);
    } else if let Some(shorter) = in_less_time(&scenario, rung, pace) {
        squeeze(&mut scenario, shorter);
    }
    scenario
}

/// Simulated seconds of a candidate in a rung.
pub(super) fn seconds_of(scenario: &Scenario, rung: Rung, pace: f64) -> f64 {
    let own = match in_less_time(scenario, rung, pace) {
        Some((warmup, measured)) => warmup + measured,
        None if is_steady(scenario) => {
            let (warmup, measured) = lengths(scenario, rung, pace);
            warmup + measured
        }
        None => scenario.run.duration.as_secs_f64(),
    };
    f64::from(rung.replicas) * own
}

/// What one that passes a box costs, in those that pass none: where each frame has the air to itself, and where aggregates carry more packets
/// per second than [`FAST`], whose queues no cache holds. In slower cells of aggregates the box costs nothing that was measurable.
const BOXED: (f64, f64) = (1.6, 1.75);
const FAST: f64 = 30_000.0;
/// What a frame costs to simulate in a cell of `pace` packets per second, in frames that pass no box.
pub(super) fn cost_of_frame(scenario: &Scenario, pace: f64) -> f64 {
    match scenario.radio.qos {
        _ if scenario.enforce.is_none() => 1.0,
        None => BOXED.0,
        Some(_) if pace > FAST => BOXED.1,
        Some(_) => 1.0,
    }
}

/// What a datagram costs before it is on the air, in frames: many of a flow that does not answer congestion are dropped before.
const DATAGRAM: f64 = 0.3;

/// What the datagrams of a second cost before they are on the air, in frames. Greedy downloads offer twice the station's rate.
pub(super) fn datagrams(scenario: &Scenario) -> f64 {
    let per_s = |station: &Station, flow: &Flow| match flow.traffic {
        Traffic::UdpCbr { payload, rate } => payload.time_at(rate).as_secs_f64().recip(),
        Traffic::UdpGreedy { payload } if flow.direction == Direction::Down => {
            2.0 / payload.time_at(station.rate).as_secs_f64()
        }
        _ => 0.0,
    };
    let all = scenario.flows().map(|(station, flow)| per_s(&scenario.stations[station], flow));
    DATAGRAM * all.sum::<f64>()
}

/// Frames on the air in the whole replica, as the measured time has them: what a simulation costs.
pub(super) fn frames(scenario: &Scenario, record: &Record) -> f64 {
    let transmitters = record.stations.iter().map(|station| &station.mac).chain([&record.ap_mac]);
    // Under EDCA attempts are PPDUs, and what is in them costs as much.
    let measured: u64 = transmitters.map(|mac| mac.attempts + mac.qos.mpdus).sum();
    let part = record.measured.as_secs_f64() / scenario.run.duration.as_secs_f64().max(1e-9);
    measured as f64 / part.max(1e-3)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_short_single_replica_lowers_the_floor() {
        assert!((FIRST.strictness(800.0) - 1.0).abs() < 1e-9, "30 s");
        assert!((FIRST.strictness(8000.0) - 0.75).abs() < 1e-9, "7.5 s of 10");
        assert!(
            [SECOND, PROOF].iter().all(|rung| rung.strictness(8e5).to_bits() == 1.0_f64.to_bits()),
            "several replicas"
        );
    }

    #[test]
    fn datagrams_cost_before_they_are_on_the_air() {
        let text = "name = \"x\"\n[run]\nduration = \"30 s\"\n[radio]\nphy = \"802.11b\"\n[[station]]\nname = \"a\"\nflows = [{ direction = \"up\" }, \
                    { direction = \"down\", kind = \"udp\", payload = \"1000 B\" }, { direction = \"up\", kind = \"udp\", payload = \"1000 B\" }, \
                    { direction = \"up\", kind = \"udp\", payload = \"100 B\", rate = \"80 kbit/s\" }]\n";
        let cost = datagrams(&Scenario::from_toml(text, "test").unwrap());
        assert!((cost / DATAGRAM - (2.0 * 11e6 / 8000.0 + 100.0)).abs() < 0.01, "{cost}: times are whole nanoseconds");
    }

    #[test]
    fn the_last_look_lasts_as_long_as_the_scenario() {
        let text = |warmup: u32, duration: u32| {
            format!(
                "name = \"x\"\n[run]\nduration = \"{duration} s\"\nwarmup = \"{warmup} s\"\n[radio]\nphy = \"802.11b\"\n[[station]]\nname = \"a\"\nflows = [{{ direction = \"up\" }}]\n"
            )
        };
        let timed = |warmup: u32, duration: u32| Scenario::from_toml(&text(warmup, duration), "test").unwrap();
        let of = |duration: u32| timed(5, duration);
        let close = |(a, b): (f64, f64), (c, d): (f64, f64)| (a - c).abs() < 1e-9 && (b - d).abs() < 1e-9;
        let rung = |scenario: &Scenario, pace: f64| of_own_time(scenario, pace).map(|rung| rung.number);
        let number = |duration: u32, pace: f64| rung(&of(duration), pace);
        assert_eq!(number(60, 16_000.0), Some(WHOLE.number), "12.5 s are proved");
        let [once, again] = [WHOLE, WHOLE_AGAIN].map(|rung| lengths(&of(60), rung, 16_000.0));
        assert!(close(once, again) && WHOLE_AGAIN.replicas > 2 * WHOLE.replicas, "more replicas are not shorter");
        assert_eq!((rung(&timed(7, 19), 16_000.0), rung(&timed(15, 115), 800.0)), (None, None), "as long as the proof");
        assert_eq!(
            rung(&timed(2, 14), 16_000.0),
            Some(OWN.number),
            "windows still grow after 2 s, and the proof waits for 7.5"
        );
        assert_eq!(number(60, 800.0), Some(OWN.number), "100 s are proved");
        assert!(close(lengths(&of(60), OWN, 800.0), (5.0, 55.0)), "what the file says");
        assert!(close(lengths(&of(60), WHOLE, 16_000.0), (7.5, 52.5)), "the warm-up of the proof, and the rest");
        assert!(close(lengths(&of(3600), WHOLE, 16_000.0), (7.5, WHOLE_FRAMES / 16_000.0 - 7.5)), "bounded");
    }

    #[test]
    fn the_second_look_is_no_longer_than_the_scenario() {
        let text = |duration: u32, start: u32| {
            format!(
                "name = \"x\"\n[run]\nduration = \"{duration} s\"\nwarmup = \"2 s\"\n[radio]\nphy = \"802.11b\"\n[[station]]\nname = \"a\"\n\
                 flows = [{{ direction = \"up\", start = \"{start} s\" }}]\n"
            )
        };
        let of = |duration: u32, start: u32| {
            let scenario = Scenario::from_toml(&text(duration, start), "test").unwrap();
            let rung = second(&scenario, 800.0);
            let own = timed(&scenario, rung, 800.0).run;
            (rung.is_own, rung.replicas, own.warmup.as_secs_f64() as u32, own.duration.as_secs_f64() as u32)
        };
        assert_eq!(of(120, 0), (false, 3, 15, 75), "as long as the others");
        assert_eq!(of(45, 0), (true, 5, 2, 45), "225 s in all");
        assert_eq!(of(6, 0), (true, OWN_REPLICAS, 2, 6), "enough for who fetches a file only now and then");
        assert!(!of(6, 4).0, "a flow comes late: no rung changes its time");
        assert!(PROOF.is_proof() && WHOLE.is_proof() && !SECOND_OWN.is_proof() && !OWN.is_proof());
    }

    #[test]
    fn a_proof_holds_for_the_mean_over_other_seeds() {
        let [level, time] = ["level=1", "delay(a)<=20ms"].map(|goal| goal.parse::<Goal>().unwrap());
        assert!((FIRST.doubt(&time) - 0.0).abs() < 1e-9 && (THIRD.doubt(&time) - 1.0).abs() < 1e-9);
        // t of 24 and of 64 replicas times the deviation of a difference: the longer look is surer, but not without limit.
        let far = |rung: Rung, goal, t: f64| t * rung.doubt(goal) / f64::from(rung.replicas).sqrt();
        let of = |replicas: f64, t: f64| t * (1.0 / replicas + 1.0 / 20.0).sqrt();
        assert!((far(PROOF, &level, 2.0687) - of(24.0, 2.0687)).abs() < 1e-9);
        assert!((far(PROOF, &time, 2.0687) - of(24.0, 2.8073)).abs() < 1e-3, "0.995 instead of 0.975");
        assert!((far(LONGER, &time, 1.9983) - of(64.0, 2.6561)).abs() < 1e-3);
    }

    #[test]
    fn a_fast_cell_is_simulated_for_less_time_and_less_often() {
        let close = |(a, b): (f64, f64), (c, d): (f64, f64)| (a - c).abs() < 1e-9 && (b - d).abs() < 1e-9;
        for (pace, replicas, times) in
            [(800.0, 24, (15.0, 100.0)), (8000.0, 24, (15.0, 25.0)), (16_000.0, 12, (7.5, 12.5)), (8e5, 6, (7.5, 10.0))]
        {
            assert_eq!(PROOF.fewer(fast(pace)).replicas, replicas);
            assert!(close(seconds(PROOF, pace, 0.1), times), "{:?}", seconds(PROOF, pace, 0.1));
        }
        assert!(close(seconds(PROOF, 8e5, 0.15), (11.25, 15.0)), "75 and 100 round trips of 150 ms");
        assert!(close(seconds(PROOF, 8e5, 5.0), (15.0, 100.0)), "no longer than in a slow cell");
        assert_eq!(
            (FIRST.fewer(fast(8e5)).replicas, SECOND.fewer(fast(8e5)).replicas, LONGER.fewer(fast(8e5)).replicas),
            (1, 3, 13)
        );
    }
}
