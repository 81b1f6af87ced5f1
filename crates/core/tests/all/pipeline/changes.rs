//! Changes by the application itself: a new version, or gone for good.

use std::sync::{Arc, Mutex};

use roomkit_core::RoomKit;
use roomkit_core::hook::{BeforeBroadcast, HookResult, OnEventDeleted, OnEventUpdated};
use roomkit_core::model::{
    EventContent, EventId, EventStatus, InboundMessage, Metadata, RoomEvent, TextContent,
};
use roomkit_core::store::EventSearch;

use super::support::{Transport, room_of, say, shared, timeline_texts};

type Log = Arc<Mutex<Vec<String>>>;

/// A room with two transports, and what observers of changes are told.
async fn room() -> (RoomKit, Transport, Log) {
    let kit = RoomKit::new();
    let other = Transport::new("other");
    room_of(&kit, vec![shared(&Transport::new("user")), shared(&other)]).await;
    let told = Log::default();
    let log = |told: &Log, what: &'static str| {
        let told = Arc::clone(told);
        move |event: Arc<RoomEvent>, _| {
            let line = format!("{what} {} {}", event.index, event.text().unwrap_or("-"));
            told.lock().unwrap().push(line);
            async {}
        }
    };
    kit.hook(OnEventUpdated, "updated", log(&told, "updated"));
    kit.hook(OnEventDeleted, "deleted", log(&told, "deleted"));
    (kit, other, told)
}

async fn told(kit: &RoomKit, told: &Log) -> Vec<String> {
    kit.wait_idle().await;
    std::mem::take(&mut *told.lock().unwrap())
}

async fn said(kit: &RoomKit, message: InboundMessage) -> Arc<RoomEvent> {
    kit.process_inbound(message).await.unwrap().event.unwrap()
}

fn edit(target: &EventId, text: &str) -> InboundMessage {
    let edit = EventContent::edit(target.clone(), EventContent::text(text));
    InboundMessage::new("user", "u", edit).in_room("r")
}

async fn found(kit: &RoomKit, words: &str) -> usize {
    let search = EventSearch::new(words, 9).room("r");
    kit.search_events(search).await.unwrap().len()
}

#[tokio::test]
async fn an_update_is_a_new_version_that_nobody_is_sent() {
    let (kit, other, log) = room().await;
    let first = said(&kit, say("user", "u", "three o'clock")).await;
    let updated = kit
        .update_event("r", &first.id)
        .content(TextContent::new("four o'clock"))
        .metadata(Metadata::new().with("by", "admin"))
        .await
        .unwrap()
        .unwrap();
    let mut expected = RoomEvent::clone(&first);
    expected.content = TextContent::new("four o'clock").into();
    expected.metadata = Metadata::new().with("by", "admin");
    assert_eq!(*updated, expected, "all else stays, and no mark is set");
    assert_eq!(*kit.event("r", &first.id).await.unwrap(), expected);
    let versions = kit.event_versions("r", &first.id).await.unwrap();
    assert_eq!(versions, [first.clone(), updated]);
    assert_eq!(
        (found(&kit, "three").await, found(&kit, "four").await),
        (0, 1)
    );
    assert_eq!(told(&kit, &log).await, ["updated 2 four o'clock"]);
    assert_eq!(other.texts(), ["three o'clock"]);
    let count = kit.room("r").await.unwrap().event_count;
    assert_eq!(count, 3, "it is no event of its own");

    // What changes nothing is no version.
    for call in [
        kit.update_event("r", &first.id),
        kit.update_event("r", &first.id)
            .content(TextContent::new("four o'clock")),
        kit.update_event("r", &first.id)
            .metadata(Metadata::new().with("by", "admin")),
    ] {
        assert_eq!(*call.await.unwrap().unwrap(), expected);
    }
    assert_eq!(kit.event_versions("r", &first.id).await.unwrap().len(), 2);
    let none = kit.update_event("r", "nothing").metadata(Metadata::new());
    assert_eq!(none.await.unwrap(), None);
    assert!(told(&kit, &log).await.is_empty());
}

