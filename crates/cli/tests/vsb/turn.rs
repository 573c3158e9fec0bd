//! Which benches exist at the same time.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

static MACHINE: Mutex<Machine> = Mutex::new(Machine { light: 0, shared: 0, alone: false, waiting: 0 });
static CHANGED: Condvar = Condvar::new();
/// Benches of each kind beside each other.
const AT_ONCE: u32 = 3;

/// What a test does with the machine.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// It measures nothing near a bar.
    Light,
    /// It measures.
    Shared,
    /// It measures rates close to a bar: no other bench exists. Such tests come last, so that the others do not drain for each of them.
    Alone,
}

/// Benches that exist.
struct Machine {
    light: u32,
    shared: u32,
    alone: bool,
    /// Light and shared ones that wait.
    waiting: u32,
}

impl Machine {
    fn has_room(&self, kind: Kind) -> bool {
        match kind {
            Kind::Light => !self.alone && self.light < AT_ONCE,
            Kind::Shared => !self.alone && self.shared < AT_ONCE,
            Kind::Alone => !self.alone && self.light + self.shared + self.waiting == 0,
        }
    }

    fn count(&mut self, kind: Kind) -> &mut u32 {
        match kind {
            Kind::Light => &mut self.light,
            Kind::Shared | Kind::Alone => &mut self.shared,
        }
    }
}

fn machine() -> MutexGuard<'static, Machine> {
    MACHINE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// For as long as a bench exists.
pub(crate) struct Turn(Kind);

impl Turn {
    /// Waits for it.
    pub(crate) fn take(kind: Kind) -> Turn {
        let mut machine = machine();
        let waits = u32::from(kind != Kind::Alone);
        machine.waiting += waits;
        // Who comes late may find others that wait.
        while !machine.has_room(kind) {
            machine = CHANGED.wait(machine).unwrap_or_else(PoisonError::into_inner);
        }
        machine.waiting -= waits;
        machine.alone = kind == Kind::Alone;
        *machine.count(kind) += 1;
        Turn(kind)
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        let mut machine = machine();
        machine.alone = false;
        *machine.count(self.0) -= 1;
        drop(machine);
        CHANGED.notify_all();
    }
}
