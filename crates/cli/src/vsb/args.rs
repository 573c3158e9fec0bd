//! Options of `fairair vsb`.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::str::FromStr;

use clap::{Args, Subcommand, ValueEnum};
use fairair_core::units::{Bitrate, Duration};

use crate::args::ManArgs;

/// The subcommands.
#[derive(Clone, Debug, Subcommand)]
pub enum VsbCommand {
    /// Write the configuration of this box, guided: which interface is towards the gateway, which lead to access points, and why.
    ///
    /// It looks at interfaces, routes, bridges and radios, proposes a value for each key, asks in a terminal or on a page, writes the file
    /// whole or not at all, and checks it as `check` does. Nothing is shaped before `run`. Exit code 2 if it lacks something, or the check fails.
    Init(InitArgs),
    /// Check a configuration and this box, and print what `run` would do and change, without doing it.
    ///
    /// If a daemon runs: what `reload` with this configuration would change. Exit code 2 if something is wrong with the
    /// configuration or the box, 1 if `check` itself fails.
    Check(CheckArgs),
    /// Shape until stopped, in the foreground, for systemd.
    ///
    /// SIGHUP reads the configuration again; SIGTERM takes everything back. Needs CAP_NET_ADMIN and CAP_NET_RAW.
    Run(RunArgs),
    /// Show the pools of the daemon, their capacities and states.
    Status(ClientArgs),
    /// List the stations with their rates and queues.
    Stations(ClientArgs),
    /// Show the stations with the highest rates, refreshed until Ctrl-C; with `--json` one line a second.
    Top(ClientArgs),
    /// Say why a station gets its rate, or why it is not shaped.
    Explain(ExplainArgs),
    /// Set plan, weight or cap of one station while the box runs, for captive portals and scripts.
    #[command(subcommand)]
    Station(StationCommand),
    /// Look at the box in a browser: capacity, stations, troubles, history; with the token of the box change it.
    ///
    /// Opens the dashboard that runs beside the daemon (`dashboard` in the configuration), or serves one until Ctrl-C. When the
    /// dashboard ends the daemon and its shaping go on.
    Dashboard(DashboardArgs),
    /// Make the daemon read its configuration file again; a mistake in the file changes nothing.
    Reload(ClientArgs),
    /// Keep what `run --confirm-within` applied.
    Confirm(ClientArgs),
    /// Run the capacity controllers again on the recorded input of the daemon: the file `[journal] log`.
    ///
    /// Prints the decisions beside those that were recorded. Exit code 1 if they differ with the recorded parameters.
    Replay(ReplayArgs),
    /// Write the man pages of `fairair vsb` to a directory.
    #[command(hide = true)]
    Man(ManArgs),
    /// Stop the daemon, or clean up after one that was killed, and say whether everything is as before.
    ///
    /// Exit code 1 if another program has changed something meanwhile. What the box had added is removed in any case.
    Stop(ClientArgs),
}

/// Options of `fairair vsb init`.
#[derive(Clone, Debug, Default, Args)]
#[allow(clippy::struct_excessive_bools)] // Options of their own, each said by its name.
pub struct InitArgs {
    /// File to write.
    #[arg(value_name = "CONFIG", default_value = "vsb.toml")]
    pub config: PathBuf,

    /// Replace the file if it is there.
    #[arg(long)]
    pub force: bool,

    /// Name of the site; that of the machine without it.
    #[arg(long, value_name = "SITE")]
    pub name: Option<String>,

    /// Interface towards the gateway; more than once, or with commas, for several.
    #[arg(long, value_name = "INTERFACE", value_delimiter = ',')]
    pub uplink: Vec<String>,

    /// An access point: its name, if it is not the interface's, and the interface towards it; more than once for several.
    #[arg(long, value_name = "[NAME=]INTERFACE")]
    pub ap: Vec<NamedAp>,

    /// How packets pass the box, as a check: the interfaces decide it.
    #[arg(long, value_enum)]
    pub mode: Option<ModeArg>,

