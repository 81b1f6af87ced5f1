//! An event that the application puts into a room itself (RFC §10.5).

use std::sync::Arc;

use super::decide::type_of;
use super::inbound::{Accepted, accepted, find};
use super::pass::{self, Budget, Origin, Outcome, Pass};
use super::{Refusal, Scope};
use crate::draft::EventDraft;
use crate::error::{Error, ErrorKind, Result};
use crate::kit::Inner;
use crate::model::{InboundResult, RoomEvent};
use crate::telemetry::Span;

/// Takes an event up to the commit; what refuses to store it is an error.
pub(crate) async fn accept(
    inner: &Arc<Inner>,
    scope: &Scope,
    mut event: RoomEvent,
) -> Result<Accepted> {
    event.content.validate()?;
    event.event_type = type_of(&event.content, event.event_type)?;
    let room = event.room_id.clone();
    let pass = Pass::new(Origin::Direct, EventDraft::new(event));
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
                refusal: None,
                span: Span::none(),
            })
        }
    }
}
