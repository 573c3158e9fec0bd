//! What is measured: scenarios of detti2011 and the traces of the estimator.

/// Who is the box.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum TheBox {
    /// Nobody.
    Without,
    /// C = 95 % of what the cell carries without losses when shares are equal; in air where rates differ.
    Fixed,
    /// Ours.
    Adaptive,
    /// The paper's.
    Wce,
}

impl TheBox {
    pub(crate) fn name(self) -> &'static str {
        match self {
            TheBox::Without => "without",
            TheBox::Fixed => "fixed",
            TheBox::Adaptive => "adaptive",
            TheBox::Wce => "wce",
        }
    }
}

/// What is looked at.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Look {
    /// Shares and goodput.
    Shares,
    /// C in spans of time, in seconds.
    Spans(&'static [(f64, f64)]),
    /// Mean C and the delay of probes while loaded.
    Steady,
    /// Seconds from the event until C is within 15 % of what the second cell carries.
    Follow,
    /// How far C falls in the ten seconds after the event.
    Fall,
}

/// One run.
#[derive(Clone, Debug)]
pub(crate) struct Case {
    pub(crate) group: String,
    pub(crate) point: String,
    pub(crate) the_box: TheBox,
    pub(crate) seed: u64,
    pub(crate) look: Look,
    /// The scenario without its box.
    pub(crate) text: String,
    /// The cell whose capacity counts: as it is at the end, with equal shares.
    pub(crate) cell: String,
}

/// Time of the event in the traces, in seconds.
pub(crate) const EVENT: f64 = 30.0;
/// Of Fig. 4: nobody, a fast station, a slow one beside it, the fast one alone again.
const SPANS: &[(f64, f64)] = &[(5.0, 25.0), (30.0, 57.0), (62.0, 90.0), (95.0, 120.0)];
/// Runs of each trace: steady, followed, false alarms.
const STEADY: u64 = 4;
const FOLLOWED: u64 = 8;
const ALARMS: u64 = 4;

/// A cell at a rate: AP buffer, TCP and times of detti2011.
fn cell(rate: &str, run: (u32, u32), stations: &str) -> String {
    let basic = if rate == "1 Mbit/s" || rate == "5.5 Mbit/s" { "1 Mbit/s" } else { "2 Mbit/s" };
    let (duration, warmup) = run;
    format!(
        "name = \"vsb-bars\"\n[run]\nduration = \"{duration} s\"\nwarmup = \"{warmup} s\"\nreplicas = 1\n\
         [radio]\nphy = \"802.11b\"\nrate = \"{rate}\"\nbasic_rate = \"{basic}\"\n[ap]\nqueue = {{ kind = \"droptail\", limit = 75 }}\n\
         [tcp]\nvariant = \"reno\"\nwindow = 42\n{stations}"
    )
}

fn station(name: &str, count: u32, keys: &str, flows: &str) -> String {
    format!("[[station]]\nname = \"{name}\"\ncount = {count}\nbeta = 1.2\n{keys}flows = [{flows}]\n")
}

fn flow(direction: &str, count: u32, keys: &str) -> String {
    format!("{{ direction = \"{direction}\", count = {count}{keys} }}")
}

/// All that is measured.
pub(crate) fn all() -> Vec<Case> {
    let mut cases = figures();
    cases.extend(figure_12());
    cases.extend(twenty_stations());
    cases.extend(traces());
    cases
}

/// Figs. 5-11: direction of station 1's flows and of the others', its rate, and what the points are.
fn figures() -> Vec<Case> {
    let counts: &[u32] = &[1, 2, 3, 4, 5, 6];
    let windows: &[u32] = &[6, 12, 18, 24, 30, 36, 42];
    let slow = "rate = \"2 Mbit/s\"\n";
    let figures = [
        (5, "up", "down", "", counts),
        (6, "down", "down", "", counts),
        (7, "down", "down", slow, counts),
        (8, "down", "down", "", windows),
        (9, "up", "up", "", counts),
        (10, "up", "up", slow, counts),
        (11, "up", "up", "", windows),
    ];
    let mut cases = Vec::new();
    for (figure, first, others, keys, points) in figures {
        let by_window = points.len() == windows.len();
        // Six uploads at a slow station begin with a queue there of many seconds: it takes 25 s to leave.
        let run = if keys.is_empty() { (50, 15) } else { (65, 30) };
        let text = |count: u32, window: u32| {
            let window = format!(", tcp = {{ window = {window} }}");
            let one = station("sta1", 1, keys, &flow(first, count, &window));
            cell("11 Mbit/s", run, &(one + &station("other", 4, "", &flow(others, 1, ""))))
        };
        for point in points {
            for the_box in [TheBox::Without, TheBox::Fixed, TheBox::Adaptive] {
                cases.push(Case {
                    group: format!("Fig. {figure}"),
                    point: format!("{} = {point}", if by_window { "W" } else { "k" }),
                    the_box,
                    seed: 1,
                    look: Look::Shares,
                    text: if by_window { text(1, *point) } else { text(*point, 42) },
                    cell: text(1, 42),
                });
            }
        }
    }
    cases
}

