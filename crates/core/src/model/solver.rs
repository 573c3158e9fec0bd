//! The search for the unified model's fixed point; symbols as in [`super::unified`].

use super::capacity::{self, Stream, Transmitter};
use super::dcf::Backoff;
use super::error::{ModelError, within};
use super::root::falling;
use super::unified::{Answer, Cell, FlowAnswer, Flows};
use super::window::{PerRound, Tcp};
use crate::packet::{Direction, TCP_IP_HEADER};
use crate::units::Bytes;

/// Rounds of the search for the mix.
const ROUNDS: u32 = 24;

/// A kind of flow at work.
#[derive(Clone, Copy, Debug)]
struct Class {
    station: usize,
    flow: Flows,
    tcp: Tcp,
    /// Flows in the cell.
    n: f64,
    round: PerRound,
    /// `l`.
    discard: f64,
}

/// The search.
pub(super) struct Solver<'a> {
    cell: &'a Cell,
    classes: Vec<Class>,
    backoffs: Vec<Backoff>,
    ap: Backoff,
    lambda: f64,
    /// `m_i`, `D_i`.
    m: Vec<f64>,
    d: Vec<f64>,
    p: f64,
    q: f64,
    /// `Q` where packets are lost.
    full: f64,
}

impl<'a> Solver<'a> {
    pub(super) fn new(cell: &'a Cell) -> Result<Self, ModelError> {
        let mut classes = Vec::new();
        for (station, s) in cell.stations.iter().enumerate() {
            for f in &s.flows {
                if s.count * f.count > 0.0 {
                    let tcp = Tcp { b: f.b, window: f.window, rto: f.rto, limited_transmit: f.limited_transmit };
                    let round = PerRound { sent: f.window, useful: f.window, spell: 0.0 };
                    classes.push(Class { station, flow: *f, tcp, n: s.count * f.count, round, discard: 0.0 });
                }
            }
        }
        let mut backoffs: Vec<Backoff> = Vec::with_capacity(cell.stations.len());
        for (i, s) in cell.stations.iter().enumerate() {
            let like = cell.stations[..i].iter().position(|other| other.beta.to_bits() == s.beta.to_bits());
            let backoff = like.map_or_else(|| Backoff::new(&cell.params, s.beta), |like| Ok(backoffs[like].clone()))?;
            backoffs.push(backoff);
        }
        Ok(Solver {
            cell,
            classes,
            backoffs,
            ap: Backoff::new(&cell.params, 1.0)?,
            lambda: 300.0,
            m: cell.stations.iter().map(|s| s.beta).collect(),
            d: vec![0.0; cell.stations.len()],
            p: 0.0,
            q: cell.buffer,
            full: cell.buffer,
        })
    }

    /// Windows and station delays at `q` and `p`; tells what then arrives at the AP per service of it.
    fn offered(&mut self, q: f64, p: f64) -> f64 {
        let stations = &self.cell.stations;
        // By station: packets a round trip, that times the wire, and that times the mean size of the bursts they come
        // in.
        let mut fed = vec![(0.0, 0.0, 0.0); stations.len()];
        for class in &mut self.classes {
            let wire = class.flow.wire * self.lambda;
            let rtt = (q + 1.0 + self.d[class.station] + wire) / self.lambda;
            let b = class.flow.b;
            let up = class.flow.direction == Direction::Up;
            let (packets, burst);
            if up {
                class.round = class.tcp.upload(class.discard, p, rtt);
                // An ACK releases what the lost ones before it would have.
                burst = (b / (1.0 - p)).min(class.round.sent);
                packets = class.round.sent;
            } else {
                class.round = class.tcp.per_round(1.0 - (1.0 - p) * (1.0 - class.discard), rtt, b);
                burst = 1.0;
                packets = class.round.useful / b;
            }
            let packets = packets * class.n / stations[class.station].count;
            let fed = &mut fed[class.station];
            *fed = (fed.0 + packets, fed.1 + packets * wire, fed.2 + packets * burst);
        }
        for (i, (packets, wire, burst)) in fed.into_iter().enumerate() {
            if packets > 0.0 {
                self.d[i] = sojourn(packets, burst / packets, self.m[i], q + 1.0 + wire / packets);
            }
        }
        self.classes.iter().map(|class| class.n * class.at_ap() / self.round_trip(class, q)).sum()
    }

    /// Round trip in AP services.
    fn round_trip(&self, class: &Class, q: f64) -> f64 {
        q + 1.0 + self.d[class.station] + class.flow.wire * self.lambda
    }

