//! A turn of an agent: what all of its stages share, and the tool loop that is its heart.

mod attempt;
mod calls;
mod outlet;
mod race;
mod round;
mod rules;
mod run;
mod steer;
mod tell;
mod tools;

use std::sync::{Arc, Mutex};
use std::time::Duration;

use roomkit_core::hook::{HookPoint, HookVerdict};
use roomkit_core::model::{EventSource, Participant, ParticipantId, RoomEvent, RoomId};
use roomkit_core::{Clock, RoomContext, WeakKit};
use tokio::sync::OnceCell;

pub(crate) use self::outlet::{Outlet, Pieces};
pub(crate) use self::race::caught;
pub use self::rules::LoopEndReason;
pub(crate) use self::run::{Loop, LoopOutcome};
pub use self::steer::Steering;
pub(crate) use self::steer::{Control, Turns, UnderWay, lock};
pub(crate) use self::tools::{Revealed, Toolbox};

use crate::ToolContext;
use crate::channel::Parts;
use crate::hooks::AiResponded;

/// One turn: an agent is asked about an event.
pub(crate) struct Turn {
    pub(crate) parts: Arc<Parts>,
    pub(crate) kit: Option<WeakKit>,
    pub(crate) event: Arc<RoomEvent>,
    pub(crate) context: RoomContext,
    pub(crate) source: Arc<EventSource>,
    pub(crate) under_way: UnderWay,
    /// The clock's time when it began.
    pub(crate) began: Duration,
    participant: OnceCell<Option<Participant>>,
    tool_context: OnceCell<ToolContext>,
    /// What it came to, once the loop has ended.
    pub(crate) summary: Mutex<Option<AiResponded>>,
}

impl Turn {
    pub(crate) fn new(
        parts: Arc<Parts>,
        event: Arc<RoomEvent>,
        context: RoomContext,
        under_way: UnderWay,
    ) -> Self {
        Self {
            kit: parts.kit(),
            source: Arc::clone(&parts.source),
            began: context.clock().elapsed(),
            parts,
            event,
            context,
            under_way,
            participant: OnceCell::new(),
            tool_context: OnceCell::new(),
            summary: Mutex::new(None),
        }
    }

    pub(crate) fn room_id(&self) -> &RoomId {
        &self.event.room_id
    }

    pub(crate) fn clock(&self) -> &Arc<dyn Clock> {
        self.context.clock()
    }

    pub(crate) fn control(&self) -> &Control {
        &self.under_way.control
    }

    /// The time since the turn began.
    pub(crate) fn age(&self) -> Duration {
        self.clock().elapsed().saturating_sub(self.began)
    }

    /// Whose message is answered.
    pub(crate) fn participant_id(&self) -> Option<&ParticipantId> {
        self.event.source.participant_id.as_ref()
    }

    /// Their record in the room; read once, where it is asked for.
    pub(crate) async fn participant(&self) -> Option<&Participant> {
        let read = async {
            let id = self.participant_id()?;
            match self.context.participant(id).await {
                Ok(found) => found,
                Err(error) => {
                    tracing::error!(room_id = %self.room_id(), %error, "participant could not be read");
                    None
                }
            }
        };
        self.participant.get_or_init(|| read).await.as_ref()
    }

    /// Where the calls of its tools come from.
    pub(crate) async fn tool_context(&self) -> &ToolContext {
        let make = async {
            let mut context = ToolContext::new(self.event.id.as_str())
                .with_room(self.room_id().clone(), self.source.channel_id.clone())
                .with_cancellation(self.control().cancel.clone());
            if let Some(id) = self.participant_id() {
                context = match self.participant().await {
                    Some(participant) => context.with_participant(participant),
                    None => context.with_participant_id(id.clone()),
                };
            }
            match &self.kit {
                Some(kit) => context.with_kit(kit.clone()),
                None => context,
            }
        };
        self.tool_context.get_or_init(|| make).await
    }

    /// Runs the hooks of a point. Without a kit there are none; where they cannot be run, nothing is
    /// let through.
    pub(crate) async fn hooks<P: HookPoint>(
        &self,
        point: P,
        payload: P::Payload,
    ) -> HookVerdict<P::Payload> {
        let Some(kit) = &self.kit else {
            return HookVerdict::Allowed(payload);
        };
        let blocked = |reason: &str| HookVerdict::Blocked {
            reason: reason.to_owned(),
            blocked_by: P::TRIGGER.as_str().to_owned(),
        };
        match kit.run_hooks(point, self.room_id().clone(), payload).await {
            Some(Ok(verdict)) => verdict,
            Some(Err(error)) => {
                tracing::error!(room_id = %self.room_id(), trigger = %P::TRIGGER, %error, "hooks could not be run");
                blocked("hooks_failed")
            }
            None => blocked("kit_closed"),
        }
    }
}
