//! A thread for each way of discovery, so that one that waits (for a file, a program, an agent far away) holds up neither
//! the daemon nor the others.

use std::collections::BTreeMap;
use std::thread;
use std::time::Duration;

use tokio::sync::mpsc::{Receiver, Sender, channel};
use tracing::{info, warn};

use super::{DiscoveryError, Sighting, Source, Way};
use crate::enforce::datapath::neighbours;

/// Rest after a look that failed, at least.
const REST: Duration = Duration::from_secs(1);
/// How soon a thread notices that the receiver of its events is gone.
const NAP: Duration = Duration::from_millis(100);
/// Reports that wait for the daemon; then the threads wait.
const ROOM: usize = 16;

/// What one way found at one look.
#[derive(Debug)]
pub struct Report {
    /// What the way is called.
    pub way: String,
    /// What kind of way it is.
    pub source: Source,
    /// AP whose whole list of associated stations this is; `None`: it is no such list.
    pub ap: Option<String>,
    /// Whom it saw.
    pub seen: Result<Vec<Sighting>, DiscoveryError>,
}

impl Report {
    /// Adds whom the next look of the same way saw. A list of associated stations stands for itself.
    fn add(&mut self, next: Report) -> Result<(), Report> {
        match (&mut self.seen, next) {
            (Ok(seen), Report { way, ap: None, seen: Ok(more), .. }) if way == self.way && self.ap.is_none() => {
                seen.extend(more);
                Ok(())
            }
            (_, next) => Err(next),
        }
    }
}

/// All ways; their threads end when this is dropped.
#[derive(Debug)]
pub struct Workers {
    report: Receiver<Report>,
    /// The report after the last one, if it could not be added to that.
    waiting: Option<Report>,
    /// What is wrong and lasts, by way.
    troubles: BTreeMap<String, String>,
}

impl Workers {
    /// A thread for each of `ways`.
    pub fn new(ways: Vec<Way>) -> Workers {
        let (sender, report) = channel(ROOM);
        let mut workers = Workers { report, waiting: None, troubles: BTreeMap::new() };
        for way in ways {
            let (name, sender) = (way.name.clone(), sender.clone());
            let started = thread::Builder::new().name("discovery".to_owned()).spawn(move || work(way, &sender));
            if let Err(error) = started {
                workers.troubles.insert(name.clone(), format!("{name}: cannot start: {error}"));
            }
        }
        workers
    }

    /// The next report of a way, with those of the same way that wait after it; never when there is no way.
    pub async fn next(&mut self) -> Report {
        let first = match self.waiting.take() {
            Some(report) => Some(report),
            None => self.report.recv().await,
        };
        let Some(mut report) = first else { return std::future::pending().await };
        while let Ok(next) = self.report.try_recv() {
            if let Err(next) = report.add(next) {
                self.waiting = Some(next);
                break;
            }
        }
        report
    }

    /// Records what is wrong with a worker. The log has a line when a fault begins and one when it ends.
    pub fn note(&mut self, report: &Report) {
        match &report.seen {
            Ok(_) => {
                if self.troubles.remove(&report.way).is_some() {
                    info!("{}: it answers again", report.way);
                }
            }
            Err(error) => {
                let told = format!("{}: {error}", report.way);
                if self.troubles.insert(report.way.clone(), told.clone()).is_none() {
                    warn!("{told}");
                }
            }
        }
    }

    /// What is wrong and lasts.
    pub fn troubles(&self) -> impl Iterator<Item = &String> {
        self.troubles.values()
    }
}

/// Looks and rests until the receiver is gone.
fn work(mut way: Way, sender: &Sender<Report>) {
    while !sender.is_closed() {
        let seen = way.discovery.look().map(|seen| if way.ap.is_some() { resolved(seen) } else { seen });
        let mut rest = if seen.is_ok() { way.rest } else { way.rest.max(REST) };
        let is_sent = way.ap.is_some() || !matches!(&seen, Ok(seen) if seen.is_empty()) || !rest.is_zero();
        let report = Report { way: way.name.clone(), source: way.source, ap: way.ap.clone(), seen };
        if is_sent && sender.blocking_send(report).is_err() {
            return;
        }
        while !rest.is_zero() && !sender.is_closed() {
            let nap = rest.min(NAP);
            thread::sleep(nap);
            rest -= nap;
        }
    }
}

