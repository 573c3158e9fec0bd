//! The scenarios of the repository, and the reference of their format.

use std::path::Path;

use super::render;
use crate::scenario::Scenario;

#[test]
fn all_scenarios_of_the_repository_are_good() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios");
    let mut files: Vec<_> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "toml"))
        .collect();
    files.sort();
    assert!(files.len() >= 11, "{files:?}");
    for path in files {
        let scenario = Scenario::load(&path).unwrap_or_else(|error| panic!("{}", render(&error)));
        // One name for the file, its results and its figures.
        assert_eq!(Some(scenario.name.as_str()), path.file_stem().and_then(|stem| stem.to_str()));
        assert!(scenario.flow_count() > 0);
    }
}
