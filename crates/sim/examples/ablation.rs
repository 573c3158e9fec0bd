//! What each constant of the controllers is worth: `scripts/ablation.py` runs this with one constant changed at a time.
//!
//! Prints a line for each situation and measure: `SITUATION MEASURE` and the value in each replica. Times are simulated.

use fairair_core::mac::{AirBody, AirFrame};
use fairair_core::metrics::jain_index;
use fairair_core::packet::{NodeId, Segment};
use fairair_core::record::Record;
use fairair_core::scenario::Scenario;

/// Replicas that `adaptive` was not designed on.
const FIRST: u32 = 400;
const REPLICAS: u32 = 12;
/// When things happen, and the end of the measured time, in seconds.
const EVENT: f64 = 25.0;
const END: f64 = 45.0;

/// Five stations of 802.11b, two downloads each.
const PLAIN: &str = "rate = \"11 Mbit/s\"\nbasic_rate = \"1 Mbit/s\"";
const FIVE: &str = "[[station]]\nname = \"sta\"\ncount = 5\nflows = [{ direction = \"down\", count = 2 }]\n";
const ADAPTIVE: &str = "kind = \"adaptive\"";

fn scenario(radio: &str, buffer: u32, stations: &str, capacity: &str, rest: &str) -> String {
    format!(
        "name = \"ablation\"\n[run]\nduration = \"{END} s\"\nwarmup = \"10 s\"\n[radio]\n{radio}\n[ap]\nqueue = {{ kind = \
         \"droptail\", limit = {buffer} }}\n{stations}\n[enforce]\ncapacity = {{ {capacity} }}\n{rest}"
    )
}

fn event(keys: &str) -> String {
    format!("[[event]]\nat = \"{EVENT} s\"\n{keys}\n")
}

/// Situations that a cell gets a controller into.
fn situations() -> Vec<(&'static str, String)> {
    let five = |rest: &str| scenario(PLAIN, 75, FIVE, ADAPTIVE, rest);
    let deaf = |station: u32| event(&format!("kind = \"deaf\"\nstation = \"sta-{station}\""));
    let slow = PLAIN.replace("11 Mbit/s", "2 Mbit/s");
    let to = |rate: &str| event(&format!("kind = \"rate\"\nrate = \"{rate}\""));
    let both = "[[station]]\nname = \"up\"\ncount = 3\nflows = [{ direction = \"up\", count = 2 }]\n[[station]]\nname = \
                \"down\"\ncount = 3\nflows = [{ direction = \"down\" }]\n";
    let shouting = format!(
        "{FIVE}[[station]]\nname = \"udp\"\nflows = [{{ direction = \"up\", kind = \"udp\", rate = \"4 Mbit/s\" }}]\n"
    );
    let few = "[[station]]\nname = \"sta\"\ncount = 3\nflows = [{ direction = \"down\" }]\n";
    let web = format!(
        "{FIVE}[[station]]\nname = \"web\"\ncount = 3\nflows = [{{ direction = \"down\", kind = \"files\", size = \"146000 B\", burst = \"1 s\", idle = \"2 s\" }}]\n"
    );
    let many = "[[station]]\nname = \"sta\"\ncount = 20\nflows = [{ direction = \"down\" }]\n";
    let g = "phy = \"802.11g\"\nrate = \"54 Mbit/s\"";
    let ac = "phy = \"802.11ac\"\nwidth = \"80 MHz\"\nmcs = 9";
    let far = "[wire]\ndelay = \"30 ms\"\n";
    vec![
        ("steady", five("")),
        ("slow", scenario(&slow, 75, FIVE, ADAPTIVE, "")),
        ("drop", five(&to("2 Mbit/s"))),
        ("rise", scenario(&slow, 75, FIVE, ADAPTIVE, &to("11 Mbit/s"))),
        ("silence", five(&event("kind = \"silence\"\nlasts = \"1 s\""))),
        ("some deaf", five(&(deaf(1) + &deaf(2) + &deaf(3)))),
        ("all deaf", five(&event("kind = \"deaf\""))),
        ("sleeping", five(&event("kind = \"sleep\"\nstation = \"sta-1\""))),
        ("late", five(&event("kind = \"enforce\""))),
        ("late, 20 packets", scenario(g, 20, few, ADAPTIVE, &event("kind = \"enforce\""))),
        ("late, 500 packets", scenario(g, 500, few, ADAPTIVE, &event("kind = \"enforce\""))),
        ("both ways", scenario(PLAIN, 75, both, ADAPTIVE, "")),
        ("udp above the cell", scenario(PLAIN, 75, &shouting, ADAPTIVE, "")),
        ("pages", scenario(PLAIN, 75, &web, ADAPTIVE, "")),
        ("twenty", scenario(PLAIN, 75, many, ADAPTIVE, "")),
        ("60 ms", scenario(g, 100, few, ADAPTIVE, far)),
        ("802.11ac", scenario(ac, 300, many, ADAPTIVE, "")),
    ]
}

