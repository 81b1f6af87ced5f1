//! Ephemeral events: the steps that publish them, and what those who listen have heard.

use std::collections::{BTreeMap, HashMap};
use std::time::Duration;

use roomkit_core::Result;
use roomkit_core::model::{EphemeralEvent, EventId, RoomId};
use serde_json::{Value, json};

use super::build::Stage;
use super::run::Trouble;
use super::scenario::{Publish, Step};
use super::trace::{self, Indexes};

impl Stage {
    /// Subscribes to a room whose ephemeral events are part of the trace.
    pub(super) async fn listen(&mut self, room: &RoomId) -> Result<()> {
        let heard = self.ephemeral.clone();
        self.listened.push(room.clone());
        let note = move |event| {
            heard.push(event);
            async {}
        };
        self.rooms.subscribe_room(room, note).await.map(drop)
    }

    /// Does a step that publishes something; `None` for every other.
    pub(super) async fn publish(&self, step: &Step) -> Option<Result<(), Trouble>> {
        let kit = &self.rooms;
        let done = async {
            match step {
                Step::Publish(spec) => kit.publish(self.made(spec).await?).await?,
                Step::Typing(spec) => {
                    let room = self.room(&spec.room).await?;
                    kit.publish_typing(room, &*spec.user, spec.is_typing)
                        .await?;
                }
                Step::Presence(spec) => {
                    let room = self.room(&spec.room).await?;
                    kit.publish_presence(room, &*spec.user, &*spec.status)
                        .await?;
                }
                Step::Reaction(spec) => {
                    let room = self.room(&spec.room).await?;
                    let target = self.at(&room, spec.target_index).await?;
                    let (user, emoji) = (&*spec.user, &*spec.emoji);
                    if spec.remove {
                        kit.publish_reaction_removed(room, user, target, emoji)
                            .await?;
                    } else {
                        kit.publish_reaction(room, user, target, emoji).await?;
                    }
                }
                Step::ReadReceipt(spec) => {
                    let room = self.room(&spec.room).await?;
                    let target = self.at(&room, spec.target_index).await?;
                    kit.publish_read_receipt(room, &*spec.user, target).await?;
                }
                _ => return Ok(false),
            }
            // Who listens is told in a task of its own, which has its turn before time passes.
            tokio::time::sleep(Duration::from_millis(1)).await;
            Ok(true)
        };
        match done.await {
            Ok(false) => None,
            Ok(true) => Some(Ok(())),
            Err(trouble) => Some(Err(trouble)),
        }
    }

    async fn made(&self, spec: &Publish) -> Result<EphemeralEvent> {
        let room = self.room(&spec.room).await?;
        let mut event =
            EphemeralEvent::new(room, spec.event_type, spec.user.as_str(), self.kit.now());
        event.channel_id.clone_from(&spec.channel);
        event.data = spec.data.clone();
        Ok(event)
    }

    async fn at(&self, room: &RoomId, index: u64) -> Result<EventId, Trouble> {
        let events = trace::timeline(&self.kit, room).await?;
        let found = events.iter().find(|event| event.index == index);
        found.map(|event| event.id.clone()).ok_or_else(|| {
            Trouble::Scenario(format!("target_index: room {room} has no event {index}"))
        })
    }
}

/// What was heard of each room that is listened to; `None` where none is.
pub(super) fn of(
    stage: &Stage,
    names: &HashMap<RoomId, String>,
    indexes: &Indexes,
) -> Option<BTreeMap<String, Vec<Value>>> {
    if stage.listened.is_empty() {
        return None;
    }
    let mut heard: BTreeMap<String, Vec<Value>> = BTreeMap::new();
    for event in stage.ephemeral.entries() {
        let name = names.get(&event.room_id).cloned().unwrap_or_default();
        let mut data = serde_json::to_value(&event.data).unwrap_or_default();
        if let Value::Object(data) = &mut data {
            for key in ["event_id", "target_event_id"] {
                let id = data.get(key).and_then(Value::as_str);
                if let Some(index) = id.and_then(|id| indexes.get(id)) {
                    data.insert(key.to_owned(), json!(format!("#{index}")));
                }
            }
        }
        heard.entry(name).or_default().push(json!({
            "type": event.event_type,
            "user": event.user_id,
            "channel": event.channel_id,
            "data": data,
        }));
    }
    Some(heard)
}
