//! Server-sent events.

use std::sync::Arc;

use roomkit_sources::SseSource;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};

use super::support::{Stage, json, told};

struct Server {
    listener: TcpListener,
}

/// One request that came.
struct Request {
    socket: BufReader<TcpStream>,
    head: String,
}

impl Server {
    async fn new() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        Self { listener }
    }

    fn url(&self) -> String {
        format!(
            "http://{}/stream?token=secret",
            self.listener.local_addr().unwrap()
        )
    }

    async fn request(&self) -> Request {
        let (socket, _) = self.listener.accept().await.unwrap();
        let mut request = Request {
            socket: BufReader::new(socket),
            head: String::new(),
        };
        request.read().await;
        request
    }

    async fn stream(&self) -> Request {
        let mut request = self.request().await;
        request
            .send("HTTP/1.1 200 OK\r\ncontent-type: text/event-stream; charset=utf-8\r\n\r\n")
            .await;
        request
    }

    async fn answer(&self, answer: &str) -> Request {
        let mut request = self.request().await;
        request.send(answer).await;
        request
    }
}

impl Request {
    /// Reads the next request that comes over the connection.
    async fn read(&mut self) {
        let mut head = String::new();
        while !head.ends_with("\r\n\r\n") {
            assert_ne!(self.socket.read_line(&mut head).await.unwrap(), 0);
        }
        self.head = head.to_ascii_lowercase();
    }

    async fn send(&mut self, text: impl AsRef<[u8]>) {
        self.socket
            .get_mut()
            .write_all(text.as_ref())
            .await
            .unwrap();
    }

    fn header(&self, name: &str) -> Option<&str> {
        let name = format!("{name}: ");
        self.head.lines().find_map(|line| line.strip_prefix(&*name))
    }
}

fn event(id: &str, text: &str) -> String {
    format!("id: {id}\ndata: {}\n\n", json(text))
}

#[tokio::test]
async fn a_stream_tells_of_itself_where_somebody_wants_traces() {
    let (server, mut stage) = (Server::new().await, Stage::new().await);
    let mut traces = stage.traces();
    let source = SseSource::builder(server.url())
        .header("authorization", "bearer secret")
        .build()
        .unwrap();
    stage.kit.attach_source("feed", source).await.unwrap();
    let mut request = server.stream().await;
    assert_eq!(told(&mut traces).await, "sse 200 OK");
    request.send(event("1", "one")).await;
    assert_eq!(stage.text().await, "one");
    assert_eq!(told(&mut traces).await, "source message");
    drop(request);
    let ended = told(&mut traces).await;
    assert!(ended.starts_with("sse the "), "{ended}");
}

#[tokio::test]
async fn a_stream_goes_on_where_it_was() {
    let (server, mut stage) = (Server::new().await, Stage::new().await);
    let source = SseSource::builder(server.url())
        .header("authorization", "bearer secret")
        .last_event_id("40")
        .build()
        .unwrap();
    assert!(!format!("{source:?}").contains("secret"));
    stage.kit.attach_source("feed", source).await.unwrap();
    let mut request = server.stream().await;
    assert_eq!(request.header("last-event-id"), Some("40"));
    assert_eq!(request.header("authorization"), Some("bearer secret"));
    assert_eq!(request.header("accept"), Some("text/event-stream"));
    request.send(event("41", "one")).await;
    assert_eq!(stage.text().await, "one");
    request
        .send(": alive\n\nid: 42\nevent: noise\ndata: x\n\nid: 43\ndata: cut")
        .await;
    drop(request);
    let error = stage.fails().await;
    assert!(error.starts_with("source_failed: the"), "{error}");
    assert!(!error.contains("secret"));
    let mut request = server.stream().await;
    assert_eq!(
        request.header("last-event-id"),
        Some("42"),
        "the one that was cut is sent again"
    );
    request.send(event("43", "two")).await;
    assert_eq!(stage.text().await, "two");
    // A server that does not know where it was sends all of it again.
    drop(request);
    stage.fails().await;
    let mut request = server.stream().await;
    request
        .send(event("43", "two") + &event("44", "three"))
        .await;
    assert_eq!(stage.text().await, "three");
    assert_eq!(stage.kit.room("r").await.unwrap().event_count, 4);
    stage.kit.detach_source("feed").await.unwrap();
}

#[tokio::test]
async fn what_was_not_taken_is_asked_for_again() {
    let (server, mut stage) = (Server::new().await, Stage::failing(1).await);
    let source = SseSource::builder(server.url()).build().unwrap();
    stage.kit.attach_source("feed", source).await.unwrap();
    server.stream().await.send(event("1", "one")).await;
    assert_eq!(
        stage.fails().await,
        "source_failed: a message was not taken: channel_failed"
    );
    let mut request = server.stream().await;
    assert_eq!(request.header("last-event-id"), None);
    request.send(event("1", "one")).await;
    assert_eq!(stage.text().await, "one");
}

#[tokio::test]
async fn what_comes_too_fast_waits_for_the_limit() {
    let (server, mut stage) = (Server::new().await, Stage::limited().await);
    let source = SseSource::builder(server.url()).build().unwrap();
    stage.kit.attach_source("feed", source).await.unwrap();
    let all = event("1", "one") + &event("2", "two") + &event("3", "three");
    server.stream().await.send(all).await;
    assert_eq!(stage.text().await, "one");
    for text in ["two", "three"] {
        assert_eq!(stage.time_passes().await.as_millis(), 1_000);
        assert_eq!(stage.text().await, text);
    }
}

