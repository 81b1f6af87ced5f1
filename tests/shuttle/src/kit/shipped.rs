//! On the shipped source.

use roomkit_core_checked as core;

#[path = "properties.rs"]
mod properties;

pub(crate) use properties::{
    callers_may_go_away, closing_ends_in_time, closing_lets_all_end, dropping_leaves_nothing,
    lanes_are_whole_and_in_order,
};
