//! Two clients chat over real sockets on loopback, through a server that the test makes.

use std::time::Duration;

use futures_util::{SinkExt, StreamExt};
use roomkit_core::model::{EventContent, InboundMessage, ParticipantId, RoomId};
use roomkit_core::{Channel, RoomKit};
use roomkit_websocket::WebSocketChannel;
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::net::{TcpListener, TcpStream};
use tokio_tungstenite::tungstenite::{Message, Utf8Bytes};
use tokio_tungstenite::{MaybeTlsStream, WebSocketStream, accept_async, connect_async};

use crate::support::two_in_a_room;

type Client = WebSocketStream<MaybeTlsStream<TcpStream>>;

/// What a client sends: its name first, then what it says.
#[derive(Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum FromClient {
    Hello { user: ParticipantId },
    Say { content: EventContent },
}

/// Accepts clients until the test ends; user `alice` is on the channel `ws-alice`.
async fn serve(listener: TcpListener, kit: RoomKit, channels: [WebSocketChannel; 2]) {
    while let Ok((stream, _)) = listener.accept().await {
        let (kit, channels) = (kit.clone(), channels.clone());
        tokio::spawn(async move {
            let socket = accept_async(stream).await.unwrap();
            serve_one(socket, kit, channels).await;
        });
    }
}

async fn serve_one(
    mut socket: WebSocketStream<TcpStream>,
    kit: RoomKit,
    channels: [WebSocketChannel; 2],
) {
    let room = RoomId::from("lobby");
    let hello = socket.next().await.unwrap().unwrap();
    let FromClient::Hello { user } = serde_json::from_str(hello.to_text().unwrap()).unwrap() else {
        panic!("the first message is a hello");
    };
    let own = format!("ws-{user}");
    let channel = channels.iter().find(|it| *it.id() == *own).unwrap();
    let mut connection = channel.connect(user.as_str(), &room);
    // Says that the client is connected, so that it knows when to begin.
    socket.send(Message::text("{}")).await.unwrap();
    loop {
        tokio::select! {
            frame = connection.recv() => {
                let Some(frame) = frame else { break };
                let text = Utf8Bytes::try_from(frame.json()).unwrap();
                socket.send(Message::Text(text)).await.unwrap();
            }
            message = socket.next() => match message {
                Some(Ok(Message::Text(text))) => {
                    let FromClient::Say { content } = serde_json::from_str(&text).unwrap() else {
                        continue;
                    };
                    let message = InboundMessage::new(channel.id(), &user, content).in_room(&room);
                    kit.process_inbound_deferred(message).await.unwrap();
                }
                Some(Ok(_)) => {}
                Some(Err(_)) | None => return,
            },
        }
    }
    socket.close(None).await.unwrap();
}

async fn client(address: &str, user: &str) -> Client {
    let (mut socket, _) = connect_async(address).await.unwrap();
    let hello = json!({"type": "hello", "user": user});
    socket.send(Message::text(hello.to_string())).await.unwrap();
    assert_eq!(next(&mut socket).await, json!({}));
    socket
}

async fn say(socket: &mut Client, body: &str) {
    let say = json!({"type": "say", "content": {"type": "text", "body": body}});
    socket.send(Message::text(say.to_string())).await.unwrap();
}

/// The next JSON that the server sends; a test that waits in vain fails.
async fn next(socket: &mut Client) -> Value {
    let message = tokio::time::timeout(Duration::from_secs(30), socket.next()).await;
    let message = message.expect("in time").expect("open").unwrap();
    serde_json::from_str(message.to_text().unwrap()).unwrap()
}

/// Who said what, of the frame that a client got.
fn said(frame: &Value) -> (&str, &str) {
    assert_eq!(frame["type"], "event");
    assert_eq!(frame["room_id"], "lobby");
    let event = &frame["event"];
    (
        event["source"]["participant_id"].as_str().unwrap(),
        event["content"]["body"].as_str().unwrap(),
    )
}

#[tokio::test]
async fn two_clients_chat_over_sockets() {
    let (kit, alice, bob) = two_in_a_room().await;
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = format!("ws://{}", listener.local_addr().unwrap());
    let channels = [alice.clone(), bob.clone()];
    let server = tokio::spawn(serve(listener, kit.clone(), channels));

    let mut alices = client(&address, "alice").await;
    let mut bobs = client(&address, "bob").await;
    assert_eq!(
        (alice.connections("lobby"), bob.connections("lobby")),
        (1, 1)
    );

    say(&mut alices, "Hello Bob!").await;
    assert_eq!(said(&next(&mut bobs).await), ("alice", "Hello Bob!"));
    say(&mut bobs, "Hello Alice \u{1F44B}").await;
    assert_eq!(
        said(&next(&mut alices).await),
        ("bob", "Hello Alice \u{1F44B}")
    );
    for body in ["one", "two", "three"] {
        say(&mut alices, body).await;
    }
    for body in ["one", "two", "three"] {
        assert_eq!(said(&next(&mut bobs).await), ("alice", body));
    }

    bob.disconnect("bob");
    let farewell = tokio::time::timeout(Duration::from_secs(30), bobs.next()).await;
    let farewell = farewell.expect("in time").expect("open").unwrap();
    assert!(farewell.is_close(), "{farewell:?}");
    server.abort();
}
