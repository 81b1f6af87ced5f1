//! Full-text search: what a word is, which words an event is found by, and the query.
//!
//! Every store uses these words, so that the same query finds the same events in each of them.

use std::collections::BTreeSet;

use unicode_segmentation::UnicodeSegmentation;

use crate::model::{OrganizationId, RoomEvent, RoomId};

/// The most characters of a word that are looked at; what is longer is found by its beginning.
const WORD_LENGTH: usize = 128;

/// Which events [`EventStore::search_events`](super::EventStore::search_events) looks for.
///
/// An event is found when every word of `text` is among its words. Answers come newest first, by
/// time of creation, then by room and index.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct EventSearch {
    /// The words; case does not matter. A text without any word finds nothing.
    pub text: String,
    /// Only in this room. Default: in all.
    pub room_id: Option<RoomId>,
    /// Only in rooms of this organisation. Default: in those of all.
    pub organization_id: Option<OrganizationId>,
    /// How many found events are skipped. Default: none.
    pub offset: usize,
    /// How many events are returned at most.
    pub limit: usize,
}

impl EventSearch {
    /// A search in all rooms.
    pub fn new(text: impl Into<String>, limit: usize) -> Self {
        Self {
            text: text.into(),
            room_id: None,
            organization_id: None,
            offset: 0,
            limit,
        }
    }

    /// Only in this room.
    #[must_use]
    pub fn room(mut self, room: impl Into<RoomId>) -> Self {
        self.room_id = Some(room.into());
        self
    }

    /// Only in rooms of this organisation.
    #[must_use]
    pub fn organization(mut self, organization: impl Into<OrganizationId>) -> Self {
        self.organization_id = Some(organization.into());
        self
    }

    /// Skips the first `offset` found events.
    #[must_use]
    pub fn offset(mut self, offset: usize) -> Self {
        self.offset = offset;
        self
    }

    /// The words that an event must have.
    #[must_use]
    pub fn words(&self) -> BTreeSet<String> {
        words(&self.text).collect()
    }
}

/// The words of a text, as they come, in lower case: what Unicode (UAX #29) calls words, at most
/// 128 characters of each.
///
/// ```
/// use roomkit_core::store::words;
///
/// let found: Vec<String> = words("Can't find INVOICE №12/34: «Grüße»").collect();
/// assert_eq!(found, ["can't", "find", "invoice", "12", "34", "grüße"]);
/// ```
pub fn words(text: &str) -> impl Iterator<Item = String> {
    text.unicode_words().map(|word| {
        let lower = word.chars().flat_map(char::to_lowercase);
        lower.filter(|c| *c != '\0').take(WORD_LENGTH).collect()
    })
}

/// The words that an event is found by: those of every text in its content.
///
/// A blocked, deleted or redacted event is found by none.
#[must_use]
pub fn words_of(event: &RoomEvent) -> BTreeSet<String> {
    if event.is_blocked() || event.is_deleted() || event.is_redacted() {
        return BTreeSet::new();
    }
    event.content.texts().into_iter().flat_map(words).collect()
}
