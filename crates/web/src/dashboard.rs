//! The dashboard of the live box: the page, and the few questions that it asks a [`LiveBox`].
//!
//! Reading needs no token on the loopback interface. A change always needs the token, in a header that no form and no
//! page of another site can set. The daemon is asked at most twice a second for what all visitors look at.

use std::io;
use std::net::{SocketAddr, TcpListener};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use axum::extract::{Path, State};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Json, Router};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::assets::{DASHBOARD, served};
use crate::gate::{self, Gate};
use crate::listen;
use crate::reply::{NoAnswer, Questions, Refusal};

/// What is known of the box is asked anew after so long.
const FRESH: Duration = Duration::from_millis(500);

/// A change that an operator wishes for.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(tag = "do", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Change {
    /// Plan, weight and cap of a station, in place of what was set for it.
    Set {
        /// Name, address or MAC address.
        station: String,
        /// Name of a plan of the configuration.
        plan: Option<String>,
        /// Share against the others'.
        weight: Option<f64>,
        /// Most that the station gets, such as `4 Mbit/s`.
        cap: Option<String>,
        /// When it ends, such as `2h`.
        until: Option<String>,
    },
    /// The station has what the configuration says.
    Unset {
        /// Name, address or MAC address.
        station: String,
    },
    /// Keep what was applied for a trial.
    Confirm,
    /// Take all shaping back and end the daemon.
    Stop,
}

/// The live box as the dashboard sees it. All methods may wait; each answer is JSON for the page.
pub trait LiveBox: Send + Sync + 'static {
    /// `status` and `stations`, as the control socket gives them.
    ///
    /// # Errors
    /// No daemon answers.
    fn look(&self) -> Result<Value, NoAnswer>;
    /// Why `station` gets its rate.
    ///
    /// # Errors
    /// No daemon answers.
    fn explain(&self, station: &str) -> Result<Value, NoAnswer>;
    /// What the journal has of the last `seconds`.
    ///
    /// # Errors
    /// There is no journal, or it cannot be read.
    fn history(&self, seconds: u32) -> Result<Value, NoAnswer>;
    /// Makes the change.
    ///
    /// # Errors
    /// No daemon answers, or it refuses.
    fn change(&self, change: &Change) -> Result<Value, NoAnswer>;
    /// The token for changes; an error says why there are none.
    ///
    /// # Errors
    /// The file of the token cannot be used.
    fn token(&self) -> Result<String, NoAnswer>;
}

/// A dashboard that has its address.
pub struct Dashboard {
    listener: TcpListener,
    address: SocketAddr,
    live: Arc<dyn LiveBox>,
}

impl Dashboard {
    /// Takes the address. Beyond the loopback interface reading needs the token, too.
    ///
    /// # Errors
    /// When the address is not this machine's or is taken.
    pub fn bind(listen: SocketAddr, live: Arc<dyn LiveBox>) -> io::Result<Self> {
        let listener = TcpListener::bind(listen)?;
        let address = listener.local_addr()?;
        Ok(Dashboard { listener, address, live })
    }

    /// Where it listens.
    pub const fn address(&self) -> SocketAddr {
        self.address
    }

    /// Answers until the process ends.
    ///
    /// # Errors
    /// When the system gives no threads, the address is lost, or others could look without a token.
    pub fn serve(self) -> io::Result<()> {
        let token = match (self.address.ip().is_loopback(), self.live.token()) {
            (true, _) => None,
            (false, Ok(token)) => Some(token),
            (false, Err(none)) => return Err(io::Error::other(format!("{}: {}", none.problem, none.fix))),
        };
        listen::serve(self.listener, &routes(Gate::new(self.address, token, "fairair-vsb"), self.live))
    }
}

/// What to open in a browser for a dashboard at `address`; with `token` the page may change things. A browser sends
/// what stands behind `#` to no server.
pub fn address_with(address: SocketAddr, token: Option<&str>) -> String {
    match token {
        None => format!("http://{address}/"),
        Some(token) if address.ip().is_loopback() => format!("http://{address}/#token={token}"),
        Some(token) => format!("http://{address}/?token={token}#token={token}"),
    }
}

struct Rooms {
    live: Arc<dyn LiveBox>,
    questions: Questions,
    last: Mutex<Option<(Instant, Result<Value, NoAnswer>)>>,
}

type Shared = State<Arc<Rooms>>;

fn routes(gate: Arc<Gate>, live: Arc<dyn LiveBox>) -> Router {
    let answers = Router::new()
        .route("/api/look", get(|State(rooms): Shared| async move { rooms.ask(Rooms::look).await }))
        .route("/api/explain/{station}", get(explain))
        .route("/api/history/{span}", get(history))
        .route("/api/token", post(token))
        .route("/api/change", post(change));
    served(answers, DASHBOARD, Rooms { live, questions: Questions::default(), last: Mutex::new(None) }, gate)
}

impl Rooms {
    async fn ask<F>(self: Arc<Self>, question: F) -> Response
    where
        F: FnOnce(&Rooms) -> Result<Value, NoAnswer> + Send + 'static,
    {
        let rooms = Arc::clone(&self);
        self.questions.ask(move || question(&rooms).map_err(Refusal::silent)).await
    }

    /// What the box said last, unless that is old. Who comes meanwhile waits for the same answer.
    fn look(&self) -> Result<Value, NoAnswer> {
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((at, answer)) = &*last
            && at.elapsed() < FRESH
        {
            return answer.clone();
        }
        let answer = self.live.look();
        *last = Some((Instant::now(), answer.clone()));
        answer
    }

    /// Refuses who does not send the token.
    fn may_change(&self, headers: &HeaderMap) -> Result<(), Refusal> {
        let wanted = self.live.token().map_err(Refusal::silent)?;
        if gate::proves(headers, &wanted) {
            return Ok(());
        }
        let fix = "run `fairair vsb dashboard` as root on the box, and open the address that it prints";
        Err(Refusal::forbidden("a change needs the token of this box", fix))
    }
}

async fn explain(State(rooms): Shared, Path(station): Path<String>) -> Response {
    rooms.ask(move |rooms| rooms.live.explain(&station)).await
}

/// What the history is shown of, in seconds.
#[derive(Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Span {
    Hour = 3600,
    Day = 24 * 3600,
    Week = 7 * 24 * 3600,
}

async fn history(State(rooms): Shared, Path(span): Path<Span>) -> Response {
    rooms.ask(move |rooms| rooms.live.history(span as u32)).await
}

/// Whether the token that the page has is the right one.
async fn token(State(rooms): Shared, headers: HeaderMap) -> Result<StatusCode, Refusal> {
    rooms.may_change(&headers).map(|()| StatusCode::NO_CONTENT)
}

async fn change(State(rooms): Shared, headers: HeaderMap, Json(change): Json<Change>) -> Response {
    if let Err(refusal) = rooms.may_change(&headers) {
        return refusal.into_response();
    }
    rooms
        .ask(move |rooms| {
            let done = rooms.live.change(&change);
            *rooms.last.lock().unwrap_or_else(PoisonError::into_inner) = None;
            done
        })
        .await
}
