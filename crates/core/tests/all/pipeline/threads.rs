//! Threads: two levels, whatever way a reply comes in.

use roomkit_core::model::{EventFilter, EventId, RoomEvent, TextContent};
use roomkit_core::store::EventQuery;
use roomkit_core::{ChannelOutput, RoomKit};

use super::support::{Agent, Transport, room_of, say, shared};

fn indexes<E: AsRef<RoomEvent>>(events: &[E]) -> Vec<u64> {
    events.iter().map(|event| event.as_ref().index).collect()
}

/// A room with a transport `user` (index 0) and an agent that answers "ask" (index 1).
async fn room() -> RoomKit {
    let kit = RoomKit::new();
    let agent = Agent::new("agent", |event, _| async move {
        Ok(match event.text() {
            Some("ask") => ChannelOutput::text("answer"),
            _ => ChannelOutput::none(),
        })
    });
    room_of(&kit, vec![shared(&Transport::new("user")), shared(&agent)]).await;
    kit
}

async fn reply(kit: &RoomKit, text: &str, parent: &EventId) -> Option<EventId> {
    let message = say("user", "u", text).parent(parent.clone());
    let said = kit.process_inbound(message).await.unwrap().event.unwrap();
    assert_eq!(*said, *kit.event("r", &said.id).await.unwrap());
    said.parent_event_id.clone()
}

#[tokio::test]
async fn a_reply_to_a_reply_belongs_to_the_root_however_it_comes_in() {
    let kit = room().await;
    let root = kit.process_inbound(say("user", "u", "root")).await.unwrap();
    let root = root.event.unwrap();
    assert_eq!(reply(&kit, "one", &root.id).await, Some(root.id.clone()));
    let one = kit.timeline("r", 3, 1).await.unwrap().remove(0);
    assert_eq!(reply(&kit, "two", &one.id).await, Some(root.id.clone()));
    let sent = kit
        .send_event("r", "user", TextContent::new("three"))
        .parent(&one.id)
        .await
        .unwrap();
    assert_eq!(sent.parent_event_id, Some(root.id.clone()));
    assert_eq!(reply(&kit, "ask", &sent.id).await, Some(root.id.clone()));
    let answer = kit.timeline("r", 7, 1).await.unwrap().remove(0);
    assert_eq!(answer.text(), Some("answer"));
    assert_eq!(answer.parent_event_id, Some(root.id.clone()));
    let other = kit.process_inbound(say("user", "u", "ask")).await.unwrap();
    assert_eq!(other.event.unwrap().parent_event_id, None);

    for named in [&root, &one, &sent] {
        let thread = kit.thread("r", &named.id, 0, 9).await.unwrap();
        assert_eq!(indexes(&thread), [3, 4, 5, 6, 7]);
    }
    let page = kit.thread("r", &root.id, 1, 2).await.unwrap();
    assert_eq!(indexes(&page), [4, 5]);
    let top = EventQuery::first(99).filter(EventFilter::top_level());
    let top = kit.events("r", &top).await.unwrap();
    assert_eq!(indexes(&top), [0, 1, 2, 8, 9]);

    let roots = [one.id.clone(), root.id.clone()];
    let summaries = kit.thread_summaries("r", &roots).await.unwrap();
    let counts: Vec<_> = summaries
        .iter()
        .map(|summary| (&summary.root_event_id, summary.reply_count))
        .collect();
    assert_eq!(counts, [(&one.id, 0), (&root.id, 5)]);
    assert_eq!(summaries[0].last_reply_at, None);
    assert_eq!(summaries[1].last_reply_at, Some(answer.created_at));
}

/// A reference that leads nowhere loses no message; a soft delete leaves the thread as it is.
#[tokio::test]
async fn a_parent_that_is_not_in_the_room_leaves_a_reply_at_the_top() {
    use roomkit_core::model::{DeleteContent, InboundMessage};
    let kit = room().await;
    kit.create_room("s").await.unwrap();
    let elsewhere = kit
        .send_event("s", "system", TextContent::new("x"))
        .await
        .unwrap();
    assert_eq!(reply(&kit, "a", &"nothing".into()).await, None);
    assert_eq!(reply(&kit, "b", &elsewhere.id).await, None);

    let root = kit.process_inbound(say("user", "u", "root")).await.unwrap();
    let root = root.event.unwrap().id.clone();
    let delete = InboundMessage::new("user", "u", DeleteContent::new(root.clone()));
    kit.process_inbound(delete.in_room("r")).await.unwrap();
    assert_eq!(reply(&kit, "c", &root).await, Some(root.clone()));

    kit.delete_event("r", &root).await.unwrap();
    assert_eq!(reply(&kit, "d", &root).await, None);
    let gone = kit.thread("r", &root, 0, 9).await.unwrap_err();
    assert_eq!(gone.code(), "event_not_found");
}

#[tokio::test]
async fn what_cannot_be_asked_for_is_refused() {
    let kit = room().await;
    let both = EventFilter {
        top_level_only: true,
        ..EventFilter::of_thread("e")
    };
    let both = EventQuery::first(9).filter(both);
    let refused = kit.events("r", &both).await.unwrap_err();
    assert_eq!(
        refused.to_string(),
        "invalid_input: top_level_only: cannot hold together with parent_event_id"
    );
    let roots = vec![EventId::from("e"); 1_001];
    let refused = kit.thread_summaries("r", &roots).await.unwrap_err();
    assert_eq!(
        refused.to_string(),
        "invalid_input: roots: are more than 1000"
    );
}
