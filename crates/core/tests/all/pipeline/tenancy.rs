//! A room of another organisation is not found, by whatever call.

use roomkit_core::hook::SessionStarted;
use roomkit_core::model::{
    Access, AgentResponsePolicy, ChannelType, DeliveryStatus, EphemeralEventType, Identity,
    InboundMessage, Metadata, ParticipantRole, RoomTimers, TextContent,
};
use roomkit_core::store::{EventQuery, EventSearch, Page, RoomFilter};
use roomkit_core::{RoomKit, RoomOptions, Rooms};

use super::support::Transport;

#[tokio::test]
async fn every_call_of_another_organisation_is_answered_with_room_not_found() {
    let kit = RoomKit::new();
    kit.register_channel(Transport::new("a")).unwrap();
    kit.org("acme").create_room("r").await.unwrap();
    kit.org("acme").attach_channel("r", "a").await.unwrap();
    let other = kit.org("other");
    let text = || TextContent::new("x");
    macro_rules! not_found {
        ($($call:expr),+ $(,)?) => {$(
            assert_eq!($call.await.map(drop).unwrap_err().code(), "room_not_found", "{}", stringify!($call));
        )+};
    }
    not_found!(
        other.room("r"),
        other.close_room("r"),
        other.pause_room("r"),
        other.resume_room("r"),
        other.reopen_room("r"),
        other.archive_room("r"),
        other.set_room_timers("r", RoomTimers::default()),
        other.check_room_timers("r"),
        other.delete_room("r"),
        other.update_room_metadata("r", Metadata::new()),
        other.set_agent_response_policy("r", AgentResponsePolicy::AddressedOnly),
        other.search_events(EventSearch::new("words", 9).room("r")),
        other.bindings("r"),
        other.binding("r", "a"),
        other.attach_channel("r", "a"),
        other.detach_channel("r", "a"),
        other.mute("r", "a"),
        other.unmute("r", "a"),
        other.mute_output("r", "a"),
        other.unmute_output("r", "a"),
        other.set_access("r", "a", Access::None),
        other.set_visibility("r", "a", "none"),
        other.update_binding_metadata("r", "a", Metadata::new()),
        other.send_event("r", "a", text()),
        other.send_event("r", "system", text()),
        other.process_inbound(InboundMessage::text("a", "u", "x").in_room("r")),
        other.process_inbound_deferred(InboundMessage::text("a", "u", "x").in_room("r")),
        other.process_delivery_status(DeliveryStatus {
            room_id: Some("r".into()),
            ..DeliveryStatus::new("p", "m", "sent")
        }),
        other.timeline("r", 0, 9),
        other.events("r", &EventQuery::last(9)),
        other.event("r", "e"),
        other.event_versions("r", "e"),
        other.history_for("r", "a", 9),
        other.participants("r"),
        other.participant("r", "u"),
        other.members("r"),
        other.is_member("r", "i"),
        other.add_member("r", "a", "u"),
        other.ensure_participant("r", "a", "u", None),
        other.resolve_participant("r", "u", "i"),
        other.remove_member("r", "u"),
        other.ban_member("r", "u"),
        other.unban_member("r", "u"),
        other.rename_member("r", "u", "U"),
        other.set_member_role("r", "u", ParticipantRole::Owner),
        other.mark_read("r", "a", "e"),
        other.mark_all_read("r", "a"),
        other.unread_count("r", "a"),
        other.read_markers("r"),
        other.thread("r", "e", 0, 9),
        other.thread_summaries("r", &["e".into()]),
        other.update_event("r", "e").content(text()),
        other.delete_event("r", "e"),
        other.submit_feedback("r", 1.0),
        other.regenerate_response("r"),
        other.regenerate_response("r").trigger("e"),
        other.regenerate_target("r"),
        other.send_greeting("r").channel("a").text("x"),
        other.session_started(SessionStarted {
            room_id: "r".into(),
            channel_id: "a".into(),
            channel_type: ChannelType::Voice,
            participant_id: "u".into(),
            timestamp: kit.now(),
            session_id: None,
        }),
        other.tasks("r"),
        other.observations("r"),
        other.publish_typing("r", "u", true),
        other.publish_presence("r", "u", "online"),
        other.publish_reaction("r", "u", "e", "x"),
        other.publish_reaction_removed("r", "u", "e", "x"),
        other.publish_read_receipt("r", "u", "e"),
        other.publish_tool_call("r", "a", EphemeralEventType::ToolCallStart, Vec::new()),
        other.publish_custom("r", "u", Metadata::new()),
        other.subscribe_room("r", |_| async {}),
        other.remove_room_hook("r", "h"),
    );
    let listed = other
        .list_rooms(RoomFilter::default(), Page::first(9))
        .await
        .unwrap();
    assert!(listed.is_empty());
    assert_eq!(
        kit.timeline("r", 0, 9).await.unwrap().len(),
        1,
        "nothing was done"
    );
    assert_eq!(
        other.create_room("r").await.unwrap_err().code(),
        "room_already_exists"
    );
    let stranger = other
        .create_room(RoomOptions::new().organization("acme"))
        .await;
    assert_eq!(stranger.unwrap_err().code(), "invalid_input");
}

