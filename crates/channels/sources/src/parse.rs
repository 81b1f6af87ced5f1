//! The JSON that a source reads where the application gives no parser of its own.

use roomkit_core::model::{InboundMessage, Metadata};
use serde::Deserialize;

#[derive(Deserialize)]
struct Wire {
    sender_id: String,
    text: String,
    #[serde(default)]
    external_id: Option<String>,
    #[serde(default)]
    metadata: Metadata,
}

/// Reads a message of the form that sources expect by default:
///
/// ```json
/// {"sender_id": "u1", "text": "Hello", "external_id": "m7", "metadata": {}}
/// ```
///
/// The last two may be absent. A message with an `external_id` that came before is taken for a
/// repeat. `None` for everything else: other JSON, no sender, no text.
#[must_use]
pub fn parse_json(bytes: &[u8]) -> Option<InboundMessage> {
    let wire: Wire = serde_json::from_slice(bytes).ok()?;
    if wire.sender_id.is_empty() || wire.text.is_empty() {
        return None;
    }
    // Whose message it is is said by the source's channel.
    let mut message = InboundMessage::text("", wire.sender_id, wire.text);
    message.metadata = wire.metadata;
    let id = wire.external_id.filter(|id| !id.is_empty());
    message.idempotency_key.clone_from(&id);
    message.external_id = id;
    Some(message)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_messages_are_read() {
        let whole = r#"{"sender_id": "u", "text": "hi", "external_id": "7", "metadata": {"a": 1}}"#;
        let message = parse_json(whole.as_bytes()).unwrap();
        assert_eq!(message.sender_id, "u");
        assert_eq!(message.content.text_body(), Some("hi"));
        assert_eq!(message.external_id.as_deref(), Some("7"));
        assert_eq!(message.idempotency_key.as_deref(), Some("7"));
        assert_eq!(message.metadata.get("a").unwrap(), 1);
        let refused: [&[u8]; 9] = [
            b"",
            b"hello",
            b"[1]",
            br#"{"text": "hi"}"#,
            br#"{"sender_id": "u"}"#,
            br#"{"sender_id": "", "text": "hi"}"#,
            br#"{"sender_id": 7, "text": "hi"}"#,
            br#"{"sender_id": "u", "text": ""}"#,
            b"{\"sender_id\": \"u\", \"text\": \"\xff\"}",
        ];
        for bytes in refused {
            assert_eq!(
                parse_json(bytes),
                None,
                "{:?}",
                String::from_utf8_lossy(bytes)
            );
        }
    }
}
