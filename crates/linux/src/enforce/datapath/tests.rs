//! The engine, in a namespace of its own.

use std::collections::BTreeMap;
use std::path::Path;

use fairair_core::units::Bitrate;

use super::*;
use crate::enforce::config::Config;
use crate::enforce::site::Site;
use crate::enforce::testing::{in_namespace, ip};

const TWO: &str = r#"
name = "x"
uplink = "wan"
[[station]]
name = "s"
addresses = ["10.1.0.2"]
[[ap]]
name = "a"
interface = "lan"
prefixes = ["10.1.0.0/24"]
capacity = "8 Mbit/s"
[[ap]]
name = "b"
interface = "lan"
prefixes = ["10.1.1.0/24"]
capacity = "4 Mbit/s"
"#;

fn layout(text: &str) -> Layout {
    Site::new(Config::from_toml(text, "test").unwrap()).unwrap().layout(1500)
}

/// A class without a cap whose burst is shorter than a packet waits for the kernel's timer after each.
#[test]
fn a_class_without_a_cap_never_waits_for_its_ceiling() {
    let preview = Preview::new(None, &layout(TWO)).whole_tc;
    let leaves: Vec<&str> = preview.lines().filter(|line| line.contains("ceil 40000000000bit")).collect();
    let burst = |line: &&str| line.split("cburst ").nth(1)?.split(' ').next()?.parse::<u64>().ok();
    assert!(!leaves.is_empty(), "{preview}");
    assert!(leaves.iter().all(|line| burst(line).is_some_and(|bytes| bytes > 65_536)), "{leaves:?}");
}

/// Names of APs and stations are no part of any command, so no tool can misread them.
#[test]
fn names_are_in_no_command() {
    let preview = |text: &str| Preview::new(None, &layout(text));
    let odd =
        TWO.replace("name = \"a\"", "name = \"a } ; # $(id)\"").replace("name = \"s\"", "name = \"s } ; 'x' & {\"");
    assert_ne!(odd, TWO);
    assert_eq!(preview(&odd), preview(TWO));
}

/// An engine that shapes [`TWO`]; its state is in `directory`.
fn started(directory: &Path) -> Engine {
    ip("link add wan type ifb\nlink add lan type ifb\nlink set wan up\nlink set lan up\n");
    Engine::start(layout(TWO), Path::new("vsb.toml"), directory).unwrap()
}

/// What a look of the daemon mends.
fn mended(engine: &mut Engine) -> Vec<String> {
    let mut counters = BTreeMap::new();
    engine.read(&mut counters).unwrap();
    let health = engine.repair(&links().unwrap(), &counters).unwrap();
    assert_eq!(health.troubles, Vec::<String>::new());
    health.mended
}

/// A trial ends while the classes are gone: they come back with C, not with the rate of the trial.
#[test]
fn what_is_made_anew_has_the_rate_that_was_refused() {
    in_namespace(|| {
        let directory = tempfile::tempdir().unwrap();
        let mut engine = started(directory.path());
        engine.set_capacity(0, Bitrate::mbps(6)).unwrap();
        tools::clear_ifb(IFB).unwrap();
        assert!(engine.set_capacity(0, Bitrate::mbps(8)).is_err());
        assert_eq!(mended(&mut engine), ["the classes of fairair0 were gone: made anew"]);
        let mut counters = BTreeMap::new();
        engine.read(&mut counters).unwrap();
        assert_eq!(counters[&pool_minor(0)].parameters.rate, 1_000_000);
        engine.stop().unwrap();
    });
}

/// A renamed interface passes what nobody counts; of one that is gone nothing passes.
#[test]
fn the_name_of_what_passes_uncounted_is_told() {
    in_namespace(|| {
        let directory = tempfile::tempdir().unwrap();
        let mut engine = started(directory.path());
        ip("link set lan name other\n");
        let health = engine.repair(&links().unwrap(), &BTreeMap::new()).unwrap();
        assert_eq!((health.uncounted, health.troubles.len()), (vec!["lan".to_owned()], 1));
        ip("link del other\n");
        let health = engine.repair(&links().unwrap(), &BTreeMap::new()).unwrap();
        assert_eq!((health.uncounted, health.troubles.len()), (Vec::new(), 1));
        engine.stop().unwrap();
    });
}

/// An AP that is back before its classes have gone.
#[test]
fn classes_that_are_named_again_no_longer_go() {
    in_namespace(|| {
        let directory = tempfile::tempdir().unwrap();
        let mut engine = started(directory.path());
        engine.change(layout(TWO.rsplit_once("[[ap]]").unwrap().0)).unwrap();
        engine.change(layout(TWO)).unwrap();
        let mut counters = BTreeMap::new();
        engine.read(&mut counters).unwrap();
        assert_eq!(engine.sweep(&counters).unwrap(), Vec::<u16>::new());
        assert_eq!(mended(&mut engine), Vec::<String>::new(), "all are there");
        engine.stop().unwrap();
    });
}

/// Others flush a set, or all, after our own transaction and before the generation is read.
#[test]
fn what_others_took_while_rules_were_written_is_found_at_the_next_look() {
    in_namespace(|| {
        let directory = tempfile::tempdir().unwrap();
        let mut engine = started(directory.path());
        assert_eq!(mended(&mut engine), Vec::<String>::new());
        for deed in ["flush map inet fairair class4\n", "flush ruleset\n"] {
            tools::nft(deed).unwrap();
            engine.note_rules().unwrap();
            assert_eq!(mended(&mut engine), ["the nftables table was changed by others: made anew"], "{deed}");
            assert_eq!(mended(&mut engine), Vec::<String>::new());
        }
        engine.stop().unwrap();
    });
}
