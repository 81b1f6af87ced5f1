//! Two organisations share a kit: neither finds the other's rooms, and each has its own limit.

use std::io::Write;
use std::sync::Arc;
use std::time::Duration;

use roomkit::prelude::*;
use roomkit_core::store::{EventSearch, Page, RoomFilter};
use roomkit_testkit::ManualClock;

use crate::Outcome;

/// Runs the example.
///
/// # Errors
/// Where the kit or `out` fails.
pub async fn run(out: &mut impl Write) -> Outcome {
    // Three messages a second for each organisation, over all of its channels. The clock is turned by
    // hand, so that the example needs no time.
    let clock = ManualClock::new();
    let kit = RoomKit::builder()
        .clock(Arc::new(clock.clone()))
        .organization_rate_limit(RateLimit {
            max_per_second: Some(3.0),
            ..RateLimit::default()
        })
        .build()?;

    // Channels belong to the kit and serve both. What is done in rooms goes through a handle.
    kit.register_channel(WebSocketChannel::new("web"))?;
    let (acme, globex) = (kit.org("acme"), kit.org("globex"));

    for (name, rooms) in [("acme", &acme), ("globex", &globex)] {
        let room = format!("{name}-support");
        rooms.create_room(room.as_str()).await?;
        rooms.attach_channel(room.as_str(), "web").await?;
        let said = format!("the invoice of {name}");
        say(rooms, &room, &said).await?;
    }
    for (name, rooms) in [("acme", &acme), ("globex", &globex)] {
        let listed = rooms
            .list_rooms(RoomFilter::default(), Page::first(10))
            .await?;
        let ids: Vec<_> = listed.iter().map(|room| room.id.as_str()).collect();
        writeln!(out, "{name} has {}", ids.join(", "))?;
        let found = rooms.search_events(EventSearch::new("invoice", 10)).await?;
        for event in found {
            writeln!(out, "{name} finds '{}'", event.content.texts().join(" "))?;
        }
    }

    // A room of somebody else is not there, whatever is asked of it, and its id is not to be had.
    writeln!(out, "globex and acme's room:")?;
    let room = "acme-support";
    let read = globex.timeline(room, 0, 10).await.map(drop);
    let told = say(&globex, room, "who is there?").await.map(drop);
    let closed = globex.close_room(room).await.map(drop);
    let made = globex.create_room(room).await.map(drop);
    for (what, outcome) in [
        ("read", read),
        ("write", told),
        ("close", closed),
        ("create", made),
    ] {
        let code = outcome.err().map_or("ok", |error| error.code());
        writeln!(out, "  {what}: {code}")?;
    }

    // What one organisation sends counts for it alone. The message into acme's room was globex's.
    writeln!(out, "three more messages each:")?;
    for (name, rooms) in [("acme", &acme), ("globex", &globex)] {
        let room = format!("{name}-support");
        for _ in 0..3 {
            let result = say(rooms, &room, "hello").await?;
            let outcome = result.reason.unwrap_or_else(|| "taken".to_owned());
            writeln!(out, "  {name}: {outcome}")?;
        }
    }
    clock.advance(Duration::from_secs(1));
    let result = say(&globex, "globex-support", "hello").await?;
    writeln!(out, "a second later, globex: blocked={}", result.blocked)?;
    Ok(())
}

async fn say(rooms: &Rooms, room: &str, text: &str) -> roomkit_core::Result<InboundResult> {
    let message = InboundMessage::text("web", "alice", text).in_room(room);
    rooms.process_inbound(message).await
}
