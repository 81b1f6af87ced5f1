//! Edits and deletes: who may change an event, and what the change makes of it (RFC §10.3).

use std::sync::Arc;

use super::pass::{Origin, Pass};
use super::{Refusal, admit};
use crate::draft::EventDraft;
use crate::error::Result;
use crate::kit::Inner;
use crate::model::{
    ChannelCategory, ChannelType, DeleteType, EventContent, EventId, EventSource,
    IdentificationStatus, Participant, ParticipantId, ParticipantRole, RoomEvent,
};
use crate::store::RoomSnapshot;

/// The `edit_source` that claims the system's authority; any other needs the author.
const EDIT_BY_SYSTEM: &str = "system";

/// The event that an edit or delete is about.
pub(crate) fn target_of(content: &EventContent) -> Option<&EventId> {
    match content {
        EventContent::Edit(edit) => Some(&edit.target_event_id),
        EventContent::Delete(delete) => Some(&delete.target_event_id),
        _ => None,
    }
}

/// Finds the event to change and checks that the source of the pass may change it.
pub(super) async fn authorize(
    inner: &Inner,
    room: &RoomSnapshot,
    pass: &Pass,
    target: &EventId,
) -> Result<Result<Arc<RoomEvent>, Refusal>> {
    let draft = &pass.draft;
    let found = inner.store.event(&draft.room_id, target).await?;
    let Some(target) = found.filter(|event| can_change(event, &draft.content)) else {
        return Ok(Err(Refusal::TargetEventNotFound));
    };
    let claim = Claim::of(&draft.content);
    let allowed = match claim {
        Claim::System => is_system(&draft.source)
            .then_some(())
            .ok_or(Refusal::NotAuthorized),
        Claim::Admin => match &draft.source.participant_id {
            None => Err(identity_required(&draft.content)),
            Some(sender) => {
                let sender = inner.store.participant(&draft.room_id, sender).await?;
                let is_owner = sender.is_some_and(|sender| sender.role == ParticipantRole::Owner);
                if is_owner {
                    Ok(())
                } else {
                    Err(Refusal::NotAuthorized)
                }
            }
        },
        Claim::Author => is_author(inner, room, pass, &target).await?,
    };
    Ok(allowed.map(|()| target))
}

/// Whether there is something to change: a deleted event says nothing any more, and a delete nothing
/// that could be said otherwise.
fn can_change(target: &RoomEvent, change: &EventContent) -> bool {
    let edits = matches!(change, EventContent::Edit(_));
    !(target.is_deleted() || (edits && matches!(target.content, EventContent::Delete(_))))
}

/// The new version of `target`; its id, index, source and creation time stay. Who may not see an
/// edit may not see what it says in the history either.
pub(super) fn apply(target: &RoomEvent, change: &RoomEvent) -> RoomEvent {
    let mut changed = target.clone();
    match &change.content {
        EventContent::Edit(edit) => {
            match &mut changed.content {
                // An edit stays one, of the same event, with which it is removed.
                EventContent::Edit(target) => target.new_content.clone_from(&edit.new_content),
                content => *content = (*edit.new_content).clone(),
            }
            changed.visibility = change.visibility.clone();
            changed.metadata.insert("edited", true);
        }
        _ => {
            changed.metadata.insert("deleted", true);
        }
    }
    changed
}

/// Whether a hook has left an edit or delete about the same event; nothing else is of use.
pub(crate) fn still_about(before: &EventContent, after: &EventContent) -> Result<(), String> {
    let same_kind = std::mem::discriminant(before) == std::mem::discriminant(after);
    match (target_of(before), target_of(after)) {
        (None, None) => Ok(()),
        (Some(before), Some(after)) if same_kind && before == after => Ok(()),
        _ => Err("content: an edit or delete stays one, and of the same event".to_owned()),
    }
}

/// On what ground a change is asked for.
#[derive(Clone, Copy)]
enum Claim {
    Author,
    Admin,
    System,
}

impl Claim {
    fn of(content: &EventContent) -> Self {
        match content {
            EventContent::Edit(edit) if edit.edit_source.as_deref() == Some(EDIT_BY_SYSTEM) => {
                Self::System
            }
            EventContent::Delete(delete) => match delete.delete_type {
                DeleteType::System => Self::System,
                DeleteType::Admin => Self::Admin,
                _ => Self::Author,
            },
            _ => Self::Author,
        }
    }
}

fn is_system(source: &EventSource) -> bool {
    source.channel_type == ChannelType::System
}

fn identity_required(content: &EventContent) -> Refusal {
    match content {
        EventContent::Delete(_) => Refusal::IdentityRequiredForDelete,
        _ => Refusal::IdentityRequiredForEdit,
    }
}

/// The author is the participant on the channel it spoke through; over another channel, or under
/// another id, only where identity resolution has tied both to one person, or where the person spoke
/// before it was known who they are. An agent, which has no participant, is the author of what its
/// own channel said.
async fn is_author(
    inner: &Inner,
    room: &RoomSnapshot,
    pass: &Pass,
    target: &RoomEvent,
) -> Result<Result<(), Refusal>> {
    let draft = &pass.draft;
    let same_channel = draft.source.channel_id == target.source.channel_id;
    let (sender, author) = match (&draft.source.participant_id, &target.source.participant_id) {
        (Some(sender), Some(author)) => (sender, author),
        (None, None) if same_channel && is_agent(room, &draft.source) => return Ok(Ok(())),
        _ => return Ok(Err(identity_required(&draft.content))),
    };
    if same_channel && sender == author {
        return Ok(Ok(()));
    }
    let is_sender =
        matches!(&pass.origin, Origin::Inbound { sender_id, .. } if sender_id == author);
    let tied = same_channel && is_sender && is_nobody_known(inner, room, author).await?
        || tied_to_one(inner, draft, sender, target, author).await?;
    Ok(if tied {
        Ok(())
    } else {
        Err(Refusal::NotOriginalAuthor)
    })
}

/// Whether it is not known who an author is, so that they are whoever sends under their id.
async fn is_nobody_known(
    inner: &Inner,
    room: &RoomSnapshot,
    author: &ParticipantId,
) -> Result<bool> {
    let author = inner.store.participant(&room.room.id, author).await?;
    Ok(!author.is_some_and(|author| admit::is_identified(&author)))
}

fn is_agent(room: &RoomSnapshot, source: &EventSource) -> bool {
    room.binding(&source.channel_id)
        .is_some_and(|binding| binding.category == ChannelCategory::Intelligence)
}

/// Whether both are one identified person, reached over both channels.
async fn tied_to_one(
    inner: &Inner,
    draft: &EventDraft,
    sender: &ParticipantId,
    target: &RoomEvent,
    author: &ParticipantId,
) -> Result<bool> {
    let sender = inner.store.participant(&draft.room_id, sender).await?;
    let author = inner.store.participant(&draft.room_id, author).await?;
    let (Some(sender), Some(author)) = (sender, author) else {
        return Ok(false);
    };
    let identified = |participant: &Participant, source: &EventSource| {
        participant.identification == IdentificationStatus::Identified
            && participant.identity_id.is_some()
            && admit::is_tied(participant, &source.channel_id)
    };
    Ok(sender.identity_id == author.identity_id
        && identified(&sender, &draft.source)
        && identified(&author, &target.source))
}
