//! A planning problem: a scenario file whose comments say what to plan for.

use std::path::{Path, PathBuf};

use fairair_core::remedy::Deploy;
use fairair_core::scenario::Scenario;
use fairair_sim::plan::{Goal, Requirements};

/// A file of `problems`.
pub(crate) struct Problem {
    pub(crate) path: PathBuf,
    pub(crate) name: String,
    text: String,
    /// Options of `fairair plan`, from the comment `# plan: ..`.
    pub(crate) options: Vec<String>,
    /// Why nothing can meet it, from the comment `# unmeetable: ..`.
    pub(crate) unmeetable: Option<String>,
    /// Least goodput of what is recommended, from the comment `# at-least: ..` in Mbit/s; 0 without.
    pub(crate) at_least_bps: f64,
    pub(crate) scenario: Scenario,
}

/// All of them, by name.
pub(crate) fn all() -> Vec<Problem> {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/plan/problems");
    let mut paths: Vec<PathBuf> = std::fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    paths.into_iter().map(Problem::read).collect()
}

impl Problem {
    fn read(path: PathBuf) -> Self {
        let text = std::fs::read_to_string(&path).unwrap();
        let comment = |key: &str| text.lines().find_map(|line| line.strip_prefix(key)).map(str::trim);
        let options = comment("# plan:").unwrap_or_else(|| panic!("{} has no goal", path.display()));
        Problem {
            name: path.file_stem().unwrap().to_string_lossy().into_owned(),
            options: options.split_whitespace().map(str::to_owned).collect(),
            at_least_bps: comment("# at-least:").map_or(0.0, |mbps| mbps.parse::<f64>().unwrap() * 1e6),
            unmeetable: comment("# unmeetable:").map(str::to_owned),
            scenario: Scenario::from_toml(&text, &path.to_string_lossy()).unwrap(),
            path,
            text,
        }
    }

    /// The value that follows an option, as often as it is given.
    fn values<'a>(&'a self, option: &'a str) -> impl Iterator<Item = &'a str> {
        self.options.windows(2).filter(move |pair| pair[0] == option).map(|pair| pair[1].as_str())
    }

    /// Goals, the longest delay among them.
    pub(crate) fn goals(&self) -> Vec<Goal> {
        let delay = self.values("--max-delay").map(|text| format!("delay<={text}"));
        self.values("--goal").map(str::to_owned).chain(delay).map(|text| text.parse().unwrap()).collect()
    }

    /// The requirements that the options make, with so many times the default's work.
    pub(crate) fn requirements(&self, effort: f64) -> Requirements {
        let (goals, tolerance, deploy) = (self.goals(), self.tolerance(), self.deploy());
        Requirements { goals, tolerance, floor: 0.05, deploy, today: false, effort }
    }

    /// How far a ratio may be off, as a share.
    pub(crate) fn tolerance(&self) -> f64 {
        self.values("--tolerance").next().map_or(0.1, |text| text.trim_end_matches('%').parse::<f64>().unwrap() / 100.0)
    }

    pub(crate) fn deploy(&self) -> Option<Deploy> {
        match self.values("--deploy").next() {
            None | Some("any") => None,
            Some("ap") => Some(Deploy::Ap),
            Some("box") => Some(Deploy::Box),
            Some(other) => panic!("{other} is no deployment"),
        }
    }

    /// Stations of different rates.
    pub(crate) fn multi_rate(&self) -> bool {
        let stations = &self.scenario.stations;
        stations.iter().any(|station| station.rate != stations[0].rate)
    }

    /// Some station's frames are spoilt by the channel.
    pub(crate) fn channel_errors(&self) -> bool {
        self.scenario.stations.iter().any(|station| station.frame_error.get() > 0.0 || station.bit_error_rate > 0.0)
    }

    /// The scenario with a snippet pasted into its file: tables of the snippet take the place of the file's.
    pub(crate) fn pasted(&self, snippet: &str) -> Scenario {
        let mut file: toml::Table = self.text.parse().unwrap();
        let snippet: toml::Table = snippet.parse().unwrap();
        for (name, keys) in snippet {
            if let Some(stations) = keys.as_array() {
                for station in stations {
                    weigh(&mut file, station);
                }
                continue;
            }
            // `[radio.edca]` leaves the rest of `[radio]`.
            if name != "radio" {
                file.insert(name, keys);
                continue;
            }
            let table = file.entry(name).or_insert_with(|| toml::Table::new().into());
            table.as_table_mut().unwrap().extend(keys.as_table().unwrap().clone());
        }
        Scenario::from_toml(&toml::to_string(&file).unwrap(), "pasted.toml").unwrap()
    }
}

/// The keys of a `[[station]]` of a snippet go to the station of that name.
fn weigh(file: &mut toml::Table, changed: &toml::Value) {
    let stations = file["station"].as_array_mut().unwrap();
    let own = stations.iter_mut().find(|station| station["name"] == changed["name"]).unwrap();
    own.as_table_mut().unwrap().extend(changed.as_table().unwrap().clone());
}
