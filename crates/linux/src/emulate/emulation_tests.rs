//! Conversations with the emulation: frames in, frames out, each at its time.

use etherparse::{PacketBuilder, SlicedPacket, TransportSlice};
use fairair_core::scenario::Scenario;
use fairair_core::units::{Duration, Instant};

use super::addresses as addr;
use super::emulation::{Departure, Emulation, Port};

const GATEWAY_MAC: [u8; 6] = [0x02, 0xfa, 0, 0, 0, 1];
const EVERYBODY: [u8; 6] = [0xff; 6];

fn scenario(rest: &str) -> Scenario {
    let text = format!(
        "name = \"s\"\n[run]\nduration = \"9 s\"\nwarmup = \"0 s\"\n[tcp]\nwindow = 10\n{rest}\n[[station]]\nname = \"a\"\n\
         flows = [{{ direction = \"up\" }}]\n[[station]]\nname = \"b\"\n[[station]]\nname = \"c\"\n"
    );
    Scenario::from_toml(&text, "s.toml").unwrap()
}

fn at_micros(us: u64) -> Instant {
    Instant::ZERO + Duration::from_micros(us)
}

/// A UDP datagram with `payload` bytes in a frame.
fn udp(from: [u8; 6], to: [u8; 6], payload: usize) -> Vec<u8> {
    let builder = PacketBuilder::ethernet2(from, to).ipv4([10, 0, 0, 11], [10, 1, 0, 2], 64).udp(9, 9);
    let mut bytes = Vec::new();
    builder.write(&mut bytes, &vec![0; payload]).unwrap();
    bytes
}

/// An ARP request for an address.
fn arp(from: [u8; 6], asked: [u8; 4]) -> Vec<u8> {
    let ethernet = [EVERYBODY.to_vec(), from.to_vec(), vec![8, 6]].concat();
    let arp = [vec![0, 1, 8, 0, 6, 4, 0, 1], from.to_vec(), vec![10, 0, 0, 99], vec![0; 6], asked.to_vec()].concat();
    [ethernet, arp].concat()
}

/// All that leaves the cell up to a time.
fn departures(cell: &mut Emulation, until: Instant) -> Vec<Departure> {
    cell.handle_timeout(until);
    std::iter::from_fn(|| cell.poll_departure()).collect()
}

/// Where frames leave the cell, in the order of time.
fn ports(cell: &mut Emulation) -> Vec<Port> {
    departures(cell, at_micros(100_000)).iter().map(|departure| departure.port).collect()
}

/// A frame of 1500 IP bytes at 11 Mbit/s: DIFS 50, long preamble 192, 36 + 1500 bytes 1117.09, rounded up to 1118 us by the
/// standard; then 120 us at the wire's 100 Mbit/s. However late the driver wakes, the frame says when it was due.
#[test]
fn a_lone_frame_takes_what_the_standard_says_and_leaves_at_its_time() {
    let scenario = scenario("");
    for late in [2_000, 50_000] {
        let mut cell = Emulation::new(&scenario, 1);
        cell.handle_frame(at_micros(0), Port::Station(0), udp(addr::station_mac(0), GATEWAY_MAC, 1472));
        let out = departures(&mut cell, at_micros(late));
        assert_eq!(out.len(), 1);
        assert_eq!((out[0].port, out[0].due), (Port::Wire, at_micros(50 + 192 + 1118 + 120)), "late by {late} us");
        assert_eq!(out[0].bytes.len(), 1514, "nothing is changed");
    }
}

#[test]
fn frames_find_their_way_by_hardware_address() {
    let scenario = scenario("");
    let mut cell = Emulation::new(&scenario, 1);
    let b = addr::station_mac(1);
    cell.handle_frame(at_micros(0), Port::Wire, udp(GATEWAY_MAC, b, 100));
    assert_eq!(ports(&mut cell), [Port::Station(1)]);
    cell.handle_frame(at_micros(200_000), Port::Station(0), udp(addr::station_mac(0), b, 100));
    assert_eq!(departures(&mut cell, at_micros(300_000)).len(), 1, "from station to station through the AP");
    cell.handle_frame(at_micros(400_000), Port::Wire, udp(GATEWAY_MAC, [2, 9, 9, 9, 9, 9], 100));
    assert_eq!(departures(&mut cell, at_micros(500_000)), []);
    assert_eq!(cell.uncarried().unknown, 1);
}

