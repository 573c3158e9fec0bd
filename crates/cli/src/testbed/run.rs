//! `fairair testbed run`.

use std::path::Path;

use fairair_core::metrics::{Provenance, Report};
use fairair_core::scenario::Scenario;
use fairair_linux::emulate::{self, Options, Outcome, TcpStack, TestbedError, Uplink};
use fairair_sim::replicas::Pool;

use super::args::{HostArgs, StackArg, TestbedRunArgs, UplinkArg};
use super::explained;
use crate::error::{CliError, Exit};
use crate::interrupt;
use crate::output::files::OutDir;
use crate::progress::Progress;
use crate::run::{FILES, deliver};

/// Runs a scenario on the testbed and prints the report.
pub(super) fn run_testbed(args: &TestbedRunArgs) -> Result<Exit, CliError> {
    let mut scenario = Scenario::load(&args.scenario)?;
    scenario.run.seed = args.seed.unwrap_or(scenario.run.seed);
    scenario.run.replicas = args.replicas.unwrap_or(scenario.run.replicas);
    let out = args.out.as_deref().map(|dir: &Path| OutDir::prepare(dir, &args.scenario, FILES)).transpose()?;
    let report = measure(&scenario, options(args.hosts), args.jobs)?;
    deliver(&report, &scenario, args.format, out)
}

/// The result of all replicas on the testbed.
fn measure(scenario: &Scenario, options: Options, jobs: u16) -> Result<Report, CliError> {
    emulate::check(scenario, options).map_err(|error| explained(&error))?;
    let planned = scenario.run.replicas;
    let pool = Pool::new(jobs.into()).map_err(|error| CliError::Threads(error.to_string()))?;
    let progress = Progress::new(planned);
    let cancel = interrupt::flag();
    let one = |replica: u32| emulate::run(scenario, replica, options, cancel);
    let results = pool.run(0..planned, cancel, one, |_| progress.done());
    drop(progress);
    let outcomes: Result<Vec<Option<Outcome>>, TestbedError> = results.into_iter().collect();
    let outcomes: Vec<Outcome> = outcomes.map_err(|error| explained(&error))?.into_iter().flatten().collect();
    let records: Vec<_> = outcomes.iter().map(|outcome| outcome.record.clone()).collect();
    let provenance = Provenance {
        engine: "testbed".to_owned(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        replicas_planned: planned,
        interrupted: records.len() < planned as usize,
        until_ci: None,
    };
    Ok(Report::new(scenario, &records, provenance))
}

fn options(hosts: HostArgs) -> Options {
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
    }
}
