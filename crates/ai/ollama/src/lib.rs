#![doc = include_str!("../README.md")]

mod chat;
mod config;
mod decode;
mod models;
mod provider;
mod refusal;
mod request;

pub use config::{KeepAlive, OllamaConfig, Think};
pub use provider::OllamaProvider;
