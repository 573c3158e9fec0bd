//! Writes down the files of the gallery, which the lab carries.

use std::path::Path;
use std::{env, fs, io};

fn main() -> io::Result<()> {
    let root = Path::new(&env::var("CARGO_MANIFEST_DIR").unwrap_or_default()).join("../../gallery");
    println!("cargo:rerun-if-changed={}", root.display());
    let mut files = Vec::new();
    for paper in fs::read_dir(&root)? {
        let paper = paper?.path();
        if !paper.is_dir() {
            continue;
        }
        println!("cargo:rerun-if-changed={}", paper.display());
        for file in fs::read_dir(paper)? {
            files.push(file?.path());
        }
    }
    files.retain(|file| file.extension().is_some_and(|kind| kind == "toml"));
    files.sort();
    let lines: Vec<String> = files
        .iter()
        .filter_map(|file| Some((file.strip_prefix(&root).ok()?.to_str()?.replace('\\', "/"), file.to_str()?)))
        .map(|(name, file)| format!("({name:?}, include_str!({file:?})),"))
        .collect();
    let text =
        format!("/// Paths below `gallery/` and their texts.\nconst FILES: &[(&str, &str)] = &[{}];\n", lines.concat());
    fs::write(Path::new(&env::var("OUT_DIR").unwrap_or_default()).join("gallery.rs"), text)
}
