//! Why a station gets its rate, in a sentence.

use fairair_core::units::{Bitrate, plural};

use super::wan::OnWan;
use crate::enforce::protocol::StationReport;

/// Digits of a rate that was measured.
pub(super) const MEASURED: u32 = 3;

/// What else bears on a station's rate.
#[derive(Clone, Copy, Debug)]
pub(super) struct Case {
    /// C of its pool.
    pub(super) capacity: Bitrate,
    /// What its weight makes of that if all who are active want as much.
    pub(super) share: Bitrate,
    /// How many others are active.
    pub(super) others: usize,
    /// What it has on the Internet link.
    pub(super) on_wan: OnWan,
    /// The box is not the bottleneck, or cannot know.
    pub(super) is_doubtful: bool,
}

/// What limits the station of `report`.
pub(super) fn limit(report: &StationReport, case: &Case) -> String {
    let rate = report.rate.rounded(MEASURED);
    let is_capped = |rate: Bitrate| report.cap.is_some_and(|cap| rate.as_bps() as f64 > 0.9 * cap.as_bps() as f64);
    let cap = report.cap.unwrap_or_default();
    if case.on_wan.waiting > 0 {
        let packets = plural(case.on_wan.waiting as usize, "packet");
        if is_capped(case.on_wan.rate.max(report.rate)) {
            return format!(
                "it has {rate}, all that its cap of {cap} allows: {packets} of it wait for that before the Internet link"
            );
        }
        return format!(
            "{packets} of it wait for the Internet link ([wan]), which all stations share by weight: `fairair vsb status` has its rates"
        );
    }
    if report.backlog > 0 && is_capped(report.rate) {
        return format!("it has {rate}, all that its cap of {cap} allows");
    }
    if report.backlog > 0 {
        return format!(
            "its queue has {}: it shares {} with {}; its part of that is {} if all of them want as much, and what they leave comes on top",
            plural(report.backlog as usize, "packet"),
            case.capacity.rounded(MEASURED + 1),
            plural(case.others, "other active station"),
            case.share.rounded(MEASURED)
        );
    }
    let more = if case.is_doubtful { ", and may want more" } else { "" };
    format!("nothing of it waits in the box, so the box does not limit it: it has {rate}{more}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::enforce::site::Source;

    fn report(backlog: u32, cap: Option<Bitrate>, bps: u64) -> StationReport {
        StationReport {
            name: "desk".to_owned(),
            ap: "ap1".to_owned(),
            mac: None,
            addresses: Vec::new(),
            source: Source::Config,
            setting: None,
            weight: 1.0,
            cap,
            quantum: 1500,
            class: "1:100".to_owned(),
            rate: Bitrate::from_bps(bps),
            bypassing: Bitrate::default(),
            phy_rate: None,
            bytes: 0,
            backlog,
            wan_backlog: 0,
            drops: 0,
            wan_drops: 0,
            answers: None,
        }
    }

    #[test]
    fn what_limits_a_station_is_named() {
        let (capacity, share) = (Bitrate::from_bps(20_123_456), Bitrate::from_bps(10_061_728));
        let quiet = Case { capacity, share, others: 1, on_wan: OnWan::default(), is_doubtful: false };
        let on_wan = OnWan { waiting: 7, rate: Bitrate::from_bps(3_900_000), ..OnWan::default() };
        let (on_link, doubtful) = (Case { on_wan, ..quiet }, Case { is_doubtful: true, ..quiet });
        let cap = Some(Bitrate::mbps(4));
        for (report, case, words) in [
            (report(0, None, 3_876_543), quiet, "the box does not limit it: it has 3.88 Mbit/s"),
            (report(0, None, 3_876_543), doubtful, "may want more"),
            (report(9, cap, 3_876_543), quiet, "all that its cap of 4 Mbit/s allows"),
            (
                report(9, cap, 1_000_000),
                quiet,
                "it shares 20.12 Mbit/s with 1 other active station; its part of that is 10.1 Mbit/s",
            ),
            (
                report(0, cap, 3_876_543),
                on_link,
                "its cap of 4 Mbit/s allows: 7 packets of it wait for that before the Internet link",
            ),
            (report(0, None, 3_876_543), on_link, "wait for the Internet link ([wan]), which all stations share"),
        ] {
            let told = limit(&report, &case);
            assert!(told.contains(words), "{told}");
        }
    }
}
