//! Feedback: what somebody thinks of an answer, or of a conversation.
//!
//! Its rules: RFC §5.11, with the hook of §9.2.

use std::future::IntoFuture;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;

use super::member_change::not_found;
use super::{Rooms, SYSTEM_CHANNEL};
use crate::error::{Error, ErrorKind, Result};
use crate::hook::OnFeedback;
use crate::model::{
    ChannelId, EventId, FrameworkEventType, Metadata, Observation, ParticipantId, Room, RoomId,
};
use crate::pipeline::admit::is_barred;
use crate::pipeline::pass::store_effects;

/// How long a dimension may be, in bytes: it becomes part of a category.
const LONGEST_DIMENSION: usize = 64;

/// How long a comment may be, in bytes.
const LONGEST_COMMENT: usize = 16_384;

/// What is rated where nothing else is said.
const OVERALL: &str = "overall";

/// Stores feedback about a conversation or one answer; await it to do so.
#[derive(Debug)]
#[must_use = "nothing is stored until this is awaited"]
pub struct SubmitFeedback {
    rooms: Rooms,
    room_id: RoomId,
    rating: f64,
    event_id: Option<EventId>,
    channel_id: Option<ChannelId>,
    participant_id: Option<ParticipantId>,
    comment: String,
    dimension: String,
    metadata: Metadata,
}

impl Rooms {
    /// Stores what somebody thinks of a conversation, or of one [event](SubmitFeedback::event) of it, as
    /// an observation of the category `feedback:<dimension>`, whose confidence is the rating: from 0, the
    /// worst, to 1. Hooks at [`OnFeedback`] and listeners of `feedback` are told.
    ///
    /// It is taken at every status of the room, since people are asked when a conversation is over, and
    /// is no event of the timeline. Who may give it is for the application to say; of those who are
    /// [named](SubmitFeedback::participant), all who are in the room and not banned from it.
    ///
    /// ```
    /// # use roomkit_core::{RoomKit, model::TextContent};
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> roomkit_core::Result<()> {
    /// let kit = RoomKit::new();
    /// kit.create_room("support").await?;
    /// let answer = kit.send_event("support", "system", TextContent::new("Done.")).await?;
    /// let stored = kit
    ///     .submit_feedback("support", 0.9)
    ///     .event(&answer.id)
    ///     .dimension("helpfulness")
    ///     .comment("Very helpful")
    ///     .await?;
    /// assert_eq!(stored.category.as_deref(), Some("feedback:helpfulness"));
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// - [`RoomNotFound`](ErrorKind::RoomNotFound).
    /// - [`EventNotFound`](ErrorKind::EventNotFound): the room has no such event, or it is deleted.
    /// - [`ParticipantNotFound`](ErrorKind::ParticipantNotFound),
    ///   [`ParticipantNotAdmitted`](ErrorKind::ParticipantNotAdmitted): banned from the room.
    /// - [`InvalidInput`](ErrorKind::InvalidInput), which names the field: a rating that is not from 0 to
    ///   1, a dimension that is empty or longer than 64 bytes, a comment longer than 16,384 bytes, or a
    ///   channel other than that of the event.
    pub fn submit_feedback(&self, room: impl Into<RoomId>, rating: f64) -> SubmitFeedback {
        SubmitFeedback {
            rooms: self.clone(),
            room_id: room.into(),
            rating,
            event_id: None,
            channel_id: None,
            participant_id: None,
            comment: String::new(),
            dimension: OVERALL.to_owned(),
            metadata: Metadata::new(),
        }
    }
}

impl SubmitFeedback {
    /// The event that is rated. Default: the conversation as a whole.
    pub fn event(mut self, event: impl Into<EventId>) -> Self {
        self.event_id = Some(event.into());
        self
    }

    /// The channel that is rated, such as an agent. Default: that of the event, else `system`.
    pub fn channel(mut self, channel: impl Into<ChannelId>) -> Self {
        self.channel_id = Some(channel.into());
        self
    }

    /// Who thinks so. Default: nobody in particular.
    pub fn participant(mut self, participant: impl Into<ParticipantId>) -> Self {
        self.participant_id = Some(participant.into());
        self
    }

    /// What they say about it. Default: nothing.
    pub fn comment(mut self, comment: impl Into<String>) -> Self {
        self.comment = comment.into();
        self
    }

    /// In what respect, such as `helpfulness`. Default: `overall`.
    pub fn dimension(mut self, dimension: impl Into<String>) -> Self {
        self.dimension = dimension.into();
        self
    }

