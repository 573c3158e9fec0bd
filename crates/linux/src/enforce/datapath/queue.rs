//! Queues of leaves while they are in use: limits that follow the rate, and flows apart where stations have traffic.

use std::collections::BTreeMap;
use std::io;

use fairair_core::shaper::limit::{is_news, limit_of_each};
use fairair_core::shaper::{Policy, QueueRule};
use fairair_core::units::Bytes;

use super::classes::ClassStats;
use super::engine::Engine;
use super::flows::{self, Flows};
use super::layout::{Layout, LeafClass};
use super::leaf::{first_limit, largest, packets, queue_parent, splitter};
use super::repair::Health;
use super::script::{Script, gains_floor};
use super::tools::{self, DatapathError};
use super::wire::put;
use super::{IFB, TRIAL};
use crate::enforce::config::LeafKind;

/// `TCA_FQ_CODEL_LIMIT`.
const FQ_CODEL_LIMIT: u16 = 2;
/// Handles of small HTBs are above those of the splitting TBFs by this.
pub(crate) const INNER: u16 = 0x2000;
/// Looks of the repair between two at the queues.
const QUEUE_LOOKS: u32 = 10;

/// Most leaves whose flows are told apart at once, when they come or at a look: each takes the kernel some milliseconds.
const AT_ONCE: usize = 8;
/// Most in all: each has ten queues, and the kernel numbers 32,767 of them.
const MOST_APART: usize = 2500;
/// So many stations have their flows told apart before anything waits. Of the others, those in pools where something has waited: ten queues
/// a leaf cost a box that is no bottleneck a tenth of what it forwards.
const AHEAD: usize = 64;
/// Packets that wait in a leaf whose flows are worth telling apart though these are lost.
const HELD_UP: u32 = 8;

/// How the kernel can keep flows of a class apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FlowQueues {
    /// By FQ-CoDel.
    FqCodel,
    /// By a small HTB and a classifier of ours.
    Buckets,
}

impl FlowQueues {
    /// What the kernel has, found out on a device of its own.
    pub(super) fn find() -> Option<FlowQueues> {
        if tools::tries(&Self::fq_codel()).is_ok() {
            return Some(FlowQueues::FqCodel);
        }
        let filter = flows::filter(1).replace(IFB, TRIAL);
        let has_buckets = tools::tries(&format!("qdisc add dev {TRIAL} root handle 1: htb\n{filter}")).is_ok();
        has_buckets.then_some(FlowQueues::Buckets)
    }

    fn fq_codel() -> String {
        format!("qdisc add dev {TRIAL} root fq_codel\n")
    }
}

impl Engine {
    /// Finds out whether the kernel has what the leaves of `layout` need: a change that fails half-way takes their queues.
    pub(super) fn try_leaves(&mut self, layout: &Layout) -> Result<(), DatapathError> {
        match layout.leaf.kind {
            kind if kind == self.layout.leaf.kind => {}
            LeafKind::Fifo => {}
            LeafKind::FqCodel => tools::tries(&FlowQueues::fq_codel())?,
            LeafKind::Auto => self.apart = FlowQueues::find(),
        }
        Ok(())
    }

    /// Whether flows of a class are to be told apart and the kernel cannot.
    pub fn lacks_flow_queues(&self) -> bool {
        self.layout.leaf.kind == LeafKind::Auto && self.apart.is_none()
    }

    /// Whether the flows of leaf `minor` wait in queues of their own.
    pub fn is_apart(&self, minor: u16) -> bool {
        self.flows.contains(&minor)
    }

    /// Tells the flows of leaves apart that have come since `old`, unless they are many: those wait for [`Self::refine`].
    pub(super) fn refine_new(&mut self, old: &BTreeMap<u16, LeafClass>) -> Result<(), DatapathError> {
        let room = self.ahead();
        let is_ahead = |own: &(usize, u16)| own.0 < room || self.waited.contains(&self.layout.leaves[&own.1].pool);
        let new = self.layout.leaves.keys().copied().filter(|minor| !old.contains_key(minor));
        let new: Vec<_> = new.enumerate().filter(is_ahead).map(|(_, minor)| minor).collect();
        if new.len() <= AT_ONCE { self.tell_apart(&new) } else { Ok(()) }
    }

