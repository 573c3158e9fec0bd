//! TCP of the testbed's hosts: what is as Linux has it and what the scenario sets.

use fairair_core::scenario::{Flow, Scenario, Traffic};
use fairair_core::tcp::{TcpParams, Variant};

use super::error::TestbedError;
use super::flows::is_tcp;
use super::{Options, TcpStack, addresses as addr};

/// Header bytes of IPv4 and TCP without options.
const HEADERS: u32 = 40;
/// What iperf3 and other programs need besides the flows.
const USUAL_MTU: u32 = 1500;
/// Buffer of hosts at least, in bytes: the window is the scenario's, so buffers must never be what limits it.
const BUFFER: u64 = 1 << 20;

/// The MTU of all interfaces: segments of the largest MSS fit.
pub(super) fn mtu(scenario: &Scenario) -> u32 {
    let largest = flows(scenario).map(|flow| match flow.traffic {
        Traffic::UdpGreedy { payload } | Traffic::UdpCbr { payload, .. } => payload.0 as u32 + 28,
        Traffic::Bulk | Traffic::Files { .. } | Traffic::Quic => flow.tcp.mss + HEADERS,
    });
    largest.max().unwrap_or_default().max(USUAL_MTU)
}

fn flows(scenario: &Scenario) -> impl Iterator<Item = &Flow> {
    scenario.flows().map(|(_, flow)| flow)
}

/// TCP parameters that hold for all connections of a host, so that all flows have to agree on them.
fn of_hosts(scenario: &Scenario) -> Option<&TcpParams> {
    flows(scenario).find(|flow| is_tcp(&flow.traffic)).map(|flow| &flow.tcp)
}

/// The congestion control with which connections begin. iperf3 chooses a flow's own when the connection stands; a socket that
/// began with BBR would then stay paced (`sk_pacing_status`), so BBR comes first only where all flows are BBR's. What a
/// namespace may not begin with becomes Reno.
fn initial_control(scenario: &Scenario, first: &TcpParams, allowed: &str) -> &'static str {
    let mut variants = flows(scenario).filter(|flow| is_tcp(&flow.traffic)).map(|flow| flow.tcp.variant);
    let wanted = variants.find(|variant| *variant != Variant::Bbr).unwrap_or(first.variant).in_linux();
    if allowed.split_whitespace().any(|name| name == wanted) { wanted } else { "reno" }
}

/// Kernel parameters of a host, `(path below /proc/sys, value)`.
///
/// `allowed` are the congestion controls that the kernel lets a namespace begin with (`tcp_allowed_congestion_control`).
pub(super) fn sysctls(scenario: &Scenario, stack: TcpStack, allowed: &str) -> Vec<(&'static str, String)> {
    let window = flows(scenario).map(|flow| u64::from(flow.tcp.window) * u64::from(flow.tcp.mss)).max();
    let buffer = (4 * window.unwrap_or_default()).next_power_of_two().max(BUFFER);
    let mut parameters = vec![
        ("net/ipv4/tcp_rmem", format!("4096 {buffer} {buffer}")),
        // It grows with cwnd: a sender that is stopped has little left to send.
        ("net/ipv4/tcp_wmem", format!("4096 16384 {buffer}")),
        // Each connection starts from nothing, as in the simulator: no ssthresh of the last one.
        ("net/ipv4/tcp_no_metrics_save", "1".to_owned()),
    ];
    if let Some(tcp) = of_hosts(scenario) {
        parameters.push(("net/ipv4/tcp_congestion_control", initial_control(scenario, tcp, allowed).to_owned()));
        if stack == TcpStack::Scenario {
            let flag = |on: bool| u8::from(on).to_string();
            parameters.extend([
                ("net/ipv4/tcp_sack", flag(tcp.sack)),
                ("net/ipv4/tcp_timestamps", flag(false)),
                ("net/ipv4/tcp_dsack", flag(false)),
                ("net/ipv4/tcp_frto", flag(false)),
                // Neither RACK nor tail loss probes.
                ("net/ipv4/tcp_recovery", flag(false)),
                ("net/ipv4/tcp_early_retrans", flag(false)),
            ]);
        }
    }
    parameters
}

