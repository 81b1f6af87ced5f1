//! Messages whose senders are turned away: refused, or held back until they say who they are.

use std::sync::Arc;

use super::identify::{self, TurnedAway};
use super::inbound::{Accepted, accepted, refused, repeat};
use super::pass::{self, Budget, Origin, Outcome, Pass};
use super::route::Made;
use super::{Cascade, Refusal, Scope, admit};
use crate::context::RoomContext;
use crate::error::{Error, ErrorKind, Result};
use crate::hook::InjectedEvent;
use crate::kit::{Inner, attach};
use crate::model::{IdentificationStatus, RoomId};
use crate::store::{RoomCommit, Speaker};

/// Does without a message: tells its sender why, where they are to be told.
pub(super) async fn turn_away(
    inner: &Arc<Inner>,
    scope: &Scope,
    context: &RoomContext,
    made: Option<Box<Made>>,
    mut pass: Pass,
    turned: TurnedAway,
) -> Result<Accepted> {
    let room = context.room_id();
    // What was taken once is not asked about when the provider brings it again.
    let key = pass.draft.idempotency_key.clone();
    if let Some(key) = &key
        && let Some(first) = inner
            .read(inner.store.idempotent_outcome(room, key))
            .await?
    {
        return repeat(inner, room, first).await;
    }
    if turned.refusal != Refusal::IdentityChallengeSent {
        if let Some(made) = made
            && let Err(error) = made.unmake().await
        {
            tracing::error!(room_id = %room, %error, "the room of a sender turned away stays");
        }
        return Ok(refused(turned.refusal));
    }
    if let Some(made) = made {
        made.begin(scope, context.snapshot().clone()).await?;
    }
    if let Some(told) = &turned.told {
        told.content.validate()?;
    }
    if let Some(refusal) = note(inner, scope, context, &mut pass).await? {
        pass::refused(inner, &pass, &Outcome::Refused(refusal));
        return Ok(refused(refusal));
    }
    let mut held = refused(turned.refusal);
    if let Some(told) = turned.told {
        let channel = &pass.draft.source.channel_id;
        inner
            .write(attach::commit_if_new(inner, scope, room, channel))
            .await?;
        held.cascade = tell(inner, scope, room, told, key).await?;
    }
    Ok(held)
}

/// Notes that the sender was asked who they are, so that their answer finds this room; refuses
/// instead where they could not speak here anyway.
async fn note(
    inner: &Arc<Inner>,
    scope: &Scope,
    context: &RoomContext,
    pass: &mut Pass,
) -> Result<Option<Refusal>> {
    let id = context.room_id();
    let lock = attach::lock_room(inner, id).await?;
    for _ in 0..pass::MOST_CONFLICTS {
        let room = inner.visible_room(scope, id).await?;
        if !room.room.status.accepts_events() {
            return Ok(Some(Refusal::RoomClosed));
        }
        if admit::is_a_question(inner, &room.room, pass)
            && let Some(refusal) = inner.read(admit::admit(inner, &room, pass)).await?
        {
            return Ok(Some(refusal));
        }
        let source = &pass.draft.source;
        let (Some(participant), Origin::Inbound { sender_id, .. }) =
            (&source.participant_id, &pass.origin)
        else {
            return Ok(None);
        };
        let mut person = identify::participant(pass, participant.clone(), context);
        person.identification = IdentificationStatus::ChallengeSent;
        let person = inner.read(identify::recorded(inner, id, &person)).await?;
        let mut commit = RoomCommit::new(id.clone(), Some(room.version), inner.clock.now());
        commit.participants.push(person);
        commit.speaker = Some(Speaker {
            participant_id: participant.clone(),
            sender_id: sender_id.clone(),
            channel_id: source.channel_id.clone(),
            channel_type: source.channel_type.clone(),
        });
        commit.fencing = lock.token();
        match inner.commit(commit).await {
            Err(error) if error.kind() == ErrorKind::VersionConflict => {}
            committed => return committed.map(|_receipt| None),
        }
    }
    Err(Error::new(
        ErrorKind::VersionConflict,
        format!("room {id} changed again and again while a sender was to be asked who they are"),
    ))
}

/// Tells the sender something though their message is not taken; once for each message.
async fn tell(
    inner: &Arc<Inner>,
    scope: &Scope,
    room: &RoomId,
    told: InjectedEvent,
    key: Option<String>,
) -> Result<Option<Cascade>> {
    let mut pass = Pass::injected(room, told, inner);
    pass.draft.edit().idempotency_key = key.map(|key| format!("_challenge:{key}"));
    match pass::run(inner, scope, room, pass, Budget::new(inner)).await? {
        Outcome::Committed(committed, added) => {
            Ok(accepted(inner, scope, room.clone(), committed, added).cascade)
        }
        Outcome::Refused(_) | Outcome::Repeated(_) => Ok(None),
    }
}
