//! `fairair vsb init --page` on boxes of namespaces: its steps over TCP, as the page takes them.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::bench::{Bench, Place, needs_root};
use crate::operator::in_box;

/// A set-up that runs.
struct SetUp<'a> {
    bench: &'a Bench,
    child: Child,
    address: String,
    token: String,
}

impl SetUp<'_> {
    /// Starts it, with a `/run` of its own.
    fn start(bench: &Bench) -> SetUp<'_> {
        bench.run(Place::Box, &["ip", "route", "replace", "default", "via", "10.2.0.2"]);
        let own = format!(
            "mount -t tmpfs none /run && exec {} vsb init {} --page --port 0",
            env!("CARGO_BIN_EXE_fairair"),
            bench.config().display()
        );
        let log = std::fs::File::create(bench.directory.path().join("log")).unwrap();
        let mut command = bench.command(Place::Box, &["unshare", "--mount", "sh", "-c", &own]);
        let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(log).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let (_, url) = line.trim().split_once("http://").unwrap_or_else(|| panic!("{line} {}", bench.log()));
        let (address, token) = url.split_once("/#token=").unwrap();
        SetUp { bench, child, address: address.to_owned(), token: token.to_owned() }
    }

    /// The answer to a step, and whether it was taken.
    #[track_caller]
    fn asked(&self, step: &Value) -> (bool, Value) {
        let body = step.to_string();
        let text = format!(
            "POST /api/step HTTP/1.1\r\nHost: {0}\r\nOrigin: http://{0}\r\nX-FairAir-Token: {1}\r\nConnection: close\r\n\
             Content-Type: application/json\r\nContent-Length: {2}\r\n\r\n{body}",
            self.address,
            self.token,
            body.len()
        );
        let answer = self.bench.inside(Place::Box, || {
            let mut stream = TcpStream::connect(&self.address).expect("it listens");
            stream.set_read_timeout(Some(Duration::from_mins(1))).expect("set");
            stream.write_all(text.as_bytes()).expect("sent");
            let mut answer = String::new();
            let _ = stream.read_to_string(&mut answer);
            answer
        });
        let (head, body) = answer.split_once("\r\n\r\n").unwrap_or_else(|| panic!("{answer:?} {}", self.bench.log()));
        (head.starts_with("HTTP/1.1 200"), serde_json::from_str(body).unwrap_or_else(|_| panic!("{answer}")))
    }

    #[track_caller]
    fn takes(&self, step: &Value) -> Value {
        let (is_taken, answer) = self.asked(step);
        assert!(is_taken, "{step}: {answer}");
        answer
    }

    #[track_caller]
    fn refuses(&self, step: &Value, words: &str) {
        let (is_taken, answer) = self.asked(step);
        assert!(!is_taken && answer["problem"].as_str().is_some_and(|told| told.contains(words)), "{step}: {answer}");
    }

    /// Waits until the trial is `wanted`.
    #[track_caller]
    fn until(&self, wanted: &str) -> Value {
        let begin = Instant::now();
        loop {
            let trial = self.takes(&json!({ "do": "look" }))["trial"].clone();
            if trial["is"] == wanted {
                return trial;
            }
            assert!(begin.elapsed() < Duration::from_secs(30), "{trial} {}", self.bench.log());
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    /// Proposes, and writes what is proposed.
    #[track_caller]
    fn write(&self, said: &Value, replace: bool) -> Value {
        let text = self.takes(&json!({ "do": "propose", "said": said }))["text"].clone();
        self.takes(&json!({ "do": "write", "said": said, "seen": text, "replace": replace }))
    }

    /// Sends Ctrl-C; the exit code.
    fn interrupt(mut self) -> Option<i32> {
        self.bench.run(Place::Box, &["kill", "-INT", &self.child.id().to_string()]);
        self.child.wait().unwrap().code()
    }
}

impl Drop for SetUp<'_> {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn the_page_writes_what_the_terminal_writes_and_what_it_starts_waits_for_confirmation() {
    needs_root!();
    let bench = Bench::light(1);
    let setup = SetUp::start(&bench);
    let before = bench.dump();
    let terminal = bench.directory.path().join("terminal.toml");
    let output = bench.fairair(&["vsb", "init", terminal.to_str().unwrap(), "--yes"]);
    assert!(output.status.success(), "{output:?}");
    let begun = setup.takes(&json!({ "do": "look" }));
    assert_eq!((&begun["file"]["is_there"], &begun["check"]), (&json!(false), &Value::Null));
    setup.refuses(&json!({ "do": "start" }), "no file is written");
    let look = setup.write(&json!({}), false);
    // Comments say how many devices were seen: one may have come between the two.
    let keys = |path| std::fs::read_to_string(path).unwrap().parse::<toml::Table>().unwrap();
    assert_eq!(keys(bench.config()), keys(terminal));
    assert_eq!(look["check"]["is_good"], true, "{look}");
    assert!(look["check"]["findings"].to_string().contains("lan is up"), "{look}");
    assert_eq!(bench.dump(), before, "nothing is shaped yet");
    // Another browser has no file to write over.
    let said = json!({ "name": "pier" });
    let text = setup.takes(&json!({ "do": "propose", "said": said }))["text"].clone();
    setup.refuses(&json!({ "do": "write", "said": said, "seen": text, "replace": false }), "is there already");

    setup.takes(&json!({ "do": "start" }));
    setup.refuses(&json!({ "do": "start" }), "it runs already");
    let trial = setup.until("waits");
    assert!(trial["left_s"].as_f64().is_some_and(|left| left > 0.0 && left <= 60.0), "{trial}");
    assert!(bench.dump().contains("fairair0"));
    setup
        .refuses(&json!({ "do": "write", "said": said, "seen": text, "replace": true }), "the box runs with this file");
    // Taken back by the page: the set-up goes on.
    setup.takes(&json!({ "do": "stop" }));
    let ended = setup.until("ended");
    assert!(ended["problem"].as_str().unwrap().contains("everything is as before"), "{ended}");
    assert_eq!(bench.dump(), before);
    setup.refuses(&json!({ "do": "confirm" }), "taken back");
    // A device that comes while the operator reads makes no other file.
    let text = setup.takes(&json!({ "do": "propose", "said": said }))["text"].clone();
    in_box(&bench, "ip neigh add 10.1.0.99 lladdr 02:00:00:00:00:99 dev lan nud permanent");
    let look = setup.takes(&json!({ "do": "write", "said": said, "seen": text, "replace": true }));
    setup.refuses(&json!({ "do": "write", "said": said, "seen": "name = \"quay\"", "replace": true }), "has changed");
    assert_eq!((&look["check"]["is_good"], &look["trial"]), (&json!(true), &Value::Null));
    setup.takes(&json!({ "do": "start" }));
    setup.until("waits");
    setup.takes(&json!({ "do": "confirm" }));
    setup.until("runs");
    // Ctrl-C is the daemon's now.
    assert_eq!(setup.interrupt(), Some(0), "{}", bench.log());
    assert_eq!(bench.dump(), before);
    assert!(std::fs::read_to_string(bench.config()).unwrap().contains("name = \"pier\""));
}

