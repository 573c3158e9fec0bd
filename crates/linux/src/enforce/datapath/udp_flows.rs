//! Flows of UDP between stations and the Internet, in nftables: what is counted of them, and which are shaped (`udp = "auto"`).

use std::fmt::Write as _;
use std::net::SocketAddr;

use super::layout::family;
use super::{TABLE, tools};
use crate::enforce::config::Mode;
use crate::enforce::octets::ip;

use super::DatapathError;

/// Most flows of an IP version that are counted at a time.
pub const MOST_COUNTED: usize = 16_384;

/// A flow of UDP.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct UdpFlowKey {
    /// The station's end.
    pub near: SocketAddr,
    /// The other end.
    pub far: SocketAddr,
}

/// Sets by the IP version of their flows. What has no packet for ten seconds leaves the sets that packets fill; what is shaped is looked after
/// by the daemon, and passes by again a quarter of an hour after the last one has ended.
pub(super) fn sets(table: &mut String) {
    for (suffix, address) in [("4", "ipv4_addr"), ("6", "ipv6_addr")] {
        for (name, timeout) in [("fup", "10s"), ("fseen", "10s"), ("fback", "10s"), ("answers", "15m")] {
            let _ = writeln!(
                table,
                "  set {name}{suffix} {{\n    type {address} . inet_service . {address} . inet_service;\n    size {MOST_COUNTED};\n    flags \
                 dynamic,timeout;\n    timeout {timeout};\n  }}"
            );
        }
    }
}

/// Rules that count flows of UDP, each seen from its station, and let those that answer congestion leave for the chain that shapes. What
/// comes back counts for a flow that has gone up: others cannot fill the set. That is looked up in a set without counters, since the kernel
/// counts a look-up in one with counters, too.
pub(super) fn counted(table: &mut String, direction: &str, pool: u16) {
    for (ip, suffix) in [("ip", "4"), ("ip6", "6")] {
        let flow = if direction == "up" {
            format!("{ip} saddr . udp sport . {ip} daddr . udp dport")
        } else {
            format!("{ip} daddr . udp dport . {ip} saddr . udp sport")
        };
        let _ = if direction == "up" {
            writeln!(
                table,
                "    update @fup{suffix} {{ {flow} counter }}\n    update @fseen{suffix} {{ {flow} }}\n    {flow} @answers{suffix} goto p{pool}_answers"
            )
        } else {
            writeln!(table, "    {flow} @fseen{suffix} update @fback{suffix} {{ {flow} counter }}")
        };
    }
}

/// Shapes the flows `add` and lets `remove` pass by.
///
/// # Errors
/// The table is gone, or a flow is no longer in it.
pub fn decide(mode: Mode, add: &[UdpFlowKey], remove: &[UdpFlowKey]) -> Result<(), DatapathError> {
    let mut lines = String::new();
    for (verb, flows) in [("add", add), ("delete", remove)] {
        for UdpFlowKey { near, far } in flows {
            let suffix = if near.is_ipv4() { "4" } else { "6" };
            let end = |end: &SocketAddr| format!("{} . {}", end.ip(), end.port());
            let _ = writeln!(
                lines,
                "{verb} element {} {TABLE} answers{suffix} {{ {} . {} }}",
                family(mode),
                end(near),
                end(far)
            );
        }
    }
    if lines.is_empty() { Ok(()) } else { tools::nft(&lines) }
}

/// A flow from the key of an element: addresses and ports, each padded to four bytes.
pub(super) fn key(value: &[u8]) -> Option<UdpFlowKey> {
    let width = match value.len() {
        16 => 4,
        40 => 16,
        _ => return None,
    };
    let end = |bytes: &[u8]| {
        let (address, port) = bytes.split_at_checked(width)?;
        Some(SocketAddr::new(ip(address)?, u16::from_be_bytes(*port.first_chunk()?)))
    };
    let (near, far) = value.split_at(width + 4);
    Some(UdpFlowKey { near: end(near)?, far: end(far)? })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_read_as_the_kernel_pads_them() {
        let v4 = [10, 1, 0, 2, 0x14, 0xe9, 0, 0, 10, 2, 0, 2, 0x01, 0xbb, 0, 0];
        let flow = key(&v4).unwrap();
        assert_eq!(
            (flow.near.to_string(), flow.far.to_string()),
            ("10.1.0.2:5353".to_owned(), "10.2.0.2:443".to_owned())
        );
        let mut v6 = [0; 40];
        (v6[15], v6[17], v6[35], v6[36]) = (1, 9, 2, 1);
        let flow = key(&v6).unwrap();
        assert_eq!((flow.near.to_string(), flow.far.to_string()), ("[::1]:9".to_owned(), "[::2]:256".to_owned()));
        assert_eq!(key(&[0; 6]), None);
    }
}
