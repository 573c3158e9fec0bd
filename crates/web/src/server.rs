//! The server of the lab: its routes, and the threads that simulate.

use std::io;
use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;

use axum::extract::State;
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Json, Router};
use serde::Deserialize;

use crate::air::{self, Part};
use crate::assets::{LAB, served};
use crate::document::{self, Document, Text};
use crate::edit::Edits;
use crate::examples::Scenario;
use crate::gate::Gate;
use crate::jobs::Jobs;
use crate::listen::{self, new_token};
use crate::plan::Asked;
use crate::reply::Refusal;
use crate::start::Start;
use crate::{compare, gallery, plan, run};

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
        let token = if address.ip().is_loopback() { None } else { Some(new_token()?) };
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
        let routes = routes(Gate::new(self.address, self.token, "fairair-lab"), Start::new(self.scenario));
        listen::serve(self.listener, &routes)
    }
}

struct Rooms {
    jobs: Jobs,
    start: Start,
}

type Shared = State<Arc<Rooms>>;

/// All that is answered, behind the gate.
pub(crate) fn routes(gate: Arc<Gate>, start: Start) -> Router {
    let answers = Router::new()
        .route("/api/start", get(|State(rooms): Shared| async move { Json(rooms.start.clone()) }))
        .route("/api/read", post(|Json(text): Json<Text>| off_thread(move || Ok(Document::read(text.toml)))))
        .route("/api/edit", post(|Json(edits): Json<Edits>| off_thread(move || edits.applied().map(Document::read))))
        .route("/api/run", post(run_job))
        .route("/api/compare", post(compare_job))
        .route("/api/plan", post(plan_job))
        .route("/api/air", post(air_of))
        .route("/api/gallery", get(|| async { Json(gallery::papers()) }).post(figure_of));
    served(answers, LAB, Rooms { jobs: Jobs::default(), start }, gate)
}

/// Reads and models on a thread that may take its time.
async fn off_thread(work: impl FnOnce() -> Result<Document, Refusal> + Send + 'static) -> Response {
    match tokio::task::spawn_blocking(work).await {
        Ok(Ok(document)) => Json(document).into_response(),
        Ok(Err(refusal)) => refusal.into_response(),
        Err(error) => Refusal::broken("model", error).into_response(),
    }
}

async fn run_job(State(rooms): Shared, Json(text): Json<Text>) -> Result<Response, Refusal> {
    let scenario = document::scenario(&text.toml)?;
    Ok(rooms.jobs.short.start(move |job| run::run(&scenario, job)))
}

async fn compare_job(State(rooms): Shared, Json(text): Json<Text>) -> Result<Response, Refusal> {
    let scenario = document::scenario(&text.toml)?;
    let refused = |(problem, fix): (String, String)| Refusal::unfit(problem, fix);
    scenario.with_one_access_point("remedies do not know").map_err(refused)?;
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

async fn figure_of(Json(wanted): Json<gallery::Wanted>) -> Result<Json<Scenario>, Refusal> {
    wanted.scenario().map(Json)
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
    traced.map_err(|error| Refusal::broken("simulation", error))
}
