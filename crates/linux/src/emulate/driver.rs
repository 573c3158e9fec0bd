//! The emulation in real time: waits, reads and writes frames, and lets the [`Emulation`] do all that is due.

use std::io;
use std::os::fd::AsFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::Sender;
use std::time::Instant as Clock;

use fairair_core::mac::AirFrame;
use fairair_core::units::{Duration, Instant};
use nix::sys::epoll::{Epoll, EpollCreateFlags, EpollEvent, EpollFlags, EpollTimeout};
use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::time::{TimeSpec, TimeValLike};
use nix::sys::timerfd::{ClockId, Expiration, TimerFd, TimerFlags, TimerSetTimeFlags};

use super::datagrams::Refill;
use super::emulation::{Emulation, EthernetFrame, Port};
use super::hand_over::HandOver;
use crate::tap::Tap;

/// Where every frame on the air goes, in the order of the start. The receiver must not sleep in `recv`: waking it would cost the
/// emulation time.
pub type Monitor = Sender<AirFrame<EthernetFrame>>;

/// Frames that one device may hand in before the others get their turn.
const TURN: usize = 32;
/// How often the loop looks whether it is to stop.
const LOOK: Duration = Duration::from_millis(50);
/// Marks the timer among the devices.
const TIMER: u64 = u64::MAX;

/// The devices of a testbed.
pub(super) struct Taps<'a> {
    /// The AP's end of the wire.
    pub(super) wire: &'a Tap,
    /// The stations' wireless interfaces, in the scenario's order.
    pub(super) stations: Vec<&'a Tap>,
    /// Frames that a station's driver holds at most; `None`: as many as come.
    pub(super) ring: Option<usize>,
}

/// Where events of the cell are sent.
#[derive(Default)]
pub(super) struct Listeners {
    /// By flow: the end of each file.
    pub(super) finished: Vec<Sender<()>>,
    /// Room for greedy uploads.
    pub(super) refills: Vec<Arc<Refill>>,
    /// What is on the air.
    pub(super) air: Option<Monitor>,
}

/// Runs the cell from `start`, which is its time 0, until `end` or until `stop` is set. Tells when it stopped.
///
/// # Errors
/// When the kernel refuses epoll or a timer, or a device is gone.
pub(super) fn drive(
    cell: &mut Emulation,
    taps: &Taps,
    start: Clock,
    end: Instant,
    measure_from: Instant,
    stop: &AtomicBool,
    listeners: &Listeners,
) -> io::Result<(Instant, HandOver)> {
    let mut hand_over = HandOver::new(measure_from);
    if listeners.air.is_some() {
        cell.monitor();
    }
    let epoll = Epoll::new(EpollCreateFlags::EPOLL_CLOEXEC)?;
    let timer = TimerFd::new(ClockId::CLOCK_MONOTONIC, TimerFlags::TFD_NONBLOCK | TimerFlags::TFD_CLOEXEC)?;
    epoll.add(&timer, EpollEvent::new(EpollFlags::EPOLLIN, TIMER))?;
    let ports: Vec<(Port, &Tap)> = std::iter::once((Port::Wire, taps.wire))
        .chain(taps.stations.iter().enumerate().map(|(index, tap)| (Port::Station(index), *tap)))
        .collect();
    for (index, (_, tap)) in ports.iter().enumerate() {
        epoll.add(tap.as_fd(), EpollEvent::new(EpollFlags::EPOLLIN, index as u64))?;
    }
    let clock = || Instant::from_nanos(u64::try_from(start.elapsed().as_nanos()).unwrap_or(u64::MAX));
    let mut events = vec![EpollEvent::empty(); ports.len() + 1];
    let mut held = vec![false; taps.stations.len()];
    loop {
        let now = clock();
        cell.handle_timeout(now.min(end));
        flush(cell, taps, measure_from, &clock, &mut hand_over);
        hand_over.tick(now);
        while let Some(flow) = cell.poll_finished() {
            // Nobody listens any more when the flow was stopped.
            let _ = listeners.finished.get(flow).map(|sender| sender.send(()));
        }
        listeners.refills.iter().for_each(|refill| refill.look(|station| cell.backlog(station)));
        if let Some(monitor) = &listeners.air {
            // Whoever looked may have given up.
            cell.drain_air().for_each(|frame| drop(monitor.send(frame)));
        }
        if now >= end || stop.load(Ordering::Relaxed) {
            hand_over.cpu = thread_time()?;
            hand_over.ran = now.saturating_since(Instant::ZERO);
            return Ok((now.min(end), hand_over));
        }
        for (index, held) in held.iter_mut().enumerate() {
            let full = taps.ring.is_some_and(|ring| cell.backlog(index) >= ring);
            if full != *held {
                *held = full;
                let interest = if full { EpollFlags::empty() } else { EpollFlags::EPOLLIN };
                epoll.modify(taps.stations[index].as_fd(), &mut EpollEvent::new(interest, index as u64 + 1))?;
            }
        }
        let wake = cell.poll_timeout().min(end).min(now + LOOK);
        // A timer of zero never fires: one nanosecond is at once.
        let wait = wake.saturating_since(clock()).max(Duration::from_nanos(1));
        let wait = TimeSpec::from_duration(std::time::Duration::from_nanos(wait.as_nanos()));
        timer.set(Expiration::OneShot(wait), TimerSetTimeFlags::empty())?;
        let ready = match epoll.wait(&mut events, EpollTimeout::NONE) {
            Ok(ready) => ready,
            Err(nix::errno::Errno::EINTR) => 0,
            Err(error) => return Err(error.into()),
        };
        for event in &events[..ready] {
            if event.data() == TIMER {
                continue;
            }
            let (port, tap) = ports[event.data() as usize];
            for _ in 0..TURN {
                if let (Port::Station(index), Some(ring)) = (port, taps.ring)
                    && cell.backlog(index) >= ring
                {
                    break;
                }
                let Some(bytes) = tap.receive()? else { break };
                let now = clock();
                if now >= end {
                    break;
                }
                cell.handle_timeout(now);
                cell.handle_frame(now, port, bytes);
            }
        }
    }
}

/// Processor time of this thread: with the kernel's work for the frames that it hands over.
fn thread_time() -> io::Result<Duration> {
    let usage = getrusage(UsageWho::RUSAGE_THREAD)?;
    let micros = [usage.user_time(), usage.system_time()].iter().map(TimeValLike::num_microseconds).sum::<i64>();
    Ok(Duration::from_micros(micros.unsigned_abs()))
}

/// Hands over all that is due.
fn flush(
    cell: &mut Emulation,
    taps: &Taps,
    measure_from: Instant,
    clock: &impl Fn() -> Instant,
    hand_over: &mut HandOver,
) {
    while let Some(departure) = cell.poll_departure() {
        let tap = match departure.port {
            Port::Wire => taps.wire,
            Port::Station(index) => taps.stations[index],
        };
        let late = clock().saturating_since(departure.due);
        if departure.due >= measure_from {
            hand_over.record(late);
        }
        if tap.send(&departure.bytes).is_err() {
            hand_over.refused += 1;
        }
    }
}