    /// The most that a cell carries, such as "300 Mbit/s": the box finds the capacity below it. What one station alone measures beside
    /// the access point, both directions at once.
    #[arg(long, value_name = "[AP=]RATE")]
    pub max: Vec<ForAp<Bitrate>>,

    /// A fixed capacity, a little below what the cell carries, in place of one that the box finds.
    #[arg(long, value_name = "[AP=]RATE")]
    pub capacity: Vec<ForAp<Bitrate>>,

    /// Ask nothing: take what is proposed where no option says otherwise.
    #[arg(long)]
    pub yes: bool,

    /// Then run it, taken back after 60 s unless `fairair vsb confirm` is run.
    #[arg(long)]
    pub start: bool,

    /// Ask on a page in a browser: the same steps, each changeable until the file is written; what the page starts is taken back unless
    /// the page confirms it. On 127.0.0.1 only, with a token in the address that is printed.
    #[arg(long, conflicts_with_all = ["force", "name", "uplink", "ap", "mode", "max", "capacity", "yes", "start"])]
    pub page: bool,

    /// Port of the page; 0: one that is free.
    #[arg(long, value_name = "PORT", default_value_t = 8081, requires = "page")]
    pub port: u16,
}

/// `routed` or `bridged`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ModeArg {
    /// The box is the stations' router.
    Routed,
    /// All interfaces are ports of one bridge.
    Bridged,
}

/// `NAME=INTERFACE` or `INTERFACE`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NamedAp {
    /// Name, if it is not the interface's.
    pub name: Option<String>,
    /// The interface.
    pub interface: String,
}

impl FromStr for NamedAp {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        // Whatever is after the last `=`: names of interfaces that have one are refused.
        let (name, interface) = text.rsplit_once('=').map_or((None, text), |(name, own)| (Some(name.to_owned()), own));
        if interface.is_empty() {
            return Err("write NAME=INTERFACE, such as lobby=eth1".to_owned());
        }
        Ok(NamedAp { name, interface: interface.to_owned() })
    }
}

/// A value for one AP, or for all.
#[derive(Clone, Debug, PartialEq)]
pub struct ForAp<T> {
    /// The AP; `None`: all.
    pub ap: Option<String>,
    /// The value.
    pub value: T,
}

impl<T: FromStr<Err: std::fmt::Display>> FromStr for ForAp<T> {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (ap, value) = text.rsplit_once('=').map_or((None, text), |(ap, value)| (Some(ap.to_owned()), value));
        Ok(ForAp { ap, value: value.parse().map_err(|error: T::Err| error.to_string())? })
    }
}

/// Options of `fairair vsb check`.
#[derive(Clone, Debug, Args)]
pub struct CheckArgs {
    /// Configuration file (TOML), see docs/vsb.md.
    #[arg(value_name = "CONFIG")]
    pub config: PathBuf,
}

/// Options of `fairair vsb run`.
#[derive(Clone, Debug, Args)]
pub struct RunArgs {
    /// Configuration file (TOML), see docs/vsb.md.
    #[arg(value_name = "CONFIG")]
    pub config: PathBuf,

    /// Take everything back unless `fairair vsb confirm` is run within this time, such as 60s.
    #[arg(long, value_name = "TIME")]
    pub confirm_within: Option<Duration>,

    /// Log in JSON.
    #[arg(long)]
    pub json: bool,
}

/// Options of `fairair vsb dashboard`.
#[derive(Clone, Debug, Args)]
pub struct DashboardArgs {
    /// Configuration of the daemon (TOML), see docs/vsb.md.
    #[arg(value_name = "CONFIG", default_value = "/etc/fairair/vsb.toml")]
    pub config: PathBuf,

    /// Address and port, in place of `dashboard` of the configuration; 127.0.0.1:8080 without either.
    #[arg(long, value_name = "ADDRESS:PORT")]
    pub listen: Option<SocketAddr>,

