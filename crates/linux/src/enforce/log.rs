//! The control log: what the capacity machines saw and decided, an event a line (JSON), for `fairair vsb replay`.
//!
//! It has a limit: a full file is renamed (`LOG.1` is younger than `LOG.2`), and the oldest goes. Each file begins with the
//! machines as they were then, so that what is left can be replayed. So does what comes after a gap, when the disk was
//! full.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::Receiver;
use std::time::{Duration, Instant};

use fairair_core::control::log::Event;
use fairair_core::units::Bytes;
use serde::{Deserialize, Serialize};
use thiserror::Error;

use super::writer::Writer;

/// Files, with the one that is written.
const FILES: usize = 4;
/// Time between two tries to begin again after the disk refused.
const RETRY: Duration = Duration::from_secs(5);

/// How a line begins.
const HEAD: &[u8] = b"{\"ap\":\"";
/// Bytes in which the first line begins, after runs that had nothing to say.
const MOST_HEAD: u64 = 1 << 16;

#[derive(Debug, Serialize, Deserialize)]
struct Line {
    ap: String,
    #[serde(flatten)]
    event: Event,
}

#[derive(Debug)]
enum Order {
    /// All machines follow as they are, in a new file if this one is full.
    Begin,
    Line(Line),
}

/// State of the thread that writes.
#[derive(Debug, Default)]
struct WriterStatus {
    /// The disk refused; nothing is written until the next [`Order::Begin`].
    failed: AtomicBool,
    /// The file has its share of the limit.
    full: AtomicBool,
}

/// Writes lines; never waits.
#[derive(Debug, Default)]
pub struct ControlLog {
    writer: Option<Writer<Order>>,
    status: Arc<WriterStatus>,
    /// The last try to begin a file.
    begun: Option<Instant>,
    /// A line was lost since then.
    has_gap: bool,
}

impl ControlLog {
    /// Opens the log at `path` and goes on at its end; all its files together keep to about `limit`. `None` makes a log that
    /// keeps nothing.
    ///
    /// # Errors
    /// The system's words.
    pub fn open(path: Option<&Path>, limit: Bytes) -> Result<ControlLog, LogError> {
        let Some(path) = path else { return Ok(ControlLog::default()) };
        let shown = |reason| LogError::Open { path: path.to_owned(), reason };
        if is_foreign(path).map_err(shown)? {
            return Err(LogError::Foreign(path.to_owned()));
        }
        let mut file = append(path).map_err(shown)?;
        // Ends a line that a killed run left; a reader leaves out what is between two runs.
        file.write_all(b"\n").map_err(shown)?;
        let status = Arc::new(WriterStatus::default());
        let (path, share, teller) = (path.to_owned(), limit.0 / FILES as u64, status.clone());
        let writer = Writer::start("control-log", move |orders| write(&path, file, share, orders, &teller));
        Ok(ControlLog { writer: Some(writer.map_err(shown)?), status, begun: None, has_gap: false })
    }

    /// Whether nothing is kept now: the disk is full, or slow. A log with a gap could not be replayed, so the next line
    /// comes after [`Self::begin`].
    pub fn has_failed(&self) -> bool {
        self.has_gap || self.status.failed.load(Ordering::Relaxed)
    }

    /// Whether events are kept.
    pub const fn is_on(&self) -> bool {
        self.writer.is_some()
    }

    /// A machine of `ap` saw or did something.
    pub fn note(&mut self, ap: &str, event: Event) {
        if self.has_failed() {
            self.has_gap = true;
        } else {
            self.put(Order::Line(Line { ap: ap.to_owned(), event }));
        }
    }

    /// Whether it is time for [`Self::begin`]: the file is full, or some time has passed since the disk refused.
    pub fn wants_to_begin(&self) -> bool {
        let is_patient = || self.begun.is_none_or(|begun| begun.elapsed() >= RETRY);
        self.is_on()
            && (self.status.full.swap(false, Ordering::Relaxed) && !self.has_failed()
                || self.has_failed() && is_patient())
    }

    /// Goes on with the machines of all APs as they are.
    pub fn begin(&mut self, machines: impl Iterator<Item = (String, Event)>) {
        self.begun = Some(Instant::now());
        self.has_gap = false;
        self.status.failed.store(false, Ordering::Relaxed);
        self.put(Order::Begin);
        for (ap, event) in machines {
            self.put(Order::Line(Line { ap, event }));
        }
    }

    fn put(&mut self, order: Order) {
        self.has_gap |= !self.writer.as_ref().is_none_or(|writer| writer.put(order));
    }
}

