//! Reading content of any type from JSON.

use serde::de::Error;
use serde::{Deserialize, Deserializer};
use serde_json::{Map, Value};

use super::nesting::Nesting;
use super::{CompositeContent, EditContent, EventContent};
use crate::model::fields::{Fields, FromFields};
use crate::model::validate::ValidationError;

/// Reads content and checks it; what it lies in bounds how deep it may go.
pub(super) fn content(
    map: Map<String, Value>,
    nesting: Nesting,
) -> Result<EventContent, ValidationError> {
    let fields = &mut Fields::new(map);
    let name: String = fields.required("type")?;
    Ok(match name.as_str() {
        "text" => EventContent::Text(FromFields::from_fields(fields)?),
        "rich" => EventContent::Rich(FromFields::from_fields(fields)?),
        "media" => EventContent::Media(FromFields::from_fields(fields)?),
        "audio" => EventContent::Audio(FromFields::from_fields(fields)?),
        "video" => EventContent::Video(FromFields::from_fields(fields)?),
        "location" => EventContent::Location(FromFields::from_fields(fields)?),
        "composite" => EventContent::Composite(CompositeContent::read(fields, nesting)?),
        "system" => EventContent::System(FromFields::from_fields(fields)?),
        "template" => EventContent::Template(FromFields::from_fields(fields)?),
        "edit" => EventContent::Edit(EditContent::read(fields, nesting)?),
        "delete" => {
            nesting.delete()?;
            EventContent::Delete(FromFields::from_fields(fields)?)
        }
        "tool_call" => EventContent::ToolCall(FromFields::from_fields(fields)?),
        unknown => {
            return Err(ValidationError::new(
                "type",
                format_args!("unknown content type `{unknown}`"),
            ));
        }
    })
}

impl<'de> Deserialize<'de> for EventContent {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        content(Map::deserialize(deserializer)?, Nesting::default()).map_err(D::Error::custom)
    }
}

/// Reads the field `content` of a larger model; errors carry the field's name.
pub(in crate::model) fn field<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<EventContent, D::Error> {
    let map = Map::deserialize(deserializer)
        .map_err(|problem| D::Error::custom(ValidationError::new("content", problem)))?;
    content(map, Nesting::default()).map_err(|error| D::Error::custom(error.within("content")))
}