    /// Open no browser.
    #[arg(long)]
    pub no_browser: bool,

    /// Beside a daemon: end with it.
    #[arg(long, hide = true)]
    pub attached: bool,
}

/// Options of all commands that send a request to the daemon.
#[derive(Clone, Debug, Args)]
pub struct ClientArgs {
    /// Directory of the daemon's control socket: `state` of its configuration.
    #[arg(long, value_name = "DIR", default_value = "/run/fairair")]
    pub state: PathBuf,

    /// Print JSON.
    #[arg(long)]
    pub json: bool,
}

/// Options of `fairair vsb replay`.
#[derive(Clone, Debug, Args)]
pub struct ReplayArgs {
    /// The log.
    #[arg(value_name = "LOG")]
    pub log: PathBuf,

    /// Another configuration: the capacity parameters of its APs, by name, instead of the recorded ones.
    #[arg(long, value_name = "CONFIG")]
    pub config: Option<PathBuf>,
}

/// Options of `fairair vsb explain`.
#[derive(Clone, Debug, Args)]
pub struct ExplainArgs {
    /// Name, address or MAC address of a station.
    #[arg(value_name = "STATION")]
    pub station: String,

    /// Where the daemon is.
    #[command(flatten)]
    pub client: ClientArgs,
}

/// The subcommands of `fairair vsb station`.
#[derive(Clone, Debug, Subcommand)]
pub enum StationCommand {
    /// Give a station a plan, weight or cap in place of those of the configuration.
    ///
    /// It replaces what was set for the station before, is kept over restarts of the daemon, and need not wait for the station to
    /// be there. A reload ends it if the configuration has another plan, weight or cap for the station than before.
    Set(SetArgs),
    /// End what is set for a station: it has what the configuration says.
    Unset(UnsetArgs),
    /// List the stations, and what is set for those that are not there.
    List(ClientArgs),
}

/// Options of `fairair vsb station set`.
#[derive(Clone, Debug, Args)]
#[command(group = clap::ArgGroup::new("what").args(["plan", "weight", "cap"]).required(true).multiple(true))]
pub struct SetArgs {
    /// Name, address or MAC address of the station.
    #[arg(value_name = "STATION")]
    pub station: String,

    /// A `[[plan]]` of the configuration.
    #[arg(long, value_name = "NAME")]
    pub plan: Option<String>,

    /// Share relative to the weights of other stations, in place of the plan's.
    #[arg(long, value_name = "W", value_parser = weight)]
    pub weight: Option<f64>,

    /// Most that it gets, such as "4 Mbit/s", in place of the plan's.
    #[arg(long, value_name = "RATE")]
    pub cap: Option<Bitrate>,

    /// When it ends: a time such as 2030-12-31T18:00:00Z, or a duration from now such as 2h.
    #[arg(long, value_name = "TIME")]
    pub until: Option<String>,

    /// Where the daemon is.
    #[command(flatten)]
    pub client: ClientArgs,
}

/// Options of `fairair vsb station unset`.
#[derive(Clone, Debug, Args)]
pub struct UnsetArgs {
    /// Name, address or MAC address of the station, as it was set.
    #[arg(value_name = "STATION")]
    pub station: String,

    /// Where the daemon is.
    #[command(flatten)]
    pub client: ClientArgs,
}

/// A weight as written. The daemon knows the range; what JSON has no number for would reach it as none at all.
fn weight(text: &str) -> Result<f64, String> {
    let weight: f64 = text.parse().map_err(|_| "write a number such as 2".to_owned())?;
    if weight.is_finite() { Ok(weight) } else { Err("the weight is out of range: write a number such as 2".to_owned()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_weight_is_a_finite_number() {
        assert_eq!(weight("2.5"), Ok(2.5));
        for wrong in ["nan", "inf", "-inf", "two", ""] {
            assert!(weight(wrong).unwrap_err().contains("a number such as 2"), "{wrong}");
        }
    }
}
