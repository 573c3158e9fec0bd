//! Who loses by a plan: what one station gets others had.

use fairair_core::units::Bytes;
use serde::Serialize;

use super::outcome::Outcome;

/// Less than this part of what they had is a loss, and a file that takes as many times as long.
const MUCH: f64 = 2.0;

/// What a recommended plan takes from somebody.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Loss {
    /// A station, or a group of stations as named in the file.
    pub who: String,
    /// Goodput of each of them in the cell as it is, and under the plan; null for files.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub goodput_bps: Option<[f64; 2]>,
    /// Mean transfer time of a file in the cell as it is, and under the plan; null for stations.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub transfer_s: Option<[f64; 2]>,
}

/// Who loses much by `plan`.
pub(super) fn losses(as_is: &Outcome, plan: &Outcome) -> Vec<Loss> {
    let (before, after) = (&as_is.report, &plan.report);
    let mut groups: Vec<(&str, usize, [f64; 2])> = Vec::new();
    for (was, is) in before.stations.iter().zip(&after.stations) {
        let Some(pair) = was.goodput_bps.mean.zip(is.goodput_bps.mean) else { continue };
        match groups.last_mut().filter(|(group, ..)| *group == was.group) {
            Some((_, count, sums)) => {
                *count += 1;
                (sums[0], sums[1]) = (sums[0] + pair.0, sums[1] + pair.1);
            }
            None => groups.push((&was.group, 1, [pair.0, pair.1])),
        }
    }
    let stations = groups.into_iter().filter(|(_, _, [was, is])| *was > MUCH * is).map(|(group, count, sums)| Loss {
        who: if count == 1 { group.to_owned() } else { format!("each of the {count} {group}") },
        goodput_bps: Some(sums.map(|sum| sum / count as f64)),
        transfer_s: None,
    });
    let files = before.transfers.iter().zip(&after.transfers).filter_map(|(was, is)| {
        let times = was.transfers.mean_s.mean.zip(is.transfers.mean_s.mean)?;
        (times.1 > MUCH * times.0).then(|| Loss {
            who: format!("files of {}", Bytes(was.size_bytes)),
            goodput_bps: None,
            transfer_s: Some([times.0, times.1]),
        })
    });
    stations.chain(files).collect()
}