/// APs list MAC addresses; this kernel's neighbour table has the addresses to them (detti2011, footnote 3).
fn resolved(mut seen: Vec<Sighting>) -> Vec<Sighting> {
    // Without the table they come with the devices' first packets.
    let table = neighbours().unwrap_or_default();
    for place in 0..seen.len() {
        let known = seen[place].clone();
        let entries = table.iter().filter(|entry| known.address.is_none() && known.mac == Some(entry.mac));
        seen.extend(entries.map(|entry| Sighting {
            interface: Some(entry.interface),
            address: Some(entry.address),
            ..known.clone()
        }));
    }
    seen
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::time::Instant;

    use super::super::Discovery;
    use super::*;

    /// A source that takes a given time for a look and reports a given result.
    #[derive(Debug)]
    struct Slow {
        takes: Duration,
        answer: Result<(), &'static str>,
        _alive: Arc<()>,
    }

    impl Discovery for Slow {
        fn look(&mut self) -> Result<Vec<Sighting>, DiscoveryError> {
            thread::sleep(self.takes);
            let seen = self.answer.map(|()| vec![Sighting::default()]);
            seen.map_err(|error| DiscoveryError::Failed(error.to_owned()))
        }
    }

    #[tokio::test]
    async fn reports_of_one_way_that_wait_are_one() {
        let (sender, report) = channel(ROOM);
        let mut workers = Workers { report, waiting: None, troubles: BTreeMap::new() };
        let told = |way: &str, count: usize, ap: Option<&str>| Report {
            way: way.to_owned(),
            source: Source::Neighbours,
            ap: ap.map(str::to_owned),
            seen: Ok(vec![Sighting::default(); count]),
        };
        for report in [
            told("a", 1, None),
            told("a", 2, None),
            told("b", 1, None),
            told("c", 1, Some("x")),
            told("c", 1, Some("x")),
        ] {
            sender.send(report).await.unwrap();
        }
        let mut seen = Vec::new();
        for _ in 0..4 {
            let report = workers.next().await;
            seen.push((report.way, report.seen.unwrap().len()));
        }
        let expected = [("a", 3), ("b", 1), ("c", 1), ("c", 1)];
        assert_eq!(seen, expected.map(|(way, count)| (way.to_owned(), count)));
    }

    #[tokio::test]
    async fn a_way_that_hangs_holds_up_nobody_and_a_failure_is_told_until_it_ends() {
        let alive = Arc::new(());
        let way = |name, takes_ms, answer| {
            let takes = Duration::from_millis(takes_ms);
            let slow = Slow { takes, answer, _alive: alive.clone() };
            Way { rest: Duration::from_millis(10), ..Way::new(name, Source::Leases, slow) }
        };
        let begin = Instant::now();
        let mut workers =
            Workers::new(vec![way("slow", 2000, Ok(())), way("fast", 0, Ok(())), way("bad", 0, Err("broken"))]);
        let (mut fast, mut bad) = (0, 0);
        while fast < 3 || bad < 1 {
            let report = workers.next().await;
            workers.note(&report);
            match report.way.as_str() {
                "fast" => fast += 1,
                "bad" => bad += 1,
                _ => panic!("the slow one is not done yet"),
            }
        }
        assert!(begin.elapsed() < Duration::from_secs(1));
        assert_eq!(workers.troubles().collect::<Vec<_>>(), ["bad: broken"]);
        let (source, ap) = (Source::Leases, None);
        workers.note(&Report { way: "bad".to_owned(), source, ap, seen: Ok(Vec::new()) });
        assert_eq!(workers.troubles().count(), 0);
        drop(workers);
        while Arc::strong_count(&alive) > 1 {
            assert!(begin.elapsed() < Duration::from_secs(10), "threads end when nobody listens");
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }
}
