#![doc = include_str!("../README.md")]

mod event;
mod json;
mod payload;

pub use event::{EventRow, event_of};
pub use json::{from_json, to_json};
pub use payload::{PayloadKey, PayloadKeys};