    /// Tells the flows of some more leaves apart: first of those that are held up, which costs what waits there, then of those
    /// that were silent since the last call, those that have ever sent before the others; of these the first `AHEAD`, and where
    /// something has waited.
    ///
    /// # Errors
    /// A tool's.
    pub fn refine(&mut self, now: &BTreeMap<u16, ClassStats>) -> Result<(), DatapathError> {
        let mut next = Vec::new();
        let leaves = self.layout.leaves.keys().filter(|minor| !self.flows.contains(minor));
        for (minor, class) in leaves.filter_map(|minor| Some((*minor, now.get(minor)?))) {
            let is_silent = self.sent.insert(minor, class.bytes) == Some(class.bytes) && class.backlog == 0;
            if class.backlog >= HELD_UP {
                self.waited.insert(self.layout.leaves[&minor].pool);
                next.push((0, minor));
            } else if is_silent {
                next.push((if class.bytes > 0 { 1 } else { 2 }, minor));
            }
        }
        next.sort_unstable();
        let room = self.ahead();
        let is_next = |(place, (rank, minor)): &(usize, (u8, u16))| {
            *rank == 0 || *place < room || self.waited.contains(&self.layout.leaves[minor].pool)
        };
        let next = next.into_iter().enumerate().filter(is_next);
        let next: Vec<_> = next.take(AT_ONCE).map(|(_, (_, minor))| minor).collect();
        self.tell_apart(&next)
    }

    /// How many more leaves have their flows told apart before anything waits; newcomers' come on top.
    fn ahead(&self) -> usize {
        (AHEAD + self.layout.pools.len()).saturating_sub(self.flows.len())
    }

    /// Gives the leaves `minors` a queue for each flow, in place of what they have.
    fn tell_apart(&mut self, minors: &[u16]) -> Result<(), DatapathError> {
        let Some(apart) = self.apart.filter(|_| self.layout.leaf.kind == LeafKind::Auto) else { return Ok(()) };
        // A bucket of `per-flow` is a flow already.
        if self.layout.policy == Policy::PerFlow || minors.is_empty() || self.flows.len() + minors.len() > MOST_APART {
            return Ok(());
        }
        let mut lines = String::new();
        for minor in minors {
            let leaf = &self.layout.leaves[minor];
            let pool = &self.layout.pools[&leaf.pool];
            let limit = self.limits.get(minor).copied().unwrap_or_else(|| first_limit(&self.layout, leaf));
            let parent = queue_parent(pool, *minor);
            let made = match (apart, self.layout.leaf.queue) {
                (FlowQueues::FqCodel, rule) => {
                    let limit = if let QueueRule::Packets(limit) = rule { limit as u64 } else { packets(limit) };
                    format!("qdisc replace dev {IFB} parent {:x}:{:x} fq_codel limit {limit}\n", parent.0, parent.1)
                }
                (FlowQueues::Buckets, rule) => {
                    let queue = match rule {
                        QueueRule::Packets(limit) => format!("pfifo limit {limit}"),
                        QueueRule::Auto => format!("bfifo limit {}", limit.0),
                    };
                    Flows { parent, handle: inner(*minor), queue: &queue, limit, largest: largest(pool) }.create()
                }
            };
            lines.push_str(&made);
            if self.layout.leaf.queue == QueueRule::Auto {
                self.limits.insert(*minor, limit);
            }
        }
        if let Err(error) = tools::tc(&lines) {
            // It will not do better the next time.
            self.apart = None;
            let plain: String = minors.iter().map(|minor| Script::queue_anew(&self.layout, *minor)).collect();
            tools::tc_all(&plain);
            return Err(error);
        }
        self.flows.extend(minors);
        Ok(())
    }

    /// Where packets of leaf `minor` wait, and the discipline there.
    fn waiting_places(&self, minor: u16, leaf: &LeafClass) -> (Vec<(u16, u16)>, &'static str) {
        let parent = queue_parent(&self.layout.pools[&leaf.pool], minor);
        let apart = self.apart.filter(|_| self.flows.contains(&minor));
        let fifo = if self.layout.leaf.queue == QueueRule::Auto { "bfifo" } else { "pfifo" };
        match (apart, self.layout.leaf.kind) {
            (Some(FlowQueues::FqCodel), _) | (None, LeafKind::FqCodel) => (vec![parent], "fq_codel"),
            (Some(FlowQueues::Buckets), _) => (flows::queues(inner(minor)).collect(), fifo),
            (None, _) => (vec![parent], fifo),
        }
    }

