//! `--trace`: every PPDU of replica 0 as a row of a Parquet table, the same columns as `fairair.air(...).table` in Python.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::{io, mem};

use fairair_core::mac::{AirFrame, Ppdu, Trace, Traced};
use fairair_core::packet::NodeId;
use fairair_core::scenario::Scenario;
use fairair_core::units::Instant;
use parquet::data_type::{BoolType, ByteArray, ByteArrayType, DataType, DoubleType, Int32Type, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::metadata::KeyValue;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::schema::parser::parse_message_type;

use crate::sink::{FileError, Sink};

/// Rows that are written as one group, and held until then.
const GROUP: usize = 65_536;
/// Times count from the start of the run.
const SCHEMA: &str = "message air {
    required double at_s;
    required double duration_s;
    required binary sender (utf8);
    required binary receiver (utf8);
    required binary kind (utf8);
    required int64 rate_bps;
    required int32 mpdus;
    required int32 lost;
    required int32 retries;
    required int64 ip_bytes;
    required boolean collided;
}";

/// A table that appears under its name with [`TraceFile::finish`]; dropped before, it leaves nothing behind.
pub(crate) struct TraceFile {
    /// As the user named it, for errors.
    path: PathBuf,
    writer: SerializedFileWriter<Sink>,
    /// The AP, then the stations, then further access points.
    nodes: Vec<ByteArray>,
    stations: usize,
    trace: Trace,
}

impl TraceFile {
    /// Opens a table that is to become `path`.
    ///
    /// # Errors
    /// When the directory is missing or cannot be written to, or `path` is a directory.
    pub(crate) fn create(path: &Path, scenario: &Scenario) -> Result<Self, FileError> {
        let facts = [
            ("scenario", scenario.name.clone()),
            ("seed", scenario.run.seed.to_string()),
            ("replica", "0".to_owned()),
            ("fairair", env!("CARGO_PKG_VERSION").to_owned()),
        ];
        let facts = facts.into_iter().map(|(key, value)| KeyValue::new(key.to_owned(), value)).collect();
        let properties = WriterProperties::builder().set_key_value_metadata(Some(facts)).build();
        let open = || {
            let schema = Arc::new(parse_message_type(SCHEMA).map_err(into_io)?);
            SerializedFileWriter::new(Sink::open(path)?, schema, Arc::new(properties)).map_err(into_io)
        };
        let writer = open().map_err(|source| FileError { path: path.into(), source })?;
        let nodes = scenario.node_names().map(|name| ByteArray::from(name.into_bytes())).collect();
        let stations = scenario.stations.len();
        Ok(TraceFile { path: path.into(), writer, nodes, stations, trace: Trace::new(Instant::ZERO, usize::MAX) })
    }

    /// Takes the next frame on the air.
    ///
    /// # Errors
    /// When the disk is full, and the like.
    pub(crate) fn see<P: Traced>(&mut self, frame: &AirFrame<P>) -> Result<(), FileError> {
        self.trace.see(frame);
        if self.trace.ppdus.len() <= GROUP {
            return Ok(());
        }
        let complete: Vec<Ppdu> = self.trace.drain_complete().collect();
        self.write(&complete)
    }

    /// Completes the table and gives it its name, in place of an older file.
    ///
    /// # Errors
    /// When the disk is full, and the like; nothing is left then.
    pub(crate) fn finish(mut self) -> Result<(), FileError> {
        let rest = mem::take(&mut self.trace.ppdus);
        self.write(&rest)?;
        let written = self.writer.into_inner().map_err(into_io);
        written.and_then(Sink::finish).map_err(|source| FileError { path: self.path, source })
    }

    fn write(&mut self, rows: &[Ppdu]) -> Result<(), FileError> {
        if rows.is_empty() {
            return Ok(());
        }
        let nodes = &self.nodes;
        let name =
            |node: NodeId| nodes.get(node.position(self.stations)).cloned().unwrap_or_else(|| ByteArray::from(""));
        let mut write = || {
            let mut rows_of = self.writer.next_row_group()?;
            let group = &mut rows_of;
            column::<DoubleType>(group, rows, |row| row.at.as_secs_f64())?;
            column::<DoubleType>(group, rows, |row| row.duration.as_secs_f64())?;
            column::<ByteArrayType>(group, rows, |row| name(row.transmitter))?;
            column::<ByteArrayType>(group, rows, |row| name(row.receiver))?;
            column::<ByteArrayType>(group, rows, |row| ByteArray::from(row.kind.name()))?;
            column::<Int64Type>(group, rows, |row| row.rate.as_bps() as i64)?;
            column::<Int32Type>(group, rows, |row| i32::from(row.mpdus))?;
            column::<Int32Type>(group, rows, |row| i32::from(row.lost))?;
            column::<Int32Type>(group, rows, |row| i32::from(row.retries))?;
            column::<Int64Type>(group, rows, |row| i64::from(row.bytes))?;
            column::<BoolType>(group, rows, |row| row.collided)?;
            rows_of.close().map(drop)
        };
        write().map_err(|error| FileError { path: self.path.clone(), source: into_io(error) })
    }
}