fn append(path: &Path) -> io::Result<File> {
    // It has addresses of people's devices.
    OpenOptions::new().create(true).append(true).mode(0o600).open(path)
}

/// Whether there is something else than a control log at `path`, which a wrong name would damage.
///
/// # Errors
/// It may not be read.
pub(super) fn is_foreign(path: &Path) -> io::Result<bool> {
    let mut head = Vec::new();
    match fs::metadata(path) {
        Ok(data) if data.is_file() => File::open(path)?.take(MOST_HEAD).read_to_end(&mut head)?,
        // A pipe holds who opens it, and would be renamed as a full log is.
        Ok(_) => return Ok(true),
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
        Err(error) => return Err(error),
    };
    // A run begins with an empty line, and a full disk may have cut lines before it.
    let mut lines = head.split(|byte| *byte == b'\n').filter(|line| !HEAD.starts_with(line));
    Ok(lines.next().is_some_and(|line| !line.starts_with(HEAD)))
}

/// Writes until nobody sends any more.
fn write(path: &Path, file: File, share: u64, orders: &Receiver<Order>, status: &WriterStatus) {
    let mut size = file.metadata().map_or(0, |data| data.len());
    let mut file = Some(file);
    while let Ok(first) = orders.recv() {
        let mut text = Vec::new();
        for order in std::iter::once(first).chain(orders.try_iter()) {
            match order {
                Order::Begin => {
                    drop(put(file.take(), &text));
                    text.clear();
                    if size > share && rotate(path).is_ok() {
                        size = 0;
                    }
                    file = append(path).ok();
                    // Ends a line of which the disk took a part.
                    text.push(b'\n');
                }
                Order::Line(line) => {
                    let before = text.len();
                    if serde_json::to_writer(&mut text, &line).is_err() {
                        text.truncate(before);
                    }
                    text.push(b'\n');
                    size += (text.len() - before) as u64;
                }
            }
        }
        file = put(file, &text);
        status.failed.store(file.is_none(), Ordering::Relaxed);
        status.full.store(size > share && file.is_some(), Ordering::Relaxed);
    }
}

/// `None`: the disk refused.
fn put(file: Option<File>, text: &[u8]) -> Option<File> {
    let mut file = file?;
    file.write_all(text).is_ok().then_some(file)
}

/// The files of a log, the youngest first.
pub(super) fn files(path: &Path) -> impl DoubleEndedIterator<Item = PathBuf> + '_ {
    (0..FILES).map(move |age| match age {
        0 => path.to_owned(),
        age => {
            let mut name = OsString::from(path);
            name.push(format!(".{age}"));
            PathBuf::from(name)
        }
    })
}

/// Makes room for a new file: each is a file older, the oldest goes.
fn rotate(path: &Path) -> io::Result<()> {
    let files: Vec<_> = files(path).collect();
    for pair in files.windows(2).rev() {
        match fs::rename(&pair[0], &pair[1]) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
    }
    Ok(())
}

/// Why a control log cannot be written or read.
#[derive(Debug, Error)]
pub enum LogError {
    /// It cannot be opened.
    #[error("control log {}: {reason}", path.display())]
    Open {
        /// The file.
        path: PathBuf,
        /// The system's words.
        reason: io::Error,
    },
    /// There is something else in the file.
    #[error("control log {}: there is something else in this file, so nothing is written to it: name another one as `log` in [journal]", .0.display())]
    Foreign(PathBuf),
    /// A file cannot be read.
    #[error(transparent)]
    Read(io::Error),
    /// A line is none of ours.
    #[error("line {line}: {reason}")]
    Line {
        /// Its number.
        line: usize,
        /// What is wrong with it.
        reason: serde_json::Error,
    },
    /// A line of an older file beside it.
    #[error("{}: line {line}: {reason}", file.display())]
    OlderLine {
        /// The older file.
        file: PathBuf,
        /// Its number.
        line: usize,
        /// What is wrong with it.
        reason: serde_json::Error,
    },
}

/// Reads a log, with the older files beside it: the events of each AP. A line that is cut off before a new beginning, or at
/// the end of a file, is left out.
///
/// # Errors
/// A file cannot be read, or a line is none of ours; with its number.
pub fn read(path: &Path) -> Result<BTreeMap<String, Vec<Event>>, LogError> {
    let mut events = BTreeMap::new();
    for file in files(path).rev() {
        match fs::read_to_string(&file) {
            Ok(text) => parse(&text, &mut events).map_err(|(line, reason)| {
                if file == path { LogError::Line { line, reason } } else { LogError::OlderLine { file, line, reason } }
            })?,
            Err(error) if error.kind() == io::ErrorKind::NotFound && file != path => {}
            Err(error) => return Err(LogError::Read(error)),
        }
    }
    Ok(events)
}

