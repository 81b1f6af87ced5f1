//! The identity hooks: what becomes of a sender whom no resolver could name (RFC §11.2, §11.3).

use super::point::{HookMode, HookReturn, IntoHookReturn};
use super::result::HookResult;
use super::{HookPoint, HookTrigger, InjectedEvent};
use crate::draft::EventDraft;
use crate::model::{EventSource, Identity, IdentityResult};

/// A sender who is not identified, and what the resolver knows about them.
#[derive(Debug, Clone, PartialEq)]
pub struct IdentityCase {
    /// The event the sender wants to bring in.
    pub event: EventDraft,
    /// The resolver's answer.
    pub result: IdentityResult,
    /// What a hook decided; the first decision settles the case.
    pub(crate) decision: Option<IdentityDecision>,
}

impl IdentityCase {
    pub(crate) fn new(event: EventDraft, result: IdentityResult) -> Self {
        Self {
            event,
            result,
            decision: None,
        }
    }
}

/// What an identity hook decides; a hook that returns `None` leaves the case to the next.
#[derive(Debug, Clone, PartialEq)]
pub enum IdentityDecision {
    /// The sender is this person.
    Resolved(Identity),
    /// The message is taken; who sent it is settled later.
    Pending {
        /// What the participant is called until then.
        display_name: Option<String>,
        /// Who it may be; empty keeps the resolver's candidates.
        candidates: Vec<Identity>,
    },
    /// The message is held back and the sender is asked who they are.
    Challenge(InjectedEvent),
    /// The message is refused.
    Reject {
        /// Why, for the log.
        reason: String,
    },
    /// The sender is somebody new, who is stored.
    Create(Identity),
}

impl HookReturn<IdentityCase> for Option<IdentityDecision> {
    const MODE: HookMode = HookMode::Sync;

    fn into_result(self, payload: &IdentityCase) -> HookResult<IdentityCase> {
        match self {
            None => HookResult::allow(),
            decision => HookResult::modify(IdentityCase {
                decision,
                ..payload.clone()
            }),
        }
    }
}

impl IntoHookReturn<Option<IdentityDecision>> for Option<IdentityDecision> {
    fn into_hook_return(self) -> Result<Self, Box<dyn std::error::Error + Send + Sync>> {
        Ok(self)
    }
}

impl IntoHookReturn<Option<IdentityDecision>> for IdentityDecision {
    fn into_hook_return(
        self,
    ) -> Result<Option<IdentityDecision>, Box<dyn std::error::Error + Send + Sync>> {
        Ok(Some(self))
    }
}

macro_rules! identity_points {
    ($($(#[$doc:meta])* $point:ident;)+) => {$(
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub struct $point;

        impl HookPoint for $point {
            type Payload = IdentityCase;
            type Returns = Option<IdentityDecision>;
            const TRIGGER: HookTrigger = HookTrigger::$point;

            fn source(case: &IdentityCase) -> Option<&EventSource> {
                Some(&case.event.source)
            }

            fn is_settled(case: &IdentityCase) -> bool {
                case.decision.is_some()
            }
        }
    )+};
}

identity_points! {
    /// Several identities match a sender, or the resolver is still waiting.
    OnIdentityAmbiguous;
    /// No identity matches a sender, or the resolver turned them down.
    OnIdentityUnknown;
}
