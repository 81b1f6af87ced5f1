#![doc = include_str!("../README.md")]

mod config;
mod models;
mod provider;
mod responses;

pub use config::{OpenAiApi, OpenAiConfig};
pub use provider::OpenAiProvider;
