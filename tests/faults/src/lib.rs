#![doc = include_str!("../README.md")]

mod channel;
mod doubt;
mod drive;
pub mod judge;
mod parts;
pub mod probe;
pub mod run;
mod scene;
pub mod scenes;
mod stage;
mod store;
pub mod table;
mod twist;
mod watch;

pub use scene::Scene;
pub use twist::{Make, Twist};
