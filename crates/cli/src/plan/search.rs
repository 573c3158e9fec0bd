//! From many candidates to the few that are worth a long look: each round simulates those left for longer.

use std::cmp::Ordering;
use std::sync::atomic::AtomicBool;

use fairair_core::metrics::{MaxMin, Provenance, Report, Starved};
use fairair_core::model::capacity::{Stream, Transmitter, carry};
use fairair_core::model::dcf::Backoff;
use fairair_core::packet::TCP_IP_HEADER;
use fairair_core::record::Record;
use fairair_core::remedy::{Candidate, Deploy};
use fairair_core::scenario::Scenario;
use fairair_core::units::{Bytes, Duration};
use fairair_sim::replicas::Pool;

use super::goal::Wish;
use crate::progress::Progress;

/// A round of the search.
#[derive(Clone, Copy)]
struct Round {
    /// Distinguishes its seeds.
    number: u64,
    replicas: u32,
    /// Measured time of each replica, after the warm-up, in a cell of [`USUAL_PACE`].
    measured_s: f64,
    /// Share of the tolerance that it allows: what is met with room to spare is met by other seeds too. One replica has
    /// no confidence interval to leave room for.
    margin: f64,
}

/// A short look at all, a longer one at the most promising; the last one is the proof that a plan comes with.
const FIRST: Round = Round { number: 0, replicas: 1, measured_s: 60.0, margin: 0.7 };
const SECOND: Round = Round { number: 1, replicas: 4, measured_s: 120.0, margin: 0.8 };
const LAST: Round = Round { number: 2, replicas: 8, measured_s: 300.0, margin: 0.95 };
/// Once more for what the last round leaves in doubt.
const LONGER: Round = Round { number: 3, replicas: 24, ..LAST };
/// What may be worth it: more goodput than the best that passed, by this factor.
const WORTH: f64 = 1.02;
/// Most that are looked at so long.
const DOUBTFUL: usize = 3;
/// Candidates of the second round.
const PROMISING: usize = 24;
/// Candidates of the last round, and of the plan.
const FINAL: usize = 6;
/// When none of them passes, so many times the next are tried.
const MORE_FINALS: usize = 2;
/// The best so many of the first round are tried with their parameters between the steps too, and the best of these
/// again.
const REFINED: usize = 10;
const REFINEMENTS: usize = 2;
const WARMUP: Duration = Duration::from_secs(20);
/// Packets per second of 802.11b at 11 Mbit/s. A faster cell has as many in less time, down to a quarter: round trips of
/// wires and pauses of users do not get shorter.
const USUAL_PACE: f64 = 800.0;
/// Goodputs closer than this are alike, and the simpler change wins.
const ALIKE: f64 = 0.01;
/// What carries less than this share of the cell as it is, is no remedy, and nobody's closest below the second: goals
/// are easily met by a cell that carries nothing.
const REMEDY: f64 = 0.1;
const CLOSEST: f64 = 0.5;

/// A candidate and what the last round that it reached says of it.
#[derive(Clone)]
pub(crate) struct Verified {
    pub(crate) candidate: Candidate,
    pub(crate) report: Report,
    /// Whether it meets the wish with room to spare, and nobody starves.
    pub(crate) meets: bool,
    /// Who is below the floor in any replica.
    pub(crate) starved: Starved,
    shortfall: f64,
}

impl Verified {
    fn goodput(&self) -> f64 {
        self.report.totals.goodput_bps.mean.unwrap_or(0.0)
    }
}

/// What a search found.
pub(crate) struct Found {
    /// The candidates of the last round, the recommended one first.
    pub(crate) verified: Vec<Verified>,
    /// Candidates that were simulated.
    pub(crate) tried: usize,
    /// Goodput of the cell as it is.
    pub(crate) as_is_bps: f64,
    /// Who starves in the cell as it is.
    pub(crate) as_is_starved: Starved,
}

