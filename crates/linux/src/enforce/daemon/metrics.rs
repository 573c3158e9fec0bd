//! The metrics' listener: HTTP/1.1 by hyper, one request a connection.

mod exposition;

use std::convert::Infallible;
use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use http_body_util::Full;
use hyper::body::Bytes;
use hyper::header::{ACCEPT, ALLOW, CONTENT_TYPE, HeaderMap, HeaderValue};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{mpsc, oneshot};
use tokio::time::timeout;

use self::exposition::{Format, text};
use super::super::protocol::{StationReport, Status};
use super::clients::{Clients, Progress};

/// A scraper that has not sent its request and read the answer by then is left.
const PATIENCE: Duration = Duration::from_secs(10);
/// Most scrapers at once.
const CLIENTS: usize = 32;
/// The longest request, in bytes; hyper's least.
const LONGEST_REQUEST: usize = 8192;

/// The listener.
#[derive(Debug)]
pub(super) struct Metrics {
    scrapes: mpsc::Receiver<Scrape>,
}

/// A scraper that waits for its answer.
#[derive(Debug)]
pub(super) struct Scrape {
    format: Format,
    reply: oneshot::Sender<String>,
}

impl Metrics {
    /// Listens at `address`.
    pub(super) fn listen(address: SocketAddr) -> io::Result<Metrics> {
        let listener = std::net::TcpListener::bind(address)?;
        listener.set_nonblocking(true)?;
        let listener = TcpListener::from_std(listener)?;
        let (sender, scrapes) = mpsc::channel(4);
        tokio::spawn(async move {
            let mut clients = Clients::new(CLIENTS);
            loop {
                match listener.accept().await {
                    Ok((stream, _)) => clients.admit(|progress| serve(stream, sender.clone(), progress)).await,
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
        let _ = self.reply.send(text(self.format, status, stations));
    }
}

/// One request, one answer. A scraper's failure is the scraper's.
async fn serve(stream: TcpStream, sender: mpsc::Sender<Scrape>, progress: Progress) {
    let service = service_fn(|request: Request<hyper::body::Incoming>| {
        let (sender, progress) = (sender.clone(), progress.clone());
        async move {
            let answer = answer(request.method(), request.uri().path(), request.headers(), &sender, &progress).await;
            Ok::<_, Infallible>(answer)
        }
    });
    let mut http = http1::Builder::new();
    http.keep_alive(false).max_buf_size(LONGEST_REQUEST);
    let _ = timeout(PATIENCE, http.serve_connection(TokioIo::new(stream), service)).await;
}

async fn answer(
    method: &Method,
    path: &str,
    headers: &HeaderMap,
    sender: &mpsc::Sender<Scrape>,
    progress: &Progress,
) -> Response<Full<Bytes>> {
    let said = |code, kind, body: String| {
        let mut response = Response::new(Full::new(Bytes::from(body)));
        *response.status_mut() = code;
        response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(kind));
        response
    };
    let plain = "text/plain; charset=utf-8";
    if path != "/metrics" {
        return said(StatusCode::NOT_FOUND, plain, "metrics are at /metrics\n".to_owned());
    }
    // hyper leaves the body of an answer to HEAD out.
    if method != Method::GET && method != Method::HEAD {
        let mut response = said(StatusCode::METHOD_NOT_ALLOWED, plain, "metrics are there for GET\n".to_owned());
        response.headers_mut().insert(ALLOW, HeaderValue::from_static("GET, HEAD"));
        return response;
    }
    let accepted = headers.get_all(ACCEPT).iter().filter_map(|value| value.to_str().ok()).collect::<Vec<_>>().join(",");
    let format = Format::accepted(&accepted);
    let (reply, answer) = oneshot::channel();
    progress.asked();
    let _ = sender.send(Scrape { format, reply }).await;
    let answer = answer.await;
    progress.answered();
    match answer {
        Ok(text) => said(StatusCode::OK, format.media_type(), text),
        Err(_) => said(StatusCode::SERVICE_UNAVAILABLE, plain, "the daemon is stopping\n".to_owned()),
    }
}
