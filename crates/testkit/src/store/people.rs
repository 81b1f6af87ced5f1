//! Participants, identities and read markers.

use chrono::TimeDelta;
use roomkit_core::model::{
    ChannelType, Identity, IdentityId, Metadata, OrganizationId, Participant, ParticipantRole,
    ReadMarker,
};
use roomkit_core::store::EventQuery;

use super::TestStore;
use super::sample::{
    after, commit, commit_of, effects, event_of, fill, now, speaker, texts, with_rooms,
};

pub async fn speakers_are_one_record_however_many_channels_they_use(mut test: TestStore) {
    test = with_rooms(test, &["r"]).await;
    let store = &**test.store();
    for (version, channel) in [(0, "sms"), (1, "email"), (2, "sms")] {
        let mut commit = commit("r", version, version);
        commit.at = after(i64::try_from(version).unwrap());
        commit.speaker = Some(speaker("p", "+1", channel));
        store.commit(commit.into()).await.unwrap();
    }
    test.reopen().await;
    let participants = test.store().participants(&"r".into()).await.unwrap();
    let mut expected = Participant::new("p", "r", "sms", now());
    expected.connected_via = vec!["sms".into(), "email".into()];
    assert_eq!(participants, [expected]);
}

pub async fn participants_are_replaced_in_their_place(mut test: TestStore) {
    test = with_rooms(test, &["r", "s"]).await;
    let store = &**test.store();
    let mut several = effects("r");
    several.participants = ["z", "a", "m"]
        .map(|id| Participant::new(id, "r", "sms", now()))
        .into();
    store.commit(several.into()).await.unwrap();
    let mut named = Participant::new("a", "r", "email", after(9));
    named.display_name = Some("Ann".into());
    named.role = ParticipantRole::Owner;
    named.identity_id = Some("identity".into());
    named.candidates = Some(vec!["x".into()]);
    named.external_id = Some("crm".into());
    (named.resolved_at, named.resolved_by) = (Some(after(1)), Some("auto".into()));
    named.metadata = Metadata::new().with("k", "v");
    let mut change = effects("r");
    change.participants = vec![named.clone()];
    change.speaker = Some(speaker("a", "a", "web"));
    store.commit(change.into()).await.unwrap();
    named.connected_via.push("web".into());
    test.reopen().await;
    let store = &**test.store();
    let room = "r".into();
    let people = store.participants(&room).await.unwrap();
    assert_eq!(
        texts(people.iter().map(|one| one.id.clone())),
        ["z", "a", "m"]
    );
    assert_eq!(people[1], named);
    assert_eq!(
        store.participant(&room, &"a".into()).await.unwrap(),
        Some(named)
    );
    assert!(
        store
            .participant(&"s".into(), &"a".into())
            .await
            .unwrap()
            .is_none()
    );
    assert!(store.delete_participant(&room, &"z".into()).await.unwrap());
    assert!(!store.delete_participant(&room, &"z".into()).await.unwrap());
    assert!(
        !store
            .delete_participant(&"s".into(), &"a".into())
            .await
            .unwrap()
    );
    let left = store.participants(&room).await.unwrap();
    assert_eq!(texts(left.iter().map(|one| one.id.clone())), ["a", "m"]);
}

