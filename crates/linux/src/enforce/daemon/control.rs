//! The control socket: one task a client, which waits for the daemon's answer.

use std::io;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::{UnixListener, UnixStream};
use tokio::sync::{Semaphore, mpsc, oneshot};
use tokio::time::timeout;
use tracing::warn;

use super::super::error::VsbError;
use super::super::protocol::{Answer, Ask, LONGEST_REQUEST, Request, Response, VERSION};
use super::super::state::State;

/// A client that is silent, or does not read, is left.
const PATIENCE: Duration = Duration::from_secs(10);
/// Most clients at once; the others wait.
const CLIENTS: usize = 16;

/// A request that waits for its answer.
#[derive(Debug)]
pub(super) struct Query {
    pub(super) ask: Ask,
    reply: oneshot::Sender<Result<Answer, String>>,
}

impl Query {
    /// Answers. A client that has gone does not matter.
    pub(super) fn reply(self, answer: Result<Answer, String>) {
        let _ = self.reply.send(answer);
    }
}

/// The socket. It is removed with this.
#[derive(Debug)]
pub(super) struct Controls {
    path: PathBuf,
    queries: mpsc::Receiver<Query>,
    room: Arc<Semaphore>,
}

impl Controls {
    /// Listens in `directory`, for this user and group only. A socket that is left from before is replaced: the lock
    /// says that nobody listens there.
    pub(super) fn listen(directory: &Path) -> Result<Controls, VsbError> {
        let path = State::socket(directory);
        let failed = |reason| VsbError::File { path: path.clone(), reason };
        let listener = bind(directory, &path).map_err(failed)?;
        let (sender, queries) = mpsc::channel(CLIENTS);
        let room = Arc::new(Semaphore::new(CLIENTS));
        tokio::spawn(accept(listener, sender, room.clone()));
        Ok(Controls { path, queries, room })
    }

    /// The next request.
    pub(super) async fn next(&mut self) -> Option<Query> {
        self.queries.recv().await
    }

    /// Takes no more requests, and lets the answers that were given reach their clients.
    pub(super) async fn finish(&mut self) {
        self.queries.close();
        while let Some(query) = self.queries.recv().await {
            query.reply(Err("the daemon is stopping".to_owned()));
        }
        for _ in 0..200 {
            // One is held for the client to come.
            if self.room.available_permits() + 1 >= CLIENTS {
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

async fn accept(listener: UnixListener, sender: mpsc::Sender<Query>, room: Arc<Semaphore>) {
    loop {
        let Ok(permit) = room.clone().acquire_owned().await else { return };
        match listener.accept().await {
            Ok((stream, _)) => {
                let sender = sender.clone();
                tokio::spawn(async move {
                    // A client's failure is the client's.
                    let _ = timeout(PATIENCE, serve(stream, sender)).await;
                    drop(permit);
                });
            }
            Err(error) => {
                warn!("control socket: {error}");
                tokio::time::sleep(Duration::from_millis(100)).await;
            }
        }
    }
}

/// One request, one answer.
async fn serve(mut stream: UnixStream, sender: mpsc::Sender<Query>) -> io::Result<()> {
    let (reading, mut writing) = stream.split();
    let mut line = String::new();
    BufReader::new(reading.take(LONGEST_REQUEST)).read_line(&mut line).await?;
    let answer = match Request::parse(&line) {
        Ok(ask) => {
            let (reply, answer) = oneshot::channel();
            let _ = sender.send(Query { ask, reply }).await;
            answer.await.unwrap_or_else(|_| Err("the daemon is stopping".to_owned()))
        }
        Err(error) => Err(error),
    };
    let mut line = serde_json::to_vec(&Response { version: VERSION, answer })?;
    line.push(b'\n');
    writing.write_all(&line).await?;
    writing.shutdown().await
}
