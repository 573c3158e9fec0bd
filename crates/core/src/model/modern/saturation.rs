//! Saturation: everybody who sends datagrams always has some, AP and stations alike.
//!
//! G. Bianchi, IEEE JSAC 18(3), 2000, for EDCA with A-MPDUs, errors and TXOPs.

use super::aggregate::{Exchanges, mean_mpdus};
use super::contention::{Contender, Load, contend};
use super::pace::{Sent, seconds_a_boundary};
use crate::mac::QosParams;
use crate::model::error::ModelError;
use crate::packet::{Category, Direction, UDP_IP_HEADER};
use crate::qdisc::QdiscSpec;
use crate::scenario::{Scenario, Traffic};
use crate::units::Bytes;

/// What a station of the scenario sends or gets.
struct Row {
    direction: Direction,
    /// Payload of a full access in bits that arrives, and what an access takes.
    bits: f64,
    seconds: f64,
    /// Its first PPDU, and the longer of two such.
    ppdu: f64,
    longer: f64,
}

/// What saturation comes to.
#[derive(Clone, Debug, PartialEq)]
pub struct Saturation {
    /// Goodput of each station of the scenario in bit/s; 0 without flows.
    pub stations: Vec<f64>,
    /// Probability that an attempt of the AP collides, and of a station's.
    pub collision: (f64, f64),
}

impl Saturation {
    /// Solves `scenario`: each station has one greedy flow of datagrams at most, the AP serves stations in turn, or by air with mac80211's
    /// airtime fairness.
    ///
    /// # Errors
    /// Another PHY, several categories, a box, other traffic, several flows at a station.
    pub fn of(scenario: &Scenario) -> Result<Saturation, ModelError> {
        let unsupported = |what: &str| ModelError::Unsupported { what: what.to_owned() };
        let params = scenario.mac();
        let qos = params.qos.ok_or_else(|| unsupported("802.11a, b and g"))?;
        if scenario.enforce.is_some() || scenario.ap.uplink_limiter.is_some() {
            return Err(unsupported("a box or an uplink limiter"));
        }
        if qos.categories != QosParams::BEST_EFFORT {
            return Err(unsupported("several access categories"));
        }
        let best_effort = Category::BestEffort.index();
        let (ap, stations) = (qos.edca.ap[best_effort], qos.edca.stations[best_effort]);
        let mut rows: Vec<Option<Row>> = Vec::new();
        for station in &scenario.stations {
            let flow = match station.flows.as_slice() {
                [] => {
                    rows.push(None);
                    continue;
                }
                [flow] => flow,
                _ => return Err(unsupported("several flows at a station")),
            };
            let Traffic::UdpGreedy { payload } = flow.traffic else {
                return Err(unsupported("traffic other than greedy datagrams"));
            };
            let tx = scenario.radio.station_tx(station);
            let exchanges = Exchanges::new(&params, tx, Bytes(payload.0 + UDP_IP_HEADER));
            let window = qos.aggregation.map_or(1, |limits| limits.within(tx.phy()).window);
            let error = station.frame_error.get();
            let mpdus = mean_mpdus(error, window as f64, exchanges.most);
            let access = if flow.direction == Direction::Up { stations } else { ap };
            let (packets, seconds) = exchanges.access(mpdus, access.txop.as_secs_f64(), params.sifs.as_secs_f64());
            rows.push(Some(Row {
                direction: flow.direction,
                bits: packets * (1.0 - error) * payload.as_bits() as f64,
                seconds,
                ppdu: exchanges.ppdu(mpdus.min(packets)),
                longer: exchanges.longer(mpdus.min(packets)),
            }));
        }
        if rows.iter().all(Option::is_none) {
            return Err(ModelError::NoFlows);
        }
        let by_air = matches!(scenario.ap.queue, QdiscSpec::Mac80211(params) if params.airtime);
        let weight = |row: &Row| if by_air { 1.0 / row.seconds } else { 1.0 };
        let of = |way: Direction| rows.iter().flatten().filter(move |row| row.direction == way);
        let weights: f64 = of(Direction::Down).map(weight).sum();
        let mut contenders = Vec::new();
        if weights > 0.0 {
            contenders.push(Contender::new(1.0, ap, qos.retry_limit, Load::Saturated));
        }
        let ups = of(Direction::Up).count();
        if ups > 0 {
            contenders.push(Contender::new(ups as f64, stations, qos.retry_limit, Load::Saturated));
        }
        let last = contenders.len() - 1;
        let contention = contend(&contenders, 0, None);
        // Who sends a row, and how often an access of his is it.
        let place = |row: &Row| match row.direction {
            Direction::Down => (0, weight(row) / weights),
            Direction::Up => (last, 1.0),
        };
        let sent = |row: &Row| {
            let (contender, share) = place(row);
            Sent { contender, share, exchange: row.seconds, ppdu: row.ppdu, longer: row.longer }
        };
        let sent: Vec<Sent> = rows.iter().flatten().map(sent).collect();
        let seconds = seconds_a_boundary(&params, &qos, &contention, &sent);
        let goodput = |row: &Row| {
            let (contender, share) = place(row);
            contention.outcomes[contender].successes * share * row.bits / seconds
        };
        let stations = rows.iter().map(|row| row.as_ref().map_or(0.0, goodput)).collect();
        let collision = |contender: usize| contention.outcomes[contender].collision;
        Ok(Saturation { stations, collision: (collision(0), collision(last)) })
    }
}
