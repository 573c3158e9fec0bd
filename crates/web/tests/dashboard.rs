//! Attacks on the dashboard as it runs, over TCP: what changes the box needs the token, and nothing brings the server down.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use fairair_web::{Change, Dashboard, LiveBox, NoAnswer, address_with};
use serde_json::{Value, json};

const TOKEN: &str = "0123456789abcdef0123456789abcdef";
const SCRIPT: &str = "<script>alert(1)</script>";

/// A box that counts what was asked of it.
#[derive(Default)]
struct Counting {
    looks: AtomicUsize,
    changes: AtomicUsize,
}

impl LiveBox for Counting {
    fn look(&self) -> Result<Value, NoAnswer> {
        self.looks.fetch_add(1, Ordering::SeqCst);
        Ok(json!({ "status": { "name": SCRIPT }, "stations": [] }))
    }
    fn explain(&self, station: &str) -> Result<Value, NoAnswer> {
        Ok(json!({ "because": [station] }))
    }
    fn history(&self, _: u32) -> Result<Value, NoAnswer> {
        Err(NoAnswer { problem: "no journal".to_owned(), fix: "keep one".to_owned() })
    }
    fn change(&self, _: &Change) -> Result<Value, NoAnswer> {
        self.changes.fetch_add(1, Ordering::SeqCst);
        Ok(json!("done"))
    }
    fn token(&self) -> Result<String, NoAnswer> {
        Ok(TOKEN.to_owned())
    }
}

fn start(listen: &str, live: Arc<dyn LiveBox>) -> SocketAddr {
    let dashboard = Dashboard::bind(listen.parse().unwrap(), live).unwrap();
    let address = dashboard.address();
    std::thread::spawn(move || dashboard.serve());
    address
}

/// One for all tests, which must leave it alive.
fn server() -> (SocketAddr, &'static Counting) {
    static SERVER: OnceLock<(SocketAddr, Arc<Counting>)> = OnceLock::new();
    let (address, live) = SERVER.get_or_init(|| {
        let live = Arc::new(Counting::default());
        (start("127.0.0.1:0", live.clone()), live)
    });
    (*address, live.as_ref())
}

fn told(address: SocketAddr, request: &[u8]) -> String {
    let mut stream = TcpStream::connect(("127.0.0.1", address.port())).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    // A server that has enough may close while it is written to.
    let _ = stream.write_all(request);
    let mut answer = Vec::new();
    let _ = stream.read_to_end(&mut answer);
    String::from_utf8_lossy(&answer).into_owned()
}

fn get(address: SocketAddr, path: &str, more: &str) -> String {
    let head = format!("GET {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n{more}\r\n");
    told(address, head.as_bytes())
}

fn post(path: &str, more: &str, body: &str) -> String {
    let (address, length) = (server().0, body.len());
    let head = format!(
        "POST {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\nContent-Type: application/json\r\nContent-Length: {length}\r\n{more}\r\n{body}"
    );
    told(address, head.as_bytes())
}

#[track_caller]
fn status(answer: &str, wanted: u16) {
    assert!(answer.starts_with(&format!("HTTP/1.1 {wanted}")), "{}", &answer[..answer.len().min(400)]);
}

const STOP: &str = r#"{"do":"stop"}"#;

