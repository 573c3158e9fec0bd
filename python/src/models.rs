//! The models over rows of numbers: Python broadcasts arrays to rows, this calls core once a row.
//!
//! What a row holds stands at each function, groups in the order of `sizes`; answers are rows alike.

use fairair_core::mac::MacParams;
use fairair_core::model::capacity::{Stream, Transmitter, carry};
use fairair_core::model::dcf::{self, Backoff, Node};
use fairair_core::model::{ModelError, detti2011, ha2009, pftk, pokhrel2016, unified};
use fairair_core::packet::Direction;
use fairair_core::units::{Bitrate, Bytes};
use numpy::{PyArray2, PyReadonlyArray2};
use pyo3::prelude::*;

use crate::document;
use crate::error::BadInput;

type Answer = Result<Vec<f64>, ModelError>;

/// Calls the model function `name` on each row. `radio` is a scenario document whose MAC is meant, where one is needed.
#[pyfunction]
#[pyo3(signature = (name, rows, sizes, radio))]
#[allow(clippy::needless_pass_by_value)] // The extractors own what they take.
pub(crate) fn call<'py>(
    py: Python<'py>,
    name: &str,
    rows: PyReadonlyArray2<'py, f64>,
    sizes: Vec<usize>,
    radio: Option<&str>,
) -> PyResult<Bound<'py, PyArray2<f64>>> {
    let scenario = radio.map(|radio| document::scenario(&document::parse(radio)?)).transpose()?;
    let mac = scenario.map(|scenario| MacParams::new(&scenario.radio, scenario.run.preset));
    let rows: Vec<Vec<f64>> = rows.as_array().rows().into_iter().map(|row| row.to_vec()).collect();
    let answers = py.detach(|| {
        let answer = |(index, row): (usize, &Vec<f64>)| {
            one(name, row, &sizes, mac.as_ref()).map_err(|error| {
                let place = if rows.len() == 1 { name.to_owned() } else { format!("{name}, element {index}") };
                BadInput::of_model(place, &error)
            })
        };
        rows.iter().enumerate().map(answer).collect::<Result<Vec<_>, _>>()
    })?;
    Ok(PyArray2::from_vec2(py, &answers)?)
}

