//! Which connection a frame belongs to, and what its receiver has got so far.

use std::collections::BTreeMap;
use std::net::IpAddr;

use fairair_core::packet::{Direction, FlowId, TcpView};
use fairair_core::units::{Duration, Instant};

use super::frame::{Tcp, TcpHeader};

/// A connection that was silent for so long is forgotten: Linux gives up a stalled one after about 15 minutes.
const FORGET_AFTER: Duration = Duration::from_secs(1000);
const SWEEP_EVERY: Duration = Duration::from_secs(10);

/// A connection, seen from its station.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Key {
    pub(super) station: IpAddr,
    pub(super) far: IpAddr,
    pub(super) protocol: u8,
    pub(super) station_port: u16,
    pub(super) far_port: u16,
}

/// What one end of a connection has sent.
#[derive(Clone, Copy, Debug, Default)]
struct End {
    /// Sequence number of the first payload byte.
    base: Option<u32>,
    /// End of the payload sent, from `base`.
    sent_to: u64,
    /// What the other end has acknowledged of it.
    acked_to: u64,
    /// The window scale that it announced.
    scale: Option<u8>,
    timestamps: bool,
}

struct Connection {
    flow: FlowId,
    /// By the [`Direction`] that the end sends in.
    ends: [End; 2],
    seen_at: Instant,
}

/// Fields of a TCP segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Seen {
    pub(super) flow: FlowId,
    pub(super) tcp: Tcp,
    /// Bytes that the sender of this segment newly acknowledges: they reached it in order.
    pub(super) newly_acked: u64,
    /// Whether it repeats payload.
    pub(super) retransmits: bool,
    /// Bytes of options in each data segment.
    pub(super) options: u32,
}

/// All connections that are alive.
#[derive(Default)]
pub(super) struct Connections {
    map: BTreeMap<Key, Connection>,
    next: u32,
    next_sweep: Instant,
}

impl Connections {
    /// The flow number of packets that are not TCP.
    pub(super) fn flow(&mut self, now: Instant, key: Key) -> FlowId {
        self.connection(now, key, false).flow
    }

    /// A TCP segment sent in `direction`.
    pub(super) fn observe(&mut self, now: Instant, key: Key, direction: Direction, header: &TcpHeader) -> Seen {
        // A SYN with another initial number opens the next connection between the same ports.
        let first = header.seq.wrapping_add(1);
        let known = self.map.get(&key).and_then(|connection| connection.ends[direction as usize].base);
        let anew = header.syn && !header.acks && known.is_some_and(|base| base != first);
        let connection = self.connection(now, key, anew);
        let [near, far] = [direction as usize, direction.reverse() as usize];
        let end = &mut connection.ends[near];
        let base = *end.base.get_or_insert(if header.syn { first } else { header.seq });
        let seq = if header.syn { 0 } else { unwrapped(header.seq, base, end.sent_to) };
        if header.syn {
            end.scale = header.scale;
            end.timestamps = header.timestamps;
        }
        let retransmits = header.payload > 0 && seq < end.sent_to;
        end.sent_to = end.sent_to.max(seq + u64::from(header.payload));
        let mine = *end;
        let theirs = &mut connection.ends[far];
        let mut ack = 0;
        let mut newly_acked = 0;
        if header.acks {
            let base = *theirs.base.get_or_insert(header.ack);
            // A FIN counts one that is no payload.
            ack = unwrapped(header.ack, base, theirs.acked_to).min(theirs.sent_to);
            newly_acked = ack.saturating_sub(theirs.acked_to);
            theirs.acked_to += newly_acked;
        }
        // RFC 7323 section 2.2: only when both announced it, and never in SYNs.
        let scale = match (mine.scale, theirs.scale) {
            (Some(shift), Some(_)) if !header.syn => shift,
            _ => 0,
        };
        let options = if mine.timestamps && theirs.timestamps { 12 } else { 0 };
        let view = TcpView { seq, payload: header.payload, ack, syn: header.syn, cwnd: None };
        let tcp = Tcp { view, acks: header.acks, at: header.at, scale };
        Seen { flow: connection.flow, tcp, newly_acked, retransmits, options }
    }

