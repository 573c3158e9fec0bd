//! The probes of the scenario's box as ICMP.

use std::collections::BTreeMap;

use etherparse::PacketBuilder;
use fairair_core::control::Probe;
use fairair_core::packet::{Direction, FlowId};
use fairair_core::units::Instant;

use super::addresses as addr;
use super::frame::Frame;

/// ICMP payload of a probe, as in the simulator.
const PROBE_PAYLOAD: [u8; 16] = *b"fairair probe...";
/// Identifies the box's probes among other pings.
const PROBE_ID: u16 = 0xfa1a;
/// Flow numbers of probes count down from here: those of connections count up.
const LAST_FLOW: u32 = u32::MAX;

/// The probes that were sent.
#[derive(Default)]
pub(super) struct Probes {
    /// The probe behind each ICMP sequence number.
    sent: BTreeMap<u16, u64>,
    last: u16,
}

impl Probes {
    /// The probe that an echo reply answers.
    pub(super) fn find(&self, id: u16, seq: u16) -> Option<u64> {
        self.sent.get(&seq).copied().filter(|_| id == PROBE_ID)
    }

    /// An echo request of the box to a station.
    pub(super) fn echo(&mut self, now: Instant, probe: Probe) -> Frame {
        self.last = self.last.wrapping_add(1);
        self.sent.insert(self.last, probe.id);
        let index = probe.station.station_index().expect("probes name their station");
        let builder = PacketBuilder::ethernet2(addr::BOX_MAC, addr::station_mac(index))
            .ipv4(addr::BOX.octets(), addr::station(index).octets(), 64)
            .icmpv4_echo_request(PROBE_ID, self.last);
        let mut bytes = Vec::with_capacity(builder.size(PROBE_PAYLOAD.len()));
        builder.write(&mut bytes, &PROBE_PAYLOAD).expect("a short payload, written to memory");
        Frame {
            bytes,
            station: probe.station,
            flow: FlowId(LAST_FLOW - probe.station.0),
            direction: Direction::Down,
            tcp: None,
            of_scenario: None,
            probe: Some(probe.id),
            relayed: false,
            datagram: 0,
            enqueued_at: now,
        }
    }
}
