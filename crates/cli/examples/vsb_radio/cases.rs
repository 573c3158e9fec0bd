//! What is measured, and the bars.

use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{PoisonError, RwLock};
use std::thread::sleep;
use std::time::Duration;

use fairair_core::metrics::jain_index;
use fairair_core::rng::Rng;

use crate::live::Live;
use crate::load::{Load, Wants};
use crate::radio::{Cell, Control, Mode, Radio};

type Result<T> = std::result::Result<T, String>;

const RATES: [u32; 5] = [5, 20, 50, 100, 200];
const BUFFERS: [u32; 3] = [20, 75, 500];
const STATIONS: usize = 5;
/// A cell that carries this much and more has the machine to itself, in Mbit/s: a radio of kernel queues carries less on a busy one.
const FAST: u32 = 100;
/// From the event until the measurement, and its length, in seconds.
const SETTLES: u64 = 10;
const MEASURED: f64 = 12.0;

/// What happens under load.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Event {
    Start,
    Kill,
    Reload,
}

/// Which questions stations answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Answering {
    Ping,
    Arp,
    Neither,
}

#[derive(Clone, Debug)]
struct Case {
    cell: Cell,
    event: Event,
    /// What each station wants.
    wants: Vec<Wants>,
    answering: Answering,
}

impl Case {
    fn name(&self) -> String {
        let Cell { mode, mbps, buffer, .. } = self.cell;
        format!("{:?} {} {mbps} Mbit/s {buffer} packets", self.event, mode.name()).to_lowercase()
    }
}

/// What a case showed.
#[derive(Clone, Debug)]
struct Seen {
    /// Level and goodput without the box.
    before: (f64, f64),
    after: (f64, f64),
    jain: f64,
    pool: String,
    log: String,
}

/// Goodput of the first station over the mean of the others.
pub(crate) fn level(goodputs: &[f64]) -> f64 {
    let others = &goodputs[1..];
    goodputs[0] * others.len() as f64 / others.iter().sum::<f64>()
}

/// The first station uploads, the others download; more connections by chance.
fn load_of(rng: &mut Rng) -> Vec<Wants> {
    let mut chance = |most: u32| 1 + (rng.uniform() * f64::from(most)) as u32;
    let uploads = chance(4);
    let mut wants = vec![Wants { up: uploads, down: 0 }];
    wants.extend((1..STATIONS).map(|_| Wants { up: 0, down: chance(2) }));
    wants
}

/// All combinations in an order of their own for each seed.
fn cases(seed: u64, answering: Answering, control: Control) -> Vec<Case> {
    let mut rng = Rng::fork(seed, "combinations");
    let mut cases = Vec::new();
    for mode in [Mode::Routed, Mode::Bridged] {
        for event in [Event::Start, Event::Kill, Event::Reload] {
            for mbps in RATES {
                for buffer in BUFFERS {
                    let cell = Cell { mode, mbps, buffer, stations: STATIONS, control };
                    cases.push((rng.uniform(), Case { cell, event, wants: load_of(&mut rng), answering }));
                }
            }
        }
    }
    cases.sort_by(|(a, _), (b, _)| a.total_cmp(b));
    cases.into_iter().map(|(_, case)| case).collect()
}

fn adaptive(mbps: u32) -> String {
    format!("{{ kind = \"adaptive\", max = \"{mbps} Mbit/s\" }}")
}

/// Which combinations are tried.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Chosen<'a> {
    /// Draws their order and the loads.
    pub(crate) seed: u64,
    /// The first so many of those whose name contains `only`.
    pub(crate) count: usize,
    pub(crate) only: &'a str,
    pub(crate) answering: Answering,
    pub(crate) control: Control,
    /// Where the logs of the capacity machines go.
    pub(crate) log: Option<&'a Path>,
}

