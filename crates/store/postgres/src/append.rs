//! The commit of a message and no more, by one statement instead of the function: most commits are one.

use roomkit_core::Result;
use roomkit_core::model::RoomEvent;
use roomkit_core::store::RoomCommit;
use sqlx::postgres::PgRow;

use crate::args::{Args, column, signed, unsigned};
use crate::cache::Cached;
use crate::columns;
use crate::store::{Counters, Inner, RoomState};

/// The event of a commit that says nothing but what the statement writes.
///
/// It needs a version to be expected: all parts of one statement see what there was before it waited for
/// the room, and whatever else a room becomes meanwhile it has another version then.
pub(crate) fn only_appends(commit: &RoomCommit) -> Option<&RoomEvent> {
    let more = commit.expected_version.is_none()
        || commit.edited.is_some()
        || commit.room.is_some()
        || !commit.bindings.is_empty()
        || !commit.participants.is_empty()
        || !commit.tasks.is_empty()
        || !commit.observations.is_empty()
        || !commit.owed.is_empty();
    commit.event.as_deref().filter(|_| !more)
}

/// The state of the room after it, from the answer's row.
pub(crate) fn appended(
    row: &PgRow,
    commit: &RoomCommit,
    event: &RoomEvent,
    known: &Cached,
) -> Result<RoomState> {
    let at = commit.at.timestamp_micros();
    Ok(RoomState {
        version: unsigned(column(row, 0)?),
        counters: Counters {
            latest_index: Some(event.index),
            event_count: unsigned(column(row, 1)?),
            updated_us: at,
            activity_us: Some(at),
        },
        data_stamp: known.data_stamp,
        data: None,
        bindings_stamp: known.bindings_stamp,
        bindings: None,
    })
}

impl Inner {
    pub(crate) fn append_args(
        &self,
        commit: &RoomCommit,
        event: &RoomEvent,
        known: &Cached,
    ) -> Result<Args> {
        let args = Args::new()
            .id(commit.room_id.as_str())
            .add(commit.expected_version.map(signed))
            .add(commit.fencing.map(|token| signed(token.0)))
            .add(commit.at.timestamp_micros())
            .add(known.data_stamp)
            .add(known.bindings_stamp);
        let args = columns::event(args, event, self.keys.as_ref())?;
        let args = columns::outcome(args, commit)?;
        Ok(match &commit.speaker {
            Some(speaker) => args
                .id(&speaker.channel_type.to_string())
                .id(speaker.sender_id.as_str())
                .id(speaker.channel_id.as_str())
                .id(speaker.participant_id.as_str()),
            None => (0..4).fold(args, |args, _| args.add(None::<&str>)),
        })
    }
}
