//! What Prometheus is told.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::bench::{Bench, Place, needs_root};
use crate::operator::{ONE, until};
use crate::programs::needs_program;
use crate::worker::{down, goodputs};

const AT: &str = "metrics = \"127.0.0.1:9477\"\n";

/// A box with metrics.
#[track_caller]
fn shaping() -> Bench {
    let adaptive = ONE.replace("\"20 Mbit/s\"", "{ kind = \"adaptive\", max = \"20 Mbit/s\" }");
    Bench::shaping_light(1, &format!("{AT}{adaptive}"))
}

fn connect(bench: &Bench) -> TcpStream {
    let stream = bench.inside(Place::Box, || TcpStream::connect("127.0.0.1:9477").expect("connected"));
    stream.set_read_timeout(Some(Duration::from_secs(20))).expect("set");
    stream
}

/// Head and body of the answer to `request`, the first line and further headers.
#[track_caller]
fn ask(bench: &Bench, request: &str) -> (String, String) {
    let mut stream = connect(bench);
    stream.write_all(format!("{request}\r\nHost: box\r\n\r\n").as_bytes()).expect("sent");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("text");
    let (head, body) = answer.split_once("\r\n\r\n").expect("a head");
    (head.to_lowercase(), body.to_owned())
}

/// promtool has nothing to complain of; latency, newcomers and all states are there.
#[test]
fn promtool_has_nothing_to_say() {
    needs_root!();
    let promtool = needs_program!("promtool");
    let bench = shaping();
    goodputs(&bench, &[down("10.1.0.2")], 0, 1);
    let told = |what: &str| ask(&bench, "GET /metrics HTTP/1.1").1.contains(what);
    until(10, &bench, || told("\nfairair_rtt_above_baseline_seconds{ap=\"ap1\"} 0."));
    let (_, body) = ask(&bench, "GET /metrics HTTP/1.1");
    for line in ["fairair_rtt_seconds{ap=\"ap1\"} 0.", "fairair_newcomers_bytes_total{ap=\"ap1\"} "] {
        assert!(body.contains(&format!("\n{line}")), "{line}: {body}");
    }
    // One state holds, and all are told.
    let states: Vec<_> = body.lines().filter(|line| line.starts_with("fairair_state{")).collect();
    let holding = states.iter().filter(|line| line.ends_with(" 1")).count();
    assert!(
        states.len() >= 4 && holding == 1 && states.iter().all(|line| line.ends_with(" 0") || line.ends_with(" 1"))
    );
    let mut check = Command::new(promtool);
    check.args(["check", "metrics"]).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut check = check.spawn().expect("started");
    check.stdin.take().expect("piped").write_all(body.as_bytes()).expect("written");
    let output = check.wait_with_output().expect("ended");
    let said = String::from_utf8([output.stdout, output.stderr].concat()).expect("text");
    assert!(output.status.success() && said.is_empty(), "{said}{body}");
}

/// Queries, HEAD, other paths, other methods; OpenMetrics for who asks for it.
#[test]
fn http_is_spoken_as_scrapers_and_people_expect() {
    needs_root!();
    let bench = shaping();
    for path in ["/metrics", "/metrics?x=1"] {
        let (head, body) = ask(&bench, &format!("GET {path} HTTP/1.1"));
        assert!(head.starts_with("http/1.1 200 ok") && head.contains("text/plain; version=0.0.4"), "{head}");
        assert!(body.contains("# TYPE fairair_drops_total counter\n") && !body.contains("# EOF"), "{body}");
    }
    let (head, body) =
        ask(&bench, "GET /metrics HTTP/1.1\r\nAccept: application/openmetrics-text;version=1.0.0,*/*;q=0.1");
    assert!(head.contains("application/openmetrics-text; version=1.0.0"), "{head}");
    assert!(body.contains("# TYPE fairair_drops counter\n") && body.ends_with("# EOF\n"), "{body}");
    let (head, body) = ask(&bench, "HEAD /metrics HTTP/1.1");
    assert!(head.starts_with("http/1.1 200") && head.contains("content-length: ") && body.is_empty(), "{head}{body}");
    let (head, body) = ask(&bench, "GET / HTTP/1.1");
    assert!(head.starts_with("http/1.1 404") && body.contains("/metrics"), "{head}{body}");
    let (head, _) = ask(&bench, "POST /metrics HTTP/1.1\r\nContent-Length: 0");
    assert!(head.starts_with("http/1.1 405") && head.contains("allow: get, head"), "{head}");
}

/// A hundred scrapers that say nothing, or half of it: the next is answered at once, and the daemon, too.
#[test]
fn slow_scrapers_keep_nobody_out() {
    needs_root!();
    let bench = shaping();
    let slow: Vec<_> = (0..100)
        .map(|number| {
            let mut stream = connect(&bench);
            if number % 2 == 0 {
                stream.write_all(b"GET /metrics HTTP/1.1\r\nX-Slow: ").expect("sent");
            }
            stream
        })
        .collect();
    let begin = Instant::now();
    let (head, _) = ask(&bench, "GET /metrics HTTP/1.1");
    assert!(head.starts_with("http/1.1 200"), "{head}");
    println!("answered {:?} after 100 slow scrapers had come", begin.elapsed());
    // One of them alone was waited for for 5 s.
    assert!(begin.elapsed() < Duration::from_secs(4), "{:?}", begin.elapsed());
    assert!(bench.vsb(&["status"]).status.success());
    drop(slow);
}
