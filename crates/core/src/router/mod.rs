//! Who gets what, and in which form: rooms for messages, channels for events, content for channels.

pub(crate) mod addressing;
pub mod gsm7;
mod inbound;
pub mod limit;
pub mod plain_text;
mod transcode;
pub(crate) mod visibility;

pub use inbound::{DefaultInboundRoomRouter, InboundRoomRouter, RouteRequest};
pub(crate) use transcode::adapt;
pub use transcode::{ContentTranscoder, DefaultContentTranscoder, in_words};
