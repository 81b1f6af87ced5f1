#![doc = include_str!("../README.md")]

mod agent;
#[cfg(feature = "ai")]
pub mod ai;
mod body;
mod channel;
mod clock;
pub mod conformance;
mod identity;
pub mod locks;
pub mod store;
mod stream;
mod suite;
mod sync;

pub use agent::{ScriptRule, ScriptedAgent, ScriptedAgentBuilder};
pub use channel::{Delivery, MockChannel, MockChannelBuilder, Taken};
pub use clock::ManualClock;
pub use identity::MockIdentityResolver;
pub use stream::StreamPiece;
#[doc(hidden)]
pub use suite::block_on;
