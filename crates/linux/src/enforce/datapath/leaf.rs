//! A leaf of HTB in lines for `tc -batch`.

use std::fmt::Write as _;

use fairair_core::shaper::QueueRule;
use fairair_core::shaper::limit::{Demand, limit};
use fairair_core::units::{Bitrate, Bytes};

use super::IFB;
use super::layout::{Layout, LeafClass, Pool, pool_minor};
use crate::enforce::config::LeafKind;

/// Bytes that a class at `rate` may send at once: a millisecond's, so that the kernel's timer need not be finer.
pub(crate) fn burst(rate: Bitrate) -> u64 {
    (rate.as_bps() / 8000).max(1600)
}

/// The class of a pool or of the Internet link, which has all of `rate`.
pub(super) fn whole(lines: &mut String, verb: &str, device: &str, minor: u16, rate: Bitrate, burst: u64) {
    let rate = rate.as_bps();
    let _ = writeln!(
        lines,
        "class {verb} dev {device} parent 1: classid 1:{minor:x} htb rate {rate}bit ceil {rate}bit burst {burst} cburst \
         {burst} quantum 1500"
    );
}

/// Burst of a class whose own rate is next to nothing, in bytes. With `htb_hysteresis` a class may send until it owes its burst, and the
/// kernel counts no debt of more than a minute: a burst that lasts longer would let it send for ever.
pub(super) const NO_BURST: u64 = 10;

/// Bytes that `pool` may send at once: a turn where it sends batches, as the simulator's box does. Turns and bursts do not begin together, so
/// that some are cut in two; with two turns a burst fewer are, but probes wait for longer bursts, and `adaptive` lowers C for that.
pub(super) fn pool_burst(pool: &Pool, quantum: Bytes) -> u64 {
    let batch = if pool.turn > quantum { pool.turn.0 } else { 0 };
    burst(pool.rate).max(batch)
}

/// A leaf in the words of `tc`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct LeafLines {
    pub(super) device: &'static str,
    /// Minor number of the class above it.
    pub(super) parent: u16,
    pub(super) minor: u16,
    pub(super) quantum: u32,
    pub(super) cap: Option<Bitrate>,
    /// See [`LeafClass`].
    pub(super) floor: Option<Bitrate>,
    pub(super) splits: bool,
}

impl LeafLines {
    /// A leaf of a pool.
    pub(super) fn of_pool(layout: &Layout, minor: u16, leaf: &LeafClass) -> LeafLines {
        let splits = layout.pools[&leaf.pool].splits;
        let LeafClass { pool, cap, floor, .. } = *leaf;
        let quantum = layout.turn_of(leaf);
        LeafLines { device: IFB, parent: pool_minor(pool), minor, quantum, cap, floor, splits }
    }

    /// Class and queue. With `replace` they may be there already, from a try that failed half-way.
    pub(super) fn add(&self, lines: &mut String, verb: &str, layout: &Layout) {
        self.class(lines, verb);
        self.qdisc(lines, verb, layout);
    }

    pub(super) fn class(&self, lines: &mut String, verb: &str) {
        // A leaf sends at its own rate whatever its parent has left, so that rate is next to nothing and it borrows the
        // rest. Without a cap its ceiling is out of reach, so that a change of C changes one class.
        let LeafLines { device, parent, minor, quantum, .. } = self;
        let (prio, rate) = self.floor.map_or((0, 8), |floor| (1, floor.as_bps()));
        // A ceiling out of reach with a short burst would stop the class after each packet until the kernel's timer expires.
        let ceil = leaf_ceil(self.cap);
        let (cburst, ceil) = (burst(ceil).max(self.cap.map_or(0, |_| u64::from(*quantum))), ceil.as_bps());
        let own = if self.floor.is_some() { 1600 } else { NO_BURST };
        let _ = writeln!(
            lines,
            "class {verb} dev {device} parent 1:{parent:x} classid 1:{minor:x} htb prio {prio} rate {rate}bit ceil {ceil}bit \
             burst {own} cburst {cburst} quantum {quantum}"
        );
    }

