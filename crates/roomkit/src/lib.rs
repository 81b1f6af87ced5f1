#![doc = include_str!("../README.md")]

pub mod prelude;

// The root of the core holds what applications use, so all of it stands at this root too.
pub use roomkit_core::*;

#[cfg(feature = "ai")]
pub use roomkit_ai as ai;
#[cfg(feature = "anthropic")]
pub use roomkit_ai_anthropic as anthropic;
#[cfg(feature = "ollama")]
pub use roomkit_ai_ollama as ollama;
#[cfg(feature = "openai")]
pub use roomkit_ai_openai as openai;
#[cfg(feature = "sources")]
pub use roomkit_sources as sources;
#[cfg(feature = "postgres")]
pub use roomkit_store_postgres as postgres;
#[cfg(feature = "sqlite")]
pub use roomkit_store_sqlite as sqlite;
#[cfg(feature = "testkit")]
pub use roomkit_testkit as testkit;
#[cfg(feature = "websocket")]
pub use roomkit_websocket as websocket;
