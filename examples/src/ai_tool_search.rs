//! An agent with more tools than it would be good to show its model: it searches for what it needs.
//!
//! The model is a script; what it is shown in each round is what is printed.

use std::io::Write;
use std::sync::Arc;

use roomkit::ai::{
    AiResponse, FnTool, MockAiProvider, ToolArguments, ToolCall, ToolDefinition, ToolSearch,
};
use roomkit::prelude::*;

use crate::Outcome;

const ROOM: &str = "office";

/// What the tools are about, and what can be done with each.
const THINGS: [&str; 6] = [
    "invoice", "contact", "meeting", "parcel", "contract", "ticket",
];
const VERBS: [&str; 5] = ["create", "find", "update", "archive", "share"];

fn call(id: &str, name: &str, arguments: &str) -> ToolCall {
    ToolCall::new(id, name, ToolArguments::parse(arguments))
}

/// Runs the example.
///
/// # Errors
/// Where the kit or `out` fails.
pub async fn run(out: &mut impl Write) -> Outcome {
    let mut tools = ToolSet::new();
    for thing in THINGS {
        for verb in VERBS {
            let definition = ToolDefinition::new(
                format!("{thing}_{verb}"),
                format!("Lets you {verb} a {thing}."),
                ToolDefinition::nothing(),
            );
            let done = format!("the {thing} is there");
            tools.add(FnTool::new(definition, move |_, _| {
                let done = done.clone();
                async move { done }
            }))?;
        }
    }
    let model = Arc::new(MockAiProvider::scripted([
        AiResponse::calling([call("call-1", "find_tools", r#"{"query":"find a parcel"}"#)]),
        AiResponse::calling([call("call-2", "parcel_find", "{}")]),
        AiResponse::text("Your parcel is there."),
        AiResponse::text("You are welcome."),
    ]));
    // By itself it is used above 20 tools, or where they take more than a tenth of a known window.
    let agent = AiChannel::builder("agent")
        .shared_provider(model.clone())
        .tools(&tools)
        .tool_search(ToolSearch::new().pinned(["ticket_create"]))
        .build()?;
    let kit = RoomKit::new();
    kit.register_channel(WebSocketChannel::new("web"))?;
    kit.register_channel(agent)?;
    kit.create_room(ROOM).await?;
    kit.attach_channel(ROOM, "web").await?;
    kit.attach_channel(ROOM, "agent").await?;

    for text in ["Where is my parcel?", "Thank you!"] {
        let message = InboundMessage::text("web", "alice", text).in_room(ROOM);
        kit.process_inbound(message).await?;
    }
    writeln!(
        out,
        "the agent has {} tools; its model was shown",
        tools.len()
    )?;
    for (round, asked) in model.calls().iter().enumerate() {
        let names: Vec<&str> = asked.tools.iter().map(|it| it.name.as_str()).collect();
        writeln!(out, "  round {}: {}", round + 1, names.join(", "))?;
    }
    for event in kit.timeline(ROOM, 0, 100).await? {
        if let (EventType::Message, Some(text)) = (&event.event_type, event.text()) {
            writeln!(out, "[{}] {text}", event.source.channel_id)?;
        }
    }
    Ok(())
}
