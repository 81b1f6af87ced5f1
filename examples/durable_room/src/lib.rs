//! Talk, stop, start, go on: a room in an SQLite file.

use std::io::Write;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use roomkit::prelude::*;
use roomkit::sqlite::{SqliteOptions, SqliteStore};
use roomkit::store::EventSearch;

const ROOM: &str = "support";
/// How long what is under way has to end when the program stops.
const PATIENCE: Duration = Duration::from_secs(10);

/// What the example comes to.
pub type Outcome<T = ()> = std::result::Result<T, Box<dyn std::error::Error + Send + Sync>>;

/// Runs the example; the room lives in `file`.
///
/// # Errors
/// Where the kit, the file or `out` fails.
pub async fn run(out: &mut impl Write, file: &Path) -> Outcome {
    writeln!(out, "The first day")?;
    let kit = start(file).await?;
    kit.create_room(ROOM).await?;
    kit.attach_channel(ROOM, "ws-alice").await?;
    kit.attach_channel(ROOM, "ws-support").await?;
    say(&kit, out, "ws-alice", "alice", "My invoice 1042 is wrong").await?;
    say(&kit, out, "ws-support", "sam", "I will look at it tomorrow").await?;
    kit.close(PATIENCE).await?;

    writeln!(out, "The second day, started again")?;
    let kit = start(file).await?;
    say(&kit, out, "ws-support", "sam", "It is corrected now").await?;
    say(&kit, out, "ws-alice", "alice", "Thank you").await?;

    // A provider that got no answer sends a message again; its key tells.
    let again = InboundMessage::text("ws-alice", "alice", "Thank you")
        .in_room(ROOM)
        .idempotency_key("Thank you");
    let first = kit.process_inbound(again).await?.event;
    writeln!(
        out,
        "  sent again: still event {}",
        first.map_or(0, |event| event.index)
    )?;

    writeln!(out, "All that was said:")?;
    for event in kit.timeline(ROOM, 0, 100).await? {
        if let Some(text) = event.text() {
            writeln!(
                out,
                "  {} [{}] {text}",
                event.index, event.source.channel_id
            )?;
        }
    }
    let found = kit.search_events(EventSearch::new("Invoice", 10)).await?;
    writeln!(out, "Found by \"Invoice\": {} event", found.len())?;
    kit.close(PATIENCE).await?;
    Ok(())
}

/// A kit as the program makes it whenever it starts. Which channels are attached is in the file.
async fn start(file: &Path) -> Outcome<RoomKit> {
    let store = SqliteStore::open(SqliteOptions::new(file)).await?;
    let kit = RoomKit::builder().store(Arc::new(store)).build()?;
    kit.register_channel(WebSocketChannel::new("ws-alice"))?;
    kit.register_channel(WebSocketChannel::new("ws-support"))?;
    Ok(kit)
}

async fn say(
    kit: &RoomKit,
    out: &mut impl Write,
    channel: &str,
    sender: &str,
    text: &str,
) -> Outcome {
    let message = InboundMessage::text(channel, sender, text)
        .in_room(ROOM)
        .idempotency_key(text);
    let stored = kit.process_inbound(message).await?.event;
    writeln!(
        out,
        "  {sender}: {text} -> event {}",
        stored.map_or(0, |event| event.index)
    )?;
    Ok(())
}
