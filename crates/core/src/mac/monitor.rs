//! Control frames of an exchange under EDCA, for whoever monitors the channel.

use super::air::{AirBody, AirFrame, Place, Reception};
use super::bss::Bss;
use super::edca::{Job, Phase};
use super::medium::AccessId;
use super::tx_vector::TxVector;
use crate::packet::{NodeId, Packet};
use crate::units::{Bytes, Duration, Instant};

/// Who of an exchange sends a frame.
#[derive(Clone, Copy, Debug)]
pub(super) enum Sent {
    /// The holder of the TXOP.
    ByHolder,
    /// Who answers.
    ByReceiver,
}

impl<P: Packet + Clone> Bss<P> {
    /// Shows a control frame of the exchange of `id` to the monitor.
    #[allow(clippy::too_many_arguments)]
    pub(super) fn show(
        &mut self,
        id: AccessId,
        sent: Sent,
        at: Instant,
        duration: Duration,
        tx: TxVector,
        reception: Reception,
        body: AirBody<P>,
    ) {
        if self.air.is_none() {
            return;
        }
        let nav = self.nav(id, at + duration, &body);
        let Bss { edca: Some(edca), air: Some(air), links, .. } = self else { return };
        let function = &edca.functions[id];
        let station = function.station(function.job.peer);
        let (ap, station) = (links[station].ap, NodeId::station(station));
        let (holder, other) = if function.is_ap { (ap, station) } else { (station, ap) };
        let (transmitter, receiver) = match sent {
            Sent::ByHolder => (holder, other),
            Sent::ByReceiver => (other, holder),
        };
        let (place, category) = (Place::Alone, Some(function.category));
        air.push(AirFrame { at, duration, nav, place, transmitter, receiver, tx, category, reception, body });
    }

    /// What a frame of the exchange of `id` that ends at `end` announces: the rest of the exchange, as a TXOP with single protection
    /// demands (802.11-2020 clause 9.2.5.2), or all of the TXOP (ns-3).
    pub(super) fn nav(&self, id: AccessId, end: Instant, body: &AirBody<P>) -> Duration {
        let Some(edca) = &self.edca else { return Duration::ZERO };
        let function = &edca.functions[id];
        let Job { peer, load, answer, .. } = function.job;
        let sifs = self.params.sifs;
        let answered = sifs + answer;
        let data = sifs + self.links[function.station(peer)].tx.ppdu_time(Bytes(load.psdu), &self.params.ppdu);
        let exchange = match body {
            AirBody::Rts => sifs + edca.cts + data + answered,
            AirBody::Cts => data + answered,
            AirBody::Data { .. } | AirBody::BlockAckReq { .. } => answered,
            AirBody::CfEnd => return Duration::ZERO,
            AirBody::Ack | AirBody::BlockAck { .. } | AirBody::CtsToSelf => Duration::ZERO,
        };
        if self.params.rules.announces_txop && function.txop > Duration::ZERO {
            exchange.max(function.txop_end.saturating_since(end))
        } else {
            exchange
        }
    }

    /// Shows ACK or BlockAck.
    pub(super) fn show_answer(&mut self, at: Instant, id: AccessId, duration: Duration) {
        let Bss { edca: Some(edca), links, air: Some(_), .. } = self else { return };
        let function = &edca.functions[id];
        let Job { phase, peer, load, .. } = function.job;
        let tx = links[function.station(peer)].ack_tx;
        let (start, received) = function.sessions[peer].scoreboard();
        let single = phase == Phase::Data && load.mpdus == 1;
        let body = if single { AirBody::Ack } else { AirBody::BlockAck { start, received } };
        self.show(id, Sent::ByReceiver, at, duration, tx, Reception::Decoded, body);
    }
}