/// Searches among `candidates`, the cell as it is first of them, and their neighbours; `None` when `cancel` was set.
pub(crate) fn search(candidates: Vec<Candidate>, wish: &Wish, pool: &Pool, cancel: &AtomicBool) -> Option<Found> {
    let pace = candidates.first().map_or(1.0, |as_is| USUAL_PACE / pace(&as_is.scenario)).clamp(0.25, 1.0);
    let look = |candidates, round: Round| look(candidates, &round, pace, wish, pool, cancel);
    let mut seen = look(candidates, FIRST)?;
    let as_is = seen.first().map_or(0.0, Verified::goodput);
    let as_is_starved = seen.first().map_or_else(Starved::default, |v| v.starved.clone());
    for _ in 0..REFINEMENTS {
        rank(&mut seen, as_is);
        let mut between: Vec<Candidate> = Vec::new();
        for near in distinct(&seen, REFINED).iter().flat_map(|verified| verified.candidate.neighbours()) {
            if !between.contains(&near) && !seen.iter().any(|known| known.candidate == near) {
                between.push(near);
            }
        }
        seen.extend(look(between, FIRST)?);
    }
    let tried = seen.len();
    rank(&mut seen, as_is);
    let mut second = look(promising(&seen), SECOND)?;
    rank(&mut second, as_is);
    let mut second = doubtful_among(distinct(&second, second.len()), wish);
    let mut verified = Vec::new();
    for batch in 0..=MORE_FINALS {
        let rest = second.split_off(second.len().min(FINAL));
        // Further ones only if they have met the wish so far.
        let worth = |v: &Verified| batch == 0 || v.meets;
        let batch: Vec<Candidate> = second.iter().filter(|v| worth(v)).map(|v| v.candidate.clone()).collect();
        verified.extend(look(batch, LAST)?);
        if verified.iter().any(|v: &Verified| v.meets) {
            break;
        }
        second = rest;
    }
    rank(&mut verified, as_is);
    let best = best_of(&verified);
    let (doubtful, mut sure): (Vec<Verified>, Vec<Verified>) = verified
        .into_iter()
        .partition(|v| !v.meets && v.starved.is_nobody() && v.goodput() > WORTH * best && wish.seems_met(&v.report));
    let (again, rest) = doubtful.split_at(doubtful.len().min(DOUBTFUL));
    sure.extend_from_slice(rest);
    sure.extend(look(again.iter().map(|v| v.candidate.clone()).collect(), LONGER)?);
    let mut verified = sure;
    rank(&mut verified, as_is);
    prefer_simple(&mut verified);
    verified.truncate(FINAL);
    Some(Found { verified, tried, as_is_bps: as_is, as_is_starved })
}

/// Goodput of the best that meets the wish.
fn best_of(all: &[Verified]) -> f64 {
    all.iter().filter(|v| v.meets).map(Verified::goodput).fold(0.0, f64::max)
}

/// The last places of the last round for those that carry more than any that passed, and seem to pass.
fn doubtful_among(ranked: Vec<Verified>, wish: &Wish) -> Vec<Verified> {
    let best = best_of(&ranked);
    let doubtful =
        |v: &Verified| !v.meets && v.starved.is_nobody() && v.goodput() > WORTH * best && wish.seems_met(&v.report);
    let (mut doubted, mut order): (Vec<Verified>, Vec<Verified>) = ranked.into_iter().partition(doubtful);
    doubted.sort_by(|a, b| b.goodput().total_cmp(&a.goodput()));
    let at = order.len().min(FINAL.saturating_sub(doubted.len().min(DOUBTFUL)));
    order.splice(at..at, doubted);
    order
}

/// What is closer to the wish goes first; what meets it, by its goodput. What hardly carries anything goes last.
fn rank(all: &mut [Verified], as_is: f64) {
    for verified in all.iter_mut() {
        verified.meets &= verified.goodput() >= REMEDY * as_is;
    }
    let class = |v: &Verified| match v.goodput() / as_is.max(1e-9) {
        _ if v.meets => 0,
        share if share >= CLOSEST => 1,
        share if share >= REMEDY => 2,
        _ => 3,
    };
    let better = |a: &Verified, b: &Verified| -> Ordering {
        let closer = a.shortfall.total_cmp(&b.shortfall);
        class(a).cmp(&class(b)).then(closer).then(b.goodput().total_cmp(&a.goodput()))
    };
    all.sort_by(better);
}

/// The first `most` of which no two behave alike in every packet: a turn a flow and a turn a station are the same where
/// each station has one flow.
fn distinct(ranked: &[Verified], most: usize) -> Vec<Verified> {
    let mut kept: Vec<Verified> = Vec::new();
    for verified in ranked {
        let copy = kept.iter().any(|other| other.report.fingerprint == verified.report.fingerprint);
        if !copy && kept.len() < most {
            kept.push(verified.clone());
        }
    }
    kept
}

/// The best by rank, and in the last third those of the most goodput among what a short look may have misjudged.
fn promising(ranked: &[Verified]) -> Vec<Candidate> {
    let distinct = distinct(ranked, ranked.len());
    let (first, others) = distinct.split_at(distinct.len().min(PROMISING * 2 / 3));
    let mut doubtful: Vec<&Verified> = others.iter().filter(|v| v.shortfall <= 0.5).collect();
    doubtful.sort_by(|a, b| b.goodput().total_cmp(&a.goodput()));
    doubtful.truncate(PROMISING - first.len());
    let rest = others.iter().filter(|v| v.shortfall > 0.5).take(PROMISING - first.len() - doubtful.len());
    first.iter().chain(doubtful).chain(rest).map(|verified| verified.candidate.clone()).collect()
}

