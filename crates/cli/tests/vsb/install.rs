//! What `make install-vsb` puts where, and that the daemon needs no more than the unit gives it.

use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::bench::{Bench, needs_root, needs_tool};
use crate::operator::{ONE, datapath, reaches, stop};

const FAIRAIR: &str = env!("CARGO_BIN_EXE_fairair");

#[track_caller]
fn ok(command: &mut Command) -> String {
    let output = command.output().expect("started");
    let told = format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{command:?}: {told}");
    told
}

#[test]
fn files_are_where_they_belong_and_systemd_accepts_the_unit() {
    let destination = tempfile::tempdir().unwrap();
    let root = destination.path();
    let above = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    ok(Command::new("make")
        .arg("-C")
        .arg(above)
        .args(["install-vsb-files", &format!("BINARY={FAIRAIR}")])
        .env("DESTDIR", root));
    let unit = root.join("etc/systemd/system/fairair-vsb.service");
    for (path, mode) in [
        (root.join("usr/local/bin/fairair"), 0o755),
        (unit.clone(), 0o644),
        (root.join("usr/local/share/man/man1/fairair-vsb.1"), 0o644),
        (root.join("usr/local/share/man/man1/fairair-vsb-run.1"), 0o644),
    ] {
        let data = std::fs::metadata(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        assert_eq!(data.permissions().mode() & 0o7777, mode, "{}", path.display());
    }
    manuals_are_what_the_unit_and_the_pages_name(root, &std::fs::read_to_string(&unit).unwrap());
    if Command::new("systemd-analyze").arg("--version").output().is_err() {
        eprintln!("*** SKIPPED (needs systemd-analyze): whether systemd accepts the unit ***");
        return;
    }
    // It looks for the command where the unit says; here that is below the destination.
    let text = std::fs::read_to_string(&unit).unwrap();
    std::fs::write(&unit, text.replace("/usr/local/bin", root.join("usr/local/bin").to_str().unwrap())).unwrap();
    let drop_in = root.join("etc/systemd/system/fairair-vsb.service.d/batch.conf");
    std::fs::create_dir(drop_in.parent().unwrap()).unwrap();
    std::fs::write(&drop_in, crate::batches::drop_in()).unwrap();
    let told = ok(Command::new("systemd-analyze").args(["verify", "--man=no"]).arg(&unit));
    assert!(!told.contains("fairair-vsb.service:") && !told.contains("batch.conf"), "{told}");
    let told = ok(Command::new("systemd-analyze")
        .args(["security", "--offline=yes", "--threshold=25"])
        .arg(format!("--root={}", root.display()))
        .arg("fairair-vsb.service"));
    println!("{}", told.lines().last().unwrap_or_default());
}

/// Each page that the unit's `Documentation=` or another page names is installed, nothing else is, and `man` shows it.
#[track_caller]
fn manuals_are_what_the_unit_and_the_pages_name(root: &Path, unit: &str) {
    let manuals = root.join("usr/local/share/man");
    let page = |name: &str, section: &str| manuals.join(format!("man{section}/{name}.{section}"));
    let documentation = unit.lines().filter_map(|line| line.strip_prefix("Documentation="));
    let named = documentation.flat_map(str::split_whitespace).filter_map(|uri| uri.strip_prefix("man:"));
    let named: Vec<_> = named.filter_map(|name| name.strip_suffix(')')?.split_once('(')).collect();
    assert_eq!(named, [("fairair-vsb", "1")]);
    // A page names the pages of its own commands, which may have commands in turn.
    let mut commands = vec!["fairair-vsb".to_owned()];
    let mut pages = Vec::new();
    while let Some(name) = commands.pop() {
        let text = std::fs::read_to_string(page(&name, "1")).expect("a page that the unit or another page names");
        let of_commands = text.lines().filter_map(|line| line.strip_suffix("(1)")).map(|name| name.replace('\\', ""));
        commands.extend(of_commands.filter(|command| command.starts_with(&format!("{name}-"))));
        pages.push(page(&name, "1"));
    }
    pages.sort();
    let there = std::fs::read_dir(manuals.join("man1")).expect("a directory");
    let mut there: Vec<_> = there.map(|entry| entry.expect("an entry").path()).collect();
    there.sort();
    assert!(there == pages && pages.len() > 9, "{there:?} are installed, {pages:?} are named");
    if Command::new("man").arg("--version").output().is_err() {
        eprintln!("*** SKIPPED (needs man): whether man shows the pages ***");
        return;
    }
    let run = page("fairair-vsb-run", "1");
    let shown =
        ok(Command::new("man").args(["--warnings", "-l"]).arg(run).env("MANPAGER", "cat").env("MANWIDTH", "100"));
    assert!(shown.contains("CAP_NET_ADMIN") && !shown.contains("warning"), "{shown}");
}

/// Begins a command of a user without any right but two capabilities, who can get no more.
pub(crate) const TWO_CAPABILITIES: &[&str] = &[
    "setpriv",
    "--reuid=65534",
    "--regid=65534",
    "--clear-groups",
    "--inh-caps=-all,+net_admin,+net_raw",
    "--ambient-caps=-all,+net_admin,+net_raw",
    "--bounding-set=-all,+net_admin,+net_raw",
    "--no-new-privs",
];

/// The command, and a state directory, for that user.
pub(crate) fn for_nobody(bench: &Bench) -> PathBuf {
    std::fs::create_dir(&bench.state).unwrap();
    std::os::unix::fs::chown(&bench.state, Some(65_534), Some(65_534)).unwrap();
    bench.binary_for_all()
}

/// The unit's daemon runs and stops the box.
#[test]
fn two_capabilities_are_enough() {
    needs_root!();
    needs_tool!("setpriv");
    let mut bench = Bench::light(1);
    let before = bench.dump();
    let binary = for_nobody(&bench);
    bench.configure(ONE);
    bench.start_as(&binary, TWO_CAPABILITIES, &[]);
    let id = bench.daemon().id();
    let status = std::fs::read_to_string(format!("/proc/{id}/status")).unwrap();
    let line = |name: &str| status.lines().find(|line| line.starts_with(name)).unwrap_or_default().to_owned();
    // Bits 12 and 13.
    for set in ["CapEff", "CapPrm", "CapBnd"] {
        assert!(line(set).ends_with("0000000000003000"), "{}", line(set));
    }
    assert!(line("Uid:").contains("65534\t65534") && line("NoNewPrivs").ends_with('1'), "{status}");
    assert!(datapath(&bench).contains("10.1.0.2") && reaches(&bench));
    stop(&bench);
    assert_eq!(bench.dump(), before);
}

/// The unit allows the families of sockets that the daemon and its tools open, and no others.
#[test]
fn the_unit_allows_the_sockets_that_the_daemon_opens() {
    needs_root!();
    needs_tool!("strace");
    let mut bench = Bench::light(1);
    bench.configure(ONE);
    let calls = bench.directory.path().join("calls");
    let calls = calls.to_str().expect("text");
    bench.start_by(&["strace", "-f", "-qq", "-e", "trace=socket", "-e", "signal=none", "-o", calls], &[]);
    stop(&bench);
    let _ = bench.daemon().wait();
    let called = std::fs::read_to_string(calls).expect("calls");
    let opened = called.lines().filter_map(|line| line.split("socket(").nth(1)?.split(',').next());
    let opened: std::collections::BTreeSet<_> = opened.collect();
    let unit = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../packaging/fairair-vsb.service"));
    let unit = unit.expect("the unit");
    let allowed = unit.lines().find_map(|line| line.strip_prefix("RestrictAddressFamilies=")).expect("a list");
    assert_eq!(allowed.split(' ').collect::<std::collections::BTreeSet<_>>(), opened);
}
