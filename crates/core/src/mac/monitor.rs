//! Control frames of an exchange under EDCA, for whoever monitors the channel.

use super::air::{AirBody, AirFrame, Reception};
use super::bss::Bss;
use super::edca::{Job, Phase};
use super::medium::AccessId;
use super::tx_vector::TxVector;
use crate::packet::{NodeId, Packet};
use crate::units::{Duration, Instant};

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
        let Bss { edca: Some(edca), air: Some(air), .. } = self else { return };
        let function = &edca.functions[id];
        let station = NodeId::station(function.station(function.job.peer));
        let (holder, other) = if function.node == 0 { (NodeId::AP, station) } else { (station, NodeId::AP) };
        let (transmitter, receiver) = match sent {
            Sent::ByHolder => (holder, other),
            Sent::ByReceiver => (other, holder),
        };
        air.push(AirFrame { at, duration, transmitter, receiver, tx, reception, body });
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
