//! On the source with faults.
#![expect(clippy::duplicate_mod, reason = "the same properties, on another core")]

use roomkit_shuttle_mutants as core;

#[path = "properties.rs"]
mod properties;

pub(crate) use properties::{
    callers_may_go_away, closing_ends_in_time, closing_lets_all_end, dropping_leaves_nothing,
    lanes_are_whole_and_in_order,
};
