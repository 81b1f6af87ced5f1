//! What the kit does by itself, and calls of which nothing is stored.

use std::sync::Mutex;
use std::time::Duration;

use roomkit_core::hook::{BeforeTts, HookVerdict};
use roomkit_core::model::{
    DeliveryStatus, InboundMessage, Metadata, RoomId, RoomStatus, RoomTimers, WebhookItem,
};
use roomkit_core::source::{SourceEmitter, SourceProvider};
use roomkit_core::store::{EventQuery, EventStore, RoomStore};
use roomkit_core::{Error, Result, async_trait};

use super::changes::drop_it;
use super::messages::first_said;
use crate::probe::{Moment, Part, Probe};
use crate::scene::{Answer, Kind, Scene, unexpected};
use crate::stage::{ROOM, Stage};
use crate::store::KEY;

pub(super) const SCENES: &[Scene] = &[
    Scene::of(Kind::Call, "publish an ephemeral event", |stage| {
        Box::pin(async move {
            let published = stage.kit.publish_typing(ROOM, "ann", true).await;
            published.map(drop_it)
        })
    }),
    Scene::of(Kind::Call, "subscribe to a room and end it", |stage| {
        Box::pin(async move {
            let subscription = stage.kit.subscribe_room(ROOM, |_| async {}).await?;
            stage.kit.unsubscribe_room(&subscription).await.map(drop_it)
        })
    }),
    Scene::of(Kind::Call, "run the hooks of a point", |stage| {
        Box::pin(async move {
            let verdict = stage.kit.run_hooks(BeforeTts, ROOM, "hello".into()).await?;
            Ok(match verdict {
                HookVerdict::Allowed(_) => Answer::default(),
                HookVerdict::Blocked { reason, .. } => Answer {
                    refused: Some(reason),
                    ..Answer::default()
                },
            })
        })
    }),
    Scene::change(
        "take a provider's report",
        |stage| {
            Box::pin(async move {
                let event = first_said(stage).await?;
                let id = format!("desk-{event}");
                let mut status = DeliveryStatus::new("provider", id, "delivered");
                status.channel_id = Some("desk".into());
                stage.kit.process_delivery_status(status).await.map(drop_it)
            })
        },
        |stage| {
            Box::pin(async move {
                super::super::drive::turns().await;
                Ok(stage.times_heard("delivery_status_changed") == 1)
            })
        },
    )
    .after(|stage| Box::pin(async move { stage.said("report me").await.map(drop) })),
    Scene::message("a message of a webhook", |stage| {
        Box::pin(async move {
            let mut message = InboundMessage::text("side", "sue", "hello").in_room(ROOM);
            message.idempotency_key = Some(KEY.to_owned());
            let items = [WebhookItem::Message(Box::new(message))];
            let mut taken = stage.kit.process_webhook("side", items).await;
            match taken.pop() {
                Some(Ok(roomkit_core::WebhookOutcome::Message(result))) => Ok((*result).into()),
                Some(Err(error)) => Err(error),
                _ => Err(unexpected("the webhook brought something else")),
            }
        })
    }),
    Scene::of(Kind::Source, "a message of a source", |stage| {
        Box::pin(async move {
            // Attached already where the scene is played again.
            let lines = Lines::new(&stage.probe);
            let _ = stage
                .kit
                .attach_source("feed", lines)
                .restart_delay(Duration::from_secs(1))
                .await;
            while !has_message(stage).await? {
                tokio::task::yield_now().await;
            }
            Ok(().into())
        })
    })
    .restored(|stage| Box::pin(async move { stage.kit.detach_source("feed").await })),
    Scene::of(Kind::Sweep, "a room that goes quiet", |stage| {
        Box::pin(async move {
            let room = RoomId::from(ROOM);
            let is_paused = async || {
                let found = stage.store.memory().room(&room).await?;
                Ok::<_, Error>(found.is_some_and(|it| it.room.status == RoomStatus::Paused))
            };
            while !is_paused().await? {
                tokio::task::yield_now().await;
            }
            Ok(().into())
        })
    })
    .after(|stage| {
        Box::pin(async move {
            // Beyond the next time at which the sweeper lists all rooms.
            let timers = RoomTimers::pause_after(1_000);
            stage.kit.set_room_timers(ROOM, timers).await.map(drop)
        })
    })
    .restored(|stage| {
        Box::pin(async move {
            let never = RoomTimers::default();
            stage.kit.set_room_timers(ROOM, never).await.map(drop)
        })
    }),
    Scene::of(Kind::Close, "close the kit", |stage| {
        Box::pin(async move {
            let report = stage.kit.close(Duration::from_secs(10)).await?;
            if report.is_clean() {
                return Ok(().into());
            }
            Err(unexpected("something was left"))
        })
    }),
];

async fn has_message(stage: &Stage) -> Result<bool> {
    let (memory, room) = (stage.store.memory(), RoomId::from(ROOM));
    let events = memory.events(&room, &EventQuery::last(20)).await?;
    let is_it = |key: &Option<String>| key.as_deref() == Some(KEY);
    Ok(events.iter().any(|event| is_it(&event.idempotency_key)))
}

/// A source that has one thing to say, and is quiet then.
struct Lines {
    probe: Probe,
    taken: Mutex<bool>,
}

impl Lines {
    fn new(probe: &Probe) -> Self {
        Self {
            probe: probe.clone(),
            taken: Mutex::new(false),
        }
    }
}

#[async_trait]
impl SourceProvider for Lines {
    fn name(&self) -> &str {
        self.probe.at_sync(Part::Source, "name");
        "lines"
    }

    async fn start(&self, emit: SourceEmitter) -> Result<()> {
        self.probe.at(Part::Source, "start", Moment::Before).await?;
        emit.connected();
        let is_taken = self.taken.lock().is_ok_and(|taken| *taken);
        if !is_taken {
            let line = InboundMessage::text("feed", "fred", "news").in_room(ROOM);
            let result = emit.emit(line.idempotency_key(KEY)).await?;
            if result.blocked {
                return Err(Error::source("it was not taken"));
            }
            if let Ok(mut taken) = self.taken.lock() {
                *taken = true;
            }
        }
        self.probe.at(Part::Source, "said", Moment::Before).await?;
        emit.stopped().await;
        Ok(())
    }

    async fn stop(&self) {
        self.probe.at_infallible(Part::Source, "stop").await;
    }

    fn details(&self) -> Metadata {
        Metadata::new()
    }
}
