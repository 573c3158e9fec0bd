//! A channel that tests put frames on by hand.

use fairair::pcap::Writer;
use fairair_core::mac::{
    AirBody, AirFrame, LLC_SNAP, MAC_ACK, MAC_HEADER_FCS, Phy, Place, PpduRules, Preamble, Reception, TxVector,
};
use fairair_core::packet::{Direction, FlowId, Kind, NO_SACK, NodeId, Packet, Segment};
use fairair_core::scenario::Radio;
use fairair_core::units::{Bitrate, Bytes, Duration, Instant};

const STATION: NodeId = NodeId(1);
pub(crate) const MSS: u32 = 1460;
pub(crate) const RADIOTAP_LEN: u64 = 22;
/// TCP from the station, TCP to the station, UDP to the station.
pub(crate) const FLOWS: [Direction; 3] = [Direction::Up, Direction::Down, Direction::Down];

pub(crate) fn radio(phy: Phy) -> Radio {
    let (rate, basic_rate) = if phy == Phy::B { (11, 2) } else { (54, 24) };
    Radio {
        phy,
        rate: Bitrate::mbps(rate),
        basic_rate: Bitrate::mbps(basic_rate),
        protection_rate: None,
        preamble: Preamble::Short,
        retry_limit: 7,
        eifs: true,
        cw_min: None,
        cw_max: None,
        qos: None,
    }
}

/// A segment without payload; the callers fill in what else matters.
pub(crate) fn segment(flow: u32, direction: Direction, kind: Kind) -> Segment {
    Segment {
        flow: FlowId(flow),
        station: STATION,
        direction,
        kind,
        incarnation: 0,
        category: fairair_core::packet::Category::BestEffort,
        seq: 0,
        payload: 0,
        ack: 0,
        window: 61_320,
        cwnd: 0,
        push: false,
        sack: NO_SACK,
        ecn: fairair_core::packet::Ecn::NONE,
        enqueued_at: Instant::ZERO,
    }
}

/// The channel: each call puts frames on it, one after the other.
pub(crate) struct Air {
    pub(crate) radio: Radio,
    now: Instant,
    /// Of the AP and of the station.
    sequence: [u16; 2],
    pub(crate) frames: Vec<AirFrame<Segment>>,
}

impl Air {
    pub(crate) fn new(phy: Phy) -> Self {
        Air { radio: radio(phy), now: Instant::from_nanos(5_000_000), sequence: [0, 0], frames: Vec::new() }
    }

    /// One attempt; time goes on to its end.
    pub(crate) fn attempt(&mut self, packet: Segment, retry: bool, reception: Reception) {
        let (transmitter, receiver) = match packet.direction {
            Direction::Up => (packet.station, NodeId::AP),
            Direction::Down => (NodeId::AP, packet.station),
        };
        let len = Bytes(packet.ip_len().0 + LLC_SNAP + MAC_HEADER_FCS);
        let sequence = self.sequence[transmitter.index()];
        let body = AirBody::Data { packet, more: Vec::new(), sequence, retry };
        self.put(transmitter, receiver, self.radio.tx(self.radio.rate), len, reception, body);
        if reception != Reception::Decoded {
            self.now += Duration::from_micros(364); // EIFS
        }
    }

    /// The ACK to the latest frame, after SIFS.
    pub(crate) fn mac_ack(&mut self, reception: Reception) {
        let data = self.frames.last().unwrap().clone();
        self.now += self.radio.phy.sifs(self.radio.band());
        let tx = data.tx.response(self.radio.basic_rate, self.radio.band());
        self.put(data.receiver, data.transmitter, tx, Bytes(MAC_ACK), reception, AirBody::Ack);
    }

    /// A frame that arrives at once, with its ACK.
    pub(crate) fn send(&mut self, packet: Segment) {
        self.attempt(packet, false, Reception::Decoded);
        self.mac_ack(Reception::Decoded);
        self.next();
    }

    fn next(&mut self) {
        let transmitter = self.frames.last().unwrap().receiver;
        self.sequence[transmitter.index()] += 1;
        self.now += Duration::from_micros(50);
    }

    fn put(
        &mut self,
        transmitter: NodeId,
        receiver: NodeId,
        tx: TxVector,
        len: Bytes,
        reception: Reception,
        body: AirBody<Segment>,
    ) {
        let (at, band) = (self.now, self.radio.band());
        let rules = PpduRules::standard(band, self.radio.preamble);
        let duration = tx.ppdu_time(len, &rules);
        let answer = tx.response(self.radio.basic_rate, band).ppdu_time(Bytes(MAC_ACK), &rules);
        let is_ack = body == AirBody::Ack;
        let nav = if is_ack { Duration::ZERO } else { self.radio.phy.sifs(band) + answer };
        let place = Place::Alone;
        self.frames.push(AirFrame {
            at,
            duration,
            nav,
            place,
            transmitter,
            receiver,
            tx,
            category: None,
            reception,
            body,
        });
        self.now += duration;
    }

    pub(crate) fn write(&self) -> Vec<u8> {
        write(&self.radio, &FLOWS, &self.frames)
    }
}

pub(crate) fn write(radio: &Radio, flows: &[Direction], frames: &[AirFrame<Segment>]) -> Vec<u8> {
    let mut writer = Writer::new(Vec::new(), radio, flows.iter().copied()).unwrap();
    for frame in frames {
        writer.write(frame).unwrap();
    }
    writer.into_inner()
}

/// A TCP upload with a collision, a TCP download with a lost MAC ACK, the next connection, and a UDP datagram.
pub(crate) fn conversation(phy: Phy) -> Air {
    let mut air = Air::new(phy);
    for (flow, there) in [(0, Direction::Up), (1, Direction::Down)] {
        let back = there.reverse();
        air.send(segment(flow, there, Kind::Syn));
        air.send(segment(flow, back, Kind::SynAck));
        air.send(segment(flow, there, Kind::Ack));
        let data = Segment { payload: MSS, ..segment(flow, there, Kind::Data) };
        air.attempt(data, false, Reception::Collided);
        air.attempt(data, true, Reception::Decoded);
        air.mac_ack(Reception::Decoded);
        air.next();
        air.send(Segment { seq: u64::from(MSS), ..data });
        let ack = Segment { ack: 2 * u64::from(MSS), ..segment(flow, back, Kind::Ack) };
        air.attempt(ack, false, Reception::Corrupted);
        air.attempt(ack, true, Reception::Decoded);
        air.mac_ack(Reception::Collided);
        air.next();
    }
    air.send(Segment { incarnation: 1, ..segment(1, Direction::Down, Kind::Syn) });
    air.send(Segment { payload: 1000, ..segment(2, Direction::Down, Kind::Udp) });
    air
}
