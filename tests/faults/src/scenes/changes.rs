//! Changes of a room and of its bindings.

use std::time::Duration;

use roomkit_core::Result;
use roomkit_core::model::{
    Access, AgentResponsePolicy, EventContent, Metadata, RoomId, RoomStatus, RoomTimers,
};
use roomkit_core::store::{BindingStore, RoomStore};

use super::messages::first_said;
use crate::scene::{Scene, unexpected};
use crate::stage::{ROOM, Stage};

pub(super) const SCENES: &[Scene] = &[
    Scene::change(
        "create a room",
        |stage| Box::pin(async move { stage.kit.create_room("t").await.map(drop_it) }),
        |stage| Box::pin(is_there(stage, "t")),
    ),
    Scene::change(
        "delete a room",
        |stage| Box::pin(async move { stage.kit.delete_room("s").await.map(drop_it) }),
        |stage| Box::pin(async move { Ok(!is_there(stage, "s").await?) }),
    )
    .after(|stage| Box::pin(async move { stage.kit.create_room("s").await.map(drop) })),
    Scene::change(
        "note something about a room",
        |stage| {
            Box::pin(async move {
                let note = Metadata::new().with("noted", true);
                let noted = stage.kit.update_room_metadata(ROOM, note).await;
                noted.map(drop_it)
            })
        },
        |stage| Box::pin(async move { Ok(room(stage).await?.metadata.get("noted").is_some()) }),
    ),
    Scene::change(
        "set what agents' answers ask",
        |stage| {
            Box::pin(async move {
                let policy = AgentResponsePolicy::AddressedOnly;
                let set = stage.kit.set_agent_response_policy(ROOM, policy).await;
                set.map(drop_it)
            })
        },
        |stage| {
            Box::pin(async move {
                let policy = room(stage).await?.agent_response_policy;
                Ok(policy == AgentResponsePolicy::AddressedOnly)
            })
        },
    ),
    Scene::change(
        "attach a channel",
        |stage| Box::pin(async move { stage.kit.attach_channel(ROOM, "late").await.map(drop_it) }),
        |stage| Box::pin(async move { Ok(binding(stage, "late").await?.is_some()) }),
    ),
    Scene::change(
        "detach a channel",
        |stage| Box::pin(async move { stage.kit.detach_channel(ROOM, "side").await.map(drop_it) }),
        |stage| Box::pin(async move { Ok(binding(stage, "side").await?.is_none()) }),
    ),
    Scene::change(
        "mute a channel",
        |stage| Box::pin(async move { stage.kit.mute(ROOM, "side").await.map(drop_it) }),
        |stage| Box::pin(async move { Ok(side(stage).await?.muted) }),
    ),
    Scene::change(
        "unmute a channel",
        |stage| Box::pin(async move { stage.kit.unmute(ROOM, "side").await.map(drop_it) }),
        |stage| Box::pin(async move { Ok(!side(stage).await?.muted) }),
    )
    .after(|stage| Box::pin(async move { stage.kit.mute(ROOM, "side").await.map(drop) })),
    Scene::change(
        "set a channel's access",
        |stage| {
            Box::pin(async move {
                let set = stage.kit.set_access(ROOM, "side", Access::ReadOnly).await;
                set.map(drop_it)
            })
        },
        |stage| Box::pin(async move { Ok(side(stage).await?.access == Access::ReadOnly) }),
    ),
    Scene::change(
        "set a channel's visibility",
        |stage| {
            Box::pin(async move {
                let set = stage.kit.set_visibility(ROOM, "side", "transport").await;
                set.map(drop_it)
            })
        },
        |stage| Box::pin(async move { Ok(side(stage).await?.visibility.as_str() == "transport") }),
    ),
    Scene::change(
        "mute a channel's output",
        |stage| Box::pin(async move { stage.kit.mute_output(ROOM, "side").await.map(drop_it) }),
        |stage| Box::pin(async move { Ok(side(stage).await?.output_muted) }),
    ),
    Scene::change(
        "note something about a channel",
        |stage| {
            Box::pin(async move {
                let note = Metadata::new().with("noted", true);
                let noted = stage.kit.update_binding_metadata(ROOM, "side", note);
                noted.await.map(drop_it)
            })
        },
        |stage| Box::pin(async move { Ok(side(stage).await?.metadata.get("noted").is_some()) }),
    ),
    Scene::change(
        "pause a room",
        |stage| Box::pin(async move { stage.kit.pause_room(ROOM).await.map(drop_it) }),
        |stage| Box::pin(has_status(stage, RoomStatus::Paused)),
    ),
    Scene::change(
        "resume a room",
        |stage| Box::pin(async move { stage.kit.resume_room(ROOM).await.map(drop_it) }),
        |stage| Box::pin(has_status(stage, RoomStatus::Active)),
    )
    .after(|stage| Box::pin(async move { stage.kit.pause_room(ROOM).await.map(drop) })),
    Scene::change(
        "close a room",
        |stage| Box::pin(async move { stage.kit.close_room(ROOM).await.map(drop_it) }),
        |stage| Box::pin(has_status(stage, RoomStatus::Closed)),
    )
    .restored(|stage| Box::pin(async move { stage.kit.reopen_room(ROOM).await.map(drop) })),
    Scene::change(
        "open a room again",
        |stage| Box::pin(async move { stage.kit.reopen_room(ROOM).await.map(drop_it) }),
        |stage| Box::pin(has_status(stage, RoomStatus::Active)),
    )
    .after(|stage| Box::pin(async move { stage.kit.close_room(ROOM).await.map(drop) })),
    Scene::change(
        "archive a room",
        |stage| Box::pin(async move { stage.kit.archive_room("s").await.map(drop_it) }),
        |stage| {
            Box::pin(async move {
                let room = stage.store.memory().room(&RoomId::from("s")).await?;
                Ok(room.is_some_and(|room| room.room.status == RoomStatus::Archived))
            })
        },
    )
    .after(|stage| Box::pin(async move { stage.kit.create_room("s").await.map(drop) })),
    Scene::change(
        "set a room's timers",
        |stage| {
            Box::pin(async move {
                let timers = RoomTimers::pause_after(60);
                stage.kit.set_room_timers(ROOM, timers).await.map(drop_it)
            })
        },
        |stage| {
            Box::pin(
                async move { Ok(room(stage).await?.timers.inactive_after_seconds == Some(60)) },
            )
        },
    ),
    Scene::change(
        "check a room's timers",
        |stage| Box::pin(async move { stage.kit.check_room_timers(ROOM).await.map(drop_it) }),
        |stage| Box::pin(has_status(stage, RoomStatus::Paused)),
    )
    .after(|stage| {
        Box::pin(async move {
            let timers = RoomTimers::pause_after(60);
            stage.kit.set_room_timers(ROOM, timers).await?;
            stage.clock.advance(Duration::from_secs(61));
            Ok(())
        })
    }),
    Scene::change(
        "change a stored event",
        |stage| {
            Box::pin(async move {
                let event = first_said(stage).await?;
                let text = EventContent::text("as it is");
                let changed = stage.kit.update_event(ROOM, event).content(text).await;
                changed.map(drop_it)
            })
        },
        |stage| {
            Box::pin(async move {
                let events = stage.timeline().await?;
                Ok(events.iter().any(|event| event.text() == Some("as it is")))
            })
        },
    )
    .after(|stage| Box::pin(async move { stage.said("as I said it").await.map(drop) })),
    Scene::change(
        "remove a stored event for good",
        |stage| {
            Box::pin(async move {
                let Ok(event) = first_said(stage).await else {
                    return Ok(().into());
                };
                stage.kit.delete_event(ROOM, event).await.map(drop_it)
            })
        },
        |stage| Box::pin(async move { Ok(first_said(stage).await.is_err()) }),
    )
    .after(|stage| Box::pin(async move { stage.said("as I said it").await.map(drop) })),
];

pub(super) fn drop_it<T>(_: T) -> crate::scene::Answer {
    crate::scene::Answer::default()
}

async fn is_there(stage: &Stage, room: &str) -> Result<bool> {
    let found = stage.store.memory().room(&RoomId::from(room)).await?;
    Ok(found.is_some())
}

async fn room(stage: &Stage) -> Result<std::sync::Arc<roomkit_core::model::Room>> {
    let found = stage.store.memory().room(&RoomId::from(ROOM)).await?;
    found
        .map(|found| found.room)
        .ok_or_else(|| unexpected("the room is gone"))
}

async fn has_status(stage: &Stage, status: RoomStatus) -> Result<bool> {
    Ok(room(stage).await?.status == status)
}

type Binding = std::sync::Arc<roomkit_core::model::ChannelBinding>;

async fn binding(stage: &Stage, channel: &str) -> Result<Option<Binding>> {
    let memory = stage.store.memory();
    memory.binding(&RoomId::from(ROOM), &channel.into()).await
}

async fn side(stage: &Stage) -> Result<Binding> {
    let found = binding(stage, "side").await?;
    found.ok_or_else(|| unexpected("the channel is not attached"))
}
