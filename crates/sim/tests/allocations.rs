//! Claim: a steady cell allocates nothing per packet.

use std::alloc::System;

use fairair_core::scenario::Scenario;
use stats_alloc::{INSTRUMENTED_SYSTEM, Region, StatsAlloc};

#[global_allocator]
static ALLOCATOR: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

/// 802.11b under DCF.
const DCF: &str = "";
/// A-MPDUs, TXOPs and channel errors.
const QOS: &str =
    "[radio]\nphy = \"802.11ac\"\nwidth = \"20 MHz\"\nmcs = 2\nframe_error = 0.02\ntxop = \"4 ms\"\nrts = true";

/// Allocations and PPDUs with data of a run of `seconds`.
fn run(radio: &str, seconds: u32) -> (usize, u64) {
    let text = format!(
        r#"
        name = "steady"
        [run]
        duration = "{seconds} s"
        warmup = "1 s"
        {radio}
        [ap]
        queue = {{ kind = "droptail", limit = 50 }}
        [[station]]
        name = "down"
        count = 5
        flows = [{{ direction = "down" }}]
        [[station]]
        name = "up"
        count = 5
        flows = [{{ direction = "up", tcp = {{ profile = "rfc", sack = true }} }}]
        "#
    );
    let scenario = Scenario::from_toml(&text, "steady.toml").unwrap();
    let region = Region::new(ALLOCATOR);
    let record = fairair_sim::run(&scenario, 0);
    let frames = record.ap_mac.attempts + record.stations.iter().map(|station| station.mac.attempts).sum::<u64>();
    let change = region.change();
    (change.allocations + change.reallocations, frames)
}

/// Another `seconds` in a cell with `radio` cost next to nothing. One test for all cells: the counter is the process's.
fn check(radio: &str, seconds: u32, frames: u64) {
    // The harness allocates in its own thread while a test starts: the first run is not counted.
    run(radio, 50);
    let (short, few) = run(radio, 50);
    let (long, many) = run(radio, 50 + seconds);
    println!("{short} allocations for {few} frames, {long} for {many}");
    assert!(many - few > frames);
    // What is left are buffers that double when a new maximum of waiting packets or out-of-order ranges comes up.
    assert!(long < short + 50, "{short} allocations for {few} frames, {long} for {many}");
}

#[test]
fn a_steady_cell_allocates_nothing_per_packet() {
    check(DCF, 500, 300_000);
    check(QOS, 100, 20_000);
    check(&format!("{QOS}\namsdu = \"3839 B\""), 100, 10_000);
}
