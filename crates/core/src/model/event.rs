//! The entries of a room's timeline.

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::channel_data::ChannelData;
use super::content::{self, EventContent, SystemContent};
use super::enums::EventStatus;
use super::event_type::EventType;
use super::ids::{ChannelId, EventId, RoomId};
use super::metadata::Metadata;
use super::source::EventSource;
use super::time;
use super::validate::ValidationError;
use super::visibility::Visibility;

/// An event of a room: a message, or anything else that happened there (RFC §5.2).
///
/// Once committed it does not change; an edit makes a new version with the same id, index and source.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RoomEvent {
    /// The event's id. Default when read: a new one.
    #[serde(default = "EventId::generate")]
    pub id: EventId,
    /// The room it belongs to.
    pub room_id: RoomId,
    /// What kind of event it is. Default: message.
    #[serde(rename = "type", default)]
    pub event_type: EventType,
    /// Where it came from.
    pub source: EventSource,
    /// What it says.
    #[serde(deserialize_with = "content::parse::field")]
    pub content: EventContent,
    /// What became of it. Default: pending.
    #[serde(default)]
    pub status: EventStatus,
    /// The hook or the rule that stopped it, where it is blocked.
    #[serde(default)]
    pub blocked_by: Option<String>,
    /// Who sees it. Default: all.
    #[serde(default)]
    pub visibility: Visibility,
    /// The agents that are asked to act (RFC §19.3); nothing asks nobody in particular.
    #[serde(default)]
    pub addressed_to: Option<Vec<ChannelId>>,
    /// Who sees the replies to it; nothing leaves them to the channel that replies.
    #[serde(default)]
    pub response_visibility: Option<Visibility>,
    /// Its place in the timeline, from 0; set when it is committed.
    #[serde(default)]
    pub index: u64,
    /// How many replies lie between it and an event from outside (RFC §8.3). Default: 0.
    #[serde(default)]
    pub chain_depth: u32,
    /// The first event of the thread it belongs to.
    #[serde(default)]
    pub parent_event_id: Option<EventId>,
    /// The integrator's own reference.
    #[serde(default)]
    pub correlation_id: Option<String>,
    /// What tells a repeat of it from a new event.
    #[serde(default)]
    pub idempotency_key: Option<String>,
    /// When it was made.
    #[serde(with = "time")]
    pub created_at: DateTime<Utc>,
    /// The integrator's own data.
    #[serde(default)]
    pub metadata: Metadata,
    /// What the channel's provider adds.
    #[serde(default)]
    pub channel_data: ChannelData,
    /// What became of it at each channel, by the channel's id.
    #[serde(default)]
    pub delivery_results: Metadata,
}

/// The mark of an answer in whose place another came.
pub(crate) const SUPERSEDED_BY: &str = "_superseded_by";

impl RoomEvent {
    /// Makes a pending event with a new id, seen by all, not yet placed in the timeline.
    ///
    /// Its type is edit or delete for such content and message for all else.
    pub fn new(
        room_id: impl Into<RoomId>,
        source: EventSource,
        content: impl Into<EventContent>,
        created_at: DateTime<Utc>,
    ) -> Self {
        let content = content.into();
        Self {
            id: EventId::generate(),
            room_id: room_id.into(),
            event_type: content.event_type(),
            source,
            content,
            status: EventStatus::default(),
            blocked_by: None,
            visibility: Visibility::default(),
            addressed_to: None,
            response_visibility: None,
            index: 0,
            chain_depth: 0,
            parent_event_id: None,
            correlation_id: None,
            idempotency_key: None,
            created_at,
            metadata: Metadata::new(),
            channel_data: ChannelData::default(),
            delivery_results: Metadata::new(),
        }
    }

    /// The body of a plain text event; nothing for any other content. An edit has none of its own:
    /// what looks for words in everything that people say looks at the
    /// [`texts`](EventContent::texts) of the content.
    pub fn text(&self) -> Option<&str> {
        self.content.text_body()
    }

    /// Whether it was stopped by a hook or a permission.
    pub fn is_blocked(&self) -> bool {
        self.status == EventStatus::Blocked
    }

    /// Whether it was deleted: `metadata.deleted` is true. The store keeps what it said, for the
    /// record; who shows events to people or to a model leaves these out.
    pub fn is_deleted(&self) -> bool {
        self.is_marked("deleted")
    }

    /// Whether what it said was removed for good: `metadata.redacted` is true.
    pub fn is_redacted(&self) -> bool {
        self.is_marked("redacted")
    }

    /// Removes what it said and all that came with it. Its id, place, type, source, visibility and
    /// time stay, the marks `edited` and `deleted` with them; the content becomes a notice with the
    /// code `redacted`.
    pub fn redact(&mut self) {
        let kept = ["edited", "deleted"].into_iter().filter_map(|key| {
            let value = self.metadata.get(key)?;
            Some((key, value.clone()))
        });
        self.metadata = kept.collect::<Metadata>().with("redacted", true);
        self.content = SystemContent::new("redacted", "[redacted]").into();
        self.source.raw_payload = Metadata::new();
        self.channel_data = ChannelData::default();
        self.delivery_results = Metadata::new();
    }

    /// Whether its content is a later version: `metadata.edited` is true.
    pub fn is_edited(&self) -> bool {
        self.is_marked("edited")
    }

    /// The answer that took its place, where an agent was asked
    /// [again](crate::Rooms::regenerate_response): `metadata._superseded_by`. Who shows events to people
    /// or to a model leaves the old answer out, or shows it as an earlier one.
    pub fn superseded_by(&self) -> Option<EventId> {
        self.metadata.get_str(SUPERSEDED_BY).map(EventId::from)
    }

    /// Whether a bot outside said it, as far as its channel knows: `metadata.is_bot` is true.
    pub fn is_from_bot(&self) -> bool {
        self.is_marked("is_bot")
    }

    /// Checks the content.
    ///
    /// # Errors
    ///
    /// [`ValidationError`] for the first field that breaks a rule, such as `content.parts[1].url`.
    pub fn validate(&self) -> Result<(), ValidationError> {
        self.content
            .validate()
            .map_err(|error| error.within("content"))
    }

    fn is_marked(&self, key: &str) -> bool {
        self.metadata.get(key) == Some(&Value::Bool(true))
    }
}
