//! The listener of both pages: connections over HTTP/1.1, with limits in number and time.

use std::io;
use std::net::TcpListener;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::sync::Semaphore;

/// Connections at the same time; more wait to be accepted.
const CONNECTIONS: usize = 512;
/// Within this a connection has to have sent the head of a request.
const HEAD_TIME: Duration = Duration::from_secs(10);
/// Pause after a failed accept: the process has no file descriptor left.
const EXHAUSTED: Duration = Duration::from_millis(100);

/// Answers with `routes` until the process ends.
///
/// # Errors
/// When the system gives no threads, or the address is lost.
pub(crate) fn serve(listener: TcpListener, routes: &Router) -> io::Result<()> {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    runtime.block_on(async {
        listener.set_nonblocking(true)?;
        let listener = tokio::net::TcpListener::from_std(listener)?;
        let places = Arc::new(Semaphore::new(CONNECTIONS));
        loop {
            let Ok(place) = Arc::clone(&places).acquire_owned().await else { return Ok(()) };
            let Ok((stream, _)) = listener.accept().await else {
                tokio::time::sleep(EXHAUSTED).await;
                continue;
            };
            let service = TowerToHyperService::new(routes.clone());
            tokio::spawn(async move {
                let _place = place;
                let mut connection = http1::Builder::new();
                connection.timer(TokioTimer::new()).header_read_timeout(HEAD_TIME);
                // A connection that breaks is the browser's affair.
                let _ = connection.serve_connection(TokioIo::new(stream), service).await;
            });
        }
    })
}

/// 128 random bits in hexadecimal: a token that nobody guesses.
///
/// # Errors
/// When the system has no randomness.
pub fn new_token() -> io::Result<String> {
    let mut bytes = [0; 16];
    getrandom::fill(&mut bytes).map_err(|error| io::Error::other(error.to_string()))?;
    Ok(format!("{:032x}", u128::from_be_bytes(bytes)))
}
