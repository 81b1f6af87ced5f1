//! The steps about answers: asking again, feedback, greetings and the sessions that they begin with.

use roomkit_core::hook::SessionStarted;
use roomkit_core::model::{ChannelId, ChannelType, EventId, ParticipantId, RoomId};
use serde::Deserialize;
use serde_json::{Value, json};

use super::build::Stage;
use super::run::Trouble;
use super::scenario::{OfRoom, Step};
use super::trace;

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RegenerateSpec {
    room: RoomId,
    trigger_index: Option<u64>,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct FeedbackSpec {
    room: RoomId,
    rating: f64,
    index: Option<u64>,
    channel: Option<ChannelId>,
    participant: Option<ParticipantId>,
    comment: Option<String>,
    dimension: Option<String>,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct GreetingSpec {
    room: RoomId,
    channel: Option<ChannelId>,
    text: Option<String>,
    session: Option<String>,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct SessionSpec {
    room: RoomId,
    channel: ChannelId,
    participant: ParticipantId,
    session: Option<String>,
}

impl Stage {
    /// Does a step about answers.
    pub(super) async fn answers(&self, step: &Step) -> Result<Option<Value>, Trouble> {
        Ok(match step {
            Step::RegenerateResponse(spec) => Some(self.regenerate(spec).await?),
            Step::RegenerateTarget(OfRoom { room }) => {
                let room = self.room(room).await?;
                let target = self.rooms.regenerate_target(room).await?;
                Some(json!({ "index": target.map(|event| event.index) }))
            }
            Step::SubmitFeedback(spec) => Some(self.feedback(spec).await?),
            Step::SendGreeting(spec) => Some(self.greeting(spec).await?),
            Step::SessionStarted(spec) => {
                self.session(spec).await?;
                None
            }
            _ => None,
        })
    }

    async fn regenerate(&self, spec: &RegenerateSpec) -> Result<Value, Trouble> {
        let room = self.room(&spec.room).await?;
        let mut call = self.rooms.regenerate_response(&room);
        if let Some(index) = spec.trigger_index {
            call = call.trigger(self.event_at(&room, index).await?);
        }
        let Some(result) = call.await? else {
            return Ok(json!({ "index": null }));
        };
        let index = result.event.map(|event| event.index);
        Ok(json!({ "blocked": result.blocked, "reason": result.reason, "index": index }))
    }

    async fn feedback(&self, spec: &FeedbackSpec) -> Result<Value, Trouble> {
        let room = self.room(&spec.room).await?;
        let mut call = self.rooms.submit_feedback(&room, spec.rating);
        if let Some(index) = spec.index {
            call = call.event(self.event_at(&room, index).await?);
        }
        if let Some(channel) = &spec.channel {
            call = call.channel(channel);
        }
        if let Some(participant) = &spec.participant {
            call = call.participant(participant);
        }
        if let Some(comment) = &spec.comment {
            call = call.comment(comment);
        }
        if let Some(dimension) = &spec.dimension {
            call = call.dimension(dimension);
        }
        let stored = call.await?;
        let index = match stored.metadata.get_str("event_id") {
            Some(id) => self.index_of(&room, &EventId::from(id)).await?,
            None => None,
        };
        Ok(json!({
            "category": stored.category,
            "channel": stored.channel_id,
            "content": stored.content,
            "confidence": stored.confidence,
            "participant": stored.metadata.get_str("participant_id"),
            "index": index,
        }))
    }

    async fn greeting(&self, spec: &GreetingSpec) -> Result<Value, Trouble> {
        let mut call = self.rooms.send_greeting(self.room(&spec.room).await?);
        if let Some(channel) = &spec.channel {
            call = call.channel(channel);
        }
        if let Some(text) = &spec.text {
            call = call.text(text);
        }
        if let Some(session) = &spec.session {
            call = call.session(session);
        }
        let Some(event) = call.await? else {
            return Ok(json!({ "index": null }));
        };
        Ok(json!({ "status": event.status, "index": event.index }))
    }

    async fn session(&self, spec: &SessionSpec) -> Result<(), Trouble> {
        let channel = self.kit.channel(&spec.channel);
        let channel_type = channel.map_or(ChannelType::Websocket, |it| it.channel_type());
        let session = SessionStarted {
            room_id: self.room(&spec.room).await?,
            channel_id: spec.channel.clone(),
            channel_type,
            participant_id: spec.participant.clone(),
            timestamp: self.kit.now(),
            session_id: spec.session.clone(),
        };
        Ok(self.rooms.session_started(session).await?)
    }

    async fn index_of(&self, room: &RoomId, id: &EventId) -> roomkit_core::Result<Option<u64>> {
        let events = trace::timeline(&self.kit, room).await?;
        let found = events.iter().find(|event| event.id == *id);
        Ok(found.map(|event| event.index))
    }
}
