//! What the channel carried, as a capture that Wireshark opens: `fairair run --pcap air.pcap`, and the same for `testbed run`.
//!
//! The file is a classic pcap (little-endian, nanoseconds, link type `IEEE802_11_RADIOTAP`) as a monitor next to the
//! AP would record it: every frame in the order of its start, MAC ACKs and retries included.
//!
//! The testbed's packets are shown as the kernels sent them, with the hosts' own addresses; the AP (BSSID) is
//! `02:fa:00:00:00:00`. The simulator's packets have no bytes, so the bytes are made here:
//!
//! - **Time.** The simulation starts at the epoch. A record's timestamp is the start of the preamble; the radiotap TSFT
//!   is the start of the MAC frame after the PLCP, as radiotap defines it; Wireshark's preference
//!   `wlan_radio.tsf_at_end`, on by default, takes it for the end.
//! - **HT, VHT and HE PPDUs** have radiotap's MCS, VHT or HE field in place of a rate. The MPDUs of an A-MPDU are records with one
//!   timestamp, and A-MPDU status tells which belong together and which is the last. The Duration field is what the cell's
//!   transmitters announce.
//! - **MAC addresses** are `02:fa:` and the [`NodeId`] (the AP and BSSID is
//!   `02:fa:00:00:00:00`); the wired side behind the AP is `02:fb:00:00:00:00`.
//! - **IP addresses.** A station is `10.0.0.0` plus its number (`10.0.0.1` is the first); a flow's wired host is
//!   `10.128.0.0` plus the flow's index, so that no two flows share a pair of addresses (up to 2^23 of each).
//! - **Ports.** The data sender connects from a dynamic port, 49152 plus the connection's number within the flow, to
//!   port 9 (discard). A flow's ports repeat after 16384 connections, as a host's would.
//! - **TCP sequence numbers** start at 0 with the SYN, so that payload byte `n` is number `n + 1`, modulo 2^32.
//! - **Headers have the simulated 20 + 20 bytes**, which leaves no room for options: SACK blocks are not shown, and a
//!   window above 65535 bytes is shown as 65535, since window scaling is an option too.
//! - **Payload is zeros**, and a record ends after [`SNAPLEN`] bytes, so that files stay small. The original length
//!   counts everything up to the FCS.
//! - **Frames that were not decoded** carry the radiotap flag "bad FCS" and end after the MAC header, as if the rest
//!   were noise. Wireshark would decode the rest whatever the flag says, and take each MAC retry for a TCP
//!   retransmission.

mod bytes;
mod file;
mod radiotap;

pub use bytes::Captured;
pub use file::PcapFile;

pub use crate::sink::{FileError, STDOUT};

use std::io::{self, Write};
use std::time::Duration;

use fairair_core::mac::{AirFrame, Place, Reception};
use fairair_core::packet::{Direction, NodeId};
use fairair_core::scenario::Radio;
use fairair_core::units::Instant;
use pcap_file::pcap::{PcapHeader, PcapPacket, PcapWriter};
use pcap_file::{DataLink, Endianness, PcapError, TsResolution};

/// Bytes kept of a frame, radiotap header included: enough for all headers, and for a TCP segment without payload whole.
pub const SNAPLEN: usize = 128;

/// Turns frames into pcap records.
#[derive(Debug)]
pub struct Writer<W: Write> {
    pcap: PcapWriter<W>,
    radio: Radio,
    /// Way of each flow's payload: the sender of it opens the connection.
    flows: Vec<Direction>,
    /// The A-MPDU that was written last: its start, its transmitter, its number in the capture.
    aggregate: Option<(Instant, NodeId, u32)>,
    /// The frame under construction, kept for its memory.
    buffer: Vec<u8>,
}

impl<W: Write> Writer<W> {
    /// Writes the file header.
    ///
    /// `radio` is the scenario's; `flows` is the way of each flow's payload, in the order of
    /// [`FlowId`](fairair_core::packet::FlowId).
    ///
    /// # Errors
    /// As `inner`'s.
    pub fn new(inner: W, radio: &Radio, flows: impl IntoIterator<Item = Direction>) -> io::Result<Self> {
        let header = PcapHeader {
            snaplen: SNAPLEN as u32,
            datalink: DataLink::IEEE802_11_RADIOTAP,
            ts_resolution: TsResolution::NanoSecond,
            // The same bytes on every machine.
            endianness: Endianness::Little,
            ..PcapHeader::default()
        };
        Ok(Writer {
            pcap: PcapWriter::with_header(inner, header).map_err(into_io)?,
            radio: *radio,
            flows: flows.into_iter().collect(),
            aggregate: None,
            buffer: Vec::with_capacity(2048),
        })
    }

    /// Appends a frame.
    ///
    /// # Errors
    /// As the inner writer's; `InvalidInput` when a packet is too long for IPv4, or later than 2106.
    pub fn write<P: Captured>(&mut self, frame: &AirFrame<P>) -> io::Result<()> {
        self.buffer.clear();
        let aggregate = (frame.place != Place::Alone).then(|| self.number_of_aggregate(frame));
        radiotap::write(&mut self.buffer, frame, &self.radio, aggregate);
        let mac_header_end = bytes::mac_frame(&mut self.buffer, frame, &self.radio, &self.flows)?;
        let kept = if frame.reception == Reception::Decoded { SNAPLEN } else { mac_header_end };
        let record = PcapPacket::new(
            Duration::from_nanos(frame.at.as_nanos()),
            self.buffer.len() as u32,
            &self.buffer[..self.buffer.len().min(kept)],
        );
        self.pcap.write_packet(&record).map_err(into_io)?;
        Ok(())
    }

    /// The MPDUs of an A-MPDU have one start and one transmitter.
    fn number_of_aggregate<P>(&mut self, frame: &AirFrame<P>) -> u32 {
        let number = match self.aggregate {
            Some((at, transmitter, number)) if (at, transmitter) == (frame.at, frame.transmitter) => number,
            Some((.., number)) => number.wrapping_add(1),
            None => 0,
        };
        self.aggregate = Some((frame.at, frame.transmitter, number));
        number
    }

    /// The writer that [`Writer::new`] was given.
    pub fn into_inner(self) -> W {
        self.pcap.into_writer()
    }
}

fn into_io(error: PcapError) -> io::Error {
    match error {
        PcapError::IoError(error) => error,
        other => io::Error::new(io::ErrorKind::InvalidInput, other),
    }
}
