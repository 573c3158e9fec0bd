//! A capture on disk: there as a whole or not at all.

use std::io::{self, BufWriter};
use std::path::{Path, PathBuf};

use fairair_core::mac::AirFrame;
use fairair_core::packet::Direction;
use fairair_core::scenario::Radio;

use super::{Captured, Writer};
use crate::sink::{FileError, Sink};

/// A pcap file that appears under its name with [`PcapFile::finish`]; dropped before, it leaves nothing behind and an
/// older file of that name as it was.
///
/// A pipe or device is written as the frames come: there is nothing to replace, and Wireshark can watch. `-` is standard
/// output.
#[derive(Debug)]
pub struct PcapFile {
    /// As the user named it, for errors.
    path: PathBuf,
    writer: Writer<BufWriter<Sink>>,
}

impl PcapFile {
    /// Opens a capture that is to become `path`; `radio` and `flows` are as for [`Writer::new`].
    ///
    /// # Errors
    /// When the directory is missing or cannot be written to, or `path` is a directory.
    pub fn create(
        path: impl AsRef<Path>,
        radio: &Radio,
        flows: impl IntoIterator<Item = Direction>,
    ) -> Result<Self, FileError> {
        let path = path.as_ref();
        let writer = Sink::open(path).and_then(|sink| Writer::new(BufWriter::new(sink), radio, flows));
        let writer = writer.map_err(|source| FileError { path: path.into(), source })?;
        Ok(PcapFile { path: path.into(), writer })
    }

    /// Appends a frame.
    ///
    /// # Errors
    /// When the disk is full, and the like.
    pub fn write<P: Captured>(&mut self, frame: &AirFrame<P>) -> Result<(), FileError> {
        self.writer.write(frame).map_err(|source| FileError { path: self.path.clone(), source })
    }

    /// Completes the file and gives it its name, in place of an older file.
    ///
    /// # Errors
    /// When the disk is full, and the like; nothing is left then.
    pub fn finish(self) -> Result<(), FileError> {
        let written = self.writer.into_inner().into_inner().map_err(io::IntoInnerError::into_error);
        written.and_then(Sink::finish).map_err(|source| FileError { path: self.path, source })
    }
}