    pub(super) fn qdisc(&self, lines: &mut String, verb: &str, layout: &Layout) {
        let LeafLines { device, minor, .. } = self;
        let own = layout.leaves.get(minor).filter(|_| *device == IFB);
        let queue = match (layout.leaf.kind, layout.leaf.queue, own) {
            (LeafKind::FqCodel, QueueRule::Auto, Some(own)) => {
                format!("fq_codel limit {}", packets(first_limit(layout, own)))
            }
            (_, QueueRule::Auto, Some(own)) => format!("bfifo limit {}", first_limit(layout, own).0),
            (LeafKind::FqCodel, rule, _) => format!("fq_codel limit {}", stage_limit(rule)),
            (_, rule, _) => format!("pfifo limit {}", stage_limit(rule)),
        };
        if !self.splits {
            let _ = writeln!(lines, "qdisc {verb} dev {device} parent 1:{minor:x} {queue}");
            return;
        }
        // TBF splits what is longer than its burst; its rate never holds anything up.
        let handle = splitter(*minor);
        let _ = writeln!(
            lines,
            "qdisc {verb} dev {device} parent 1:{minor:x} handle {handle:x}: tbf rate 100gbit burst {} limit 1000000\n\
             qdisc {verb} dev {device} parent {handle:x}:1 {queue}",
            layout.largest
        );
    }

    /// The same, on a new class, with small packets before the others of this leaf: acknowledgements, questions to name
    /// servers, pings. Nobody else waits for them longer than for other packets of this leaf.
    /// With [`QueueRule::Auto`] each may hold `limit` to begin with.
    pub(super) fn small_first(&self, lines: &mut String, layout: &Layout, limit: Bytes) {
        let queue = match layout.leaf.queue {
            QueueRule::Auto => format!("bfifo limit {}", limit.0),
            QueueRule::Packets(limit) => format!("pfifo limit {limit}"),
        };
        if layout.leaf.kind == LeafKind::FqCodel {
            return self.qdisc(lines, "add", layout);
        }
        let LeafLines { device, minor, .. } = self;
        let (top, own) = (splitter(*minor), small_first_handle(*minor));
        let parent = if self.splits {
            let burst = layout.largest;
            let _ = writeln!(
                lines,
                "qdisc add dev {device} parent 1:{minor:x} handle {top:x}: tbf rate 100gbit burst {burst} limit 1000000"
            );
            format!("{top:x}:1")
        } else {
            format!("1:{minor:x}")
        };
        let _ = writeln!(lines, "qdisc add dev {device} parent {parent} handle {own:x}: htb default 2");
        for class in [1, 2] {
            // Their rate never holds anything up; the class with the lower number has priority.
            let _ = writeln!(
                lines,
                "class add dev {device} parent {own:x}: classid {own:x}:{class} htb rate 100gbit ceil 100gbit burst 100000 \
                 cburst 100000 prio {class} quantum 1500\nqdisc add dev {device} parent {own:x}:{class} {queue}"
            );
        }
        // IPv4's total length, IPv6's length of what follows the header: below 128 bytes.
        for (protocol, preference, at) in [("ip", 1, 2), ("ipv6", 2, 4)] {
            let _ = writeln!(
                lines,
                "filter add dev {device} parent {own:x}: protocol {protocol} pref {preference} u32 match u16 0 0xff80 at {at} \
                 flowid {own:x}:1"
            );
        }
    }
}

/// Handle of the TBF of leaf `minor`.
pub(super) const fn splitter(minor: u16) -> u16 {
    // Leaves are multiples of 16 but for one, which gets the first number behind theirs.
    if minor.is_multiple_of(16) { (minor >> 4) + 1 } else { 0x1001 }
}

/// Handle of the HTB with small packets first of leaf `minor`; its classes are 1, for those, and 2.
pub(super) const fn small_first_handle(minor: u16) -> u16 {
    0x2000 + splitter(minor)
}

/// Most that a leaf gets; without a cap out of reach.
pub(super) fn leaf_ceil(cap: Option<Bitrate>) -> Bitrate {
    cap.unwrap_or(Bitrate::mbps(40_000))
}

/// Packets in a queue whose limit follows no rate.
fn stage_limit(rule: QueueRule) -> usize {
    if let QueueRule::Packets(limit) = rule { limit } else { 200 }
}

/// A limit in bytes as one in packets, for queues that count these.
pub(super) const fn packets(limit: Bytes) -> u64 {
    limit.0.div_ceil(1500)
}

/// Queue of a leaf in a pool where nobody else has traffic.
pub(super) fn first_limit(layout: &Layout, leaf: &LeafClass) -> Bytes {
    let pool = &layout.pools[&leaf.pool];
    let most = leaf.cap.map_or(pool.rate, |cap| cap.min(pool.rate));
    limit(pool.rate.as_bps() as f64, &Demand { weight: 1.0, rate: 0.0, cap: Some(most) }, largest(pool))
}

/// Largest packet that a leaf's queue gets.
pub(crate) const fn largest(pool: &Pool) -> Bytes {
    if pool.splits { Bytes(1500) } else { Bytes(65_536) }
}

/// The class that the queue of leaf `minor` belongs to.
pub(super) const fn queue_parent(pool: &Pool, minor: u16) -> (u16, u16) {
    if pool.splits { (splitter(minor), 1) } else { (1, minor) }
}
