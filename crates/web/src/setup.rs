//! The first set-up of a box: the page, and the steps that it takes with a [`SetUp`].
//!
//! The process behind it may be root and change this machine, so it listens on the loopback interface only, and whatever is
//! asked needs the token of this process, which stands in the address that the command prints.

use std::collections::BTreeMap;
use std::io;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::sync::Arc;

use axum::extract::{Request, State};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use axum::routing::post;
use axum::{Json, Router, middleware};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::assets::{SETUP, served};
use crate::dashboard::address_with;
use crate::gate::{self, Gate};
use crate::listen::{self, new_token};
use crate::reply::{NoAnswer, Questions, Refusal};

/// What the operator has said; what is left out is proposed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields)]
pub struct Said {
    /// Name of the site.
    pub name: Option<String>,
    /// Interfaces towards the gateway; none: as the routes say.
    pub uplinks: Vec<String>,
    /// Interfaces or radios that lead to APs; `None`: all that may.
    pub aps: Option<Vec<String>>,
    /// Names of the APs by interface or radio.
    pub names: BTreeMap<String, String>,
    /// What sets the capacity of the APs, by interface or radio.
    pub capacities: BTreeMap<String, SaidCapacity>,
}

/// A rate such as `300 Mbit/s`, and what it is.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum SaidCapacity {
    /// The box finds the capacity below it.
    Adaptive(String),
    /// It is the capacity.
    Fixed(String),
}

/// What the page asks for.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(tag = "do", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Step {
    /// Where things stand: the file, its check, the trial.
    Look,
    /// What this machine has, what is proposed, and the file that follows.
    Propose {
        /// By the operator.
        said: Said,
    },
    /// Write the file and check it.
    Write {
        /// By the operator.
        said: Said,
        /// The text that the operator has seen: no other is written.
        seen: String,
        /// Whether a file that is there is replaced.
        replace: bool,
    },
    /// Start the box, to be taken back unless it is confirmed.
    Start,
    /// Keep what was started.
    Confirm,
    /// Take back what was started.
    Stop,
}

/// The first set-up as the page sees it.
pub trait SetUp: Send + Sync + 'static {
    /// Takes a step, which may wait; the answer is JSON for the page.
    ///
    /// # Errors
    /// The step is not possible: nothing was done.
    fn step(&self, step: &Step) -> Result<Value, NoAnswer>;
}

/// A page that has its address.
pub struct SetUpPage {
    listener: TcpListener,
    address: SocketAddr,
    token: String,
    setup: Arc<dyn SetUp>,
}

impl SetUpPage {
    /// Takes `port` of the loopback interface; 0: one that is free.
    ///
    /// # Errors
    /// When the port is taken, or the system has no randomness for a token.
    pub fn bind(port: u16, setup: Arc<dyn SetUp>) -> io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port))?;
        let address = listener.local_addr()?;
        Ok(SetUpPage { listener, address, token: new_token()?, setup })
    }

    /// Where it listens.
    pub const fn address(&self) -> SocketAddr {
        self.address
    }

    /// What to open in a browser.
    pub fn url(&self) -> String {
        address_with(self.address, Some(&self.token))
    }

    /// Answers until the process ends.
    ///
    /// # Errors
    /// When the system gives no threads, or the address is lost.
    pub fn serve(self) -> io::Result<()> {
        let gate = Gate::new(self.address, None, "fairair-setup");
        listen::serve(self.listener, &routes(gate, self.token.into(), self.setup))
    }
}

struct Rooms {
    setup: Arc<dyn SetUp>,
    questions: Questions,
}

fn routes(gate: Arc<Gate>, token: Arc<str>, setup: Arc<dyn SetUp>) -> Router {
    let answers =
        Router::new().route("/api/step", post(step)).route_layer(middleware::from_fn_with_state(token, proven));
    served(answers, SETUP, Rooms { setup, questions: Questions::default() }, gate)
}

/// Refuses who does not send the token, before anything of the request is read.
async fn proven(State(token): State<Arc<str>>, request: Request, next: Next) -> Response {
    if gate::proves(request.headers(), &token) {
        return next.run(request).await;
    }
    let fix = "open the whole address that `fairair vsb init --page` has printed last";
    Refusal::forbidden("this page needs the token of the set-up that runs", fix).into_response()
}

async fn step(State(rooms): State<Arc<Rooms>>, Json(step): Json<Step>) -> Response {
    let setup = Arc::clone(&rooms.setup);
    rooms.questions.ask(move || setup.step(&step).map_err(|none| Refusal::unfit(none.problem, none.fix))).await
}
