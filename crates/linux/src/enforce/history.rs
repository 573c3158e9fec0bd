//! The past of the box, read from its journal while the daemon writes it.

use std::path::Path;
use std::time::Duration;

use rusqlite::{Connection, OpenFlags, Row, params};
use serde::{Deserialize, Serialize};

/// Parts of a span: of each part and AP one decision is given, of each part and station one sum.
const PARTS: u32 = 240;
/// Stations with sums: those with the most bytes.
const STATIONS: u32 = 50;
/// Changes and events of stations: the latest.
const EVENTS: u32 = 200;

/// What the journal has of a span of time.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct History {
    /// Seconds since 1970 at the end of the span.
    pub now_s: f64,
    /// Length of the span, in seconds.
    pub span_s: f64,
    /// Length of a part, in seconds.
    pub part_s: f64,
    /// What the controllers decided, the oldest first: the last decision of a part.
    pub decisions: Vec<Decided>,
    /// What stations got, the oldest first.
    pub goodput: Vec<Got>,
    /// Stations that came and went, and settings that ended; the oldest first.
    pub events: Vec<Event>,
    /// What was changed over the control socket, the oldest first.
    pub changes: Vec<Event>,
}

/// A decision.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Decided {
    /// Seconds since 1970.
    pub at_s: f64,
    /// Name of the AP, or of all APs of a channel, with commas.
    pub ap: String,
    /// C, in bit/s.
    pub capacity_bps: i64,
    /// State of the controller.
    pub state: String,
    /// Its reason.
    pub reason: String,
    /// Decisions in this part.
    pub of: i64,
}

/// What a station got in a part.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Got {
    /// Begin of the part, in seconds since 1970.
    pub at_s: f64,
    /// Name of the station.
    pub name: String,
    /// IP bytes of both directions.
    pub bytes: i64,
    /// Packets dropped.
    pub dropped: i64,
}

/// Something that happened.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Event {
    /// Seconds since 1970.
    pub at_s: f64,
    /// Name of the station; empty for a change.
    pub name: String,
    /// What happened; for a change the request.
    pub what: String,
}

/// The last `span_s` seconds in the journal `file`.
///
/// # Errors
/// SQLite's: there is no such file, it may not be read, or it is no journal.
pub fn history(file: &Path, span_s: u32) -> rusqlite::Result<History> {
    let connection = Connection::open_with_flags(file, OpenFlags::SQLITE_OPEN_READ_ONLY)?;
    connection.busy_timeout(Duration::from_secs(2))?;
    // The journal wears the wall clock's time, and SQLite has that clock.
    let now_s = connection.query_row("SELECT (julianday('now') - 2440587.5) * 86400.0", [], |row| row.get(0))?;
    at(&connection, now_s, span_s)
}

