//! Attacks on the server as it runs: over TCP, with requests that no browser of ours sends.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::OnceLock;
use std::time::Duration;

use fairair_web::{Lab, Options};

/// Where the server under attack is: one for all tests, which must leave it alive.
fn server() -> &'static str {
    static ADDRESS: OnceLock<String> = OnceLock::new();
    ADDRESS.get_or_init(|| start("127.0.0.1:0").0)
}

/// A server on `listen`: its address and its URL.
fn start(listen: &str) -> (String, String) {
    let listen: SocketAddr = listen.parse().unwrap();
    let lab = Lab::bind(Options { listen, scenario: None }).unwrap();
    let url = lab.url();
    let address = url.trim_start_matches("http://").split('/').next().unwrap().to_owned();
    std::thread::spawn(move || lab.serve());
    (address, url)
}

/// The whole answer to `request`.
fn told(address: &str, request: &[u8]) -> String {
    let mut stream = TcpStream::connect(address.replace("0.0.0.0", "127.0.0.1")).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    // A server that has enough may close while it is written to.
    let _ = stream.write_all(request);
    let mut answer = Vec::new();
    let _ = stream.read_to_end(&mut answer);
    String::from_utf8_lossy(&answer).into_owned()
}

fn get(path: &str, host: &str, more: &str) -> String {
    told(server(), format!("GET {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n{more}\r\n").as_bytes())
}

fn post(path: &str, more: &str, body: &str) -> String {
    let (host, length) = (server(), body.len());
    let head = format!(
        "POST {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\nContent-Type: application/json\r\nContent-Length: {length}\r\n{more}\r\n"
    );
    told(server(), format!("{head}{body}").as_bytes())
}

#[track_caller]
fn status(answer: &str, wanted: u16) {
    assert!(answer.starts_with(&format!("HTTP/1.1 {wanted}")), "{}", &answer[..answer.len().min(400)]);
}

/// It answers its own page still.
#[track_caller]
fn alive() {
    status(&get("/api/start", server(), ""), 200);
}

#[test]
fn a_foreign_host_is_refused_as_dns_rebinding_sends_it() {
    let port = server().split(':').nth(1).unwrap();
    for host in [
        "evil.example",
        &format!("evil.example:{port}"),
        "127.0.0.1",
        "127.0.0.1:1",
        &format!("127.0.0.1.evil.example:{port}"),
    ] {
        status(&get("/api/start", host, ""), 403);
    }
    let nameless = told(server(), b"GET / HTTP/1.0\r\n\r\n");
    assert!(nameless.starts_with("HTTP/1.0 403"), "{nameless}");
    status(&get("/", &format!("localhost:{port}"), ""), 200);
}

#[test]
fn a_request_of_another_site_is_refused() {
    let body = r#"{"toml":""}"#;
    let own = format!("Origin: http://{}\r\n", server());
    for foreign in [
        "Origin: http://evil.example\r\n",
        "Origin: null\r\n",
        "Origin: https://127.0.0.1\r\n",
        "Sec-Fetch-Site: cross-site\r\n",
        "Sec-Fetch-Site: same-site\r\n",
    ] {
        status(&post("/api/read", foreign, body), 403);
    }
    status(&get("/api/start", server(), "Origin: http://evil.example\r\n"), 403);
    status(&post("/api/read", &own, body), 200);
    // A form of another site cannot send JSON, and without JSON nothing is done.
    let plain = format!(
        "POST /api/read HTTP/1.1\r\nHost: {}\r\nConnection: close\r\nContent-Type: text/plain\r\nContent-Length: 11\r\n\r\n{body}",
        server()
    );
    status(&told(server(), plain.as_bytes()), 415);
}

