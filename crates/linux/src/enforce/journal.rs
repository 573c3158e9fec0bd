//! The journal: decisions and stations in SQLite, written by a thread of its own.
//!
//! A disk that is full or slow stops the journal, never the shaping.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::{Duration, Instant, SystemTime};

use fairair_core::control::Decision;
use fairair_core::units::word;
use rusqlite::types::Value;
use rusqlite::{Connection, OpenFlags, params, params_from_iter};
use thiserror::Error;

use super::config;
use super::protocol::Ask;
use super::writer::Writer;

/// Entries that are kept while the disk refuses; the oldest go.
const WAITING: usize = 10_000;
/// Lines of each kind that a database keeps at most; the oldest go.
const LINES: i64 = 2_000_000;
/// For how long lines wait to be written together, which a kill loses: each transaction writes whole pages, and one a decision would
/// write gigabytes a day.
const BATCH: Duration = Duration::from_secs(10);
/// So many do not wait.
const CROWD: usize = 1000;
/// How a database begins (sqlite.org/fileformat.html, section 1.3).
const MAGIC: &[u8] = b"SQLite format 3\0";
const TABLES: [&str; 4] = ["decision", "station", "goodput", "change"];
const SCHEMA: &str = "\
PRAGMA journal_mode = WAL;
PRAGMA synchronous = NORMAL;
CREATE TABLE IF NOT EXISTS decision (at_s REAL NOT NULL, ap TEXT NOT NULL, capacity_bps INTEGER NOT NULL,
    state TEXT NOT NULL, reason TEXT NOT NULL);
CREATE INDEX IF NOT EXISTS decision_at ON decision (at_s);
CREATE TABLE IF NOT EXISTS station (at_s REAL NOT NULL, name TEXT NOT NULL, event TEXT NOT NULL);
CREATE INDEX IF NOT EXISTS station_at ON station (at_s);
CREATE TABLE IF NOT EXISTS goodput (at_s REAL NOT NULL, name TEXT NOT NULL, bytes INTEGER NOT NULL, dropped INTEGER NOT NULL);
CREATE INDEX IF NOT EXISTS goodput_at ON goodput (at_s);
CREATE TABLE IF NOT EXISTS change (at_s REAL NOT NULL, what TEXT NOT NULL);
CREATE INDEX IF NOT EXISTS change_at ON change (at_s);
";

