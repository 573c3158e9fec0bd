//! From counters to answers: indices, means and confidence intervals, and the result that every engine gives.
//!
//! [`indices`](self) are pure functions of numbers; an [`Estimate`] is a mean over replicas with its
//! confidence; a [`Report`] holds both for a scenario and is the result schema (docs/results.md).

mod aggregate;
mod cell;
mod demand;
mod enforce;
mod estimate;
mod fingerprint;
mod indices;
mod period;
pub mod quantity;
mod report;
mod rows;
mod starvation;
mod verdict;

pub use aggregate::Provenance;
pub use enforce::{CapacityTrace, EnforceReport, EnforceStation, UdpReport};
pub use estimate::{Estimate, student_t_975, student_t_995};
pub use fingerprint::fingerprint;
pub use indices::{
    coefficient_of_variation, fairness_level, fairness_level_of_first, jain_index, mean, sigma_over_mean, up_down_ratio,
};
pub use period::{Period, judged, periods, starved};
pub use quantity::{CellQuantity, Quantity, Unit};
pub use report::{
    Assumption, Directions, Indices, MacSection, ModelSection, ProbeTrips, Report, RoundTrips, SCHEMA, SeriesReport,
    TestbedLosses, TestbedMinute, TestbedSection, Totals, UntilCi, ValueSource, json_schema,
};
pub use rows::{
    ApDelay, ByClass, DirectionReport, FlowReport, MacReport, QueueReport, SizeTransfers, StationReport, Transfers,
    Transport,
};
pub use starvation::{FLOOR, MaxMin, Starved};
pub use verdict::{exact_per_cent, per_cent, starving, times, verdict};

#[cfg(test)]
mod tests;
