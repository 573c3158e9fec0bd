//! Uploads whose ACKs share a short queue.

use fairair_core::metrics::Report;
use fairair_core::packet::Direction;
use fairair_core::qdisc::QdiscSpec;
use fairair_core::scenario::{Scenario, Traffic};

/// Share of their ACKs that a queue which several uploads fill may drop. An upload with a whole window under way hardly notices. One that times
/// out sends a single packet, whose ACK meets a queue that the others keep full: its timeouts double, and it falls silent. In 30 cells with a
/// dual queue (4 + 4, 6 + 6, 8 + 2 and 2 + 6 flows, 802.11b and g, 150 to 2000 replicas of 100 s each) no upload starves where 26 % or less
/// are dropped. With 28 % one does in one replica of 2000, with 34 % in one of 100, with 39 to 47 % in up to one of six, with more in most.
/// A proof is too short to see the first of these.
const MOST: f64 = 0.2;

/// Why an upload may starve with another seed, though all of them have a share in each replica of `report`.
pub(super) fn risk(scenario: &Scenario, report: &Report) -> Option<String> {
    let is_shared = matches!(scenario.ap.queue, QdiscSpec::DualQueue(_));
    let uploads = scenario
        .flows()
        .filter(|(_, flow)| flow.direction == Direction::Up && !matches!(flow.traffic, Traffic::UdpCbr { .. }));
    let dropped = report.ap_queue.drop_probability.ack.mean.unwrap_or(0.0);
    (is_shared && uploads.count() > 1 && dropped > MOST).then(|| {
        format!(
            "a queue that uploads share drops {:.0} % of their ACKs: one that times out may stay silent",
            100.0 * dropped
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::look::Sample;

    /// A short queue for the ACKs of two uploads, a long one, and one upload alone, which nobody keeps from coming back.
    #[test]
    fn a_short_queue_of_acks_is_a_risk_where_uploads_share_it() {
        let risk = |uploads: u32, ack: u32| {
            let text = format!(
                "name = \"dual\"\nrun.duration = \"30 s\"\n[radio]\nphy = \"802.11b\"\n[tcp]\nwindow = 42\n\
                 [ap]\nqueue = {{ kind = \"dual-queue\", ack = {ack}, data = 100, p = 0.8 }}\n\
                 [[station]]\nname = \"up\"\ncount = {uploads}\nflows = [{{ direction = \"up\" }}]\n\
                 [[station]]\nname = \"down\"\ncount = 4\nflows = [{{ direction = \"down\" }}]\n"
            );
            let scenario = Scenario::from_toml(&text, "dual.toml").unwrap();
            super::risk(&scenario, &Sample::new(&scenario, vec![crate::run(&scenario, 0)], false).report)
        };
        let told = risk(4, 30).unwrap();
        assert!(told.starts_with("a queue that uploads share drops 5"), "{told}");
        assert_eq!(risk(4, 100), None, "hardly any is dropped");
        assert_eq!(risk(1, 10), None, "one upload alone");
    }
}