fn one(name: &str, row: &[f64], sizes: &[usize], mac: Option<&MacParams>) -> Answer {
    match (name, mac) {
        ("pftk.send_rate", _) => path(row).map(|(path, p)| vec![path.send_rate(p)]),
        ("pftk.throughput", _) => path(row).map(|(path, p)| vec![path.throughput(p)]),
        ("pftk.approximate_send_rate", _) => path(row).map(|(path, p)| vec![path.approximate_send_rate(p)]),
        ("pftk.expected_window", _) => {
            let b = within("b", row[1], 1.0, 1e9, "1 or more packets an ACK")?;
            Ok(vec![pftk::expected_window(probability("p", row[0])?, b)])
        }
        ("pftk.timeout_probability", _) => {
            let w = within("w", row[1], 0.0, 1e9, "0 or more packets")?;
            Ok(vec![pftk::timeout_probability(probability("p", row[0])?, w)])
        }
        ("pftk.backoff", _) => Ok(vec![pftk::backoff(probability("p", row[0])?)]),
        ("detti2011.nsr", _) => windowed(row).map(|(p, w)| vec![detti2011::nsr(p, w)]),
        ("detti2011.tn", _) => windowed(row).map(|(p, w)| vec![detti2011::tn(p, w)]),
        ("detti2011.solve", _) => detti2011_solve(row, sizes[0]),
        ("detti2011.backlog", _) => {
            let stations = detti2011_stations(&row[1..], sizes[0])?;
            let index = count("i", row[0])? as usize;
            within("i", row[0], 0.0, stations.len() as f64 - 1.0, "a position among the stations")?;
            Ok(vec![detti2011::backlog_closed_form(&stations, index).unwrap_or(f64::NAN)])
        }
        ("ha2009.downloads", _) => ha2009_cell(row, sizes).downloads(),
        ("ha2009.uploads", _) => ha2009_cell(row, sizes).uploads(),
        ("ha2009.ratio", _) => ha2009_cell(row, sizes).ratio().map(|ratio| vec![ratio]),
        ("ha2009.optimal_p", _) => ha2009_p(row, ha2009::optimal_p),
        ("ha2009.modified_p", _) => ha2009_p(row, ha2009::modified_p),
        ("pokhrel2016.tabulated_buffer", _) => {
            let p_b = within("p_b", row[2], 1e-9, 1.0, "above 0, at most 1")?;
            Ok(vec![pokhrel2016::tabulated_buffer(count("N_u", row[0])?, count("N_d", row[1])?, p_b)])
        }
        ("pokhrel2016.solve", Some(mac)) => pokhrel2016_solved(row, mac, pokhrel2016::Cell::solve),
        ("pokhrel2016.with_buffer", Some(mac)) => pokhrel2016_solved(row, mac, pokhrel2016::Cell::with_buffer),
        ("pokhrel2016.remedy", Some(mac)) => {
            let remedy = pokhrel2016_cell(row, mac)?.remedy(row[6])?;
            Ok(vec![remedy.p_b, remedy.buffer, truth(remedy.size_buffer), truth(remedy.attainable)])
        }
        ("dcf.attempts", Some(mac)) => backoff(row, mac).map(|(backoff, gamma)| vec![backoff.attempts(gamma)]),
        ("dcf.mean_backoff", Some(mac)) => backoff(row, mac).map(|(backoff, gamma)| vec![backoff.mean(gamma)]),
        ("dcf.discard", Some(mac)) => backoff(row, mac).map(|(backoff, gamma)| vec![backoff.discard(gamma)]),
        ("dcf.saturation", Some(mac)) => {
            let (busy, collided) = (seconds("busy", row[1])?, seconds("collided", row[2])?);
            dcf::saturation(mac, row[0], busy, collided).map(|(rate, collision)| vec![rate, collision])
        }
        ("dcf.solve", Some(mac)) => dcf_solve(row, sizes[0], mac),
        ("capacity.carry", Some(mac)) => capacity_carry(row, sizes, mac),
        ("unified.solve", Some(mac)) => unified_solve(row, sizes, mac),
        _ => Err(ModelError::Unsupported { what: format!("a function called {name}") }),
    }
}

fn truth(value: bool) -> f64 {
    f64::from(u8::from(value))
}

fn within(symbol: &'static str, value: f64, low: f64, high: f64, range: &'static str) -> Result<f64, ModelError> {
    // Not a number is in no range.
    if (low..=high).contains(&value) { Ok(value) } else { Err(ModelError::OutOfRange { symbol, value, range }) }
}

fn probability(symbol: &'static str, value: f64) -> Result<f64, ModelError> {
    within(symbol, value, 0.0, 1.0, "0 to 1")
}

fn seconds(symbol: &'static str, value: f64) -> Result<f64, ModelError> {
    within(symbol, value, 1e-9, 1e9, "above 0 s")
}

fn count(symbol: &'static str, value: f64) -> Result<u32, ModelError> {
    let range = "a whole number from 0 to 1000000";
    within(symbol, value, 0.0, 1e6, range)?;
    if value.fract() == 0.0 { Ok(value as u32) } else { Err(ModelError::OutOfRange { symbol, value, range }) }
}

fn rate(value: f64) -> Result<Bitrate, ModelError> {
    within("rate", value, 1.0, 1e12, "1 bit/s to 1 Tbit/s").map(|value| Bitrate::from_bps(value.round() as u64))
}

fn bytes(symbol: &'static str, value: f64) -> Result<Bytes, ModelError> {
    within(symbol, value, 1.0, 1e9, "1 byte or more").map(|value| Bytes(value.round() as u64))
}

/// p, b, W_m, RTT, T_0.
fn path(row: &[f64]) -> Result<(pftk::Path, f64), ModelError> {
    let path = pftk::Path { b: row[1], window: row[2], rtt: row[3], t0: row[4] };
    path.check()?;
    Ok((path, probability("p", row[0])?))
}

