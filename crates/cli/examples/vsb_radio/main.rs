//! Measures the live box on a radio that is not our own emulation: HTB on one IFB (root; `make vsb-bars`).
//!
//! `takes-hold`: start, restart after kill -9 and reload under load, at rates from 5 to 200 Mbit/s, for several buffers of the
//! access point, routed and bridged. `latency`: pings beside bulk transfers. `tells`: whether the box says that it is not the
//! bottleneck, or that nobody answers.

mod cases;
mod latency;
mod live;
mod load;
mod path;
mod radio;
mod tells;

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// Measures the live box on a radio of the kernel's queues.
#[derive(Debug, Parser)]
struct Args {
    /// The command `fairair` [default: beside this program].
    #[arg(long, global = true)]
    fairair: Option<PathBuf>,
    /// Cells side by side.
    #[arg(long, global = true, default_value_t = 3)]
    jobs: usize,
    /// Congestion control of all transfers.
    #[arg(long, global = true, value_enum, default_value = "cubic")]
    control: radio::Control,
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, Subcommand)]
enum What {
    /// Level and Jain's index from 10 s after a start, a restart or a reload under load.
    TakesHold {
        /// Chooses among the 90 combinations, and the loads.
        #[arg(long, default_value_t = 1)]
        seed: u64,
        /// How many of them.
        #[arg(long, default_value_t = 40)]
        count: usize,
        /// Stations answer no ping.
        #[arg(long)]
        deaf: bool,
        /// Stations answer neither ping nor ARP.
        #[arg(long)]
        blind: bool,
        /// Only combinations whose name contains this text.
        #[arg(long, default_value = "")]
        only: String,
        /// Keeps a log of what the capacity machine saw and did in this directory, a file a combination.
        #[arg(long)]
        log: Option<PathBuf>,
    },
    /// How soon the box says that C is too high or that nobody answers, and whether it says so without need.
    Tells {
        /// How long ordinary operation is watched, in seconds.
        #[arg(long, default_value_t = 180)]
        seconds: u64,
        /// Only cases whose name contains this text.
        #[arg(long, default_value = "")]
        only: String,
    },
    /// Round-trip times of pings beside bulk transfers, with default queues and with 200 packets a class.
    Latency {
        /// Round trips of the paths in ms, one for all stations or two in turn, several paths separated by commas.
        #[arg(long, value_delimiter = ',', default_values = ["0", "60", "4+60"])]
        paths: Vec<String>,
        /// Only rows whose name contains this text.
        #[arg(long, default_value = "")]
        only: String,
        /// For how long goodput is measured with each kind of queue, in seconds; longer in a slow cell.
        #[arg(long, default_value_t = 30)]
        seconds: u32,
    },
}

fn main() -> ExitCode {
    match measured(&Args::parse()) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

fn measured(args: &Args) -> Result<bool, String> {
    if !fairair_linux::is_root() {
        return Err("the radio needs root: it makes network namespaces".to_owned());
    }
    let beside = || Some(std::env::current_exe().ok()?.parent()?.parent()?.join("fairair"));
    let fairair = args.fairair.clone().or_else(beside).ok_or("name the command with --fairair")?;
    if !fairair.is_file() {
        return Err(format!("{} does not exist: name the command with --fairair", fairair.display()));
    }
    let control = args.control;
    match &args.what {
        What::TakesHold { seed, count, deaf, blind, only, log } => {
            let answering = match (blind, deaf) {
                (true, _) => cases::Answering::Neither,
                (false, true) => cases::Answering::Arp,
                (false, false) => cases::Answering::Ping,
            };
            // The configuration takes no other.
            let log = log.as_ref().map(std::path::absolute).transpose().map_err(|error| error.to_string())?;
            let chosen = cases::Chosen { seed: *seed, count: *count, only, answering, control, log: log.as_deref() };
            Ok(cases::takes_hold(&fairair, args.jobs, &chosen))
        }
        What::Tells { seconds, only } => Ok(tells::tells(&fairair, args.jobs, control, *seconds, only)),
        What::Latency { paths, only, seconds } => latency::latency(&fairair, args.jobs, control, paths, only, *seconds),
    }
}
