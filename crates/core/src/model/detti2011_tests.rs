//! detti2011 against our evaluation of its equations (docs/models.md) and against itself.

use super::detti2011::*;
use super::*;
use proptest::prelude::*;

/// Station 1 with these connections and window among four others with theirs; testbed parameters, Eq. 25 for `Q_i`.
fn level(first: (u32, u32, f64), others: (u32, u32)) -> (f64, Solution) {
    let station = |(n_up, n_dw), window| Station { n_up, n_dw, window, beta: 1.2 };
    let mut stations = vec![station(others, 42.0); 5];
    stations[0] = station((first.0, first.1), first.2);
    let cell = Cell { stations, buffer: 75.0, approximate: false, wire: 0.0 };
    let solution = cell.solve().unwrap();
    (solution.fairness_level(0, 1).unwrap(), solution)
}

/// Bar: within 1 %.
#[track_caller]
fn close(what: &str, ours: f64, published: f64) {
    println!("{what}: {ours:.4} for {published}");
    assert!((ours / published - 1.0).abs() <= 0.01, "{what}: {ours} for {published}");
}

#[test]
fn fig_5_uploads_against_downloads() {
    let levels = [3.21, 10.53, 12.38, 12.38, 12.38, 12.38];
    for (n, expected) in (1..).zip(levels) {
        close(&format!("Fig. 5, {n} uploads"), level((n, 0, 42.0), (0, 1)).0, expected);
    }
    for (n, p) in [(1, 0.0039), (2, 0.0097), (3, 0.0114)] {
        let ours = level((n, 0, 42.0), (0, 1)).1.p;
        assert!((ours - p).abs() < 0.00005, "{n} uploads: p = {ours} for {p}");
    }
}

#[test]
fn fig_6_downloads_against_downloads() {
    for n in 1..=6 {
        close(&format!("Fig. 6, {n} downloads"), level((0, n, 42.0), (0, 1)).0, f64::from(n));
    }
    let (first, last) = (level((0, 1, 42.0), (0, 1)).1.p, level((0, 6, 42.0), (0, 1)).1.p);
    assert!((first - 0.0032).abs() < 0.00005 && (last - 0.0118).abs() < 0.00005, "{first} {last}");
}

#[test]
fn fig_8_window_of_a_download() {
    for (window, expected) in [(6.0, 0.339), (12.0, 0.663), (18.0, 0.910), (24.0, 1.0), (30.0, 1.0)] {
        close(&format!("Fig. 8, W_1 = {window}"), level((0, 1, window), (0, 1)).0, expected);
    }
}

#[test]
fn fig_9_uploads_against_uploads() {
    let rows = [(1.0, 0.0), (2.0, 0.0), (2.14, 36.0), (2.14, 78.0), (2.14, 120.0), (2.14, 162.0)];
    for (n, (expected, queue)) in (1..).zip(rows) {
        let (level, solution) = level((n, 0, 42.0), (1, 0));
        close(&format!("Fig. 9, {n} uploads"), level, expected);
        assert!((solution.q[0] - queue).abs() < 0.01, "{n} uploads: Q_1 = {}", solution.q[0]);
    }
}

#[test]
fn fig_11_window_of_an_upload() {
    for window in [6.0, 12.0, 24.0, 36.0, 42.0] {
        close(&format!("Fig. 11, W_1 = {window}"), level((1, 0, window), (1, 0)).0, window / 42.0);
    }
}

#[test]
fn the_approximate_queue_differs_by_the_acks_of_downloads_only() {
    let stations = vec![Station { n_up: 3, n_dw: 1, window: 42.0, beta: 1.2 }; 2];
    let full = Cell { stations, buffer: 75.0, approximate: false, wire: 0.0 };
    let short = Cell { approximate: true, ..full.clone() };
    let (full, short) = (full.solve().unwrap(), short.solve().unwrap());
    assert_eq!(short.q[0], 36.0);
    assert!(full.q[0] > 36.0 && full.q[0] < 40.0, "{}", full.q[0]);
}

/// Eqs. 14-16 solve Eqs. 12 and 13 where beta = 1.
#[test]
fn the_closed_form_solves_the_lossless_set() {
    let of = |(n_up, n_dw, window)| Station { n_up, n_dw, window, beta: 1.0 };
    let cells = [
        vec![(3, 0, 42.0), (1, 0, 42.0), (1, 0, 20.0)],
        vec![(3, 1, 42.0), (0, 1, 10.0)],
        vec![(4, 0, 10.0), (1, 1, 5.0)],
        vec![(2, 0, 42.0), (0, 1, 42.0)],
        vec![(1, 0, 42.0), (1, 0, 42.0)],
        vec![(1, 1, 42.0), (0, 3, 42.0)],
    ];
    for connections in cells {
        let stations: Vec<Station> = connections.into_iter().map(of).collect();
        let expected: Vec<f64> =
            (0..stations.len()).map(|i| backlog_closed_form(&stations, i).unwrap_or(0.0)).collect();
        let solution = Cell { stations, buffer: 1e6, approximate: false, wire: 0.0 }.solve().unwrap();
        assert_eq!(solution.regime, Regime::Lossless);
        for (ours, closed) in solution.q.iter().zip(&expected) {
            assert!((ours - closed).abs() < 1e-3, "{:?} for {expected:?}", solution.q);
        }
    }
}

