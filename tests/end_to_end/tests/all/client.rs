//! A WebSocket client on a real socket, and the server of the application that it is connected to.

use std::time::Duration;

use futures_util::{SinkExt, StreamExt};
use roomkit::WeakKit;
use roomkit::websocket::WebSocketChannel;
use serde_json::Value;
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;
use tokio_tungstenite::tungstenite::{Message, Utf8Bytes};
use tokio_tungstenite::{MaybeTlsStream, WebSocketStream, accept_async, connect_async};

use crate::application::ROOM;

/// Connects whoever comes with the room, as viewers.
pub(crate) struct Sockets {
    address: String,
    task: JoinHandle<()>,
}

impl Sockets {
    /// The kit is not kept: who serves sockets ends with it.
    pub(crate) async fn serve(kit: WeakKit, channel: WebSocketChannel) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = format!("ws://{}", listener.local_addr().unwrap());
        let task = tokio::spawn(async move {
            let mut number = 0;
            while let Ok((stream, _)) = listener.accept().await {
                if kit.upgrade().is_none() {
                    return;
                }
                number += 1;
                let id = format!("viewer-{number}");
                tokio::spawn(serve_one(stream, channel.clone(), id));
            }
        });
        Self { address, task }
    }

    pub(crate) async fn client(&self) -> Client {
        let (socket, _) = connect_async(&self.address).await.unwrap();
        let mut client = Client(socket);
        // The first frame says that the client is connected, so that it knows when to begin.
        assert_eq!(client.next().await, serde_json::json!({}));
        client
    }
}

impl Drop for Sockets {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn serve_one(stream: TcpStream, channel: WebSocketChannel, id: String) {
    let mut socket = accept_async(stream).await.unwrap();
    let mut connection = channel.connect(id, ROOM);
    socket.send(Message::text("{}")).await.unwrap();
    while let Some(frame) = connection.recv().await {
        let text = Utf8Bytes::try_from(frame.json()).unwrap();
        if socket.send(Message::Text(text)).await.is_err() {
            return;
        }
    }
    let _ = socket.close(None).await;
}

/// A client.
pub(crate) struct Client(WebSocketStream<MaybeTlsStream<TcpStream>>);

impl Client {
    /// The next frame; a test that waits in vain fails.
    async fn next(&mut self) -> Value {
        let message = tokio::time::timeout(Duration::from_secs(30), self.0.next()).await;
        let message = message.expect("in time").expect("open").unwrap();
        serde_json::from_str(message.to_text().unwrap()).unwrap()
    }

    /// The frames as they came, up to the end of this many streamed answers.
    pub(crate) async fn until_ended(&mut self, answers: usize) -> Vec<Value> {
        let mut frames = Vec::new();
        let mut ended = 0;
        while ended < answers {
            let frame = self.next().await;
            assert_eq!(frame["room_id"], ROOM);
            ended += usize::from(frame["type"] == "stream_end");
            frames.push(frame);
        }
        frames
    }

    /// Waits until the server says goodbye.
    pub(crate) async fn closed(mut self) {
        let farewell = tokio::time::timeout(Duration::from_secs(30), self.0.next()).await;
        let is_over = match farewell.expect("in time") {
            Some(Ok(message)) => message.is_close(),
            Some(Err(_)) | None => true,
        };
        assert!(is_over, "nothing more comes");
    }
}

/// The pieces of text that came of one streamed answer, and its event.
pub(crate) fn streamed(frames: &[Value]) -> Vec<(Vec<String>, Value)> {
    let ends = frames.iter().filter(|it| it["type"] == "stream_end");
    ends.map(|end| {
        let is_piece = |it: &&Value| {
            it["type"] == "stream_chunk"
                && it["event_id"] == end["event_id"]
                && it["delta"]["type"] == "text"
        };
        let text = |it: &Value| it["delta"]["text"].as_str().unwrap().to_owned();
        let pieces = frames.iter().filter(is_piece).map(text).collect();
        (pieces, end["event"].clone())
    })
    .collect()
}
