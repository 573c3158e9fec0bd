//! Flows of a class apart: a small HTB below the class, with a queue for small packets and some for connections by hash.
//!
//! For kernels without FQ-CoDel. The HTB never holds anything up: its rate is out of reach. It stands *below* the class of
//! the station, because HTB divides what inner classes borrow by the quanta of their leaves: as classes of the pool's own
//! HTB, a station's flows would take from other stations.

use std::fmt::Write as _;

use fairair_core::shaper::limit::QUEUE_TIME;
use fairair_core::units::Bytes;

use super::IFB;
use super::leaf::NO_BURST;

/// Queues for connections.
const BUCKETS: u16 = 8;
/// Minor number of the class for small packets.
const SMALL: u16 = 2;
/// Minor number of the first class for connections: a multiple of [`BUCKETS`].
const FIRST: u16 = 0x10;
/// Longest IP packet of ICMP or DNS that is small.
const LONGEST_SMALL: u32 = 600;

/// What the small HTB of a leaf needs to know.
pub(super) struct Flows<'a> {
    /// Where the HTB goes: parent of the leaf's queue.
    pub(super) parent: (u16, u16),
    /// Its own handle.
    pub(super) handle: u16,
    /// Discipline of each queue, with its options.
    pub(super) queue: &'a str,
    /// What the class may hold.
    pub(super) limit: Bytes,
    /// Largest packet.
    pub(super) largest: Bytes,
}

impl Flows<'_> {
    /// What makes it, for `tc -batch`.
    pub(super) fn create(&self) -> String {
        let Flows { parent: (major, minor), handle, queue, limit, largest } = self;
        // Small packets go first up to a quarter of the class's rate; beyond that they are one flow among the others, so that a
        // flood of them starves nobody.
        let ahead = (limit.0 as f64 * 8.0 / QUEUE_TIME.as_secs_f64() / 4.0) as u64;
        let quantum = largest.0 + 14;
        let mut lines = format!(
            "qdisc replace dev {IFB} parent {major:x}:{minor:x} handle {handle:x}: htb default {FIRST:x}\n\
             class add dev {IFB} parent {handle:x}: classid {handle:x}:1 htb rate 100gbit ceil 100gbit burst 10m cburst 10m \
             quantum {quantum}\n\
             class add dev {IFB} parent {handle:x}:1 classid {handle:x}:{SMALL:x} htb rate {ahead}bit ceil 100gbit burst {} \
             cburst 1m quantum {quantum}\n",
            (limit.0 / 4).max(1600)
        );
        for bucket in FIRST..FIRST + BUCKETS {
            let _ = writeln!(
                lines,
                "class add dev {IFB} parent {handle:x}:1 classid {handle:x}:{bucket:x} htb rate 8bit ceil 100gbit burst {NO_BURST} \
                 cburst 1m quantum {quantum}"
            );
        }
        for (_, own) in queues(*handle) {
            let _ = writeln!(lines, "qdisc add dev {IFB} parent {handle:x}:{own:x} {queue}");
        }
        lines + &filter(*handle)
    }
}

/// What adds the classifier to the HTB with this handle, for `tc -batch`.
pub(super) fn filter(handle: u16) -> String {
    let program = program(handle);
    format!(
        "filter add dev {IFB} parent {handle:x}: protocol all pref 1 bpf bytecode \"{program}\" classid {handle:x}:{FIRST:x}\n"
    )
}

/// Parents of the queues below the HTB with this handle.
pub(super) fn queues(handle: u16) -> impl Iterator<Item = (u16, u16)> {
    std::iter::once(SMALL).chain(FIRST..FIRST + BUCKETS).map(move |minor| (handle, minor))
}

