//! What stands beside the recommended plan: what can be deployed in its place, what may be better, and the other side of the trade of goodput
//! for a short delay.

use fairair_core::metrics::Estimate;
use fairair_sim::plan::{Loss, Plan, Point, Row, SHORT_S};

use super::words::{PROVED, bold, rate, short};
use crate::output::comparison::pasted;
use crate::output::quantity::Quantity;
use crate::output::{Page, listed};

/// What a remedy costs is told where it leaves less than this share of the goodput.
const DEAR: f64 = 0.95;

/// What a remedy costs that leaves the share `kept` of the goodput of the cell as it is.
pub(super) fn cost(kept: f64, page: Page) -> Vec<String> {
    if kept >= DEAR {
        return Vec::new();
    }
    let lost = (1.0 - kept) * 100.0;
    bold(page, &format!("It costs {lost:.0} % of the goodput that the cell has as it is."))
}

/// Who loses much.
pub(super) fn lost(losses: &[Loss], page: Page) -> Vec<String> {
    if losses.is_empty() {
        return Vec::new();
    }
    let told = losses.iter().map(|loss| match (loss.goodput_bps, loss.transfer_s) {
        (Some([was, is]), _) => format!("{} has {} instead of {}", loss.who, rate(is, None), rate(was, None)),
        (_, Some([was, is])) => format!("{} take {is:.2} s instead of {was:.2}", loss.who),
        _ => loss.who.clone(),
    });
    bold(page, &format!("Against the cell as it is, {}.", told.collect::<Vec<_>>().join("; ")))
}

/// What can be deployed in place of what cannot, with its cost and its losers.
pub(super) fn today(plan: &Plan, page: Page) -> Vec<String> {
    let Some(point) = &plan.deployable else {
        return page.wrapped("Nothing of what can is proved to meet this; `--today` searches among that alone.");
    };
    let has = rate(point.goodput_bps, point.goodput_ci95_bps);
    let delay = point.delay_s * 1e3;
    let text =
        format!("Of what can, this meets it too, with {has} and a delay of {delay:.0} ms: {}", short(&point.snippet));
    let mut lines = page.wrapped(&text);
    lines.extend(point.paste.iter().flat_map(pasted));
    let dear = cost(point.goodput_bps / plan.as_is_goodput_bps.max(1e-9), page);
    let losers = lost(&plan.deployable_losses, page);
    let long =
        (point.delay_s > SHORT_S).then(|| bold(page, "Its delay is long: calls and games in that queue suffer."));
    let costs = [dear, losers, long.unwrap_or_default()].concat();
    if point.paste.is_some() && !costs.is_empty() {
        lines.push(String::new());
    }
    lines.extend(costs);
    lines
}

/// What is fairer, where the recommended plan takes from others what they have.
pub(super) fn fairer(plan: &Plan, row: &Row, page: Page) -> Vec<String> {
    let Some(point) = &plan.fairer else { return Vec::new() };
    let as_is = plan.rows.iter().find(|row| row.snippet.is_empty());
    let instead = as_is.map(|row| format!(" instead of {:.3}", row.fairness)).unwrap_or_default();
    let text = format!(
        "It is less fair than the cell as it is: {:.3}{instead}. A fairness of {:.3} costs {} of its goodput{}: {}",
        row.fairness,
        point.fairness,
        more(point, row, -1.0),
        told(point),
        short(&point.snippet)
    );
    let mut lines = [vec![String::new()], bold(page, &text)].concat();
    lines.extend(point.paste.iter().flat_map(pasted));
    lines
}

/// How much more goodput than `row` the point has, as a share of the former; how much less with a `sign` of -1.
fn more(point: &Point, row: &Row, sign: f64) -> String {
    let own = row.report.totals.goodput_bps;
    let mean = own.mean.unwrap_or(1.0);
    let doubt = point.goodput_ci95_bps.zip(own.ci95).map(|(theirs, own)| theirs.hypot(own) / mean);
    Quantity::percent(Estimate { mean: Some(sign * (point.goodput_bps / mean - 1.0)), ci95: doubt, n: 0 }).text()
}

