//! Several people and one agent: from the second person on, the model is told who says what.
//!
//! The model is a script; what it is asked with is what is printed.

use std::io::Write;
use std::sync::Arc;

use roomkit::ai::{MockAiProvider, Role};
use roomkit::prelude::*;

use crate::Outcome;

const ROOM: &str = "family";

/// Runs the example.
///
/// # Errors
/// Where the kit or `out` fails.
pub async fn run(out: &mut impl Write) -> Outcome {
    let model = Arc::new(MockAiProvider::new([
        "I noted apples.",
        "I noted bread.",
        "Alice wants apples, and Bob wants bread.",
    ]));
    let agent = AiChannel::builder("agent")
        .shared_provider(model.clone())
        .system_prompt("You keep the shopping list.")
        .build()?;
    let kit = RoomKit::new();
    kit.register_channel(WebSocketChannel::new("web"))?;
    kit.register_channel(agent)?;
    kit.create_room(ROOM).await?;
    kit.attach_channel(ROOM, "web").await?;
    kit.attach_channel(ROOM, "agent").await?;

    for (id, name, text) in [
        ("alice", "Alice", "Apples, please"),
        ("bob", "Bob", "And bread"),
        ("alice", "Alice", "Who wants what?"),
    ] {
        let mut message = InboundMessage::text("web", id, text).in_room(ROOM);
        // A channel that knows who writes says so; else the name of the room's participant counts.
        message.metadata.insert("sender_name", name);
        kit.process_inbound(message).await?;
    }
    for (turn, asked) in model.calls().iter().enumerate() {
        writeln!(out, "turn {}", turn + 1)?;
        let prompt = asked.system_prompt.as_deref().unwrap_or_default();
        for line in prompt.lines().filter(|line| !line.is_empty()) {
            writeln!(out, "  system: {line}")?;
        }
        for message in &asked.messages {
            let who = match message.role {
                Role::Assistant => "assistant",
                _ => "user",
            };
            writeln!(out, "  {who}: {}", message.text())?;
        }
    }
    Ok(())
}