/// A line of the classifier: classic BPF with names for what is jumped to.
enum Line {
    /// Where others jump to.
    Here(&'static str),
    /// An operation and its constant.
    Do(u16, u32),
    /// A condition, its constant, where to go if it holds and if not; empty: on to the next line.
    If(u16, u32, &'static str, &'static str),
}

/// Offsets from the IP header (`SKF_NET_OFF`).
const NET: u32 = 0xfff0_0000;
const LOAD_WORD: u16 = 0x20;
const LOAD_HALF: u16 = 0x28;
const LOAD_BYTE: u16 = 0x30;
/// The same behind X.
const X_WORD: u16 = 0x40;
const X_HALF: u16 = 0x48;
const X_BYTE: u16 = 0x50;
const IMMEDIATE: u16 = 0x00;
const RECALL: u16 = 0x60;
const RECALL_X: u16 = 0x61;
const STORE: u16 = 0x02;
const ADD: u16 = 0x04;
const ADD_X: u16 = 0x0c;
const MULTIPLY: u16 = 0x24;
const OR: u16 = 0x44;
const AND: u16 = 0x54;
const LEFT: u16 = 0x64;
const RIGHT: u16 = 0x74;
const XOR_X: u16 = 0xac;
const TO_X: u16 = 0x07;
const EQUAL: u16 = 0x15;
const EQUAL_X: u16 = 0x1d;
const ABOVE: u16 = 0x25;
const ANY_BIT: u16 = 0x45;
const ANSWER: u16 = 0x06;
const ANSWER_A: u16 = 0x16;

/// Memory: header length, hash of the ports, IP length, hash of the addresses.
const HEADER: u32 = 1;
const PORTS: u32 = 2;
const LENGTH: u32 = 3;
const ADDRESSES: u32 = 4;

/// The classifier, as `tc` reads it: answers the class of a packet.
///
/// Small are ICMP and DNS up to [`LONGEST_SMALL`], and TCP without data unless it ends a connection: a FIN or RST must not
/// overtake data. All others go by a hash of addresses and ports; fragments by addresses, so that none overtakes another.
fn program(handle: u16) -> String {
    use Line::{Do, Here, If};
    let base = u32::from(handle) << 16;
    let mut lines = vec![
        Do(IMMEDIATE, 0),
        Do(STORE, PORTS),
        Do(LOAD_BYTE, NET),
        Do(RIGHT, 4),
        If(EQUAL, 6, "ipv6", ""),
        If(EQUAL, 4, "", "other"),
        Do(LOAD_HALF, NET + 2),
        Do(STORE, LENGTH),
        Do(LOAD_WORD, NET + 12),
        Do(MULTIPLY, 0x9e37_79b1),
        Do(TO_X, 0),
        Do(LOAD_WORD, NET + 16),
        Do(XOR_X, 0),
        Do(STORE, ADDRESSES),
        Do(LOAD_HALF, NET + 6),
        If(ANY_BIT, 0x3fff, "hash", ""),
        Do(LOAD_BYTE, NET),
        Do(AND, 15),
        Do(LEFT, 2),
        Do(STORE, HEADER),
        Do(LOAD_BYTE, NET + 9),
        If(EQUAL, 1, "brief", "transport"),
        Here("ipv6"),
        Do(LOAD_HALF, NET + 4),
        Do(ADD, 40),
        Do(STORE, LENGTH),
    ];
    // The parts of both addresses that differ between hosts.
    lines.push(Do(LOAD_WORD, NET + 12));
    for offset in [16, 20, 28, 32, 36] {
        lines.extend([Do(MULTIPLY, 0x9e37_79b1), Do(TO_X, 0), Do(LOAD_WORD, NET + offset), Do(XOR_X, 0)]);
    }
    lines.extend([
        Do(STORE, ADDRESSES),
        Do(IMMEDIATE, 40),
        Do(STORE, HEADER),
        Do(LOAD_BYTE, NET + 6),
        If(EQUAL, 58, "brief", ""),
        Here("transport"),
        Do(RECALL_X, HEADER),
        If(EQUAL, 6, "", "datagram"),
        Do(X_BYTE, NET + 13),
        If(ANY_BIT, 0x05, "ports", ""),
        Do(X_BYTE, NET + 12),
        Do(AND, 0xf0),
        Do(RIGHT, 2),
        Do(ADD_X, 0),
        Do(TO_X, 0),
        Do(RECALL, LENGTH),
        If(EQUAL_X, 0, "small", "ports"),
        Here("datagram"),
        If(EQUAL, 17, "", "hash"),
        Do(X_HALF, NET),
        If(EQUAL, 53, "brief", ""),
        Do(X_HALF, NET + 2),
        If(EQUAL, 53, "", "ports"),
        Here("brief"),
        Do(RECALL, LENGTH),
        If(ABOVE, LONGEST_SMALL, "hash", "small"),
        Here("small"),
        Do(ANSWER, base | u32::from(SMALL)),
        Here("ports"),
        Do(RECALL_X, HEADER),
        Do(X_WORD, NET),
        Do(MULTIPLY, 0x85eb_ca6b),
        Do(STORE, PORTS),
        Here("hash"),
        Do(RECALL, ADDRESSES),
        Do(RECALL_X, PORTS),
        Do(XOR_X, 0),
        Do(MULTIPLY, 0xc2b2_ae35),
        Do(RIGHT, 32 - BUCKETS.trailing_zeros()),
        Do(OR, base | u32::from(FIRST)),
        Do(ANSWER_A, 0),
        Here("other"),
        Do(ANSWER, base | u32::from(FIRST)),
    ]);
    assemble(&lines)
}

/// The number of instructions and each of them, with commas between.
fn assemble(lines: &[Line]) -> String {
    let place = |wanted: &str| {
        let mut at = 0;
        for line in lines {
            match line {
                Line::Here(name) if *name == wanted => return at,
                Line::Here(_) => {}
                Line::Do(..) | Line::If(..) => at += 1,
            }
        }
        unreachable!("there is no {wanted}")
    };
    let mut words = Vec::new();
    for line in lines {
        let next = words.len() + 1;
        let ahead = |name: &str| if name.is_empty() { 0 } else { place(name) - next };
        match line {
            Line::Here(_) => {}
            Line::Do(code, constant) => words.push(format!("{code} 0 0 {constant}")),
            Line::If(code, constant, yes, no) => {
                words.push(format!("{code} {} {} {constant}", ahead(yes), ahead(no)));
            }
        }
    }
    format!("{},{}", words.len(), words.join(","))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Where [`program`] of handle 0x2101 sends an IP packet, by a small machine for classic BPF.
    fn class_of(packet: &[u8]) -> u32 {
        let text = program(0x2101);
        let lines: Vec<Vec<u32>> =
            text.split(',').skip(1).map(|line| line.split(' ').map(|word| word.parse().unwrap()).collect()).collect();
        assert_eq!(text.split(',').next().unwrap().parse(), Ok(lines.len()));
        let (mut a, mut x, mut memory, mut at) = (0_u32, 0_u32, [0_u32; 16], 0);
        let load = |offset: u32, size: usize| {
            let offset = offset.wrapping_sub(NET) as usize;
            packet[offset..offset + size].iter().fold(0, |all, byte| all << 8 | u32::from(*byte))
        };
        loop {
            let [code, yes, no, k] = lines[at][..] else { panic!("a line has four words") };
            at += 1;
            match code as u16 {
                LOAD_WORD => a = load(k, 4),
                LOAD_HALF => a = load(k, 2),
                LOAD_BYTE => a = load(k, 1),
                X_WORD => a = load(k.wrapping_add(x), 4),
                X_HALF => a = load(k.wrapping_add(x), 2),
                X_BYTE => a = load(k.wrapping_add(x), 1),
                IMMEDIATE => a = k,
                RECALL => a = memory[k as usize],
                RECALL_X => x = memory[k as usize],
                STORE => memory[k as usize] = a,
                ADD => a = a.wrapping_add(k),
                ADD_X => a = a.wrapping_add(x),
                MULTIPLY => a = a.wrapping_mul(k),
                OR => a |= k,
                AND => a &= k,
                LEFT => a <<= k,
                RIGHT => a >>= k,
                XOR_X => a ^= x,
                TO_X => x = a,
                EQUAL => at += (if a == k { yes } else { no }) as usize,
                EQUAL_X => at += (if a == x { yes } else { no }) as usize,
                ABOVE => at += (if a > k { yes } else { no }) as usize,
                ANY_BIT => at += (if a & k != 0 { yes } else { no }) as usize,
                ANSWER => return k,
                ANSWER_A => return a,
                other => panic!("no code {other}"),
            }
        }
    }

    /// An IP packet of `length` with these first bytes behind its header.
    fn packet(is_v4: bool, protocol: u8, length: u16, rest: &[u8], own: u8) -> Vec<u8> {
        let mut packet = if is_v4 {
            let mut head = vec![0x45, 0, 0, 0, 0, 0, 0x40, 0, 64, protocol, 0, 0, 10, 1, 0, own, 10, 2, 0, 2];
            head[2..4].copy_from_slice(&length.to_be_bytes());
            head
        } else {
            let mut head = vec![0x60, 0, 0, 0, 0, 0, protocol, 64];
            head[4..6].copy_from_slice(&(length - 40).to_be_bytes());
            head.extend([0xfd, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, own]);
            head.extend([0xfd, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2]);
            head
        };
        packet.extend(rest);
        packet.resize(packet.len() + 40, 0);
        packet
    }

    fn tcp(port: u8, flags: u8) -> [u8; 14] {
        [0x13, port, 0x13, 0x89, 0, 0, 0, 0, 0, 0, 0, 0, 0x80, flags]
    }

    const SMALL_CLASS: u32 = 0x2101_0002;

    #[test]
    fn acks_pings_and_names_go_first_and_nothing_that_carries_data_of_a_connection() {
        const ACK: u8 = 0x10;
        for (is_v4, header, icmp) in [(true, 20, 1), (false, 40, 58)] {
            let class = |protocol, length, rest: &[u8]| class_of(&packet(is_v4, protocol, length, rest, 2));
            assert_eq!(class(6, header + 32, &tcp(1, ACK)), SMALL_CLASS, "a bare ACK");
            assert_eq!(class(6, header + 32, &tcp(1, 0x02)), SMALL_CLASS, "a SYN");
            assert_eq!(class(icmp, 84, &[8, 0]), SMALL_CLASS, "a ping");
            assert_eq!(class(17, 120, &[0, 53, 200, 1]), SMALL_CLASS, "a name");
            assert_eq!(class(17, 120, &[200, 1, 0, 53]), SMALL_CLASS, "a question for it");
            let data = class(6, header + 33, &tcp(1, ACK));
            assert_eq!(data & 0xffff_fff8, 0x2101_0010, "a byte of data");
            assert_eq!(class(6, header + 32, &tcp(1, ACK | 1)), data, "a FIN stays behind the data");
            assert_eq!(class(6, header + 32, &tcp(1, ACK | 4)), data, "a RST as well");
            assert_eq!(class(6, 1500, &tcp(1, ACK)), data, "a connection has one queue");
            assert_ne!(class(icmp, 1500, &[8, 0]), SMALL_CLASS, "a large ping");
            assert_ne!(class(17, 120, &[200, 1, 200, 2]), SMALL_CLASS, "a datagram");
        }
        assert_eq!(class_of(&[0x30; 60]), 0x2101_0010, "no IP");
    }

    #[test]
    fn fragments_stay_together() {
        let mut first = packet(true, 17, 1500, &[200, 1, 0, 53], 2);
        let mut second = packet(true, 17, 300, &[9, 9, 9, 9], 2);
        first[6] = 0x20;
        second[6] = 0x00;
        second[7] = 185;
        assert_eq!(class_of(&first), class_of(&second));
        assert_ne!(class_of(&first), SMALL_CLASS);
    }

    #[test]
    fn connections_spread_over_all_queues() {
        for is_v4 in [true, false] {
            let mut hits = [0; BUCKETS as usize];
            for own in 2..6 {
                for port in 0..200 {
                    hits[(class_of(&packet(is_v4, 6, 1500, &tcp(port, 0x10), own)) & 7) as usize] += 1;
                }
            }
            assert!(hits.iter().all(|hits| (60..140).contains(hits)), "{hits:?}");
        }
    }
}
