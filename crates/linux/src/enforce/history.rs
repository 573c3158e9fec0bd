//! The past of the box, read from its journal while the daemon writes it.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use rusqlite::{Connection, OpenFlags, Row, params};
use serde::{Deserialize, Serialize};

/// Parts of a span: of each part and AP one decision is given, of each part and station one rate.
const PARTS: u32 = 240;
/// Stations with rates: those with the most bytes.
const STATIONS: u32 = 50;
/// Seconds that a line of goodput tells of: the shortest part with a rate.
const LINE_S: f64 = 60.0;
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
    /// What stations got, the one with the most bytes first.
    pub goodput: Vec<Got>,
    /// End of the last part with rates, in seconds since 1970: the latest line of goodput, if it is new.
    pub goodput_to_s: f64,
    /// Length of a part with rates, in seconds.
    pub goodput_part_s: f64,
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

/// What a station got.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Got {
    /// Name of the station.
    pub name: String,
    /// IP bytes of both directions in the span.
    pub bytes: i64,
    /// Packets dropped in the span.
    pub dropped: i64,
    /// Mean rate of each part, in bit/s of IP packets of both directions; the oldest first.
    pub bps: Vec<u64>,
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
    let goodput_to_s = connection.query_row(
        "SELECT max(at_s) FROM goodput WHERE at_s > ?1 AND at_s <= ?2",
        params![now_s - 2.0 * LINE_S, now_s],
        |row| row.get::<_, Option<f64>>(0),
    )?;
    let goodput_to_s = goodput_to_s.unwrap_or(now_s);
    let goodput_part_s = part_s.max(LINE_S);
    let goodput = rates(connection, goodput_to_s, span_s, goodput_part_s)?;
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
        goodput_to_s,
        goodput_part_s,
        events: events(
            "SELECT at_s, name, event FROM station WHERE at_s >= ?1 AND at_s <= ?2 ORDER BY at_s DESC LIMIT ?3",
        )?,
        changes: events(
            "SELECT at_s, '', what FROM change WHERE at_s >= ?1 AND at_s <= ?2 ORDER BY at_s DESC LIMIT ?3",
        )?,
    })
}

/// What the stations with the most bytes got in the parts of the `span_s` seconds before `to_s`. A line tells of the
/// minute before it, which may reach into two parts.
fn rates(connection: &Connection, to_s: f64, span_s: f64, part_s: f64) -> rusqlite::Result<Vec<Got>> {
    let from_s = to_s - span_s;
    let count = (span_s / part_s).ceil() as usize;
    let mut query = connection.prepare(
        "SELECT name, sum(bytes), sum(dropped) FROM goodput WHERE at_s > ?1 AND at_s <= ?2 GROUP BY name \
         ORDER BY 2 DESC LIMIT ?3",
    )?;
    let most = query.query_map(params![from_s, to_s, STATIONS], |row| {
        Ok(Got { name: row.get(0)?, bytes: row.get(1)?, dropped: row.get(2)?, bps: Vec::new() })
    })?;
    let mut most: Vec<Got> = most.collect::<Result<_, _>>()?;
    let places: BTreeMap<String, usize> = most.iter().enumerate().map(|(at, got)| (got.name.clone(), at)).collect();
    let mut sums = vec![vec![0.0; count]; most.len()];
    let mut query = connection.prepare("SELECT at_s, name, bytes FROM goodput WHERE at_s > ?1 AND at_s <= ?2")?;
    let mut lines = query.query(params![from_s, to_s])?;
    while let Some(line) = lines.next()? {
        let Some(place) = places.get(line.get_ref(1)?.as_str()?) else { continue };
        let (end, bytes) = (line.get::<_, f64>(0)? - from_s, line.get::<_, i64>(2)? as f64);
        let first = ((end - LINE_S).max(0.0) / part_s) as usize;
        for (part, sum) in sums[*place].iter_mut().enumerate().skip(first).take(2) {
            let begin = part as f64 * part_s;
            let shared = end.min(begin + part_s) - (end - LINE_S).max(begin);
            *sum += bytes * shared.max(0.0) / LINE_S;
        }
    }
    for (got, sums) in most.iter_mut().zip(sums) {
        got.bps = sums.into_iter().map(|bytes| (bytes * 8.0 / part_s).round() as u64).collect();
    }
    Ok(most)
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
        assert_eq!(past.goodput.iter().map(|got| (got.bytes, got.dropped)).collect::<Vec<_>>(), [(1500, 3)]);
        assert_eq!(past.changes[0].what, "{\"unset-station\":\"a\"}");
        // An hour ago nothing had happened.
        let connection = Connection::open(&file).unwrap();
        let before = at(&connection, past.now_s - 3600.0, 3600).unwrap();
        assert!(before.decisions.is_empty() && before.goodput.is_empty() && before.changes.is_empty());
        assert!(history(&directory.path().join("none.db"), 3600).is_err());
    }

    /// Lines every minute, a millisecond early or late, are flat parts; of a minute that reaches into two parts each
    /// has its share, and what no part has is no rate.
    #[test]
    fn rates_are_of_the_minutes_before_the_lines() {
        let connection = Connection::open_in_memory().unwrap();
        connection
            .execute_batch("CREATE TABLE goodput (at_s REAL, name TEXT, bytes INTEGER, dropped INTEGER)")
            .unwrap();
        let put = |at_s: f64, name: &str, bytes: i64| {
            connection.execute("INSERT INTO goodput VALUES (?1, ?2, ?3, 0)", params![at_s, name, bytes]).unwrap();
        };
        for minute in 0..60 {
            let late = if minute % 2 == 0 { 0.001 } else { -0.001 };
            put(7260.0 + 60.0 * f64::from(minute) + late, "steady", 7_500_000);
        }
        put(9030.0, "once", 600_000);
        let found = rates(&connection, 7200.0 + 3600.0, 3600.0, 60.0).unwrap();
        assert_eq!(found.iter().map(|got| got.name.as_str()).collect::<Vec<_>>(), ["steady", "once"]);
        let steady = &found[0].bps;
        assert_eq!(steady.len(), 60);
        assert!(steady.iter().all(|bps| bps.abs_diff(1_000_000) < 100), "{steady:?}");
        let once: Vec<_> = found[1].bps.iter().enumerate().filter(|(_, bps)| **bps > 0).collect();
        assert_eq!(once, [(29, &40_000), (30, &40_000)]);
        let hours = rates(&connection, 10_800.0, 24.0 * 3600.0, 360.0).unwrap();
        let once: Vec<_> = hours[1].bps.iter().enumerate().filter(|(_, bps)| **bps > 0).collect();
        assert_eq!(
            (hours[1].bps.len(), once),
            (240, vec![(234, &6_667), (235, &6_667)]),
            "half of 600 kB in 360 s each"
        );
    }

    /// More stations than are shown: those with the most bytes.
    #[test]
    fn the_answer_is_bounded() {
        let connection = Connection::open_in_memory().unwrap();
        connection
            .execute_batch("CREATE TABLE goodput (at_s REAL, name TEXT, bytes INTEGER, dropped INTEGER)")
            .unwrap();
        for station in 1..=i64::from(2 * STATIONS) {
            let line = params![100.0, format!("s{station}"), station];
            connection.execute("INSERT INTO goodput VALUES (?1, ?2, ?3, 0)", line).unwrap();
        }
        let found = rates(&connection, 100.0, 3600.0, 60.0).unwrap();
        assert_eq!((found.len(), found[0].bytes), (STATIONS as usize, i64::from(2 * STATIONS)));
    }
}