#[tokio::test]
async fn an_update_keeps_the_marks_and_the_kind_of_an_event() {
    let (kit, _, _) = room().await;
    let first = said(&kit, say("user", "u", "a")).await;
    let change = said(&kit, edit(&first.id, "b")).await;
    let updated = kit
        .update_event("r", &first.id)
        .metadata(Metadata::new().with("k", 1))
        .await
        .unwrap()
        .unwrap();
    let marked = Metadata::new().with("k", 1).with("edited", true);
    assert_eq!(updated.metadata, marked);
    let unmarked = kit
        .update_event("r", &first.id)
        .metadata(Metadata::new().with("edited", false))
        .await
        .unwrap()
        .unwrap();
    assert!(!unmarked.is_edited());

    let to_edit = EventContent::edit(first.id.clone(), EventContent::text("c"));
    let elsewhere = EventContent::edit(EventId::from("x"), EventContent::text("c"));
    let kept = "invalid_input: content: an edit or delete stays one, and of the same event";
    for (event, content) in [
        (&first, to_edit.clone()),
        (&change, EventContent::text("c")),
        (&change, elsewhere),
    ] {
        let refused = kit.update_event("r", &event.id).content(content).await;
        assert_eq!(refused.unwrap_err().to_string(), kept);
    }
    kit.update_event("r", &change.id)
        .content(to_edit)
        .await
        .unwrap();
    let empty = roomkit_core::model::MediaContent::new("", "image/png");
    let refused = kit.update_event("r", &first.id).content(empty).await;
    let refused = refused.unwrap_err().to_string();
    assert!(
        refused.starts_with("invalid_input: content.url"),
        "{refused}"
    );
}

#[tokio::test]
async fn blocked_events_and_closed_rooms_can_be_changed_by_the_application() {
    let (kit, _, log) = room().await;
    kit.hook(BeforeBroadcast, "no", |_, _| async {
        HookResult::block("no")
    });
    let blocked = said(&kit, say("user", "u", "bad")).await;
    kit.close_room("r").await.unwrap();
    let updated = kit
        .update_event("r", &blocked.id)
        .content(TextContent::new("[removed]"))
        .await
        .unwrap()
        .unwrap();
    assert_eq!(updated.status, EventStatus::Blocked);
    assert_eq!(updated.blocked_by, blocked.blocked_by);
    let removed = kit.delete_event("r", &blocked.id).await.unwrap();
    assert_eq!(removed, std::slice::from_ref(&blocked.id));
    let expected = ["updated 2 [removed]", "deleted 2 [removed]"];
    assert_eq!(told(&kit, &log).await, expected);
}

#[tokio::test]
async fn a_deleted_event_goes_with_its_replies_and_all_that_says_what_it_said() {
    let (kit, _, log) = room().await;
    let root = said(&kit, say("user", "u", "secret root")).await;
    let reply = said(
        &kit,
        say("user", "u", "secret reply").parent(root.id.clone()),
    )
    .await;
    let change = said(&kit, edit(&root.id, "secret edit")).await;
    let of_reply = said(&kit, edit(&reply.id, "secret too")).await;
    let about = said(
        &kit,
        say("user", "u", "why secret?").parent(change.id.clone()),
    )
    .await;
    let stays = said(&kit, say("user", "u", "unrelated")).await;
    told(&kit, &log).await;
    kit.mark_all_read("r", "other").await.unwrap();

    let removed = kit.delete_event("r", &root.id).await.unwrap();
    let ids = [&root, &reply, &change, &of_reply, &about].map(|event| event.id.clone());
    assert_eq!(removed, ids);
    let mut lines = told(&kit, &log).await;
    lines.sort();
    let expected = [
        "deleted 2 secret edit",
        "deleted 3 secret too",
        "deleted 4 -",
        "deleted 5 -",
        "deleted 6 why secret?",
    ];
    assert_eq!(lines, expected, "each as it was at the end");
    assert_eq!(found(&kit, "secret").await, 0);
    for id in &ids {
        assert_eq!(
            kit.event("r", id).await.unwrap_err().code(),
            "event_not_found"
        );
        assert!(kit.event_versions("r", id).await.unwrap().is_empty());
    }
    let history = kit.history_for("r", "other", 99).await.unwrap();
    let texts: Vec<_> = history.events.iter().map(|event| event.text()).collect();
    assert_eq!(texts, [Some("unrelated")]);
    assert_eq!(timeline_texts(&kit).await, ["unrelated"]);

    let next = said(&kit, say("user", "u", "next")).await;
    assert_eq!(next.index, stays.index + 1, "no index is used again");
    let room = kit.room("r").await.unwrap();
    assert_eq!((room.event_count, room.latest_index), (9, Some(8)));
    assert_eq!(kit.unread_count("r", "other").await.unwrap(), 1);
    assert!(kit.delete_event("r", &root.id).await.unwrap().is_empty());
    assert!(told(&kit, &log).await.is_empty());
    let late = kit.process_inbound(edit(&root.id, "x")).await.unwrap();
    assert_eq!(late.reason.as_deref(), Some("target_event_not_found"));
}

