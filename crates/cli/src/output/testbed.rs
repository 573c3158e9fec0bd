//! What the testbed says of itself, in two lines.

use fairair_core::metrics::{TestbedLosses, TestbedSection};

use super::quantity::NONE;

/// Whose TCP it was, and how long a ping took.
pub(super) fn hosts(testbed: &TestbedSection) -> String {
    let mut parts =
        vec![testbed.kernel.clone(), format!("TCP of {}", testbed.stack), format!("uplink {}", testbed.uplink)];
    let means = || testbed.round_trips.iter().filter_map(|station| station.mean_s.mean);
    if let (Some(shortest), Some(longest)) = (means().reduce(f64::min), means().reduce(f64::max)) {
        parts.push(format!("mean ping {:.0} to {:.0} ms", shortest * 1e3, longest * 1e3));
    }
    if testbed.which_box.as_deref() == Some("live") {
        parts.push("box live (fairair vsb)".to_owned());
    }
    if let Some(p95) = testbed.probes.as_ref().and_then(|probes| probes.p95_s) {
        parts.push(format!("its probes within {:.0} ms (95 %)", p95 * 1e3));
    }
    parts.join(", ")
}

/// How well the emulation kept time, and what it lost.
pub(super) fn real_time(testbed: &TestbedSection) -> String {
    let ms = |seconds: Option<f64>| seconds.map_or_else(|| NONE.to_owned(), |s| format!("{:.2} ms", s * 1e3));
    let verdict = if testbed.on_time { "on time" } else { "TOO LATE: the machine is too busy for this result" };
    let (p50, p99) = (ms(testbed.lateness_p50_s), ms(testbed.lateness_p99_s));
    let most = ms(Some(testbed.lateness_max_s));
    let mut parts = vec![verdict.to_owned(), format!("hand-over late by {p50} (median), {p99} (99 %), {most} at most")];
    parts.extend(testbed.cpu_share.map(|share| format!("{:.0} % of a core", share * 100.0)));
    if !testbed.realtime {
        parts.push("without real-time priority".to_owned());
    }
    let TestbedLosses { overrun, refused, unknown_address } = testbed.lost;
    let losses = [(overrun, "overrun"), (refused, "refused"), (unknown_address, "to unknown addresses")];
    parts.extend(
        losses.iter().filter(|(count, _)| *count > 0).map(|(count, reason)| format!("{count} frames {reason}")),
    );
    parts.join("; ")
}

#[cfg(test)]
mod tests {
    use fairair_core::metrics::ProbeTrips;

    use super::*;

    #[test]
    fn a_result_that_came_too_late_says_so_and_names_what_was_lost() {
        let mut section = TestbedSection {
            kernel: "Linux 6.18".to_owned(),
            stack: "linux".to_owned(),
            uplink: "deep".to_owned(),
            realtime: false,
            on_time: false,
            lateness_bound_s: 1e-3,
            lateness_p50_s: Some(20e-6),
            lateness_p99_s: Some(2.5e-3),
            lateness_max_s: 0.02,
            cpu_share: Some(0.07),
            frames: 9,
            lost: TestbedLosses { overrun: 3, refused: 0, unknown_address: 0 },
            round_trips: Vec::new(),
            minutes: Vec::new(),
            which_box: None,
            probes: None,
            findings: Vec::new(),
        };
        assert_eq!(
            real_time(&section),
            "TOO LATE: the machine is too busy for this result; hand-over late by 0.02 ms (median), 2.50 ms (99 %), \
             20.00 ms at most; 7 % of a core; without real-time priority; 3 frames overrun"
        );
        section.on_time = true;
        assert!(real_time(&section).starts_with("on time; "));
        assert_eq!(hosts(&section), "Linux 6.18, TCP of linux, uplink deep");
        section.which_box = Some("live".to_owned());
        section.probes = Some(ProbeTrips { p95_s: Some(0.0304), ..ProbeTrips::default() });
        let with_box = "Linux 6.18, TCP of linux, uplink deep, box live (fairair vsb), its probes within 30 ms (95 %)";
        assert_eq!(hosts(&section), with_box);
    }
}