/// Fig. 12: four downloads against one, the box comes on after 40 s.
fn figure_12() -> Vec<Case> {
    let stations = |count: u32| {
        station("accelerated", 1, "", &flow("down", count, "")) + &station("plain", 1, "", &flow("down", 1, ""))
    };
    let case = |point: &str, the_box, run, event: &str| Case {
        group: "Fig. 12".to_owned(),
        point: point.to_owned(),
        the_box,
        seed: 1,
        look: Look::Shares,
        text: cell("11 Mbit/s", run, &(stations(4) + event)),
        cell: cell("11 Mbit/s", (50, 15), &stations(1)),
    };
    let on = "[[event]]\nat = \"40 s\"\nkind = \"enforce\"\n";
    vec![
        case("15-40 s, before", TheBox::Without, (40, 15), ""),
        case("50-80 s, box on at 40 s", TheBox::Fixed, (80, 50), on),
        case("50-80 s, box on at 40 s", TheBox::Adaptive, (80, 50), on),
    ]
}

/// Five stations with an upload, five with a download, ten with both; and the same with an unresponsive sender.
fn twenty_stations() -> Vec<Case> {
    // After the sender of UDP: iperf3 greets with UDP, and nothing repeats a lost greeting.
    let late = ", start = \"4 s\"";
    let (up, down) = (flow("up", 1, late), flow("down", 1, late));
    let tcp =
        station("up", 5, "", &up) + &station("down", 5, "", &down) + &station("both", 10, "", &format!("{up}, {down}"));
    let udp = station("udp", 1, "", "{ direction = \"up\", kind = \"udp\", rate = \"1 Mbit/s\" }");
    let mut cases = Vec::new();
    for (point, stations) in [("TCP", tcp.clone()), ("TCP and 1 Mbit/s of UDP up", tcp + &udp)] {
        for the_box in [TheBox::Without, TheBox::Fixed, TheBox::Adaptive] {
            let text = cell("11 Mbit/s", (75, 25), &stations);
            let (group, point) = ("20 stations".to_owned(), point.to_owned());
            cases.push(Case { group, point, the_box, seed: 1, look: Look::Shares, cell: text.clone(), text });
        }
    }
    cases
}

/// Bar 2.
fn traces() -> Vec<Case> {
    let case = |group: &str, point: &str, seed, look, text: String, cell: String| Case {
        group: group.to_owned(),
        point: point.to_owned(),
        the_box: TheBox::Adaptive,
        seed,
        look,
        text,
        cell,
    };
    let fast = station("fast", 1, "", "{ direction = \"down\", start = \"25 s\" }");
    let slow_keys = "rate = \"2 Mbit/s\"\n";
    let slow = station("slow", 1, slow_keys, "{ direction = \"down\", start = \"57 s\", stop = \"90 s\" }");
    let both = station("fast", 1, "", &flow("down", 1, "")) + &station("slow", 1, slow_keys, &flow("down", 1, ""));
    let figure_4 = cell("11 Mbit/s", (120, 0), &(fast + &slow));
    let mut cases = Vec::new();
    for the_box in [TheBox::Adaptive, TheBox::Wce] {
        let (text, cell) = (figure_4.clone(), cell("11 Mbit/s", (50, 15), &both));
        cases.push(Case { the_box, ..case("Fig. 4", "trace", 1, Look::Spans(SPANS), text, cell) });
    }
    let five = |rate: &str, event: &str| cell(rate, (60, 15), &(station("sta", 5, "", &flow("down", 2, "")) + event));
    for rate in ["11 Mbit/s", "2 Mbit/s"] {
        for seed in 1..=STEADY {
            cases.push(case("steady", rate, seed, Look::Steady, five(rate, ""), five(rate, "")));
        }
    }
    for (from, to, what) in [
        ("5.5 Mbit/s", "1 Mbit/s", "drop 4.0 : 1"),
        ("1 Mbit/s", "5.5 Mbit/s", "rise 1 : 4.0"),
        ("11 Mbit/s", "2 Mbit/s", "drop 3.3 : 1"),
        ("2 Mbit/s", "11 Mbit/s", "rise 1 : 3.3"),
    ] {
        let event = format!("[[event]]\nat = \"30 s\"\nkind = \"rate\"\nrate = \"{to}\"\n");
        let text = five(from, &event);
        for seed in 1..=FOLLOWED {
            cases.push(case("follow", what, seed, Look::Follow, text.clone(), five(to, "")));
        }
    }
    let deaf = |station: u32| format!("[[event]]\nat = \"30 s\"\nkind = \"deaf\"\nstation = \"sta-{station}\"\n");
    let three = [1, 2, 3].map(deaf).concat();
    for (what, event) in [
        ("no alarm", String::new()),
        ("a second of silence", "[[event]]\nat = \"30 s\"\nkind = \"silence\"\nlasts = \"1 s\"\n".to_owned()),
        ("three of five stations deaf", three),
        ("all probes lost", "[[event]]\nat = \"30 s\"\nkind = \"deaf\"\n".to_owned()),
        ("a sleeping station", "[[event]]\nat = \"30 s\"\nkind = \"sleep\"\nstation = \"sta-1\"\n".to_owned()),
    ] {
        for seed in 1..=ALARMS {
            let (text, cell) = (five("11 Mbit/s", &event), five("11 Mbit/s", ""));
            cases.push(case("alarm", what, seed, Look::Fall, text, cell));
        }
    }
    cases
}
