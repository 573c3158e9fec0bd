//! A defect of an engine ends its request, with a reason, and not the server. In a program of its own, as it sets the environment.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use fairair_web::{Lab, Options};
use serde_json::{Value, json};

fn cell(name: &str) -> String {
    format!(
        "name = \"{name}\"\n[run]\nduration = \"2 s\"\n[[station]]\nname = \"a\"\nflows = [{{ direction = \"up\" }}]\n"
    )
}

fn ask(address: &str, path: &str, body: &Value) -> String {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(Duration::from_mins(2))).unwrap();
    let body = body.to_string();
    let length = body.len();
    let head = format!(
        "POST {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\nContent-Type: application/json\r\nContent-Length: {length}\r\n\r\n"
    );
    stream.write_all((head + &body).as_bytes()).unwrap();
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).unwrap();
    String::from_utf8_lossy(&answer).into_owned()
}

#[test]
fn an_engine_that_panics_gives_one_error_and_the_next_requests_are_answered() {
    // A variable of this program for its children would be simpler, but the server is a thread of this one.
    let name = std::env::var("FAIRAIR_LAB_PANIC").ok();
    if name.as_deref() != Some("broken") {
        let own = std::env::current_exe().unwrap();
        let done = std::process::Command::new(own).env("FAIRAIR_LAB_PANIC", "broken").output().unwrap();
        let said = String::from_utf8_lossy(&done.stdout);
        assert!(done.status.success(), "{said}");
        return;
    }
    let lab = Lab::bind(Options { listen: "127.0.0.1:0".parse().unwrap(), scenario: None }).unwrap();
    let address = lab.url().trim_start_matches("http://").trim_end_matches('/').to_owned();
    std::thread::spawn(move || lab.serve());
    let (broken, good) = (json!({ "toml": cell("broken") }), json!({ "toml": cell("good") }));
    // More often than jobs run at the same time: a panic gives its place back.
    for _ in 0..4 {
        let run = ask(&address, "/api/run", &broken);
        assert_eq!(run.matches("event: failed").count(), 1, "{run}");
        assert!(run.contains("the simulation failed on this cell") && run.contains("please report"), "{run}");
        assert!(!run.contains("event: answer"), "{run}");
    }
    let part = json!({ "from_s": null, "seconds": 0.1 });
    let air = ask(&address, "/api/air", &json!({ "toml": cell("broken"), "part": part }));
    assert!(air.contains("422") && air.contains("the simulation failed"), "{air}");
    let run = ask(&address, "/api/run", &good);
    assert!(run.contains("event: done") && !run.contains("event: failed"), "{run}");
    assert!(ask(&address, "/api/air", &json!({ "toml": cell("good"), "part": part })).contains(" 200 "));
}
