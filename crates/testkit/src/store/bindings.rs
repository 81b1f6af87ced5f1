//! Bindings: their order, and what is remembered of those that went.

use std::sync::Arc;

use roomkit_core::model::{Access, ChannelBinding, Metadata};
use roomkit_core::store::{BindingChange, RoomCommit, RoomSnapshot};

use super::TestStore;
use super::sample::{after, attach, binding, snapshot, texts, with_rooms};

fn ids(room: &RoomSnapshot) -> Vec<String> {
    texts(
        room.bindings
            .iter()
            .map(|binding| binding.channel_id.clone()),
    )
}

pub async fn bindings_keep_their_order_and_detached_ones_are_remembered(mut test: TestStore) {
    test = with_rooms(test, &["r"]).await;
    let store = &**test.store();
    let change = async |change| {
        let version = snapshot(store, "r").await.version;
        let mut commit = RoomCommit::new("r".into(), Some(version), after(1));
        commit.bindings.push(change);
        let receipt = store.commit(commit.into()).await.unwrap().into_first();
        assert_eq!(receipt.version, version + 1);
        assert_eq!(receipt.room.updated_at, after(1));
        receipt
    };
    for channel in ["c", "b", "a"] {
        change(attach("r", channel)).await;
    }
    let mut changed = ChannelBinding::clone(&binding("r", "b"));
    changed.muted = true;
    changed.access = Access::ReadOnly;
    changed.metadata = Metadata::new().with("to", "+15550100");
    let changed = Arc::new(changed);
    let room = change(BindingChange::Put(Arc::clone(&changed))).await;
    assert_eq!(ids(&room), ["c", "b", "a"]);
    assert_eq!(room.bindings[1], changed);
    let room = change(BindingChange::Detach("b".into())).await;
    assert_eq!(ids(&room), ["c", "a"]);
    assert_eq!(texts(room.detached.iter()), ["b"]);
    let room_id = "r".into();
    assert_eq!(store.binding(&room_id, &"b".into()).await.unwrap(), None);
    let of_channel = async || store.rooms_of_channel(None, &"b".into(), 9).await.unwrap();
    assert!(of_channel().await.is_empty());
    let never_there = change(BindingChange::Detach("x".into())).await;
    assert_eq!(texts(never_there.detached.iter()), ["b", "x"]);
    let room = change(attach("r", "b")).await;
    assert_eq!(ids(&room), ["c", "a", "b"]);
    assert_eq!(texts(room.detached.iter()), ["x"]);
    assert_eq!(of_channel().await, ["r"]);

    let version = snapshot(store, "r").await.version;
    let mut several = RoomCommit::new("r".into(), Some(version), after(1));
    several.bindings = vec![
        BindingChange::Detach("c".into()),
        attach("r", "d"),
        attach("r", "c"),
    ];
    let room = store.commit(several.into()).await.unwrap().into_first();
    assert_eq!(
        ids(&room),
        ["a", "b", "d", "c"],
        "changes are made in their order"
    );
    test.reopen().await;
    let store = &**test.store();
    assert_eq!(snapshot(store, "r").await, room);
    assert_eq!(
        store.bindings(&room_id).await.unwrap(),
        room.bindings.to_vec()
    );
    let found = store.binding(&room_id, &"d".into()).await.unwrap();
    assert_eq!(found, room.bindings.get(2).cloned());
    assert!(store.bindings(&"gone".into()).await.unwrap().is_empty());
    with_rooms(test, &["s"]).await;
}
