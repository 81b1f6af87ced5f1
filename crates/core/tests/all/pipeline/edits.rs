//! Edits and deletes: never a new turn, in whatever order they come.

use std::time::Duration;

use roomkit_core::model::{
    DeleteContent, EditContent, EventContent, EventId, InboundMessage, ParticipantRole, RoomEvent,
    TextContent,
};
use roomkit_core::{ChannelOutput, RoomKit};

use super::support::{Agent, Transport, room_of, say, shared};

fn edit(target: &RoomEvent, text: &str) -> InboundMessage {
    change(EventContent::Edit(EditContent {
        target_event_id: target.id.clone(),
        new_content: Box::new(TextContent::new(text).into()),
        edit_source: Some("sender".to_owned()),
    }))
}

fn delete(target: &RoomEvent) -> InboundMessage {
    change(EventContent::Delete(DeleteContent::new(target.id.clone())))
}

fn change(content: EventContent) -> InboundMessage {
    InboundMessage::new("user", "u", content).in_room("r")
}

/// An edit that arrives while the first turn is under way changes the stored event, keeps both
/// versions, is seen by the agent as history, and is no turn of its own.
#[tokio::test(start_paused = true)]
async fn an_edit_during_a_turn_updates_the_event_and_starts_no_second_turn() {
    let kit = RoomKit::new();
    let user = Transport::new("user");
    let agent = Agent::new("agent", |_, context| async move {
        tokio::time::sleep(Duration::from_secs(10)).await;
        let history = context.recent_events(10).await?;
        let seen: Vec<_> = history
            .events
            .iter()
            .filter_map(|event| event.text())
            .collect();
        Ok(ChannelOutput::text(format!("I read: {}", seen.join(", "))))
    });
    room_of(&kit, vec![shared(&user), shared(&agent)]).await;
    let (result, turn) = kit
        .process_inbound_deferred(say("user", "u", "meet at 5"))
        .await
        .unwrap();
    let original = result.event.unwrap();
    tokio::time::sleep(Duration::from_secs(1)).await;
    let edited = kit
        .process_inbound(edit(&original, "meet at 6"))
        .await
        .unwrap();
    assert!(!edited.blocked);
    turn.wait().await.unwrap();

    assert_eq!(agent.heard(), [2], "one turn");
    let stored = kit.event("r", &original.id).await.unwrap();
    assert_eq!(stored.text(), Some("meet at 6"));
    assert!(stored.is_edited());
    assert_eq!(
        (stored.index, &stored.source),
        (original.index, &original.source)
    );
    assert_eq!(stored.created_at, original.created_at);
    let versions = kit.event_versions("r", &original.id).await.unwrap();
    let texts: Vec<_> = versions
        .iter()
        .map(|version| version.text().unwrap())
        .collect();
    assert_eq!(texts, ["meet at 5", "meet at 6"]);
    assert_eq!(user.texts(), ["I read: meet at 6"]);
}

/// Every change, before, during and after the turn, known target or not: what the timeline holds
/// and how many turns there are.
#[tokio::test(start_paused = true)]
async fn changes_in_every_order_leave_one_turn_and_the_right_text() {
    #[derive(Debug, Clone, Copy, PartialEq)]
    enum When {
        Before,
        During,
        After,
    }
    for when in [When::Before, When::During, When::After] {
        for deletes in [false, true] {
            let kit = RoomKit::new();
            let user = Transport::new("user");
            let agent = Agent::new("agent", |_, _| async {
                tokio::time::sleep(Duration::from_secs(10)).await;
                Ok(ChannelOutput::none())
            });
            room_of(&kit, vec![shared(&user), shared(&agent)]).await;
            let unknown = {
                let mut event = RoomEvent::clone(&kit.timeline("r", 0, 1).await.unwrap()[0]);
                event.id = EventId::from("not-yet");
                event
            };
            let make = |target: &RoomEvent| {
                if deletes {
                    delete(target)
                } else {
                    edit(target, "new")
                }
            };
            if when == When::Before {
                let early = kit.process_inbound(make(&unknown)).await.unwrap();
                assert_eq!(early.reason.as_deref(), Some("target_event_not_found"));
            }
            let (result, turn) = kit
                .process_inbound_deferred(say("user", "u", "old"))
                .await
                .unwrap();
            let original = result.event.unwrap();
            match when {
                When::Before => drop(turn.wait().await.unwrap()),
                When::During => {
                    tokio::time::sleep(Duration::from_secs(1)).await;
                    assert!(!kit.process_inbound(make(&original)).await.unwrap().blocked);
                    turn.wait().await.unwrap();
                }
                When::After => {
                    turn.wait().await.unwrap();
                    assert!(!kit.process_inbound(make(&original)).await.unwrap().blocked);
                }
            }
            let stored = kit.event("r", &original.id).await.unwrap();
            let changed = when != When::Before;
            assert_eq!(
                stored.is_deleted(),
                changed && deletes,
                "{when:?} {deletes}"
            );
            let text = if changed && !deletes { "new" } else { "old" };
            assert_eq!(stored.text(), Some(text), "{when:?} {deletes}");
            assert_eq!(agent.heard(), [original.index], "{when:?} {deletes}");
            if changed && deletes {
                let again = kit.process_inbound(edit(&original, "x")).await.unwrap();
                assert_eq!(again.reason.as_deref(), Some("target_event_not_found"));
            }
        }
    }
}

