//! Which events are looked for, and which are kept.

use std::collections::BTreeSet;

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};

use super::channel_type::ChannelType;
use super::event::RoomEvent;
use super::event_type::EventType;
use super::fields::{Fields, FromFields, deserialize_from_fields};
use super::ids::{ChannelId, EventId, ParticipantId};
use super::time;
use super::validate::ValidationError;
use super::visibility::Visibility;

/// Which events of a timeline are looked for; the default lets every one through.
///
/// An event must meet every condition that is there.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct EventFilter {
    /// The types to look for.
    pub event_types: Option<Vec<EventType>>,
    /// The types to leave out, even if they are in `event_types`.
    pub exclude_types: Option<Vec<EventType>>,
    /// The visibility to look for, as it is written.
    pub visibility: Option<Visibility>,
    /// The channel the event came through.
    pub source_channel_id: Option<ChannelId>,
    /// The kind of channel the event came through.
    pub source_channel_type: Option<ChannelType>,
    /// The integrator's reference.
    pub correlation_id: Option<String>,
    /// Who wrote the event.
    pub participant_id: Option<ParticipantId>,
    /// The first event of the thread.
    pub parent_event_id: Option<EventId>,
    /// Whether events that belong to a thread of another are left out. Default: no.
    pub top_level_only: bool,
    /// The time after which the event was made.
    #[serde(with = "time::optional")]
    pub after_time: Option<DateTime<Utc>>,
    /// The time before which the event was made.
    #[serde(with = "time::optional")]
    pub before_time: Option<DateTime<Utc>>,
}

impl EventFilter {
    /// Only events of these types.
    pub fn of_types(types: impl IntoIterator<Item = EventType>) -> Self {
        Self {
            event_types: Some(types.into_iter().collect()),
            ..Self::default()
        }
    }

    /// Only the replies of one thread, by its root.
    pub fn of_thread(root: impl Into<EventId>) -> Self {
        Self {
            parent_event_id: Some(root.into()),
            ..Self::default()
        }
    }

    /// Only what belongs to no thread of another event: roots, and events without replies.
    pub fn top_level() -> Self {
        Self {
            top_level_only: true,
            ..Self::default()
        }
    }

    /// Checks that the conditions can be met together.
    ///
    /// # Errors
    ///
    /// [`ValidationError`] when `after_time` is not before `before_time`, or when a thread is looked for
    /// at the top.
    pub fn validate(&self) -> Result<(), ValidationError> {
        if let (Some(after), Some(before)) = (self.after_time, self.before_time)
            && after >= before
        {
            return Err(ValidationError::new(
                "after_time",
                "must be before before_time",
            ));
        }
        if self.top_level_only && self.parent_event_id.is_some() {
            return Err(ValidationError::new(
                "top_level_only",
                "cannot hold together with parent_event_id",
            ));
        }
        Ok(())
    }

    /// Whether an event meets every condition.
    pub fn matches(&self, event: &RoomEvent) -> bool {
        let source = &event.source;
        let lists = |types: &Vec<EventType>| types.contains(&event.event_type);
        self.event_types.as_ref().is_none_or(lists)
            && !self.exclude_types.as_ref().is_some_and(lists)
            && wanted(&self.visibility, Some(&event.visibility))
            && wanted(&self.source_channel_id, Some(&source.channel_id))
            && wanted(&self.source_channel_type, Some(&source.channel_type))
            && wanted(&self.correlation_id, event.correlation_id.as_ref())
            && wanted(&self.participant_id, source.participant_id.as_ref())
            && wanted(&self.parent_event_id, event.parent_event_id.as_ref())
            && !(self.top_level_only && event.parent_event_id.is_some())
            && self.after_time.is_none_or(|after| event.created_at > after)
            && self
                .before_time
                .is_none_or(|before| event.created_at < before)
    }
}

impl FromFields for EventFilter {
    fn from_fields(fields: &mut Fields) -> Result<Self, ValidationError> {
        let filter = Self {
            event_types: fields.optional("event_types")?,
            exclude_types: fields.optional("exclude_types")?,
            visibility: fields.optional("visibility")?,
            source_channel_id: fields.optional("source_channel_id")?,
            source_channel_type: fields.optional("source_channel_type")?,
            correlation_id: fields.optional("correlation_id")?,
            participant_id: fields.optional("participant_id")?,
            parent_event_id: fields.optional("parent_event_id")?,
            top_level_only: fields.or_default("top_level_only")?,
            after_time: fields.optional_time("after_time")?,
            before_time: fields.optional_time("before_time")?,
        };
        filter.validate()?;
        Ok(filter)
    }
}

deserialize_from_fields!(EventFilter);

/// Whether a value is the one that is looked for, if one is.
fn wanted<T: PartialEq>(condition: &Option<T>, value: Option<&T>) -> bool {
    condition.is_none() || condition.as_ref() == value
}

/// Which types of events are kept in the timeline; the default keeps all.
///
/// Events of other types are delivered and get no index.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct PersistencePolicy {
    /// The types to keep; nothing keeps all.
    pub persist_types: Option<BTreeSet<EventType>>,
    /// The types not to keep, even if they are in `persist_types`.
    pub exclude_types: BTreeSet<EventType>,
}

impl PersistencePolicy {
    /// Whether events of a type are kept.
    pub fn should_persist(&self, event_type: EventType) -> bool {
        !self.exclude_types.contains(&event_type)
            && self
                .persist_types
                .as_ref()
                .is_none_or(|types| types.contains(&event_type))
    }
}