/// The number of the line that is wrong comes with the reason.
fn parse(text: &str, events: &mut BTreeMap<String, Vec<Event>>) -> Result<(), (usize, serde_json::Error)> {
    let begins = |line: &str| [r#""event":"start""#, r#""event":"state""#].iter().any(|word| line.contains(word));
    let mut lines = text.lines().enumerate().filter(|(_, line)| !line.is_empty()).peekable();
    while let Some((index, line)) = lines.next() {
        match serde_json::from_str::<Line>(line) {
            Ok(line) => events.entry(line.ap).or_default().push(line.event),
            Err(error) if error.is_eof() && lines.peek().is_none_or(|(_, next)| begins(next)) => {}
            Err(error) => return Err((index + 1, error)),
        }
    }
    Ok(())
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
            let mut log = ControlLog::open(Some(&path), Bytes(1_000_000)).unwrap();
            log.note("ap \"1\"", start.clone());
            log.note("ap \"1\"", timeout.clone());
            drop(log);
            let lines = std::fs::read_to_string(&path).unwrap().matches("}\n").count();
            assert_eq!(lines, 2 * run, "all is written when the log is dropped");
            std::fs::OpenOptions::new().append(true).open(&path).unwrap().write_all(b"{\"ap\":\"ap").unwrap();
        }
        let events = read(&path).unwrap();
        assert_eq!(events["ap \"1\""], [start.clone(), timeout.clone(), start, timeout]);
        std::fs::write(&path, "\n{\"ap\":\"a\",\"event\":\"nonsense\"}\n").unwrap();
        assert!(read(&path).unwrap_err().to_string().starts_with("line 2: "));
    }

    /// A wrong name must not damage what is there.
    #[test]
    fn other_files_are_left_alone_and_a_new_one_is_private() {
        use std::os::unix::fs::PermissionsExt as _;
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("control.jsonl");
        for other in ["name = \"lobby\"\n", "\n{\n  \"version\": 1\n}\n", "\0\0"] {
            fs::write(&path, other).unwrap();
            let told = ControlLog::open(Some(&path), Bytes(1_000_000)).unwrap_err().to_string();
            assert!(told.contains("control.jsonl") && told.contains("name another one"), "{told}");
            assert_eq!(fs::read_to_string(&path).unwrap(), other);
        }
        for own in ["", "\n\n", "\n{\"a", "\n{\"ap\":\"a\",\"event\":\"start\"\n"] {
            fs::write(&path, own).unwrap();
            assert!(ControlLog::open(Some(&path), Bytes(1_000_000)).is_ok(), "{own}");
        }
        fs::remove_file(&path).unwrap();
        drop(ControlLog::open(Some(&path), Bytes(1_000_000)).unwrap());
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    }

    /// The oldest lines go, the youngest stay, and the oldest that is left is a beginning.
    #[test]
    fn a_log_keeps_to_its_limit() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("control.jsonl");
        let start = || Event::Start { params: CapacityParams::Fixed { rate: Bitrate::mbps(1) }, seed: 1 };
        let mut log = ControlLog::open(Some(&path), Bytes(40_000)).unwrap();
        let mut begun = 0;
        log.note("a", start());
        for count in 0..5000 {
            log.note("a", Event::Timeout { at: Instant::from_nanos(count) });
            if log.wants_to_begin() {
                begun += 1;
                log.begin(std::iter::once(("a".to_owned(), start())));
            }
            // As slow as a daemon, for the thread to follow.
            if count % 20 == 0 {
                std::thread::sleep(Duration::from_millis(2));
            }
        }
        assert!(!log.has_failed());
        drop(log);
        let size: u64 = files(&path).map(|file| fs::metadata(file).map_or(0, |data| data.len())).sum();
        assert!(begun > 4 && (30_000..60_000).contains(&size), "{begun} files, {size} bytes");
        let events = &read(&path).unwrap()["a"];
        assert!(matches!(events[0], Event::Start { .. }));
        let times = events.iter().filter_map(|event| match event {
            Event::Timeout { at } => Some(at.as_nanos()),
            _ => None,
        });
        let times: Vec<_> = times.collect();
        assert_eq!(times.last(), Some(&4999));
        assert!(times.windows(2).all(|pair| pair[1] == pair[0] + 1), "no gap");
    }
}
