//! One number for all bits of a run: equal fingerprints are equal results.

use crate::control::{ControlStats, Decision};
use crate::packet::Direction;
use crate::qdisc::QueueStats;
use crate::record::{ApRecord, EnforceRecord, FlowRecord, MacStats, QosStats, Record, Series, StationRecord};
use crate::rng::{FNV1A, fnv1a};
use crate::shaper::{StationStats, UdpChange};

/// FNV-1a, 64 bits, of all records in replica order, as 16 hexadecimal digits.
///
/// Every field enters as its little-endian bits (floats by `to_bits`) and every list with its length, so two
/// runs share a fingerprint when they agree to the last bit, whatever the machine or the number of threads.
pub fn fingerprint(records: &[Record]) -> String {
    let mut hash = Fingerprint(FNV1A);
    for record in records {
        hash.record(record);
    }
    format!("{:016x}", hash.0)
}

struct Fingerprint(u64);

// The records are taken apart without `..`: a counter that is added later cannot be forgotten here.
impl Fingerprint {
    fn bytes(&mut self, bytes: &[u8]) {
        self.0 = fnv1a(self.0, bytes.iter().copied());
    }

    fn number(&mut self, number: u64) {
        self.bytes(&number.to_le_bytes());
    }

    fn each(&mut self, numbers: impl IntoIterator<Item = u64>) {
        numbers.into_iter().for_each(|number| self.number(number));
    }

    fn list(&mut self, numbers: impl ExactSizeIterator<Item = u64>) {
        self.number(numbers.len() as u64);
        self.each(numbers);
    }

    fn record(&mut self, record: &Record) {
        let Record {
            seed,
            measured,
            flows,
            stations,
            access_points,
            ap_mac,
            ap_queue,
            // Follows from the same frames; cells under EDCA keep the fingerprints that they had before it was kept.
            ap_delays: _,
            ap_uplink_queue,
            wire_drops,
            enforce,
            series,
        } = record;
        self.number(*seed);
        self.number(measured.as_nanos());
        self.number(flows.len() as u64);
        for flow in flows {
            self.flow(flow);
        }
        self.number(stations.len() as u64);
        // Delays follow from what is hashed anyway.
        for StationRecord { mac, uplink_queue, airtime_down, ap_delays: _ } in stations {
            self.mac(mac);
            self.queue(uplink_queue);
            self.number(airtime_down.as_nanos());
        }
        // Cells with one access point keep the fingerprints that they had before there were several.
        for ApRecord { mac, queue, uplink_queue } in access_points {
            self.mac(mac);
            self.queue(queue);
            self.queue(uplink_queue);
        }
        self.mac(ap_mac);
        self.queue(ap_queue);
        self.queue(ap_uplink_queue);
        // Cells whose wires lose nothing keep the fingerprints that they had before these losses were counted.
        if *wire_drops > 0 {
            self.number(*wire_drops);
        }
        if let Some(enforce) = enforce {
            self.enforce(enforce);
        }
        // What waits by flow and the drops are for charts, and in no result.
        let Series { at, ap_queue_packets, cwnd, ap_queue_by_flow: _, ap_queue_drops: _ } = series;
        self.list(at.iter().map(|at| at.as_nanos()));
        self.list(ap_queue_packets.iter().map(|packets| u64::from(*packets)));
        self.number(cwnd.len() as u64);
        for column in cwnd {
            self.list(column.iter().map(|segments| u64::from(segments.to_bits())));
        }
    }

    fn enforce(&mut self, enforce: &EnforceRecord) {
        // The decisions of pools are in `trace`, too.
        let EnforceRecord { stations, trace, control, udp, pools: _ } = enforce;
        for StationStats { queue, passed, bypassed } in stations {
            self.queue(queue);
            self.list(passed.iter().map(|bytes| bytes.0));
            self.number(bypassed.0);
        }
        self.number(trace.len() as u64);
        for Decision { at, capacity, state, reason } in trace {
            self.each([at.as_nanos(), capacity.as_bps(), *state as u64, *reason as u64]);
        }
        let ControlStats { probes, replies, lost, rises, falls } = control;
        self.each([*probes, *replies, *lost, *rises, *falls]);
        for UdpChange { at, since, flow, verdict } in udp.iter().flatten() {
            self.each([at.as_nanos(), since.as_nanos(), flow.0.into(), *verdict as u64]);
        }
    }

    fn flow(&mut self, flow: &FlowRecord) {
        let FlowRecord {
            station,
            direction,
            tcp,
            delivered_bytes,
            sent_packets,
            retransmits,
            timeouts,
            // It says nothing that is reported.
            longest_timeout: _,
            fast_retransmits,
            transfer_times,
            busy: _,
            periods: _,
        } = flow;
        self.number(*station as u64);
        self.number(u64::from(*direction == Direction::Down));
        self.number(u64::from(*tcp));
        // What an engine does not know counts as zero, as it did before a record could say so.
        let [timeouts, fast_retransmits] = [timeouts, fast_retransmits].map(|count| count.unwrap_or_default());
        self.each([*delivered_bytes, *sent_packets, *retransmits, timeouts, fast_retransmits]);
        self.list(transfer_times.iter().map(|time| time.as_nanos()));
    }

    fn mac(&mut self, mac: &MacStats) {
        let MacStats { attempts, collisions, frame_errors, delivered, discards, airtime, qos } = mac;
        self.each([*attempts, *collisions, *frame_errors, *delivered, *discards]);
        self.number(airtime.as_nanos());
        // Cells under DCF keep the fingerprints that they had before there was EDCA.
        if *qos != QosStats::default() {
            let QosStats { txops, ppdus, mpdus, mpdu_retries, answers_missed, bars, bars_missed, rts, rts_missed } =
                qos;
            self.each([*txops, *ppdus, *mpdus, *mpdu_retries, *answers_missed, *bars, *bars_missed, *rts, *rts_missed]);
        }
    }

    fn queue(&mut self, queue: &QueueStats) {
        let QueueStats { arrivals, departures, drops, occupancy, sojourn, delays } = queue;
        self.list(arrivals.iter().copied());
        self.list(departures.iter().copied());
        for by_class in drops {
            self.list(by_class.iter().copied());
        }
        self.bytes(&occupancy.to_le_bytes());
        self.number(sojourn.as_nanos());
        self.list(delays.counts().iter().copied());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::units::Duration;

    #[test]
    fn the_hash_is_the_published_one() {
        // Test vectors of RFC 9923.
        let mut hash = Fingerprint(FNV1A);
        hash.bytes(b"a");
        assert_eq!(hash.0, 0xaf63_dc4c_8601_ec8c);
        hash.bytes(b"bcde");
        hash.bytes(b"");
        assert_eq!(fingerprint(&[]), "cbf29ce484222325");
    }

    #[test]
    fn any_bit_and_the_order_of_replicas_matter() {
        let plain = Record::default();
        let slower = Record { measured: Duration::from_nanos(1), ..Record::default() };
        let sampled =
            Record { series: Series { cwnd: vec![vec![0.0], vec![-0.0]], ..Series::default() }, ..Record::default() };
        let prints = [
            vec![plain.clone()],
            vec![slower.clone()],
            vec![sampled],
            vec![plain.clone(), slower.clone()],
            vec![slower, plain],
        ]
        .map(|records| fingerprint(&records));
        for (i, print) in prints.iter().enumerate() {
            assert!(!prints[..i].contains(print), "{prints:?}");
        }
    }
}