    /// Finds `q` and `p` for the present `lambda`, `m` and `l`, then the mix and what the cell makes of it.
    pub(super) fn round(&mut self) -> Result<f64, ModelError> {
        let buffer = self.cell.buffer;
        let busy = |q: f64| q / (q + 1.0);
        if self.offered(buffer, 0.0) <= busy(buffer) {
            self.p = 0.0;
            self.q = falling(0.0, buffer, 1e-6 * buffer, |q| self.offered(q, 0.0) - busy(q));
        } else {
            let full = self.full;
            self.q = full;
            self.p = falling(0.0, 1.0 - 1e-9, 1e-10, |p| self.offered(full, p) * (1.0 - p) - busy(full));
        }
        let (q, p) = (self.q, self.p);
        self.offered(q, p);
        self.full = f64::midpoint(self.full, buffer - self.sawtooth());
        let mix = self.mix();
        let load = capacity::carry(&self.cell.params, &mix)?;
        let packets = |t: &Transmitter| t.streams.iter().map(|s| s.packets).sum::<f64>();
        let ap = packets(&mix[0]);
        let lambda = load.mixes_per_s * ap / load.busy[0].max(1e-9);
        let moved = (lambda / self.lambda - 1.0).abs();
        self.lambda = lambda;
        let per_ap = load.slots[0] / ap;
        for i in 0..self.m.len() {
            let own = packets(&mix[i + 1]);
            if own > 0.0 && load.slots[i + 1] > 0.0 {
                self.m[i] = f64::midpoint(self.m[i], per_ap / (load.slots[i + 1] / own));
            }
        }
        let mut next = vec![0_usize; self.m.len()];
        for (k, class) in self.classes.iter_mut().enumerate() {
            let (transmitter, stream) =
                if class.flow.direction == Direction::Up { (class.station + 1, next[class.station]) } else { (0, k) };
            next[class.station] += 1;
            class.discard = f64::midpoint(class.discard, load.discard[transmitter][stream]);
        }
        Ok(moved)
    }

    /// Packets that a full buffer lacks on average, because downloads that lost a packet halve their windows.
    ///
    /// Were all of them halved at once (ha2009 section 3.3), the mean of their part would be 3/4 of the most; were they
    /// halved one by one, it would be 1 - 1/(4 N). What they do is taken to be half way. Windows at their cap do not
    /// grow, and have no teeth.
    fn sawtooth(&self) -> f64 {
        let downloads = || self.classes.iter().filter(|class| class.flow.direction == Direction::Down);
        let flows: f64 = downloads().map(|class| class.n).sum();
        let at_ap = |class: &Class| {
            let teeth = (4.0 * (1.0 - class.round.useful / class.flow.window)).clamp(0.0, 1.0);
            class.n * class.round.useful * self.q / self.round_trip(class, self.q) * teeth
        };
        let halved = f64::midpoint(1.0, 1.0 / flows.max(1.0)) / 4.0;
        (halved * downloads().map(at_ap).sum::<f64>()).min(self.cell.buffer / 4.0)
    }

    /// Who sends what per AP service.
    fn mix(&self) -> Vec<Transmitter> {
        let mut mix = vec![Transmitter { backoff: self.ap.clone(), count: 1.0, streams: Vec::new() }];
        for (s, backoff) in self.cell.stations.iter().zip(&self.backoffs) {
            mix.push(Transmitter { backoff: backoff.clone(), count: s.count, streams: Vec::new() });
        }
        for class in &self.classes {
            let s = &self.cell.stations[class.station];
            let round_trip = self.round_trip(class, self.q);
            let at_ap = class.n * class.at_ap() * (1.0 - self.p) / round_trip;
            let data = Bytes(class.flow.mss.0 + TCP_IP_HEADER);
            let ack = Bytes(TCP_IP_HEADER);
            let up = class.flow.direction == Direction::Up;
            let at_station =
                class.n / s.count / round_trip * if up { class.round.sent } else { class.round.useful / class.flow.b };
            let (ap_len, ap_error, len, error) =
                if up { (ack, s.ack_error, data, s.data_error) } else { (data, s.data_error, ack, s.ack_error) };
            mix[0].streams.push(Stream { packets: at_ap, ip_len: ap_len, rate: s.rate, error: ap_error });
            mix[class.station + 1].streams.push(Stream { packets: at_station, ip_len: len, rate: s.rate, error });
        }
        mix
    }

    /// Packets that wait at a station: Little's law less the one in service.
    fn waiting(&self, station: usize) -> f64 {
        let of_station = self.classes.iter().filter(|class| class.station == station);
        let rate = |class: &Class| {
            let up = class.flow.direction == Direction::Up;
            let packets = if up { class.round.sent } else { class.round.useful / class.flow.b };
            packets * class.n / self.cell.stations[station].count / self.round_trip(class, self.q)
        };
        let rate: f64 = of_station.map(rate).sum();
        (rate * (self.d[station] - 1.0 / self.m[station])).max(0.0)
    }