/// C in bit/s every 50 ms, with the times.
fn capacities(record: &Record) -> Vec<(f64, f64)> {
    let trace = &record.enforce.as_ref().expect("a box").trace;
    let at = |time: f64| {
        let past = trace.partition_point(|decision| decision.at.as_secs_f64() <= time);
        trace[past.max(1) - 1].capacity.as_bps() as f64
    };
    (0..(END / 0.05) as u32).map(|n| f64::from(n) * 0.05).map(|time| (time, at(time))).collect()
}

/// Measures of a replica, each with its name.
fn measures(scenario: &Scenario, replica: u32) -> Vec<(&'static str, f64)> {
    let mut delays = Vec::new();
    let mut monitor = |frame: &AirFrame<Segment>| {
        if let AirBody::Data { packet, retry: false, .. } = &frame.body
            && frame.transmitter == NodeId::AP
            && frame.at.as_secs_f64() > EVENT
        {
            delays.push(frame.at.saturating_since(packet.enqueued_at).as_secs_f64() * 1e3);
        }
    };
    let record = fairair_sim::run_monitored(scenario, replica, Some(&mut monitor));
    delays.sort_by(f64::total_cmp);
    let goodputs: Vec<f64> = (0..record.stations.len())
        .map(|station| {
            record.flows.iter().filter(|flow| flow.station == station).map(|flow| flow.delivered_bytes as f64).sum()
        })
        .collect();
    let mut found = vec![
        ("goodput, Mbit/s", goodputs.iter().sum::<f64>() * 8.0 / record.measured.as_secs_f64() / 1e6),
        ("jain_index", jain_index(&goodputs).unwrap_or(1.0)),
        ("p95 at the AP, ms", delays.get(delays.len() * 95 / 100).copied().unwrap_or(0.0)),
    ];
    let capacities = capacities(&record);
    let mean = |from: f64, to: f64| {
        let span: Vec<f64> = capacities.iter().filter(|(at, _)| (from..to).contains(at)).map(|(_, c)| *c).collect();
        span.iter().sum::<f64>() / span.len() as f64
    };
    let end = mean(END - 8.0, END);
    let settled = capacities.iter().filter(|(at, _)| *at >= EVENT).find(|(_, c)| (c / end - 1.0).abs() < 0.15);
    let least = capacities
        .iter()
        .filter(|(at, _)| (EVENT..EVENT + 10.0).contains(at))
        .map(|(_, c)| *c)
        .fold(f64::MAX, f64::min);
    found.extend([
        ("C at the end, Mbit/s", end / 1e6),
        ("least C after the event, Mbit/s", least / 1e6),
        ("settled after, s", settled.map_or(END - EVENT, |(at, _)| at - EVENT)),
    ]);
    found
}

fn main() {
    for (name, text) in situations() {
        let scenario = Scenario::from_toml(&text, name).unwrap_or_else(|error| panic!("{error}"));
        let all: Vec<_> = (FIRST..FIRST + REPLICAS).map(|replica| measures(&scenario, replica)).collect();
        for (index, (measure, _)) in all[0].iter().enumerate() {
            let values: Vec<_> = all.iter().map(|replica| format!("{:.6}", replica[index].1)).collect();
            println!("{name}\t{measure}\t{}", values.join(" "));
        }
    }
}