#[tokio::test]
async fn replies_may_stay_and_a_reply_may_go_alone() {
    let (kit, _, _) = room().await;
    let root = said(&kit, say("user", "u", "root")).await;
    let one = said(&kit, say("user", "u", "one").parent(root.id.clone())).await;
    let two = said(&kit, say("user", "u", "two").parent(root.id.clone())).await;
    let change = said(&kit, edit(&root.id, "root!")).await;
    assert_eq!(
        kit.delete_event("r", &one.id).await.unwrap(),
        std::slice::from_ref(&one.id)
    );
    let removed = kit
        .delete_event("r", &root.id)
        .keep_replies()
        .await
        .unwrap();
    assert_eq!(removed, [root.id.clone(), change.id.clone()]);
    assert_eq!(timeline_texts(&kit).await, ["two"]);
    let left = kit.event("r", &two.id).await.unwrap();
    assert_eq!(left.parent_event_id, Some(root.id.clone()));
}

/// A provider that sends a message again does not bring back what was removed.
#[tokio::test]
async fn a_repeat_does_not_bring_a_deleted_event_back() {
    let (kit, _, _) = room().await;
    let message = say("user", "u", "hi").idempotency_key("k");
    let first = said(&kit, message.clone()).await;
    kit.delete_event("r", &first.id).await.unwrap();
    let again = kit.process_inbound(message).await.unwrap();
    assert_eq!((again.event, again.blocked), (None, false));
    assert!(timeline_texts(&kit).await.is_empty());
}

#[tokio::test]
async fn a_long_thread_goes_whole() {
    let (kit, _, log) = room().await;
    let root = said(&kit, say("user", "u", "root")).await;
    for _ in 0..1_001 {
        let call = kit.send_event("r", "user", TextContent::new("x"));
        call.parent(&root.id).await.unwrap();
    }
    assert_eq!(kit.delete_event("r", &root.id).await.unwrap().len(), 1_002);
    assert_eq!(told(&kit, &log).await.len(), 1_002);
    assert!(timeline_texts(&kit).await.is_empty());
}

/// A hook that runs under the room's lock would wait for itself.
#[tokio::test]
async fn a_hook_under_the_lock_is_refused() {
    let (kit, _, _) = room().await;
    let first = said(&kit, say("user", "u", "a")).await;
    let codes: Log = Log::default();
    let (weak, noted, id) = (kit.downgrade(), Arc::clone(&codes), first.id.clone());
    kit.hook(BeforeBroadcast, "meddles", move |_, _| {
        let (kit, noted, id) = (weak.upgrade().unwrap(), Arc::clone(&noted), id.clone());
        async move {
            let update = kit.update_event("r", &id).content(TextContent::new("b"));
            let mut errors = vec![update.await.unwrap_err()];
            errors.push(kit.delete_event("r", &id).await.unwrap_err());
            errors.push(kit.ban_member("r", "u").await.unwrap_err());
            errors.push(kit.add_member("r", "user", "v").await.unwrap_err());
            let codes = errors.iter().map(|error| error.code().to_owned());
            noted.lock().unwrap().extend(codes);
            HookResult::allow()
        }
    });
    said(&kit, say("user", "u", "b")).await;
    assert_eq!(*codes.lock().unwrap(), ["inside_room_lock"; 4]);
}