/// p, W.
fn windowed(row: &[f64]) -> Result<(f64, f64), ModelError> {
    Ok((probability("p", row[0])?, within("W", row[1], 1.0, 1e9, "1 or more packets")?))
}

/// N_up, N_dw, W, beta, each of M stations.
fn detti2011_stations(row: &[f64], m: usize) -> Result<Vec<detti2011::Station>, ModelError> {
    let station = |i: usize| {
        Ok(detti2011::Station {
            n_up: count("N_up", row[i])?,
            n_dw: count("N_dw", row[m + i])?,
            window: row[2 * m + i],
            beta: row[3 * m + i],
        })
    };
    (0..m).map(station).collect()
}

/// B, wire, approximate, stations; lossy, p, Q_ap, Jain, R_up/R_dw, Q, goodput up, goodput down.
fn detti2011_solve(row: &[f64], m: usize) -> Answer {
    let stations = detti2011_stations(&row[3..], m)?;
    let cell = detti2011::Cell { stations, buffer: row[0], wire: row[1], approximate: row[2] != 0.0 };
    let solution = cell.solve()?;
    let mut answer = vec![
        truth(solution.regime == detti2011::Regime::Lossy),
        solution.p,
        solution.q_ap,
        solution.jain_index(),
        solution.up_down_index().unwrap_or(f64::NAN),
    ];
    answer.extend(&solution.q);
    answer.extend(solution.goodput.iter().map(|goodput| goodput[0]));
    answer.extend(solution.goodput.iter().map(|goodput| goodput[1]));
    Ok(answer)
}

fn ha2009_p(row: &[f64], of: fn(u32, u32, f64, f64) -> Result<f64, ModelError>) -> Answer {
    of(count("m", row[0])?, count("n", row[1])?, row[2], row[3]).map(|p| vec![p])
}

/// w_r, Q_D, Q_A, p, R, tau_d of m, tau_u of n.
fn ha2009_cell(row: &[f64], sizes: &[usize]) -> ha2009::Cell {
    ha2009::Cell {
        window: row[0],
        q_d: row[1],
        q_a: row[2],
        p: row[3],
        rate: row[4],
        tau_d: row[5..5 + sizes[0]].to_vec(),
        tau_u: row[5 + sizes[0]..5 + sizes[0] + sizes[1]].to_vec(),
    }
}

/// N_u, N_d, p_w, W_max, segment (IP bytes), rate.
fn pokhrel2016_cell(row: &[f64], mac: &MacParams) -> Result<pokhrel2016::Cell, ModelError> {
    Ok(pokhrel2016::Cell {
        params: *mac,
        n_u: count("N_u", row[0])?,
        n_d: count("N_d", row[1])?,
        p_w: row[2],
        window: row[3],
        segment: bytes("segment", row[4])?,
        rate: rate(row[5])?,
    })
}

fn pokhrel2016_solved(
    row: &[f64],
    mac: &MacParams,
    solve: fn(&pokhrel2016::Cell, f64) -> Result<pokhrel2016::Solution, ModelError>,
) -> Answer {
    let cell = pokhrel2016_cell(row, mac)?;
    let s = solve(&cell, row[6])?;
    Ok(vec![s.h, s.gamma[0], s.gamma[1], s.p_lu, s.p_ld, s.p_b, s.up, s.down, cell.in_flight(&s)])
}

/// gamma, priority.
fn backoff(row: &[f64], mac: &MacParams) -> Result<(Backoff, f64), ModelError> {
    Ok((Backoff::new(mac, row[1])?, probability("gamma", row[0])?))
}