#[tokio::test]
async fn a_search_finds_what_its_organisation_may_see() {
    let kit = RoomKit::new();
    for (room, organization) in [("r", "acme"), ("s", "other")] {
        kit.org(organization).create_room(room).await.unwrap();
        let text = TextContent::new(format!("the invoice of {organization}"));
        kit.send_event(room, "system", text).await.unwrap();
    }
    let found = async |rooms: &Rooms, search: EventSearch| {
        let events = rooms.search_events(search).await.unwrap();
        events
            .iter()
            .map(|event| event.room_id.to_string())
            .collect::<Vec<_>>()
    };
    let search = || EventSearch::new("Invoice", 9);
    let acme = kit.org("acme");
    assert_eq!(found(&acme, search()).await, ["r"]);
    assert_eq!(found(&acme, search().organization("acme")).await, ["r"]);
    assert!(
        found(&acme, search().organization("other"))
            .await
            .is_empty()
    );
    assert_eq!(found(&kit, search().organization("other")).await, ["s"]);
    let mut all = found(&kit, search()).await;
    all.sort();
    assert_eq!(all, ["r", "s"]);
    let gone = kit.search_events(search().room("gone")).await.unwrap_err();
    assert_eq!(gone.code(), "room_not_found");
    let words: String = (0..65).map(|number| format!("w{number} ")).collect();
    let long = kit
        .search_events(EventSearch::new(words, 9))
        .await
        .unwrap_err();
    assert_eq!(
        long.to_string(),
        "invalid_input: text: has more than 64 words"
    );
}

/// A person is known within an organisation, and so is who somebody is in a room of it.
#[tokio::test]
async fn an_identity_of_another_organisation_is_not_found() {
    let kit = RoomKit::new();
    let acme = kit.org("acme");
    acme.create_room("r").await.unwrap();
    acme.ensure_participant("r", "sms", "u", None)
        .await
        .unwrap();
    let mut identity = Identity::new("i");
    identity.organization_id = Some("other".into());
    kit.store().put_identity(identity.clone()).await.unwrap();
    let unknown = acme.resolve_participant("r", "u", "i").await.unwrap_err();
    assert_eq!(unknown.code(), "identity_not_found");
    identity.organization_id = Some("acme".into());
    kit.store().put_identity(identity).await.unwrap();
    acme.resolve_participant("r", "u", "i").await.unwrap();

    let sms = || ChannelType::Sms;
    acme.link_address("i", sms(), "+15550100000").await.unwrap();
    let other = kit.org("other");
    for rooms in [&other, &kit] {
        let other = rooms.organization().is_some();
        let link = rooms.link_address("i", sms(), "+15550100009").await;
        let found = rooms.identities_by_address(sms(), "+15550100000").await;
        let read = rooms.identity("i").await;
        // The other organisation has somebody with this id, who is somebody else.
        assert_eq!(read.is_ok(), other);
        assert_eq!(link.is_ok(), other);
        assert!(found.unwrap().is_empty());
    }
    let found = acme.identities_by_address(sms(), "+15550100000").await;
    assert_eq!(found.unwrap().len(), 1);
    let found = acme.identities_by_address(sms(), "+15550100009").await;
    assert!(found.unwrap().is_empty());
    let mut foreign = Identity::new("j");
    foreign.organization_id = Some("acme".into());
    let refused = other.save_identity(foreign).await.unwrap_err();
    assert_eq!(refused.code(), "invalid_input");
}
