//! `fairair testbed run`.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::path::Path;
use std::sync::OnceLock;

use fairair_core::metrics::{
    Estimate, ProbeTrips, Provenance, Report, RoundTrips, TestbedLosses, TestbedMinute, TestbedSection, mean,
};
use fairair_core::scenario::Scenario;
use fairair_core::units::{Duration, word};
use fairair_linux::emulate::{self, Options, Outcome, TcpStack, Uplink};
use fairair_sim::Counter;

use super::args::{BoxArg, HostArgs, StackArg, TestbedRunArgs, UplinkArg};
use super::program::{explained, own_program};
use crate::capture::Capture;
use crate::error::{CliError, Exit};
use crate::output::files::OutDir;
use crate::run::{FILES, check_capture, deliver};
use crate::work;

/// Shortest distance of pings.
const SHORTEST_PING: Duration = Duration::from_millis(10);

/// Runs a scenario on the testbed and prints the report.
pub(super) fn run_testbed(args: &TestbedRunArgs) -> Result<Exit, CliError> {
    let mut scenario = Scenario::load(&args.scenario)?;
    scenario.run.seed = args.seed.unwrap_or(scenario.run.seed);
    scenario.run.replicas = args.replicas.unwrap_or(scenario.run.replicas);
    let out = args.out.as_deref().map(|dir: &Path| OutDir::prepare(dir, &args.scenario, FILES)).transpose()?;
    let captured_on_stdout = check_capture(&args.capture, &args.scenario, out.as_ref())?;
    if args.ping != Duration::ZERO && args.ping < SHORTEST_PING {
        return Err(CliError::Usage {
            what: format!("--ping {}: more than a hundred a second would be a load of their own", args.ping),
            help: "write at least \"10 ms\", or \"0 s\" for none".to_owned(),
        });
    }
    let options = Options {
        ping: (args.ping != Duration::ZERO).then_some(args.ping),
        live_box: (args.which_box == BoxArg::Live).then(command).transpose()?,
        ..options(args.hosts)
    };
    let capture = Capture::of(&args.capture, &scenario)?;
    let report = measure(&scenario, options, args.jobs, capture.as_ref())?;
    deliver(&report, &scenario, args.format, out, captured_on_stdout)
}