#[test]
fn questions_reach_whom_they_ask_for_and_other_broadcasts_everybody() {
    let scenario = scenario("");
    let gateway = |bytes| {
        let mut cell = Emulation::new(&scenario, 1);
        cell.handle_frame(at_micros(0), Port::Wire, bytes);
        ports(&mut cell)
    };
    assert_eq!(gateway(arp(GATEWAY_MAC, [10, 0, 0, 13])), [Port::Station(2)]);
    assert_eq!(gateway(arp(GATEWAY_MAC, [10, 0, 0, 200])), [], "no station's address");
    assert_eq!(gateway(udp(GATEWAY_MAC, EVERYBODY, 10)), [0, 1, 2].map(Port::Station));
    let station = |bytes| {
        let mut cell = Emulation::new(&scenario, 1);
        cell.handle_frame(at_micros(0), Port::Station(0), bytes);
        ports(&mut cell)
    };
    assert_eq!(station(arp(addr::station_mac(0), [10, 0, 0, 1])), [Port::Wire], "the gateway's address");
    assert_eq!(station(arp(addr::station_mac(0), [10, 0, 0, 12])), [Port::Station(1)], "another station's");
    let mut everybody = station(udp(addr::station_mac(0), EVERYBODY, 10));
    everybody.sort_by_key(|port| *port == Port::Wire);
    assert_eq!(everybody, [Port::Station(1), Port::Station(2), Port::Wire], "all but the sender");
    let report = udp(addr::station_mac(0), [0x33, 0x33, 0, 0, 0, 0x16], 10);
    assert_eq!(station(report), [Port::Wire], "membership reports are for routers");
}

/// A TCP segment of the upload's receiver, with a window of 64 kB.
fn ack_of_the_upload(ack: u32) -> Vec<u8> {
    let builder = PacketBuilder::ethernet2(GATEWAY_MAC, addr::station_mac(0))
        .ipv4(addr::HOST.octets(), addr::station(0).octets(), 64)
        .tcp(addr::port(0), 40_000, 1, 65_535)
        .ack(ack);
    let mut bytes = Vec::new();
    builder.write(&mut bytes, &[]).unwrap();
    bytes
}

fn data_of_the_upload(seq: u32, payload: usize) -> Vec<u8> {
    let builder = PacketBuilder::ethernet2(addr::station_mac(0), GATEWAY_MAC)
        .ipv4(addr::station(0).octets(), addr::HOST.octets(), 64)
        .tcp(40_000, addr::port(0), seq, 65_535)
        .ack(1);
    let mut bytes = Vec::new();
    builder.write(&mut bytes, &vec![0; payload]).unwrap();
    bytes
}

#[test]
fn receivers_announce_the_window_of_the_scenario_and_their_acks_count_as_goodput() {
    let scenario = scenario("");
    let mut cell = Emulation::new(&scenario, 1);
    for (us, seq) in [(0, 1000), (1, 2460)] {
        cell.handle_frame(at_micros(us), Port::Station(0), data_of_the_upload(seq, 1460));
    }
    assert_eq!(departures(&mut cell, at_micros(50_000)).len(), 2);
    cell.handle_frame(at_micros(60_000), Port::Wire, ack_of_the_upload(1000 + 1460));
    let out = departures(&mut cell, at_micros(100_000));
    let packet = SlicedPacket::from_ethernet(&out[0].bytes).unwrap();
    let Some(TransportSlice::Tcp(tcp)) = packet.transport else { panic!("it is TCP") };
    assert_eq!(tcp.window_size(), 14_600, "ten segments");
    let flow = &cell.record(at_micros(100_000)).flows[0];
    assert_eq!((flow.delivered_bytes, flow.sent_packets, flow.retransmits), (1460, 2, 0));
}

#[test]
fn a_transfer_lasts_from_the_first_syn_to_the_last_ack_at_its_sender() {
    let text = "name = \"s\"\n[run]\nduration = \"9 s\"\nwarmup = \"0 s\"\n[wire]\ndelay = \"30 ms\"\n[[station]]\nname = \"a\"\n\
                flows = [{ direction = \"up\", kind = \"files\", size = \"2 kB\" }]\n";
    let scenario = Scenario::from_toml(text, "s.toml").unwrap();
    let mut cell = Emulation::new(&scenario, 1);
    let tcp = || {
        PacketBuilder::ethernet2(addr::station_mac(0), GATEWAY_MAC)
            .ipv4(addr::station(0).octets(), addr::HOST.octets(), 64)
            .tcp(40_000, addr::port(0), 999, 65_535)
    };
    for us in [5_000, 105_000] {
        let mut syn = Vec::new();
        tcp().syn().write(&mut syn, &[]).unwrap();
        cell.handle_frame(at_micros(us), Port::Station(0), syn);
        departures(&mut cell, at_micros(us + 90_000));
    }
    for (us, seq, payload) in [(200_000, 1000, 1460), (201_000, 2460, 540)] {
        cell.handle_timeout(at_micros(us));
        cell.handle_frame(at_micros(us), Port::Station(0), data_of_the_upload(seq, payload));
    }
    departures(&mut cell, at_micros(300_000));
    cell.handle_frame(at_micros(300_000), Port::Wire, ack_of_the_upload(1000 + 1460));
    departures(&mut cell, at_micros(400_000));
    assert_eq!(cell.poll_finished(), None, "part of the file");
    cell.handle_frame(at_micros(400_000), Port::Wire, ack_of_the_upload(1000 + 2000));
    let out = departures(&mut cell, at_micros(500_000));
    assert_eq!((cell.poll_finished(), cell.poll_finished()), (Some(0), None));
    let flow = &cell.record(at_micros(500_000)).flows[0];
    assert_eq!(flow.transfer_times, [out[0].due - at_micros(5_000)], "from the first of two SYNs");
    assert_eq!(flow.delivered_bytes, 2000);
}

