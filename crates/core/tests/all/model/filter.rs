//! Which events a filter finds and a policy keeps.

use chrono::TimeDelta;
use roomkit_core::model::{
    ChannelType, EventContent, EventFilter, EventSource, EventType, PersistencePolicy, RoomEvent,
    Visibility,
};

use super::noon;

fn event() -> RoomEvent {
    let mut source = EventSource::new("c", ChannelType::Sms);
    source.participant_id = Some("p".into());
    let mut event = RoomEvent::new("r", source, EventContent::text("x"), noon());
    event.correlation_id = Some("k".to_owned());
    event.parent_event_id = Some("root".into());
    event
}

#[test]
fn each_condition_lets_through_what_meets_it_and_nothing_else() {
    let second = TimeDelta::seconds(1);
    let any = EventFilter::default;
    let cases = [
        (any(), true),
        (
            EventFilter {
                event_types: Some(vec![EventType::Message]),
                ..any()
            },
            true,
        ),
        (
            EventFilter {
                event_types: Some(vec![EventType::System]),
                ..any()
            },
            false,
        ),
        (
            EventFilter {
                event_types: Some(vec![]),
                ..any()
            },
            false,
        ),
        (
            EventFilter {
                exclude_types: Some(vec![EventType::System]),
                ..any()
            },
            true,
        ),
        (
            EventFilter {
                event_types: Some(vec![EventType::Message]),
                exclude_types: Some(vec![EventType::Message]),
                ..any()
            },
            false,
        ),
        (
            EventFilter {
                visibility: Some(Visibility::All),
                ..any()
            },
            true,
        ),
        (
            EventFilter {
                visibility: Some(Visibility::Internal),
                ..any()
            },
            false,
        ),
        (
            EventFilter {
                source_channel_id: Some("c".into()),
                ..any()
            },
            true,
        ),
        (
            EventFilter {
                source_channel_id: Some("d".into()),
                ..any()
            },
            false,
        ),
        (
            EventFilter {
                source_channel_type: Some(ChannelType::Sms),
                ..any()
            },
            true,
        ),
        (
            EventFilter {
                source_channel_type: Some(ChannelType::Mms),
                ..any()
            },
            false,
        ),
        (
            EventFilter {
                correlation_id: Some("k".to_owned()),
                ..any()
            },
            true,
        ),
        (
            EventFilter {
                correlation_id: Some("l".to_owned()),
                ..any()
            },
            false,
        ),
        (
            EventFilter {
                participant_id: Some("p".into()),
                ..any()
            },
            true,
        ),
        (
            EventFilter {
                participant_id: Some("q".into()),
                ..any()
            },
            false,
        ),
        (
            EventFilter {
                parent_event_id: Some("root".into()),
                ..any()
            },
            true,
        ),
        (
            EventFilter {
                parent_event_id: Some("other".into()),
                ..any()
            },
            false,
        ),
        (
            EventFilter {
                top_level_only: true,
                ..any()
            },
            false,
        ),
        (
            EventFilter {
                after_time: Some(noon() - second),
                ..any()
            },
            true,
        ),
        (
            EventFilter {
                after_time: Some(noon()),
                ..any()
            },
            false,
        ),
        (
            EventFilter {
                before_time: Some(noon() + second),
                ..any()
            },
            true,
        ),
        (
            EventFilter {
                before_time: Some(noon()),
                ..any()
            },
            false,
        ),
    ];
    for (filter, expected) in cases {
        assert_eq!(filter.matches(&event()), expected, "{filter:?}");
        let written = serde_json::to_value(&filter).unwrap();
        assert_eq!(
            serde_json::from_value::<EventFilter>(written).unwrap(),
            filter
        );
    }
}

#[test]
fn an_event_outside_of_threads_is_at_the_top() {
    let mut event = event();
    event.parent_event_id = None;
    let top = EventFilter {
        top_level_only: true,
        ..EventFilter::default()
    };
    assert!(top.matches(&event));
    let thread = EventFilter {
        parent_event_id: Some("root".into()),
        ..EventFilter::default()
    };
    assert!(!thread.matches(&event));
}

#[test]
fn a_policy_keeps_what_is_listed_and_not_excluded() {
    let (message, typing) = (EventType::Message, EventType::Typing);
    let keep = |persist: Option<&[EventType]>, exclude: &[EventType], event_type| {
        PersistencePolicy {
            persist_types: persist.map(|types| types.iter().copied().collect()),
            exclude_types: exclude.iter().copied().collect(),
        }
        .should_persist(event_type)
    };
    assert!(keep(None, &[], typing));
    assert!(!keep(None, &[typing], typing));
    assert!(keep(Some(&[message]), &[], message));
    assert!(!keep(Some(&[message]), &[], typing));
    assert!(!keep(Some(&[message]), &[message], message));
}
