//! The scenarios of the repository, and the reference of their format.

use std::path::Path;

use super::render;
use crate::qdisc::QdiscSpec;
use crate::remedy::REMEDIES;
use crate::scenario::{Scenario, ap, edca, enforce, event, sections, station, tcp, traffic};
use crate::tcp::Variant;
use crate::units::word;

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

/// docs/scenario.md is the reference: its example must be good, and no key may be missing in it.
#[test]
fn the_reference_knows_every_key_and_its_example_is_good() {
    let page = std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/scenario.md")).unwrap();
    let example = page.split("```toml\n").nth(1).and_then(|rest| rest.split("```").next()).unwrap();
    let cafe = super::good(example);
    assert_eq!((cafe.stations.len(), cafe.flow_count()), (5, 7));
    let tables = [sections::RUN, sections::RADIO, tcp::KEYS, station::KEYS, traffic::COMMON];
    let ours = [ap::AP, edca::CATEGORY, ap::LIMITER, ap::WINDOW_CAP, enforce::ENFORCE, event::COMMON];
    for keys in tables.into_iter().chain(ours) {
        for key in keys {
            assert!(page.contains(&format!("\n| `{key}` |")), "{key} has no row");
        }
    }
    // The example error, as the reader really shows it.
    let text = "name = \"cafe\"\n\n[run]\ndurration = \"180 s\"\n";
    let report = render(&Scenario::from_toml(text, "cafe.toml").unwrap_err());
    let shown = page.split("```text\n").nth(1).and_then(|rest| rest.split("```").next()).unwrap();
    let words = |text: &str| text.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
    assert_eq!(words(&report), words(shown), "{report}");
}

/// Who copies the tutorial's cell must not begin with an error.
#[test]
fn the_cell_of_the_tutorial_is_good() {
    let page = std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/tutorial.md")).unwrap();
    let blocks = page.split("```toml\n").skip(1).filter_map(|rest| rest.split("```").next());
    let cells: Vec<&str> = blocks.filter(|block| block.contains("[radio]")).collect();
    assert!(!cells.is_empty());
    for cell in cells {
        assert!(super::good(cell).flow_count() > 0);
    }
}

/// docs/glossary.md explains each word that names a discipline, a remedy with its rule, or a congestion control.
#[test]
fn the_glossary_explains_every_name() {
    let page = std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/glossary.md")).unwrap();
    let entries = page.lines().filter_map(|line| line.strip_prefix("- **")?.split("**").next());
    let plain = |word: &str| word.split(" (").next().unwrap_or_default().to_lowercase().replace(' ', "-");
    let terms: Vec<String> = entries.flat_map(|entry| entry.split(", ").map(plain)).collect();
    let of_remedies = REMEDIES.iter().skip(1).flat_map(|remedy| remedy.name.split([':', '+']));
    let disciplines = QdiscSpec::all();
    let variants = Variant::ALL.map(|variant| word(&variant));
    let names = of_remedies.chain(disciplines.iter().map(QdiscSpec::kind)).map(str::to_owned).chain(variants);
    let missing: Vec<String> = names.filter(|name| !terms.contains(name)).collect();
    assert!(missing.is_empty(), "docs/glossary.md lacks {missing:?}");
}
