#![doc = include_str!("../README.md")]

mod builder;
mod channel;
mod connection;
mod frame;
mod id;
mod live;
mod registry;
mod wire;

pub use builder::WebSocketBuilder;
pub use channel::WebSocketChannel;
pub use connection::{CloseReason, Connection};
pub use frame::{EventFrame, Frame};
pub use id::ConnectionId;
pub use live::LiveFrame;
