//! The enumerations: each value has one word, and no other word is taken.

use std::collections::BTreeSet;
use std::fmt::{Debug, Display};
use std::str::FromStr;

use roomkit_core::model::{
    Access, AgentResponsePolicy, ChannelCategory, ChannelDirection, ChannelMediaType, ChannelType,
    DeleteType, DeliveryMode, EphemeralEventType, EventStatus, EventType, FrameworkEventType,
    IdentificationStatus, LengthUnit, Overflow, ParticipantRole, ParticipantStatus, RichFormat,
    RoomStatus, TaskStatus, ToolCallStatus, TraceDirection, UnknownValue,
};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

/// Checks that every value is its own word in text and in JSON, and counts the words.
fn words<T>(values: &[T]) -> usize
where
    T: Debug + Display + PartialEq + FromStr + Serialize + DeserializeOwned,
    T::Err: Debug,
{
    let mut words = BTreeSet::new();
    for value in values {
        let word = value.to_string();
        assert_eq!(word.parse::<T>().unwrap(), *value);
        assert_eq!(
            serde_json::to_value(value).unwrap(),
            Value::from(word.as_str())
        );
        assert_eq!(
            serde_json::from_value::<T>(word.as_str().into()).unwrap(),
            *value
        );
        words.insert(word);
    }
    words.len()
}

#[test]
fn every_value_has_a_word_of_its_own() {
    assert_eq!(words(EventType::ALL), 27);
    assert_eq!(words(ChannelType::KNOWN), 23);
    assert_eq!(words(EphemeralEventType::ALL), 14);
    assert_eq!(words(ChannelCategory::ALL), 2);
    assert_eq!(words(ChannelDirection::ALL), 3);
    assert_eq!(words(ChannelMediaType::ALL), 7);
    assert_eq!(words(EventStatus::ALL), 5);
    assert_eq!(words(Access::ALL), 4);
    assert_eq!(words(AgentResponsePolicy::ALL), 2);
    assert_eq!(words(IdentificationStatus::ALL), 6);
    assert_eq!(words(ParticipantRole::ALL), 5);
    assert_eq!(words(ParticipantStatus::ALL), 4);
    assert_eq!(words(TaskStatus::ALL), 5);
    assert_eq!(words(RoomStatus::ALL), 4);
    assert_eq!(words(DeliveryMode::ALL), 3);
    assert_eq!(words(DeleteType::ALL), 3);
    assert_eq!(words(RichFormat::ALL), 2);
    assert_eq!(words(ToolCallStatus::ALL), 3);
    assert_eq!(words(TraceDirection::ALL), 2);
    assert_eq!(words(LengthUnit::ALL), 4);
    assert_eq!(words(Overflow::ALL), 2);
}

#[test]
fn an_unknown_word_is_named_with_its_kind() {
    let error = "shout".parse::<EventType>().unwrap_err();
    assert_eq!(
        error,
        UnknownValue {
            kind: "event type",
            value: "shout".to_owned()
        }
    );
    assert_eq!(error.to_string(), "unknown event type `shout`");
}

#[test]
fn a_custom_channel_type_is_written_with_its_namespace() {
    let slack = ChannelType::custom("slack-2_x").unwrap();
    assert_eq!(slack.to_string(), "custom:slack-2_x");
    assert_eq!(words(&[slack]), 1);
    for namespace in ["", "Slack", "a b", "é", "a:b"] {
        assert!(ChannelType::custom(namespace).is_err(), "{namespace}");
    }
}

#[test]
fn any_framework_event_type_is_read() {
    assert_eq!(FrameworkEventType::KNOWN.len(), 48);
    for known in FrameworkEventType::KNOWN {
        assert_eq!(FrameworkEventType::from(known.as_str()), *known);
        assert!(!matches!(known, FrameworkEventType::Custom(_)));
    }
    let custom = FrameworkEventType::from("tea_is_ready");
    assert_eq!(custom, FrameworkEventType::Custom("tea_is_ready".into()));
    assert_eq!(serde_json::to_value(custom).unwrap(), "tea_is_ready");
}

#[test]
fn access_and_status_say_what_they_allow() {
    let access = Access::ALL
        .iter()
        .map(|access| (access.can_read(), access.can_write()));
    let expected = [(true, true), (true, false), (false, true), (false, false)];
    assert!(access.eq(expected));
    let accepting = RoomStatus::ALL
        .iter()
        .filter(|status| status.accepts_events());
    assert!(accepting.eq(&[RoomStatus::Active, RoomStatus::Paused]));
}