pub async fn identities_are_found_by_address_within_their_organisation(mut test: TestStore) {
    let store = &**test.store();
    let sms = ChannelType::Sms;
    let identity = |id: &str, organization: Option<&str>, addresses: &[&str]| {
        let mut identity = Identity::new(id);
        identity.organization_id = organization.map(Into::into);
        let addresses = addresses.iter().map(|address| (*address).to_owned());
        identity
            .channel_addresses
            .insert("sms".into(), addresses.collect());
        identity
    };
    let mut full = identity("y", Some("acme"), &["+1", "+2"]);
    full.display_name = Some("Ann".into());
    full.email = Some("a@a.example".into());
    full.phone = Some("+1".into());
    full.channel_addresses
        .insert("email".into(), vec!["a@a.example".into()]);
    full.external_id = Some("crm".into());
    full.external_ids.insert("erp".into(), "7".into());
    full.metadata = Metadata::new().with("vip", true);
    for one in [
        full.clone(),
        identity("x", Some("acme"), &["+1"]),
        identity("z", Some("other"), &["+1"]),
        identity("y", None, &["+1"]),
    ] {
        store.put_identity(one).await.unwrap();
    }
    test.reopen().await;
    let store = &**test.store();
    let acme = OrganizationId::from("acme");
    let found = async |organization: Option<&OrganizationId>, kind: &ChannelType, address: &str| {
        let found = store
            .identities_by_address(organization, kind, address)
            .await
            .unwrap();
        texts(found.into_iter().map(|one| one.id))
    };
    assert_eq!(found(Some(&acme), &sms, "+1").await, ["x", "y"]);
    assert_eq!(found(Some(&acme), &sms, "+2").await, ["y"]);
    assert_eq!(
        found(Some(&acme), &ChannelType::Email, "a@a.example").await,
        ["y"]
    );
    assert_eq!(found(None, &sms, "+1").await, ["y"]);
    assert!(
        found(Some(&acme), &ChannelType::Email, "+1")
            .await
            .is_empty()
    );
    assert!(found(None, &sms, "+2").await.is_empty());
    let get = async |organization: Option<&OrganizationId>, id: &str| {
        store
            .identity(organization, &IdentityId::from(id))
            .await
            .unwrap()
    };
    assert_eq!(get(Some(&acme), "y").await, Some(full));
    assert_eq!(get(None, "y").await, Some(identity("y", None, &["+1"])));
    assert_eq!(get(Some(&acme), "z").await, None);

    store
        .put_identity(identity("y", Some("acme"), &["+3"]))
        .await
        .unwrap();
    assert_eq!(
        found(Some(&acme), &sms, "+1").await,
        ["x"],
        "old addresses are gone"
    );
    assert_eq!(found(Some(&acme), &sms, "+3").await, ["y"]);
    assert_eq!(
        found(None, &sms, "+1").await,
        ["y"],
        "the other one's are not"
    );
}

pub async fn read_markers_only_move_forward(mut test: TestStore) {
    test = with_rooms(test, &["r"]).await;
    fill(&**test.store(), "r", 4).await;
    let mut own = event_of("r", 4, "mine");
    own.source.channel_id = "b".into();
    test.store().commit(commit_of(4, own).into()).await.unwrap();
    let marker = |channel: &str, index| ReadMarker {
        room_id: "r".into(),
        channel_id: channel.into(),
        index,
        read_at: after(3) + TimeDelta::microseconds(7),
    };
    let store = &**test.store();
    let unread = async |channel: &str| {
        let unread = store.unread_count(&"r".into(), &channel.into()).await;
        unread.unwrap()
    };
    assert_eq!(
        (unread("b").await, unread("a").await),
        (4, 1),
        "its own do not count"
    );
    assert_eq!(unread("nobody").await, 5);
    for (index, left) in [(2, 1), (1, 1), (3, 0), (0, 0)] {
        store.mark_read(marker("b", index)).await.unwrap();
        assert_eq!(unread("b").await, left, "after {index}");
    }
    store.mark_read(marker("a", 0)).await.unwrap();
    let third = store
        .events(&"r".into(), &EventQuery::first(1).after(1))
        .await
        .unwrap();
    store
        .delete_events(&"r".into(), &[third[0].id.clone()])
        .await
        .unwrap();
    assert_eq!(unread("nobody").await, 4, "what is gone cannot be read");
    test.reopen().await;
    let store = &**test.store();
    let markers = store.read_markers(&"r".into()).await.unwrap();
    assert_eq!(markers, [marker("a", 0), marker("b", 3)]);
    let mut gone = marker("b", 3);
    gone.room_id = "gone".into();
    store.mark_read(gone).await.unwrap();
    assert!(store.read_markers(&"gone".into()).await.unwrap().is_empty());
    assert_eq!(
        store
            .unread_count(&"gone".into(), &"b".into())
            .await
            .unwrap(),
        0
    );
}
