//! A cell of saturated UDP senders, as ns-3's S cells.

use fairair_core::mac::{
    Aggregation, Band, Bss, EdcaParams, MacParams, Mcs, Phy, Preamble, QosParams, StationLink, TxVector, Width,
};
use fairair_core::packet::{Direction, FlowId, Kind, NO_SACK, NodeId, Segment};
use fairair_core::qdisc::{DropTail, Qdisc, Queue, SharedFifo, SharedFifoParams};
use fairair_core::scenario::{Preset, Radio};
use fairair_core::units::{Bitrate, Bytes, Duration, Instant};

/// A modulation with one stream and a guard interval of 0.8 us.
pub(crate) fn one_stream(phy: Phy, index: u8, width: Width) -> TxVector {
    with_streams(phy, index, 1, width, Duration::from_nanos(800))
}

/// A modulation.
pub(crate) fn with_streams(phy: Phy, index: u8, streams: u8, width: Width, guard_interval: Duration) -> TxVector {
    TxVector::with_mcs(phy, Mcs { index, streams, width, guard_interval }, Band::Ghz5).expect("the PHY has it")
}

/// ns-3's rules with its defaults of the grid.
pub(crate) fn ns3(tx: TxVector) -> MacParams {
    let radio = Radio {
        phy: tx.phy(),
        rate: tx.rate(),
        basic_rate: Bitrate::mbps(24),
        protection_rate: None,
        preamble: Preamble::Long,
        retry_limit: 7,
        eifs: false,
        cw_min: None,
        cw_max: None,
        qos: None,
    };
    let mut params = MacParams::new(&radio, Preset::Ns3);
    params.qos = Some(QosParams {
        edca: EdcaParams::NS3,
        categories: QosParams::BEST_EFFORT,
        aggregation: Some(Aggregation::new(Bytes(65_535), 64)),
        amsdu: None,
        bar: true,
        rts_above: None,
        rts_longer: None,
        retry_limit: None,
        lifetime: None,
        hand_up_early: true,
    });
    params
}

/// The rules that a QoS cell adds.
pub(crate) fn qos(params: &mut MacParams) -> &mut QosParams {
    params.qos.as_mut().expect("a QoS cell")
}

/// A datagram of 1500 bytes of IP.
pub(crate) fn datagram(station: usize, direction: Direction, seq: u64) -> Segment {
    Segment {
        flow: FlowId(station as u32),
        station: NodeId::station(station),
        direction,
        kind: Kind::Udp,
        incarnation: 1,
        category: fairair_core::packet::Category::BestEffort,
        seq,
        payload: 1472,
        ack: 0,
        window: 0,
        cwnd: 0,
        push: false,
        sack: NO_SACK,
        ecn: fairair_core::packet::Ecn::NONE,
        enqueued_at: Instant::ZERO,
    }
}

/// What a saturated cell measured.
#[derive(Debug)]
pub(crate) struct Measured {
    /// UDP payload of all, Mbit/s.
    pub(crate) total: f64,
    /// Lost PPDUs over PPDUs with data.
    pub(crate) collisions: f64,
    /// MPDUs a PPDU.
    pub(crate) mpdus: f64,
}

/// Uploads of stations that always have something to send, for `seconds` after 0.2 s.
pub(crate) fn saturated(params: &MacParams, tx: &[TxVector], frame_error: f64, seconds: u64, seed: u64) -> Measured {
    saturated_for(params, tx, frame_error, seconds as f64, seed)
}

/// The same for any time.
pub(crate) fn saturated_for(
    params: &MacParams,
    tx: &[TxVector],
    frame_error: f64,
    seconds: f64,
    seed: u64,
) -> Measured {
    let links: Vec<StationLink> = tx
        .iter()
        .enumerate()
        .map(|(n, tx)| StationLink {
            tx: *tx,
            beta: 1.0,
            frame_error,
            bit_error_rate: 0.0,
            name: format!("s{n}"),
            ap: NodeId::AP,
        })
        .collect();
    let fifo = || -> Box<dyn Qdisc<Segment>> {
        Box::new(SharedFifo::new(SharedFifoParams { limit: 1000, count_unacknowledged: true }))
    };
    let mut queues = vec![Queue::new(Box::new(DropTail::new(10)) as Box<dyn Qdisc<Segment>>)];
    queues.extend(tx.iter().map(|_| Queue::new(fifo())));
    let mut bss = Bss::new(*params, &links, queues, seed);
    bss.notify_fetches();
    let mut next = vec![0; tx.len()];
    let mut fill = |bss: &mut Bss<Segment>, now, station: usize| {
        while bss.backlog(NodeId::station(station)) < 600 {
            next[station] += 1;
            bss.enqueue(now, NodeId::station(station), datagram(station, Direction::Up, next[station]));
        }
    };
    for station in 0..tx.len() {
        fill(&mut bss, Instant::ZERO, station);
    }
    let begin = Instant::ZERO + Duration::from_millis(200);
    let end = begin + Duration::from_secs_f64(seconds);
    let mut expected = vec![0; tx.len()];
    let mut bytes = vec![0_u64; tx.len()];
    let mut measuring = false;
    while let Some(now) = bss.poll_timeout().filter(|now| *now < end) {
        if !measuring && now >= begin {
            bss.reset_stats(now);
            measuring = true;
        }
        bss.handle_timeout(now);
        while let Some(delivery) = bss.poll_delivery() {
            let station = delivery.packet.station.index() - 1;
            assert!(delivery.packet.seq > expected[station], "in order");
            expected[station] = delivery.packet.seq;
            bytes[station] += if measuring { u64::from(delivery.packet.payload) } else { 0 };
        }
        while let Some(node) = bss.poll_fetched() {
            if let Some(station) = node.station_index() {
                fill(&mut bss, now, station);
            }
        }
    }
    let stats: Vec<_> = (0..tx.len()).map(|station| *bss.stats(NodeId::station(station))).collect();
    let sum = |of: fn(&fairair_core::record::MacStats) -> u64| stats.iter().map(of).sum::<u64>() as f64;
    Measured {
        total: bytes.iter().sum::<u64>() as f64 * 8e-6 / seconds,
        collisions: sum(|mac| mac.qos.answers_missed) / sum(|mac| mac.qos.ppdus),
        mpdus: sum(|mac| mac.qos.mpdus) / sum(|mac| mac.qos.ppdus),
    }
}