/// Count, priority, error, each of k kinds; attempts, collision, failure.
fn dcf_solve(row: &[f64], k: usize, mac: &MacParams) -> Answer {
    let node = |i: usize| {
        Ok(Node {
            count: within("count", row[i], 0.0, 1e6, "0 or more nodes")?,
            backoff: Backoff::new(mac, row[k + i])?,
            error: probability("e", row[2 * k + i])?,
        })
    };
    let nodes = (0..k).map(node).collect::<Result<Vec<_>, ModelError>>()?;
    let solved = dcf::solve(&nodes);
    let columns: [fn(&dcf::Attempt) -> f64; 3] = [|a| a.attempts, |a| a.collision, |a| a.failure];
    Ok(columns.iter().flat_map(|column| solved.iter().map(column)).collect())
}

/// Count, priority of t transmitters; packets, ip_len, rate, error of t x s streams; mixes per second, busy, collision,
/// slots of t, discard of t x s.
fn capacity_carry(row: &[f64], sizes: &[usize], mac: &MacParams) -> Answer {
    let (t, s) = (sizes[0], sizes[1]);
    let at = |column: usize, i: usize, j: usize| row[2 * t + column * t * s + i * s + j];
    let stream = |i: usize, j: usize| {
        Ok(Stream {
            packets: within("packets", at(0, i, j), 0.0, 1e12, "0 or more")?,
            ip_len: bytes("ip_len", at(1, i, j))?,
            rate: rate(at(2, i, j))?,
            error: at(3, i, j),
        })
    };
    let transmitter = |i: usize| {
        Ok(Transmitter {
            backoff: Backoff::new(mac, row[t + i])?,
            count: within("count", row[i], 0.0, 1e6, "0 or more transmitters")?,
            streams: (0..s).map(|j| stream(i, j)).collect::<Result<_, ModelError>>()?,
        })
    };
    let mix = (0..t).map(transmitter).collect::<Result<Vec<_>, ModelError>>()?;
    let load = carry(mac, &mix)?;
    let mut answer = vec![load.mixes_per_s];
    answer.extend(load.busy.iter().chain(&load.collision).chain(&load.slots).chain(load.discard.iter().flatten()));
    Ok(answer)
}

/// B, T; count, rate, beta, data_error, ack_error of k kinds of station; up, count, window, b, mss, rto_min, rto_max,
/// limited_transmit, wire of k x f kinds of flow; p, Q, lambda, packets, starvation, queues of k, goodput, loss, least.
fn unified_solve(row: &[f64], sizes: &[usize], mac: &MacParams) -> Answer {
    let (k, f) = (sizes[0], sizes[1]);
    let of_station = |column: usize, i: usize| row[2 + column * k + i];
    let of_flow = |column: usize, i: usize, j: usize| row[2 + 5 * k + column * k * f + i * f + j];
    let flow = |i: usize, j: usize| {
        let at = |column: usize| of_flow(column, i, j);
        Ok(unified::Flows {
            direction: if at(0) > 0.5 { Direction::Up } else { Direction::Down },
            count: at(1),
            window: at(2),
            b: at(3),
            mss: bytes("mss", at(4))?,
            rto: (at(5), at(6)),
            limited_transmit: at(7) > 0.5,
            wire: at(8),
        })
    };
    let station = |i: usize| {
        Ok(unified::Stations {
            count: of_station(0, i),
            rate: rate(of_station(1, i))?,
            beta: of_station(2, i),
            data_error: of_station(3, i),
            ack_error: of_station(4, i),
            flows: (0..f).map(|j| flow(i, j)).collect::<Result<_, ModelError>>()?,
        })
    };
    let stations = (0..k).map(station).collect::<Result<Vec<_>, ModelError>>()?;
    let cell = unified::Cell { params: *mac, buffer: row[0], observed: row[1], stations };
    let solved = cell.solve()?;
    let mut answer = vec![solved.p, solved.q_ap, solved.lambda, solved.packets, truth(solved.starves(&cell))];
    answer.extend(&solved.q);
    let columns: [fn(&unified::FlowAnswer) -> f64; 3] = [|a| a.goodput, |a| a.loss, |a| a.least];
    answer.extend(columns.iter().flat_map(|column| solved.flows.iter().flatten().map(column)));
    Ok(answer)
}
