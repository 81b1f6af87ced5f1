//! An event as a row: its JSON, and apart from it what the provider sent.

use std::borrow::Cow;

use roomkit_core::Result;
use roomkit_core::model::{Metadata, RoomEvent};

use crate::json::{from_json, to_json};
use crate::payload::{self, PayloadKeys};

/// The two columns of an event that hold it whole.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EventRow {
    /// The event as JSON, without `raw_payload`.
    pub json: String,
    /// What the provider sent, sealed where there is a key; nothing where it sent nothing.
    pub payload: Option<Vec<u8>>,
}

impl EventRow {
    /// The row of an event.
    ///
    /// # Errors
    /// - [`StoreFailed`](roomkit_core::ErrorKind::StoreFailed) where it cannot be written or sealed.
    /// - [`InvalidInput`](roomkit_core::ErrorKind::InvalidInput) where its content breaks a rule, or
    ///   something in it is nested too deep: it could not be read again.
    pub fn of(event: &RoomEvent, keys: Option<&PayloadKeys>) -> Result<Self> {
        event.validate()?;
        let raw = &event.source.raw_payload;
        let mut event = Cow::Borrowed(event);
        let mut payload = None;
        if !raw.is_empty() {
            payload = Some(payload::seal(&event, raw, keys)?);
            event.to_mut().source.raw_payload = Metadata::new();
        }
        let json = to_json("event", event.id.as_str(), &*event)?;
        Ok(Self { json, payload })
    }
}

/// The event of a row whose id is `id`.
///
/// # Errors
/// [`StoreFailed`](roomkit_core::ErrorKind::StoreFailed) where the row is damaged, or its payload
/// does not open with any of the keys.
pub fn event_of(
    id: &str,
    json: &str,
    payload: Option<&[u8]>,
    keys: Option<&PayloadKeys>,
) -> Result<RoomEvent> {
    let mut event: RoomEvent = from_json("event", id, json)?;
    if let Some(sealed) = payload {
        event.source.raw_payload = payload::open(&event, sealed, keys)?;
    }
    Ok(event)
}