/// Station b's answer to a ping of the fixed host.
fn pong() -> Vec<u8> {
    let builder = PacketBuilder::ethernet2(addr::station_mac(1), GATEWAY_MAC)
        .ipv4(addr::station(1).octets(), addr::HOST.octets(), 64)
        .icmpv4_echo_reply(7, 1);
    let mut bytes = Vec::new();
    builder.write(&mut bytes, &[0; 56]).unwrap();
    bytes
}

#[test]
fn the_box_holds_frames_to_its_capacity_and_its_probes_are_answered_to_it() {
    let shaped = scenario("[enforce]\ncapacity = \"1 Mbit/s\"");
    let mut cell = Emulation::new(&shaped, 1);
    for us in 0..20 {
        cell.handle_frame(at_micros(us), Port::Wire, udp(GATEWAY_MAC, addr::station_mac(1), 1472));
    }
    let out = departures(&mut cell, at_micros(150_000));
    // 12 ms for each frame of 12,000 bits at C.
    assert!((12..=13).contains(&out.len()), "{} frames in 150 ms", out.len());
    let probing = scenario("[enforce]\ncapacity = \"auto\"");
    let mut cell = Emulation::new(&probing, 1);
    let mut now = 0;
    let mut answered = 0;
    while now < 2_000_000 {
        now += 500;
        if now % 5_000 == 0 {
            cell.handle_timeout(at_micros(now));
            // The controller probes stations that have traffic, though they answer somebody's ping now and then.
            cell.handle_frame(at_micros(now), Port::Wire, udp(GATEWAY_MAC, addr::station_mac(1), 1000));
            if now % 500_000 == 0 {
                cell.handle_frame(at_micros(now), Port::Station(1), pong());
            }
        }
        for departure in departures(&mut cell, at_micros(now)) {
            let Port::Station(station) = departure.port else { continue };
            let packet = SlicedPacket::from_ethernet(&departure.bytes).unwrap();
            let Some(TransportSlice::Icmpv4(icmp)) = packet.transport else { continue };
            let etherparse::Icmpv4Type::EchoRequest(echo) = icmp.icmp_type() else { panic!("only requests go down") };
            let builder = PacketBuilder::ethernet2(addr::station_mac(station), addr::BOX_MAC)
                .ipv4(addr::station(station).octets(), addr::BOX.octets(), 64)
                .icmpv4_echo_reply(echo.id, echo.seq);
            let mut bytes = Vec::new();
            builder.write(&mut bytes, icmp.payload()).unwrap();
            cell.handle_frame(at_micros(now), Port::Station(station), bytes);
            answered += 1;
        }
    }
    let control = cell.record(at_micros(now)).enforce.unwrap().control;
    assert!(answered > 10 && control.replies >= control.probes.saturating_sub(1), "{control:?}, {answered} answered");
}

/// The live box's echo requests are probes too: they have no wire to cross, deaf stations never hear them and sleeping ones
/// late.
#[test]
fn a_live_boxs_probes_meet_the_habits_of_stations_and_no_wire() {
    let events = "[wire]\ndelay = \"50 ms\"\n[[event]]\nat = \"1 s\"\nkind = \"deaf\"\nstation = \"a\"\n\
                  [[event]]\nat = \"1 s\"\nkind = \"sleep\"\nstation = \"b\"\n";
    let scenario = scenario(events);
    let mut cell = Emulation::new(&scenario, 1);
    let ask = |station: usize| {
        let builder = PacketBuilder::ethernet2(addr::BOX_MAC, addr::station_mac(station))
            .ipv4(addr::BOX.octets(), addr::station(station).octets(), 64)
            .icmpv4_echo_request(0xfa1a, 1);
        let mut bytes = Vec::new();
        builder.write(&mut bytes, &[0; 24]).unwrap();
        bytes
    };
    let reply = PacketBuilder::ethernet2(addr::station_mac(1), addr::BOX_MAC)
        .ipv4(addr::station(1).octets(), addr::BOX.octets(), 64)
        .icmpv4_echo_reply(0xfa1a, 1);
    let mut back = Vec::new();
    reply.write(&mut back, &[0; 24]).unwrap();
    for station in [0, 1] {
        cell.handle_frame(at_micros(0), Port::Wire, ask(station));
    }
    cell.handle_timeout(at_micros(5_000));
    cell.handle_frame(at_micros(5_000), Port::Station(1), back);
    let out = departures(&mut cell, at_micros(10_000));
    let ports: Vec<Port> = out.iter().map(|departure| departure.port).collect();
    assert_eq!(ports, [Port::Station(0), Port::Station(1), Port::Wire], "at once");
    departures(&mut cell, at_micros(1_000_000));
    for station in [0, 1] {
        cell.handle_frame(at_micros(1_000_000), Port::Wire, ask(station));
    }
    let out = departures(&mut cell, at_micros(2_000_000));
    assert_eq!(out.iter().map(|departure| departure.port).collect::<Vec<_>>(), [Port::Station(1)], "a is deaf");
    assert!(out[0].due >= at_micros(1_100_000), "b sleeps for 100 ms at least: {:?}", out[0].due);
}