#[tokio::test]
async fn what_the_limit_held_back_to_the_end_is_asked_for_again() {
    let (server, mut stage) = (Server::new().await, Stage::limited().await);
    let source = Arc::new(SseSource::builder(server.url()).build().unwrap());
    let kit = stage.kit.clone();
    let attach = || kit.attach_source("feed", Arc::clone(&source));
    attach().await.unwrap();
    let mut request = server.stream().await;
    request.send(event("1", "one") + &event("2", "two")).await;
    assert_eq!(stage.text().await, "one");
    stage.somebody_waits().await;
    stage.kit.detach_source("feed").await.unwrap();
    let detached = stage.event("source_detached").await;
    assert_eq!(detached.data.get("not_taken").unwrap(), 1);
    attach().await.unwrap();
    let mut request = server.stream().await;
    assert_eq!(request.header("last-event-id"), Some("1"));
    stage.event("source_connected").await;
    request.send(event("2", "two")).await;
    assert_eq!(stage.time_passes().await.as_millis(), 1_000);
    assert_eq!(stage.text().await, "two");
}

#[tokio::test]
async fn garbage_and_what_is_too_large_is_left_out() {
    let (server, mut stage) = (Server::new().await, Stage::new().await);
    let source = SseSource::builder(server.url())
        .max_event_bytes(1_000)
        .build()
        .unwrap();
    stage.kit.attach_source("feed", source).await.unwrap();
    let mut request = server.stream().await;
    request
        .send("data: not json\n\ndata: [1]\n\n\n\nfoo\n\n")
        .await;
    request.send(b"data: \xff\xfe\n\n").await;
    for _ in 0..100 {
        request.send([b'x'; 10_000]).await;
    }
    request
        .send("\n\n".to_owned() + &event("1", &"y".repeat(2_000)))
        .await;
    request.send(event("2", "sound")).await;
    assert_eq!(stage.text().await, "sound");
    request.send(event("3", "again")).await;
    assert_eq!(stage.text().await, "again");
    assert_eq!(stage.detail("ignored").await, 2);
    assert_eq!(stage.detail("dropped").await, 3);
}

#[tokio::test]
async fn a_server_says_when_to_come_again_and_when_no_more() {
    let (server, mut stage) = (Server::new().await, Stage::new().await);
    let source = SseSource::builder(server.url()).build().unwrap();
    stage.kit.attach_source("feed", source).await.unwrap();
    let mut request = server.request().await;
    let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncontent-length: 13\r\n\r\n";
    request.send(head.to_owned() + "retry: 1500\n\n").await;
    stage.event("source_disconnected").await;
    assert_eq!(stage.time_passes().await.as_millis(), 1_500);
    // The connection is good for another request.
    request.read().await;
    request.send("HTTP/1.1 204 No Content\r\n\r\n").await;
    stage.event("source_detached").await;
    assert!(stage.kit.list_sources().is_empty());
}

#[tokio::test]
async fn other_answers_are_failures_that_say_why() {
    let (server, mut stage) = (Server::new().await, Stage::new().await);
    let elsewhere = Server::new().await;
    let source = SseSource::builder(server.url())
        .header("x-key", "secret")
        .build()
        .unwrap();
    stage.kit.attach_source("feed", source).await.unwrap();
    let here = "HTTP/1.1 307 T\r\nlocation: /other\r\ncontent-length: 0\r\n\r\n";
    let away = format!(
        "HTTP/1.1 307 T\r\nlocation: {}\r\ncontent-length: 0\r\n\r\n",
        elsewhere.url()
    );
    let answers = [
        (
            "HTTP/1.1 401 No\r\ncontent-length: 0\r\n\r\n",
            "the server answered with status 401",
        ),
        (
            "HTTP/1.1 503 No\r\ncontent-length: 0\r\n\r\n",
            "the server answered with status 503",
        ),
        (&*away, "the server answered with status 307"),
        (
            "HTTP/1.1 200 OK\r\ncontent-type: text/html\r\ncontent-length: 0\r\n\r\n",
            "the server answered with something else than an event stream",
        ),
        (
            "HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n",
            "the server answered with something else than an event stream",
        ),
        ("garbage\r\n\r\n", "the connection failed"),
    ];
    for (answer, problem) in answers {
        drop(server.answer(answer).await);
        assert_eq!(stage.fails().await, format!("source_failed: {problem}"));
    }
    drop(server.answer(here).await);
    let mut request = server.stream().await;
    assert_eq!(
        request.header("x-key"),
        Some("secret"),
        "the same server still"
    );
    assert!(request.head.starts_with("get /other"));
    request.send(event("1", "at last")).await;
    assert_eq!(stage.text().await, "at last");
}

#[tokio::test]
async fn silence_is_noticed_where_that_is_wanted() {
    let (server, mut stage) = (Server::new().await, Stage::new().await);
    let idle = std::time::Duration::from_secs(45);
    let source = SseSource::builder(server.url())
        .idle_timeout(idle)
        .build()
        .unwrap();
    stage.kit.attach_source("feed", source).await.unwrap();
    let _request = server.stream().await;
    stage.event("source_connected").await;
    assert_eq!(stage.time_passes().await, idle);
    assert_eq!(stage.fails().await, "source_failed: the server is silent");
    drop(server.request().await);
}
