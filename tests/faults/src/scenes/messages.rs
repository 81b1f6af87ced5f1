//! Messages: each way in which one comes into a room, and each thing that may follow from it.

use roomkit_core::model::{EventContent, Identity, InboundMessage, Room, RoomId};
use roomkit_core::store::{IdentityStore, RoomStore};
use roomkit_core::{Clock, Result};

use crate::parts::STORED;
use crate::scene::{Answer, Scene, unexpected};
use crate::stage::{ROOM, Stage};
use crate::store::KEY;

pub(super) const SCENES: &[Scene] = &[
    Scene::message("a message", |stage| Box::pin(say(stage, "ann", "hello"))),
    Scene::message("a question to an agent", |stage| {
        Box::pin(say(stage, "ann", "really?"))
    }),
    Scene::message("a question whose answer comes in pieces", |stage| {
        Box::pin(say(stage, "ann", "tell me"))
    }),
    Scene::message("a message whose deliveries are not waited for", |stage| {
        Box::pin(async move {
            let message = message("web", "ann", "hello?").in_room(ROOM);
            let (_, handle) = stage.kit.process_inbound_deferred(message).await?;
            Ok(handle.wait().await?.into())
        })
    }),
    Scene::message("a message for the only room of its channel", |stage| {
        Box::pin(async move {
            let message = message("mail", "bob", "hello");
            Ok(stage.kit.process_inbound(message).await?.into())
        })
    }),
    Scene::message("a first message, which makes a room", |stage| {
        Box::pin(async move {
            let message = message("late", "zoe", "hello");
            Ok(stage.kit.process_inbound(message).await?.into())
        })
    }),
    Scene::message("a message for a room that is not there yet", |stage| {
        Box::pin(async move {
            let message = message("web", "ann", "hello").in_room("new");
            Ok(stage.kit.process_inbound(message).await?.into())
        })
    }),
    Scene::message("a message that attaches its channel", |stage| {
        Box::pin(async move {
            let message = message("late", "zoe", "hello").in_room(ROOM);
            Ok(stage.kit.process_inbound(message).await?.into())
        })
    }),
    Scene::message("a message in a room of another process", |stage| {
        Box::pin(async move {
            let message = message("web", "ann", "hello").in_room("elsewhere");
            Ok(stage.kit.process_inbound(message).await?.into())
        })
    })
    .after(|stage| {
        Box::pin(async move {
            let room = Room::new("elsewhere", stage.clock.now());
            stage.store.memory().create_room(room).await.map(drop)
        })
    }),
    Scene::message("a message to which a hook adds another", |stage| {
        Box::pin(say(stage, "ann", "and more"))
    }),
    Scene::message("a message that a hook blocks", |stage| {
        Box::pin(say(stage, "ann", "forbidden"))
    })
    .told("refused: not here"),
    Scene::message("a message of a known sender", |stage| {
        Box::pin(say(stage, "iris", "hello"))
    }),
    Scene::message(
        "a message of a sender who is among the stored identities",
        |stage| Box::pin(say(stage, STORED, "hello")),
    )
    .after(|stage| {
        Box::pin(async move {
            let mut stan = Identity::new("stan-1");
            let addresses = vec![STORED.to_owned()];
            stan.channel_addresses
                .insert("websocket".to_owned(), addresses);
            stage.store.memory().put_identity(stan).await
        })
    }),
    Scene::message("a message of a sender whom a hook makes known", |stage| {
        Box::pin(say(stage, "nora", "hello"))
    }),
    Scene::message("a message of a sender who may be two people", |stage| {
        Box::pin(say(stage, "amy", "hello"))
    }),
    Scene::message("a message of a sender who is asked who they are", |stage| {
        Box::pin(say(stage, "chad", "hello"))
    })
    .told("refused: identity_challenge_sent"),
    Scene::message("a message of somebody who is banned", |stage| {
        Box::pin(say(stage, "mallory", "hello"))
    })
    .after(|stage| {
        Box::pin(async move {
            stage.kit.add_member(ROOM, "web", "mallory").await?;
            stage.kit.ban_member(ROOM, "mallory").await.map(drop)
        })
    })
    .told("refused: participant_not_admitted"),
    Scene::message("a message to a closed room", |stage| {
        Box::pin(say(stage, "ann", "hello"))
    })
    .after(|stage| Box::pin(async move { stage.kit.close_room(ROOM).await.map(drop) }))
    .restored(|stage| Box::pin(async move { stage.kit.reopen_room(ROOM).await.map(drop) }))
    .told("refused: room_closed"),
    Scene::message("a message to a paused room", |stage| {
        Box::pin(say(stage, "ann", "hello"))
    })
    .after(|stage| Box::pin(async move { stage.kit.pause_room(ROOM).await.map(drop) })),
    Scene::message("a message of a muted channel", |stage| {
        Box::pin(async move {
            let message = message("side", "sue", "hello").in_room(ROOM);
            Ok(stage.kit.process_inbound(message).await?.into())
        })
    })
    .after(|stage| Box::pin(async move { stage.kit.mute(ROOM, "side").await.map(drop) }))
    .told("refused: source_muted"),
    Scene::message("an edit", |stage| {
        Box::pin(async move {
            let said = first_said(stage).await?;
            let content = EventContent::edit(said, EventContent::text("as I meant it"));
            change(stage, "ann", content).await
        })
    })
    .after(|stage| Box::pin(async move { stage.said("as I said it").await.map(drop) })),
    Scene::message("an edit by another", |stage| {
        Box::pin(async move {
            let said = first_said(stage).await?;
            let content = EventContent::edit(said, EventContent::text("as I meant it"));
            change(stage, "bob", content).await
        })
    })
    .after(|stage| Box::pin(async move { stage.said("as I said it").await.map(drop) }))
    .told("refused: not_original_author"),
    Scene::message("a delete", |stage| {
        Box::pin(async move {
            let content = EventContent::delete(first_said(stage).await?);
            change(stage, "ann", content).await
        })
    })
    .after(|stage| Box::pin(async move { stage.said("as I said it").await.map(drop) })),
    Scene::message("a reply in a thread", |stage| {
        Box::pin(async move {
            let root = first_said(stage).await?;
            let reply = message("web", "ann", "hello?").in_room(ROOM).parent(root);
            Ok(stage.kit.process_inbound(reply).await?.into())
        })
    })
    .after(|stage| Box::pin(async move { stage.said("as I said it").await.map(drop) })),
    Scene::message("an event that the application sends", |stage| {
        Box::pin(async move {
            let sent = stage
                .kit
                .send_event(ROOM, "side", EventContent::text("hello?"))
                .idempotency_key(KEY);
            Ok(sent.await?.into())
        })
    }),
];

fn message(channel: &str, sender: &str, text: &str) -> InboundMessage {
    InboundMessage::text(channel, sender, text).idempotency_key(KEY)
}

async fn say(stage: &Stage, sender: &str, text: &str) -> Result<Answer> {
    let message = message("web", sender, text).in_room(ROOM);
    Ok(stage.kit.process_inbound(message).await?.into())
}

async fn change(stage: &Stage, sender: &str, content: EventContent) -> Result<Answer> {
    let change = InboundMessage::new("web", sender, content)
        .in_room(ROOM)
        .idempotency_key(KEY);
    Ok(stage.kit.process_inbound(change).await?.into())
}

/// The event that was said to prepare a scene.
pub(super) async fn first_said(stage: &Stage) -> Result<roomkit_core::model::EventId> {
    let room = RoomId::from(ROOM);
    let events = stage.timeline().await?;
    let said = events
        .iter()
        .find(|event| event.room_id == room && event.source.participant_id.is_some());
    said.map(|event| event.id.clone())
        .ok_or_else(|| unexpected("nothing was said"))
}
