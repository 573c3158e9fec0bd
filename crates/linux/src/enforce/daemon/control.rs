//! The control socket: one task a client, which waits for the daemon's answer.

use std::io;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Weak};
use std::time::Duration;

use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::{UnixListener, UnixStream};
use tokio::sync::{mpsc, oneshot};
use tokio::task::AbortHandle;
use tokio::time::timeout;
use tracing::warn;

use super::super::error::VsbError;
use super::super::protocol::{Answer, Ask, LONGEST_REQUEST, Refusal, Request, Response, VERSION};
use super::super::state::State;
use super::clients::{Clients, Progress};
use super::refused::Refused;

/// A client that has not sent its request by then is left.
const REQUEST: Duration = Duration::from_secs(2);
/// A client that has not read its answer by then is left.
const ANSWER: Duration = Duration::from_secs(10);
/// Most clients at once.
const CLIENTS: usize = 16;

/// A request that waits for its answer.
#[derive(Debug)]
pub(super) struct Query {
    pub(super) ask: Ask,
    reply: oneshot::Sender<Result<Answer, Refusal>>,
}

impl Query {
    /// Answers. A client that has gone does not matter.
    pub(super) fn reply(self, answer: Result<Answer, impl Into<Refusal>>) {
        let _ = self.reply.send(answer.map_err(Into::into));
    }
}

/// The socket. It is removed with this.
#[derive(Debug)]
pub(super) struct Controls {
    path: PathBuf,
    queries: mpsc::Receiver<Query>,
    sender: mpsc::Sender<Query>,
    accepting: AbortHandle,
    /// Each client that is owed an answer holds a clone.
    owed: Arc<()>,
}

impl Controls {
    /// Listens in `directory`, for this user and group only. A socket that is left from before is replaced: the lock
    /// says that nobody listens there.
    pub(super) fn listen(directory: &Path) -> Result<Controls, VsbError> {
        let path = State::socket(directory);
        let failed = |reason| VsbError::Socket { path: path.clone(), reason };
        let listener = bind(directory, &path).map_err(failed)?;
        let (sender, queries) = mpsc::channel(CLIENTS);
        let owed = Arc::new(());
        let accepting = tokio::spawn(accept(listener, sender.clone(), Arc::downgrade(&owed))).abort_handle();
        Ok(Controls { path, queries, sender, accepting, owed })
    }

    /// Listens again if somebody has removed the socket; whether that was so.
    ///
    /// # Errors
    /// The system's.
    pub(super) fn listen_again(&mut self, directory: &Path) -> io::Result<bool> {
        if self.path.try_exists()? {
            return Ok(false);
        }
        let listener = bind(directory, &self.path)?;
        self.accepting.abort();
        self.accepting = tokio::spawn(accept(listener, self.sender.clone(), Arc::downgrade(&self.owed))).abort_handle();
        Ok(true)
    }

    /// The next request.
    pub(super) async fn next(&mut self) -> Option<Query> {
        self.queries.recv().await
    }

    /// Accepts no more requests, sends `result` to all clients that asked for the stop (`stops`, and those in the queue), and waits
    /// until the answers have been written.
    pub(super) async fn finish(&mut self, mut stops: Vec<Query>, result: &Result<Answer, Refusal>) {
        self.queries.close();
        while let Some(query) = self.queries.recv().await {
            match query.ask {
                Ask::Stop => stops.push(query),
                _ => query.reply(Err(Refused::Stopping)),
            }
        }
        for query in stops {
            query.reply(result.clone());
        }
        for _ in 0..200 {
            if Arc::strong_count(&self.owed) == 1 {
                return;
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }
}

impl Drop for Controls {
    fn drop(&mut self) {
        // Without it the next start replaces it.
        let _ = std::fs::remove_file(&self.path);
    }
}

fn bind(directory: &Path, path: &Path) -> io::Result<UnixListener> {
    use std::os::unix::fs::DirBuilderExt as _;
    std::fs::DirBuilder::new().recursive(true).mode(0o750).create(directory)?;
    match std::fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let listener = UnixListener::bind(path)?;
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o660))?;
    Ok(listener)
}

async fn accept(listener: UnixListener, sender: mpsc::Sender<Query>, owed: Weak<()>) {
    let mut clients = Clients::new(CLIENTS);
    loop {
        match listener.accept().await {
            Ok((stream, _)) => {
                let (sender, owed) = (sender.clone(), owed.clone());
                // A client's failure is the client's.
                clients.admit(async move |progress| drop(serve(stream, sender, owed, progress).await)).await;
            }
            Err(error) => {
                warn!("control socket: {error}");
                tokio::time::sleep(Duration::from_millis(100)).await;
            }
        }
    }
}

/// One request, one answer.
async fn serve(
    mut stream: UnixStream,
    sender: mpsc::Sender<Query>,
    owed: Weak<()>,
    progress: Progress,
) -> io::Result<()> {
    let (reading, mut writing) = stream.split();
    let mut line = String::new();
    let read = timeout(REQUEST, BufReader::new(reading.take(LONGEST_REQUEST)).read_line(&mut line)).await;
    let _owed = owed.upgrade();
    let answer = match read {
        Err(_) => Err(Refused::Late(REQUEST).into()),
        Ok(read) => match read.map(|_| Request::parse(&line))? {
            Ok(ask) => {
                progress.asked();
                let (reply, answer) = oneshot::channel();
                let _ = sender.send(Query { ask, reply }).await;
                answer.await.unwrap_or_else(|_| Err(Refused::Stopping.into()))
            }
            Err(error) => Err(Refused::Request(error).into()),
        },
    };
    progress.answered();
    let mut line = serde_json::to_vec(&Response { version: VERSION, answer })?;
    line.push(b'\n');
    let written = timeout(ANSWER, async {
        writing.write_all(&line).await?;
        writing.shutdown().await
    });
    written.await?
}
