//! Connections that come and go while events are delivered leave nothing behind.

use roomkit_websocket::WebSocketChannel;

use crate::support::{kit, say, texts};

const TASKS: usize = 16;
const TURNS: usize = 100;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn coming_and_going_under_load_leaves_nothing_behind() {
    let (alice, bob) = (
        WebSocketChannel::new("ws-alice"),
        WebSocketChannel::builder("ws-bob")
            .queue_capacity(1)
            .build()
            .unwrap(),
    );
    let kit = kit(&[&alice, &bob], &["one", "two"]).await;
    let speakers = ["one", "two"].map(|room| {
        let kit = kit.clone();
        tokio::spawn(async move {
            for _ in 0..TURNS {
                say(&kit, "ws-alice", room, "x").await;
            }
        })
    });
    let clients: Vec<_> = (0..TASKS)
        .map(|task| {
            let bob = bob.clone();
            tokio::spawn(async move {
                for turn in 0..TURNS {
                    // Ids are shared by pairs of tasks, so that they replace one another.
                    let id = format!("c{}", task / 2);
                    let mut connection = bob.connect(id.as_str(), "one");
                    bob.subscribe(id.as_str(), "two");
                    tokio::task::yield_now().await;
                    texts(&mut connection);
                    match turn % 3 {
                        0 => drop(connection),
                        1 => drop(bob.disconnect(id.as_str())),
                        _ => drop(bob.unsubscribe(id.as_str(), "one")),
                    }
                }
            })
        })
        .collect();
    for task in speakers.into_iter().chain(clients) {
        task.await.unwrap();
    }
    assert_eq!(bob.total_connections(), 0);
    assert_eq!((bob.connections("one"), bob.connections("two")), (0, 0));
}