#[test]
fn ctrl_c_says_where_it_found_the_set_up_also_after_a_trial() {
    needs_root!();
    let bench = Bench::light(1);
    let setup = SetUp::start(&bench);
    let before = bench.dump();
    assert_eq!(setup.interrupt(), Some(130));
    assert!(bench.log().contains("nothing was written"), "{}", bench.log());
    let setup = SetUp::start(&bench);
    setup.write(&json!({}), false);
    assert_eq!(setup.interrupt(), Some(130));
    assert!(bench.log().contains("nothing was started"), "{}", bench.log());
    let setup = SetUp::start(&bench);
    setup.write(&json!({}), true);
    setup.takes(&json!({ "do": "start" }));
    setup.until("waits");
    setup.takes(&json!({ "do": "stop" }));
    setup.until("ended");
    assert_eq!(setup.interrupt(), Some(130), "{}", bench.log());
    assert!(bench.log().contains("what was started is taken back"), "{}", bench.log());
    assert_eq!(bench.dump(), before);
}

#[test]
fn a_check_that_fails_starts_nothing() {
    needs_root!();
    let bench = Bench::light(1);
    bench.put_program("nft", "echo 'Error: Operation not permitted' >&2; exit 1");
    let setup = SetUp::start(&bench);
    let before = bench.dump();
    let look = setup.write(&json!({}), false);
    assert_eq!(look["check"]["is_good"], false, "{look}");
    assert!(look["check"]["findings"].to_string().contains("FAIL"), "{look}");
    setup.refuses(&json!({ "do": "start" }), "the check has failed");
    assert_eq!(setup.interrupt(), Some(130));
    assert_eq!(bench.dump(), before);
}
