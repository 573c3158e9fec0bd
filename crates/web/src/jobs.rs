//! Long work: it waits in a queue, sends its progress as server-sent events, and ends when the browser closes the
//! connection.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use axum::response::sse::{Event, KeepAlive, Sse};
use axum::response::{IntoResponse, Response};
use fairair_sim::replicas::Pool;
use fairair_sim::{Progress, Watch};
use futures_core::Stream;
use serde::Serialize;
use tokio::sync::mpsc::{self, Receiver, Sender};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::reply::Refusal;

/// Jobs of a line that run at the same time.
const AT_ONCE: usize = 2;
/// Jobs of a line that may wait.
const WAITING: usize = 16;
/// Events that wait for a slow browser.
const EVENTS: usize = 64;
/// A connection that is gone is noticed after so long at the latest.
const ALIVE: Duration = Duration::from_secs(2);

/// The two lines: a plan of a minute must not hold up an answer of a second.
#[derive(Default)]
pub(crate) struct Jobs {
    /// Answers to a cell.
    pub(crate) short: Line,
    /// Comparisons and plans.
    pub(crate) long: Line,
}

/// A line of jobs.
pub(crate) struct Line {
    slots: Arc<Semaphore>,
    waiting: Arc<AtomicUsize>,
}

impl Default for Line {
    fn default() -> Self {
        Line { slots: Arc::new(Semaphore::new(AT_ONCE)), waiting: Arc::default() }
    }
}

/// Counts a job that waits for as long as it lives.
struct Waiting(Arc<AtomicUsize>);

impl Drop for Waiting {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

impl Line {
    /// Waits for a place in the line, which is free again when the answer is dropped.
    pub(crate) async fn turn(&self) -> Result<OwnedSemaphorePermit, Refusal> {
        let _waiting = self.queue()?;
        Arc::clone(&self.slots).acquire_owned().await.map_err(|_| Refusal::busy())
    }

    fn queue(&self) -> Result<Waiting, Refusal> {
        let waiting = Waiting(Arc::clone(&self.waiting));
        if self.waiting.fetch_add(1, Ordering::SeqCst) < WAITING { Ok(waiting) } else { Err(Refusal::busy()) }
    }

    /// Answers with the events of `work`, which begins when its turn comes.
    pub(crate) fn start(&self, work: impl FnOnce(&Job) + Send + 'static) -> Response {
        let waiting = match self.queue() {
            Ok(waiting) => waiting,
            Err(busy) => return busy.into_response(),
        };
        let (tell, events) = mpsc::channel(EVENTS);
        let cancel = Arc::new(AtomicBool::new(false));
        let job = Job { tell, cancel: Arc::clone(&cancel) };
        let slots = Arc::clone(&self.slots);
        tokio::spawn(async move {
            let slot = tokio::select! {
                slot = slots.acquire_owned() => slot,
                () = job.tell.closed() => return,
            };
            drop(waiting);
            let tell = job.tell.clone();
            let done = tokio::task::spawn_blocking(move || {
                let _slot = slot;
                work(&job);
            });
            if let Err(error) = done.await {
                let _ = tell.send(event("failed", &Refusal::broken("simulation", error))).await;
            }
        });
        Sse::new(Events { events, cancel }).keep_alive(KeepAlive::new().interval(ALIVE)).into_response()
    }
}

/// What a job has of its caller.
pub(crate) struct Job {
    tell: Sender<Event>,
    cancel: Arc<AtomicBool>,
}

impl Job {
    /// Sends an event; to nobody when the browser is gone.
    pub(crate) fn send(&self, name: &'static str, data: &impl Serialize) {
        let _ = self.tell.blocking_send(event(name, data));
    }

    /// Whether the browser is gone.
    pub(crate) fn is_cancelled(&self) -> bool {
        self.cancel.load(Ordering::SeqCst)
    }

    /// Does `work` and sends its progress: `before` replicas are done already, of at least `all`. Events that a slow browser cannot take are dropped.
    pub(crate) fn watched<T>(&self, before: u32, all: u32, work: impl FnOnce(Watch) -> T) -> T {
        let progress = |Progress { done, planned }: Progress| {
            let told = serde_json::json!({ "done": before + done, "planned": all.max(before + planned) });
            let _ = self.tell.try_send(event("progress", &told));
        };
        work(Watch { cancel: &self.cancel, progress: &progress })
    }

    /// Threads for its replicas, one a processor. `None`: the system gave none, and an error was sent to the browser.
    pub(crate) fn pool(&self) -> Option<Pool> {
        match Pool::new(0) {
            Ok(pool) => Some(pool),
            Err(error) => {
                self.send("failed", &Refusal::unfit(format!("no threads: {error}"), "try again in a moment"));
                None
            }
        }
    }
}

/// An event with its data as JSON.
fn event(name: &'static str, data: &impl Serialize) -> Event {
    let data = serde_json::to_string(data).unwrap_or_default();
    Event::default().event(name).data(data)
}

/// The events of a job. Dropped with its connection, and then the job is cancelled.
struct Events {
    events: Receiver<Event>,
    cancel: Arc<AtomicBool>,
}

impl Stream for Events {
    type Item = Result<Event, std::convert::Infallible>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.events.poll_recv(context).map(|event| event.map(Ok))
    }
}

impl Drop for Events {
    fn drop(&mut self) {
        self.cancel.store(true, Ordering::SeqCst);
    }
}