    /// Lets about `limit` wait in leaf `minor`, which `held` so much at the last look; nothing is done for a change that is too
    /// small to matter. Queues of HTB have no limit together, so each gets its part.
    ///
    /// # Errors
    /// Netlink's, other than that the queue is gone: [`Engine::repair`] sees to that.
    pub fn set_limit(&mut self, minor: u16, limit: Bytes, held: Bytes) -> io::Result<()> {
        let Some(leaf) = self.layout.leaves.get(&minor) else { return Ok(()) };
        let before = self.limits.get(&minor).copied();
        let is_apart = self.apart == Some(FlowQueues::Buckets) && self.flows.contains(&minor);
        let limit = if is_apart {
            limit_of_each(before.unwrap_or(limit), limit, held, largest(&self.layout.pools[&leaf.pool]))
        } else {
            limit
        };
        if self.layout.leaf.queue != QueueRule::Auto || !before.is_none_or(|old| is_news(old, limit)) {
            return Ok(());
        }
        let (places, kind) = self.waiting_places(minor, leaf);
        let mut options = Vec::new();
        if kind == "fq_codel" {
            put(&mut options, FQ_CODEL_LIMIT, &(packets(limit) as u32).to_ne_bytes());
        } else {
            options.extend(u32::try_from(limit.0).unwrap_or(u32::MAX).to_ne_bytes());
        }
        if self.classes.change_queues(places, kind, &options)? {
            self.limits.insert(minor, limit);
        }
        Ok(())
    }

    /// Puts right queues that others have changed: every tenth call, since all queues are asked for.
    pub(super) fn repair_queues(&mut self, health: &mut Health) -> Result<(), DatapathError> {
        self.looks = self.looks.wrapping_add(1);
        if !self.looks.is_multiple_of(QUEUE_LOOKS) {
            return Ok(());
        }
        let there = self.classes.queues()?;
        let mut changed = 0;
        let mut lines = String::new();
        for (minor, leaf) in &self.layout.leaves {
            let (places, kind) = self.waiting_places(*minor, leaf);
            let limit = match self.layout.leaf.queue {
                _ if kind == "fq_codel" => None,
                QueueRule::Packets(limit) => Some(limit as u64),
                QueueRule::Auto => self.limits.get(minor).map(|limit| limit.0),
            };
            let is_right = places.iter().all(|place| {
                let own = there.get(place);
                own.is_some_and(|own| own.kind == kind && limit.is_none_or(|limit| u64::from(own.limit) == limit))
            });
            if !is_right {
                lines += &Script::queue_anew(&self.layout, *minor);
                self.limits.remove(minor);
                self.flows.remove(minor);
                changed += 1;
            }
        }
        if changed > 0 {
            tools::tc(&lines)?;
            health.retuned.push(format!("the queues of {changed} classes were changed by others: made anew"));
        }
        Ok(())
    }

    /// Forgets the queues of leaves that `layout`, which comes next, makes anew or has no more.
    pub(super) fn forget_limits(&mut self, layout: &Layout) {
        let old = &self.layout;
        let stays = old.leaf == layout.leaf && old.largest == layout.largest;
        let splits = |layout: &Layout, minor: u16| {
            layout.leaves.get(&minor).and_then(|leaf| layout.pools.get(&leaf.pool)).map(|pool| pool.splits)
        };
        let is_split = |minor: u16| splits(old, minor).is_some() && splits(old, minor) == splits(layout, minor);
        let is_kept = |minor: u16| stays && is_split(minor) && !gains_floor(old, layout, minor);
        self.limits.retain(|minor, _| is_kept(*minor));
        self.flows.retain(|minor| is_kept(*minor));
        self.sent.retain(|minor, _| is_kept(*minor));
        self.waited.retain(|id| layout.pools.contains_key(id));
    }
}

/// Handle of the small HTB of leaf `minor`.
const fn inner(minor: u16) -> u16 {
    INNER + splitter(minor)
}
