#![doc = include_str!("../README.md")]
#![allow(
    clippy::expect_used,
    reason = "a property says that something is wrong by a panic, as the checker wants it"
)]

mod explore;
mod kit;
mod locks;
mod properties;
mod queue;
mod shipped;
mod tasks;
mod watch;

pub use explore::{Effort, Outcome, explore};
pub use properties::{Mutant, PROPERTIES, Property, mutants, without_a_fault};
