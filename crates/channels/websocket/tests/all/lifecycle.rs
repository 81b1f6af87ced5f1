//! How connections end: dropped, disconnected, replaced, closed with their channel.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use roomkit_websocket::{CloseReason, WebSocketChannel};

use crate::support::{alice_says, texts, two_in_a_room};

#[tokio::test]
async fn a_dropped_connection_is_disconnected() {
    let ws = WebSocketChannel::new("ws");
    let connection = ws.connect("1", "one");
    ws.subscribe("1", "two");
    drop(connection);
    assert_eq!((ws.connections("one"), ws.connections("two")), (0, 0));
    assert_eq!(ws.total_connections(), 0);
    assert!(!ws.subscribe("1", "one"));
    assert!(!ws.disconnect("1"));
}

#[tokio::test]
async fn a_disconnected_one_reads_what_was_queued() {
    let (kit, _alice, bob) = two_in_a_room().await;
    let mut connection = bob.connect("b", "lobby");
    alice_says(&kit, "before").await;
    assert!(bob.disconnect("b"));
    alice_says(&kit, "after").await;

    assert_eq!(connection.close_reason(), Some(CloseReason::Disconnected));
    assert_eq!(
        connection.recv().await.unwrap().event().unwrap().text(),
        Some("before")
    );
    assert!(connection.recv().await.is_none());
    assert!(connection.recv().await.is_none(), "it stays ended");
}

#[tokio::test]
async fn an_id_in_use_replaces_the_former_connection() {
    let (kit, _alice, bob) = two_in_a_room().await;
    let mut former = bob.connect("b", "lobby");
    bob.subscribe("b", "elsewhere");
    let mut current = bob.connect("b", "lobby");

    assert_eq!(former.close_reason(), Some(CloseReason::Replaced));
    assert_eq!(bob.connections("lobby"), 1);
    assert_eq!(bob.connections("elsewhere"), 0, "rooms are not taken over");
    alice_says(&kit, "Hello!").await;
    assert!(former.recv().await.is_none());
    assert_eq!(texts(&mut current), ["Hello!"]);

    drop(former);
    assert_eq!(
        bob.connections("lobby"),
        1,
        "dropping the former one does not end the one that has its id"
    );
    alice_says(&kit, "Still there?").await;
    assert_eq!(texts(&mut current), ["Still there?"]);
    assert_eq!(current.close_reason(), None);
}

#[tokio::test]
async fn closing_the_kit_ends_every_connection() {
    let (kit, alice, bob) = two_in_a_room().await;
    let mut open = [alice.connect("a", "lobby"), bob.connect("b", "lobby")];
    let report = kit.close(Duration::from_secs(5)).await.unwrap();
    assert!(report.is_clean());
    for connection in &mut open {
        assert!(connection.recv().await.is_none());
        assert_eq!(connection.close_reason(), Some(CloseReason::Closed));
    }

    let mut late = bob.connect("late", "lobby");
    assert_eq!(late.close_reason(), Some(CloseReason::Closed));
    assert!(late.recv().await.is_none());
    assert!(!bob.subscribe("late", "lobby"));
    assert_eq!((bob.connections("lobby"), bob.total_connections()), (0, 0));
}

#[tokio::test]
async fn a_connection_does_not_keep_its_channel_alive() {
    let (kit, alice, bob) = two_in_a_room().await;
    let mut connection = bob.connect("b", "lobby");
    assert_eq!(connection.close_reason(), None);
    drop((kit, alice, bob));
    assert!(connection.recv().await.is_none());
    assert_eq!(connection.close_reason(), Some(CloseReason::Closed));
}

#[test]
fn reasons_have_stable_codes() {
    let codes = [
        (CloseReason::Disconnected, "disconnected"),
        (CloseReason::Replaced, "replaced"),
        (CloseReason::Slow, "slow"),
        (CloseReason::Closed, "closed"),
    ];
    for (reason, code) in codes {
        assert_eq!(reason.code(), code);
        assert_eq!(reason.to_string(), code);
    }
}

#[tokio::test]
async fn listeners_of_the_kit_hear_of_connections_and_of_how_they_end() {
    let (kit, _alice, bob) = two_in_a_room().await;
    let heard = Arc::new(Mutex::new(Vec::new()));
    let log = Arc::clone(&heard);
    kit.on_any(move |event| {
        let reason = event.data.get_str("reason").unwrap_or("-");
        let id = event.data.get_str("connection_id").unwrap();
        log.lock()
            .unwrap()
            .push(format!("{} {id} {reason}", event.event_type.as_str()));
        async {}
    });
    let first = bob.connect("phone", "lobby");
    let second = bob.connect("phone", "lobby");
    kit.wait_idle().await;
    drop(first);
    drop(second);
    kit.wait_idle().await;
    assert_eq!(
        *heard.lock().unwrap(),
        [
            "channel_connected phone -",
            "channel_connected phone -",
            "channel_disconnected phone replaced",
            "channel_disconnected phone disconnected",
        ]
    );
}