    /// What the rounds came to. The load is that of the last mix, so that also a search that ran out of rounds promises
    /// no more than the cell carries.
    pub(super) fn answer(&self) -> Result<Answer, ModelError> {
        let load = capacity::carry(&self.cell.params, &self.mix())?;
        // The mix is per AP service. Without a wire some queue is never empty, and the cell carries all it can; with
        // one, all windows may be in the wire, and nobody is pressed.
        let wired = self.classes.iter().any(|class| class.flow.wire > 0.0);
        let pace = if wired { self.lambda } else { f64::INFINITY };
        let scale = load.mixes_per_s.min(pace);
        let mut flows: Vec<Vec<FlowAnswer>> =
            self.cell.stations.iter().map(|s| vec![FlowAnswer::default(); s.flows.len()]).collect();
        let mut next = vec![0_usize; self.m.len()];
        let (mut packets, mut ap_packets) = (0.0, 0.0);
        for class in &self.classes {
            let per_service = 1.0 / self.round_trip(class, self.q);
            let up = class.flow.direction == Direction::Up;
            let row = &mut flows[class.station];
            while self.cell.stations[class.station].flows[next[class.station]].count <= 0.0 {
                next[class.station] += 1;
            }
            let loss = if up { class.discard } else { 1.0 - (1.0 - self.p) * (1.0 - class.discard) };
            let goodput = class.round.useful * per_service * scale;
            let least = goodput * least_of(class.n, class.round.spell / self.cell.observed);
            row[next[class.station]] = FlowAnswer { goodput, loss, least };
            next[class.station] += 1;
            let sent = if up { class.round.sent } else { class.round.useful / class.flow.b };
            let from_ap = class.n * per_service * scale * class.at_ap() * (1.0 - self.p);
            ap_packets += from_ap;
            packets += class.n * per_service * scale * sent + from_ap;
        }
        let q = (0..self.m.len()).map(|i| self.waiting(i)).collect();
        Ok(Answer { p: self.p, q_ap: self.q, lambda: self.lambda, q, flows, packets, ap_packets })
    }
}

/// `D_i`: mean time in a station's queue and MAC in AP services, when `n` packets circulate between it and the rest of
/// the loop, which takes `rest`: `D = x / (m - r)` for Poisson bursts of mean size `x` (M^X/M/1, geometric sizes) at
/// rate `r = n / (rest + D)`, solved for D. With few packets it is the service time `x / m`, with many `n / m - rest`,
/// which leaves the station always busy.
fn sojourn(n: f64, x: f64, m: f64, rest: f64) -> f64 {
    let half = (n + x - m * rest) / (2.0 * m);
    half + (half * half + x * rest / m).sqrt()
}

/// The least of `n` like goodputs over their mean, when their relative variance is `variance`: log-normal, at the
/// quantile where the least one is to be expected (Blom's, with a logistic for the normal distribution).
pub(super) fn least_of(n: f64, variance: f64) -> f64 {
    let rank = ((n - 0.375) / (n + 0.25)).clamp(0.5, 1.0 - 1e-12);
    let z = (rank / (1.0 - rank)).ln() / 1.702;
    let s2 = variance.ln_1p();
    (-z * s2.sqrt() - s2 / 2.0).exp()
}

impl Class {
    /// Packets for the AP per round trip of one flow.
    fn at_ap(&self) -> f64 {
        match self.flow.direction {
            Direction::Up => self.round.sent * (1.0 - self.discard) / self.flow.b,
            Direction::Down => self.round.sent,
        }
    }
}

impl Cell {
    fn check(&self) -> Result<(), ModelError> {
        within("B", self.buffer, 1.0, 1e9, "1 or more packets")?;
        within("T", self.observed, 1e-3, 1e12, "above 0 s")?;
        let mut flows = 0.0;
        for s in &self.stations {
            within("M", s.count, 0.0, 1e6, "0 or more stations")?;
            within("p_w", s.data_error, 0.0, 1.0, "0 to 1")?;
            within("p_w", s.ack_error, 0.0, 1.0, "0 to 1")?;
            for f in &s.flows {
                within("N", f.count, 0.0, 1e6, "0 or more flows")?;
                within("W", f.window, 1.0, 1e9, "1 or more segments")?;
                within("b", f.b, 1.0, 1e3, "1 or more segments an ACK")?;
                within("RTO", f.rto.0, 1e-9, 1e9, "above 0 s")?;
                within("RTO", f.rto.1, f.rto.0, 1e9, "the smallest RTO or more")?;
                within("tau", f.wire, 0.0, 1e6, "0 s or more")?;
                flows += s.count * f.count;
            }
        }
        if flows > 0.0 { Ok(()) } else { Err(ModelError::NoFlows) }
    }

    /// Solves the cell.
    ///
    /// # Errors
    /// A parameter outside its range, or no flow.
    pub fn solve(&self) -> Result<Answer, ModelError> {
        self.check()?;
        let mut solver = Solver::new(self)?;
        for round in 0..ROUNDS {
            let moved = solver.round()?;
            if moved < 1e-6 && round > 3 {
                break;
            }
        }
        solver.answer()
    }
}
