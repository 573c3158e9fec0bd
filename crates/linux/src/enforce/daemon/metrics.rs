//! Prometheus metrics over the smallest HTTP that its scraper needs.

use std::fmt::Write as _;
use std::io;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicI64, AtomicU64};
use std::time::Duration;

use prometheus_client::encoding::text::encode;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{mpsc, oneshot};
use tokio::time::timeout;

use super::super::protocol::{StationReport, Status};

const PATIENCE: Duration = Duration::from_secs(5);
const LONGEST_REQUEST: usize = 8192;

type Labels = Vec<(String, String)>;

/// The listener.
#[derive(Debug)]
pub(super) struct Metrics {
    scrapes: mpsc::Receiver<Scrape>,
}

/// A scraper that waits for its answer.
#[derive(Debug)]
pub(super) struct Scrape {
    reply: oneshot::Sender<String>,
}

impl Metrics {
    pub(super) fn listen(address: SocketAddr) -> io::Result<Metrics> {
        let listener = std::net::TcpListener::bind(address)?;
        listener.set_nonblocking(true)?;
        let listener = TcpListener::from_std(listener)?;
        let (sender, scrapes) = mpsc::channel(4);
        tokio::spawn(async move {
            loop {
                match listener.accept().await {
                    // One at a time: who is slow delays other scrapers, nothing else.
                    Ok((stream, _)) => drop(timeout(PATIENCE, serve(stream, &sender)).await),
                    Err(_) => tokio::time::sleep(Duration::from_millis(100)).await,
                }
            }
        });
        Ok(Metrics { scrapes })
    }

    /// The next scraper; never without a listener.
    pub(super) async fn next(metrics: &mut Option<Metrics>) -> Option<Scrape> {
        match metrics {
            Some(metrics) => metrics.scrapes.recv().await,
            None => std::future::pending().await,
        }
    }
}

impl Scrape {
    pub(super) fn reply(self, status: &Status, stations: &[StationReport]) {
        // A scraper that has gone does not matter.
        let _ = self.reply.send(text(status, stations));
    }
}

async fn serve(mut stream: TcpStream, sender: &mpsc::Sender<Scrape>) -> io::Result<()> {
    let mut request = vec![0; LONGEST_REQUEST];
    let mut length = 0;
    while !request[..length].windows(4).any(|end| end == b"\r\n\r\n") {
        let read = stream.read(&mut request[length..]).await?;
        length += read;
        if read == 0 || length == request.len() {
            return Ok(());
        }
    }
    let wanted = request.starts_with(b"GET /metrics ");
    let (code, body) = if wanted {
        let (reply, answer) = oneshot::channel();
        let _ = sender.send(Scrape { reply }).await;
        ("200 OK", answer.await.unwrap_or_default())
    } else {
        ("404 Not Found", "metrics are at /metrics\n".to_owned())
    };
    let mut head = String::new();
    let _ =
        write!(head, "HTTP/1.1 {code}\r\nContent-Type: application/openmetrics-text; version=1.0.0; charset=utf-8\r\n");
    let _ = write!(head, "Content-Length: {}\r\nConnection: close\r\n\r\n", body.len());
    stream.write_all(head.as_bytes()).await?;
    stream.write_all(body.as_bytes()).await?;
    stream.shutdown().await
}

/// All metrics in the OpenMetrics text format.
fn text(status: &Status, stations: &[StationReport]) -> String {
    let mut registry = Registry::with_prefix("fairair");
    let gauge = |registry: &mut Registry, name: &str, help: &str| {
        let family = Family::<Labels, Gauge<i64, AtomicI64>>::default();
        registry.register(name, help, family.clone());
        family
    };
    let counter = |registry: &mut Registry, name: &str, help: &str| {
        let family = Family::<Labels, Counter<u64, AtomicU64>>::default();
        registry.register(name, help, family.clone());
        family
    };
    let capacity = gauge(&mut registry, "capacity_bps", "C in IP bit/s of both directions");
    let rate = gauge(&mut registry, "rate_bps", "IP bit/s through the pool in the last second");
    let backlog = gauge(&mut registry, "backlog_packets", "Packets that wait in the pool");
    let rtt = gauge(&mut registry, "rtt_microseconds", "Round-trip time of the last probe");
    let state = gauge(&mut registry, "state", "1 for the state that the controller is in");
    let count = gauge(&mut registry, "stations", "Stations with a class");
    let troubles = gauge(&mut registry, "troubles", "What is wrong and lasts");
    let drops = counter(&mut registry, "drops", "Packets dropped since their queue was full");
    let probes = counter(&mut registry, "probes", "Probes by outcome");
    let bytes = counter(&mut registry, "station_bytes", "IP bytes of both directions of a station");
    let dropped = counter(&mut registry, "station_drops", "Packets of a station that were dropped");
    let label = |name: &str, value: &str| (name.to_owned(), value.to_owned());
    troubles.get_or_create(&Vec::new()).set(status.troubles.len() as i64);
    for pool in &status.pools {
        let ap = || vec![label("ap", &pool.ap)];
        capacity.get_or_create(&ap()).set(pool.capacity.as_bps() as i64);
        rate.get_or_create(&ap()).set(pool.rate.as_bps() as i64);
        backlog.get_or_create(&ap()).set(pool.backlog as i64);
        count.get_or_create(&ap()).set(pool.stations as i64);
        drops.get_or_create(&ap()).inc_by(pool.drops);
        if let Some(seconds) = pool.rtt_s {
            rtt.get_or_create(&ap()).set((seconds * 1e6) as i64);
        }
        let name = format!("{:?}", pool.state).to_lowercase();
        state.get_or_create(&vec![label("ap", &pool.ap), label("state", &name)]).set(1);
        for (outcome, number) in ["sent", "answered", "lost"].into_iter().zip(pool.probes) {
            probes.get_or_create(&vec![label("ap", &pool.ap), label("outcome", outcome)]).inc_by(number);
        }
    }
    for station in stations {
        let labels = vec![label("ap", &station.ap), label("station", &station.name)];
        bytes.get_or_create(&labels).inc_by(station.bytes);
        dropped.get_or_create(&labels).inc_by(station.drops);
    }
    let mut text = String::new();
    // Writing to a string does not fail.
    let _ = encode(&mut text, &registry);
    text
}
