//! A room of another organisation is not found, by whatever call.

use std::sync::Arc;

use roomkit_core::hook::{Hook, OnChannelMuted, SessionStarted};
use roomkit_core::model::{
    Access, AgentResponsePolicy, ChannelType, DeliveryStatus, EphemeralEvent, EphemeralEventType,
    Identity, InboundMessage, Metadata, ParticipantRole, ProtocolTrace, RoomTimers, SubscriptionId,
    TextContent, TraceDirection,
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
    let told = kit.timeline("r", 0, 1).await.unwrap()[0].as_ref().clone();
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
        other.cancel_answer("r", "a"),
        other.publish(EphemeralEvent::new(
            "r",
            EphemeralEventType::TypingStart,
            "u",
            kit.now()
        )),
        other.publish_typing("r", "u", true),
        other.publish_presence("r", "u", "online"),
        other.publish_reaction("r", "u", "e", "x"),
        other.publish_reaction_removed("r", "u", "e", "x"),
        other.publish_read_receipt("r", "u", "e"),
        other.publish_tool_call("r", "a", EphemeralEventType::ToolCallStart, Vec::new()),
        other.publish_custom("r", "u", Metadata::new()),
        other.subscribe_room("r", |_| async {}),
        other.add_room_hook("r", Hook::new(OnChannelMuted, "h", |_, _| async {})),
        other.remove_room_hook("r", "h"),
        other.run_hooks(OnChannelMuted, "r", Arc::new(told)),
        other.emit_trace(ProtocolTrace {
            room_id: Some("r".into()),
            ..ProtocolTrace::new("a", TraceDirection::Inbound, "p", "s", kit.now())
        }),
        other.bind_trace_session("a", "s", "r"),
    );
    let message = InboundMessage::text("a", "u", "x").in_room("r");
    let status = DeliveryStatus {
        room_id: Some("r".into()),
        ..DeliveryStatus::new("p", "m", "sent")
    };
    for outcome in other
        .process_webhook("a", [message.into(), status.into()])
        .await
    {
        assert_eq!(outcome.unwrap_err().code(), "room_not_found");
    }
    assert!(other.check_all_timers().await.unwrap().is_empty());
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

/// What the table above does not ask, since it answers otherwise than with `room_not_found`.
const ANSWERED_OTHERWISE: [(&str, &str); 15] = [
    ("organization", "says whose handle this is"),
    ("create_room", "an id of another is in use"),
    ("list_rooms", "lists its own"),
    ("check_all_timers", "looks at its own"),
    (
        "process_webhook",
        "a result for each item, asked below the table",
    ),
    (
        "unsubscribe_room",
        "names no room: see the test of subscriptions",
    ),
    ("identity", "names no room: see the test of identities"),
    ("save_identity", "names no room: see the test of identities"),
    (
        "identities_by_address",
        "names no room: see the test of identities",
    ),
    ("link_address", "names no room: see the test of identities"),
    ("trace_emitter", "emits as `emit_trace` does"),
    ("attach_source", "names no room: see the sources"),
    ("detach_source", "names no room: see the sources"),
    ("source_health", "names no room: see the sources"),
    ("list_sources", "names no room: see the sources"),
];

/// Names of the public methods of `Rooms` in a source text.
fn methods_of_rooms(source: &str) -> Vec<String> {
    let mut names = Vec::new();
    let mut is_inside = false;
    for line in source.lines() {
        match line {
            "impl Rooms {" => is_inside = true,
            "}" => is_inside = false,
            _ => {}
        }
        let method = line.strip_prefix("    pub ").filter(|_| is_inside);
        let method = method.and_then(|rest| {
            let rest = rest.strip_prefix("async ").unwrap_or(rest);
            rest.strip_prefix("fn ")
        });
        if let Some(rest) = method {
            let end = rest.find(|c: char| !c.is_alphanumeric() && c != '_');
            names.push(rest[..end.unwrap()].to_owned());
        }
    }
    names
}

#[test]
fn every_call_on_rooms_is_in_the_table() {
    let table = include_str!("tenancy.rs");
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("src/kit");
    let mut methods = Vec::new();
    for file in std::fs::read_dir(folder).unwrap() {
        let path = file.unwrap().path();
        assert!(
            path.is_file(),
            "{}: a folder that is not read",
            path.display()
        );
        methods.extend(methods_of_rooms(&std::fs::read_to_string(path).unwrap()));
    }
    assert!(methods.len() > 80, "{methods:?}");
    let asked = |name: &str| table.contains(&format!("\n        other.{name}("));
    let excused = |name: &str| ANSWERED_OTHERWISE.iter().any(|(known, _)| *known == name);
    for name in &methods {
        assert!(
            asked(name) || excused(name),
            "{name}: is in neither of the lists"
        );
    }
    for (name, _) in ANSWERED_OTHERWISE {
        assert!(
            methods.iter().any(|method| method == name),
            "{name}: is gone"
        );
    }
}

#[tokio::test]
async fn a_subscription_to_a_room_of_another_organisation_is_not_there() {
    let kit = RoomKit::new();
    let (acme, other) = (kit.org("acme"), kit.org("other"));
    acme.create_room("r").await.unwrap();
    kit.create_room("free").await.unwrap();
    let subscribe = async || acme.subscribe_room("r", |_| async {}).await.unwrap();
    let (first, second) = (subscribe().await, subscribe().await);
    let free = kit.subscribe_room("free", |_| async {}).await.unwrap();
    let ended =
        async |rooms: &Rooms, of: &SubscriptionId| rooms.unsubscribe_room(of).await.unwrap();
    assert!(!ended(&other, &first).await);
    assert!(!ended(&other, &free).await && !ended(&acme, &free).await);
    assert!(ended(&acme, &first).await);
    assert!(!ended(&acme, &first).await, "once");
    assert!(ended(&kit, &second).await && ended(&kit, &free).await);
    // Also where its room is gone meanwhile.
    let third = subscribe().await;
    acme.delete_room("r").await.unwrap();
    assert!(ended(&acme, &third).await);
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
