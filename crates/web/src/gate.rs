//! Who may come in: the check of every request before anything else sees it.
//!
//! A page of another site can make a browser send requests here, and by DNS rebinding under a name of its own. So the
//! Host must be one of ours, and an Origin, which browsers add to every request that changes something, must be this
//! host. An address that others can reach takes a token besides.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::body::{Body, to_bytes};
use axum::extract::{Request, State};
use axum::http::header::{self, HeaderMap, HeaderName, HeaderValue};
use axum::http::{Method, StatusCode};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};

use crate::limits;

/// Within this a request has to have come whole.
const BODY_TIME: Duration = Duration::from_secs(10);

/// No script, style or connection but from here; nobody may show the page in a frame.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; \
                      connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/// Header with the token of a request that changes something: no form and no page of another site can set it.
const TOKEN: &str = "x-fairair-token";

/// What is asked of a request.
pub(crate) struct Gate {
    /// Host headers that are ours; empty: any, for the token decides.
    hosts: Vec<String>,
    /// What a visitor has to know; none on the loopback interface.
    token: Option<String>,
    /// Name of the cookie with the token. Servers on other ports of this machine get the cookie, too.
    cookie: &'static str,
}

impl Gate {
    /// The gate of a server at `address`.
    pub(crate) fn new(address: SocketAddr, token: Option<String>, cookie: &'static str) -> Arc<Self> {
        let port = address.port();
        let names = ["127.0.0.1", "localhost", "[::1]"];
        let hosts = match token {
            None => names.map(|name| format!("{name}:{port}")).to_vec(),
            Some(_) => Vec::new(),
        };
        Arc::new(Gate { hosts, token, cookie })
    }

    /// Why these headers are turned away; `None`: they may pass.
    fn refuses(&self, method: &Method, headers: &HeaderMap) -> Option<&'static str> {
        let text = |name: HeaderName| headers.get(name).map(|value| value.to_str().unwrap_or("\u{fffd}"));
        let Some(host) = text(header::HOST) else { return Some("a request without Host") };
        if !self.hosts.is_empty() && !self.hosts.iter().any(|own| own.eq_ignore_ascii_case(host)) {
            return Some("this server has another name");
        }
        if let Some(origin) = text(header::ORIGIN)
            && !origin.strip_prefix("http://").is_some_and(|from| from.eq_ignore_ascii_case(host))
        {
            return Some("the request comes from a page of another site");
        }
        let site = text(HeaderName::from_static("sec-fetch-site"));
        if *method != Method::GET && site.is_some_and(|site| site != "same-origin") {
            return Some("the request comes from a page of another site");
        }
        None
    }

    fn has_token(&self, headers: &HeaderMap) -> bool {
        let Some(token) = &self.token else { return true };
        let cookies = headers.get_all(header::COOKIE).iter().filter_map(|value| value.to_str().ok());
        let mut cookies = cookies.flat_map(|list| list.split(';')).filter_map(|cookie| cookie.trim().split_once('='));
        cookies.any(|(name, value)| name == self.cookie && same(value, token))
    }

    /// The token of `/?token=..`, as the address that was printed has it.
    fn token_in_address(&self, request: &Request) -> Option<&str> {
        let token = self.token.as_deref()?;
        let given = request.uri().query()?.strip_prefix("token=")?;
        (request.uri().path() == "/" && *request.method() == Method::GET && same(given, token)).then_some(token)
    }
}

/// Whether the header of a request that changes something has `token`.
pub(crate) fn proves(headers: &HeaderMap, token: &str) -> bool {
    headers.get(TOKEN).and_then(|value| value.to_str().ok()).is_some_and(|given| same(given, token))
}

/// Equal, in a time that does not say how far they are.
fn same(a: &str, b: &str) -> bool {
    a.len() == b.len() && a.bytes().zip(b.bytes()).fold(0, |different, (a, b)| different | (a ^ b)) == 0
}

/// Turns away what must not come in, and takes in the body, which has a limit in size and in time.
pub(crate) async fn check(State(gate): State<Arc<Gate>>, request: Request, next: Next) -> Response {
    if let Some(why) = gate.refuses(request.method(), request.headers()) {
        return sealed(refusal(StatusCode::FORBIDDEN, why));
    }
    if let Some(token) = gate.token_in_address(&request) {
        let cookie = format!("{}={token}; HttpOnly; SameSite=Strict; Path=/", gate.cookie);
        return sealed(
            (StatusCode::SEE_OTHER, [(header::LOCATION, "/"), (header::SET_COOKIE, &cookie)]).into_response(),
        );
    }
    if !gate.has_token(request.headers()) {
        return sealed(refusal(StatusCode::UNAUTHORIZED, "open the whole address that the command has printed"));
    }
    let (parts, body) = request.into_parts();
    let whole = match tokio::time::timeout(BODY_TIME, to_bytes(body, limits::BODY)).await {
        Ok(Ok(whole)) => whole,
        Ok(Err(_)) => return sealed(refusal(StatusCode::PAYLOAD_TOO_LARGE, "the request is too large")),
        Err(_) => return sealed(refusal(StatusCode::REQUEST_TIMEOUT, "the request takes too long to come")),
    };
    sealed(next.run(Request::from_parts(parts, Body::from(whole))).await)
}

/// A page for people who open the address without the token that it needs.
fn refusal(status: StatusCode, what: &'static str) -> Response {
    (status, [(header::CONTENT_TYPE, "text/plain; charset=utf-8")], what).into_response()
}

/// Adds the security headers to a response.
fn sealed(mut response: Response) -> Response {
    let headers = response.headers_mut();
    let mut set = |name, value| headers.insert(name, HeaderValue::from_static(value));
    set(header::CONTENT_SECURITY_POLICY, POLICY);
    set(header::X_CONTENT_TYPE_OPTIONS, "nosniff");
    set(header::X_FRAME_OPTIONS, "DENY");
    set(header::REFERRER_POLICY, "no-referrer");
    set(HeaderName::from_static("cross-origin-opener-policy"), "same-origin");
    set(HeaderName::from_static("cross-origin-resource-policy"), "same-origin");
    response
}
