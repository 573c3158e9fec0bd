//! Where captures and traces go: files that are there as a whole or not at all, pipes, standard output.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use tempfile::NamedTempFile;

/// The name that stands for standard output.
pub const STDOUT: &str = "-";

/// A capture or trace could not be written.
#[derive(Debug, thiserror::Error)]
#[error("cannot write {}", path.display())]
pub struct FileError {
    /// The file that the user named.
    pub path: PathBuf,
    /// The system's error.
    pub source: io::Error,
}

#[derive(Debug)]
pub(crate) enum Sink {
    /// A new file in the target's directory (a rename must not cross file systems), and the name it gets.
    Staged(NamedTempFile, PathBuf),
    Stream(File),
    Stdout(io::Stdout),
}

impl Sink {
    /// Opens what is to become `path`; `-` is standard output.
    pub(crate) fn open(path: &Path) -> io::Result<Self> {
        if path == Path::new(STDOUT) {
            return Ok(Sink::Stdout(io::stdout()));
        }
        // Known before the run, as nothing else of it is: a file does not get the name of a directory.
        let text = path.to_string_lossy();
        if !path.exists() && matches!(text.rsplit(std::path::is_separator).next(), Some("" | ".")) {
            return Err(io::Error::new(io::ErrorKind::NotFound, "there is no such directory"));
        }
        // Through a link, so that it goes on pointing to what is written.
        let target = fs::canonicalize(path).unwrap_or_else(|_| path.to_path_buf());
        match fs::metadata(&target) {
            Ok(metadata) if metadata.is_dir() => Err(io::ErrorKind::IsADirectory.into()),
            // Replacing /dev/null or a pipe by a file would harm others.
            Ok(metadata) if !metadata.is_file() => File::options().write(true).open(path).map(Sink::Stream),
            _ => {
                let directory = target.parent().filter(|parent| !parent.as_os_str().is_empty());
                let file = new_file(directory.unwrap_or(Path::new(".")))?;
                Ok(Sink::Staged(file, target))
            }
        }
    }

    /// All is written: the file gets its name, in place of an older file.
    pub(crate) fn finish(self) -> io::Result<()> {
        match self {
            Sink::Staged(file, target) => file.persist(target).map(drop).map_err(io::Error::from),
            Sink::Stream(_) => Ok(()),
            Sink::Stdout(mut stdout) => seen_enough(stdout.flush()),
        }
    }
}

/// Temporary files are their owner's only; a result is as readable as the umask says.
pub(crate) fn new_file(directory: &Path) -> io::Result<NamedTempFile> {
    let mut builder = tempfile::Builder::new();
    builder.prefix(".fairair-").suffix(".part");
    #[cfg(unix)]
    builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
    let file = builder.tempfile_in(directory)?;
    crate::interrupt::removes(file.path());
    Ok(file)
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