fn at(connection: &Connection, now_s: f64, span_s: u32) -> rusqlite::Result<History> {
    let (span_s, part_s) = (f64::from(span_s), f64::from(span_s) / f64::from(PARTS));
    let from_s = now_s - span_s;
    // Beside max() a bare column is that of the row with the maximum (sqlite.org/lang_select.html, section 2.5).
    let mut query = connection.prepare(
        "SELECT max(at_s), ap, capacity_bps, state, reason, count(*) FROM decision WHERE at_s >= ?1 AND at_s <= ?2 \
         GROUP BY ap, CAST((at_s - ?1) / ?3 AS INTEGER) ORDER BY 1",
    )?;
    let decisions = query.query_map(params![from_s, now_s, part_s], |row| {
        Ok(Decided {
            at_s: row.get(0)?,
            ap: row.get(1)?,
            capacity_bps: row.get(2)?,
            state: row.get(3)?,
            reason: row.get(4)?,
            of: row.get(5)?,
        })
    })?;
    let decisions = decisions.collect::<Result<_, _>>()?;
    let mut query = connection.prepare(
        "SELECT ?1 + ?3 * CAST((at_s - ?1) / ?3 AS INTEGER) AS part, name, sum(bytes), sum(dropped) FROM goodput \
         WHERE at_s >= ?1 AND at_s <= ?2 AND name IN (SELECT name FROM goodput WHERE at_s >= ?1 AND at_s <= ?2 \
         GROUP BY name ORDER BY sum(bytes) DESC LIMIT ?4) GROUP BY name, part ORDER BY part",
    )?;
    let goodput = query.query_map(params![from_s, now_s, part_s, STATIONS], |row| {
        Ok(Got { at_s: row.get(0)?, name: row.get(1)?, bytes: row.get(2)?, dropped: row.get(3)? })
    })?;
    let goodput = goodput.collect::<Result<_, _>>()?;
    let events = |sql: &str| -> rusqlite::Result<Vec<Event>> {
        let take = |row: &Row<'_>| -> rusqlite::Result<Event> {
            Ok(Event { at_s: row.get(0)?, name: row.get(1)?, what: row.get(2)? })
        };
        let mut query = connection.prepare(sql)?;
        let mut events: Vec<_> = query.query_map(params![from_s, now_s, EVENTS], take)?.collect::<Result<_, _>>()?;
        events.reverse();
        Ok(events)
    };
    Ok(History {
        now_s,
        span_s,
        part_s,
        decisions,
        goodput,
        events: events(
            "SELECT at_s, name, event FROM station WHERE at_s >= ?1 AND at_s <= ?2 ORDER BY at_s DESC LIMIT ?3",
        )?,
        changes: events(
            "SELECT at_s, '', what FROM change WHERE at_s >= ?1 AND at_s <= ?2 ORDER BY at_s DESC LIMIT ?3",
        )?,
    })
}

#[cfg(test)]
mod tests {
    use fairair_core::control::{Decision, Reason, State};
    use fairair_core::units::{Bitrate, Bytes, Instant};

    use super::*;
    use crate::enforce::config;
    use crate::enforce::journal::Journal;
    use crate::enforce::protocol::Ask;

    #[test]
    fn the_past_has_the_last_decision_of_a_part_and_sums_and_changes() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("journal.db");
        let keep = fairair_core::units::Duration::from_secs(3600);
        let config = config::Journal { file: file.clone(), keep, log: None, log_limit: Bytes(0) };
        let journal = Journal::open(Some(&config)).unwrap();
        for (mbps, reason) in [(5, Reason::Start), (4, Reason::DelayHigh), (6, Reason::DelayLow)] {
            let capacity = Bitrate::mbps(mbps);
            journal.decision("ap1", &Decision { at: Instant::ZERO, capacity, state: State::Run, reason });
            // The last one is told by its time.
            std::thread::sleep(Duration::from_millis(2));
        }
        journal.goodput("<b>a</b>", 1000, 1);
        journal.goodput("<b>a</b>", 500, 2);
        journal.change(&Ask::UnsetStation("a".to_owned()));
        drop(journal);
        let past = history(&file, 7 * 24 * 3600).unwrap();
        let last = past.decisions.last().unwrap();
        assert_eq!((last.capacity_bps, last.reason.as_str()), (6_000_000, "delay-low"));
        assert_eq!(past.decisions.iter().map(|decided| decided.of).sum::<i64>(), 3);
        assert_eq!(
            past.goodput.iter().map(|got| (got.bytes, got.dropped)).fold((0, 0), |a, b| (a.0 + b.0, a.1 + b.1)),
            (1500, 3)
        );
        assert_eq!(past.changes[0].what, "{\"unset-station\":\"a\"}");
        // An hour ago nothing had happened.
        let connection = Connection::open(&file).unwrap();
        let before = at(&connection, past.now_s - 3600.0, 3600).unwrap();
        assert!(before.decisions.is_empty() && before.goodput.is_empty() && before.changes.is_empty());
        assert!(history(&directory.path().join("none.db"), 3600).is_err());
    }
}
