//! Remedies inside the AP that are no queue discipline: it changes headers, or slows its way to the wire.

mod live_flows;
mod uplink_limiter;
mod window_cap;

pub use live_flows::LiveFlows;
pub use uplink_limiter::{LimiterCapacity, LimiterShare, UplinkLimiter, UplinkLimiterParams};
pub use window_cap::{WindowCap, WindowCapParams, WindowRule};