/// A single uploader leaves the AP nearly empty, and its queue holds the window.
#[test]
fn one_uploading_station_needs_footnote_18() {
    let stations = vec![Station { n_up: 1, n_dw: 0, window: 42.0, beta: 1.0 }];
    let solution = Cell { stations, buffer: 75.0, approximate: false, wire: 0.0 }.solve().unwrap();
    // Q_ap = (Q_ap + 1) / 2.
    assert!((solution.q_ap - 1.0).abs() < 1e-6 && (solution.q[0] - 40.0).abs() < 1e-6, "{solution:?}");
}

/// Footnote 19: Fig. 9's plateau, `beta B / W_1`, becomes `beta (B + d) / W_1`, as station 1 sends as fast as ever and
/// the others' round trips grow by the wire.
#[test]
fn a_wired_delay_raises_the_plateau() {
    let mut stations = vec![Station { n_up: 1, n_dw: 0, window: 42.0, beta: 1.2 }; 5];
    stations[0].n_up = 6;
    let level = |wire| {
        let cell = Cell { stations: stations.clone(), buffer: 75.0, approximate: false, wire };
        cell.solve().unwrap().fairness_level(0, 1).unwrap()
    };
    close("no wire", level(0.0), 1.2 * 75.0 / 42.0);
    close("a wire of 40 packets", level(40.0), 1.2 * 115.0 / 42.0);
    let cell = Cell { stations: stations.clone(), buffer: 75.0, approximate: false, wire: 1e6 };
    assert!(cell.solve().is_err(), "all windows are in the wire");
}

#[test]
fn indices_of_appendix_iii() {
    let (_, solution) = level((2, 0, 42.0), (0, 1));
    let (up, down) = (solution.station(0), solution.station(1));
    assert!((solution.up_down_index().unwrap() - up / (4.0 * down)).abs() < 1e-12);
    let jain = (up + 4.0 * down).powi(2) / (5.0 * (up * up + 4.0 * down * down));
    assert!((solution.jain_index() - jain).abs() < 1e-12);
}

#[test]
fn cells_without_meaning_are_refused() {
    let station = Station { n_up: 1, n_dw: 0, window: 42.0, beta: 1.0 };
    let cell = |station, buffer| Cell { stations: vec![station], buffer, approximate: false, wire: 0.0 };
    assert_eq!(cell(Station { n_up: 0, ..station }, 75.0).solve(), Err(ModelError::NoFlows));
    assert!(cell(station, 0.0).solve().is_err());
    assert!(cell(Station { window: f64::NAN, ..station }, 75.0).solve().is_err());
    assert!(cell(Station { beta: 0.0, ..station }, 75.0).solve().is_err());
}

proptest! {
    #[test]
    fn answers_are_in_range(
        stations in prop::collection::vec((0_u32..8, 0_u32..8, 1.0..200.0_f64, prop::sample::select(vec![0.01, 0.5, 1.0, 1.2, 4.0])), 1..12),
        repeat in prop::sample::select(vec![1_usize, 1, 1, 100]),
        buffer in prop::sample::select(vec![1.0, 2.0, 10.0, 75.0, 500.0, 1e5]),
        approximate: bool,
        wire in prop::sample::select(vec![0.0, 0.0, 3.0, 1e4]),
    ) {
        let of = |(n_up, n_dw, window, beta)| Station { n_up, n_dw, window, beta };
        let stations: Vec<Station> = stations.into_iter().map(of).collect::<Vec<_>>().repeat(repeat);
        let flows: u32 = stations.iter().map(|s| s.n_up + s.n_dw).sum();
        let cell = Cell { stations, buffer, approximate, wire };
        let Ok(solution) = cell.solve() else {
            prop_assert!(flows == 0 || wire > 0.0);
            return Ok(());
        };
        prop_assert!((0.0..=1.0).contains(&solution.p), "p = {}", solution.p);
        prop_assert!(solution.q_ap >= 0.0 && solution.q_ap <= buffer, "Q_ap = {}", solution.q_ap);
        for (q, goodput) in solution.q.iter().zip(&solution.goodput) {
            prop_assert!(q.is_finite() && *q >= 0.0);
            prop_assert!(goodput.iter().all(|x| x.is_finite() && *x >= 0.0), "{goodput:?}");
        }
    }
}
