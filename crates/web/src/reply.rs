//! How a request is refused: what is wrong, where, and what to do.

use axum::Json;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use fairair_core::scenario::ScenarioError;
use serde::Serialize;
use serde_json::Value;
use tokio::sync::Semaphore;
use tokio::task::JoinError;

/// Questions at the same time to what may keep them waiting.
const AT_ONCE: usize = 4;

/// Why what is behind a page gave no answer: what is wrong, and what to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NoAnswer {
    /// What is wrong.
    pub problem: String,
    /// What to do.
    pub fix: String,
}

/// Questions on threads that may wait, a few at the same time.
pub(crate) struct Questions(Semaphore);

impl Default for Questions {
    fn default() -> Self {
        Questions(Semaphore::new(AT_ONCE))
    }
}

impl Questions {
    /// The answer as JSON.
    pub(crate) async fn ask(&self, question: impl FnOnce() -> Result<Value, Refusal> + Send + 'static) -> Response {
        let Ok(_place) = self.0.acquire().await else { return Refusal::busy().into_response() };
        match tokio::task::spawn_blocking(question).await {
            Ok(Ok(answer)) => Json(answer).into_response(),
            Ok(Err(refusal)) => refusal.into_response(),
            Err(_) => {
                let (problem, fix) = ("the question failed".to_owned(), "please report it with the log".to_owned());
                Refusal::silent(NoAnswer { problem, fix }).into_response()
            }
        }
    }
}

/// A request that is not answered.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct Refusal {
    #[serde(skip)]
    status: StatusCode,
    /// Line of the scenario, from 1; absent where no line is to blame.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) line: Option<usize>,
    /// Column in bytes, from 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) column: Option<usize>,
    /// What is wrong.
    pub(crate) problem: String,
    /// What to do.
    pub(crate) fix: String,
}

impl Refusal {
    /// The scenario or what is asked of it makes no sense, or too much work.
    pub(crate) fn unfit(problem: impl Into<String>, fix: impl Into<String>) -> Self {
        let status = StatusCode::UNPROCESSABLE_ENTITY;
        Refusal { status, line: None, column: None, problem: problem.into(), fix: fix.into() }
    }

    /// Who asks has not the right to it.
    pub(crate) fn forbidden(problem: impl Into<String>, fix: impl Into<String>) -> Self {
        Refusal { status: StatusCode::FORBIDDEN, ..Refusal::unfit(problem, fix) }
    }

    /// What is behind the server gave no answer.
    pub(crate) fn silent(none: NoAnswer) -> Self {
        Refusal { status: StatusCode::SERVICE_UNAVAILABLE, ..Refusal::unfit(none.problem, none.fix) }
    }

    /// `what` panicked on the scenario: a defect of ours, which ends this request alone.
    pub(crate) fn broken(what: &str, error: JoinError) -> Self {
        let panic = error.try_into_panic().ok();
        let said = panic.as_ref().and_then(|panic| {
            panic.downcast_ref::<String>().map(String::as_str).or_else(|| panic.downcast_ref::<&str>().copied())
        });
        let problem = format!("the {what} failed on this cell: {}", said.unwrap_or("no reason is known"));
        Refusal::unfit(problem, "this is a defect of FairAir: please report it with the scenario")
    }

    /// The server does enough already.
    pub(crate) fn busy() -> Self {
        let problem = "too many jobs wait already";
        Refusal { status: StatusCode::SERVICE_UNAVAILABLE, ..Refusal::unfit(problem, "try again in a moment") }
    }
}

impl From<ScenarioError> for Refusal {
    fn from(error: ScenarioError) -> Self {
        match error {
            ScenarioError::Invalid(invalid) => Refusal {
                line: Some(invalid.line),
                column: Some(invalid.column),
                ..Refusal::unfit(invalid.problem, invalid.fix)
            },
            unreadable @ ScenarioError::Unreadable { .. } => Refusal::unfit(unreadable.to_string(), unreadable.fix()),
        }
    }
}

impl IntoResponse for Refusal {
    fn into_response(self) -> Response {
        (self.status, Json(self)).into_response()
    }
}
