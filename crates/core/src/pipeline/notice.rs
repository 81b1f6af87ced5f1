//! Who is told when a room or a binding has changed: hooks of the point, then framework events.

use std::sync::Arc;

use super::commit::system_event;
use crate::context::RoomContext;
use crate::hook::{
    OnChannelAttached, OnChannelDetached, OnChannelMuted, OnChannelUnmuted,
    OnParticipantIdentified, OnParticipantJoined, OnParticipantLeft, OnParticipantUpdated,
    OnRoomCreated, Running,
};
use crate::kit::Inner;
use crate::model::{EventType, FrameworkEventType, Metadata, RoomEvent};
use crate::store::RoomSnapshot;

/// Tells of a room that was just created; hooks hold `token` until they have ended.
pub(crate) fn announce_created(inner: &Arc<Inner>, room: &RoomSnapshot, token: Option<&Running>) {
    let context = inner.context(room.clone());
    let id = &room.room.id;
    let mut data = Metadata::new();
    data.insert("room_id", id.as_str());
    if let Some(organization) = &room.room.organization_id {
        data.insert("organization_id", organization.as_str());
    }
    let at = room.room.created_at;
    let body = format!("Room {id} created");
    let event = system_event(
        id,
        EventType::System,
        "room_created",
        body,
        data.clone(),
        at,
    );
    let event = Arc::new(event);
    inner
        .hooks
        .observe::<OnRoomCreated>(&inner.tasks, &context, &event, token);
    inner.emit(FrameworkEventType::RoomCreated, |event| {
        event.room_id = Some(id.clone());
        event.data = data;
    });
}

/// Tells of a committed change of a binding.
pub(crate) fn announce_lifecycle(inner: &Arc<Inner>, room: &RoomSnapshot, event: &Arc<RoomEvent>) {
    let context: RoomContext = inner.context(room.clone());
    let channel = match &event.content {
        crate::model::EventContent::System(system) => system.data.get("channel_id").cloned(),
        _ => None,
    };
    let channel = channel
        .as_ref()
        .and_then(|id| id.as_str())
        .map(crate::model::ChannelId::from);
    tracing::info!(
        room_id = %event.room_id, channel_id = channel.as_ref().map(|channel| channel.as_str()),
        event = %event.event_type, "binding changed"
    );
    let notify = |event_type: FrameworkEventType| {
        inner.emit(event_type, |notice| {
            notice.room_id = Some(event.room_id.clone());
            notice.event_id = Some(event.id.clone());
            notice.channel_id.clone_from(&channel);
        });
    };
    match event.event_type {
        EventType::ChannelAttached => {
            inner.observe::<OnChannelAttached>(&context, event);
            notify(FrameworkEventType::RoomChannelAttached);
        }
        EventType::ChannelDetached => {
            inner.observe::<OnChannelDetached>(&context, event);
            notify(FrameworkEventType::RoomChannelDetached);
        }
        EventType::ChannelMuted => inner.observe::<OnChannelMuted>(&context, event),
        EventType::ChannelUnmuted => inner.observe::<OnChannelUnmuted>(&context, event),
        _ => {}
    }
}

/// Tells of a committed change of a member.
pub(crate) fn announce_member(inner: &Arc<Inner>, room: &RoomSnapshot, event: &Arc<RoomEvent>) {
    let context = inner.context(room.clone());
    match event.event_type {
        EventType::ParticipantJoined => inner.observe::<OnParticipantJoined>(&context, event),
        EventType::ParticipantLeft => inner.observe::<OnParticipantLeft>(&context, event),
        EventType::ParticipantIdentified => {
            inner.observe::<OnParticipantIdentified>(&context, event);
        }
        EventType::ParticipantUpdated => inner.observe::<OnParticipantUpdated>(&context, event),
        _ => {}
    }
}
