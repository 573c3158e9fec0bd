//! Jobs as a browser starts them: answers, rows, plans, cancellation.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use fairair_web::{Lab, Options};
use serde_json::{Value, json};

const CELL: &str = "name = \"cell\"\n[run]\nduration = \"3 s\"\nwarmup = \"1 s\"\nreplicas = 2\n[radio]\nphy = \"802.11g\"\n\
                    [[station]]\nname = \"up\"\nflows = [{ direction = \"up\", count = 3 }]\n\
                    [[station]]\nname = \"down\"\ncount = 2\nflows = [{ direction = \"down\" }]\n";

fn server() -> String {
    let lab = Lab::bind(Options { listen: "127.0.0.1:0".parse().unwrap(), scenario: None }).unwrap();
    let address = lab.url().trim_start_matches("http://").trim_end_matches('/').to_owned();
    std::thread::spawn(move || lab.serve());
    address
}

fn request(address: &str, path: &str, body: &Value) -> TcpStream {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(Duration::from_mins(2))).unwrap();
    let body = body.to_string();
    let head = format!(
        "POST {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n",
        body.len()
    );
    stream.write_all((head + &body).as_bytes()).unwrap();
    stream
}

/// The events of a job by name, until its end. Chunk sizes stand on lines of their own.
fn events(address: &str, path: &str, body: &Value) -> Vec<(String, Value)> {
    let mut events = Vec::new();
    let mut name = String::new();
    for line in BufReader::new(request(address, path, body)).lines().map_while(Result::ok) {
        if let Some(event) = line.strip_prefix("event: ") {
            event.clone_into(&mut name);
        } else if let Some(data) = line.strip_prefix("data: ") {
            events.push((name.clone(), serde_json::from_str(data).unwrap()));
        }
    }
    events
}

fn of<'a>(events: &'a [(String, Value)], name: &str) -> Vec<&'a Value> {
    events.iter().filter(|(event, _)| event == name).map(|(_, data)| data).collect()
}

fn body(answer: TcpStream) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut answer = answer;
    answer.read_to_end(&mut bytes).unwrap();
    let end = bytes.windows(4).position(|four| four == b"\r\n\r\n").unwrap();
    bytes.split_off(end + 4)
}

#[test]
fn a_run_is_refined_until_it_is_precise_and_gives_the_numbers_of_the_library() {
    let events = events(&server(), "/api/run", &json!({ "toml": CELL }));
    let answers = of(&events, "answer");
    let last = answers.last().unwrap();
    assert_eq!(last["source"], "simulation");
    assert!(last["sentence"].as_str().unwrap().contains("Uploads get"), "{last}");
    let scenario = fairair_core::scenario::Scenario::from_toml(CELL, "cell").unwrap();
    let pool = fairair_sim::replicas::Pool::new(1).unwrap();
    let effort = fairair_sim::Effort { until_ci_percent: Some(2.0), max_replicas: 40 };
    let (cancel, progress) = (std::sync::atomic::AtomicBool::new(false), |_| ());
    let run =
        fairair_sim::simulate(&scenario, effort, &pool, fairair_sim::Watch { cancel: &cancel, progress: &progress });
    let report = run.report(&scenario, "");
    assert_eq!(last["replicas"], report.replicas);
    assert_eq!(last["goodput_bps"]["mean"], json!(report.totals.goodput_bps.mean));
    assert_eq!(of(&events, "done").len(), 1);
    assert!(of(&events, "progress").len() > 2);
}

#[test]
fn a_comparison_sends_a_row_a_remedy_that_can_be_pasted() {
    let address = server();
    let events = events(&address, "/api/compare", &json!({ "toml": CELL }));
    let rows = of(&events, "row");
    assert_eq!(rows.len(), fairair_core::remedy::REMEDIES.len());
    let scenario = fairair_core::scenario::Scenario::from_toml(CELL, "cell").unwrap();
    for (row, remedy) in rows.iter().zip(fairair_core::remedy::REMEDIES) {
        assert_eq!(row["remedy"], remedy.name);
        let edits = json!({ "toml": CELL, "edits": [{ "do": "paste", "snippet": row["snippet"] }] });
        let pasted: Value = serde_json::from_slice(&body(request(&address, "/api/edit", &edits))).unwrap();
        let text = pasted["toml"].as_str().unwrap();
        let pasted = fairair_core::scenario::Scenario::from_toml(text, "pasted").unwrap();
        assert_eq!(pasted, remedy.applied(&scenario), "{}: {text}", remedy.name);
    }
}