    /// Data of the application, beside what the feedback says itself. Default: none.
    pub fn metadata(mut self, metadata: Metadata) -> Self {
        self.metadata = metadata;
        self
    }

    fn check(&self) -> Result<()> {
        // What is no number is in no range.
        let problem = if !(0.0..=1.0).contains(&self.rating) {
            "rating: must be from 0 to 1".to_owned()
        } else if self.dimension.trim().is_empty() || self.dimension.len() > LONGEST_DIMENSION {
            format!("dimension: must have 1 to {LONGEST_DIMENSION} bytes")
        } else if self.comment.len() > LONGEST_COMMENT {
            format!("comment: must have at most {LONGEST_COMMENT} bytes")
        } else {
            return Ok(());
        };
        Err(Error::new(ErrorKind::InvalidInput, problem))
    }

    async fn submit(self) -> Result<Observation> {
        let rooms = self.rooms.clone();
        rooms
            .to_end(|inner, scope| async move {
                inner.closing.check()?;
                let snapshot = inner.visible_room(&scope, &self.room_id).await?;
                self.check()?;
                let channel = self.rated_channel(&inner).await?;
                self.admit(&inner, &snapshot.room).await?;
                let observation = self.observation(channel, inner.clock.now());
                let stored = vec![observation.clone()];
                let (tasks, metadata) = (Vec::new(), Metadata::new());
                store_effects(&inner, &self.room_id, tasks, stored, metadata).await?;
                inner.load_hooks(&snapshot.room).await;
                inner.observe::<OnFeedback>(&inner.context(snapshot), &observation);
                inner.emit(FrameworkEventType::Feedback, |notice| {
                    notice.room_id = Some(self.room_id.clone());
                    notice.channel_id = Some(observation.channel_id.clone());
                    notice.event_id.clone_from(&self.event_id);
                    notice.data.insert("dimension", self.dimension.as_str());
                    notice.data.insert("rating", self.rating);
                });
                Ok(observation)
            })
            .await
    }

    async fn rated_channel(&self, inner: &super::Inner) -> Result<ChannelId> {
        let Some(id) = &self.event_id else {
            let channel = self.channel_id.clone();
            return Ok(channel.unwrap_or_else(|| SYSTEM_CHANNEL.clone()));
        };
        let found = inner.read(inner.store.event(&self.room_id, id)).await?;
        let event = found.filter(|event| !event.is_deleted()).ok_or_else(|| {
            let problem = format!("room {} has no event {id}", self.room_id);
            Error::new(ErrorKind::EventNotFound, problem)
        })?;
        let channel = &event.source.channel_id;
        if self
            .channel_id
            .as_ref()
            .is_some_and(|rated| rated != channel)
        {
            let problem = "channel_id: is not the channel of the event";
            return Err(Error::new(ErrorKind::InvalidInput, problem));
        }
        Ok(channel.clone())
    }

    async fn admit(&self, inner: &super::Inner, room: &Room) -> Result<()> {
        let Some(id) = &self.participant_id else {
            return Ok(());
        };
        let found = inner
            .read(inner.store.participant(&self.room_id, id))
            .await?;
        found.ok_or_else(|| not_found(&self.room_id, id))?;
        if is_barred(inner, room, id, None).await? {
            return Err(Error::not_admitted(&self.room_id));
        }
        Ok(())
    }

    fn observation(&self, channel: ChannelId, at: chrono::DateTime<chrono::Utc>) -> Observation {
        let Self {
            rating,
            comment,
            dimension,
            ..
        } = self;
        let mut content = format!("[{dimension}] {rating:.2}");
        if !comment.is_empty() {
            content = format!("{content}: {comment}");
        }
        let category = format!("feedback:{dimension}");
        let mut observation = Observation::new(&self.room_id, channel, category, content, at);
        observation.confidence = *rating;
        observation.metadata = self
            .metadata
            .clone()
            .with("type", "feedback")
            .with("dimension", dimension.as_str())
            .with("rating", *rating)
            .with("comment", comment.as_str());
        if let Some(event) = &self.event_id {
            observation.metadata.insert("event_id", event.as_str());
        }
        if let Some(participant) = &self.participant_id {
            let id = participant.as_str();
            observation.metadata.insert("participant_id", id);
        }
        observation
    }
}

impl IntoFuture for SubmitFeedback {
    type Output = Result<Observation>;
    type IntoFuture = BoxFuture<'static, Self::Output>;

    fn into_future(self) -> Self::IntoFuture {
        self.submit().boxed()
    }
}
