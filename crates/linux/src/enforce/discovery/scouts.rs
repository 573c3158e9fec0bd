//! A thread for each way of discovery, so that one that waits (for a file, a program, an agent far away) holds up neither
//! the daemon nor the others.

use std::collections::BTreeMap;
use std::thread;
use std::time::Duration;

use tokio::sync::mpsc::{Receiver, Sender, channel};
use tracing::{info, warn};

use super::Source;
use super::{Discovery, Sighting};
use crate::enforce::datapath::neighbours;

/// Rest after a look that failed, at least.
const REST: Duration = Duration::from_secs(1);
/// How soon a thread notices that the receiver of its events is gone.
const NAP: Duration = Duration::from_millis(100);
/// News that wait for the daemon; then the threads wait.
const ROOM: usize = 16;

/// What one way saw at one look.
#[derive(Debug)]
pub struct News {
    /// What the way is called.
    pub way: String,
    /// What kind of way it is.
    pub source: Source,
    /// AP whose whole list of associated stations this is; `None`: it is no such list.
    pub ap: Option<String>,
    /// Whom it saw.
    pub seen: Result<Vec<Sighting>, String>,
}

/// All ways; their threads end when this is dropped.
#[derive(Debug)]
pub struct Scouts {
    news: Receiver<News>,
    /// What is wrong and lasts, by way.
    troubles: BTreeMap<String, String>,
}

impl Scouts {
    /// Sends all of `ways` out.
    pub fn new(ways: Vec<Box<dyn Discovery>>) -> Scouts {
        let (sender, news) = channel(ROOM);
        let mut scouts = Scouts { news, troubles: BTreeMap::new() };
        for way in ways {
            let (name, sender) = (way.name(), sender.clone());
            let started = thread::Builder::new().name("discovery".to_owned()).spawn(move || scout(way, &sender));
            if let Err(error) = started {
                scouts.troubles.insert(name.clone(), format!("{name}: cannot start: {error}"));
            }
        }
        scouts
    }

    /// The next news; never when there is no way.
    pub async fn next(&mut self) -> News {
        match self.news.recv().await {
            Some(news) => news,
            None => std::future::pending().await,
        }
    }

    /// Keeps in mind what is wrong, told once when it begins and once when it ends.
    pub fn note(&mut self, news: &News) {
        match &news.seen {
            Ok(_) => {
                if self.troubles.remove(&news.way).is_some() {
                    info!("{}: well again", news.way);
                }
            }
            Err(error) => {
                let told = format!("{}: {error}", news.way);
                if self.troubles.insert(news.way.clone(), told.clone()).is_none() {
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
fn scout(mut way: Box<dyn Discovery>, sender: &Sender<News>) {
    while !sender.is_closed() {
        let seen = way.look().map(|seen| if way.ap().is_some() { resolved(seen) } else { seen });
        let mut rest = if seen.is_ok() { way.rest() } else { way.rest().max(REST) };
        let is_news = way.ap().is_some() || !matches!(&seen, Ok(seen) if seen.is_empty()) || !rest.is_zero();
        let news = News { way: way.name(), source: way.source(), ap: way.ap().map(str::to_owned), seen };
        if is_news && sender.blocking_send(news).is_err() {
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

    use super::*;

    /// Looks for as long as it is told, and answers what it is told.
    #[derive(Debug)]
    struct Way {
        name: &'static str,
        takes: Duration,
        answer: Result<(), String>,
        _alive: Arc<()>,
    }

    impl Discovery for Way {
        fn source(&self) -> Source {
            Source::Leases
        }
        fn name(&self) -> String {
            self.name.to_owned()
        }
        fn look(&mut self) -> Result<Vec<Sighting>, String> {
            thread::sleep(self.takes);
            self.answer.clone().map(|()| vec![Sighting::default()])
        }
        fn rest(&self) -> Duration {
            Duration::from_millis(10)
        }
    }

    #[tokio::test]
    async fn a_way_that_hangs_holds_up_nobody_and_a_failure_is_told_until_it_ends() {
        let alive = Arc::new(());
        let way = |name, takes_ms, answer| -> Box<dyn Discovery> {
            let takes = Duration::from_millis(takes_ms);
            Box::new(Way { name, takes, answer, _alive: alive.clone() })
        };
        let begin = Instant::now();
        let mut scouts = Scouts::new(vec![
            way("slow", 2000, Ok(())),
            way("fast", 0, Ok(())),
            way("bad", 0, Err("broken".to_owned())),
        ]);
        let (mut fast, mut bad) = (0, 0);
        while fast < 3 || bad < 1 {
            let news = scouts.next().await;
            scouts.note(&news);
            match news.way.as_str() {
                "fast" => fast += 1,
                "bad" => bad += 1,
                _ => panic!("the slow one is not done yet"),
            }
        }
        assert!(begin.elapsed() < Duration::from_secs(1));
        assert_eq!(scouts.troubles().collect::<Vec<_>>(), ["bad: broken"]);
        let (source, ap) = (Source::Leases, None);
        scouts.note(&News { way: "bad".to_owned(), source, ap, seen: Ok(Vec::new()) });
        assert_eq!(scouts.troubles().count(), 0);
        drop(scouts);
        while Arc::strong_count(&alive) > 1 {
            assert!(begin.elapsed() < Duration::from_secs(10), "threads end when nobody listens");
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }
}
