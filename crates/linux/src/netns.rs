//! Network namespaces by name, as `ip netns` keeps them.

use std::fs::{self, File};
use std::io;
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};
use std::thread::JoinHandle;

use nix::sched::{CloneFlags, setns};

use crate::command::{CommandError, ip_batch};

/// Where `ip netns` keeps its names.
const NAMES: &str = "/run/netns";

/// A network namespace. Dropping it deletes the name; the kernel drops the namespace with its last process.
#[derive(Debug)]
pub struct Namespace {
    name: String,
}

impl Namespace {
    /// Creates all of `names`.
    ///
    /// # Errors
    /// When `ip` is missing or refuses, such as without privilege; none of the names is left behind.
    pub fn create_all(names: impl IntoIterator<Item = String>) -> Result<Vec<Namespace>, CommandError> {
        let namespaces: Vec<Namespace> = names.into_iter().map(|name| Namespace { name }).collect();
        let lines: Vec<String> = namespaces.iter().map(|namespace| format!("netns add {}\n", namespace.name)).collect();
        ip_batch(None, &lines.concat())?;
        Ok(namespaces)
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Where its name stands in the file system.
    pub fn path(&self) -> PathBuf {
        path_of(&self.name)
    }

    /// Does lines of `ip -batch` in it.
    ///
    /// # Errors
    /// What `ip` says to the first line that fails.
    pub fn ip(&self, lines: &str) -> Result<(), CommandError> {
        ip_batch(Some(&self.name), lines)
    }

    /// Runs `act` on a thread inside the namespace. Sockets and devices that it opens belong to the namespace for good.
    ///
    /// # Errors
    /// When the namespace cannot be entered, and what `act` says.
    pub fn enter<T: Send>(&self, act: impl FnOnce() -> io::Result<T> + Send) -> io::Result<T> {
        let file = File::open(self.path())?;
        let inside = move || {
            setns(file.as_fd(), CloneFlags::CLONE_NEWNET)?;
            act()
        };
        std::thread::scope(|scope| scope.spawn(inside).join())
            .unwrap_or_else(|_| Err(io::Error::other("a thread died")))
    }

    /// A thread inside the namespace, which does `act`.
    ///
    /// # Errors
    /// When the namespace is gone.
    pub fn spawn<T: Send + 'static>(
        &self,
        act: impl FnOnce() -> io::Result<T> + Send + 'static,
    ) -> io::Result<JoinHandle<io::Result<T>>> {
        let file = File::open(self.path())?;
        Ok(std::thread::spawn(move || {
            setns(file.as_fd(), CloneFlags::CLONE_NEWNET)?;
            act()
        }))
    }

    /// Writes kernel parameters, `(path below /proc/sys, value)`.
    ///
    /// # Errors
    /// Names the parameter that could not be written.
    pub fn sysctl(&self, parameters: &[(impl AsRef<Path> + Sync, impl AsRef<str> + Sync)]) -> io::Result<()> {
        self.enter(|| {
            for (key, value) in parameters {
                let (path, value) = (Path::new("/proc/sys").join(key), value.as_ref());
                fs::write(&path, value)
                    .map_err(|error| io::Error::new(error.kind(), format!("{} = {value}: {error}", path.display())))?;
            }
            Ok(())
        })
    }
}

impl Drop for Namespace {
    fn drop(&mut self) {
        // Nobody to tell; `clean` looks again.
        let _ = delete(&self.name);
    }
}

/// Deletes a name.
///
/// # Errors
/// When there is none, or without privilege.
pub fn delete(name: &str) -> Result<(), CommandError> {
    ip_batch(None, &format!("netns delete {name}\n"))
}

/// Where a namespace's name stands in the file system.
pub fn path_of(name: &str) -> PathBuf {
    Path::new(NAMES).join(name)
}

/// All names that begin with `prefix`.
pub fn names(prefix: &str) -> Vec<String> {
    let entries = fs::read_dir(NAMES).into_iter().flatten().flatten();
    let names = entries.filter_map(|entry| entry.file_name().into_string().ok());
    let mut names: Vec<String> = names.filter(|name| name.starts_with(prefix)).collect();
    names.sort();
    names
}
