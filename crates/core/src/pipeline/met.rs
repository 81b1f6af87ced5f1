//! What a message makes known of its sender: that a participant is a person, who may have spoken
//! before under the address alone. Nothing that was said then changes; the record of the address
//! makes way for the person's, so that one person takes part once (RFC §5.5).

use std::sync::Arc;

use super::pass::{Origin, Pass};
use super::{admit, identify, system_event};
use crate::error::Result;
use crate::hook::OnParticipantIdentified;
use crate::kit::Inner;
use crate::model::{
    EventType, IdentityId, Metadata, Participant, ParticipantId, ParticipantRole,
    ParticipantStatus, RoomEvent, RoomId,
};

/// The mark of a record that made way for another: the id of that one.
const REPLACED_BY: &str = "_replaced_by";

/// What has become known.
#[derive(Debug)]
pub(crate) struct Met {
    /// The record under which the person spoke so far, as it is to be from now on.
    pub(super) earlier: Option<Participant>,
}

/// Makes of the person whom a message is from the record that is stored, and says what is new.
pub(super) async fn meet(inner: &Inner, room: &RoomId, pass: &mut Pass) -> Result<()> {
    let channel = pass.draft.source.channel_id.clone();
    let Origin::Inbound {
        sender_id,
        person: Some(person),
        met,
    } = &mut pass.origin
    else {
        return Ok(());
    };
    let known = inner.store.participant(room, &person.id).await?;
    *met = None;
    if admit::is_identified(person) {
        let was_known = known.as_ref().is_some_and(admit::is_identified);
        let is_new_here = !was_known
            || !known
                .as_ref()
                .is_some_and(|known| admit::is_tied(known, &channel));
        let earlier = if is_new_here && person.id != *sender_id {
            inner.store.participant(room, sender_id).await?
        } else {
            None
        };
        // Only what nobody has said anything about, and no other channel leads to.
        let earlier = earlier
            .filter(|earlier| {
                !admit::is_identified(earlier)
                    && earlier.status == ParticipantStatus::Active
                    && earlier.role == ParticipantRole::Member
                    && earlier.connected_via == [channel]
            })
            .map(|earlier| replaced(earlier, &person.id));
        if !was_known || earlier.is_some() {
            *met = Some(Box::new(Met { earlier }));
        }
    }
    let mut record = identify::merged(known, person);
    if record.metadata.remove(REPLACED_BY).is_some() {
        // Somebody else sends from that address now.
        record.status = ParticipantStatus::Active;
    }
    **person = record;
    Ok(())
}

fn replaced(mut earlier: Participant, by: &ParticipantId) -> Participant {
    earlier.status = ParticipantStatus::Inactive;
    earlier.metadata.insert(REPLACED_BY, by.as_str());
    earlier
}

/// What hooks are told, where there are any; it is no event of the timeline.
pub(super) fn told(inner: &Inner, pass: &mut Pass) -> Option<Arc<RoomEvent>> {
    let Origin::Inbound {
        person: Some(person),
        met,
        ..
    } = &mut pass.origin
    else {
        return None;
    };
    let met = met.take()?;
    if !inner.may_have_hooks::<OnParticipantIdentified>() {
        return None;
    }
    let mut data = Metadata::new()
        .with("participant_id", person.id.as_str())
        .with(
            "identity_id",
            person.identity_id.as_ref().map(IdentityId::as_str),
        )
        .with("resolved_by", person.resolved_by.as_deref());
    if let Some(earlier) = &met.earlier {
        data.insert("replaces", earlier.id.as_str());
    }
    let event = system_event(
        &person.room_id,
        EventType::ParticipantIdentified,
        "participant_identified",
        format!("Participant {} is identified", person.id),
        data,
        inner.clock.now(),
    );
    Some(Arc::new(event))
}
