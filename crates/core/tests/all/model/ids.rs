//! Ids: text that is cheap to pass around.

use std::collections::HashMap;
use std::sync::Arc;

use roomkit_core::model::{ChannelId, EventId, RoomId};

#[test]
fn an_id_is_its_text_however_it_was_made() {
    let id = RoomId::from("room-1");
    assert_eq!(id, RoomId::from(String::from("room-1")));
    assert_eq!(id, RoomId::from(Arc::<str>::from("room-1")));
    assert_eq!(id, RoomId::from(&id));
    assert_eq!(id, "room-1");
    assert_eq!(id, *"room-1");
    assert_eq!(id.as_str(), id.as_ref());
    assert_eq!(format!("{id} {id:?} {id:>8}"), "room-1 \"room-1\"   room-1");
}

#[test]
fn a_map_by_id_is_searched_by_text() {
    let map = HashMap::from([(ChannelId::from("c"), 1)]);
    assert_eq!(map.get("c"), Some(&1));
    let written = serde_json::to_string(&map).unwrap();
    assert_eq!(written, r#"{"c":1}"#);
    assert_eq!(
        serde_json::from_str::<HashMap<ChannelId, i32>>(&written).unwrap(),
        map
    );
}

#[test]
fn generated_ids_are_uuids_that_sort_by_their_making() {
    let ids: Vec<_> = (0..100).map(|_| EventId::generate()).collect();
    for id in &ids {
        let uuid = uuid::Uuid::parse_str(id.as_str()).unwrap();
        assert_eq!(uuid.get_version_num(), 7);
        assert_eq!(uuid.hyphenated().to_string(), id.as_str());
    }
    assert!(ids.is_sorted());
}
