//! A capture on disk: there as a whole or not at all.

use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use fairair_core::mac::AirFrame;
use fairair_core::packet::Direction;
use fairair_core::scenario::Radio;
use tempfile::NamedTempFile;

use super::{Captured, Writer};

/// The name that stands for standard output.
pub const STDOUT: &str = "-";

/// A capture could not be written.
#[derive(Debug, thiserror::Error)]
#[error("cannot write {}", path.display())]
pub struct FileError {
    /// The file that the user named.
    pub path: PathBuf,
    /// The system's error.
    pub source: io::Error,
}

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

#[derive(Debug)]
enum Sink {
    /// A new file in the target's directory (a rename must not cross file systems), and the name it gets.
    Staged(NamedTempFile, PathBuf),
    Stream(File),
    Stdout(io::Stdout),
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
        let finish = || match self.writer.into_inner().into_inner().map_err(io::IntoInnerError::into_error)? {
            Sink::Staged(file, target) => file.persist(target).map(drop).map_err(io::Error::from),
            Sink::Stream(_) => Ok(()),
            Sink::Stdout(mut stdout) => seen_enough(stdout.flush()),
        };
        finish().map_err(|source| FileError { path: self.path, source })
    }
}

impl Sink {
    fn open(path: &Path) -> io::Result<Self> {
        if path == Path::new(STDOUT) {
            return Ok(Sink::Stdout(io::stdout()));
        }
        // Through a link, so that it goes on pointing to what is written.
        let target = fs::canonicalize(path).unwrap_or_else(|_| path.to_path_buf());
        match fs::metadata(&target) {
            Ok(metadata) if metadata.is_dir() => Err(io::ErrorKind::IsADirectory.into()),
            // Replacing /dev/null or a pipe by a file would harm others.
            Ok(metadata) if !metadata.is_file() => File::options().write(true).open(path).map(Sink::Stream),
            _ => {
                let directory = target.parent().filter(|parent| !parent.as_os_str().is_empty());
                let file = new_file().tempfile_in(directory.unwrap_or(Path::new(".")))?;
                Ok(Sink::Staged(file, target))
            }
        }
    }
}

/// Temporary files are their owner's only; a result is as readable as the umask says.
fn new_file() -> tempfile::Builder<'static, 'static> {
    let mut builder = tempfile::Builder::new();
    builder.prefix(".fairair-").suffix(".pcap");
    #[cfg(unix)]
    builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
    builder
}

impl Write for Sink {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Sink::Staged(file, _) => file.write(bytes),
            Sink::Stream(file) => file.write(bytes),
            // A reader that has seen enough (`--pcap - | head`) is no error.
            Sink::Stdout(stdout) => match stdout.write(bytes) {
                Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(bytes.len()),
                written => written,
            },
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Sink::Staged(file, _) => file.flush(),
            Sink::Stream(file) => file.flush(),
            Sink::Stdout(stdout) => seen_enough(stdout.flush()),
        }
    }
}

/// The reader of standard output may be gone.
fn seen_enough(flushed: io::Result<()>) -> io::Result<()> {
    flushed.or_else(|error| if error.kind() == io::ErrorKind::BrokenPipe { Ok(()) } else { Err(error) })
}
