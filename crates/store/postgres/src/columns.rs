//! Records as the columns of their rows.

use roomkit_core::Result;
use roomkit_core::model::{ChannelBinding, ChannelId, Participant, Room, RoomEvent};
use roomkit_core::store::{RoomCommit, words_of};
use roomkit_store::{EventRow, PayloadKeys, from_json, to_json};
use sqlx::postgres::PgRow;

use crate::args::{Args, column, signed};
use crate::text;

/// An event as the eleven columns that hold it, in the order of `commit_room_1`.
pub(crate) fn event(args: Args, event: &RoomEvent, keys: Option<&PayloadKeys>) -> Result<Args> {
    let row = EventRow::of(event, keys)?;
    let words: Vec<String> = words_of(event).into_iter().collect();
    Ok(args
        .add(signed(event.index))
        .id(event.id.as_str())
        .add(event.event_type.as_str())
        .id(event.source.channel_id.as_str())
        .opt_id(event.source.participant_id.as_ref().map(AsRef::as_ref))
        .opt_id(event.parent_event_id.as_ref().map(AsRef::as_ref))
        .add(event.created_at.timestamp_micros())
        .add(event.is_redacted())
        .add((!words.is_empty()).then_some(words))
        .add(row.json)
        .add(row.payload))
}

/// The same columns without an event.
pub(crate) fn no_event(args: Args) -> Args {
    args.add(None::<i64>)
        .add(None::<&str>)
        .add(None::<&str>)
        .add(None::<&str>)
        .add(None::<&str>)
        .add(None::<&str>)
        .add(None::<i64>)
        .add(None::<bool>)
        .add(None::<Vec<String>>)
        .add(None::<&str>)
        .add(None::<&[u8]>)
}

/// The outcome by its idempotency key, in two columns.
pub(crate) fn outcome(args: Args, commit: &RoomCommit) -> Result<Args> {
    Ok(match &commit.idempotency {
        Some(outcome) => {
            let json = to_json("outcome in room", commit.room_id.as_str(), outcome)?;
            args.id(&outcome.key).add(json)
        }
        None => args.add(None::<&str>).add(None::<&str>),
    })
}

/// A room as its JSON, without what changes with every event and is kept elsewhere.
pub(crate) fn room(room: &Room) -> Result<String> {
    let mut room = room.clone();
    room.event_count = 0;
    room.latest_index = None;
    room.updated_at = room.created_at;
    room.timers.last_activity_at = None;
    to_json("room", room.id.as_str(), &room)
}

/// A participant from its row: the JSON, and the channels it is connected by, which commits add to.
pub(crate) fn participant(row: &PgRow) -> Result<Participant> {
    let json: &str = column(row, 0)?;
    let via: Vec<String> = column(row, 1)?;
    let mut participant: Participant = from_json("a participant", "", json)?;
    let via = via.iter().map(|id| ChannelId::from(&*text::restored(id)));
    participant.connected_via = via.collect();
    Ok(participant)
}

pub(crate) fn participant_json(participant: &Participant) -> Result<String> {
    to_json("participant", participant.id.as_str(), participant)
}

pub(crate) fn binding_json(binding: &ChannelBinding) -> Result<String> {
    binding.validate()?;
    to_json("binding", binding.channel_id.as_str(), binding)
}
