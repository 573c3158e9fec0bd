//! What a look says of a candidate.

use fairair_core::metrics::Starved;
use fairair_core::units::Duration;

use super::rung::{LEAST_REPLICAS, Rung};
use super::{PROOF, Search};
use crate::plan::goal::{Goal, Term};
use crate::plan::look::Sample;
use crate::plan::outcome::{Outcome, Proposal};
use crate::plan::share::{MARGIN, has_little, least, low, of, risk};
use crate::plan::shared_acks;
use crate::starved::{in_any, names};

/// Share of the measured time that the longest timeout may take. Timeouts in a row double: a flow has then been silent for twice as long,
/// and with one or two more losses, in another seed, it sends nothing at all.
const SILENCE: f64 = 0.125;

/// A proof's intervals are taken to be wider by this factor than replicas alone make them: who is the best of many has been lucky, too.
const HOPE: f64 = 1.2;

impl Search<'_> {
    /// What `sample` of a look says of the candidate.
    pub(super) fn outcome(&self, (family, at, change): &Proposal, sample: Sample, rung: Rung) -> Outcome {
        let required = self.required;
        let miss = |goal: &Goal, widths| goal.miss(&sample, required.tolerance, rung.margin, widths * rung.doubt(goal));
        let mut misses: Vec<f64> = required.goals.iter().map(|goal| miss(goal, 1.0)).collect();
        // Times in queues are skewed: few replicas may lack the long ones.
        let is_missed = |goal: &Goal| miss(goal, 2.0) > 0.0;
        let is_close = rung.replicas < PROOF.replicas && required.goals.iter().any(is_missed);
        let by_means = |goal: &Goal| goal.miss(&sample, required.tolerance, 1.0, 0.0) <= 0.0;
        let means_met: Vec<bool> = required.goals.iter().map(by_means).collect();
        let fairness = sample.fairness();
        if let Some(kept) = self.kept {
            misses.push(((kept / fairness.max(1e-6)).ln() / required.tolerance.ln_1p()).max(0.0));
        }
        let floor = required.floor * rung.strictness(self.pace);
        let judged = sample.beside(if family.is_some() { self.as_is_bps } else { 0.0 });
        let starved = in_any(&judged, floor);
        // A proof that is shorter than the scenario stands for that; where it is longer, the scenario's own time has a look of its own.
        let stands_for_own = rung.number >= PROOF.number && !self.has_shorter_look();
        let run = &if stands_for_own { self.scenario } else { sample.scenario }.run;
        let is_silence =
            |timeout: Duration| timeout.as_secs_f64() > SILENCE * (run.duration - run.warmup).as_secs_f64();
        let shares = of(sample.scenario, &judged);
        // A short look that seems to starve somebody may err, but it is no reason to prefer what it shows.
        // What differs by chance the proof has weighed.
        let close = if rung.is_second_opinion() {
            low(sample.scenario, &shares, required.floor)
        } else {
            risk(sample.scenario, &shares, required.floor, rung.number >= PROOF.number)
        };
        let is_in_doubt = |(timeout, flow): &(Duration, usize)| is_silence(*timeout) && has_little(&shares, *flow);
        let timeouts = sample.longest_timeouts.iter().enumerate().map(|(flow, timeout)| (*timeout, flow));
        let silent = timeouts.filter(|own| rung.replicas >= LEAST_REPLICAS && is_in_doubt(own)).max().and_then(
            |(timeout, flow)| {
                let who = names(sample.scenario, &Starved { flows: vec![flow], stations: Vec::new() }).pop()?;
                Some(format!("{who} was silent for {:.1} s", timeout.as_secs_f64()))
            },
        );
        let mut terms: Vec<Term> =
            required.goals.iter().flat_map(|goal| goal.terms(&sample, required.tolerance)).collect();
        terms.extend(self.kept.map(|kept| Term::bound(kept, fairness, required.tolerance)));
        let least = least(sample.scenario, shares.iter());
        terms
            .extend(least.as_ref().map(|least| Term::bound(MARGIN * required.floor, least.lowest, required.tolerance)));
        let is_silent = silent.is_some();
        let risk = close
            .or(silent.filter(|_| !rung.is_second_opinion()))
            .or_else(|| shared_acks::risk(sample.scenario, &sample.report));
        let below = (starved.flows.len() + starved.stations.len()).min(10);
        // Who starves is further from any requirement than a ratio that is off by ten tolerances.
        let shortfall = misses.iter().map(|miss| miss.min(1e6)).sum::<f64>()
            + 10.0 * below as f64
            + f64::from(u8::from(risk.is_some()));
        let narrower = HOPE * rung.width_at_proof();
        let may_miss = required.goals.iter().map(|goal| miss(goal, narrower)).sum::<f64>();
        let unfair = misses.iter().skip(required.goals.len()).sum::<f64>();
        let mut reached: Vec<String> = required.goals.iter().map(|goal| goal.reached(&sample)).collect();
        reached.extend(self.kept.map(|_| format!("{fairness:.3}")));
        let harms = f64::from(u8::from(!starved.is_nobody() || risk.is_some()));
        Outcome {
            family: family.map_or("as it is", |family| family.name),
            at: at.clone(),
            of: *family,
            change: change.clone(),
            rung: rung.number,
            reached,
            misses,
            seems_met: means_met.iter().all(|met| *met),
            means_met,
            // A cell that delivers nothing has equal shares and no delay.
            meets: shortfall <= 0.0 && sample.goodput() > 0.0,
            shortfall,
            may_lack: may_miss + unfair + harms,
            side: required.goals.iter().find_map(|goal| goal.side(&sample)),
            lean: required.goals.iter().find_map(|goal| goal.lean(&sample)),
            starved,
            least,
            terms,
            risk,
            is_unclear: is_silent || is_close,
            goodput: sample.goodput(),
            fairness,
            delay_s: sample.delay().mean.unwrap_or(0.0),
            fingerprint: sample.fingerprint,
            own_time: None,
            run: sample.scenario.run,
            report: sample.report,
        }
    }
}
