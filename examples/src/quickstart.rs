//! Two people on WebSockets chat with an assistant in a moderated room.

use std::io::Write;

use roomkit::prelude::*;

use crate::assistant::Assistant;
use crate::{Outcome, inbox, line};

const ROOM: &str = "demo-room";

/// Runs the example.
///
/// # Errors
/// Where the kit or `out` fails.
pub async fn run(out: &mut impl Write) -> Outcome {
    // A kit with its defaults: everything in memory and in this process.
    let kit = RoomKit::new();

    // Channels are registered once, and may then be attached to any number of rooms.
    let alice = WebSocketChannel::new("ws-alice");
    let bob = WebSocketChannel::new("ws-bob");
    kit.register_channel(alice.clone())?;
    kit.register_channel(bob.clone())?;
    kit.register_channel(Assistant::new("ai-assistant", "Got it!"))?;

    kit.create_room(ROOM).await?;
    for channel in ["ws-alice", "ws-bob", "ai-assistant"] {
        kit.attach_channel(ROOM, channel).await?;
    }

    // In a server, what these yield is written to a socket.
    let mut alices_inbox = alice.connect("alices-laptop", ROOM);
    let mut bobs_inbox = bob.connect("bobs-phone", ROOM);

    // Asked before an event is stored; it sees what people say and what agents answer.
    kit.hook(
        BeforeBroadcast,
        "profanity_filter",
        |event, _room| async move {
            let mut texts = event.content.texts().into_iter();
            if texts.any(|text| text.contains("badword")) {
                return HookResult::block("Message blocked by profanity filter");
            }
            HookResult::allow()
        },
    );

    // The call returns when the message and all that it caused is done, the answer included.
    let hello = InboundMessage::text("ws-alice", "alice", "Hello everyone!").in_room(ROOM);
    let result = kit.process_inbound(hello).await?;
    writeln!(
        out,
        "Alice sent 'Hello everyone!' -> blocked={}",
        result.blocked
    )?;

    // The timeline also says when the channels were attached; this is what was said.
    for event in kit.timeline(ROOM, 0, 100).await? {
        if event.event_type == EventType::Message {
            writeln!(out, "  {}", line(&event))?;
        }
    }

    // Nobody hears what came through their own channel.
    for (name, inbox_of) in [("Alice", &mut alices_inbox), ("Bob", &mut bobs_inbox)] {
        writeln!(out, "{name} received:")?;
        for line in inbox(inbox_of) {
            writeln!(out, "  {line}")?;
        }
    }

    let rude = InboundMessage::text("ws-alice", "alice", "You badword!").in_room(ROOM);
    let result = kit.process_inbound(rude).await?;
    let reason = result.reason.unwrap_or_default();
    writeln!(
        out,
        "Alice sent 'You badword!' -> blocked={}: {reason}",
        result.blocked
    )?;
    writeln!(out, "Bob received {} more", inbox(&mut bobs_inbox).len())?;
    Ok(())
}
