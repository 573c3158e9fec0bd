//! The daemon: one thread that owns the datapath and does everything in turn.

mod clients;
mod control;
mod counts;
mod found;
mod limits;
mod metrics;
mod passed;
mod pools;
mod probes;
mod rates;
mod refused;
mod report;
mod settings;
mod station_log;
mod strangers;
mod talkers;
mod troubles;
mod udp_flows;
mod wan;
mod why;
mod work;

use std::path::PathBuf;
use std::time::{Duration, Instant};

use fairair_core::units::{Bytes, plural};
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::time::{Interval, MissedTickBehavior, interval, sleep_until};
use tracing::{error, info, warn};

use self::control::{Controls, Query};
use self::counts::{Counts, Records};
use self::metrics::Metrics;
use self::pools::PoolControl;
use self::probes::Probes;
use self::refused::Refused;
use self::troubles::{Trouble, Troubles};
use self::udp_flows::UdpFlows;
use super::config::Config;
use super::datapath::{DatapathError, Engine, HYSTERESIS, Layout, Netfilter, Preview, Restored, links};
use super::discovery::Workers;
use super::error::VsbError;
use super::journal::Journal;
use super::log::{ControlLog, LogError};
use super::preflight::{bridge_faults, mtu};
use super::protocol::{Answer, Ask, Refusal};
use super::settings::Settings;
use super::site::Site;
use super::state::{Learned, Lock};

/// How often counters are read.
const TICK: Duration = Duration::from_millis(100);
/// The next report of discovery waits this many times as long as the one before took, so that forged neighbours, hundreds in a second,
/// do not keep the daemon from its capacities.
const FINDING: u32 = 4;

/// How to run.
#[derive(Clone, Debug)]
pub struct Options {
    /// The configuration's path.
    pub config: PathBuf,
    /// Take everything back unless confirmed within this time.
    pub confirm_within: Option<Duration>,
}

/// Runs until it is told to stop, by signal or over the control socket; then everything is as before. `ready` is called when it
/// shapes.
///
/// # Errors
/// It cannot start, or nobody confirmed.
pub fn run(options: &Options, ready: impl FnOnce()) -> Result<Restored, VsbError> {
    let path = std::path::absolute(&options.config).unwrap_or_else(|_| options.config.clone());
    let config = Config::load(&path)?;
    let lock = Lock::take().map_err(|reason| VsbError::System { what: "cannot take the lock", reason })?;
    let Some(_lock) = lock else { return Err(VsbError::Taken) };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|reason| VsbError::System { what: "cannot start", reason })?;
    runtime.block_on(async {
        let mut daemon = Daemon::start(config, path, options)?;
        ready();
        let end = daemon.serve().await;
        daemon.keep();
        daemon.end_journal();
        let restored = daemon.engine.stop();
        // Who asked for the stop is given its result, in the same words as the log.
        let told = restored.as_ref().map(|restored| Answer::Stopped(restored.clone()));
        daemon.controls.finish(daemon.stops, &told.map_err(|error| Refusal(error.to_string()))).await;
        let restored = restored?;
        for difference in &restored.differences {
            warn!("not as before: {difference}");
        }
        let all = if restored.differences.is_empty() { "; everything is as before" } else { "" };
        info!("stopped{all}");
        end.map(|()| restored)
    })
}

struct Daemon {
    path: PathBuf,
    engine: Engine,
    site: Site,
    /// As the layout was made with.
    mtu: u32,
    started: Instant,
    confirm: Option<(Instant, Duration)>,
    controls: Controls,
    signals: [Signal; 3],
    ticks: Interval,
    counts: Counts,
    records: Records,
    /// When others had last changed classes or queues.
    retuned: Option<Instant>,
    /// When others had last removed what shapes.
    removed: Option<Instant>,
    netfilter: Netfilter,
    udp_flows: UdpFlows,
    pools: Vec<PoolControl>,
    probes: Probes,
    workers: Workers,
    ticks_done: u64,
    /// When the next report of discovery is due.
    finds_from: Instant,
    metrics: Option<Metrics>,
    /// Clients that asked for the stop, and wait for its result.
    stops: Vec<Query>,
    troubles: Troubles,
    /// What an operator may want to know though nothing is wrong.
    notes: Vec<String>,
    /// As it was written last.
    learned: Learned,
}

