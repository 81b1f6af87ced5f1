//! What is asked of agents beside an answer: to answer again, to greet, to stop; and what people think
//! of an answer.

use std::sync::Arc;

use futures_util::FutureExt;
use futures_util::future::{Either, select};
use roomkit_core::Result;
use roomkit_core::hook::SessionStarted;
use roomkit_core::model::{ChannelType, InboundMessage, RoomId};
use roomkit_core::store::WorkStore;
use tokio::sync::Notify;

use super::changes::drop_it;
use crate::scene::{Answer, Kind, Scene};
use crate::stage::{ROOM, Stage};
use crate::store::KEY;

pub(super) const SCENES: &[Scene] = &[
    Scene::of(Kind::Again, "answer once more", |stage| {
        Box::pin(async move {
            let again = stage.kit.regenerate_response(ROOM).await?;
            Ok(again.map(Answer::from).unwrap_or_default())
        })
    })
    .after(|stage| Box::pin(async move { stage.said("really?").await.map(drop) })),
    Scene::of(
        Kind::Call,
        "ask what would be answered once more",
        |stage| Box::pin(async move { stage.kit.regenerate_target(ROOM).await.map(drop_it) }),
    )
    .after(|stage| Box::pin(async move { stage.said("hello").await.map(drop) })),
    Scene::message("a greeting that the application sends", |stage| {
        Box::pin(async move {
            let greeted = stage.kit.send_greeting(ROOM).channel("greeter").await?;
            Ok(greeted.map_or_else(
                || Answer {
                    refused: Some("nothing to say".to_owned()),
                    ..Answer::default()
                },
                Answer::from,
            ))
        })
    })
    .after(|stage| Box::pin(with_greeter(stage))),
    Scene::of(
        Kind::Session,
        "a session that begins with a greeting",
        |stage| {
            Box::pin(async move {
                let session = SessionStarted {
                    room_id: ROOM.into(),
                    channel_id: "web".into(),
                    channel_type: ChannelType::Websocket,
                    participant_id: "ann".into(),
                    timestamp: roomkit_core::Clock::now(&stage.clock),
                    session_id: None,
                };
                stage.kit.session_started(session).await.map(drop_it)
            })
        },
    )
    .after(|stage| Box::pin(with_greeter(stage))),
    Scene::message("a question whose answer is cancelled", |stage| {
        Box::pin(cancelled(stage))
    }),
    Scene::read("cancel an answer that is not given", |stage| {
        Box::pin(async move { stage.kit.cancel_answer(ROOM, "teller").await.map(drop_it) })
    }),
    Scene::change(
        "give feedback",
        |stage| {
            Box::pin(async move {
                let event = super::messages::first_said(stage).await?;
                let feedback = stage.kit.submit_feedback(ROOM, 0.5).event(event);
                feedback.participant("ann").await.map(drop_it)
            })
        },
        |stage| {
            Box::pin(async move {
                let memory = stage.store.memory();
                let observations = memory.observations(&RoomId::from(ROOM)).await?;
                let is_feedback = |category: Option<&str>| category == Some("feedback:overall");
                Ok(observations
                    .iter()
                    .any(|observation| is_feedback(observation.category.as_deref())))
            })
        },
    )
    .after(|stage| Box::pin(async move { stage.said("rate me").await.map(drop) })),
];

async fn with_greeter(stage: &Stage) -> Result<()> {
    stage.kit.attach_channel(ROOM, "greeter").await.map(drop)
}

/// Lets the agent go on, however the scene ends.
struct GoesOn(Arc<Notify>);

impl Drop for GoesOn {
    fn drop(&mut self) {
        self.0.notify_one();
    }
}

/// Somebody asks for a story, and has enough of it after its first piece.
async fn cancelled(stage: &Stage) -> Result<Answer> {
    let goes_on = GoesOn(Arc::clone(&stage.tale.goes_on));
    let message = InboundMessage::text("web", "ann", "tell me slowly")
        .in_room(ROOM)
        .idempotency_key(KEY);
    let call = stage.kit.process_inbound(message).boxed();
    match select(call, Box::pin(stage.tale.begun.notified())).await {
        Either::Left((result, _)) => Ok(result?.into()),
        Either::Right(((), call)) => {
            // Where it cannot be cancelled it is told to its end.
            let _ = stage.kit.cancel_answer(ROOM, "teller").await;
            drop(goes_on);
            Ok(call.await?.into())
        }
    }
}