fn run(fairair: &Path, case: &Case, number: usize, log: Option<&Path>) -> Result<Seen> {
    let radio = Radio::new(case.cell, number)?;
    match case.answering {
        Answering::Ping => {}
        Answering::Arp => radio.deafen()?,
        Answering::Neither => radio.blind()?,
    }
    let mbps = case.cell.mbps;
    let mut live = Live::new(fairair, &radio)?;
    // A user does not know the true capacity: C may be much larger.
    let file = |directory: &Path| directory.join(case.name().replace([' ', '/'], "-"));
    let journal = log.map_or(String::new(), |log| {
        let name = file(log).display().to_string();
        format!("[journal]\nfile = \"{name}.db\"\nlog = \"{name}\"\n")
    });
    live.configure(&adaptive(mbps * 2), &journal, "")?;
    let load = Load::start(&radio, &case.wants)?;
    sleep(Duration::from_secs(4));
    let unfair = load.goodputs(4.0);
    live.start()?;
    match case.event {
        Event::Start => {}
        Event::Kill => {
            sleep(Duration::from_secs(12));
            live.kill();
            sleep(Duration::from_secs(1));
            live.start()?;
        }
        Event::Reload => {
            sleep(Duration::from_secs(12));
            live.configure(&adaptive(mbps * 3), &journal, "")?;
            live.vsb(&["reload"])?;
        }
    }
    sleep(Duration::from_secs(SETTLES));
    let fair = load.goodputs(MEASURED);
    let seen = Seen {
        before: (level(&unfair), unfair.iter().sum()),
        after: (level(&fair), fair.iter().sum()),
        jain: jain_index(&fair).unwrap_or(f64::NAN),
        pool: live.pool(),
        log: live.log(),
    };
    drop(load);
    Ok(seen)
}

/// Bars 1 and 2 of the live box: fair from 10 s on, whatever happens under load.
pub(crate) fn takes_hold(fairair: &Path, jobs: usize, chosen: &Chosen<'_>) -> bool {
    let Chosen { seed, count, only, answering, control, log } = *chosen;
    let mut cases = cases(seed, answering, control);
    cases.retain(|case| case.name().contains(only));
    cases.truncate(count);
    println!("| case | flows of the stations | level, Jain | goodput over that without | without: level | C |");
    println!("|---|---|---|---|---|---|");
    let missed = AtomicUsize::new(0);
    side_by_side(
        &cases,
        jobs,
        |case| case.cell.mbps,
        |number, case| {
            let flows =
                case.wants.iter().map(|wants| format!("{}/{}", wants.up, wants.down)).collect::<Vec<_>>().join(" ");
            match run(fairair, case, number, log) {
                Ok(shown) => {
                    let is_fair = (0.95..=1.05).contains(&shown.after.0) || shown.jain >= 0.97;
                    let verdict = if is_fair { "" } else { " **missed**" };
                    println!(
                        "| {} | {flows} | {:.3}, {:.4}{verdict} | {:.3} | {:.2} | {} |",
                        case.name(),
                        shown.after.0,
                        shown.jain,
                        shown.after.1 / shown.before.1,
                        shown.before.0,
                        shown.pool
                    );
                    if !is_fair {
                        missed.fetch_add(1, Ordering::Relaxed);
                        eprintln!("{}: {}", case.name(), shown.log);
                    }
                }
                Err(error) => {
                    missed.fetch_add(1, Ordering::Relaxed);
                    println!("| {} | {flows} | **failed**: {error} | | | |", case.name());
                }
            }
        },
    );
    let missed = missed.into_inner();
    println!(
        "\n{} of {} combinations within the bar, seed {seed}, {control:?}, stations answer {answering:?}",
        cases.len() - missed,
        cases.len()
    );
    missed * 40 <= cases.len()
}

/// Does all of `work`, `jobs` at a time. A cell of [`FAST`] and more, by `mbps`, has the machine to itself.
pub(crate) fn side_by_side<T: Sync>(
    work: &[T],
    jobs: usize,
    mbps: impl Fn(&T) -> u32 + Sync,
    run: impl Fn(usize, &T) + Sync,
) {
    let (next, machine, mbps, run) = (AtomicUsize::new(0), RwLock::new(()), &mbps, &run);
    std::thread::scope(|scope| {
        for job in 0..jobs.max(1) {
            let (next, machine) = (&next, &machine);
            scope.spawn(move || {
                // Cells do not all begin at the same moment.
                sleep(Duration::from_millis(700 * job as u64));
                loop {
                    let index = next.fetch_add(1, Ordering::Relaxed);
                    let Some(item) = work.get(index) else { return };
                    let is_fast = mbps(item) >= FAST;
                    let _alone = is_fast.then(|| machine.write().unwrap_or_else(PoisonError::into_inner));
                    let _beside = (!is_fast).then(|| machine.read().unwrap_or_else(PoisonError::into_inner));
                    run(index, item);
                }
            });
        }
    });
}
