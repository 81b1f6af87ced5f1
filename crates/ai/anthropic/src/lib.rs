#![doc = include_str!("../README.md")]

mod config;
mod decode;
mod messages;
mod models;
mod provider;
mod refusal;
mod request;
mod sealed;
mod thinking;

pub use config::AnthropicConfig;
pub use provider::AnthropicProvider;
