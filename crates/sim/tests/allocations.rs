//! Claim: a steady cell allocates nothing per packet.

use std::alloc::System;

use fairair_core::scenario::Scenario;
use stats_alloc::{INSTRUMENTED_SYSTEM, Region, StatsAlloc};

#[global_allocator]
static ALLOCATOR: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

/// Allocations and frames on the air of a run of `seconds`.
fn run(seconds: u32) -> (usize, u64) {
    let text = format!(
        r#"
        name = "steady"
        [run]
        duration = "{seconds} s"
        warmup = "1 s"
        [ap]
        queue = {{ kind = "droptail", limit = 50 }}
        [[station]]
        name = "down"
        count = 5
        flows = [{{ direction = "down" }}]
        [[station]]
        name = "up"
        count = 5
        flows = [{{ direction = "up", tcp = {{ sack = true }} }}]
        "#
    );
    let scenario = Scenario::from_toml(&text, "steady.toml").unwrap();
    let region = Region::new(ALLOCATOR);
    let record = fairair_sim::run(&scenario, 0);
    let frames = record.ap_mac.attempts + record.stations.iter().map(|station| station.mac.attempts).sum::<u64>();
    let change = region.change();
    (change.allocations + change.reallocations, frames)
}

#[test]
fn a_steady_cell_allocates_nothing_per_packet() {
    // The harness allocates in its own thread while a test starts: the first run is not counted.
    run(50);
    let (short, few) = run(50);
    let (long, many) = run(550);
    println!("{short} allocations for {few} frames, {long} for {many}");
    assert!(many - few > 300_000);
    // What is left are buffers that double when a new maximum of waiting packets or out-of-order ranges comes up.
    assert!(long < short + 50, "{short} allocations for {few} frames, {long} for {many}");
}
