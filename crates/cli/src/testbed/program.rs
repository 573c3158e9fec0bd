//! The program itself, and what it says when a testbed fails.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use fairair_linux::emulate::TestbedError;
use fairair_linux::is_root;

use crate::error::CliError;

/// The error with what to do about it.
pub(super) fn explained(error: &TestbedError) -> CliError {
    let help = match error {
        TestbedError::Cannot { fix, .. } => {
            return CliError::Usage { what: error.to_string(), help: fix.clone() };
        }
        _ if !is_root() => "run it as root: sudo fairair testbed ...",
        _ => "`fairair testbed doctor` looks for what is missing",
    };
    CliError::Testbed { what: error.to_string(), help: help.to_owned() }
}

/// The program that this process was started as.
pub(super) fn own_program() -> std::io::Result<PathBuf> {
    let file = std::env::current_exe()?;
    Ok(started_as(std::env::args_os().next().as_deref(), &file))
}

/// The path `first`, the first word of the command line, where it leads to the program's `file`; else `file`.
///
/// The interpreter of a Python virtual environment is a link to the base interpreter, and finds its packages by the
/// link's place: the file alone would start the base interpreter, which does not have the package.
fn started_as(first: Option<&OsStr>, file: &Path) -> PathBuf {
    let same = |path: &PathBuf| path.canonicalize().ok().is_some_and(|real| Some(real) == file.canonicalize().ok());
    // A bare word was looked up in PATH, and is no path.
    let path = first.map(Path::new).filter(|path| path.components().count() > 1);
    path.and_then(|path| std::path::absolute(path).ok()).filter(same).unwrap_or_else(|| file.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_link_to_the_interpreter_is_started_again_as_the_link() {
        let place = tempfile::tempdir().unwrap();
        let (base, link) = (place.path().join("python3"), place.path().join("python"));
        std::fs::write(&base, "").unwrap();
        std::os::unix::fs::symlink(&base, &link).unwrap();
        assert_eq!(started_as(Some(link.as_os_str()), &base), link);
        assert_eq!(started_as(Some(OsStr::new("python")), &base), base, "a word from PATH");
        assert_eq!(started_as(Some(OsStr::new("/bin/sh")), &base), base, "another program");
        assert_eq!(started_as(None, &base), base);
    }
}
