//! The daemon in the box.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use fairair_linux::command::in_namespace;
use serde_json::Value;
use tempfile::TempDir;

use crate::radio::{Mode, Radio};

type Result<T> = std::result::Result<T, String>;

/// A running `fairair vsb`, and its files.
#[derive(Debug)]
pub(crate) struct Live<'a> {
    fairair: &'a Path,
    radio: &'a Radio,
    directory: TempDir,
    child: Option<Child>,
}

impl<'a> Live<'a> {
    /// Nothing runs yet.
    pub(crate) fn new(fairair: &'a Path, radio: &'a Radio) -> Result<Live<'a>> {
        let directory = tempfile::tempdir().map_err(|error| error.to_string())?;
        Ok(Live { fairair, radio, directory, child: None })
    }

    fn config(&self) -> PathBuf {
        self.directory.path().join("vsb.toml")
    }

    fn state(&self) -> PathBuf {
        self.directory.path().join("state")
    }

    /// Writes the configuration: `capacity`, further keys of the file in front of the AP's table, and tables behind it.
    pub(crate) fn configure(&self, capacity: &str, keys: &str, tables: &str) -> Result<()> {
        let mode = match self.radio.cell.mode {
            Mode::Routed => "routed",
            Mode::Bridged => "bridged",
        };
        let state = self.state();
        let text = format!(
            "name = \"radio\"\nmode = \"{mode}\"\nuplink = \"wan\"\nstate = \"{}\"\n{keys}\n[[ap]]\nname = \"ap1\"\n\
             interface = \"lan\"\ncapacity = {capacity}\n{tables}",
            state.display()
        );
        std::fs::write(self.config(), text).map_err(|error| error.to_string())
    }

    /// Starts the daemon and waits until it answers.
    pub(crate) fn start(&mut self) -> Result<()> {
        let log = File::options().create(true).append(true).open(self.directory.path().join("log"));
        let log = log.map_err(|error| error.to_string())?;
        let mut command = in_namespace(&self.radio.router.path(), &self.fairair.display().to_string())
            .map_err(|error| error.to_string())?;
        command.args(["vsb", "run"]).arg(self.config()).stdout(Stdio::null()).stderr(log);
        self.child = Some(command.spawn().map_err(|error| error.to_string())?);
        let begin = Instant::now();
        while self.status().is_err() {
            if begin.elapsed() > Duration::from_secs(20) {
                return Err(format!("the daemon does not answer: {}", self.log()));
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        Ok(())
    }

    /// As `kill -9`.
    pub(crate) fn kill(&mut self) {
        if let Some(mut child) = self.child.take() {
            let _ = child.kill();
            let _ = child.wait();
        }
    }

    /// What `fairair vsb WORDS` prints.
    pub(crate) fn vsb(&self, words: &[&str]) -> Result<String> {
        let mut command = in_namespace(&self.radio.router.path(), &self.fairair.display().to_string())
            .map_err(|error| error.to_string())?;
        let output = command.arg("vsb").args(words).arg("--state").arg(self.state()).output();
        let output = output.map_err(|error| error.to_string())?;
        if output.status.success() {
            Ok(String::from_utf8_lossy(&output.stdout).into_owned())
        } else {
            Err(String::from_utf8_lossy(&output.stderr).into_owned())
        }
    }

    /// `status --json`.
    pub(crate) fn status(&self) -> Result<Value> {
        let told = self.vsb(&["status", "--json"])?;
        let value: Value = serde_json::from_str(&told).map_err(|error| error.to_string())?;
        Ok(value["status"].clone())
    }

    /// C and state of the only pool, as `status` has them.
    pub(crate) fn pool(&self) -> String {
        let status = self.status().unwrap_or_default();
        let pool = &status["pools"][0];
        let word = |key: &str| pool[key].as_str().unwrap_or("?").to_owned();
        format!("{} {}", word("capacity"), word("state"))
    }

    /// What the daemon logged.
    pub(crate) fn log(&self) -> String {
        std::fs::read_to_string(self.directory.path().join("log")).unwrap_or_default()
    }
}

impl Drop for Live<'_> {
    fn drop(&mut self) {
        self.kill();
    }
}
