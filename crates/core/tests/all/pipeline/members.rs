//! Members: who joins, leaves and is renamed, and what of that is told.

use std::sync::{Arc, Mutex};

use roomkit_core::hook::{
    Hook, HookPoint, OnParticipantIdentified, OnParticipantJoined, OnParticipantLeft,
    OnParticipantUpdated,
};
use roomkit_core::model::{
    EventContent, EventType, IdentificationStatus, Identity, Metadata, Participant,
    ParticipantRole, ParticipantStatus, RoomEvent, Visibility,
};
use roomkit_core::{ErrorKind, RoomKit};

use super::support::{Agent, Transport, room_of, say, shared};

type Told = Arc<Mutex<Vec<Arc<RoomEvent>>>>;

/// Registers an observer at each of the points about members.
fn listen(kit: &RoomKit) -> Told {
    fn hear<P: HookPoint<Payload = Arc<RoomEvent>, Returns = ()>>(
        kit: &RoomKit,
        point: P,
        told: &Told,
    ) {
        let told = Arc::clone(told);
        kit.add_hook(Hook::new(point, "hears", move |event, _| {
            let told = Arc::clone(&told);
            async move { told.lock().unwrap().push(event) }
        }));
    }
    let told = Told::default();
    hear(kit, OnParticipantJoined, &told);
    hear(kit, OnParticipantLeft, &told);
    hear(kit, OnParticipantUpdated, &told);
    hear(kit, OnParticipantIdentified, &told);
    told
}

/// What was told, as code and data; the same must be in the timeline.
async fn told(kit: &RoomKit, told: &Told) -> Vec<(String, Metadata)> {
    kit.wait_idle().await;
    let told = std::mem::take(&mut *told.lock().unwrap());
    let mut lines = Vec::new();
    for event in told {
        assert_eq!(*kit.event("r", &event.id).await.unwrap(), *event);
        assert_eq!(event.visibility, Visibility::Internal);
        assert_eq!(event.source.channel_id, *"system");
        let EventContent::System(notice) = &event.content else {
            panic!("{event:?}");
        };
        lines.push((notice.code.clone().unwrap(), notice.data.clone()));
    }
    lines
}

fn line(code: &str, id: &str, key: &str, value: &str) -> (String, Metadata) {
    let data = Metadata::new().with("participant_id", id).with(key, value);
    (code.to_owned(), data)
}

#[tokio::test]
async fn a_member_joins_leaves_and_comes_back_as_one_record() {
    let kit = RoomKit::new();
    kit.create_room("r").await.unwrap();
    let heard = listen(&kit);
    let joined = kit
        .add_member("r", "sms", "alice")
        .display_name("Alice")
        .role(ParticipantRole::Owner)
        .identity("id-1")
        .external_id("crm")
        .metadata(Metadata::new().with("vip", true))
        .await
        .unwrap();
    let mut expected = Participant::new("alice", "r", "sms", joined.joined_at);
    expected.display_name = Some("Alice".into());
    expected.role = ParticipantRole::Owner;
    expected.identification = IdentificationStatus::Identified;
    expected.identity_id = Some("id-1".into());
    expected.external_id = Some("crm".into());
    expected.resolved_at = joined.resolved_at;
    expected.resolved_by = Some("manual".into());
    expected.metadata.insert("vip", true);
    assert_eq!(joined, expected);
    assert_eq!(kit.participant("r", "alice").await.unwrap(), expected);
    assert!(kit.is_member("r", "id-1").await.unwrap());
    assert!(!kit.is_member("r", "id-2").await.unwrap());
    assert_eq!(
        told(&kit, &heard).await,
        [line("participant_joined", "alice", "identity_id", "id-1")]
    );

    // An active member stays what they are; another channel is bookkeeping.
    let again = kit
        .add_member("r", "email", "alice")
        .display_name("Other")
        .role(ParticipantRole::Bot)
        .await
        .unwrap();
    expected.connected_via.push("email".into());
    assert_eq!(again, expected);
    assert_eq!(kit.add_member("r", "sms", "alice").await.unwrap(), expected);
    assert_eq!(told(&kit, &heard).await, []);

    let left = kit.remove_member("r", "alice").await.unwrap();
    expected.status = ParticipantStatus::Left;
    assert_eq!(left, expected);
    assert_eq!(kit.remove_member("r", "alice").await.unwrap(), expected);
    assert_eq!(
        told(&kit, &heard).await,
        [line("participant_left", "alice", "status", "left")]
    );
    assert!(kit.members("r").await.unwrap().is_empty());
    assert!(!kit.is_member("r", "id-1").await.unwrap());
    assert_eq!(kit.participants("r").await.unwrap(), [expected.clone()]);

    // Back over email: the primary channel moves, what was known stays.
    let back = kit.add_member("r", "email", "alice").await.unwrap();
    expected.status = ParticipantStatus::Active;
    expected.channel_id = "email".into();
    expected.connected_via = vec!["email".into(), "sms".into()];
    assert_eq!(back, expected);
    assert_eq!(
        told(&kit, &heard).await,
        [line("participant_joined", "alice", "identity_id", "id-1")]
    );
    assert_eq!(kit.members("r").await.unwrap(), [expected]);
    let types: Vec<_> = kit.timeline("r", 0, 9).await.unwrap();
    let types: Vec<_> = types.iter().map(|event| event.event_type).collect();
    let (joined, left) = (EventType::ParticipantJoined, EventType::ParticipantLeft);
    assert_eq!(types, [joined, left, joined]);
}

