//! The sending end of a connection: by the RFCs, as ns-2 or as Linux has it, or QUIC's.

use super::congestion::Variant;
use super::linux::LinuxSender;
use super::params::{Profile, TcpParams};
use super::quic::QuicSender;
use super::rfc::RfcSender;
use super::transmission::{SenderStats, Transmission};
use crate::packet::{Kind, SackBlocks};
use crate::rng::Rng;
use crate::units::Instant;

/// More than any run delivers: the size of a flow without end.
const ENDLESS: u64 = u64::MAX / 4;

/// The sender of one connection, with an application that always has data up to the size of the transfer.
///
/// Inputs are [`handle_ack`](Self::handle_ack) and [`handle_timeout`](Self::handle_timeout) at
/// [`poll_timeout`](Self::poll_timeout); after [`connect`](Self::connect) and after each input take
/// [`poll_transmit`](Self::poll_transmit) until it is `None`.
#[derive(Clone, Debug)]
pub struct Sender(Machine);

#[derive(Clone, Debug)]
#[allow(clippy::large_enum_variant)] // All senders of a run are of one kind.
enum Machine {
    Rfc(RfcSender),
    Linux(LinuxSender),
    Quic(QuicSender),
}

/// Asks the machine at work.
macro_rules! ask {
    ($sender:expr, $machine:ident => $answer:expr) => {
        match $sender {
            Machine::Rfc($machine) => $answer,
            Machine::Linux($machine) => $answer,
            Machine::Quic($machine) => $answer,
        }
    };
}

impl Sender {
    /// Opens a connection that carries `size` bytes, or data without end. `rng` places the ticks of the host's clock
    /// and chooses where BBR's cycle begins.
    pub fn connect(params: &TcpParams, size: Option<u64>, rng: &mut Rng) -> Self {
        let size = size.unwrap_or(ENDLESS);
        Sender(match (params.profile, params.variant) {
            (Profile::Quic, _) => Machine::Quic(QuicSender::connect(params, size, rng)),
            (Profile::Linux, _) | (_, Variant::Bbr) => Machine::Linux(LinuxSender::connect(params, size, rng)),
            (Profile::Rfc, _) => Machine::Rfc(RfcSender::connect(params, size, rng)),
        })
    }

    /// The application has no more to send than what is out already.
    pub fn stop(&mut self) {
        ask!(&mut self.0, machine => machine.stop());
    }

    /// Everything is acknowledged.
    pub fn is_done(&self) -> bool {
        ask!(&self.0, machine => machine.is_done())
    }

    /// Congestion window in segments.
    pub fn cwnd(&self) -> f64 {
        ask!(&self.0, machine => machine.control.cwnd())
    }

    /// Counters since the connection's start.
    pub fn stats(&self) -> &SenderStats {
        ask!(&self.0, machine => &machine.stats)
    }

    /// The retransmission timer, that of a probe, or the time when pacing lets the next segment go.
    pub fn poll_timeout(&self) -> Option<Instant> {
        ask!(&self.0, machine => machine.poll_timeout())
    }

    /// A segment of the peer arrived: `kind` is `SynAck` or `Ack`, `window` its advertised window in bytes. Of QUIC it is `QuicInitial` or
    /// `QuicAck`, `window` the microseconds that the ACK frame waited, `sack` the ranges of numbers received.
    pub fn handle_ack(&mut self, now: Instant, kind: Kind, ack: u64, window: u32, sack: &SackBlocks) {
        ask!(&mut self.0, machine => machine.handle_ack(now, kind, ack, window, sack));
    }

    /// The segment that [`handle_ack`](Self::handle_ack) gets next echoes a mark of congestion (ECE).
    pub fn handle_echo(&mut self) {
        match &mut self.0 {
            Machine::Rfc(machine) => machine.handle_echo(),
            Machine::Linux(machine) => machine.handle_echo(),
            // QUIC's marks are left out.
            Machine::Quic(_) => {}
        }
    }

    /// The timer expired.
    pub fn handle_timeout(&mut self, now: Instant) {
        ask!(&mut self.0, machine => machine.handle_timeout(now));
    }

    /// The next segment to send now, if the windows allow one.
    pub fn poll_transmit(&mut self, now: Instant) -> Option<Transmission> {
        ask!(&mut self.0, machine => machine.poll_transmit(now))
    }
}