#[test]
fn a_plan_names_what_it_costs_and_a_wish_without_sense_is_refused() {
    let address = server();
    let asked = |goal: &str| json!({ "toml": CELL, "asked": { "goals": [goal], "deploy": "ap" } });
    let events = events(&address, "/api/plan", &asked("level=1"));
    let plan = of(&events, "plan")[0];
    assert_eq!(plan["met"], true, "{plan}");
    assert!(plan["rows"][0]["snippet"].as_str().unwrap().contains("[ap]"), "{plan}");
    let refused: Value =
        serde_json::from_slice(&body(request(&address, "/api/plan", &asked("nobody >= 1 Mbit/s")))).unwrap();
    assert!(refused["problem"].as_str().unwrap().contains("nobody"), "{refused}");
}

#[test]
fn the_air_comes_as_rows_in_order_and_carries_the_goodput() {
    let part = json!({ "toml": CELL, "part": { "from_s": null, "seconds": 2.0 } });
    let bytes = body(request(&server(), "/api/air", &part));
    let length = u32::from_le_bytes(bytes[..4].try_into().unwrap()) as usize;
    let head: Value = serde_json::from_slice(&bytes[4..4 + length]).unwrap();
    assert_eq!((length + 4) % 8, 0);
    assert_eq!(head["nodes"], json!(["AP", "up", "down-1", "down-2"]));
    let rows: Vec<&[u8]> = bytes[4 + length..].chunks(28).collect();
    assert_eq!(head["rows"], rows.len());
    let at = |row: &[u8]| f64::from_le_bytes(row[..8].try_into().unwrap());
    assert!(rows.windows(2).all(|two| at(two[0]) <= at(two[1])));
    assert!(at(rows[0]) >= 1.0 && at(rows[rows.len() - 1]) < 3.0);
    // Data that the uploader sends and that arrive: sender 1, kind 0, nothing lost.
    let number = |row: &[u8], place: usize| u16::from_le_bytes(row[place..place + 2].try_into().unwrap());
    let arrived = rows.iter().filter(|row| number(row, 16) == 1 && row[24] == 0 && number(row, 22) == 0);
    let ip_bytes: u32 = arrived.map(|row| u32::from_le_bytes(row[12..16].try_into().unwrap())).sum();
    let on_air = f64::from(ip_bytes) * 8.0 / 2.0 * 1460.0 / 1500.0;
    let mut scenario = fairair_core::scenario::Scenario::from_toml(CELL, "cell").unwrap();
    scenario.run.replicas = 1;
    let pool = fairair_sim::replicas::Pool::new(1).unwrap();
    let (cancel, progress) = (std::sync::atomic::AtomicBool::new(false), |_| ());
    let watch = fairair_sim::Watch { cancel: &cancel, progress: &progress };
    let report = fairair_sim::simulate(&scenario, fairair_sim::Effort::default(), &pool, watch).report(&scenario, "");
    let goodput = report.stations[0].goodput_up_bps.mean.unwrap();
    assert!((on_air / goodput - 1.0).abs() < 0.02, "{on_air} on the air, {goodput} delivered");
}

#[test]
fn a_browser_that_goes_away_cancels_its_job() {
    let address = server();
    let long = CELL.replace("\"3 s\"", "\"500 s\"").replace("replicas = 2", "replicas = 100");
    // More jobs than run at the same time: each must make room for the next.
    for _ in 0..6 {
        let mut stream = request(&address, "/api/compare", &json!({ "toml": long }));
        let mut first = [0; 64];
        stream.read_exact(&mut first).unwrap();
    }
    let began = Instant::now();
    let events = events(&address, "/api/compare", &json!({ "toml": CELL.replace("\"3 s\"", "\"2 s\"") }));
    assert_eq!(of(&events, "done").len(), 1, "after {:?}", began.elapsed());
}

#[test]
fn a_full_line_says_so() {
    let address = server();
    let long = json!({ "toml": CELL.replace("\"3 s\"", "\"500 s\"").replace("replicas = 2", "replicas = 100") });
    let held: Vec<TcpStream> = (0..30).map(|_| request(&address, "/api/compare", &long)).collect();
    let answers = held.iter().map(|stream| {
        let mut answer = [0; 12];
        (&mut &*stream).read_exact(&mut answer).unwrap();
        String::from_utf8_lossy(&answer[9..]).into_owned()
    });
    let answers: Vec<String> = answers.collect();
    assert!(
        answers.iter().any(|status| status == "503") && answers.iter().any(|status| status == "200"),
        "{answers:?}"
    );
}
