//! What is measured: points of detti2011 Figs. 5-11, and remedies at the AP.

use fairair_core::scenario::Scenario;
use fairair_core::tcp::TcpParams;
use fairair_linux::emulate::TcpStack;

/// A cell that testbed and simulator both run.
pub(crate) struct Cell {
    /// `fig06`, `fig06-each` or `remedies`.
    pub table: &'static str,
    /// What is on the figure's x axis: connections or window of station 1. Remedies: their number.
    pub x: u32,
    /// The remedy; empty for points of figures.
    pub name: &'static str,
    /// As the paper has it, with the RFCs' TCP.
    pub scenario: Scenario,
    /// The hosts' TCP: as Linux has it, or as the scenario says.
    pub stack: TcpStack,
    /// Replicas on the testbed.
    pub replicas: u32,
}

/// Scenarios' time before measuring, in seconds.
const WARM_UP: u32 = 20;
/// What the simulator runs of each, in seconds and replicas.
pub(crate) const SIMULATED: (u32, u32) = (200, 20);

/// A figure: name, station 1's rate, direction of station 1, of the others, then `(x, replicas, seconds)` on the testbed.
type Figure = (&'static str, &'static str, &'static str, &'static str, &'static [(u32, u32, u32)]);

/// Longer where flows of one kind share a lossy queue: their shares wander for minutes.
const FIGURES: [Figure; 7] = [
    ("fig05", "11", "up", "down", &[(1, 4, 50), (2, 4, 60), (3, 4, 60), (4, 4, 60), (5, 4, 60), (6, 4, 70)]),
    ("fig06", "11", "down", "down", &[(1, 6, 110), (2, 10, 90), (3, 10, 90), (4, 10, 90), (5, 5, 90), (6, 6, 90)]),
    ("fig07", "2", "down", "down", &[(2, 10, 90), (3, 10, 90), (4, 10, 90), (6, 6, 90)]),
    ("fig08", "11", "down", "down", &[(6, 4, 60), (12, 4, 60), (18, 4, 60), (24, 4, 70)]),
    ("fig09", "11", "up", "up", &[(1, 4, 50), (2, 4, 60), (3, 4, 60), (4, 4, 60), (6, 4, 70)]),
    ("fig10", "2", "up", "up", &[(2, 10, 90), (3, 6, 70), (4, 4, 70), (6, 6, 70)]),
    ("fig11", "11", "up", "up", &[(12, 4, 40), (24, 4, 40)]),
];

/// Figs. 6 and 7 with receivers that acknowledge each segment: no timer of a delayed ACK expires, as detti2011 assumes
/// (footnote 15).
const EACH: [Figure; 2] = [
    ("fig06-each", "11", "down", "down", &[(2, 6, 90), (3, 6, 90), (4, 6, 90), (6, 6, 90)]),
    ("fig07-each", "2", "down", "down", &[(2, 6, 90), (3, 6, 90), (4, 6, 90), (6, 6, 90)]),
];

/// What stands in `[ap]`, and what follows the tables, for each remedy of docs/testbed.md.
const REMEDIES: [(&str, &str, &str); 10] = [
    ("`droptail`", r#"queue = { kind = "droptail", limit = 60 }"#, ""),
    ("`dual-queue`", r#"queue = { kind = "dual-queue", data = 60, ack = 60, other = 60 }"#, ""),
    ("`tlas-saf` (estimated)", r#"queue = { kind = "tlas-saf", limit = 60, cwnd = "estimated" }"#, ""),
    ("`las`", r#"queue = { kind = "las", limit = 60 }"#, ""),
    ("`per-station-fq`", r#"queue = { kind = "per-station-fq", limit = 60 }"#, ""),
    ("`window-cap` lossless", "queue = { kind = \"droptail\", limit = 60 }\nwindow_cap = \"lossless\"", ""),
    ("`per-flow-fq`", r#"queue = { kind = "per-flow-fq", limit = 60 }"#, ""),
    ("`fq-codel`", r#"queue = { kind = "fq-codel" }"#, ""),
    (
        "`uplink-limiter`, R = 4.6 Mbit/s",
        "queue = { kind = \"droptail\", limit = 60 }\nuplink_limiter = { capacity = \"4.6 Mbit/s\" }",
        "",
    ),
    ("box, `per-station`, capacity `auto`", r#"queue = { kind = "droptail", limit = 60 }"#, "[enforce]\n"),
];

/// Everything that is measured.
pub(crate) fn cells() -> Vec<Cell> {
    let mut cells = Vec::new();
    let linux = FIGURES.map(|figure| (figure, TcpStack::Linux, ""));
    let each = EACH.map(|figure| (figure, TcpStack::Scenario, "sack = true\ndelayed_ack = false\n"));
    for ((table, rate, first, others, points), stack, tcp) in linux.into_iter().chain(each) {
        for (x, replicas, seconds) in points.iter().copied() {
            // Figs. 8 and 11 vary the window, the others the number of connections.
            let flow = match table {
                "fig08" | "fig11" => format!("direction = \"{first}\", tcp = {{ window = {x} }}"),
                _ => format!("direction = \"{first}\", count = {x}"),
            };
            let stations = format!(
                "{tcp}[[station]]\nname = \"sta1\"\nrate = \"{rate} Mbit/s\"\nbeta = 1.2\nflows = [{{ {flow} }}]\n\
                 [[station]]\nname = \"other\"\ncount = 4\nbeta = 1.2\nflows = [{{ direction = \"{others}\" }}]\n"
            );
            let ap = r#"queue = { kind = "droptail", limit = 75 }"#;
            let scenario = scenario(&format!("{table}-{x}"), ap, &stations, seconds);
            cells.push(Cell { table, x, name: "", scenario, stack, replicas });
        }
    }
    for (x, (name, ap, rest)) in (1..).zip(REMEDIES) {
        let stations = "[[station]]\nname = \"up\"\ncount = 3\nflows = [{ direction = \"up\" }]\n\
                        [[station]]\nname = \"down\"\ncount = 3\nflows = [{ direction = \"down\" }]\n";
        let scenario = scenario(&format!("remedy-{x}"), ap, &(rest.to_owned() + stations), 45);
        cells.push(Cell { table: "remedies", x, name, scenario, stack: TcpStack::Linux, replicas: 3 });
    }
    cells
}

/// detti2011's cell (scenarios/detti2011-five-stations.toml) with another AP and other stations.
fn scenario(name: &str, ap: &str, rest: &str, seconds: u32) -> Scenario {
    let text = format!(
        "name = \"{name}\"\n[run]\nduration = \"{} s\"\nwarmup = \"{WARM_UP} s\"\n\
         [radio]\nphy = \"802.11b\"\nrate = \"11 Mbit/s\"\nbasic_rate = \"2 Mbit/s\"\n\
         [ap]\n{ap}\n[tcp]\nvariant = \"reno\"\nmss = \"1460 B\"\nwindow = 42\n{rest}",
        WARM_UP + seconds
    );
    Scenario::from_toml(&text, name).unwrap_or_else(|error| panic!("{text}: {error:?}"))
}

/// The same for the simulator, as long as its replicas last.
pub(crate) fn simulated(scenario: &Scenario) -> Scenario {
    let mut scenario = scenario.clone();
    scenario.run.duration = fairair_core::units::Duration::from_secs(u64::from(WARM_UP + SIMULATED.0));
    scenario.run.replicas = SIMULATED.1;
    scenario
}

/// The simulator's cell with the same hosts as the testbed's.
pub(crate) fn as_hosts(cell: &Cell) -> Scenario {
    let mut scenario = simulated(&cell.scenario);
    if cell.stack == TcpStack::Scenario {
        return scenario;
    }
    for flow in scenario.stations.iter_mut().flat_map(|station| &mut station.flows) {
        flow.tcp = TcpParams::linux(&flow.tcp);
    }
    scenario
}
