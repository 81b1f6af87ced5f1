//! A short soak, and that a longer one would notice what it has to. Each is a process of its own, so
//! that its memory is its own.

#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a test fails by panicking, in its helpers too"
)]

use std::process::{Command, Output};

use serde_json::Value;

/// How many operations the short soak has: some twenty seconds without optimisation on one core.
const OPERATIONS: u64 = 60_000;

fn scale() -> u64 {
    std::env::var("ROOMKIT_SCALE").map_or(1, |scale| scale.parse().unwrap())
}

fn soak(arguments: &[&str]) -> (Output, Value) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_soak"));
    let output = command.args(arguments).output().unwrap();
    let text = String::from_utf8(output.stdout.clone()).unwrap();
    println!("{text}{}", String::from_utf8_lossy(&output.stderr));
    let figures = serde_json::from_str(text.lines().next().unwrap()).unwrap();
    (output, figures)
}

#[test]
fn rooms_are_what_they_must_be_and_the_kit_does_not_grow() {
    let operations = (OPERATIONS * scale()).to_string();
    // Rooms live for a short time, so that there is time to measure.
    let (output, figures) = soak(&["--operations", &operations, "--longest", "16"]);
    assert!(output.status.success(), "{figures}");
    assert_eq!(figures["violations"], 0);
    assert_eq!(figures["tasks_left"], 0);
    assert_eq!(figures["rooms"], 1_000);
}

#[test]
fn memory_that_is_lost_is_noticed() {
    let few = ["--rooms", "100", "--longest", "16", "--operations", "8000"];
    let (output, figures) = soak(&[&few[..], &["--leak", "4096"]].concat());
    assert!(!output.status.success());
    assert_eq!(figures["violations"], 0);
    assert!(figures["growth_percent"].as_f64().unwrap() >= 5.0);
}

#[test]
fn an_event_that_is_lost_is_noticed() {
    let few = ["--rooms", "100", "--operations", "3000"];
    let (output, figures) = soak(&[&few[..], &["--tamper", "500"]].concat());
    assert!(!output.status.success());
    assert!(figures["violations"].as_u64().unwrap() > 0);
}

#[test]
fn nonsense_is_refused() {
    for arguments in [&["--seconds"][..], &["--seconds", "soon"], &["--sale", "3"]] {
        let mut command = Command::new(env!("CARGO_BIN_EXE_soak"));
        assert!(!command.args(arguments).output().unwrap().status.success());
    }
}
