//! The server: one address, a few routes, one thread that waits and others that simulate.

use std::io;
use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::time::Duration;

use axum::extract::State;
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Json, Router, middleware};
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use serde::{Deserialize, Serialize};
use tokio::sync::Semaphore;

use crate::air::{self, Part};
use crate::assets::ASSETS;
use crate::document::{self, Document, Text};
use crate::edit::Edits;
use crate::gate::{self, Gate};
use crate::jobs::Jobs;
use crate::plan::Asked;
use crate::reply::Refusal;
use crate::start::Start;
use crate::{compare, plan, run};

/// Connections at the same time; more wait to be accepted.
const CONNECTIONS: usize = 512;
/// Within this a connection has to have sent the head of a request.
const HEAD_TIME: Duration = Duration::from_secs(10);
/// Pause after a failed accept: the process has no file descriptor left.
const EXHAUSTED: Duration = Duration::from_millis(100);

/// A scenario with the name that the page shows for it.
#[derive(Clone, Debug, Serialize)]
pub struct Scenario {
    /// Name of the file.
    pub name: String,
    /// Its text.
    pub toml: String,
}

/// What a laboratory is started with.
#[derive(Clone, Debug)]
pub struct Options {
    /// Where it listens; port 0: one that is free. An address beyond the loopback interface takes a token, which [`Lab::url`] has.
    pub listen: SocketAddr,
    /// What the page shows first.
    pub scenario: Option<Scenario>,
}

/// A laboratory that has its address.
pub struct Lab {
    listener: TcpListener,
    address: SocketAddr,
    token: Option<String>,
    scenario: Option<Scenario>,
}

impl Lab {
    /// Takes the address.
    ///
    /// # Errors
    /// When the address is not this machine's or is taken, or when the system has no randomness for a token.
    pub fn bind(options: Options) -> io::Result<Self> {
        let listener = TcpListener::bind(options.listen)?;
        let address = listener.local_addr()?;
        let token = if address.ip().is_loopback() { None } else { Some(token()?) };
        Ok(Lab { listener, address, token, scenario: options.scenario })
    }

    /// What to open in a browser.
    pub fn url(&self) -> String {
        let query = self.token.as_ref().map(|token| format!("?token={token}")).unwrap_or_default();
        format!("http://{}/{query}", self.address)
    }

    /// Answers until the process ends.
    ///
    /// # Errors
    /// When the system gives no threads, or the address is lost.
    pub fn serve(self) -> io::Result<()> {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
        runtime.block_on(async {
            self.listener.set_nonblocking(true)?;
            let listener = tokio::net::TcpListener::from_std(self.listener)?;
            let routes = routes(Gate::new(self.address, self.token), Start::new(self.scenario));
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
}

/// 128 random bits in hexadecimal.
fn token() -> io::Result<String> {
    let mut bytes = [0; 16];
    getrandom::fill(&mut bytes).map_err(|error| io::Error::other(error.to_string()))?;
    Ok(format!("{:032x}", u128::from_be_bytes(bytes)))
}

struct Rooms {
    jobs: Jobs,
    start: Start,
}

type Shared = State<Arc<Rooms>>;

/// All that is answered, behind the gate.
pub(crate) fn routes(gate: Arc<Gate>, start: Start) -> Router {
    let mut router = Router::new()
        .route("/api/start", get(|State(rooms): Shared| async move { Json(rooms.start.clone()) }))
        .route("/api/read", post(|Json(text): Json<Text>| off_thread(move || Ok(Document::read(text.toml)))))
        .route("/api/edit", post(|Json(edits): Json<Edits>| off_thread(move || edits.applied().map(Document::read))))
        .route("/api/run", post(run_job))
        .route("/api/compare", post(compare_job))
        .route("/api/plan", post(plan_job))
        .route("/api/air", post(air_of));
    for asset in ASSETS {
        router = router.route(asset.path, asset.route());
    }
    let rooms = Rooms { jobs: Jobs::default(), start };
    router.with_state(Arc::new(rooms)).layer(middleware::from_fn_with_state(gate, gate::check))
}

/// Reads and models on a thread that may take its time.
async fn off_thread(work: impl FnOnce() -> Result<Document, Refusal> + Send + 'static) -> Response {
    match tokio::task::spawn_blocking(work).await {
        Ok(Ok(document)) => Json(document).into_response(),
        Ok(Err(refusal)) => refusal.into_response(),
        Err(_) => Refusal::unfit("the model failed on this cell", "please report it with the scenario").into_response(),
    }
}

async fn run_job(State(rooms): Shared, Json(text): Json<Text>) -> Result<Response, Refusal> {
    let scenario = document::scenario(&text.toml)?;
    Ok(rooms.jobs.short.start(move |job| run::run(&scenario, job)))
}

async fn compare_job(State(rooms): Shared, Json(text): Json<Text>) -> Result<Response, Refusal> {
    let scenario = document::scenario(&text.toml)?;
    Ok(rooms.jobs.long.start(move |job| compare::compare(&scenario, job)))
}

/// A scenario and what is wished for.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct PlanText {
    toml: String,
    asked: Asked,
}

async fn plan_job(State(rooms): Shared, Json(text): Json<PlanText>) -> Result<Response, Refusal> {
    let scenario = document::scenario(&text.toml)?;
    let required = text.asked.requirements(&scenario)?;
    Ok(rooms.jobs.long.start(move |job| plan::plan(&scenario, &required, job)))
}

/// A scenario and the part of its run that is shown.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct AirText {
    toml: String,
    part: Part,
}

async fn air_of(State(rooms): Shared, Json(text): Json<AirText>) -> Result<Response, Refusal> {
    let scenario = document::scenario(&text.toml)?;
    let _place = rooms.jobs.short.turn().await?;
    let traced = tokio::task::spawn_blocking(move || air::air(&scenario, text.part)).await;
    traced.map_err(|_| Refusal::unfit("the engine failed on this cell", "please report it with the scenario"))
}
