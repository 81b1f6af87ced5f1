#![doc = include_str!("../README.md")]

#[cfg(any(feature = "sse", feature = "websocket"))]
mod endpoint;
mod parse;
#[cfg(feature = "sse")]
mod sse;
#[cfg(any(feature = "sse", feature = "websocket"))]
mod taken;
#[cfg(all(feature = "tls", any(feature = "sse", feature = "websocket")))]
mod tls;
#[cfg(any(feature = "sse", feature = "websocket"))]
mod traced;
#[cfg(feature = "websocket")]
mod websocket;

pub use parse::parse_json;
#[cfg(feature = "sse")]
pub use sse::{SseBuilder, SseEvent, SseSource};
#[cfg(feature = "websocket")]
pub use websocket::{WebSocketSource, WebSocketSourceBuilder};
