//! What can be asked of the testbed on the command line.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};
use fairair_core::units::Duration;

use crate::args::Format;

/// The subcommands.
#[derive(Clone, Debug, Subcommand)]
pub enum TestbedCommand {
    /// Run a scenario on real hosts and report who gets the air.
    Run(TestbedRunArgs),
}

/// Options of `fairair testbed run`.
#[derive(Clone, Debug, Args)]
pub struct TestbedRunArgs {
    /// Scenario file (TOML).
    #[arg(value_name = "FILE")]
    pub scenario: PathBuf,

    /// Independent repetitions, at least 1, one after the other in real time [default: the scenario's].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub replicas: Option<u32>,

    /// Seed of MAC, queues and starting times [default: the scenario's]; the hosts' own chance has none.
    #[arg(long, value_name = "S")]
    pub seed: Option<u64>,

    /// How the hosts are set up.
    #[command(flatten)]
    pub hosts: HostArgs,

    /// What to print on stdout.
    #[arg(long, value_enum, default_value_t = Format::Table)]
    pub format: Format,

    /// Also write result.json, stations.csv, flows.csv, table.txt and the scenario file (scenario.toml) to DIR.
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,

    /// Replicas side by side, each in namespaces of its own.
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..))]
    pub jobs: u16,
}

/// How hosts are set up.
#[derive(Clone, Copy, Debug, Args)]
pub struct HostArgs {
    /// What becomes of a station's frames before the radio takes them.
    #[arg(long, value_enum, default_value_t = UplinkArg::Deep)]
    pub uplink: UplinkArg,

    /// Whose TCP the hosts speak.
    #[arg(long, value_enum, default_value_t = StackArg::Linux)]
    pub stack: StackArg,

    /// Distance of the pings from the fixed host to each station, such as "1 s"; "0 s": none.
    #[arg(long, value_name = "TIME", default_value = "1 s")]
    pub ping: Duration,
}

/// What becomes of a station's frames before the radio takes them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum UplinkArg {
    /// The station's queue takes them as they come.
    Deep,
    /// A ring of a few frames with back-pressure: the rest waits in the kernel.
    Driver,
}

/// Whose TCP the hosts speak.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum StackArg {
    /// As the kernel has it; congestion control, segment size and window are the scenario's.
    Linux,
    /// As near to the scenario's [tcp] as the kernel can be told.
    Scenario,
}
