//! What can be asked for on the command line, as plain values.

mod output;
mod shell;

use std::net::{IpAddr, Ipv4Addr};
use std::path::PathBuf;
use std::str::FromStr;

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::{Args, Parser, Subcommand, ValueEnum};
use fairair_core::model::{MODELS, Model};
use fairair_core::scenario::MOST_REPLICAS;
use fairair_core::units::Duration;

use fairair_sim::plan::Goal;

pub use self::output::{CaptureArgs, Format};
pub use self::shell::{CompletionsArgs, ManArgs};

const EXIT_CODES: &str = "\
Exit codes:
  0    done
  1    failed while running (no threads, disk full)
  2    bad input or usage, or an output that cannot be written; nothing has been run
  3    no candidate meets the goal (fairair plan); others changed qdiscs or rules meanwhile (fairair vsb run)
  130  interrupted (Ctrl-C or SIGTERM): the replicas that were done have been reported";

/// Who gets the air, why, and how is it made fair: TCP over 802.11.
#[derive(Clone, Debug, Parser)]
#[command(name = "fairair", version, long_version = env!("FAIRAIR_LONG_VERSION"), after_help = EXIT_CODES)]
pub struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// The subcommands.
#[derive(Clone, Debug, Subcommand)]
pub enum Command {
    /// Simulate a cell and report who gets the air.
    #[command(after_help = EXIT_CODES)]
    Run(RunArgs),
    /// Simulate a cell under each remedy and compare.
    #[command(after_help = EXIT_CODES)]
    Compare(CompareArgs),
    /// Find the remedy that meets a goal at the most goodput.
    #[command(after_help = EXIT_CODES)]
    Plan(PlanArgs),
    /// Predict who gets the air by an analytical model, without simulating.
    #[command(after_help = EXIT_CODES)]
    Model(ModelArgs),
    /// Check a scenario file without running it.
    #[command(after_help = EXIT_CODES)]
    Check(CheckArgs),
    /// Build, understand and cure a cell in the browser.
    Lab(LabArgs),
    /// Run real hosts over an emulated cell (Linux, root).
    #[cfg(target_os = "linux")]
    #[command(subcommand)]
    Testbed(crate::testbed::TestbedCommand),
    /// Make a hot-spot fair: the live Virtual Shared Bottleneck of this Linux box.
    #[cfg(target_os = "linux")]
    #[command(subcommand)]
    Vsb(crate::vsb::VsbCommand),
    /// Print a script that completes commands, options and values in a shell.
    Completions(CompletionsArgs),
    /// Write a man page for each command to a directory.
    #[command(hide = true)]
    Man(ManArgs),
}

/// Options of `fairair run`.
#[derive(Clone, Debug, Args)]
pub struct RunArgs {
    /// Scenario file (TOML).
    #[arg(value_name = "FILE")]
    pub scenario: PathBuf,

    /// Independent repetitions, at least 1; confidence intervals need 2 [default: the scenario's].
    ///
    /// With --until-ci it is the size of the first batch.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=i64::from(MOST_REPLICAS)))]
    pub replicas: Option<u32>,

    /// Seed of the randomness [default: the scenario's]; the same seed gives the same bytes on any number of threads.
    #[arg(long, value_name = "S", allow_negative_numbers = true)]
    pub seed: Option<u64>,

    /// Add replicas until the 95 % confidence half-widths are below PCT per cent of their means, e.g. 2%.
    ///
    /// The means are the total goodput and the mean flow goodput of each direction. A starved direction, below 5 %
    /// of the fair share (total goodput over the number of flows), is exempt: its relative spread says little.
    /// The first batch has --replicas, at least 5; further ones are sized by the spread seen so far.
    #[arg(long, value_name = "PCT", allow_hyphen_values = true)]
    pub until_ci: Option<Percent>,

    /// Most replicas that --until-ci may run.
    #[arg(
        long, value_name = "N", default_value_t = 1000, requires = "until_ci",
        value_parser = clap::value_parser!(u32).range(2..)
    )]
    pub max_replicas: u32,

    /// What to print on stdout.
    #[arg(long, value_enum, default_value_t = Format::Table)]
    pub format: Format,

    /// Also write result.json, stations.csv, flows.csv, table.txt and the scenario file (scenario.toml) to DIR.
    ///
    /// DIR is created if missing. Each file is written whole or not at all; files of these names are replaced.
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,

    /// What is shown of the air.
    #[command(flatten)]
    pub capture: CaptureArgs,

    /// Threads, each runs one replica at a time [default: one a processor].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    pub jobs: Option<u16>,
}

/// Options of `fairair compare`.
#[derive(Clone, Debug, Args)]
pub struct CompareArgs {
    /// Scenario file (TOML).
    #[arg(value_name = "FILE")]
    pub scenario: PathBuf,

