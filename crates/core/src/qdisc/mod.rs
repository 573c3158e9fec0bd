//! Queue disciplines: who waits, who goes next, who is dropped and why.
//!
//! A discipline is one file that implements [`Qdisc`], and a line of [`QdiscSpec`]. It never counts: [`Queue`] wraps it, stamps arrivals and keeps the statistics, so that
//! all disciplines are measured alike and packets in = out + dropped + queued holds by one check.

mod adaptive_buffer;
mod admission;
mod airtime_fq;
mod backlogs;
mod census;
mod codel;
mod discipline;
mod droptail;
mod dual_queue;
mod dual_share;
mod fair_queue;
mod flow_table;
mod fq_codel;
mod histogram;
mod las;
mod mac80211;
mod queue;
mod service;
mod shared_fifo;
mod spec;
mod tlas;
mod tlas_saf;
mod watched;

#[cfg(test)]
mod conformance;
#[cfg(test)]
mod fair_tests;
#[cfg(test)]
mod las_tests;

pub use adaptive_buffer::{AdaptiveBuffer, AdaptiveBufferParams};
pub use admission::{Admission, AdmissionParams, Refusable};
pub use airtime_fq::{AirtimeFq, AirtimeFqParams};
pub use codel::{CodelParams, CodelQueue, CodelState};
pub use discipline::{Drops, Held, Qdisc, Txq};
pub use droptail::DropTail;
pub use dual_queue::{DualQueue, DualQueueParams};
pub use dual_share::{Share, ShareRule};
pub use fair_queue::{Charge, FairKey, FairQueue, FairQueueParams};
pub use fq_codel::{FqCodel, FqCodelParams};
pub use histogram::{Histogram, SparseHistogram};
pub use las::{Las, LasParams};
pub use mac80211::{Mac80211, Mac80211Params};
pub use queue::{Queue, QueueStats};
pub use shared_fifo::{SharedFifo, SharedFifoParams};
pub use spec::{QdiscSpec, build};
pub use tlas::{Tlas, TlasParams, Victim};
pub use tlas_saf::{CwndSource, TlasSaf, TlasSafParams};
pub use watched::{Dropped, Watched};