/// What follows a host's default route.
pub(super) fn route(scenario: &Scenario, options: Options) -> String {
    match of_hosts(scenario) {
        Some(tcp) if options.stack == TcpStack::Scenario => {
            let quickack = if tcp.delayed_ack { "" } else { " quickack 1" };
            let min_rto = (tcp.min_rto.as_nanos() / 1_000_000).max(1);
            format!(" initcwnd {} rto_min {min_rto}ms{quickack}", tcp.initial_cwnd)
        }
        _ => String::new(),
    }
}

/// Refuses traffic that the testbed cannot make, before anything is built.
pub(super) fn check(scenario: &Scenario, options: Options) -> Result<(), TestbedError> {
    let cannot = |what: String, fix: &str| Err(TestbedError::Cannot { what, fix: fix.to_owned() });
    check_cell(scenario)?;
    if scenario.flow_count() > addr::MOST_FLOWS {
        return cannot(format!("{} flows", scenario.flow_count()), &format!("write at most {}", addr::MOST_FLOWS));
    }
    for (index, flow) in scenario.flows() {
        let name = &scenario.stations[index].name;
        if flow.traffic == Traffic::Quic {
            let fix = "use the simulator, or run programs that speak QUIC with `fairair testbed up` and `exec`";
            return cannot(format!("`kind = \"quic\"` at station `{name}`: kernels have no QUIC"), fix);
        }
        if is_tcp(&flow.traffic) && flow.tcp.mss < 88 {
            let fix = "write `mss` of at least 88 B: Linux takes no smaller one";
            return cannot(format!("an MSS of {} B at station `{name}`", flow.tcp.mss), fix);
        }
        if is_tcp(&flow.traffic) && flow.tcp.ecn {
            let fix = "leave it out, or use the simulator: the testbed's queues mark no packets";
            return cannot(format!("`ecn = true` at station `{name}`"), fix);
        }
        if options.stack == TcpStack::Scenario && is_tcp(&flow.traffic) {
            let same = |a: &TcpParams, b: &TcpParams| {
                (a.sack, a.delayed_ack, a.initial_cwnd, a.min_rto) == (b.sack, b.delayed_ack, b.initial_cwnd, b.min_rto)
            };
            if of_hosts(scenario).is_some_and(|first| !same(first, &flow.tcp)) {
                let what =
                    format!("flows that differ in sack, delayed_ack, initial_cwnd or min_rto (station `{name}`)");
                return cannot(what, "write them in [tcp], for all flows: they belong to hosts here");
            }
        }
    }
    Ok(())
}

