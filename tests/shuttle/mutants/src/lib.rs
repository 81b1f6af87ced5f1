//! The core with faults in it, none switched on at first: `build.rs` puts them into a copy.
#![allow(
    missing_docs,
    missing_debug_implementations,
    unreachable_pub,
    dead_code,
    private_interfaces,
    clippy::all,
    reason = "a copy, which is looked at where it comes from"
)]

use std::cell::Cell;

std::thread_local! {
    static CHOSEN: Cell<&'static str> = const { Cell::new("") };
}

/// The names of all faults.
pub const MUTANTS: &[&str] = include!(concat!(env!("OUT_DIR"), "/core/names.rs"));

/// Switches one fault on, and the others off, for this thread.
pub fn choose(mutant: &'static str) {
    CHOSEN.set(mutant);
}

/// Whether a fault is switched on.
fn is(mutant: &str) -> bool {
    CHOSEN.get() == mutant
}

include!(concat!(env!("OUT_DIR"), "/core/lib.rs"));
