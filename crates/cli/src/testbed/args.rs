//! What can be asked of the testbed on the command line.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};
use fairair_core::units::Duration;

use crate::args::{CaptureArgs, Format};

/// The subcommands.
#[derive(Clone, Debug, Subcommand)]
pub enum TestbedCommand {
    /// Run a scenario on real hosts and report who gets the air.
    Run(TestbedRunArgs),
    /// Build a cell for your own programs, without traffic; it stands until `down`.
    Up(UpArgs),
    /// Run a program on a host of a cell that is up.
    Exec(ExecArgs),
    /// Open a shell on a host of a cell that is up.
    Shell(ShellArgs),
    /// List the cells that are up.
    List,
    /// Take a cell down.
    Down(DownArgs),
    /// Remove what killed testbeds left behind.
    Clean,
    /// Look for what a testbed needs on this machine.
    Doctor,
}

/// Options of `fairair testbed up`.
#[derive(Clone, Debug, Args)]
pub struct UpArgs {
    /// Scenario file (TOML): radio, queues, wire, stations, box and timed events count; flows are not started.
    #[arg(value_name = "FILE")]
    pub scenario: PathBuf,

    /// How the hosts are set up.
    #[command(flatten)]
    pub hosts: HostArgs,

    /// Do not go to the background: Ctrl-C takes the cell down.
    #[arg(long)]
    pub foreground: bool,
}

/// Options of `fairair testbed exec`.
#[derive(Clone, Debug, Args)]
pub struct ExecArgs {
    /// Where.
    #[command(flatten)]
    pub place: ShellArgs,
    /// The program and its arguments.
    #[arg(value_name = "COMMAND", last = true, required = true)]
    pub command: Vec<OsString>,
}

/// Options of `fairair testbed shell`.
#[derive(Clone, Debug, Args)]
pub struct ShellArgs {
    /// A station's name, or `host`, `gw`, `box`.
    #[arg(value_name = "HOST")]
    pub host: String,
    /// Which cell [default: the only one that is up].
    #[arg(long, value_name = "ID")]
    pub id: Option<String>,
}

/// Options of `fairair testbed down`.
#[derive(Clone, Debug, Args)]
pub struct DownArgs {
    /// Which cell [default: the only one that is up].
    #[arg(value_name = "ID")]
    pub id: Option<String>,
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

    /// Seed of MAC, queues and starting times [default: the scenario's]; the kernels of the hosts have no seed.
    #[arg(long, value_name = "S")]
    pub seed: Option<u64>,

    /// How the hosts are set up.
    #[command(flatten)]
    pub hosts: HostArgs,

    /// What shapes a scenario with [enforce].
    #[arg(long = "box", value_enum, default_value_t = BoxArg::Emulated)]
    pub which_box: BoxArg,

    /// Distance of the pings from the fixed host to each station, such as "1 s", at least "10 ms"; "0 s": none.
    #[arg(long, value_name = "TIME", default_value = "1 s")]
    pub ping: Duration,

    /// What to print on stdout.
    #[arg(long, value_enum, default_value_t = Format::Table)]
    pub format: Format,

    /// Also write result.json, stations.csv, flows.csv, table.txt and the scenario file (scenario.toml) to DIR.
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,

    /// What is shown of the air.
    #[command(flatten)]
    pub capture: CaptureArgs,

    /// Replicas side by side, each in namespaces of its own.
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..))]
    pub jobs: u16,
}

/// How hosts are set up.
#[derive(Clone, Copy, Debug, Args)]
pub struct HostArgs {
    /// Where frames of a station wait for the radio.
    #[arg(long, value_enum, default_value_t = UplinkArg::Deep)]
    pub uplink: UplinkArg,

    /// TCP settings of the hosts.
    #[arg(long, value_enum, default_value_t = StackArg::Linux)]
    pub stack: StackArg,
}

/// What shapes the traffic.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum BoxArg {
    /// The emulation, with the simulator's shaper.
    Emulated,
    /// The daemon `fairair vsb` with the kernel's datapath; needs tc and nft.
    Live,
}

/// Where frames of a station wait for the radio.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum UplinkArg {
    /// The station's queue takes them as they come.
    Deep,
    /// A ring of a few frames with back-pressure: the rest waits in the kernel.
    Driver,
}

/// TCP settings of the hosts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum StackArg {
    /// As the kernel has it; congestion control, segment size and window are the scenario's.
    Linux,
    /// As the scenario's [tcp], as far as the kernel has settings for it.
    Scenario,
}