#[tokio::test]
async fn an_edit_that_names_an_agent_asks_it() {
    let kit = RoomKit::new();
    let user = Transport::new("user");
    let agent = Agent::says("agent", "noted");
    room_of(&kit, vec![shared(&user), shared(&agent)]).await;
    let original = kit.process_inbound(say("user", "u", "a").addressed_to(Vec::<&str>::new()));
    let original = original.await.unwrap().event.unwrap();
    assert!(agent.heard().is_empty());
    let addressed = edit(&original, "b").addressed_to(["agent"]);
    kit.process_inbound(addressed).await.unwrap();
    assert_eq!(agent.heard().len(), 1);
}

#[tokio::test]
async fn a_hook_that_blocks_an_edit_leaves_its_target_as_it_was() {
    use roomkit_core::hook::{BeforeBroadcast, HookResult};
    let kit = RoomKit::new();
    let user = Transport::new("user");
    room_of(&kit, vec![shared(&user)]).await;
    let original = kit
        .process_inbound(say("user", "u", "a"))
        .await
        .unwrap()
        .event
        .unwrap();
    kit.hook(BeforeBroadcast, "no_edits", |event, _| async move {
        match event.content {
            EventContent::Edit(_) => HookResult::block("no edits"),
            _ => HookResult::allow(),
        }
    });
    let blocked = kit.process_inbound(edit(&original, "b")).await.unwrap();
    assert_eq!(blocked.reason.as_deref(), Some("no edits"));
    let stored = kit.event("r", &original.id).await.unwrap();
    assert_eq!(stored.text(), Some("a"));
    assert!(!stored.is_edited());
}

#[tokio::test]
async fn an_agent_may_edit_what_it_said_and_nobody_else_may() {
    let kit = RoomKit::new();
    let user = Transport::new("user");
    let agent = Agent::new("agent", |event, context| async move {
        if event.text() == Some("fix it") {
            let history = context.recent_events(10).await?;
            let mine = history
                .events
                .iter()
                .find(|event| event.source.channel_id == *"agent");
            return Ok(ChannelOutput::reply(roomkit_core::Reply::new(
                EditContent {
                    target_event_id: mine.unwrap().id.clone(),
                    new_content: Box::new(TextContent::new("right").into()),
                    edit_source: None,
                },
            )));
        }
        Ok(ChannelOutput::text("wrong"))
    });
    room_of(&kit, vec![shared(&user), shared(&agent)]).await;
    kit.process_inbound(say("user", "u", "hi")).await.unwrap();
    let said = kit.timeline("r", 3, 1).await.unwrap().remove(0);
    assert_eq!(said.text(), Some("wrong"));
    let refused = kit.process_inbound(edit(&said, "mine")).await.unwrap();
    assert_eq!(
        refused.reason.as_deref(),
        Some("identity_required_for_edit")
    );
    kit.process_inbound(say("user", "u", "fix it"))
        .await
        .unwrap();
    assert_eq!(
        kit.event("r", &said.id).await.unwrap().text(),
        Some("right")
    );
}

#[tokio::test]
async fn only_an_owner_deletes_as_admin() {
    use roomkit_core::model::{DeleteType, Participant};
    use roomkit_core::store::RoomCommit;
    let kit = RoomKit::new();
    let user = Transport::new("user");
    room_of(&kit, vec![shared(&user)]).await;
    let original = kit
        .process_inbound(say("user", "u", "a"))
        .await
        .unwrap()
        .event
        .unwrap();
    let as_admin = || {
        let content = DeleteContent {
            delete_type: DeleteType::Admin,
            ..DeleteContent::new(original.id.clone())
        };
        InboundMessage::new("user", "boss", content).in_room("r")
    };
    let refused = kit.process_inbound(as_admin()).await.unwrap();
    assert_eq!(refused.reason.as_deref(), Some("not_authorized"));
    let mut owner = Participant::new("boss", "r", "user", original.created_at);
    owner.role = ParticipantRole::Owner;
    let mut commit = RoomCommit::new("r".into(), None, original.created_at);
    commit.participants.push(owner);
    kit.store().commit(commit.into()).await.unwrap();
    assert!(!kit.process_inbound(as_admin()).await.unwrap().blocked);
    assert!(kit.event("r", &original.id).await.unwrap().is_deleted());
}

/// Else it would no longer go with what it repeats when that is removed for good.
#[tokio::test]
async fn an_edit_that_is_edited_stays_an_edit_of_the_same_event() {
    let kit = RoomKit::new();
    room_of(&kit, vec![shared(&Transport::new("a"))]).await;
    let change = async |content: EventContent| {
        let change = InboundMessage::new("a", "u", content).in_room("r");
        kit.process_inbound(change).await.unwrap()
    };
    let said = kit.process_inbound(say("a", "u", "1")).await.unwrap();
    let said = said.event.unwrap();
    let edit = change(EventContent::edit(said.id.clone(), EventContent::text("2"))).await;
    let edit = edit.event.unwrap();
    let again = change(EventContent::edit(edit.id.clone(), EventContent::text("3"))).await;
    assert!(!again.blocked);
    let edited = kit.event("r", edit.id.clone()).await.unwrap();
    let words = EventContent::edit(said.id.clone(), EventContent::text("3"));
    assert_eq!(edited.content, words);
    assert_eq!(
        kit.event("r", said.id.clone()).await.unwrap().text(),
        Some("2")
    );

    let delete = change(EventContent::delete(said.id.clone())).await;
    let delete = delete.event.unwrap().id.clone();
    let late = change(EventContent::edit(delete, EventContent::text("4"))).await;
    assert_eq!(late.reason.as_deref(), Some("target_event_not_found"));

    let removed = kit.delete_event("r", said.id.clone()).await.unwrap();
    assert_eq!(removed.len(), 4);
    assert_eq!(kit.timeline("r", 0, 9).await.unwrap().len(), 1);
}
