//! The radiotap header: when and how a frame was sent (<https://www.radiotap.org/fields/defined>).

use fairair_core::mac::{AirFrame, Band, Mcs, Modulation, Phy, Place, PpduRules, Preamble, Reception, Width};
use fairair_core::scenario::Radio;
use fairair_core::units::Duration;

/// Bits of the presence mask.
const TSFT: u32 = 1 << 0;
const FLAGS: u32 = 1 << 1;
const RATE: u32 = 1 << 2;
const CHANNEL: u32 = 1 << 3;
const MCS: u32 = 1 << 19;
const A_MPDU_STATUS: u32 = 1 << 20;
const VHT: u32 = 1 << 21;
const HE: u32 = 1 << 23;

const FLAG_SHORT_PREAMBLE: u8 = 0x02;
const FLAG_FCS_AT_END: u8 = 0x10;
const FLAG_BAD_FCS: u8 = 0x40;

const CHANNEL_CCK: u16 = 0x0020;
const CHANNEL_OFDM: u16 = 0x0040;
const CHANNEL_2_GHZ: u16 = 0x0080;
const CHANNEL_5_GHZ: u16 = 0x0100;

/// MCS: bandwidth, index, guard interval and format are known; the format is HT-mixed.
const MCS_KNOWN: u8 = 0x01 | 0x02 | 0x04 | 0x08;
const MCS_SHORT_GI: u8 = 0x04;

/// A-MPDU status: whether a subframe is the last is known, and it is.
const LAST_KNOWN: u16 = 0x0004;
const IS_LAST: u16 = 0x0008;

/// VHT: guard interval and bandwidth are known.
const VHT_KNOWN: u16 = 0x0004 | 0x0040;
const VHT_SHORT_GI: u8 = 0x04;

/// HE, data1: an SU PPDU of which MCS and bandwidth are known; data2: guard interval and number of HE-LTFs.
const HE_KNOWN: [u16; 2] = [0x0020 | 0x4000, 0x0002 | 0x0004];

/// A header under construction; fields stand at multiples of their alignment from its start.
struct Header<'a> {
    out: &'a mut Vec<u8>,
    start: usize,
    present: u32,
}

impl Header<'_> {
    fn field(&mut self, bit: u32, alignment: usize, bytes: impl IntoIterator<Item = u8>) {
        let len = (self.out.len() - self.start).next_multiple_of(alignment);
        self.out.resize(self.start + len, 0);
        self.out.extend(bytes);
        self.present |= bit;
    }

    /// Fills in the length and what is present.
    fn finish(self) {
        let len = (self.out.len() - self.start) as u16;
        let head = &mut self.out[self.start..];
        head[2..4].copy_from_slice(&len.to_le_bytes());
        head[4..8].copy_from_slice(&self.present.to_le_bytes());
    }
}

/// Appends the header. `aggregate` is the number of the A-MPDU that the frame belongs to.
pub(super) fn write<P>(out: &mut Vec<u8>, frame: &AirFrame<P>, radio: &Radio, aggregate: Option<u32>) {
    let start = out.len();
    // Version, padding, length, presence mask.
    out.extend([0; 8]);
    let mut header = Header { out, start, present: 0 };

    // Radiotap's clock reads the start of the MAC frame, not of the preamble.
    let preamble = frame.tx.preamble_time(&PpduRules::standard(radio.band(), radio.preamble));
    header.field(TSFT, 8, ((frame.at + preamble).as_nanos() / 1_000).to_le_bytes());
    let mut flags = FLAG_FCS_AT_END;
    if frame.tx.phy() == Phy::B && radio.preamble.at(frame.tx.rate()) == Preamble::Short {
        flags |= FLAG_SHORT_PREAMBLE;
    }
    if frame.reception != Reception::Decoded {
        flags |= FLAG_BAD_FCS;
    }
    header.field(FLAGS, 1, [flags]);
    if let Modulation::Rate(rate) = frame.tx.modulation() {
        header.field(RATE, 1, [(rate.as_bps() / 500_000).min(255) as u8]);
    }
    let modulation = if frame.tx.phy() == Phy::B { CHANNEL_CCK } else { CHANNEL_OFDM };
    let (megahertz, band) = match radio.band() {
        Band::Ghz2 => (2437_u16, CHANNEL_2_GHZ),
        Band::Ghz5 => (5180, CHANNEL_5_GHZ),
    };
    header.field(CHANNEL, 2, [megahertz, band | modulation].map(u16::to_le_bytes).concat());
    if let (Modulation::Mcs(mcs), false) = (frame.tx.modulation(), matches!(frame.tx.phy(), Phy::Ac | Phy::Ax)) {
        header.field(MCS, 1, ht(mcs));
    }
    if let Some(number) = aggregate {
        let flags = LAST_KNOWN | if frame.place == Place::Last { IS_LAST } else { 0 };
        header.field(A_MPDU_STATUS, 4, number.to_le_bytes().into_iter().chain(flags.to_le_bytes()).chain([0, 0]));
    }
    match (frame.tx.modulation(), frame.tx.phy()) {
        (Modulation::Mcs(mcs), Phy::Ac) => header.field(VHT, 2, vht(mcs)),
        (Modulation::Mcs(mcs), Phy::Ax) => header.field(HE, 2, he(mcs)),
        _ => {}
    }
    header.finish();
}

fn ht(mcs: Mcs) -> [u8; 3] {
    let wide = u8::from(mcs.width != Width::Mhz20);
    [MCS_KNOWN, wide | if is_short(mcs) { MCS_SHORT_GI } else { 0 }, mcs.index + 8 * (mcs.streams - 1)]
}

/// Known, flags, bandwidth, MCS and streams of four users, coding, group, partial AID.
fn vht(mcs: Mcs) -> [u8; 12] {
    let [low, high] = VHT_KNOWN.to_le_bytes();
    let flags = if is_short(mcs) { VHT_SHORT_GI } else { 0 };
    let bandwidth = match mcs.width {
        Width::Mhz20 => 0,
        Width::Mhz40 => 1,
        Width::Mhz80 => 4,
        Width::Mhz160 => 11,
    };
    [low, high, flags, bandwidth, mcs.index << 4 | mcs.streams, 0, 0, 0, 0, 0, 0, 0]
}

/// data1 to data6.
fn he(mcs: Mcs) -> Vec<u8> {
    let bandwidth = match mcs.width {
        Width::Mhz20 => 0,
        Width::Mhz40 => 1,
        Width::Mhz80 => 2,
        Width::Mhz160 => 3,
    };
    // Guard interval, and size of the HE-LTFs: 2x, 2x, 4x of 3.2 us.
    let (guard_interval, ltf_size) = match mcs.guard_interval.as_nanos() {
        0..=800 => (0, 2),
        801..=1_600 => (1, 2),
        _ => (2, 3),
    };
    // 1, 2 or 4 HE-LTFs.
    let ltfs = u16::from(mcs.streams.next_power_of_two().trailing_zeros() as u8);
    let data3 = u16::from(mcs.index) << 8;
    let data5 = bandwidth | guard_interval << 4 | ltf_size << 6 | ltfs << 8;
    [HE_KNOWN[0], HE_KNOWN[1], data3, 0, data5, u16::from(mcs.streams)].map(u16::to_le_bytes).concat()
}

fn is_short(mcs: Mcs) -> bool {
    mcs.guard_interval < Duration::from_nanos(800)
}
