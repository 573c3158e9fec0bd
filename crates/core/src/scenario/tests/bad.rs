//! Mistakes of form: syntax, keys, types, tables.

use std::path::Path;

use super::{bad, refuses, render};
use crate::scenario::{Scenario, ScenarioError};

#[test]
fn unknown_keys_name_their_table_and_the_nearest_key() {
    for (text, problem, fix) in [
        ("$N[run]\n~durration = \"60 s\"\n$S", "unknown key `durration` in [run]", "did you mean `duration`?"),
        ("$N$R~warm_up = \"1 s\"\n$S", "unknown key `warm_up` in [run]", "`warmup`"),
        ("$N$R[~raido]\n$S", "unknown key `raido` in the file", "`radio`"),
        ("$N$R[radio]\n~zzz = 1\n$S", "unknown key `zzz` in [radio]", "valid keys: phy, rate, basic_rate"),
        ("$N$R[tcp]\n~windows = 1\n$S", "unknown key `windows` in [tcp]", "did you mean `window`?"),
        ("$N$R[ap]\nqueue = { kind = \"droptail\", ~limt = 3 }\n$S", "`limt` in the AP's queue", "`limit`"),
        ("$N$R$S~bta = 1.2\n", "`bta` in [[station]]", "`beta`"),
        ("$N$R$Sflows = [{ direction = \"up\", ~cuont = 2 }]\n", "`cuont` in a flow", "`count`"),
        ("$N$R$Sflows = [{ direction = \"up\", tcp = { ~mms = \"1 B\" } }]\n", "`mms` in the flow's tcp", "`mss`"),
        ("$N$R$Sflows = [{ direction = \"up\", wire = { ~dealy = \"1 s\" } }]\n", "in the flow's wire", "`delay`"),
        (
            "$N$R$S[[station.flows]]\ndirection = \"up\"\n~window = 3\n",
            "`window` in a flow",
            "belongs in [tcp], or in tcp = { .. } of a flow",
        ),
        ("$N$R$S~\"a\\u0000b\" = 1\n", "unknown key `a\\0b`", "valid keys"),
    ] {
        refuses(text, problem, fix);
    }
}

#[test]
fn keys_of_another_kind_are_told_from_unknown_ones() {
    for (text, problem, fix) in [
        ("~size = \"1 kB\"", "`size` in a flow has no meaning with kind = \"tcp\"", "write kind = \"files\""),
        ("kind = \"udp\", ~tcp = { window = 3 }", "`tcp` in a flow has no meaning", "\"tcp\" or kind = \"files\""),
        (
            "kind = \"quic\", ~tcp = { variant = \"bbr\" }",
            "`tcp` in a flow has no meaning",
            "\"tcp\" or kind = \"files\"",
        ),
        ("kind = \"quic\", ~rate = \"1 Mbit/s\"", "`rate` in a flow has no meaning", "write kind = \"udp\""),
        ("kind = \"udp\", ~variant = \"bbr\"", "`variant` in a flow has no meaning", "write kind = \"quic\""),
        ("~rate = \"1 Mbit/s\"", "`rate` in a flow has no meaning", "kind = \"udp\""),
        ("kind = \"files\", size = \"1 B\", ~payload = \"1 B\"", "`payload` in a flow has no meaning", "\"udp\""),
    ] {
        refuses(&format!("$N$R$Sflows = [{{ direction = \"up\", {text} }}]\n"), problem, fix);
    }
}

#[test]
fn missing_keys_are_named_with_a_line_to_add() {
    for (text, problem, fix) in [
        ("~$R$S", "`name` is missing in the file", "add name = \"my-cell\""),
        ("~$N$S", "`duration` is missing in [run]", "duration = \"180 s\""),
        ("$N~[run]\nseed = 1\n$S", "`duration` is missing in [run]", "duration = \"180 s\""),
        ("~$N$R", "no station", "add [[station]]"),
        ("station = ~[]\n$N$R", "no station", "add [[station]]"),
        ("$N$R~[[station]]\ncount = 3\n", "`name` is missing in [[station]]", "add name = \"sta1\""),
        ("$N$R$Sflows = [~{ count = 3 }]\n", "`direction` is missing in a flow", "direction = \"up\""),
        ("$N$R$Sflows = [~{ direction = \"up\", kind = \"files\" }]\n", "`size` is missing in a flow", "\"15 kB\""),
        ("$N$R[ap]\nqueue = ~{ limit = 3 }\n$S", "`kind` is missing in the AP's queue", "kind = \"droptail\""),
    ] {
        refuses(text, problem, fix);
    }
}

