//! Rooms and the people in them.

use roomkit_core::model::{ChannelId, Identity, IdentityResult, Participant, Room, RoomTimers};
use serde_json::json;

use super::noon;

#[test]
fn indexes_start_at_zero_and_go_on_from_the_highest() {
    let mut room = Room::new("r", noon());
    assert_eq!(room.next_index(), 0);
    room.latest_index = Some(0);
    assert_eq!(room.next_index(), 1);
    room.latest_index = Some(12);
    assert_eq!(room.next_index(), 13);
}

#[test]
fn a_room_without_events_has_no_latest_index_whoever_wrote_it() {
    let room = |event_count, latest_index| -> Room {
        serde_json::from_value(json!({
            "id": "r", "created_at": "2026-03-01T12:00:00Z", "event_count": event_count,
            "latest_index": latest_index,
        }))
        .unwrap()
    };
    assert_eq!(room(0, json!(0)).latest_index, None);
    assert_eq!(room(0, json!(null)).latest_index, None);
    assert_eq!(room(1, json!(0)).latest_index, Some(0));
    let written = serde_json::to_value(room(0, json!(0))).unwrap();
    assert_eq!(written["latest_index"], json!(null));
}

#[test]
fn timers_are_off_unless_they_are_set() {
    let timers: RoomTimers = serde_json::from_value(json!({})).unwrap();
    assert_eq!(timers, RoomTimers::default());
    assert_eq!(
        serde_json::to_value(timers).unwrap(),
        json!({
            "inactive_after_seconds": null, "closed_after_seconds": null, "last_activity_at": null,
        })
    );
}

#[test]
fn a_participant_is_reached_first_through_the_channel_they_joined_by() {
    let read = |connected_via| -> Participant {
        serde_json::from_value(json!({
            "id": "p", "room_id": "r", "channel_id": "sms", "joined_at": "2026-03-01T12:00:00Z",
            "connected_via": connected_via,
        }))
        .unwrap()
    };
    for connected_via in [
        json!(["email"]),
        json!(["email", "sms"]),
        json!(["sms", "email"]),
    ] {
        assert_eq!(
            read(connected_via).connected_via,
            ["sms", "email"].map(ChannelId::from)
        );
    }
    assert_eq!(
        Participant::new("p", "r", "sms", noon()).connected_via,
        ["sms"]
    );
}

#[test]
fn results_of_identity_resolution_carry_who_was_found() {
    let found = IdentityResult::identified(Identity::new("i"));
    assert_eq!(found.identity, Some(Identity::new("i")));
    let several = IdentityResult::ambiguous([Identity::new("i"), Identity::new("j")]);
    assert_eq!(several.candidates.len(), 2);
    for result in [found, several, IdentityResult::unknown()] {
        let written = serde_json::to_value(&result).unwrap();
        assert_eq!(
            serde_json::from_value::<IdentityResult>(written).unwrap(),
            result
        );
    }
}
