//! A WebSocket client.

use std::time::Duration;

use futures_util::{SinkExt, StreamExt};
use roomkit_sources::WebSocketSource;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::handshake::server::{ErrorResponse, Request, Response};
use tokio_tungstenite::{WebSocketStream, accept_hdr_async};

use super::support::{Stage, json, told};

type Socket = WebSocketStream<TcpStream>;

struct Server {
    listener: TcpListener,
}

impl Server {
    async fn new() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        Self { listener }
    }

    fn url(&self) -> String {
        format!(
            "ws://{}/events?token=secret",
            self.listener.local_addr().unwrap()
        )
    }

    /// The next client, and its headers in words.
    async fn client(&self) -> (Socket, String) {
        let (socket, _) = self.listener.accept().await.unwrap();
        let mut headers = String::new();
        #[expect(clippy::result_large_err, reason = "the callback's own type")]
        let read = |request: &Request, response: Response| -> Result<Response, ErrorResponse> {
            for (name, value) in request.headers() {
                headers.push_str(&format!("{name}: {}\n", value.to_str().unwrap()));
            }
            let mut response = response;
            if let Some(offer) = request.headers().get("sec-websocket-protocol") {
                let headers = response.headers_mut();
                headers.insert("sec-websocket-protocol", offer.clone());
            }
            Ok(response)
        };
        let socket = accept_hdr_async(socket, read).await.unwrap();
        (socket, headers)
    }
}

async fn say(socket: &mut Socket, text: &str) {
    socket.send(Message::text(json(text))).await.unwrap();
}

#[tokio::test]
async fn what_a_server_sends_comes_in_also_after_it_was_away() {
    let (server, mut stage) = (Server::new().await, Stage::new().await);
    let source = WebSocketSource::builder(server.url())
        .header("authorization", "bearer secret")
        .subprotocol("chat.v1")
        .greeting("subscribe")
        .ping_interval(None)
        .build()
        .unwrap();
    assert!(!format!("{source:?}").contains("secret"));
    stage.kit.attach_source("feed", source).await.unwrap();
    let (mut socket, headers) = server.client().await;
    assert!(
        headers.contains("authorization: bearer secret\n"),
        "{headers}"
    );
    assert!(
        headers.contains("sec-websocket-protocol: chat.v1\n"),
        "{headers}"
    );
    assert_eq!(
        socket.next().await.unwrap().unwrap(),
        Message::text("subscribe")
    );
    say(&mut socket, "one").await;
    socket.send(Message::binary(json("two"))).await.unwrap();
    assert_eq!(
        (stage.text().await, stage.text().await),
        ("one".into(), "two".into())
    );
    drop(socket);
    let error = stage.fails().await;
    assert!(error.starts_with("source_failed: the "), "{error}");
    assert!(!error.contains("secret"));
    let (mut socket, _) = server.client().await;
    say(&mut socket, "three").await;
    assert_eq!(stage.text().await, "three");
    socket.close(None).await.unwrap();
    assert_eq!(
        stage.fails().await,
        "source_failed: the server closed the connection"
    );
    let (mut socket, _) = server.client().await;
    say(&mut socket, "four").await;
    assert_eq!(stage.text().await, "four");
}

#[tokio::test]
async fn a_connection_tells_of_itself_where_somebody_wants_traces() {
    let (server, mut stage) = (Server::new().await, Stage::new().await);
    let mut traces = stage.traces();
    let source = WebSocketSource::builder(server.url())
        .header("authorization", "bearer secret")
        .build()
        .unwrap();
    stage.kit.attach_source("feed", source).await.unwrap();
    let (mut socket, _) = server.client().await;
    assert_eq!(told(&mut traces).await, "websocket 101 Switching Protocols");
    say(&mut socket, "one").await;
    assert_eq!(stage.text().await, "one");
    assert_eq!(told(&mut traces).await, "source message");
    socket.close(None).await.unwrap();
    assert_eq!(
        told(&mut traces).await,
        "websocket the server closed the connection"
    );
}

