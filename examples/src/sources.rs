//! A feed of another server that comes into a room by itself, and finds its way back after the
//! connection is lost.
//!
//! The server is part of the example, on this machine. Time is turned by hand, so that nobody waits
//! for the next try; in a program it passes by itself, and all that deals with it here is left out.

use std::io::Write;
use std::sync::Arc;
use std::time::Duration;

use roomkit::prelude::*;
use roomkit::sources::SseSource;
use roomkit_testkit::ManualClock;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};

use crate::{Outcome, inbox};

const ROOM: &str = "kitchen";

/// Runs the example.
///
/// # Errors
/// Where the kit, the network of this machine or `out` fails.
pub async fn run(out: &mut impl Write) -> Outcome {
    let clock = ManualClock::new();
    let kit = RoomKit::builder().clock(Arc::new(clock.clone())).build()?;

    // A source brings in messages of a channel. What goes out is the channel's own business; nothing
    // does here, so any channel will do.
    let (orders, tablet) = (
        WebSocketChannel::new("orders"),
        WebSocketChannel::new("tablet"),
    );
    kit.register_channel(orders)?;
    kit.register_channel(tablet.clone())?;
    kit.create_room(ROOM).await?;
    kit.attach_channel(ROOM, "orders").await?;
    kit.attach_channel(ROOM, "tablet").await?;
    let mut cook = tablet.connect("cook", ROOM);

    let mut told = listen(&kit);
    let server = Server::new().await?;
    let source = SseSource::builder(server.url()?)
        .parser(|event| {
            // Without one, events are JSON with a sender and a text.
            let mut order = InboundMessage::text("", "shop", &*event.data).in_room(ROOM);
            order.idempotency_key = Some(event.id.clone());
            Some(order)
        })
        .build()?;
    kit.attach_source("orders", source)
        .restart_delay(Duration::from_secs(1))
        .max_restart_delay(Duration::from_secs(60))
        .await?;

    let mut stream = server.stream(out).await?;
    told.next("source_connected").await?;
    say_health(out, &kit).await?;
    stream.send(&order(1, "two soups")).await?;
    stream.send(&order(2, "one salad")).await?;
    told.next("delivered").await?;
    told.next("delivered").await?;
    for line in inbox(&mut cook) {
        writeln!(out, "  {line}")?;
    }

    // The server goes away. The kit tries again after a second at most, then after two.
    drop(stream);
    told.next("source_error").await?;
    say_health(out, &kit).await?;
    let_time_pass(out, &clock, Duration::from_secs(1)).await?;
    server.refuse(out).await?;
    told.next("source_error").await?;
    say_health(out, &kit).await?;
    let_time_pass(out, &clock, Duration::from_secs(2)).await?;

    // It is back, is told what was heard last, and sends some of it again all the same.
    let mut stream = server.stream(out).await?;
    told.next("source_connected").await?;
    stream.send(&order(2, "one salad")).await?;
    stream.send(&order(3, "three coffees")).await?;
    told.next("delivered").await?;
    for line in inbox(&mut cook) {
        writeln!(out, "  {line}")?;
    }
    say_health(out, &kit).await?;

    kit.detach_source("orders").await?;
    told.next("source_detached").await?;
    writeln!(out, "{} sources are left", kit.list_sources().len())?;
    kit.close(Duration::from_secs(5)).await?;
    Ok(())
}

/// An order as the server sends it.
fn order(id: u32, text: &str) -> String {
    format!("id: {id}\ndata: {text}\n\n")
}

async fn say_health(out: &mut impl Write, kit: &RoomKit) -> Outcome {
    let health = kit.source_health("orders").await?;
    write!(
        out,
        "health: {}, {} messages",
        health.status, health.messages_received
    )?;
    if health.failures > 0 {
        write!(out, ", failures in a row: {}", health.failures)?;
    }
    if let Some(error) = health.error {
        write!(out, " ({error})")?;
    }
    writeln!(out)?;
    Ok(())
}

/// Lets the time pass until the source is started again: it is between half of the longest and all.
async fn let_time_pass(out: &mut impl Write, clock: &ManualClock, most: Duration) -> Outcome {
    let waited = loop {
        match clock.advance_to_next() {
            Some(waited) => break waited,
            // The kit is about to wait, in a task of its own.
            None => tokio::task::yield_now().await,
        }
    };
    let is_soon = most / 2 <= waited && waited <= most;
    writeln!(
        out,
        "it is tried again within {} s: {is_soon}",
        most.as_secs()
    )?;
    Ok(())
}

/// What the kit tells of its sources, and `delivered` for each message that all have.
struct Told(UnboundedReceiver<String>);

fn listen(kit: &RoomKit) -> Told {
    let (tell, told) = unbounded_channel();
    let done = tell.clone();
    kit.on_any(move |event| {
        // Nobody may be listening at the end.
        let _ = tell.send(event.event_type.to_string());
        async {}
    });
    kit.hook(AfterBroadcast, "delivered", move |_, _| {
        let _ = done.send("delivered".to_owned());
        async {}
    });
    Told(told)
}

impl Told {
    async fn next(&mut self, word: &str) -> Outcome {
        while self.0.recv().await.ok_or("the kit is gone")? != word {}
        Ok(())
    }
}

/// A server of events.
struct Server(TcpListener);

/// One that listens.
struct Stream(TcpStream);

impl Server {
    async fn new() -> Outcome<Self> {
        Ok(Self(TcpListener::bind("127.0.0.1:0").await?))
    }

    fn url(&self) -> Outcome<String> {
        Ok(format!("http://{}/orders", self.0.local_addr()?))
    }

    /// Waits for a request, reads it, and says after which event it asks to go on.
    async fn request(&self, out: &mut impl Write) -> Outcome<TcpStream> {
        let (socket, _) = self.0.accept().await?;
        let mut reader = BufReader::new(socket);
        let mut last = "the beginning".to_owned();
        loop {
            let mut line = String::new();
            reader.read_line(&mut line).await?;
            let line = line.trim();
            if line.is_empty() {
                break;
            }
            if let Some(id) = line.strip_prefix("last-event-id: ") {
                last = format!("event {id}");
            }
        }
        writeln!(out, "the server is asked for what follows {last}")?;
        Ok(reader.into_inner())
    }

    async fn stream(&self, out: &mut impl Write) -> Outcome<Stream> {
        let mut socket = self.request(out).await?;
        let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n";
        socket.write_all(head.as_bytes()).await?;
        Ok(Stream(socket))
    }

    async fn refuse(&self, out: &mut impl Write) -> Outcome {
        let mut socket = self.request(out).await?;
        // Closed, so that the next request does not go where nobody listens any more.
        let answer = "HTTP/1.1 503 Service Unavailable\r\nconnection: close\r\n\r\n";
        socket.write_all(answer.as_bytes()).await?;
        Ok(())
    }
}

impl Stream {
    async fn send(&mut self, text: &str) -> Outcome {
        Ok(self.0.write_all(text.as_bytes()).await?)
    }
}