/// What to know of a point before it is taken.
fn told(point: &Point) -> String {
    let doubt = (point.rung < PROVED).then(|| "looked at, not proved".to_owned());
    let lacks = point.not_today.as_ref().map(|what| format!("in simulation only: {what}"));
    let told: Vec<String> = doubt.into_iter().chain(lacks).collect();
    if told.is_empty() { String::new() } else { format!(" ({})", told.join("; ")) }
}

/// What may be better, and is not proved.
pub(super) fn in_doubt(plan: &Plan, page: Page) -> Vec<String> {
    let Some(point) = &plan.doubtful else { return Vec::new() };
    let (has, remedy) = (rate(point.goodput_bps, point.goodput_ci95_bps), short(&point.snippet));
    let share = 100.0 * point.goodput_bps / plan.as_is_goodput_bps.max(1e-9);
    let doubt = if let Some(risk) = &point.risk {
        format!("Its means meet this, but {risk}, so that somebody may starve with other seeds")
    } else if point.rung > 0 && share >= 10.0 {
        "Its means meet this, but its replicas differ too much to be sure".to_owned()
    } else {
        format!("It met this when last looked at, at {share:.0} % of the goodput that the cell has as it is")
    };
    let lacks = point.not_today.as_ref().map(|what| format!(" (in simulation only: {what})")).unwrap_or_default();
    let text = format!("Not proved: {remedy} has {has}{lacks}. {doubt}: simulate it for longer before you take it.");
    [vec![String::new()], page.wrapped(&text)].concat()
}

/// Who waits long in the AP, where some do and others do not; else what suffers. A box divides what waits, too, and is not told apart.
fn sufferers(row: &Row) -> String {
    let waits = |long: bool| {
        let stations = row.report.stations.iter().filter_map(|own| Some((own, own.ap_delay_p95_s.mean?)));
        stations.filter(move |(_, delay)| (*delay > SHORT_S) == long)
    };
    let most = waits(false).map(|(_, delay)| delay).fold(0.0, f64::max);
    let names: Vec<String> = waits(true).map(|(own, _)| own.name.clone()).collect();
    if names.is_empty() || most <= 0.0 || row.report.enforce.is_some() {
        return ": calls and games in that queue suffer.".to_owned();
    }
    format!(", that of {}; each other station has at most {:.0} ms.", listed(&names), most * 1e3)
}

const NO_SHORT: &str = "Nothing that meets this was found below";

/// What a shorter queue would cost, if the recommended one is long; what a longer one would bring, if it is short.
pub(super) fn trade(plan: &Plan, row: &Row, page: Page) -> Vec<String> {
    let (short_ms, own_ms) = (SHORT_S * 1e3, row.delay_s * 1e3);
    let shorter = row.delay_s > SHORT_S;
    let long = || format!("Its delay is long, {own_ms:.0} ms at p95{}", sufferers(row));
    let text = match &plan.alternative {
        Some(other) if shorter => format!(
            "{} {}{:.0} ms costs {} of its goodput{}: {}",
            long(),
            if other.delay_s > SHORT_S { format!("{NO_SHORT} {short_ms:.0} ms. ") } else { String::new() },
            other.delay_s * 1e3,
            more(other, row, -1.0),
            told(other),
            short(&other.snippet)
        ),
        None if shorter => format!("{} {NO_SHORT} {short_ms:.0} ms.", long()),
        Some(other) => format!(
            "Its delay is {own_ms:.0} ms at p95. With {:.0} ms there is {} more goodput{}: {}",
            other.delay_s * 1e3,
            more(other, row, 1.0),
            told(other),
            short(&other.snippet)
        ),
        None => return Vec::new(),
    };
    [vec![String::new()], if shorter { bold(page, &text) } else { page.wrapped(&text) }].concat()
}