/// Refuses what the testbed cannot build, whatever its traffic.
pub(super) fn check_cell(scenario: &Scenario) -> Result<(), TestbedError> {
    if let Some(what) = scenario.several_access_points() {
        let fix = "remove [[access_point]] with its stations, or use the simulator".to_owned();
        return Err(TestbedError::Cannot { what, fix });
    }
    if scenario.stations.len() > addr::MOST_STATIONS {
        let (what, fix) = (scenario.stations.len(), addr::MOST_STATIONS);
        return Err(TestbedError::Cannot { what: format!("{what} stations"), fix: format!("write at most {fix}") });
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::Uplink;
    use super::*;

    const DEEP: Options =
        Options { uplink: Uplink::Deep, stack: TcpStack::Linux, known_neighbours: true, ping: None, live_box: None };

    fn scenario(flows: &str) -> Scenario {
        let text = format!("name = \"s\"\n[run]\nduration = \"9 s\"\n[[station]]\nname = \"a\"\nflows = [{flows}]\n");
        Scenario::from_toml(&text, "s.toml").unwrap()
    }

    #[track_caller]
    fn refusal(flows: &str, options: Options) -> String {
        check(&scenario(flows), options).unwrap_err().to_string()
    }

    #[test]
    fn traffic_that_hosts_cannot_make_is_refused_by_name() {
        let short = r#"{ direction = "down", kind = "files", size = "9 kB", tcp = { mss = "60 B" } }"#;
        assert!(refusal(short, DEEP).contains("an MSS of 60 B at station `a`"));
        let quic = r#"{ direction = "down", kind = "quic" }"#;
        assert!(refusal(quic, DEEP).contains("`kind = \"quic\"` at station `a`"));
        let mixed = r#"{ direction = "up" }, { direction = "up", tcp = { sack = true } }"#;
        assert!(check(&scenario(mixed), DEEP).is_ok(), "as the kernel has it");
        let two = "[[access_point]]\nname = \"hall\"\n[[station]]\nname = \"b\"\nap = \"hall\"\n";
        let two = Scenario::from_toml(
            &format!("name = \"s\"\n[run]\nduration = \"9 s\"\n[[station]]\nname = \"a\"\n{two}"),
            "s.toml",
        );
        assert!(check_cell(&two.unwrap()).unwrap_err().to_string().contains("several access points"));
        let scenarios = Options { stack: TcpStack::Scenario, ..DEEP };
        assert!(refusal(mixed, scenarios).contains("differ in sack"));
    }

    #[test]
    fn a_large_mss_gets_the_mtu_that_it_needs() {
        assert_eq!(mtu(&scenario(r#"{ direction = "up", tcp = { mss = "536 B" } }"#)), 1500);
        assert_eq!(mtu(&scenario(r#"{ direction = "up", tcp = { mss = "2000 B" } }"#)), 2040);
    }

    #[test]
    fn no_flow_inherits_pacing_from_bbr() {
        let begins = |variants: &[&str], allowed| {
            let flow = |v: &&str| format!(r#"{{ direction = "up", tcp = {{ profile = "linux", variant = "{v}" }} }}"#);
            let scenario = scenario(&variants.iter().map(flow).collect::<Vec<_>>().join(", "));
            let all = sysctls(&scenario, TcpStack::Linux, allowed);
            all.into_iter().find(|(name, _)| name.ends_with("congestion_control")).map(|(_, value)| value)
        };
        assert_eq!(begins(&["bbr", "bbr"], "bbr reno").as_deref(), Some("bbr"));
        assert_eq!(begins(&["bbr", "cubic"], "reno cubic").as_deref(), Some("cubic"));
        assert_eq!(begins(&["bbr", "cubic"], "reno bbr").as_deref(), Some("reno"), "the host's default is BBR");
        assert_eq!(begins(&["newreno", "bbr", "cubic"], "reno cubic").as_deref(), Some("reno"));
    }

    #[test]
    fn the_scenarios_tcp_reaches_the_kernels_settings() {
        let flows = r#"{ direction = "up", tcp = { variant = "cubic", window = 2000, delayed_ack = false, initial_cwnd = 2 } }"#;
        let scenario = scenario(flows);
        let get = |stack, key: &str| {
            let all = sysctls(&scenario, stack, "reno cubic");
            all.into_iter().find(|(name, _)| name.ends_with(key)).map(|(_, value)| value)
        };
        assert_eq!(get(TcpStack::Linux, "congestion_control").as_deref(), Some("cubic"));
        assert_eq!(get(TcpStack::Linux, "tcp_sack"), None, "as found");
        assert_eq!(get(TcpStack::Scenario, "tcp_sack").as_deref(), Some("0"));
        assert_eq!(get(TcpStack::Linux, "tcp_rmem").as_deref(), Some("4096 16777216 16777216"), "four windows");
        let options = Options { stack: TcpStack::Scenario, ..DEEP };
        assert_eq!(route(&scenario, options), " initcwnd 2 rto_min 200ms quickack 1");
        assert_eq!(route(&scenario, DEEP), "");
    }
}
