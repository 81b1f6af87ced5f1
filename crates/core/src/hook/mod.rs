//! Hooks: functions of the application that block, change or observe what passes (RFC §9).
//!
//! What the core itself runs, in the order of a message:
//!
//! | point | when | hooks |
//! |---|---|---|
//! | [`OnIdentityAmbiguous`], [`OnIdentityUnknown`] | the resolver does not settle who sent it | decide; `observe` sees what was decided |
//! | [`BeforeBroadcast`] | under the room's lock, before it is stored | decide; [`observe`](crate::RoomKit::observe) sees what was stored |
//! | [`OnEventUpdated`], [`OnEventDeleted`] | an edit, a delete or the application has changed an earlier event | look on |
//! | [`OnTaskCreated`] | a hook's or channel's task is stored | look on |
//! | [`AfterBroadcast`] | every channel is done with it | look on |
//! | [`OnError`] | an agent failed to answer it, or the answer could not be stored | look on |
//! | [`OnRoomCreated`], [`OnRoomPaused`], [`OnRoomClosed`] | a room began, went quiet or ended, by hand or by its timers | look on |
//! | [`OnSessionStarted`] | a message made a room and is about to be taken, or a channel says that a session began | look on |
//! | [`OnFeedback`] | somebody rated an answer or a conversation | look on |
//! | [`OnProtocolTrace`] | a channel, a source or a webhook told of what went over its wire | look on |
//! | [`OnDeliveryStatus`] | a provider reported something new about a message that went out | look on |
//! | [`OnChannelAttached`], [`OnChannelDetached`], [`OnChannelMuted`], [`OnChannelUnmuted`] | a binding changed | look on |
//! | [`OnParticipantJoined`], [`OnParticipantLeft`], [`OnParticipantUpdated`], [`OnParticipantIdentified`] | a member was added, removed or banned, renamed or given a role, identified by hand or by a message | look on |
//!
//! Every other point is run by what its name is about: a channel, a transport or an agent calls
//! [`Rooms::run_hooks`](crate::Rooms::run_hooks) with it, as anyone may with a point of their own. A
//! hook at a point that nothing in the process runs is never called.
//!
//! A hook that can fail returns a `Result`; what its failure means is the point's
//! [`FailurePolicy`], and the kit's `fail_closed` can harden it:
//!
//! ```
//! use roomkit_core::RoomKit;
//! use roomkit_core::hook::{BeforeBroadcast, BoxError, HookResult, HookTrigger};
//!
//! let kit = RoomKit::builder().fail_closed([HookTrigger::BeforeBroadcast]).build()?;
//! kit.hook(BeforeBroadcast, "amounts", |event, _room| async move {
//!     for word in event.content.texts() {
//!         let _amount: u32 = word.parse()?;
//!     }
//!     Ok::<_, BoxError>(HookResult::allow())
//! });
//! # Ok::<_, roomkit_core::Error>(())
//! ```

mod engine;
mod framework;
mod handler;
mod identity;
mod listeners;
mod options;
mod point;
mod points;
mod result;
mod run;
mod trigger;

pub(crate) use engine::{HookEngine, ObserversDone, Running};
pub(crate) use framework::FrameworkEvents;
pub(crate) use listeners::Listeners;
pub(crate) use result::HookEffects;
pub(crate) use run::HookFailure;

pub use engine::RoomHooks;
pub use handler::Hook;
pub use identity::{IdentityCase, IdentityDecision, OnIdentityAmbiguous, OnIdentityUnknown};
pub use options::HookOptions;
pub use point::{BoxError, FailurePolicy, HookMode, HookPoint, HookReturn, IntoHookReturn};
pub use points::*;
pub use result::{HookResult, InjectedEvent};
pub use run::HookVerdict;
pub use trigger::HookTrigger;
