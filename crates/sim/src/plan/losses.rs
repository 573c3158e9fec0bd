//! Who loses by a plan: what one station gets others had.

use fairair_core::packet::Direction;
use fairair_core::scenario::{Scenario, Traffic};
use fairair_core::units::Bytes;
use serde::Serialize;

use super::outcome::Outcome;

/// Less goodput by this factor is a loss, and so is a file that takes this many times as long.
const MUCH: f64 = 2.0;
/// Less of a stream of datagrams than this part of what arrived: a call or a game that loses more is no use.
const CLEAR: f64 = 0.95;

/// What a recommended plan takes from somebody.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Loss {
    /// A station, or a group of stations as named in the file; flows of one that loses less.
    pub who: String,
    /// Goodput of each in the cell as it is, and under the plan; null for files.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub goodput_bps: Option<[f64; 2]>,
    /// Mean transfer time of a file in the cell as it is, and under the plan; null for stations.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub transfer_s: Option<[f64; 2]>,
}

/// Who loses much by `plan` of `scenario`.
pub(super) fn losses(scenario: &Scenario, as_is: &Outcome, plan: &Outcome) -> Vec<Loss> {
    let (before, after) = (&as_is.report, &plan.report);
    let groups = before
        .stations
        .iter()
        .zip(&after.stations)
        .filter_map(|(was, is)| Some((was.group.clone(), was.goodput_bps.mean.zip(is.goodput_bps.mean)?)));
    let stations: Vec<Group> = grouped(groups).into_iter().filter(is_much).collect();
    let is_told = |group: &str| stations.iter().any(|(name, ..)| name == group);
    // A flow may lose what another of its station gains; of files the time counts.
    let is_stream: Vec<bool> =
        scenario.flows().map(|(_, flow)| matches!(flow.traffic, Traffic::UdpCbr { .. })).collect();
    let of_flows = |streams: bool| {
        let flows = before.flows.iter().zip(&after.flows).zip(&is_stream).filter_map(|((was, is), stream)| {
            let group = &before.stations.iter().find(|own| own.name == was.station)?.group;
            let pair = was.goodput_bps.mean.zip(is.goodput_bps.mean)?;
            let is_bulk = was.transfers.mean_s.mean.is_none();
            let way = if was.direction == Direction::Up { "upload" } else { "download" };
            let name = if *stream { "stream of datagrams" } else { way };
            (*stream == streams && is_bulk && !is_told(group)).then(|| (format!("{name} of {group}"), pair))
        });
        grouped(flows).into_iter()
    };
    let bulk = of_flows(false).filter(is_much);
    let streams = of_flows(true).filter(|(_, _, [was, is])| *is < CLEAR * was);
    let flows = bulk.chain(streams).map(|lost| {
        let (what, count) = (&lost.0, lost.1);
        loss(if count == 1 { format!("the {what}") } else { format!("each {what} ({count})") }, &lost)
    });
    let members = stations.iter().map(|lost| {
        let (group, count) = (&lost.0, lost.1);
        loss(if count == 1 { group.clone() } else { format!("each of the {count} {group}") }, lost)
    });
    let files = before.transfers.iter().zip(&after.transfers).filter_map(|(was, is)| {
        let times = was.transfers.mean_s.mean.zip(is.transfers.mean_s.mean)?;
        (times.1 > MUCH * times.0).then(|| Loss {
            who: format!("files of {}", Bytes(was.size_bytes)),
            goodput_bps: None,
            transfer_s: Some([times.0, times.1]),
        })
    });
    members.chain(flows).chain(files).collect()
}

/// A group by name, how many it has, and the sums of what they had and have, in bit/s.
type Group = (String, usize, [f64; 2]);

fn loss(who: String, (_, count, sums): &Group) -> Loss {
    Loss { who, goodput_bps: Some(sums.map(|sum| sum / *count as f64)), transfer_s: None }
}

/// Whether a group loses much on average.
fn is_much((_, _, [was, is]): &Group) -> bool {
    *was > MUCH * is
}

/// Members by the name of their group, with what they had and have, together.
fn grouped(members: impl Iterator<Item = (String, (f64, f64))>) -> Vec<Group> {
    let mut groups: Vec<Group> = Vec::new();
    for (name, (was, is)) in members {
        match groups.iter_mut().find(|(group, ..)| *group == name) {
            Some((_, count, sums)) => {
                *count += 1;
                (sums[0], sums[1]) = (sums[0] + was, sums[1] + is);
            }
            None => groups.push((name, 1, [was, is])),
        }
    }
    groups
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_loses_over_half_is_told_by_group() {
        let members = [("a", (4.0, 1.0)), ("b", (4.0, 2.1)), ("a", (2.0, 1.5)), ("c", (1.0, 0.4))];
        let all = grouped(members.into_iter().map(|(name, pair)| (name.to_owned(), pair)));
        let lost: Vec<Group> = all.into_iter().filter(is_much).collect();
        assert_eq!(lost, [("a".to_owned(), 2, [6.0, 2.5]), ("c".to_owned(), 1, [1.0, 0.4])]);
        assert_eq!(loss("each".to_owned(), &lost[0]).goodput_bps, Some([3.0, 1.25]));
    }
}