#[tokio::test]
async fn a_rename_is_seen_over_every_channel_and_one_that_changes_nothing_is_not_told() {
    let kit = RoomKit::new();
    let (sms, web) = (Transport::new("sms"), Transport::new("web"));
    let names: Arc<Mutex<Vec<Option<String>>>> = Arc::default();
    let seen = Arc::clone(&names);
    let agent = Agent::new("agent", move |event, context| {
        let seen = Arc::clone(&seen);
        async move {
            let id = event.source.participant_id.clone().unwrap();
            let person = context.participant(&id).await?.unwrap();
            seen.lock().unwrap().push(person.display_name);
            Ok(roomkit_core::ChannelOutput::none())
        }
    });
    room_of(&kit, vec![shared(&sms), shared(&web), shared(&agent)]).await;
    kit.add_member("r", "sms", "alice")
        .display_name("Alice")
        .identity("id-1")
        .await
        .unwrap();
    let heard = listen(&kit);
    kit.process_inbound(say("sms", "alice", "hi"))
        .await
        .unwrap();
    let renamed = kit.rename_member("r", "alice", "Ally").await.unwrap();
    assert_eq!(renamed.display_name.as_deref(), Some("Ally"));
    assert_eq!(renamed.identity_id, Some("id-1".into()));
    kit.process_inbound(say("sms", "alice", "it is me"))
        .await
        .unwrap();
    kit.ensure_participant("r", "web", "alice", Some("Nobody"))
        .await
        .unwrap();
    kit.process_inbound(say("web", "alice", "and here"))
        .await
        .unwrap();
    let names = names.lock().unwrap().clone();
    assert_eq!(
        names,
        ["Alice", "Ally", "Ally"].map(|name| Some(name.to_owned()))
    );

    let same = kit.rename_member("r", "alice", "Ally").await.unwrap();
    assert_eq!(same.connected_via, ["sms", "web"]);
    assert_eq!(
        told(&kit, &heard).await,
        [line("participant_updated", "alice", "display_name", "Ally")]
    );
}

#[tokio::test]
async fn a_role_is_set_told_and_holds_for_what_it_allows() {
    let kit = RoomKit::new();
    room_of(&kit, vec![shared(&Transport::new("sms"))]).await;
    let said = kit
        .process_inbound(say("sms", "alice", "hi"))
        .await
        .unwrap();
    let heard = listen(&kit);
    kit.ensure_participant("r", "sms", "boss", None)
        .await
        .unwrap();
    let owner = kit
        .set_member_role("r", "boss", ParticipantRole::Owner)
        .await
        .unwrap();
    assert_eq!(owner.role, ParticipantRole::Owner);
    kit.set_member_role("r", "boss", ParticipantRole::Owner)
        .await
        .unwrap();
    assert_eq!(
        told(&kit, &heard).await,
        [line("participant_role_changed", "boss", "role", "owner")]
    );
    let delete = roomkit_core::model::DeleteContent {
        delete_type: roomkit_core::model::DeleteType::Admin,
        ..roomkit_core::model::DeleteContent::new(said.event.unwrap().id.clone())
    };
    let delete = roomkit_core::model::InboundMessage::new("sms", "boss", delete).in_room("r");
    assert!(!kit.process_inbound(delete).await.unwrap().blocked);
}

#[tokio::test]
async fn a_sender_is_one_record_whatever_made_it() {
    let kit = RoomKit::new();
    let (sms, email) = (Transport::new("sms"), Transport::new("email"));
    room_of(&kit, vec![shared(&sms), shared(&email)]).await;
    let heard = listen(&kit);
    kit.process_inbound(say("sms", "alice", "hi"))
        .await
        .unwrap();
    let made = kit
        .ensure_participant("r", "email", "alice", Some("Alice"))
        .await
        .unwrap();
    assert_eq!(made.channel_id, "sms", "it is not moved");
    assert_eq!(made.connected_via, ["sms", "email"]);
    assert_eq!(made.display_name, None, "it is not renamed");
    let bob = kit
        .ensure_participant("r", "email", "bob", Some("Bob"))
        .await
        .unwrap();
    assert_eq!(bob.display_name.as_deref(), Some("Bob"));
    kit.process_inbound(say("sms", "bob", "hi")).await.unwrap();
    let bob = kit.participant("r", "bob").await.unwrap();
    assert_eq!(bob.connected_via, ["email", "sms"]);
    assert_eq!(kit.participants("r").await.unwrap().len(), 2);
    assert_eq!(told(&kit, &heard).await, [], "nobody joined on purpose");
}