#[test]
fn only_the_token_changes_anything() {
    let (address, live) = server();
    let own = format!("Origin: http://{address}\r\n");
    let right = format!("X-FairAir-Token: {TOKEN}\r\n");
    let almost = format!("X-FairAir-Token: {}f\r\n", &TOKEN[..31].replace('0', "1"));
    let cookie = format!("Cookie: fairair-vsb={TOKEN}\r\n");
    for missing in ["", "X-FairAir-Token: \r\n", "X-FairAir-Token: x\r\n", &almost, &cookie] {
        status(&post("/api/change", &format!("{own}{missing}"), STOP), 403);
        status(&post("/api/token", &format!("{own}{missing}"), ""), 403);
    }
    for foreign in ["Origin: http://evil.example\r\n", "Origin: null\r\n", "Sec-Fetch-Site: cross-site\r\n"] {
        status(&post("/api/change", &format!("{foreign}{right}"), STOP), 403);
    }
    let rebound = told(address, b"GET /api/look HTTP/1.1\r\nHost: evil.example\r\nConnection: close\r\n\r\n");
    status(&rebound, 403);
    // A link, a form and an image can only do this.
    status(&get(address, "/api/change?do=stop", &right), 405);
    for malformed in ["", "{", "[]", r#"{"do":"fly"}"#, r#"{"do":"stop","x":1"#, r#"{"do":"set"}"#] {
        let answer = post("/api/change", &format!("{own}{right}"), malformed);
        assert!(answer.starts_with("HTTP/1.1 4"), "{malformed}: {answer}");
    }
    assert_eq!(live.changes.load(Ordering::SeqCst), 0, "nothing of that came through");
    status(&post("/api/token", &format!("{own}{right}"), ""), 204);
    let set = r#"{"do":"set","station":"a","plan":null,"weight":2,"cap":"4 Mbit/s","until":null}"#;
    status(&post("/api/change", &format!("{own}{right}"), set), 200);
    assert_eq!(live.changes.load(Ordering::SeqCst), 1);
}

#[test]
fn odd_requests_are_refused_and_names_stay_text() {
    let (address, _) = server();
    let large = "x".repeat(600 << 10);
    status(&post("/api/change", &format!("X-FairAir-Token: {TOKEN}\r\n"), &large), 413);
    for path in ["/../../etc/passwd", "/..%2f..%2fetc/passwd", "/lab.js", "/api/", "//etc/passwd"] {
        status(&get(address, path, ""), 404);
    }
    status(&get(address, "/api/history/year", ""), 400);
    let silent = get(address, "/api/history/week", "");
    status(&silent, 503);
    assert!(silent.contains("no journal") && silent.contains("keep one"));
    // JSON that the browser takes for JSON: no name becomes markup.
    for path in ["/api/look", "/api/explain/%3Cscript%3Ealert(1)%3C%2Fscript%3E"] {
        let answer = get(address, path, "");
        status(&answer, 200);
        let head = answer.to_lowercase();
        assert!(answer.contains(SCRIPT) && head.contains("content-type: application/json"), "{answer}");
        assert!(head.contains("nosniff") && head.contains("script-src 'self'"), "{answer}");
    }
    let page = get(address, "/", "");
    status(&page, 200);
    assert!(page.contains("dashboard.js"));
}

#[test]
fn slow_and_many_visitors_leave_the_server_up_and_the_daemon_in_peace() {
    let live = Arc::new(Counting::default());
    let address = start("127.0.0.1:0", live.clone());
    let slow: Vec<_> = (0..200)
        .map(|_| {
            let mut stream = TcpStream::connect(address).unwrap();
            stream.write_all(b"GET /api/look HT").unwrap();
            stream
        })
        .collect();
    let begin = Instant::now();
    for _ in 0..50 {
        status(&get(address, "/api/look", ""), 200);
    }
    drop(slow);
    let looks = live.looks.load(Ordering::SeqCst);
    let most = begin.elapsed().as_millis() / 500 + 1;
    assert!(looks as u128 <= most, "{looks} questions to the daemon, {most} at most");
}

#[test]
fn another_address_shows_nothing_without_the_token() {
    let address = start("0.0.0.0:0", Arc::new(Counting::default()));
    for path in ["/", "/api/look", "/?token=wrong"] {
        status(&get(address, path, ""), 401);
    }
    let url = address_with(address, Some(TOKEN));
    assert!(url.contains(&format!("/?token={TOKEN}#token={TOKEN}")), "{url}");
    let entry = get(address, &format!("/?token={TOKEN}"), "");
    status(&entry, 303);
    assert!(entry.contains("HttpOnly; SameSite=Strict"), "{entry}");
    status(&get(address, "/api/look", &format!("Cookie: fairair-vsb={TOKEN}\r\n")), 200);
}