#[tokio::test]
async fn garbage_is_left_out_and_what_is_too_large_ends_the_connection() {
    let (server, mut stage) = (Server::new().await, Stage::new().await);
    let source = WebSocketSource::builder(server.url())
        .max_message_bytes(1_000)
        .ping_interval(None)
        .build()
        .unwrap();
    stage.kit.attach_source("feed", source).await.unwrap();
    let (mut socket, _) = server.client().await;
    for garbage in ["", "hello", "[1]", "{}", r#"{"sender_id": "u", "text": 7}"#] {
        socket.send(Message::text(garbage)).await.unwrap();
    }
    socket.send(Message::binary(vec![0xff; 100])).await.unwrap();
    say(&mut socket, "sound").await;
    assert_eq!(stage.text().await, "sound");
    assert_eq!(stage.detail("ignored").await, 6);
    say(&mut socket, &"x".repeat(2_000)).await;
    assert_eq!(
        stage.fails().await,
        "source_failed: the server sent a message that is too large"
    );
    let (mut socket, _) = server.client().await;
    say(&mut socket, "again").await;
    assert_eq!(stage.text().await, "again");
}

#[tokio::test]
async fn a_server_that_is_no_websocket_or_refuses_is_a_failure_that_says_why() {
    let (server, mut stage) = (Server::new().await, Stage::new().await);
    let source = WebSocketSource::builder(server.url()).build().unwrap();
    stage.kit.attach_source("feed", source).await.unwrap();
    let answers = [
        (
            "HTTP/1.1 401 No\r\ncontent-length: 0\r\n\r\n",
            "the server answered with status 401",
        ),
        (
            "HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n",
            "the server answered with status 200",
        ),
        ("garbage\r\n\r\n", ""),
    ];
    for (answer, problem) in answers {
        let (mut socket, _) = server.listener.accept().await.unwrap();
        let mut request = [0; 4_096];
        assert_ne!(socket.read(&mut request).await.unwrap(), 0);
        socket.write_all(answer.as_bytes()).await.unwrap();
        drop(socket);
        let error = stage.fails().await;
        assert!(
            error.starts_with(&format!("source_failed: {problem}")),
            "{error}"
        );
    }
}

#[tokio::test]
async fn a_server_that_answers_no_ping_counts_as_lost() {
    let (server, mut stage) = (Server::new().await, Stage::new().await);
    let interval = Duration::from_secs(20);
    let source = WebSocketSource::builder(server.url())
        .ping_interval(interval)
        .build()
        .unwrap();
    stage.kit.attach_source("feed", source).await.unwrap();
    let (mut socket, _) = server.client().await;
    stage.event("source_connected").await;
    assert_eq!(stage.time_passes().await, interval);
    // Read, and so answered.
    assert!(matches!(
        socket.next().await.unwrap().unwrap(),
        Message::Ping(_)
    ));
    socket.flush().await.unwrap();
    say(&mut socket, "alive").await;
    assert_eq!(stage.text().await, "alive");
    assert_eq!(stage.time_passes().await, interval);
    assert_eq!(stage.time_passes().await, interval);
    assert_eq!(stage.fails().await, "source_failed: the server is silent");
    drop(server.client().await);
}

#[tokio::test]
async fn a_source_that_is_detached_closes_its_connection_in_order() {
    let (server, mut stage) = (Server::new().await, Stage::new().await);
    let source = WebSocketSource::builder(server.url()).build().unwrap();
    stage.kit.attach_source("feed", source).await.unwrap();
    let (mut socket, _) = server.client().await;
    stage.event("source_connected").await;
    let reading = tokio::spawn(async move { socket.next().await });
    stage.kit.detach_source("feed").await.unwrap();
    assert!(matches!(
        reading.await.unwrap().unwrap().unwrap(),
        Message::Close(_)
    ));
}