    /// Remedies to compare: `all`, or names separated by commas; `none` is the scenario as it is.
    ///
    /// docs/remedies.md describes each. A remedy takes the place of the scenario's AP queue and has as much room.
    #[arg(long, value_name = "LIST", value_delimiter = ',', default_value = "all")]
    pub remedies: Vec<String>,

    /// Compare engines instead of remedies: `model,sim,testbed` prints all answers and each one's error, value by value.
    ///
    /// The last one is the reference.
    #[arg(long, value_enum, value_name = "LIST", value_delimiter = ',', conflicts_with_all = ["remedies", "sort", "out"])]
    pub engines: Vec<Engine>,

    /// Sort the rows, the best first [default: in the order of the list].
    #[arg(long, value_enum, value_name = "COLUMN")]
    pub sort: Option<SortKey>,

    /// Independent repetitions of each remedy, at least 1; confidence intervals need 2 [default: the scenario's].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=i64::from(MOST_REPLICAS)))]
    pub replicas: Option<u32>,

    /// Seed of the randomness, the same for all remedies [default: the scenario's].
    #[arg(long, value_name = "S", allow_negative_numbers = true)]
    pub seed: Option<u64>,

    /// What to print on stdout.
    #[arg(long, value_enum, default_value_t = Format::Table)]
    pub format: Format,

    /// Also write comparison.json, comparison.csv, table.txt and the scenario file (scenario.toml) to DIR.
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,

    /// Show all columns of the table, whatever the terminal's width.
    #[arg(long)]
    pub wide: bool,

    /// Threads, each runs one replica at a time [default: one a processor].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    pub jobs: Option<u16>,
}

/// What answers a scenario.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Engine {
    /// The analytical model that applies (fairair model).
    Model,
    /// The simulator (fairair run).
    Sim,
    /// Real hosts over an emulated cell (fairair testbed run), in real time.
    #[cfg(target_os = "linux")]
    Testbed,
}

/// What `fairair compare` can sort by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum SortKey {
    /// Total goodput, the highest first.
    Goodput,
    /// Jain's index over stations, the highest first.
    Jain,
    /// Jain's index over flows, the highest first.
    JainFlows,
    /// Fairness level of the first station, the closest to 1 first.
    Level,
    /// Goodput of uploads over downloads, the closest to 1 first.
    Ratio,
    /// 95th percentile of the delay in the AP, the shortest first.
    Delay,
    /// Mean transfer time of the smallest files, the shortest first.
    ShortFiles,
}

/// Options of `fairair plan`.
#[derive(Clone, Debug, Args)]
pub struct PlanArgs {
    /// Scenario file (TOML).
    #[arg(value_name = "FILE")]
    pub scenario: PathBuf,

    /// What to reach, may be given several times: level=L, down/up=R, up/down=R, "NAME >= RATE", "delay(NAME) <= TIME",
    /// "files(NAME) <= TIME".
    ///
    /// level=1: all stations have the same goodput; any other L: goodput of the first station over the mean of the
    /// others. down/up=2: a download has twice the goodput of an upload. NAME is a station or a group (web for
    /// web-1, web-2, ..); delay: 95th percentile in the AP and mean in the box; files: mean transfer time,
    /// without a NAME that of the smallest files.
    #[arg(long, value_name = "GOAL")]
    pub goal: Vec<Goal>,

    /// Most that the 95th percentile of the delay in the AP may be, with its unit, such as 50ms.
    ///
    /// With a box its mean delay is added, at the station where it is longest.
    #[arg(long, value_name = "TIME", value_parser = delay, allow_hyphen_values = true)]
    pub max_delay: Option<Duration>,

    /// How far a ratio may be off, above 0 % and below 100 %.
    #[arg(long, value_name = "PCT", default_value = "10%", allow_hyphen_values = true)]
    pub tolerance: Percent,

    /// Least that every flow and every station keeps, as a share of what it would have under max-min fairness.
    ///
    /// Max-min gives a flow what it asks for, and shares the rest equally: of the goodput of the plan or, if that is more, of the cell as
    /// it is. No plan goes below the floor, which is above 0 % and below 100 %.
    #[arg(long, value_name = "PCT", default_value = "5%", allow_hyphen_values = true)]
    pub floor: Percent,

    /// What may be changed.
    #[arg(long, value_enum, default_value_t = Deployment::Any)]
    pub deploy: Deployment,

    /// Only what access points and the live box have today.
    #[arg(long)]
    pub today: bool,

    /// Seed of the randomness [default: the scenario's].
    #[arg(long, value_name = "S", allow_negative_numbers = true)]
    pub seed: Option<u64>,

    /// Look at five times as many candidates.
    #[arg(long)]
    pub thorough: bool,

    /// Draw what can be had (goodput, delay, fairness) into an SVG file.
    #[arg(long, value_name = "FILE")]
    pub svg: Option<PathBuf>,

    /// What to print on stdout.
    #[arg(long, value_enum, default_value_t = Format::Table)]
    pub format: Format,

    /// Show all columns of the table, whatever the terminal's width.
    #[arg(long)]
    pub wide: bool,

