//! Attacks on the page of the first set-up as it runs, over TCP: without the token of this process nothing is even shown.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use fairair_web::{NoAnswer, SetUp, SetUpPage, Step};
use serde_json::{Value, json};

/// A set-up that remembers its steps, and refuses to start.
#[derive(Default)]
struct Steps(Mutex<Vec<Step>>);

impl SetUp for Steps {
    fn step(&self, step: &Step) -> Result<Value, NoAnswer> {
        self.0.lock().unwrap().push(step.clone());
        match step {
            Step::Start => Err(NoAnswer { problem: "nothing is written".to_owned(), fix: "write it".to_owned() }),
            _ => Ok(json!({ "name": "<script>alert(1)</script>" })),
        }
    }
}

struct Server {
    address: SocketAddr,
    token: String,
    steps: Arc<Steps>,
}

impl Server {
    fn start() -> Server {
        let steps = Arc::new(Steps::default());
        let page = SetUpPage::bind(0, steps.clone()).unwrap();
        let url = page.url();
        let (address, token) = url.strip_prefix("http://").unwrap().split_once("/#token=").unwrap();
        let (address, token) = (address.parse().unwrap(), token.to_owned());
        std::thread::spawn(move || page.serve());
        Server { address, token, steps }
    }

    fn told(&self, request: &str) -> String {
        let mut stream = TcpStream::connect(self.address).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        // A server that has enough may close while it is written to.
        let _ = stream.write_all(request.as_bytes());
        let mut answer = Vec::new();
        let _ = stream.read_to_end(&mut answer);
        String::from_utf8_lossy(&answer).into_owned()
    }

    fn get(&self, path: &str, host: &str) -> String {
        self.told(&format!("GET {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n"))
    }

    fn step(&self, more: &str, body: &str) -> String {
        let (host, length) = (self.address, body.len());
        self.told(&format!(
            "POST /api/step HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\nContent-Type: application/json\r\nContent-Length: {length}\r\n{more}\r\n{body}"
        ))
    }

    fn taken(&self) -> Vec<Step> {
        self.steps.0.lock().unwrap().clone()
    }
}

#[track_caller]
fn status(answer: &str, wanted: u16) {
    assert!(answer.starts_with(&format!("HTTP/1.1 {wanted}")), "{}", &answer[..answer.len().min(400)]);
}

const LOOK: &str = r#"{"do":"look"}"#;
const WRITE: &str = r#"{"do":"write","said":{},"seen":"x","replace":true}"#;

#[test]
fn without_the_token_no_step_is_taken() {
    let server = Server::start();
    let own = format!("Origin: http://{}\r\n", server.address);
    let right = format!("X-FairAir-Token: {}\r\n", server.token);
    let almost = format!("X-FairAir-Token: {}\r\n", server.token.replace(|c: char| c.is_ascii_digit(), "f"));
    let cookie = format!("Cookie: fairair-setup={}\r\n", server.token);
    assert_eq!(server.token.len(), 32);
    for missing in ["", "X-FairAir-Token: \r\n", "X-FairAir-Token: x\r\n", &almost, &cookie] {
        for body in [LOOK, WRITE, r#"{"do":"start"}"#, r#"{"do":"confirm"}"#, r#"{"do":"stop"}"#, "{"] {
            let answer = server.step(&format!("{own}{missing}"), body);
            status(&answer, 403);
            assert!(answer.contains("vsb init --page"), "{answer}");
        }
    }
    for foreign in ["Origin: http://evil.example\r\n", "Origin: null\r\n", "Sec-Fetch-Site: cross-site\r\n"] {
        status(&server.step(&format!("{foreign}{right}"), LOOK), 403);
    }
    // A link, a form and an image can only do this.
    status(&server.get(&format!("/api/step?token={}", server.token), &server.address.to_string()), 403);
    assert!(server.taken().is_empty(), "{:?}", server.taken());
    status(&server.step(&format!("{own}{right}"), LOOK), 200);
    assert_eq!(server.taken(), [Step::Look]);
    // Each process has a token of its own.
    let other = Server::start();
    status(&other.step(&right, LOOK), 403);
}

#[test]
fn a_foreign_host_is_refused_as_dns_rebinding_sends_it() {
    let server = Server::start();
    let port = server.address.port();
    for host in
        ["evil.example", &format!("evil.example:{port}"), "127.0.0.1", &format!("127.0.0.1.evil.example:{port}")]
    {
        status(&server.get("/", host), 403);
    }
    for host in [format!("127.0.0.1:{port}"), format!("localhost:{port}")] {
        let page = server.get("/", &host);
        status(&page, 200);
        let head = page.to_lowercase();
        assert!(page.contains("/setup.js") && head.contains("script-src 'self'") && head.contains("nosniff"), "{page}");
    }
    for path in ["/../../etc/passwd", "/..%2f..%2fetc/passwd", "/lab.js", "/dashboard.js", "//etc/passwd"] {
        status(&server.get(path, &format!("localhost:{port}")), 404);
    }
}

#[test]
fn odd_steps_are_refused_and_what_is_refused_is_told_in_words() {
    let server = Server::start();
    let right = format!("X-FairAir-Token: {}\r\n", server.token);
    for malformed in [
        "",
        "{",
        "[]",
        r#"{"do":"fly"}"#,
        r#"{"do":"propose"}"#,
        r#"{"do":"propose","said":{"uplink":["wan"]}}"#,
        r#"{"do":"propose","said":{"capacities":{"lan":{"air":"1"}}}}"#,
        r#"{"do":"write","said":{},"replace":true}"#,
    ] {
        let answer = server.step(&right, malformed);
        assert!(answer.starts_with("HTTP/1.1 4"), "{malformed}: {answer}");
    }
    status(&server.step(&right, &"x".repeat(600 << 10)), 413);
    assert!(server.taken().is_empty(), "{:?}", server.taken());
    let refused = server.step(&right, r#"{"do":"start"}"#);
    status(&refused, 422);
    assert!(refused.contains("nothing is written") && refused.contains("write it"), "{refused}");
    let named = server
        .step(&right, r#"{"do":"propose","said":{"names":{"lan":"<b>"},"capacities":{"lan":{"fixed":"5 Mbit/s"}}}}"#);
    status(&named, 200);
    assert!(named.to_lowercase().contains("content-type: application/json") && named.contains("<script>"), "{named}");
}
