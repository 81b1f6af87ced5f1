#![doc = include_str!("../README.md")]

pub mod audit;
pub mod crash;
mod error;
pub mod processes;
pub mod protocol;
pub mod target;
pub mod writer;

pub use error::{Error, Result};
