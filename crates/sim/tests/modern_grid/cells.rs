//! The cells of the modern grid, from a fixed seed.

use std::fmt::Write as _;

use fairair_core::rng::Rng;
use fairair_core::scenario::Scenario;

/// Cells of the grid.
pub(crate) const SIZE: usize = 180;
/// Replicas of each.
const REPLICAS: u32 = 2;

fn pick<T: Copy>(rng: &mut Rng, from: &[T]) -> T {
    from[(rng.uniform() * from.len() as f64) as usize]
}

/// The scenario of a cell of the series `label`. The series `grid` judges; others serve to look at while a model is made.
pub(crate) fn scenario(label: &str, case: usize) -> Scenario {
    Scenario::from_toml(&toml(label, case), "modern grid").expect("the grid is made of right scenarios")
}

/// 802.11n, ac or ax; a shared FIFO of 100-1000 packets, or mac80211 with received air, without, or in turns; up to 20 stations that
/// send and up to 20 that receive; round trips of 5-60 ms; one MCS or two; a quarter with errors.
pub(crate) fn toml(label: &str, case: usize) -> String {
    let rng = &mut Rng::fork(17, &format!("{label}/{case}"));
    let (phy, best, others): (_, _, &[u32]) =
        pick(rng, &[("802.11n", 7, &[1, 3, 5]), ("802.11ac", 9, &[2, 4, 7]), ("802.11ax", 11, &[3, 5, 8])]);
    let width = if phy == "802.11n" { pick(rng, &[20, 40]) } else { pick(rng, &[40, 80]) };
    let queue = match (rng.uniform() * 9.0) as u32 {
        0..3 => format!("{{ kind = \"shared-fifo\", limit = {} }}", pick(rng, &[100, 200, 300, 500, 1000])),
        3..6 => "{ kind = \"mac80211\" }".to_owned(),
        6..8 => "{ kind = \"mac80211\", rx_airtime = false }".to_owned(),
        _ => "{ kind = \"mac80211\", airtime = false }".to_owned(),
    };
    let counts = &[1, 1, 2, 3, 4, 5, 7, 10, 14, 20];
    let (up, down) = match (rng.uniform() * 6.0) as u32 {
        0 => (0, pick(rng, counts)),
        1 => (pick(rng, counts), 0),
        _ => (pick(rng, counts), pick(rng, counts)),
    };
    let delay = pick(rng, &[2.5, 5.0, 10.0, 20.0, 30.0]);
    let slow = pick(rng, others);
    let mixed = rng.uniform() < 0.4;
    let error = if rng.uniform() < 0.25 { pick(rng, &[0.02, 0.05, 0.1, 0.2]) } else { 0.0 };
    let mut text = format!(
        "name = \"{label}-{case}\"\n[run]\nduration = \"60 s\"\nwarmup = \"20 s\"\nreplicas = {REPLICAS}\nseed = {case}\n\
         [radio]\nphy = \"{phy}\"\nwidth = \"{width} MHz\"\nmcs = {best}\n[ap]\nqueue = {queue}\n[wire]\ndelay = \"{delay} ms\"\n"
    );
    for (way, count) in [("up", up), ("down", down)].into_iter().filter(|(_, count)| *count > 0) {
        let low = if mixed { (count + 1) / 2 } else { 0 };
        for (kind, count, mcs) in [("slow", low, slow), ("fast", count - low, best)] {
            if count > 0 {
                let _ = write!(
                    text,
                    "[[station]]\nname = \"{way}-{kind}\"\ncount = {count}\nmcs = {mcs}\nframe_error = {error:?}\n\
                     flows = [{{ direction = \"{way}\" }}]\n"
                );
            }
        }
    }
    text
}
