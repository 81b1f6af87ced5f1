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
    /// The resolver's answer, with the sender's address and the type of the channel where it names
    /// none. Its candidates are of the room's organisation, and at most 64.
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

    /// What was decided, for a hook that looks on; `None` where no hook has decided (so far).
    #[must_use]
    pub fn decision(&self) -> Option<&IdentityDecision> {
        self.decision.as_ref()
    }
}

/// What an identity hook decides (RFC §11.3); a hook that returns `None` leaves the case to the next.
///
/// An identity that it names belongs to the room's organisation, or names none; a hook that names
/// another's has failed.
#[derive(Debug, Clone, PartialEq)]
pub enum IdentityDecision {
    /// The sender is this person, as for this message: the next one from the same address is asked
    /// about again, unless the address is [theirs](crate::Rooms::link_address) by then.
    Resolved(Identity),
    /// The message is taken; who sent it is settled later, by
    /// [`resolve_participant`](crate::Rooms::resolve_participant) for one. The room's record of the
    /// sender is `pending`.
    Pending {
        /// What the participant is called until then.
        display_name: Option<String>,
        /// Who it may be; empty keeps the resolver's candidates.
        candidates: Vec<Identity>,
    },
    /// The message is held back with `identity_challenge_sent`, and the sender is asked who they are:
    /// over their own channel, unless the event names others. The room's record of the sender is
    /// `challenge_sent`. Their answer comes as a message of its own, to the same room and hooks. A
    /// repeat of the message, by its idempotency key, does not ask them again.
    Challenge(InjectedEvent),
    /// The message is refused with `identity_rejected`, and leaves no room or participant behind.
    Reject {
        /// Why, for the log.
        reason: String,
    },
    /// The sender is somebody new, who is stored in the room's organisation with the address that
    /// they have written from. Where it knows an identity with this id, that one is the sender, and
    /// gets nothing but the address.
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
