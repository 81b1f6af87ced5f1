//! A client that reads too slowly is cut, and delays nobody.

use roomkit_core::model::DeliveryOutcome;
use roomkit_websocket::{CloseReason, WebSocketChannel};

use crate::support::{alice_says, kit, say, texts};

fn with_two_places(id: &str) -> WebSocketChannel {
    WebSocketChannel::builder(id)
        .queue_capacity(2)
        .build()
        .unwrap()
}

#[tokio::test]
async fn a_slow_connection_is_cut_without_delaying_others() {
    let (alice, bob) = (WebSocketChannel::new("ws-alice"), with_two_places("ws-bob"));
    let kit = kit(&[&alice, &bob], &["lobby"]).await;
    let mut slow = bob.connect("slow", "lobby");
    let mut quick = bob.connect("quick", "lobby");
    let mut heard = Vec::new();
    for body in ["1", "2", "3", "4"] {
        let result = alice_says(&kit, body).await;
        let outcome = &result.delivery("ws-bob").unwrap().outcome;
        assert_eq!(*outcome, DeliveryOutcome::sent());
        heard.extend(texts(&mut quick));
    }
    assert_eq!(heard, ["1", "2", "3", "4"]);
    assert_eq!(quick.close_reason(), None);

    assert_eq!(slow.close_reason(), Some(CloseReason::Slow));
    assert_eq!(bob.connections("lobby"), 1);
    assert_eq!(bob.slow_connections_cut(), 1, "counted once");
    assert_eq!(texts(&mut slow), ["1", "2"]);
    assert!(slow.recv().await.is_none());
}

#[tokio::test]
async fn one_that_was_cut_hears_nothing_after_its_gap_in_any_room() {
    let (alice, bob) = (WebSocketChannel::new("ws-alice"), with_two_places("ws-bob"));
    let kit = kit(&[&alice, &bob], &["one", "two"]).await;
    let mut connection = bob.connect("b", "one");
    bob.subscribe("b", "two");
    for body in ["1", "2", "3"] {
        say(&kit, "ws-alice", "one", body).await;
    }
    assert_eq!(texts(&mut connection), ["1", "2"]);
    say(&kit, "ws-alice", "one", "4").await;
    say(&kit, "ws-alice", "two", "5").await;
    assert_eq!(texts(&mut connection), [""; 0]);
    assert_eq!(connection.close_reason(), Some(CloseReason::Slow));
    assert_eq!((bob.connections("one"), bob.connections("two")), (0, 0));

    let mut again = bob.connect("b", "one");
    say(&kit, "ws-alice", "one", "6").await;
    assert_eq!(texts(&mut again), ["6"]);
    assert_eq!(bob.slow_connections_cut(), 1);
}