impl Daemon {
    /// Cleans up after a predecessor that was killed, and applies `config`.
    fn start(config: Config, path: PathBuf, options: &Options) -> Result<Daemon, VsbError> {
        let system = |what| move |reason| VsbError::System { what, reason };
        let directory = config.state.clone();
        if Engine::has_left(&directory)? {
            warn!("an earlier run ended without cleaning up: its classes, rules and devices are removed now");
            for difference in Engine::restore(&directory)?.differences {
                warn!("not as before that run: {difference}");
            }
        }
        let mtu = mtu(&config)?;
        let faults = bridge_faults(&config, &links().map_err(system("cannot list interfaces"))?);
        if !faults.is_empty() {
            return Err(VsbError::NoBridge(faults.join("; ")));
        }
        let mut site = Site::new(config)?;
        // Signals from here on end the daemon in order.
        let on = |kind| signal(kind).map_err(system("cannot listen to signals"));
        let signals = [on(SignalKind::terminate())?, on(SignalKind::interrupt())?, on(SignalKind::hangup())?];
        let controls = Controls::listen(&directory)?;
        let mut troubles = Troubles::default();
        site.set_settings(troubles.watch(Trouble::Settings, Settings::load(&directory)).unwrap_or_default());
        // Shaping goes on without a journal.
        let journal = Journal::open(site.config().journal.as_ref());
        let journal = troubles.watch(Trouble::JournalFile, journal).unwrap_or_default();
        let log = troubles.watch(Trouble::ControlLogFile, open_log(&site)).unwrap_or_default();
        let metrics = match site.config().metrics {
            None => None,
            Some(address) => Some(Metrics::listen(address).map_err(|reason| VsbError::Metrics { address, reason })?),
        };
        let probes = Probes::open(site.config().mode).map_err(system("cannot open a socket for probes"))?;
        let netfilter = Netfilter::new(site.config().mode).map_err(system("cannot talk to nftables"))?;
        let engine = Engine::start(site.layout(mtu), &path, &directory)?;
        let mut ticks = interval(TICK);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Skip);
        let confirm = options.confirm_within.map(|within| (Instant::now() + within, within));
        if engine.lacks_flow_queues() {
            warn!("this kernel has neither fq_codel nor cls_bpf: the flows of a station share a queue");
        }
        info!(stations = site.stations().len(), pools = site.pools().len(), "shaping");
        let mut daemon = Daemon {
            path,
            engine,
            site,
            mtu,
            started: Instant::now(),
            confirm,
            controls,
            signals,
            ticks,
            counts: Counts::default(),
            records: Records { journal, log, ..Records::default() },
            retuned: None,
            removed: None,
            netfilter,
            udp_flows: UdpFlows::default(),
            pools: Vec::new(),
            probes,
            workers: Workers::new(Vec::new()),
            ticks_done: 0,
            finds_from: Instant::now(),
            metrics,
            stops: Vec::new(),
            troubles,
            notes: Vec::new(),
            learned: Learned::load(&directory).unwrap_or_else(|error| {
                warn!("{error}: C is learned anew");
                Learned::default()
            }),
        };
        daemon.follow_config();
        // systemd is told when there is one.
        let _ = sd_notify::notify(&[sd_notify::NotifyState::Ready]);
        Ok(daemon)
    }

    async fn serve(&mut self) -> Result<(), VsbError> {
        loop {
            let due = reached(self.machines_due());
            let [terminate, interrupt, hangup] = &mut self.signals;
            let deadline = self.confirm.map(|(at, _)| at);
            let unconfirmed = reached(deadline);
            tokio::select! {
                _ = terminate.recv() => return Ok(()),
                _ = interrupt.recv() => return Ok(()),
                _ = hangup.recv() => drop(self.reload_and_log()),
                Some(query) = self.controls.next() => if self.answer(query) { return Ok(()) },
                () = unconfirmed => {
                    let within = self.confirm.map(|(_, within)| within).unwrap_or_default();
                    return Err(VsbError::Unconfirmed(within));
                }
                Some(scrape) = Metrics::next(&mut self.metrics) => {
                    let (status, stations) = (self.status(), self.stations());
                    scrape.reply(&status, &stations);
                }
                echo = self.probes.next() => {
                    self.counts.answered.insert(echo.pool, Instant::now());
                    self.echo(echo);
                }
                report = self.workers.next(), if self.finds_from <= Instant::now() => {
                    let begin = Instant::now();
                    self.found(&report);
                    self.finds_from = Instant::now() + FINDING * begin.elapsed();
                }
                _ = self.ticks.tick() => self.tick(),
                () = due => self.control(),
            }
            // Timers do not advance while there is always something else to do.
            tokio::task::yield_now().await;
        }
    }

    /// Answers; true if the daemon is to end.
    fn answer(&mut self, query: Query) -> bool {
        let answer = match &query.ask {
            Ask::Status => Ok(Answer::Status(self.status())),
            Ask::Stations => Ok(Answer::Stations(self.stations().into_iter().chain(self.newcomers()).collect())),
            Ask::Explain(what) => self.explain(what).map(Answer::Explain),
            Ask::StationList => Ok(Answer::StationList(self.station_list())),
            Ask::SetStation(wanted) => self.set_station(wanted),
            Ask::UnsetStation(what) => self.unset_station(what),
            Ask::Reload => self.reload_and_log().map(Answer::Done),
            Ask::Preview(text) => self.preview(text).map(Answer::Preview),
            Ask::Confirm => Ok(Answer::Done(match self.confirm.take() {
                Some(_) => "confirmed: this configuration stays".to_owned(),
                None => "nothing had to be confirmed".to_owned(),
            })),
            Ask::Stop => {
                self.stops.push(query);
                return true;
            }
        };
        if answer.is_ok() && query.ask.changes() {
            self.records.journal.change(&query.ask);
        }
        query.reply(answer);
        false
    }

    /// [`Self::reload`], with a line in the log whoever asked for it.
    fn reload_and_log(&mut self) -> Result<String, Refused> {
        let result = self.reload();
        match &result {
            Ok(done) => {
                info!("{done}");
                self.troubles.tell_again();
            }
            Err(refused) => error!("the configuration stays as it was: {refused}"),
        }
        result
    }

    /// Reads the configuration again; a mistake in it changes nothing.
    fn reload(&mut self) -> Result<String, Refused> {
        let config = Config::load(&self.path)?;
        let planned = self.planned(config.clone());
        let (site, layout, mtu) = planned.or_else(|_| {
            // Classes of those that left a moment ago may be free by now.
            self.engine.read(&mut self.counts.classes)?;
            self.counts.read = None;
            self.sweep();
            self.planned(config)
        })?;
        if self.engine.change(layout.clone()).is_err() {
            // Others may have removed a moment ago what it builds on.
            self.counts.read = None;
            self.mend();
            self.engine.change(layout).map_err(VsbError::from)?;
        }
        self.mtu = mtu;
        let before = std::mem::replace(&mut self.site, site);
        let ended = match self.note_ended(before.settings()) {
            0 => String::new(),
            ended => format!("; the configuration has ended {}, see the log", plural(ended, "station setting")),
        };
        self.follow_config();
        let (pools, stations) = (self.site.pools().len(), self.site.stations().len());
        Ok(format!("reloaded: {}, {}{ended}", plural(pools, "pool"), plural(stations, "station")))
    }

    /// What [`Self::reload`] would do with the configuration `text`.
    fn preview(&self, text: &str) -> Result<Preview, Refused> {
        let config = Config::from_toml(text, "configuration")?;
        let (_, layout, _) = self.planned(config)?;
        if layout.sends_batches() {
            HYSTERESIS.outlook().map_err(|error| VsbError::from(DatapathError::from(error)))?;
        }
        Ok(Preview::new(Some(self.engine.layout()), &layout))
    }

    /// Site, layout and MTU with `config` in place of the configuration that runs.
    fn planned(&self, config: Config) -> Result<(Site, Layout, u32), Refused> {
        let old = self.site.config();
        let fixed = [
            ("state", config.state == old.state),
            ("metrics", config.metrics == old.metrics),
            ("dashboard", config.dashboard == old.dashboard),
            ("journal", config.journal == old.journal),
            ("mode", config.mode == old.mode),
        ];
        if let Some((key, _)) = fixed.into_iter().find(|(_, is_same)| !is_same) {
            return Err(Refused::Fixed(key));
        }
        let mtu = self.mtu(&config)?;
        let site = self.site.configured(config)?;
        let layout = site.layout(mtu);
        Ok((site, layout, mtu))
    }
}

fn open_log(site: &Site) -> Result<ControlLog, LogError> {
    let journal = site.config().journal.as_ref();
    let limit = journal.map_or(Bytes(0), |journal| journal.log_limit);
    ControlLog::open(journal.and_then(|journal| journal.log.as_deref()), limit)
}

impl Daemon {
    /// The largest MTU of the interfaces of `config`. One that is shaped already may be missing for a while: nothing
    /// changes then.
    fn mtu(&self, config: &Config) -> Result<u32, VsbError> {
        let (layout, mut there) = (self.engine.layout(), config.clone());
        let links = links().map_err(|reason| VsbError::System { what: "cannot list interfaces", reason })?;
        let stays =
            |name: &String| links.iter().any(|link| link.name == *name) || !layout.interfaces().contains(name.as_str());
        let is_whole = config.interfaces().all(stays);
        there.uplinks.retain(stays);
        there.aps.retain(|ap| stays(&ap.interface));
        let largest = mtu(&there)?;
        Ok(if is_whole { largest } else { largest.max(self.mtu) })
    }
}

/// Ends at `at`; without a time never.
async fn reached(at: Option<Instant>) {
    match at {
        Some(at) => sleep_until(at.into()).await,
        None => std::future::pending().await,
    }
}