#[test]
fn what_is_too_large_or_malformed_is_refused() {
    status(&post("/api/read", "", &format!("{{\"toml\":\"{}\"}}", "x".repeat(600 << 10))), 413);
    let chunked = format!(
        "POST /api/read HTTP/1.1\r\nHost: {}\r\nConnection: close\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n",
        server()
    );
    let mut endless = chunked.into_bytes();
    for _ in 0..11 {
        endless.extend(format!("{:x}\r\n{}\r\n", 64 << 10, "y".repeat(64 << 10)).into_bytes());
    }
    status(&told(server(), &endless), 413);
    for malformed in ["", "{", "[]", "{\"toml\":5}", "{\"toml\":\"\",\"more\":1}", "\u{0}\u{1}"] {
        let answer = post("/api/read", "", malformed);
        assert!(answer.starts_with("HTTP/1.1 400") || answer.starts_with("HTTP/1.1 422"), "{malformed}: {answer}");
    }
    status(&post("/api/edit", "", r#"{"toml":"","edits":[{"do":"format-disk"}]}"#), 422);
    let deep = format!("{{\"toml\":\"a = {}\"}}", "[".repeat(100_000));
    status(&post("/api/read", "", &deep), 200);
    let huge = r#"{"toml":"name = \"a\"\n[run]\nduration = \"1000000 s\"\n[[station]]\nname = \"b\"\ncount = 90000\nflows = [{ direction = \"up\" }]"}"#;
    status(&post("/api/run", "", huge), 422);
    alive();
}

#[test]
fn no_path_leads_out_of_the_page() {
    for path in [
        "/../Cargo.toml",
        "/..%2f..%2fetc/passwd",
        "/%2e%2e/%2e%2e/etc/passwd",
        "//etc/passwd",
        "/lab.js/../../../etc/passwd",
        "/assets/index.html",
        "/lab.js%00.html",
        "/.git/config",
    ] {
        let answer = get(path, server(), "");
        assert!(!answer.contains("root:") && !answer.contains("[package]"), "{path}");
        status(&answer, 404);
    }
}

#[test]
fn script_in_a_name_stays_a_text_and_the_page_may_run_none() {
    let name = "<img src=x onerror=alert(1)>";
    let body = format!(
        r#"{{"toml":"name = \"{name}\"\n[run]\nduration = \"1 s\"\n[[station]]\nname = \"<script>alert(1)<\"\nflows = [{{ direction = \"up\" }}]"}}"#
    );
    let answer = post("/api/read", "", &body);
    status(&answer, 200);
    assert!(
        answer.contains("content-type: application/json") && answer.contains("x-content-type-options: nosniff"),
        "{answer}"
    );
    let page = get("/", server(), "");
    let policy = page.lines().find(|line| line.starts_with("content-security-policy:")).unwrap();
    for rule in
        ["default-src 'none'", "script-src 'self';", "style-src 'self';", "frame-ancestors 'none'", "base-uri 'none'"]
    {
        assert!(policy.contains(rule), "{policy}");
    }
    assert!(!policy.contains("unsafe"), "{policy}");
}

#[test]
fn two_hundred_slow_connections_do_not_stop_the_others() {
    let slow: Vec<TcpStream> = (0..200)
        .map(|_| {
            let mut stream = TcpStream::connect(server()).unwrap();
            stream.write_all(b"POST /api/read HTTP/1.1\r\nHost: ").unwrap();
            stream
        })
        .collect();
    alive();
    drop(slow);
    alive();
}

#[test]
fn another_address_takes_the_token_that_was_printed() {
    let (address, url) = start("0.0.0.0:0");
    let token = url.split("token=").nth(1).unwrap();
    assert_eq!(token.len(), 32);
    let ask = |path: &str, more: &str| {
        told(
            &address,
            format!("GET {path} HTTP/1.1\r\nHost: box.example\r\nConnection: close\r\n{more}\r\n").as_bytes(),
        )
    };
    status(&ask("/", ""), 401);
    status(&ask("/api/start", ""), 401);
    status(&ask("/?token=", ""), 401);
    status(&ask(&format!("/?token={}", "0".repeat(32)), ""), 401);
    status(&ask(&format!("/api/start?token={token}"), ""), 401);
    status(&ask("/api/start", "Cookie: fairair-lab=wrong\r\n"), 401);
    let welcome = ask(&format!("/?token={token}"), "");
    status(&welcome, 303);
    assert!(welcome.contains("HttpOnly; SameSite=Strict"), "{welcome}");
    status(&ask("/api/start", &format!("Cookie: a=b; fairair-lab={token}\r\n")), 200);
    let foreign = format!("Cookie: fairair-lab={token}\r\nOrigin: http://evil.example\r\n");
    status(&ask("/api/start", &foreign), 403);
}
