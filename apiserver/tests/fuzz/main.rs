//! The fuzz targets of `fuzz/`, run for a bounded time from fixed seeds.
//!
//! `KUBEWRIGHT_FUZZ_INPUTS` sets how many inputs each target gets; the default keeps the tests short.

#![allow(clippy::unwrap_used, reason = "a test that meets the unexpected fails")]

mod harness;
mod mutate;

use harness::Harness;
use mutate::Mutator;

fn run(target: fn(&Harness, &[u8]), corpus: &[&[u8]], seed: u64) {
    let inputs = std::env::var("KUBEWRIGHT_FUZZ_INPUTS")
        .ok()
        .and_then(|n| n.parse().ok())
        .unwrap_or(400);
    let harness = Harness::new();
    for input in corpus {
        target(&harness, input);
    }
    let mut mutator = Mutator::new(seed, corpus);
    for _ in 0..inputs {
        target(&harness, &mutator.next_input());
    }
}

#[test]
fn bodies_never_break_the_server() {
    run(harness::body, harness::BODIES, 1);
}

#[test]
fn selectors_never_break_the_server() {
    run(harness::selector, harness::SELECTORS, 2);
}

#[test]
fn patches_never_break_the_server() {
    run(harness::patch, harness::PATCHES, 3);
}

#[test]
fn applied_configurations_never_break_the_server() {
    run(harness::apply, harness::CONFIGURATIONS, 4);
}

#[test]
fn schemas_never_break_the_server() {
    run(harness::schema, harness::SCHEMAS, 5);
}
