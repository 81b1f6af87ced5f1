//! How long a soak goes on, and what is done to it so that it has to fail.

use std::time::Duration;

use crate::{Error, Result};

/// What a soak does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Options {
    /// When it ends.
    pub until: Until,
    /// How many rooms there are at a time.
    pub rooms: usize,
    /// How many events a room has at most, about, until another is made in its place.
    pub longest: u64,
    /// How many tasks act on them.
    pub tasks: usize,
    /// What the operations come of.
    pub seed: u64,
    /// How many bytes are lost with each operation, so that memory grows.
    pub leak: usize,
    /// With every how many operations something is done behind the kit's back; 0 is never.
    pub tamper: u64,
}

/// When a soak ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Until {
    /// After so much time.
    Time(Duration),
    /// After so many operations.
    Operations(u64),
}

impl Default for Options {
    fn default() -> Self {
        Self {
            until: Until::Time(Duration::from_secs(600)),
            rooms: 1_000,
            longest: 40,
            tasks: 32,
            seed: fastrand::u64(..),
            leak: 0,
            tamper: 0,
        }
    }
}

impl Options {
    /// Those of a command line.
    ///
    /// # Errors
    /// [`Error::Usage`] where it has anything else.
    pub fn parse(arguments: &[String]) -> Result<Self> {
        let mut options = Self::default();
        let mut rest = arguments.iter();
        while let Some(name) = rest.next() {
            let value = rest.next().and_then(|value| value.parse::<u64>().ok());
            let value =
                value.ok_or_else(|| Error::Usage(format!("`{name}` needs a whole number")))?;
            let count = usize::try_from(value).unwrap_or(usize::MAX);
            match name.as_str() {
                "--seconds" => options.until = Until::Time(Duration::from_secs(value)),
                "--operations" => options.until = Until::Operations(value),
                "--rooms" => options.rooms = count.max(1),
                "--longest" => options.longest = value.max(8),
                "--tasks" => options.tasks = count.max(1),
                "--seed" => options.seed = value,
                "--leak" => options.leak = count,
                "--tamper" => options.tamper = value,
                _ => return Err(Error::Usage(format!("there is no option `{name}`"))),
            }
        }
        Ok(options)
    }
}
