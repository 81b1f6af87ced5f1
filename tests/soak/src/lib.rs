#![doc = include_str!("../README.md")]

mod burst;
mod channels;
mod error;
mod memory;
mod model;
mod operations;
pub mod options;
pub mod run;
mod say;
mod slot;
mod stage;

pub use error::{Error, Result};
