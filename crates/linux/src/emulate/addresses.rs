//! Who has which address in the testbed.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Port at which the receiver of the first flow listens; the others follow.
const FIRST_PORT: u16 = 5201;
/// Host part of the first station's addresses.
const FIRST_STATION: usize = 11;
/// Most stations and flows of a testbed: each is a namespace or two processes.
pub const MOST_STATIONS: usize = 200;
/// Most flows.
pub const MOST_FLOWS: usize = 1000;

/// The gateway's interface towards the box.
pub const GATEWAY_MAC: &str = "02:fa:00:00:00:01";
/// The gateway's IPv4 address in the cell.
pub const GATEWAY: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 1);
/// The gateway's IPv6 address in the cell.
pub const GATEWAY6: Ipv6Addr = Ipv6Addr::new(0xfd00, 0xfa, 0, 0, 0, 0, 0, 1);
/// Where the box's probes come from.
pub const BOX: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 2);
/// Its hardware address.
pub const BOX_MAC: [u8; 6] = [0x02, 0xfa, 0, 0, 0, 0x02];
/// The AP's address on the radio; it has none on the wire.
pub const BSSID: [u8; 6] = [0x02, 0xfa, 0, 0, 0, 0];
/// The fixed host.
pub const HOST: Ipv4Addr = Ipv4Addr::new(10, 1, 0, 2);
/// The fixed host's IPv6 address.
pub const HOST6: Ipv6Addr = Ipv6Addr::new(0xfd00, 0xfa, 0, 1, 0, 0, 0, 2);
/// The gateway's address towards the fixed host.
pub const UPSTREAM: Ipv4Addr = Ipv4Addr::new(10, 1, 0, 1);
/// The gateway's IPv6 address towards the fixed host.
pub const UPSTREAM6: Ipv6Addr = Ipv6Addr::new(0xfd00, 0xfa, 0, 1, 0, 0, 0, 1);

/// IPv4 address of the station at a position of the scenario, below [`MOST_STATIONS`].
pub fn station(index: usize) -> Ipv4Addr {
    Ipv4Addr::new(10, 0, 0, (FIRST_STATION + index) as u8)
}

/// Its IPv6 address.
pub fn station6(index: usize) -> Ipv6Addr {
    Ipv6Addr::new(0xfd00, 0xfa, 0, 0, 0, 0, 0, (FIRST_STATION + index) as u16)
}

/// Its hardware address.
pub fn station_mac(index: usize) -> [u8; 6] {
    [0x02, 0xfa, 0, 0, 1, (FIRST_STATION + index) as u8]
}

/// A hardware address as programs write it.
pub fn mac_text(mac: [u8; 6]) -> String {
    mac.map(|byte| format!("{byte:02x}")).join(":")
}

/// The station with a hardware address.
pub(super) fn station_of_mac(mac: [u8; 6], stations: usize) -> Option<usize> {
    let index = usize::from(mac[5]).checked_sub(FIRST_STATION)?;
    (mac[..5] == station_mac(0)[..5] && index < stations).then_some(index)
}

/// The station with an IP address.
pub(super) fn station_of_ip(ip: IpAddr, stations: usize) -> Option<usize> {
    (0..stations).find(|index| ip == station(*index) || ip == station6(*index))
}

/// Port at which the receiver of flow number `flow` listens.
pub fn port(flow: usize) -> u16 {
    FIRST_PORT + flow as u16
}

/// The flow whose receiver listens at `port`.
pub(super) fn flow_of_port(port: u16, flows: usize) -> Option<usize> {
    port.checked_sub(FIRST_PORT).map(usize::from).filter(|flow| *flow < flows)
}
