#![doc = include_str!("../README.md")]
#![allow(
    clippy::expect_used,
    clippy::panic,
    reason = "a target says that something is wrong by a panic, as the engine wants it"
)]

mod addresses;
pub mod corpus;
pub mod engine;
mod error;
mod mentions;
mod models;
mod routing;
mod transcode;

pub use error::{Error, Result};

/// Something that is fed with any text.
#[derive(Debug, Clone, Copy)]
pub struct Target {
    /// Its name, which its corpus has too.
    pub name: &'static str,
    /// Panics where a promise is broken.
    pub run: fn(&str),
    /// What the search begins with, besides the corpus.
    pub seeds: fn() -> Vec<String>,
}

/// All targets. A new one is a function, a line here, and `cargo xtask prove fuzz`, which makes its
/// corpus.
pub const TARGETS: &[Target] = &[
    Target {
        name: "models",
        run: models::run,
        seeds: models::seeds,
    },
    Target {
        name: "transcode",
        run: transcode::run,
        seeds: transcode::seeds,
    },
    Target {
        name: "mentions",
        run: mentions::run,
        seeds: mentions::seeds,
    },
    Target {
        name: "routing",
        run: routing::run,
        seeds: routing::seeds,
    },
    Target {
        name: "addresses",
        run: addresses::run,
        seeds: addresses::seeds,
    },
];

/// The target with this name.
#[must_use]
pub fn target(name: &str) -> Option<&'static Target> {
    TARGETS.iter().find(|target| target.name == name)
}
