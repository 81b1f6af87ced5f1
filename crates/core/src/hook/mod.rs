//! Hooks: functions of the application that block, change or observe what passes (RFC §9).

mod engine;
mod framework;
mod identity;
mod options;
mod point;
mod points;
mod result;
mod trigger;

pub(crate) use engine::{HookEngine, HookFailure};
pub(crate) use framework::FrameworkEvents;
pub(crate) use result::HookEffects;

pub use engine::{Hook, HookVerdict, RoomHooks};
pub use identity::{IdentityCase, IdentityDecision, OnIdentityAmbiguous, OnIdentityUnknown};
pub use options::HookOptions;
pub use point::{FailurePolicy, HookMode, HookPoint, HookReturn, IntoHookReturn};
pub use points::*;
pub use result::{HookResult, InjectedEvent};
pub use trigger::HookTrigger;
