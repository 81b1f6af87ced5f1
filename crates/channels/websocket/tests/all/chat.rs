//! Who hears what: two users, several rooms on one channel, rooms entered and left.

use futures_util::StreamExt;
use roomkit_core::model::{DeliveryOutcome, EventContent, InboundMessage};
use roomkit_websocket::WebSocketChannel;

use crate::support::{alice_says, kit, say, texts, two_in_a_room};

#[tokio::test]
async fn two_users_hear_each_other_and_not_themselves() {
    let (kit, alice, bob) = two_in_a_room().await;
    let mut alices = alice.connect("a", "lobby");
    let mut bobs = bob.connect("b", "lobby");

    say(&kit, "ws-alice", "lobby", "Hello!").await;
    say(&kit, "ws-bob", "lobby", "Hi Alice.").await;
    say(&kit, "ws-alice", "lobby", "How are you?").await;

    assert_eq!(texts(&mut alices), ["Hi Alice."]);
    assert_eq!(texts(&mut bobs), ["Hello!", "How are you?"]);
}

#[tokio::test]
async fn every_connection_of_a_room_gets_the_event() {
    let (kit, _alice, bob) = two_in_a_room().await;
    let mut devices = ["phone", "laptop"].map(|id| bob.connect(id, "lobby"));
    alice_says(&kit, "Hello!").await;
    for device in &mut devices {
        assert_eq!(texts(device), ["Hello!"]);
    }
}

#[tokio::test]
async fn a_room_s_events_go_to_its_own_connections_only() {
    let (alice, staff) = (
        WebSocketChannel::new("ws-alice"),
        WebSocketChannel::new("ws-staff"),
    );
    let kit = kit(&[&alice, &staff], &["one", "two"]).await;
    let mut in_one = staff.connect("1", "one");
    let mut in_two = staff.connect("2", "two");
    assert_eq!((staff.connections("one"), staff.connections("two")), (1, 1));

    say(&kit, "ws-alice", "one", "for one").await;
    say(&kit, "ws-alice", "two", "for two").await;

    assert_eq!(texts(&mut in_one), ["for one"]);
    assert_eq!(texts(&mut in_two), ["for two"]);
}

#[tokio::test]
async fn a_connection_enters_and_leaves_rooms() {
    let (alice, staff) = (
        WebSocketChannel::new("ws-alice"),
        WebSocketChannel::new("ws-staff"),
    );
    let kit = kit(&[&alice, &staff], &["one", "two"]).await;
    let mut connection = staff.connect("1", "one");

    assert!(staff.subscribe("1", "two"));
    assert!(staff.subscribe("1", "two"), "twice is once");
    assert_eq!(staff.connections("two"), 1);
    say(&kit, "ws-alice", "one", "first").await;
    say(&kit, "ws-alice", "two", "second").await;
    assert_eq!(texts(&mut connection), ["first", "second"]);

    assert!(staff.unsubscribe("1", "one"));
    assert!(!staff.unsubscribe("1", "one"), "it has left already");
    say(&kit, "ws-alice", "one", "third").await;
    say(&kit, "ws-alice", "two", "fourth").await;
    assert_eq!(texts(&mut connection), ["fourth"]);

    assert!(staff.unsubscribe("1", "two"));
    assert_eq!(staff.total_connections(), 1, "in no room, and connected");
    assert_eq!(connection.close_reason(), None);

    assert!(!staff.subscribe("nobody", "one"));
    assert!(!staff.unsubscribe("nobody", "one"));
}

#[tokio::test]
async fn a_room_that_nobody_is_connected_to_takes_deliveries() {
    let (kit, _alice, bob) = two_in_a_room().await;
    let result = alice_says(&kit, "Anybody there?").await;
    let delivery = result.delivery("ws-bob").unwrap();
    assert_eq!(delivery.outcome, DeliveryOutcome::sent());
    assert_eq!(bob.connections("lobby"), 0);
}

#[tokio::test]
async fn edits_and_rich_content_arrive_as_they_are() {
    let (kit, _alice, bob) = two_in_a_room().await;
    let mut connection = bob.connect("b", "lobby");
    let first = alice_says(&kit, "Helo").await.event.unwrap();
    let edit = EventContent::edit(&first.id, EventContent::text("Hello"));
    for content in [edit.clone(), EventContent::rich("**bold**")] {
        let message = InboundMessage::new("ws-alice", "somebody", content).in_room("lobby");
        assert!(!kit.process_inbound(message).await.unwrap().blocked);
    }
    let contents: Vec<EventContent> = std::iter::from_fn(|| connection.try_recv())
        .map(|frame| frame.event().unwrap().content.clone())
        .collect();
    assert_eq!(
        contents,
        [
            EventContent::text("Helo"),
            edit,
            EventContent::rich("**bold**")
        ]
    );
}

#[tokio::test]
async fn a_function_is_called_with_every_frame() {
    let (kit, _alice, bob) = two_in_a_room().await;
    let connection = bob.connect("b", "lobby");
    let heard = tokio::spawn(async move {
        let mut heard = Vec::new();
        connection
            .for_each(|frame| {
                heard.push(frame.event().unwrap().text().unwrap().to_owned());
                std::future::ready(())
            })
            .await;
        heard
    });
    alice_says(&kit, "one").await;
    alice_says(&kit, "two").await;
    bob.disconnect("b");
    assert_eq!(heard.await.unwrap(), ["one", "two"]);
}