/// A line of the journal: its table and what stands behind the time.
#[derive(Debug)]
struct Entry(&'static str, Vec<Value>);

/// Where lines go; cheap to call, never waits.
#[derive(Debug, Default)]
pub struct Journal {
    writer: Option<Writer<(f64, Entry)>>,
    failed: Arc<AtomicBool>,
    clock: Clock,
}

/// Seconds since 1970. The journal is the only part of the box that asks for them: all else counts monotonic time.
#[derive(Clone, Copy, Debug)]
struct Clock(fn() -> f64);

impl Default for Clock {
    #[expect(clippy::disallowed_methods, reason = "people read the journal beside other logs")]
    fn default() -> Self {
        Clock(|| SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default().as_secs_f64())
    }
}

/// Why there is no journal.
#[derive(Debug, Error)]
pub enum JournalError {
    /// The file.
    #[error("journal {}: {reason}", file.display())]
    Database {
        /// The database.
        file: PathBuf,
        /// SQLite's words.
        reason: rusqlite::Error,
    },
    /// It would be damaged.
    #[error("journal {}: there is something else than a journal in it; name another file", .0.display())]
    Foreign(PathBuf),
    /// The thread that writes.
    #[error("journal: {0}")]
    Thread(io::Error),
}

impl Journal {
    /// Opens or makes the database, and removes what is too old. `None` makes a journal that keeps nothing.
    ///
    /// # Errors
    /// SQLite refuses the file, or the system a thread.
    pub fn open(config: Option<&config::Journal>) -> Result<Journal, JournalError> {
        Self::by(Clock::default(), config, BATCH)
    }

    fn by(clock: Clock, config: Option<&config::Journal>, wait: Duration) -> Result<Journal, JournalError> {
        let Some(config) = config else { return Ok(Journal::default()) };
        let shown = |reason| JournalError::Database { file: config.file.clone(), reason };
        if is_foreign(&config.file) {
            return Err(JournalError::Foreign(config.file.clone()));
        }
        let connection = connect(&config.file).map_err(shown)?;
        let failed = Arc::new(AtomicBool::new(false));
        let told = failed.clone();
        // What is too old is told by the time since now, so that a clock that jumps ahead removes nothing.
        let (begin, oldest_s) = (Instant::now(), (clock.0)() - config.keep.as_secs_f64());
        let oldest = move || oldest_s + begin.elapsed().as_secs_f64();
        let writer = Writer::start("journal", move |receiver| write(connection, receiver, wait, oldest, &told));
        let writer = writer.map_err(JournalError::Thread)?;
        Ok(Journal { writer: Some(writer), failed, clock })
    }

    /// Whether lines are lost: the disk is full, or slow.
    pub fn has_failed(&self) -> bool {
        self.failed.load(Ordering::Relaxed)
    }

    /// A machine decided.
    pub fn decision(&self, ap: &str, decision: &Decision) {
        let (state, reason) = (word(&decision.state), word(&decision.reason));
        let capacity_bps = decision.capacity.as_bps() as i64;
        self.put("decision", vec![ap.to_owned().into(), capacity_bps.into(), state.into(), reason.into()]);
    }

    /// A station came or went.
    pub fn station(&self, name: &str, event: &'static str) {
        self.put("station", vec![name.to_owned().into(), event.to_owned().into()]);
    }

    /// What a station got since the last such line.
    pub fn goodput(&self, name: &str, bytes: u64, dropped: u64) {
        self.put("goodput", vec![name.to_owned().into(), (bytes as i64).into(), (dropped as i64).into()]);
    }

    /// Somebody changed the box over the control socket: the request as it came.
    pub fn change(&self, ask: &Ask) {
        // What was read as JSON can be written as JSON.
        self.put("change", vec![serde_json::to_string(ask).unwrap_or_default().into()]);
    }

    fn put(&self, table: &'static str, values: Vec<Value>) {
        let Some(writer) = &self.writer else { return };
        if !writer.put(((self.clock.0)(), Entry(table, values))) {
            self.failed.store(true, Ordering::Relaxed);
        }
    }
}

fn connect(file: &Path) -> rusqlite::Result<Connection> {
    // SQLite would let everybody read it, and gives the files beside it the same mode. If it cannot be made, SQLite says why.
    let _ = OpenOptions::new().create(true).append(true).mode(0o600).open(file);
    let connection = Connection::open(file)?;
    connection.busy_timeout(Duration::from_secs(5))?;
    connection.execute_batch(SCHEMA)?;
    Ok(connection)
}

/// Whether there is something else than a journal at `file`, which a wrong name would damage: a pipe, a text, the database of
/// another program.
pub(super) fn is_foreign(file: &Path) -> bool {
    let mut head = Vec::new();
    match fs::metadata(file) {
        Ok(data) if data.is_file() => {
            let read = File::open(file).and_then(|file| file.take(MAGIC.len() as u64).read_to_end(&mut head));
            matches!(read, Ok(1..)) && (head != MAGIC || has_other_tables(file).unwrap_or_default())
        }
        found => found.is_ok(),
    }
}

fn has_other_tables(file: &Path) -> rusqlite::Result<bool> {
    // Without locks and files beside it: a look changes nothing.
    let name = file.to_string_lossy().replace('%', "%25").replace('?', "%3f").replace('#', "%23");
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_URI;
    let connection = Connection::open_with_flags(format!("file:{name}?immutable=1"), flags)?;
    let mut names =
        connection.prepare("SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%'")?;
    let names: Vec<String> = names.query_map([], |row| row.get(0))?.collect::<Result<_, _>>()?;
    Ok(names.iter().any(|name| !TABLES.contains(&name.as_str())))
}

/// Writes what comes in batches, until nobody sends any more.
fn write(
    mut connection: Connection,
    receiver: &Receiver<(f64, Entry)>,
    wait: Duration,
    oldest_s: impl Fn() -> f64,
    failed: &AtomicBool,
) {
    let mut batch = Vec::new();
    let mut open = true;
    while open {
        let (begin, before) = (Instant::now(), batch.len());
        while batch.len() < before + CROWD {
            match receiver.recv_timeout(wait.saturating_sub(begin.elapsed())) {
                Ok(entry) => batch.push(entry),
                Err(RecvTimeoutError::Timeout) => break,
                Err(RecvTimeoutError::Disconnected) => {
                    open = false;
                    break;
                }
            }
        }
        if batch.is_empty() {
            continue;
        }
        if store(&mut connection, &batch, oldest_s(), LINES).is_ok() {
            batch.clear();
            failed.store(false, Ordering::Relaxed);
        } else {
            failed.store(true, Ordering::Relaxed);
            batch.drain(..batch.len().saturating_sub(WAITING));
        }
    }
}

/// Writes `batch`, and removes what is older than `oldest_s` and, of each kind, all but the latest `most` lines.
fn store(connection: &mut Connection, batch: &[(f64, Entry)], oldest_s: f64, most: i64) -> rusqlite::Result<()> {
    let transaction = connection.transaction()?;
    for (at_s, Entry(table, values)) in batch {
        let insert = format!("INSERT INTO {table} VALUES (?{})", ", ?".repeat(values.len()));
        let values = std::iter::once(Value::from(*at_s)).chain(values.iter().cloned());
        transaction.prepare_cached(&insert)?.execute(params_from_iter(values))?;
    }
    for table in TABLES {
        transaction.prepare_cached(&format!("DELETE FROM {table} WHERE at_s < ?1"))?.execute(params![oldest_s])?;
        let excess = format!("DELETE FROM {table} WHERE rowid <= (SELECT max(rowid) FROM {table}) - ?1");
        transaction.prepare_cached(&excess)?.execute(params![most])?;
    }
    transaction.commit()
}

#[cfg(test)]
mod tests {
    use fairair_core::control::{Reason, State};
    use fairair_core::units::{Bitrate, Bytes, Instant};

    use super::*;

    #[test]
    fn lines_survive_a_restart_and_hostile_names_stay_names() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("journal.db");
        let config = config::Journal {
            file: file.clone(),
            keep: fairair_core::units::Duration::from_secs(3600),
            log: None,
            log_limit: Bytes(0),
        };
        let name = "x'); DROP TABLE station; --";
        for _ in 0..2 {
            let journal = Journal::open(Some(&config)).unwrap();
            journal.station(name, "found");
            let (at, state, reason) = (Instant::ZERO, State::Run, Reason::DelayLow);
            journal.decision("ap1", &Decision { at, capacity: Bitrate::mbps(5), state, reason });
            drop(journal);
        }
        let wanted = "SELECT (SELECT count(*) FROM station WHERE name = ?1) + (SELECT count(*) FROM decision WHERE reason = 'delay-low')";
        let connection = Connection::open(file).unwrap();
        let lines = connection.query_row(wanted, params![name], |row| row.get::<_, i64>(0)).unwrap();
        assert_eq!(lines, 4, "all is written when the journal is dropped");
    }

    #[test]
    fn what_is_no_journal_is_left_alone() {
        let directory = tempfile::tempdir().unwrap();
        let at = |name: &str| directory.path().join(name);
        let config = |file: PathBuf| config::Journal {
            file,
            keep: fairair_core::units::Duration::from_secs(3600),
            log: None,
            log_limit: Bytes(0),
        };
        fs::write(at("text"), "mine").unwrap();
        Connection::open(at("other #1?.db")).unwrap().execute_batch("CREATE TABLE mine (a)").unwrap();
        assert!(std::process::Command::new("mkfifo").arg(at("pipe")).status().unwrap().success());
        for name in ["text", "other #1?.db", "pipe", "."] {
            let size = || fs::metadata(at(name)).unwrap().len();
            let before = size();
            assert!(matches!(Journal::open(Some(&config(at(name)))), Err(JournalError::Foreign(_))), "{name}");
            assert_eq!(size(), before, "{name}");
        }
        for _ in 0..2 {
            Journal::open(Some(&config(at("%own?.db")))).unwrap().station("a", "found");
        }
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 4, "nothing beside them");
    }

    /// A clock that jumps years ahead and back: lines wear its time, and none is removed for it.
    #[test]
    fn a_clock_that_jumps_removes_nothing() {
        static NOW_S: std::sync::atomic::AtomicU64 = std::sync::atomic::AtomicU64::new(1_700_000_000);
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("journal.db");
        let keep = fairair_core::units::Duration::from_secs(3600);
        let config = config::Journal { file: file.clone(), keep, log: None, log_limit: Bytes(0) };
        let clock = Clock(|| NOW_S.load(Ordering::Relaxed) as f64);
        let journal = Journal::by(clock, Some(&config), Duration::from_millis(20)).unwrap();
        let times = [1_700_000_000, 2_000_000_000, 0, 1_700_000_060];
        for (index, now_s) in times.into_iter().enumerate() {
            NOW_S.store(now_s, Ordering::Relaxed);
            journal.station("a", "found");
            // Each is a batch of its own, so that old lines would be removed in between.
            let connection = Connection::open(&file).unwrap();
            let count =
                || connection.query_row("SELECT count(*) FROM station", [], |row| row.get::<_, i64>(0)).unwrap();
            let wanted = if now_s == 0 { index } else { index + 1 } as i64;
            for _ in 0..100 {
                if count() >= wanted {
                    break;
                }
                std::thread::sleep(Duration::from_millis(50));
            }
        }
        drop(journal);
        let connection = Connection::open(&file).unwrap();
        let mut query = connection.prepare("SELECT at_s FROM station ORDER BY at_s").unwrap();
        let found: Vec<f64> = query.query_map([], |row| row.get(0)).unwrap().map(Result::unwrap).collect();
        assert_eq!(found, [1_700_000_000.0, 1_700_000_060.0, 2_000_000_000.0], "1970 is older than an hour");
    }

    /// Decisions as `adaptive` makes them, ten a second: what one transaction each writes is three million bytes in 40 s.
    #[test]
    fn lines_are_written_together_and_for_the_daemon_alone() {
        use std::os::unix::fs::PermissionsExt as _;
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("journal.db");
        let keep = fairair_core::units::Duration::from_secs(3600);
        let config = config::Journal { file: file.clone(), keep, log: None, log_limit: Bytes(0) };
        let journal = Journal::by(Clock::default(), Some(&config), Duration::from_secs(2)).unwrap();
        let log = directory.path().join("journal.db-wal");
        let size = || fs::metadata(&log).unwrap().len();
        let before = size();
        for _ in 0..30 {
            let (at, state, reason) = (Instant::ZERO, State::Run, Reason::DelayLow);
            journal.decision("ap1", &Decision { at, capacity: Bitrate::mbps(5), state, reason });
            std::thread::sleep(Duration::from_millis(100));
        }
        let written = size() - before;
        println!("30 decisions in 3 s: {written} bytes");
        assert!((1..40_000).contains(&written), "{written} bytes");
        for own in ["journal.db", "journal.db-wal", "journal.db-shm"] {
            let mode = fs::metadata(directory.path().join(own)).unwrap().permissions().mode();
            assert_eq!(mode & 0o777, 0o600, "{own}");
        }
        drop(journal);
        let lines = "SELECT count(*) FROM decision";
        let lines = Connection::open(&file).unwrap().query_row(lines, [], |row| row.get::<_, i64>(0)).unwrap();
        assert_eq!(lines, 30, "nothing is lost at a stop");
    }

    #[test]
    fn of_each_kind_the_latest_lines_stay() {
        let directory = tempfile::tempdir().unwrap();
        let mut connection = connect(&directory.path().join("journal.db")).unwrap();
        for round in 0..5 {
            let station =
                |at: i32| (f64::from(at), Entry("station", vec![format!("s{at}").into(), "found".to_owned().into()]));
            let mut batch: Vec<_> = (3 * round..3 * round + 3).map(station).collect();
            batch.push((0.5, Entry("change", vec!["stop".to_owned().into()])));
            store(&mut connection, &batch, 0.0, 10).unwrap();
        }
        let count = |sql: &str| connection.query_row(sql, [], |row| row.get::<_, i64>(0)).unwrap();
        assert_eq!(count("SELECT count(*) FROM station"), 10);
        assert_eq!(count("SELECT count(*) FROM station WHERE at_s >= 5"), 10, "the oldest went");
        assert_eq!(count("SELECT count(*) FROM change"), 5, "each kind has its own");
    }

    #[test]
    fn a_journal_that_cannot_be_opened_says_so() {
        let config = config::Journal {
            file: "/nonexistent/journal.db".into(),
            keep: fairair_core::units::Duration::from_secs(60),
            log: None,
            log_limit: Bytes(0),
        };
        assert!(Journal::open(Some(&config)).unwrap_err().to_string().contains("/nonexistent/journal.db"));
    }
}
