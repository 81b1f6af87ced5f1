//! An event that the application puts into a room itself (RFC §10.5), or an agent that greets.

use std::sync::Arc;

use super::decide::type_of;
use super::inbound::{Accepted, accepted, find};
use super::pass::{self, Budget, Origin, Outcome, Pass};
use super::{Refusal, Scope};
use crate::draft::EventDraft;
use crate::error::{Error, ErrorKind, Result};
use crate::kit::Inner;
use crate::model::{
    ChannelBinding, ChannelDirection, EventContent, EventSource, InboundResult, RoomEvent,
};

/// Takes an event up to the commit; what refuses to store it is an error.
pub(crate) async fn accept(
    inner: &Arc<Inner>,
    scope: &Scope,
    mut event: RoomEvent,
) -> Result<Accepted> {
    event.content.validate()?;
    event.event_type = type_of(&event.content, event.event_type)?;
    take(
        inner,
        scope,
        Pass::new(Origin::Direct, EventDraft::new(event)),
    )
    .await
}

/// Takes the greeting of an agent up to the commit; a second one with its key is the first again.
pub(crate) async fn greet(
    inner: &Arc<Inner>,
    scope: &Scope,
    agent: &ChannelBinding,
    text: String,
    key: String,
) -> Result<Accepted> {
    let mut source = EventSource::new(agent.channel_id.clone(), agent.channel_type.clone());
    source.direction = ChannelDirection::Outbound;
    source.provider = inner.provider_of(&agent.channel_id);
    let content = EventContent::text(text);
    let mut event = RoomEvent::new(&agent.room_id, source, content, inner.clock.now());
    event.metadata.insert("auto_greeting", true);
    event.addressed_to = Some(Vec::new());
    event.idempotency_key = Some(key);
    take(
        inner,
        scope,
        Pass::new(Origin::Greeting, EventDraft::new(event)),
    )
    .await
}

async fn take(inner: &Arc<Inner>, scope: &Scope, pass: Pass) -> Result<Accepted> {
    let room = pass.draft.room_id.clone();
    match pass::run(inner, scope, &room, pass, Budget::new(inner)).await? {
        Outcome::Committed(committed, added) => Ok(accepted(inner, scope, room, committed, added)),
        Outcome::Refused(Refusal::RoomClosed) => Err(Error::room_closed(&room)),
        Outcome::Refused(Refusal::ParticipantNotAdmitted) => Err(Error::not_admitted(&room)),
        Outcome::Refused(refusal) => Err(Error::new(
            ErrorKind::Refused(refusal),
            format!("event for room {room} was refused"),
        )),
        Outcome::Repeated(first) => {
            let event = find(inner, &room, &first.event_id).await?;
            let result = InboundResult {
                event,
                blocked: first.blocked,
                reason: first.reason,
                ..InboundResult::default()
            };
            Ok(Accepted {
                result,
                cascade: None,
            })
        }
    }
}