/// The next column of a group.
fn column<T: DataType>(
    group: &mut SerializedRowGroupWriter<'_, Sink>,
    rows: &[Ppdu],
    of: impl Fn(&Ppdu) -> T::T,
) -> Result<(), ParquetError> {
    let Some(mut column) = group.next_column()? else { return Ok(()) };
    let values: Vec<T::T> = rows.iter().map(of).collect();
    column.typed::<T>().write_batch(&values, None, None)?;
    column.close()
}

fn into_io(error: ParquetError) -> io::Error {
    match error {
        ParquetError::External(inner) => match inner.downcast::<io::Error>() {
            Ok(error) => *error,
            Err(other) => io::Error::other(other),
        },
        other => io::Error::other(other),
    }
}

#[cfg(test)]
mod tests {
    use parquet::file::reader::{FileReader, SerializedFileReader};
    use parquet::record::{Row, RowAccessor};

    use super::*;

    fn scenario() -> Scenario {
        let text = r#"
            name = "trace"
            run = { duration = "3 s", warmup = "1 s", seed = 3 }
            radio = { phy = "802.11ac", mcs = 7 }
            station = [{ name = "up", flows = [{ direction = "up" }] }, { name = "down", flows = [{ direction = "down" }] }]
        "#;
        Scenario::from_toml(text, "trace.toml").expect("a scenario")
    }

    /// More rows than a group has, and each PPDU once, as [`Trace`] has them.
    #[test]
    fn a_table_has_every_ppdu() {
        let scenario = scenario();
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("air.parquet");
        let mut file = TraceFile::create(&path, &scenario).expect("a file");
        let mut trace = Trace::new(Instant::ZERO, usize::MAX);
        for _ in 0..24 {
            fairair_sim::run_monitored(
                &scenario,
                0,
                Some(&mut |frame| {
                    trace.see(frame);
                    file.see(frame).expect("written");
                }),
            );
        }
        assert!(!path.exists(), "whole or not at all");
        file.finish().expect("written");
        let reader = SerializedFileReader::new(std::fs::File::open(&path).expect("a file")).expect("a table");
        assert!(reader.num_row_groups() > 1 && trace.ppdus.len() > GROUP, "{}", trace.ppdus.len());
        let rows: Vec<Row> = reader.get_row_iter(None).expect("rows").map(|row| row.expect("a row")).collect();
        assert_eq!(rows.len(), trace.ppdus.len());
        let names = ["AP", "up", "down"];
        for (row, ppdu) in rows.iter().zip(&trace.ppdus) {
            let is_same = row.get_double(0).unwrap().to_bits() == ppdu.at.as_secs_f64().to_bits()
                && row.get_double(1).unwrap().to_bits() == ppdu.duration.as_secs_f64().to_bits()
                && row.get_string(2).unwrap() == names[ppdu.transmitter.0 as usize]
                && row.get_string(3).unwrap() == names[ppdu.receiver.0 as usize]
                && row.get_string(4).unwrap() == ppdu.kind.name()
                && row.get_long(5).unwrap() == ppdu.rate.as_bps() as i64
                && row.get_int(6).unwrap() == i32::from(ppdu.mpdus)
                && row.get_int(7).unwrap() == i32::from(ppdu.lost)
                && row.get_int(8).unwrap() == i32::from(ppdu.retries)
                && row.get_long(9).unwrap() == i64::from(ppdu.bytes)
                && row.get_bool(10).unwrap() == ppdu.collided;
            assert!(is_same, "{row} is not {ppdu:?}");
        }
    }

    #[test]
    fn a_trace_that_is_not_finished_leaves_nothing() {
        let directory = tempfile::tempdir().expect("a directory");
        drop(TraceFile::create(&directory.path().join("air.parquet"), &scenario()).expect("a file"));
        assert_eq!(std::fs::read_dir(directory.path()).expect("a directory").count(), 0);
    }
}