    fn connection(&mut self, now: Instant, key: Key, anew: bool) -> &mut Connection {
        if now >= self.next_sweep {
            self.next_sweep = now + SWEEP_EVERY;
            self.map.retain(|_, connection| now < connection.seen_at + FORGET_AFTER);
        }
        if anew {
            self.map.remove(&key);
        }
        let next = &mut self.next;
        let connection = self.map.entry(key).or_insert_with(|| {
            *next += 1;
            Connection { flow: FlowId(*next - 1), ends: [End::default(); 2], seen_at: now }
        });
        connection.seen_at = now;
        connection
    }
}

/// The 64-bit position of `number`, counted from `base`, that is next to `near`; what lies before `base` is 0.
fn unwrapped(number: u32, base: u32, near: u64) -> u64 {
    let ahead = number.wrapping_sub(base).wrapping_sub(near as u32) as i32;
    near.saturating_add_signed(i64::from(ahead))
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEY: Key = Key {
        station: IpAddr::V4(std::net::Ipv4Addr::new(10, 0, 0, 2)),
        far: IpAddr::V4(std::net::Ipv4Addr::new(10, 1, 0, 2)),
        protocol: 6,
        station_port: 4000,
        far_port: 5201,
    };

    const BLANK: TcpHeader = TcpHeader {
        at: 34,
        ports: (0, 0),
        seq: 0,
        ack: 0,
        payload: 0,
        syn: false,
        acks: true,
        scale: None,
        timestamps: false,
    };

    /// An upload with a handshake, a loss and a retransmission, across the wrap of sequence numbers.
    #[test]
    fn an_upload_is_followed_through_loss_and_wrap() {
        let mut all = Connections::default();
        let isn = u32::MAX - 1000;
        let mut say = |direction, header: TcpHeader| all.observe(Instant::ZERO, KEY, direction, &header);
        let syn = TcpHeader { seq: isn, syn: true, acks: false, scale: Some(7), timestamps: true, ..BLANK };
        assert_eq!(say(Direction::Up, syn).tcp.scale, 0, "never in SYNs");
        say(
            Direction::Down,
            TcpHeader { seq: 500, ack: isn + 1, syn: true, scale: Some(5), timestamps: true, ..BLANK },
        );
        let data = |seq: u32| TcpHeader { seq: isn.wrapping_add(1 + seq), ack: 501, payload: 1448, ..BLANK };
        let ack = |ack: u32| TcpHeader { seq: 501, ack: isn.wrapping_add(1 + ack), ..BLANK };
        let first = say(Direction::Up, data(0));
        assert_eq!((first.tcp.view.seq, first.tcp.scale, first.options), (0, 7, 12));
        assert_eq!(say(Direction::Up, data(1448)).tcp.view.seq, 1448, "behind the wrap");
        assert_eq!(say(Direction::Down, ack(1448)).newly_acked, 1448);
        assert_eq!(say(Direction::Down, ack(1448)).newly_acked, 0, "a duplicate");
        let again = say(Direction::Up, data(1448));
        assert!(again.retransmits && !first.retransmits);
        let last = say(Direction::Down, ack(2896));
        assert_eq!((last.newly_acked, last.tcp.scale), (1448, 5));
        assert_eq!(say(Direction::Down, ack(1448)).newly_acked, 0, "an old ACK");
    }

    #[test]
    fn a_new_syn_between_the_same_ports_is_another_flow() {
        let mut all = Connections::default();
        let syn = |seq| TcpHeader { seq, syn: true, acks: false, ..BLANK };
        let mut flow = |seq| all.observe(Instant::ZERO, KEY, Direction::Up, &syn(seq)).flow;
        let first = flow(1);
        assert_eq!(flow(1), first, "a retransmitted SYN");
        assert_ne!(flow(90_000), first);
    }
}