#[test]
fn wrong_types_say_what_is_expected() {
    for (text, problem, fix) in [
        ("name = ~3\n$R$S", "expected a string, found an integer", "write for example \"sta1\""),
        ("run = ~3\n$N$S", "`run` in the file: expected a table, found an integer", "[run]"),
        ("$N$R~[station]\nname = \"a\"\n", "expected a list of tables, found a table", "[[station]]"),
        ("station = [~3]\n$N$R", "expected a table, found an integer", "[[station]]"),
        ("$N$R$Sflows = ~{ direction = \"up\" }\n", "expected a list of tables", "flows = [{ direction"),
        ("$N$R$Sflows = [{ direction = ~true }]\n", "expected a string, found a boolean", "\"up\", \"down\""),
        ("$N$R$Sflows = [{ direction = ~\"upp\" }]\n", "`upp` is not known", "did you mean \"up\"?"),
        (
            "$N$R$Sflows = [{ direction = \"up\", kind = ~\"web\" }]\n",
            "not known",
            "\"tcp\", \"files\", \"quic\", \"udp\"",
        ),
        ("$N$R[ap]\nqueue = ~\"droptail\"\n$S", "expected a table, found a string", "queue = {"),
        ("$N$R[ap]\nqueue = { kind = ~\"drop-tail\" }\n$S", "`drop-tail` is not known", "\"droptail\""),
        ("$N$R[radio]\nphy = ~\"802.11be\"\n$S", "`802.11be` is not known", "\"802.11b\", \"802.11a\", \"802.11g\""),
        ("$N$Rpreset = ~\"ns4\"\n$S", "`ns4` is not known", "\"standard\", \"ns2\""),
        ("$N$R[tcp]\nvariant = ~\"vegas\"\n$S", "`vegas` is not known", "\"reno\", \"newreno\", \"cubic\""),
        ("$N$R[tcp]\nsack = ~\"true\"\n$S", "expected true or false, found a string", "without quotes"),
        ("$N$R[tcp]\nwindow = ~\"42\"\n$S", "expected a whole number, found a string", "without quotes"),
        ("$N$R[tcp]\nwindow = ~42.0\n$S", "expected a whole number, found a decimal number", "42"),
        ("$N$R[radio]\nframe_error = ~\"0.1\"\n$S", "expected a number, found a string", "0.1, without quotes"),
        ("$N$R[radio]\npreamble = ~\"medium\"\n$S", "`medium` is no preamble", "\"long\", \"short\""),
        ("$N$R[radio]\npreamble = ~192\n$S", "expected a string, found an integer", "\"120 us\""),
        ("$N[run]\nduration = ~2020-01-01\n$S", "expected a duration, found a date", "\"180 s\""),
        ("$N[run]\nduration = ~[\"60 s\"]\n$S", "expected a duration, found a list", "\"180 s\""),
    ] {
        refuses(text, problem, fix);
    }
}

#[test]
fn broken_toml_is_reported_where_it_breaks() {
    for (text, problem, fix) in [
        ("$Nrun = ~duration\n$S", "not TOML", "double quotes"),
        ("$N[run]\nduration = ~60 s\n$S", "not TOML", "double quotes"),
        ("$N$R~duration = \"5 s\"\n$S", "not TOML: duplicate key", "merge the two"),
        ("$N$R[~run]\nseed = 1\n$S", "not TOML: duplicate key", "merge the two"),
        ("$N$Sflows = [{ direction = \"up\" ~]\n", "not TOML", "close the quote, bracket or brace"),
    ] {
        refuses(text, problem, fix);
    }
}

#[test]
fn an_error_reads_like_this() {
    let text = "name = \"five\"\n\n[run]\nduration = \"180 s\"\nwarmup = \"200 s\"\n\n[[station]]\nname = \"sta1\"\n";
    let expected = "\x20 × test.toml:5:10: `warmup` in [run]: 200 s leaves nothing of a duration of 180 s
   ╭─[test.toml:5:10]
 3 │ [run]
 4 │ duration = \"180 s\"
   ·            ───┬───
   ·               ╰── the run's end
 5 │ warmup = \"200 s\"
   ·          ───┬───
   ·             ╰── here
 6 │ 
   ╰────
  help: write a warm-up below the duration, such as \"18 s\"
";
    assert_eq!(render(&*bad(text)), expected);
}

#[test]
fn files_that_cannot_be_read_say_so() {
    for path in ["/nonexistent/cell.toml", "/"] {
        let error = Scenario::load(Path::new(path)).unwrap_err();
        assert!(matches!(error, ScenarioError::Unreadable { .. }), "{error}");
        assert!(error.to_string().starts_with(&format!("{path}: cannot read the scenario file: ")), "{error}");
        assert!(render(&error).contains("help: name a scenario file"));
    }
    let dir = std::env::temp_dir().join(format!("fairair-scenario-{}", std::process::id()));
    std::fs::create_dir_all(&dir).unwrap();
    let path = dir.join("latin1.toml");
    std::fs::write(&path, b"name = \"t\"\n# caf\xe9\n").unwrap();
    let latin1 = Scenario::load(&path).unwrap_err();
    std::fs::write(&path, vec![b' '; 5 << 20]).unwrap();
    let huge = Scenario::load(&path).unwrap_err();
    std::fs::remove_dir_all(&dir).unwrap();
    assert!(latin1.to_string().contains("latin1.toml:2:6: this is not UTF-8"), "{latin1}");
    assert!(huge.to_string().contains(":1:1: the file has more than 4 MiB"), "{huge}");
}
