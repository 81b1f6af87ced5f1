#![doc = include_str!("../README.md")]

pub mod channel;
mod clock;
mod context;
mod draft;
mod error;
pub mod hook;
pub mod identity;
mod kit;
pub mod model;
mod pipeline;
pub mod resilience;
pub mod router;
pub mod source;
pub mod store;
pub mod sync;
pub mod turns;

pub use async_trait::async_trait;
pub use channel::{Channel, ChannelOutput, Reply};
pub use clock::{Clock, SystemClock};
pub use context::{History, RoomContext};
pub use draft::EventDraft;
pub use error::{Error, ErrorKind, Result};
pub use identity::IdentityResolver;
pub use kit::{
    AddMember, AttachChannel, AttachSource, CloseReport, DeleteEvent, DeliveryHandle,
    RegenerateResponse, RoomKit, RoomKitBuilder, RoomOptions, Rooms, SendEvent, SendGreeting,
    SubmitFeedback, UpdateEvent, WeakKit, WebhookOutcome,
};
pub use pipeline::{LoopGuard, Refusal};
