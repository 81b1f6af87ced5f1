//! Payloads at rest: sealed, opened, and refused.

use chrono::DateTime;
use roomkit_core::model::{ChannelType, EventSource, Metadata, RoomEvent, TextContent};
use roomkit_store::{EventRow, PayloadKey, PayloadKeys, event_of};

fn event() -> RoomEvent {
    let mut source = EventSource::new("sms", ChannelType::Sms);
    source.raw_payload = Metadata::new()
        .with("secret", "of the provider")
        .with("n", 0.1);
    let at = DateTime::from_timestamp(1_780_000_000, 0).unwrap();
    RoomEvent::new("r", source, TextContent::new("hello"), at)
}

fn keys(number: u32, byte: u8) -> PayloadKeys {
    PayloadKeys::new(PayloadKey::new(number, [byte; 32]))
}

fn read(row: &EventRow, keys: Option<&PayloadKeys>) -> Result<RoomEvent, String> {
    event_of("e", &row.json, row.payload.as_deref(), keys).map_err(|error| error.to_string())
}

#[test]
fn what_was_sealed_shows_nothing_and_opens_whole() {
    let event = event();
    let keys = keys(1, 7);
    let row = EventRow::of(&event, Some(&keys)).unwrap();
    let payload = row.payload.clone().unwrap();
    let shows = |bytes: &[u8]| bytes.windows(6).any(|part| part == b"secret");
    assert!(!shows(&payload) && !shows(row.json.as_bytes()));
    assert_eq!(read(&row, Some(&keys)).unwrap(), event);
    let again = EventRow::of(&event, Some(&keys)).unwrap();
    assert_ne!(again.payload, row.payload, "the nonce is fresh");
}

#[test]
fn without_a_key_it_is_stored_as_it_is_and_read_with_one_later() {
    let event = event();
    let row = EventRow::of(&event, None).unwrap();
    assert_eq!(read(&row, None).unwrap(), event);
    assert_eq!(read(&row, Some(&keys(1, 7))).unwrap(), event);
}

#[test]
fn an_event_without_a_payload_has_none() {
    let mut event = event();
    event.source.raw_payload = Metadata::new();
    let row = EventRow::of(&event, Some(&keys(1, 7))).unwrap();
    assert_eq!(row.payload, None);
    assert_eq!(read(&row, None).unwrap(), event);
}

#[test]
fn keys_can_be_changed() {
    let event = event();
    let old = EventRow::of(&event, Some(&keys(1, 7))).unwrap();
    let both = keys(2, 9).with_previous(PayloadKey::new(1, [7; 32]));
    assert_eq!(read(&old, Some(&both)).unwrap(), event);
    let new = EventRow::of(&event, Some(&both)).unwrap();
    assert_eq!(read(&new, Some(&keys(2, 9))).unwrap(), event);
    let error = read(&new, Some(&keys(1, 7))).unwrap_err();
    assert!(error.contains("key 2, which is not given"), "{error}");
    assert!(read(&new, None).is_err());
}

#[test]
fn a_wrong_key_another_row_and_a_changed_byte_are_refused() {
    let row = EventRow::of(&event(), Some(&keys(1, 7))).unwrap();
    assert!(read(&row, Some(&keys(1, 8))).is_err());
    let other = EventRow::of(&event(), Some(&keys(1, 7))).unwrap();
    let moved = EventRow {
        payload: row.payload.clone(),
        ..other
    };
    assert!(read(&moved, Some(&keys(1, 7))).is_err());
    let payload = row.payload.clone().unwrap();
    for at in 0..payload.len() {
        let mut payload = payload.clone();
        payload[at] ^= 1;
        let row = EventRow {
            payload: Some(payload),
            ..row.clone()
        };
        assert!(read(&row, Some(&keys(1, 7))).is_err(), "byte {at}");
    }
    for length in 0..payload.len() {
        let row = EventRow {
            payload: Some(payload[..length].to_vec()),
            ..row.clone()
        };
        assert!(read(&row, Some(&keys(1, 7))).is_err(), "{length} bytes");
    }
}

#[test]
fn keys_are_read_from_hexadecimal_digits_and_never_shown() {
    let key = PayloadKey::from_hex(3, &"0aF1".repeat(16)).unwrap();
    let event = event();
    let row = EventRow::of(&event, Some(&PayloadKeys::new(key.clone()))).unwrap();
    let mut bytes = [0x0a; 32];
    bytes
        .iter_mut()
        .skip(1)
        .step_by(2)
        .for_each(|byte| *byte = 0xf1);
    let same = PayloadKeys::new(PayloadKey::new(3, bytes));
    assert_eq!(read(&row, Some(&same)).unwrap(), event);
    assert_eq!(
        format!("{key:?}"),
        r#"PayloadKey { number: 3, key: "<redacted>" }"#
    );
    for wrong in [
        "",
        "00",
        &"zz".repeat(32),
        &"00".repeat(33),
        &"0é".repeat(32),
    ] {
        let error = PayloadKey::from_hex(1, wrong).unwrap_err().to_string();
        assert_eq!(
            error,
            "invalid_input: payload key 1: must be 64 hexadecimal digits"
        );
    }
}

#[test]
fn a_damaged_row_is_named_and_not_quoted() {
    let error = event_of("e7", r#"{"id": "e7", "content": "my secret"}"#, None, None).unwrap_err();
    let shown = format!("{error} {error:?}");
    assert!(
        shown.contains("event e7") && !shown.contains("secret"),
        "{shown}"
    );
}
