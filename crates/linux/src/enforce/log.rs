//! The control log: what the capacity machines saw and decided, an event a line (JSON), for `fairair vsb replay`.

use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::io::{self, BufWriter, Read as _, Write as _};
use std::path::Path;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};

use fairair_core::control::log::Event;
use serde::{Deserialize, Serialize};

/// Lines that may wait for the disk.
const WAITING: usize = 10_000;

#[derive(Debug, Serialize, Deserialize)]
struct Line {
    ap: String,
    #[serde(flatten)]
    event: Event,
}

/// Writes lines; never waits.
#[derive(Debug, Default)]
pub struct ControlLog {
    sender: Option<SyncSender<Line>>,
    failed: bool,
}

impl ControlLog {
    /// Opens the log at `path` and goes on at its end. `None` makes a log that keeps nothing.
    ///
    /// # Errors
    /// The system's words.
    pub fn open(path: Option<&Path>) -> Result<ControlLog, String> {
        let Some(path) = path else { return Ok(ControlLog::default()) };
        let shown = |error: io::Error| format!("control log {}: {error}", path.display());
        let mut file = OpenOptions::new().create(true).append(true).open(path).map_err(shown)?;
        // Ends a line that a killed run left; a reader leaves out what is between two runs.
        file.write_all(b"\n").map_err(shown)?;
        let (sender, receiver) = sync_channel(WAITING);
        let thread = std::thread::Builder::new().name("control-log".to_owned());
        thread.spawn(move || write(file, &receiver)).map_err(shown)?;
        Ok(ControlLog { sender: Some(sender), failed: false })
    }

    /// Whether the log has ended early: the disk is full, or slow. A log with a gap could not be replayed.
    pub const fn has_failed(&self) -> bool {
        self.failed
    }

    /// Whether events are kept.
    pub const fn is_on(&self) -> bool {
        self.sender.is_some()
    }

    /// A machine of `ap` saw or did something.
    pub fn note(&mut self, ap: &str, event: Event) {
        let Some(sender) = &self.sender else { return };
        if sender.try_send(Line { ap: ap.to_owned(), event }).is_err() {
            self.sender = None;
            self.failed = true;
        }
    }
}

/// Writes until nobody sends any more, or the disk refuses: then senders learn it by a closed channel.
fn write(file: File, receiver: &Receiver<Line>) {
    let mut file = BufWriter::new(file);
    while let Ok(first) = receiver.recv() {
        for line in std::iter::once(first).chain(receiver.try_iter()) {
            let Ok(mut text) = serde_json::to_string(&line) else { return };
            text.push('\n');
            if file.write_all(text.as_bytes()).is_err() {
                return;
            }
        }
        if file.flush().is_err() {
            return;
        }
    }
}

/// Reads a log: the events of each AP. A line that is cut off before a new run begins, or at the end, is left out.
///
/// # Errors
/// The file cannot be read, or a line is none of ours; with its number.
pub fn read(path: &Path) -> Result<BTreeMap<String, Vec<Event>>, String> {
    let mut text = String::new();
    File::open(path).and_then(|mut file| file.read_to_string(&mut text)).map_err(|error| error.to_string())?;
    let mut events = BTreeMap::<String, Vec<Event>>::new();
    let mut lines = text.lines().enumerate().filter(|(_, line)| !line.is_empty()).peekable();
    while let Some((index, line)) = lines.next() {
        match serde_json::from_str::<Line>(line) {
            Ok(line) => events.entry(line.ap).or_default().push(line.event),
            Err(error)
                if error.is_eof() && lines.peek().is_none_or(|(_, next)| next.contains(r#""event":"start""#)) => {}
            Err(error) => return Err(format!("line {}: {error}", index + 1)),
        }
    }
    Ok(events)
}

#[cfg(test)]
mod tests {
    use fairair_core::control::CapacityParams;
    use fairair_core::units::{Bitrate, Instant};

    use super::*;

    /// Two runs, the first killed in the middle of a line.
    #[test]
    fn runs_follow_each_other_and_a_cut_line_is_left_out() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("control.jsonl");
        let start = Event::Start { params: CapacityParams::Fixed { rate: Bitrate::mbps(1) }, seed: u64::MAX };
        let timeout = Event::Timeout { at: Instant::from_nanos(u64::MAX) };
        for run in 1..=2 {
            let mut log = ControlLog::open(Some(&path)).unwrap();
            log.note("ap \"1\"", start.clone());
            log.note("ap \"1\"", timeout.clone());
            drop(log);
            while std::fs::read_to_string(&path).unwrap().matches("}\n").count() < 2 * run {
                std::thread::sleep(std::time::Duration::from_millis(10));
            }
            std::fs::OpenOptions::new().append(true).open(&path).unwrap().write_all(b"{\"ap\":\"ap").unwrap();
        }
        let events = read(&path).unwrap();
        assert_eq!(events["ap \"1\""], [start.clone(), timeout.clone(), start, timeout]);
        std::fs::write(&path, "\n{\"ap\":\"a\",\"event\":\"nonsense\"}\n").unwrap();
        assert!(read(&path).unwrap_err().starts_with("line 2: "));
    }
}
