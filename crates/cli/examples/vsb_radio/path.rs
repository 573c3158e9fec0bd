//! The path between box and host: round trips that differ by station, on kernels without netem.
//!
//! Two TAPs, one in the box and one in the host, and a thread a direction that hands frames on after half of the station's
//! round trip.

use std::collections::BTreeMap;
use std::io;
use std::os::fd::AsFd as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use fairair_linux::netns::Namespace;
use fairair_linux::realtime;
use fairair_linux::tap::Tap;
use nix::poll::{PollFd, PollFlags, ppoll};
use nix::sys::time::TimeSpec;

/// A frame that is handed on later than this after its time is late: the machine was busy.
const LATE: Duration = Duration::from_millis(5);
/// Frames are looked for this often at most.
const BREATH: Duration = Duration::from_micros(200);
/// How often the thread looks whether it is to end.
const LOOK: Duration = Duration::from_millis(50);

/// A path at work; it ends when this is dropped.
#[derive(Debug)]
pub(crate) struct Path {
    is_over: Arc<AtomicBool>,
    /// Frames handed on, and those of them that were late.
    frames: Arc<[AtomicU64; 2]>,
    threads: Vec<JoinHandle<io::Result<()>>>,
}

impl Path {
    /// Makes the device `near` in `router` and `far` in `host`, both down; `round_trips` by station, whose addresses end in 10
    /// and on.
    pub(crate) fn new(
        router: &Namespace,
        near: &str,
        host: &Namespace,
        far: &str,
        round_trips: &[Duration],
    ) -> io::Result<Path> {
        let taps = Arc::new([Tap::create(router, near)?, Tap::create(host, far)?]);
        let (is_over, frames) = (Arc::new(AtomicBool::new(false)), Arc::new([AtomicU64::new(0), AtomicU64::new(0)]));
        let threads = [0, 1].map(|from| {
            let (taps, over, counted) = (Arc::clone(&taps), Arc::clone(&is_over), Arc::clone(&frames));
            let round_trips = round_trips.to_vec();
            std::thread::spawn(move || {
                // Before the load's own threads: at 200 Mbit/s these would make every fifth frame late on two cores.
                let _ = realtime::hurry();
                carry(&taps[from], &taps[1 - from], &round_trips, &over, &counted)
            })
        });
        Ok(Path { is_over, frames, threads: threads.into() })
    }

    /// Share of the frames that were late, since the last call.
    pub(crate) fn late(&self) -> f64 {
        let [all, late] = [0, 1].map(|index| self.frames[index].swap(0, Ordering::Relaxed));
        late as f64 / all.max(1) as f64
    }
}

impl Drop for Path {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::Relaxed);
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
    }
}

fn carry(
    from: &Tap,
    to: &Tap,
    round_trips: &[Duration],
    over: &AtomicBool,
    counted: &[AtomicU64; 2],
) -> io::Result<()> {
    // By the time at which a frame is due, and in the order of arrival.
    let mut under_way: BTreeMap<(Instant, u64), Vec<u8>> = BTreeMap::new();
    let mut number = 0;
    while !over.load(Ordering::Relaxed) {
        let now = Instant::now();
        let wait = under_way.keys().next().map_or(LOOK, |(due, _)| due.saturating_duration_since(now).min(LOOK));
        let mut events = [PollFd::new(from.as_fd(), PollFlags::POLLIN)];
        ppoll(&mut events, Some(TimeSpec::from_duration(wait)), None)?;
        let now = Instant::now();
        // A device that is still down says so.
        while let Ok(Some(frame)) = from.receive() {
            let delay =
                station_of(&frame).and_then(|index| round_trips.get(index)).map_or(Duration::ZERO, |rtt| *rtt / 2);
            under_way.insert((now + delay, number), frame);
            number += 1;
        }
        let now = Instant::now();
        while let Some(first) = under_way.first_entry() {
            let due = first.key().0;
            if due > now {
                break;
            }
            let frame = first.remove();
            counted[0].fetch_add(1, Ordering::Relaxed);
            counted[1].fetch_add(u64::from(now > due + LATE), Ordering::Relaxed);
            let _ = to.send(&frame);
        }
        std::thread::sleep(BREATH);
    }
    Ok(())
}

/// The station that an IPv4 frame is of: 10.1.0.10 is the first.
fn station_of(frame: &[u8]) -> Option<usize> {
    if frame.get(12..14)? != [8, 0] {
        return None;
    }
    let addresses = [frame.get(26..30)?, frame.get(30..34)?];
    let own = addresses.into_iter().find(|address| address[..3] == [10, 1, 0])?;
    usize::from(own[3]).checked_sub(10)
}