/// Among those that meet the wish and carry as much as the best, the simplest change goes first, then the least delay.
fn prefer_simple(ranked: &mut [Verified]) {
    let effort = |v: &Verified| match v.candidate.deploy {
        Deploy::Nothing => 0,
        Deploy::Ap => 1,
        Deploy::Box => 2,
    };
    let Some(best) = ranked.first().filter(|best| best.meets).map(Verified::goodput) else { return };
    let alike = ranked.iter().take_while(|v| v.meets && v.goodput() >= best * (1.0 - ALIKE)).count();
    let delay = |v: &Verified| {
        v.report.ap_queue.p95_sojourn_s.mean.unwrap_or(0.0) + v.report.box_sojourn_s().mean.unwrap_or(0.0)
    };
    ranked[..alike].sort_by(|a, b| effort(a).cmp(&effort(b)).then(delay(a).total_cmp(&delay(b))));
}

/// Packets per second of the cell when the AP sends a segment to every station and is acknowledged.
fn pace(scenario: &Scenario) -> f64 {
    let params = fairair_core::mac::MacParams::new(&scenario.radio, scenario.run.preset);
    let Ok(backoff) = Backoff::new(&params, 1.0) else { return USUAL_PACE };
    let node = || Transmitter { backoff: backoff.clone(), count: 1.0, streams: Vec::new() };
    let mut mix = vec![node()];
    for station in scenario.stations.iter().filter(|station| !station.flows.is_empty()) {
        let stream = |ip_len| Stream { packets: 1.0, ip_len, rate: station.rate, error: 0.0 };
        mix[0].streams.push(stream(Bytes(1500)));
        mix.push(Transmitter { streams: vec![stream(Bytes(TCP_IP_HEADER))], ..node() });
    }
    carry(&params, &mix).map_or(USUAL_PACE, |load| load.mixes_per_s * 2.0 * (mix.len() as f64 - 1.0))
}

fn look(
    candidates: Vec<Candidate>,
    round: &Round,
    pace: f64,
    wish: &Wish,
    pool: &Pool,
    cancel: &AtomicBool,
) -> Option<Vec<Verified>> {
    let scenarios: Vec<Scenario> = candidates.iter().map(|candidate| timed(&candidate.scenario, round, pace)).collect();
    let jobs = scenarios.len() as u32 * round.replicas;
    let progress = Progress::new(jobs);
    let simulate = |job: u32| fairair_sim::run(&scenarios[(job / round.replicas) as usize], job % round.replicas);
    let records: Vec<Record> = pool.run(0..jobs, cancel, simulate, |_| progress.done());
    if records.len() < jobs as usize {
        return None;
    }
    let verified = candidates.into_iter().zip(&scenarios).zip(records.chunks(round.replicas as usize)).map(
        |((candidate, scenario), records)| {
            let report = Report::new(
                scenario,
                records,
                Provenance {
                    engine: "simulator".to_owned(),
                    version: env!("CARGO_PKG_VERSION").to_owned(),
                    replicas_planned: round.replicas,
                    interrupted: false,
                    until_ci: None,
                },
            );
            let starved = starved(scenario, records, wish.floor);
            // A starved flow is further from any wish than a ratio that is off by ten tolerances.
            let shortfall =
                wish.shortfall(&report, round.margin) + 10.0 * (starved.flows.len() + starved.stations.len()) as f64;
            Verified { candidate, meets: shortfall <= 0.0, starved, shortfall, report }
        },
    );
    Some(verified.collect())
}

/// Who is below `floor` of the max-min share in any of the replicas: alike flows may starve in turn.
fn starved(scenario: &Scenario, records: &[Record], floor: f64) -> Starved {
    let mut all = Starved::default();
    for record in records {
        let seconds = record.measured.as_secs_f64().max(1e-9);
        let flows: Vec<f64> = record.flows.iter().map(|flow| flow.delivered_bytes as f64 * 8.0 / seconds).collect();
        let mut stations = vec![0.0; record.stations.len()];
        for (flow, goodput) in record.flows.iter().zip(&flows) {
            stations[flow.station] += goodput;
        }
        let here = MaxMin::of(scenario, flows.iter().sum()).starved(floor, &flows, &stations);
        all.flows.extend(here.flows);
        all.stations.extend(here.stations);
    }
    for list in [&mut all.flows, &mut all.stations] {
        list.sort_unstable();
        list.dedup();
    }
    all
}

/// The scenario with the round's length and seeds of its own. A scenario in which flows come and go keeps its time.
fn timed(scenario: &Scenario, round: &Round, pace: f64) -> Scenario {
    let mut scenario = scenario.clone();
    scenario.run.replicas = round.replicas;
    // A candidate that was lucky in one round should not be lucky in the next.
    scenario.run.seed = scenario.run.seed.wrapping_add(round.number << 32);
    let steady = scenario.events.is_empty()
        && scenario.flows().all(|(_, flow)| flow.start == Duration::ZERO && flow.stop.is_none());
    if steady {
        scenario.run.warmup = WARMUP;
        scenario.run.duration = WARMUP + Duration::from_millis((round.measured_s * pace * 1e3) as u64);
    }
    scenario
}