#[tokio::test]
async fn who_somebody_is_may_be_settled_by_hand_once() {
    let kit = RoomKit::new();
    room_of(&kit, vec![shared(&Transport::new("sms"))]).await;
    kit.process_inbound(say("sms", "+15550001111", "hi"))
        .await
        .unwrap();
    let mut identity = Identity::new("id-1");
    identity.display_name = Some("Alice".into());
    kit.store().put_identity(identity).await.unwrap();
    let heard = listen(&kit);
    let id = "+15550001111";
    for _ in 0..2 {
        let known = kit.resolve_participant("r", id, "id-1").await.unwrap();
        assert_eq!(known.identification, IdentificationStatus::Identified);
        assert_eq!(known.identity_id, Some("id-1".into()));
        assert_eq!(known.display_name.as_deref(), Some("Alice"));
        assert_eq!(known.resolved_by.as_deref(), Some("manual"));
    }
    let mut expected = line("participant_identified", id, "identity_id", "id-1");
    expected.1.insert("resolved_by", "manual");
    assert_eq!(told(&kit, &heard).await, [expected]);
    let said = kit.process_inbound(say("sms", id, "me")).await.unwrap();
    let said = said.event.unwrap();
    assert_eq!(said.source.participant_id, Some(id.into()));
    let unknown = kit.resolve_participant("r", id, "id-9").await.unwrap_err();
    assert_eq!(unknown.code(), "identity_not_found");
}

#[tokio::test]
async fn bad_input_and_unknown_people_are_refused() {
    let kit = RoomKit::new();
    kit.create_room("r").await.unwrap();
    macro_rules! fails {
        ($($call:expr => $error:expr),+ $(,)?) => {$(
            let error = $call.await.map(drop).unwrap_err().to_string();
            assert_eq!(error, $error, "{}", stringify!($call));
        )+};
    }
    let unknown = "participant_not_found: room r has no participant u";
    fails!(
        kit.participant("r", "u") => unknown,
        kit.remove_member("r", "u") => unknown,
        kit.ban_member("r", "u") => unknown,
        kit.unban_member("r", "u") => unknown,
        kit.rename_member("r", "u", "U") => unknown,
        kit.set_member_role("r", "u", ParticipantRole::Bot) => unknown,
        kit.add_member("r", "sms", " ") => "invalid_input: participant_id: must not be empty",
        kit.add_member("r", "", "u") => "invalid_input: channel_id: must not be empty",
        kit.add_member("r", "sms", "u").display_name("")
            => "invalid_input: display_name: must not be empty",
        kit.rename_member("r", "u", " ") => "invalid_input: display_name: must not be empty",
        kit.ensure_participant("r", "sms", "", None)
            => "invalid_input: participant_id: must not be empty",
        kit.ensure_participant("r", "sms", "u", Some(""))
            => "invalid_input: display_name: must not be empty",
    );
    assert!(kit.timeline("r", 0, 9).await.unwrap().is_empty());
    assert!(kit.participants("r").await.unwrap().is_empty());
}

#[tokio::test]
async fn a_closed_room_keeps_its_members_as_they_are() {
    let kit = RoomKit::new();
    kit.create_room("r").await.unwrap();
    kit.store()
        .put_identity(Identity::new("id-1"))
        .await
        .unwrap();
    let alice = kit.add_member("r", "sms", "alice").await.unwrap();
    kit.close_room("r").await.unwrap();
    let heard = listen(&kit);
    macro_rules! closed {
        ($($call:expr),+ $(,)?) => {$(
            let error = $call.await.map(drop).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::RoomClosed, "{}", stringify!($call));
        )+};
    }
    closed!(
        kit.add_member("r", "sms", "bob"),
        kit.add_member("r", "email", "alice"),
        kit.ensure_participant("r", "sms", "bob", None),
        kit.remove_member("r", "alice"),
        kit.ban_member("r", "alice"),
        kit.rename_member("r", "alice", "Ally"),
        kit.set_member_role("r", "alice", ParticipantRole::Bot),
        kit.resolve_participant("r", "alice", "id-1"),
    );
    assert_eq!(kit.add_member("r", "sms", "alice").await.unwrap(), alice);
    let same = kit.ensure_participant("r", "sms", "alice", None).await;
    assert_eq!(same.unwrap(), alice);
    assert_eq!(kit.members("r").await.unwrap(), [alice], "reading goes on");
    assert_eq!(told(&kit, &heard).await, []);
    assert_eq!(kit.timeline("r", 0, 9).await.unwrap().len(), 1);
}

/// Whoever is first, the others find them there: one record and one join.
#[tokio::test]
async fn joins_at_once_are_one_join() {
    let kit = RoomKit::new();
    kit.create_room("r").await.unwrap();
    let joins = (0..16).map(|number| {
        let kit = kit.clone();
        async move { kit.add_member("r", format!("c{number}"), "alice").await }
    });
    for joined in futures_util::future::join_all(joins).await {
        joined.unwrap();
    }
    let alice = kit.participant("r", "alice").await.unwrap();
    assert_eq!(alice.connected_via.len(), 16);
    assert_eq!(kit.timeline("r", 0, 99).await.unwrap().len(), 1);
}
