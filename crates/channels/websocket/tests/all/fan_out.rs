//! One event to a room of ten thousand connections is written as JSON once.

use std::sync::Arc;

use crate::support::{alice_says, two_in_a_room};

const CONNECTIONS: usize = 10_000;

#[tokio::test]
async fn ten_thousand_connections_share_one_serialisation() {
    let (kit, _alice, bob) = two_in_a_room().await;
    let mut connections: Vec<_> = (0..CONNECTIONS)
        .map(|at| bob.connect(format!("c{at}"), "lobby"))
        .collect();
    assert_eq!(bob.connections("lobby"), CONNECTIONS);

    let sent = alice_says(&kit, "Hello everyone!").await.event.unwrap();

    let frames: Vec<_> = connections
        .iter_mut()
        .map(|connection| connection.try_recv().unwrap())
        .collect();
    let first = frames[0].json();
    for frame in &frames {
        assert!(Arc::ptr_eq(frame.event().unwrap(), &sent), "no deep copy");
        assert!(std::ptr::eq(frame.json().as_ptr(), first.as_ptr()));
        assert_eq!(frame.json().len(), first.len());
    }

    drop(connections);
    assert_eq!(bob.connections("lobby"), 0);
    assert_eq!(bob.total_connections(), 0);
}
