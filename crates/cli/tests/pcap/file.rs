//! Captures on disk.

use std::fs;
use std::path::Path;

use fairair::pcap::PcapFile;
use fairair_core::mac::Phy;

use crate::air::{FLOWS, conversation, radio};

fn names_in(directory: &Path) -> Vec<String> {
    let name = |entry: std::io::Result<fs::DirEntry>| entry.unwrap().file_name().into_string().unwrap();
    fs::read_dir(directory).unwrap().map(name).collect()
}

#[test]
fn a_file_is_there_as_a_whole_or_not_at_all() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("air.pcap");
    let air = conversation(Phy::B);

    let mut given_up = PcapFile::create(&path, &air.radio, FLOWS).unwrap();
    given_up.write(&air.frames[0]).unwrap();
    drop(given_up);
    assert!(names_in(directory.path()).is_empty());

    fs::write(&path, "older").unwrap();
    let mut file = PcapFile::create(&path, &air.radio, FLOWS).unwrap();
    for frame in &air.frames {
        file.write(frame).unwrap();
    }
    assert_eq!(fs::read(&path).unwrap(), b"older");
    file.finish().unwrap();
    assert_eq!(fs::read(&path).unwrap(), air.write());
    assert_eq!(names_in(directory.path()), ["air.pcap"]);
}

#[test]
fn errors_name_the_file() {
    let directory = tempfile::tempdir().unwrap();
    for path in [directory.path().join("missing/air.pcap"), directory.path().to_path_buf()] {
        let error = PcapFile::create(&path, &radio(Phy::B), FLOWS).unwrap_err();
        assert_eq!(error.to_string(), format!("cannot write {}", path.display()));
    }
}

#[cfg(unix)]
#[test]
fn links_devices_and_permissions_stay() {
    use std::os::unix::fs::{FileTypeExt, PermissionsExt, symlink};

    let directory = tempfile::tempdir().unwrap();
    let [target, link, plain] = ["target", "link", "plain"].map(|name| directory.path().join(name));
    fs::write(&target, "").unwrap();
    symlink(&target, &link).unwrap();
    PcapFile::create(&link, &radio(Phy::B), FLOWS).unwrap().finish().unwrap();
    assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
    assert_eq!(fs::metadata(&target).unwrap().len(), 24);

    // As readable as any other new file.
    fs::write(&plain, "").unwrap();
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode();
    assert_eq!(mode(&target), mode(&plain));

    PcapFile::create("/dev/null", &radio(Phy::B), FLOWS).unwrap().finish().unwrap();
    assert!(fs::metadata("/dev/null").unwrap().file_type().is_char_device());
}

/// SIGINT twice ends a run at once, and nothing half-written stays.
#[test]
#[cfg(unix)]
fn a_run_that_is_interrupted_twice_leaves_nothing() {
    use std::process::{Command, Stdio};
    let directory = tempfile::tempdir().unwrap();
    let at = |name: &str| directory.path().join(name);
    let flows = "flows = [{ direction = \"down\" }]";
    fs::write(
        at("cell.toml"),
        format!("name = \"long\"\n[run]\nduration = \"100000 s\"\n[[station]]\nname = \"a\"\n{flows}\n"),
    )
    .unwrap();
    let mut run = Command::new(env!("CARGO_BIN_EXE_fairair"));
    let run = run.arg("run").arg(at("cell.toml")).arg("--out").arg(at("new/deep")).arg("--pcap").arg(at("x.pcap"));
    let mut child = run.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    std::thread::sleep(std::time::Duration::from_millis(500));
    assert_eq!(names_in(directory.path()).len(), 3, "it has begun");
    for _ in 0..2 {
        assert!(Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap().success());
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    assert_eq!(child.wait().unwrap().code(), Some(130));
    assert_eq!(names_in(directory.path()), ["cell.toml"]);
}
