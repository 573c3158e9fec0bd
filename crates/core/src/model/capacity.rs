//! R, the TCP/IP capacity of a cell: what it carries per second for a given mix of packets.
//!
//! Ours (docs/models.md, section Capacity). The mix says how many packets of each kind every transmitter sends relative
//! to the others'; the cell carries as many of them as fit until one transmitter, the bottleneck, always has a frame.
//! Idle slots are counted by the bottleneck's countdown, which never pauses but for frames; collisions are those of
//! independent attempts, each node's as many as its share of the mix needs (A. Kumar et al.'s fixed point with
//! unsaturated nodes).

use super::dcf::Backoff;
use super::error::{ModelError, within};
use crate::mac::MacParams;
use crate::units::{Bitrate, Bytes};

/// Rounds of the fixed point of collisions; it settles in ten.
const ROUNDS: u32 = 60;

/// Packets of one kind that a transmitter sends.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Stream {
    /// Packets, relative to the other streams of the mix; those given up at the retry limit count.
    pub packets: f64,
    /// Length of the IP packet.
    pub ip_len: Bytes,
    /// PHY rate.
    pub rate: Bitrate,
    /// Probability that the channel spoils an attempt.
    pub error: f64,
}

/// A transmitter of the mix.
#[derive(Clone, Debug, PartialEq)]
pub struct Transmitter {
    /// Its contention windows.
    pub backoff: Backoff,
    /// How many transmitters are like it, each with these streams.
    pub count: f64,
    /// What it sends.
    pub streams: Vec<Stream>,
}

/// What the mix comes to.
#[derive(Clone, Debug, PartialEq)]
pub struct Load {
    /// Mixes per second: multiply a stream's packets by this.
    pub mixes_per_s: f64,
    /// Share of time that each transmitter has a frame; 1 for the bottleneck.
    pub busy: Vec<f64>,
    /// Probability that an attempt collides, by transmitter.
    pub collision: Vec<f64>,
    /// Probability that a frame of a stream is given up, by transmitter and stream.
    pub discard: Vec<Vec<f64>>,
    /// Slots of backoff a mix, by transmitter.
    pub slots: Vec<f64>,
}

/// How much of `mix` the cell carries per second.
///
/// # Errors
/// No packet in the mix, or an error probability outside 0-1.
pub fn carry(params: &MacParams, mix: &[Transmitter]) -> Result<Load, ModelError> {
    check(mix)?;
    let n = mix.len();
    let mut collision = vec![0.0_f64; n];
    let mut attempts = vec![0.0_f64; n];
    let mut slots = vec![0.0_f64; n];
    for _ in 0..ROUNDS {
        for (i, t) in mix.iter().enumerate() {
            (attempts[i], slots[i]) = (0.0, 0.0);
            for s in &t.streams {
                let gamma = 1.0 - (1.0 - collision[i]) * (1.0 - s.error);
                let each = t.backoff.attempts(gamma);
                attempts[i] += s.packets * each;
                slots[i] += s.packets * each * t.backoff.mean(gamma);
            }
        }
        let (idle, own) = bottleneck(&attempts, &slots);
        // Attempts per slot boundary, of each node; an attempt takes a boundary itself.
        let boundaries = idle + own;
        let rate = |i: usize| (attempts[i] / boundaries).min(1.0 - 1e-9);
        let silence: f64 = (0..n).map(|i| mix[i].count * (1.0 - rate(i)).ln()).sum();
        let mut moved: f64 = 0.0;
        for (i, collision) in collision.iter_mut().enumerate() {
            let next = 1.0 - (silence - (1.0 - rate(i)).ln()).min(0.0).exp();
            moved = moved.max((next - *collision).abs());
            *collision = f64::midpoint(*collision, next);
        }
        if moved < 1e-12 {
            break;
        }
    }
    let (idle, _) = bottleneck(&attempts, &slots);
    let seconds = idle * params.slot.as_secs_f64() + on_air(params, mix, &collision);
    let discard = mix
        .iter()
        .zip(&collision)
        .map(|(t, c)| t.streams.iter().map(|s| t.backoff.discard(1.0 - (1.0 - c) * (1.0 - s.error))).collect())
        .collect();
    let busy = slots.iter().map(|slots| if idle > 0.0 { slots / idle } else { 1.0 }).collect();
    Ok(Load { mixes_per_s: 1.0 / seconds, busy, collision, discard, slots })
}

fn check(mix: &[Transmitter]) -> Result<(), ModelError> {
    let mut packets = 0.0;
    for t in mix {
        within("count", t.count, 0.0, 1e9, "0 or more transmitters")?;
        for s in &t.streams {
            within("packets", s.packets, 0.0, 1e12, "0 or more")?;
            within("error", s.error, 0.0, 1.0, "0 to 1")?;
            packets += t.count * s.packets;
        }
    }
    if packets > 0.0 { Ok(()) } else { Err(ModelError::NoFlows) }
}

/// Idle slots a mix, and the attempts of the transmitter that counts them: the one whose backoffs take longest.
fn bottleneck(attempts: &[f64], slots: &[f64]) -> (f64, f64) {
    let longest = attempts.iter().zip(slots).max_by(|a, b| a.1.total_cmp(b.1));
    longest.map_or((0.0, 0.0), |(attempts, slots)| (*slots, *attempts))
}

/// Seconds that the attempts of a mix take, interframe spaces after them included.
fn on_air(params: &MacParams, mix: &[Transmitter], collision: &[f64]) -> f64 {
    let sifs_difs = (params.sifs + params.difs).as_secs_f64();
    let bad = params.after_bad_frame.as_secs_f64();
    let no_ack = params.after_no_ack.as_secs_f64();
    let mut seconds = 0.0;
    let mut collisions = Vec::new();
    for (t, c) in mix.iter().zip(collision) {
        for s in &t.streams {
            let tx = params.tx(s.rate);
            let data = (params.protection_time(tx) + params.data_time(s.ip_len, tx)).as_secs_f64();
            let ack = params.ack_time(tx).as_secs_f64();
            let gamma = 1.0 - (1.0 - c) * (1.0 - s.error);
            let tries = t.count * s.packets * t.backoff.attempts(gamma);
            seconds += tries * (1.0 - c) * (1.0 - s.error) * (data + ack + sifs_difs);
            // The sender counts on after its ACK timeout; the others, who decoded the frame, after SIFS, ACK and DIFS.
            // The bottleneck is the sender more often than not.
            seconds += tries * (1.0 - c) * s.error * (data + no_ack);
            collisions.push((tries * c, data));
        }
    }
    // Two frames take part in most collisions, drawn alike from all attempts that collide: the longer decides.
    collisions.sort_by(|a, b| b.1.total_cmp(&a.1));
    let total: f64 = collisions.iter().map(|(tries, _)| tries).sum();
    if total > 0.0 {
        let mut longer = 0.0;
        for (tries, data) in collisions {
            // This one is the longest of both: it, with any that is not longer.
            let share = tries / total;
            seconds += total / 2.0 * (share * share + 2.0 * share * (1.0 - longer - share)) * (data + bad);
            longer += share;
        }
    }
    seconds
}