    /// Threads, each runs one replica at a time [default: one a processor].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    pub jobs: Option<u16>,
}

/// What a plan may change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Deployment {
    /// The access point.
    Ap,
    /// A box between gateway and access point; access point and stations stay as they are.
    Box,
    /// Either.
    Any,
}

/// Options of `fairair model`.
#[derive(Clone, Debug, Args)]
pub struct ModelArgs {
    /// Scenario file (TOML).
    #[arg(value_name = "FILE")]
    pub scenario: PathBuf,

    /// Which model answers [default: by scenario].
    #[arg(long, value_parser = models(), value_name = "NAME")]
    pub model: Option<&'static Model>,

    /// What to print on stdout.
    #[arg(long, value_enum, default_value_t = Format::Table)]
    pub format: Format,
}

/// Reads a model's name; the models describe themselves.
fn models() -> impl TypedValueParser<Value = &'static Model> {
    let known = MODELS.iter().map(|model| {
        let default =
            if model.default_for.is_empty() { String::new() } else { format!(" [default for {}]", model.default_for) };
        PossibleValue::new(model.name).help(format!("{} ({}){default}", model.what, model.source))
    });
    PossibleValuesParser::new(known).try_map(|name| Model::named(&name))
}

/// Options of `fairair check`.
#[derive(Clone, Debug, Args)]
pub struct CheckArgs {
    /// Scenario file (TOML).
    #[arg(value_name = "FILE")]
    pub scenario: PathBuf,
}

/// Options of `fairair lab`.
#[derive(Clone, Debug, Args)]
pub struct LabArgs {
    /// Scenario file (TOML) to begin with; it is read once and never written.
    #[arg(value_name = "FILE")]
    pub scenario: Option<PathBuf>,

    /// Port; 0 takes one that is free.
    #[arg(long, value_name = "N", default_value_t = 7447)]
    pub port: u16,

    /// Do not open a browser.
    #[arg(long)]
    pub no_browser: bool,

    /// Listen on another address, such as 0.0.0.0: others can use this machine then, with the token of the address that is printed.
    ///
    /// The connection is not encrypted.
    #[arg(long, value_name = "ADDRESS", default_value_t = IpAddr::V4(Ipv4Addr::LOCALHOST))]
    pub listen: IpAddr,
}

/// A delay with its unit; a number alone is refused with milliseconds as the likely unit.
fn delay(text: &str) -> Result<Duration, String> {
    let number = text.trim();
    match text.parse::<Duration>() {
        Err(_) if number.len() <= 12 && number.parse::<f64>().is_ok_and(|n| n >= 0.0 && n.is_finite()) => {
            Err(format!("{number} has no unit: write {number}ms"))
        }
        read => read.map_err(|error| error.to_string()),
    }
}

/// A percentage between 0 and 100, both excluded; written with or without the sign.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Percent(pub f64);

impl FromStr for Percent {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let number = text.trim().trim_end_matches('%').trim_end();
        match number.parse::<f64>() {
            Ok(percent) if percent > 0.0 && percent < 100.0 => Ok(Percent(percent)),
            Ok(_) => Err("it must lie above 0 % and below 100 %".to_owned()),
            Err(_) => Err("write a percentage above 0 % and below 100 %, such as 2%".to_owned()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_is_consistent() {
        <Cli as clap::CommandFactory>::command().debug_assert();
    }

    #[test]
    fn a_delay_without_unit_is_taken_for_milliseconds_in_the_remedy() {
        assert_eq!(delay("30"), Err("30 has no unit: write 30ms".to_owned()));
        assert_eq!(delay("30ms"), Ok(Duration::from_millis(30)));
        assert!(delay("30 parsecs").is_err_and(|told| told.contains("parsecs") && told.contains("ms")));
    }

    #[test]
    fn replicas_are_limited_as_in_a_scenario() {
        for command in [&["fairair", "run"][..], &["fairair", "compare"]] {
            let parse = |replicas: String| {
                <Cli as clap::Parser>::try_parse_from(command.iter().copied().map(str::to_owned).chain([
                    "cell.toml".to_owned(),
                    "--replicas".to_owned(),
                    replicas,
                ]))
            };
            assert!(parse(MOST_REPLICAS.to_string()).is_ok());
            let Err(refused) = parse((MOST_REPLICAS + 1).to_string()) else { panic!("too many") };
            assert!(refused.to_string().contains(&format!("1..={MOST_REPLICAS}")), "{refused}");
        }
    }

    #[test]
    fn percentages_carry_their_sign_or_not() {
        assert_eq!("2%".parse(), Ok(Percent(2.0)));
        assert_eq!("0.5 %".parse(), Ok(Percent(0.5)));
        assert_eq!("2".parse(), Ok(Percent(2.0)));
        for wrong in ["0", "-1%", "100%", "two", "NaN", ""] {
            assert!(wrong.parse::<Percent>().is_err(), "{wrong}");
        }
    }
}