/// The result of all replicas on the testbed.
fn measure(scenario: &Scenario, options: Options, jobs: u16, capture: Option<&Capture>) -> Result<Report, CliError> {
    emulate::check(scenario, options).map_err(|error| explained(&error))?;
    let planned = scenario.run.replicas;
    let pool = work::pool(Some(jobs))?;
    let results = work::watched(|watch| {
        let counter = Counter::new(watch);
        counter.plan(planned);
        let run = |replica: u32, monitor| {
            emulate::run_monitored(scenario, replica, options, watch.cancel, monitor).map_err(|error| explained(&error))
        };
        let one = |replica: u32| match capture {
            Some(capture) if replica == 0 => capture.emulate(|monitor| run(replica, monitor)),
            _ => run(replica, None),
        };
        pool.run(0..planned, watch.cancel, one, |_| counter.done())
    });
    let outcomes: Result<Vec<Option<Outcome>>, CliError> = results.into_iter().collect();
    let outcomes: Vec<Outcome> = outcomes?.into_iter().flatten().collect();
    let records: Vec<_> = outcomes.iter().map(|outcome| outcome.record.clone()).collect();
    let provenance = Provenance {
        engine: "testbed".to_owned(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        replicas_planned: planned,
        interrupted: records.len() < planned as usize,
        until_ci: None,
    };
    let mut report = Report::new(scenario, &records, provenance);
    report.testbed = Some(section(scenario, options, &outcomes));
    Ok(report)
}

/// Hand-over that is on time: less than one full frame lasts at 11 Mbit/s.
const LATENESS_BOUND: Duration = Duration::from_millis(1);

/// The result of a scenario with hosts as they are by default.
pub(crate) fn measure_by_default(scenario: &Scenario) -> Result<Report, CliError> {
    let options = Options {
        uplink: Uplink::Deep,
        stack: TcpStack::Linux,
        known_neighbours: true,
        ping: Some(Duration::from_secs(1)),
        live_box: None,
    };
    measure(scenario, options, 1, None)
}

fn section(scenario: &Scenario, options: Options, outcomes: &[Outcome]) -> TestbedSection {
    let seconds = |duration: Duration| duration.as_secs_f64();
    let quantile = |q: f64| outcomes.iter().filter_map(|outcome| outcome.hand_over.lateness.quantile(q)).max();
    let sum = |count: fn(&Outcome) -> u64| outcomes.iter().map(count).sum();
    let p99 = quantile(0.99);
    let round_trips = |index: usize, name: &str| {
        let pings: Vec<_> = outcomes.iter().filter_map(|outcome| outcome.pings.get(index)).collect();
        let mean_of = |times: &[Duration]| mean(&times.iter().map(|time| seconds(*time)).collect::<Vec<_>>());
        RoundTrips {
            station: name.to_owned(),
            sent: pings.iter().map(|pings| pings.sent).sum(),
            answered: pings.iter().map(|pings| pings.round_trips.len() as u64).sum(),
            mean_s: Estimate::of_mean(pings.iter().map(|pings| mean_of(&pings.round_trips))),
            max_s: pings.iter().flat_map(|pings| &pings.round_trips).max().map(|time| seconds(*time)),
        }
    };
    let pinged = if options.ping.is_some() { scenario.stations.as_slice() } else { &[] };
    TestbedSection {
        kernel: fairair_linux::kernel(),
        stack: word(&options.stack),
        uplink: word(&options.uplink),
        realtime: outcomes.iter().all(|outcome| outcome.realtime),
        on_time: p99.is_none_or(|late| late <= LATENESS_BOUND),
        lateness_bound_s: seconds(LATENESS_BOUND),
        lateness_p50_s: quantile(0.5).map(seconds),
        lateness_p99_s: p99.map(seconds),
        lateness_max_s: outcomes.iter().map(|outcome| seconds(outcome.hand_over.worst)).fold(0.0, f64::max),
        cpu_share: mean(
            &outcomes
                .iter()
                .map(|outcome| seconds(outcome.hand_over.cpu) / seconds(outcome.hand_over.ran))
                .collect::<Vec<_>>(),
        ),
        frames: sum(|outcome| outcome.hand_over.frames),
        lost: TestbedLosses {
            overrun: sum(|outcome| outcome.overruns),
            refused: sum(|outcome| outcome.hand_over.refused),
            unknown_address: sum(|outcome| outcome.uncarried.unknown),
        },
        minutes: outcomes.first().map_or_else(Vec::new, |outcome| {
            let minutes = outcome.hand_over.minutes.iter();
            minutes
                .map(|minute| TestbedMinute {
                    frames: minute.frames,
                    lateness_p99_s: minute.p99.map(seconds),
                    lateness_max_s: seconds(minute.worst),
                    resident_bytes: minute.resident,
                })
                .collect()
        }),
        round_trips: pinged.iter().enumerate().map(|(index, station)| round_trips(index, &station.name)).collect(),
        which_box: scenario.enforce.map(|_| if options.live_box.is_some() { "live" } else { "emulated" }.to_owned()),
        probes: options.live_box.map(|_| probe_trips(outcomes)),
        findings: outcomes
            .iter()
            .flat_map(|outcome| &outcome.findings)
            .cloned()
            .collect::<BTreeSet<_>>()
            .into_iter()
            .collect(),
    }
}

fn probe_trips(outcomes: &[Outcome]) -> ProbeTrips {
    let trips = outcomes.iter().flat_map(|outcome| &outcome.probes.round_trips);
    let mut trips: Vec<f64> = trips.map(|time| time.as_secs_f64()).collect();
    trips.sort_by(f64::total_cmp);
    let quantile = |q: f64| trips.get((trips.len() as f64 * q) as usize).copied();
    ProbeTrips {
        sent: outcomes.iter().map(|outcome| outcome.probes.sent).sum(),
        answered: trips.len() as u64,
        p50_s: quantile(0.5),
        p95_s: quantile(0.95),
        max_s: trips.last().copied(),
    }
}

/// What begins the command that this process is: the program, and what comes before `testbed` if that is an interpreter.
fn command() -> Result<&'static [OsString], CliError> {
    static COMMAND: OnceLock<Vec<OsString>> = OnceLock::new();
    let failed = |error: std::io::Error| CliError::Testbed {
        what: format!("cannot find the command `fairair` itself: {error}"),
        help: "leave --box out".to_owned(),
    };
    let program = own_program().map_err(failed)?.into_os_string();
    let first = std::env::args_os().skip(1).take_while(|argument| argument != "testbed");
    Ok(COMMAND.get_or_init(|| std::iter::once(program).chain(first).collect()))
}

pub(super) fn options(hosts: HostArgs) -> Options {
    Options {
        uplink: match hosts.uplink {
            UplinkArg::Deep => Uplink::Deep,
            UplinkArg::Driver => Uplink::Driver,
        },
        stack: match hosts.stack {
            StackArg::Linux => TcpStack::Linux,
            StackArg::Scenario => TcpStack::Scenario,
        },
        known_neighbours: true,
        ping: None,
        live_box: None,
    }
}