/// Sends these, and waits until the client has read them.
async fn say_and_be_read(socket: &mut Socket, texts: &[&str]) {
    for text in texts {
        say(socket, text).await;
    }
    socket.send(Message::Ping("read?".into())).await.unwrap();
    while !matches!(socket.next().await.unwrap().unwrap(), Message::Pong(_)) {}
}

#[tokio::test]
async fn what_was_read_ahead_is_taken_when_the_source_is_detached() {
    let (server, mut stage) = (Server::new().await, Stage::new().await);
    let source = WebSocketSource::builder(server.url()).build().unwrap();
    stage.kit.attach_source("feed", source).await.unwrap();
    let (mut socket, _) = server.client().await;
    let hold = stage.hold().await;
    let texts = ["one", "two", "three"];
    say_and_be_read(&mut socket, &texts).await;
    let kit = stage.kit.clone();
    let detaching = tokio::spawn(async move { kit.detach_source("feed").await });
    let closing = tokio::spawn(async move { socket.next().await });
    for _ in 0..100 {
        tokio::task::yield_now().await;
    }
    assert!(!detaching.is_finished() && !closing.is_finished());
    drop(hold);
    for text in texts {
        assert_eq!(stage.text().await, text);
    }
    detaching.await.unwrap().unwrap();
    assert!(matches!(
        closing.await.unwrap().unwrap().unwrap(),
        Message::Close(_)
    ));
    let detached = stage.event("source_detached").await;
    assert_eq!(detached.data.get("not_taken"), None);
}

#[tokio::test]
async fn what_was_read_ahead_is_taken_when_the_server_goes_away() {
    let (server, mut stage) = (Server::new().await, Stage::new().await);
    let source = WebSocketSource::builder(server.url()).build().unwrap();
    stage.kit.attach_source("feed", source).await.unwrap();
    let (mut socket, _) = server.client().await;
    let hold = stage.hold().await;
    let texts = ["one", "two", "three"];
    say_and_be_read(&mut socket, &texts).await;
    drop(socket);
    drop(hold);
    for text in texts {
        assert_eq!(stage.text().await, text);
    }
    let error = stage.fails().await;
    assert!(error.starts_with("source_failed: the "), "{error}");
    drop(server.client().await);
}

#[tokio::test]
async fn what_comes_too_fast_waits_for_the_limit_until_the_source_is_detached() {
    let (server, mut stage) = (Server::new().await, Stage::limited().await);
    let source = WebSocketSource::builder(server.url())
        .ping_interval(None)
        .build()
        .unwrap();
    stage.kit.attach_source("feed", source).await.unwrap();
    let (mut socket, _) = server.client().await;
    say_and_be_read(&mut socket, &["one", "two", "three", "four", "five"]).await;
    assert_eq!(stage.text().await, "one");
    for text in ["two", "three"] {
        assert_eq!(stage.time_passes().await, Duration::from_secs(1));
        assert_eq!(stage.text().await, text);
    }
    stage.somebody_waits().await;
    stage.kit.detach_source("feed").await.unwrap();
    let detached = stage.event("source_detached").await;
    assert_eq!(detached.data.get("not_taken").unwrap(), 2);
    assert_eq!(stage.kit.room("r").await.unwrap().event_count, 1 + 3);
}

#[test]
fn what_is_not_acceptable_is_refused_by_its_name() {
    let source = || WebSocketSource::builder("ws://host");
    let cases = [
        (WebSocketSource::builder("http://host"), "url"),
        (source().header("a b", "x"), "headers"),
        (source().subprotocol("a\nb"), "subprotocol"),
        (source().max_message_bytes(0), "max_message_bytes"),
        (source().ping_interval(Duration::ZERO), "ping_interval"),
    ];
    for (source, field) in cases {
        let error = source.build().unwrap_err();
        assert_eq!(error.code(), "invalid_input");
        assert!(error.message().starts_with(field), "{error}");
    }
    assert!(WebSocketSource::builder("wss://host").build().is_ok());
}
