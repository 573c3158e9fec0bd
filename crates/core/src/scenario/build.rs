//! What engines that move packets make of a scenario in the same way.

use super::{Flow, Preset, Scenario, Station, Traffic};
use crate::mac::{Bss, MacParams, QosParams, StationLink, TxVector};
use crate::packet::{NodeId, Packet};
use crate::qdisc::{self, DropTail, Mac80211, Qdisc, QdiscSpec, Queue, SharedFifo, SharedFifoParams};
use crate::rng::Rng;
use crate::shaper::{Policy, Share, airtime_per_byte, phy_rate_weight};
use crate::units::{Duration, Instant};

impl Scenario {
    /// The seed of replica number `replica`.
    pub fn replica_seed(&self, replica: u32) -> u64 {
        Rng::fork(self.run.seed, &format!("replica/{replica}")).next_u64()
    }

    /// The QoS rules of the cell; `None` under DCF.
    pub fn qos(&self) -> Option<QosParams> {
        let radio = self.radio.qos.as_ref()?;
        let mut categories = QosParams::BEST_EFFORT;
        for (_, flow) in self.flows() {
            categories[flow.category.index()] = true;
        }
        Some(QosParams {
            edca: radio.edca,
            categories,
            aggregation: radio.aggregation,
            amsdu: radio.amsdu,
            bar: radio.bar,
            rts_above: radio.rts_above,
            rts_longer: radio.rts_longer,
            retry_limit: radio.retry_limit,
            lifetime: radio.lifetime,
            hand_up_early: self.run.preset == Preset::Ns3,
        })
    }

    /// Timing and rules of the cell's MAC.
    pub fn mac(&self) -> MacParams {
        let mut params = MacParams::new(&self.radio, self.run.preset);
        params.qos = self.qos();
        params
    }

    /// How data frames from and to each station are sent at the start.
    pub fn station_txs(&self) -> Vec<TxVector> {
        self.stations.iter().map(|station| self.radio.station_tx(station)).collect()
    }

    /// The cell with empty queues; a replica's `seed` makes all its draws.
    pub fn cell<P: Packet + Clone + Send + 'static>(&self, seed: u64) -> Bss<P> {
        let params = self.mac();
        let stations: Vec<StationLink> = self
            .stations
            .iter()
            .map(|station| StationLink {
                tx: self.radio.station_tx(station),
                beta: station.beta,
                frame_error: station.frame_error.get(),
                bit_error_rate: station.bit_error_rate,
                name: station.name.clone(),
                ap: NodeId::access_point(station.ap),
            })
            .collect();
        let downlink = |spec: QdiscSpec, label: &str| {
            Queue::new(qdisc::build(self.ap_queue(spec), Rng::fork(seed, label))).with_delays()
        };
        let first = downlink(self.ap.queue, "qdisc/ap");
        let uplinks = self.stations.iter().map(|station| Queue::new(self.uplink_queue(station)));
        let more = self.access_points.iter().map(|own| downlink(own.queue, &format!("qdisc/ap/{}", own.name)));
        let queues = std::iter::once(first).chain(uplinks).chain(more).collect();
        let names: Vec<String> = self.access_points.iter().map(|own| own.name.clone()).collect();
        Bss::of_several(params, &stations, &names, queues, seed)
    }

    /// Each flow's stream of random numbers, in the order of [`Self::flows`]; its start is the first draw.
    pub fn flow_streams(&self, seed: u64) -> impl Iterator<Item = Rng> {
        self.stations.iter().flat_map(move |station| {
            (0..station.flows.len()).map(move |nth| Rng::fork(seed, &format!("flow/{}/{nth}", station.name)))
        })
    }

    /// When each flow starts, in the order of [`Self::flows`].
    pub fn starts(&self, seed: u64) -> impl Iterator<Item = Instant> {
        let flows = self.flows().zip(self.flow_streams(seed));
        flows.map(|((_, flow), mut stream)| flow.first_start(self.run.start_spread, &mut stream))
    }

    /// ns-2's `limit_` counts one packet more than may wait.
    fn ap_queue(&self, queue: QdiscSpec) -> QdiscSpec {
        match self.run.preset {
            Preset::Ns2 => queue.with_ns2_limit(),
            Preset::Standard | Preset::Ns3 => queue,
        }
    }

    /// Whether the queue of a station is full by what it sent and is not acknowledged yet, too: ns-3's MAC queue.
    pub fn uplink_counts_unacknowledged(&self) -> bool {
        self.run.preset == Preset::Ns3 && self.radio.qos.is_some()
    }

    /// A station's queue towards the radio.
    fn uplink_queue<P: Packet + Send + 'static>(&self, station: &Station) -> Box<dyn Qdisc<P>> {
        if let Some(params) = station.uplink_mac80211 {
            return Box::new(Mac80211::new(params));
        }
        let limit = station.uplink_queue;
        if self.uplink_counts_unacknowledged() {
            return Box::new(SharedFifo::new(SharedFifoParams { limit, count_unacknowledged: true }));
        }
        Box::new(DropTail::new(limit))
    }

    /// Packets that wait at the AP's end of the wire at most. Behind the uplink limiter, if there is one, the wire has
    /// room: packets wait and are dropped in front of it.
    pub fn uplink_queue_at_wire(&self) -> usize {
        if self.ap.uplink_limiter.is_some() { self.wire.queue } else { self.ap.uplink_queue }
    }

    /// Weights and caps of all stations in a box under `policy`, with their present modulations.
    pub fn shares(&self, policy: Policy, txs: &[TxVector]) -> Vec<Share> {
        let mac = self.mac();
        let fair = |station: &Station, tx: TxVector| match policy {
            Policy::Airtime => {
                let (mss, acks) = segments(station);
                1.0 / airtime_per_byte(&mac, tx, mss, acks)
            }
            Policy::AirtimePhy => phy_rate_weight(tx.rate()),
            Policy::PerStation | Policy::PerDirection | Policy::PerFlow => 1.0,
        };
        let stations = self.stations.iter().zip(txs);
        stations.map(|(station, tx)| Share { weight: station.weight * fair(station, *tx), cap: station.cap }).collect()
    }
}

impl Flow {
    /// After `start` and a uniform share of `spread`, which the flow's `stream` draws.
    pub fn first_start(&self, spread: Duration, stream: &mut Rng) -> Instant {
        let jitter = Duration::from_nanos((spread.as_nanos() as f64 * stream.uniform()) as u64);
        Instant::ZERO + self.start + jitter
    }
}

/// Segment size and ACKs a segment of a station's TCP: those of its first flow.
pub(crate) fn segments(station: &Station) -> (u32, f64) {
    let tcp = station.flows.iter().find(|flow| matches!(flow.traffic, Traffic::Bulk | Traffic::Files { .. }));
    tcp.map_or((1460, 0.5), |flow| (flow.tcp.mss, if flow.tcp.delayed_ack { 0.5 } else { 1.0 }))
}
