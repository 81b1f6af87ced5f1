//! An agent with tools: typed arguments, a call that does not fit, one that is denied, and what is recorded.
//!
//! The model is a script, so that it makes the mistakes that a model makes.

use std::io::Write;
use std::sync::Arc;

use roomkit::ai::{
    AiResponse, ConsoleToolAuditor, MockAiProvider, Role, ToolArguments, ToolCall, ToolPolicy,
};
use roomkit::prelude::*;

use crate::{Outcome, inbox};

const ROOM: &str = "travel";

tool! {
    /// Says what the weather will be like.
    async fn get_weather(
        /// The city's name.
        city: String,
        /// For how many days, from 1 to 10.
        #[schemars(range(min = 1, max = 10))]
        days: u8,
    ) -> Result<String, ToolError> {
        Ok(format!("{city}: sunny for {days} days"))
    }
}

tool! {
    /// Cancels a booking.
    async fn cancel_booking(
        /// The booking's number.
        number: u32,
    ) -> Result<String, ToolError> {
        Ok(format!("booking {number} is cancelled"))
    }
}

fn call(id: &str, name: &str, arguments: &str) -> ToolCall {
    ToolCall::new(id, name, ToolArguments::parse(arguments))
}

/// Runs the example.
///
/// # Errors
/// Where the kit or `out` fails.
pub async fn run(out: &mut impl Write) -> Outcome {
    let model = Arc::new(MockAiProvider::scripted([
        // Days in words, and one tool that nobody has allowed.
        AiResponse::calling([
            call("call-1", "get_weather", r#"{"city":"Lyon","days":"two"}"#),
            call("call-2", "cancel_booking", r#"{"number":7}"#),
        ]),
        AiResponse::calling([call("call-3", "get_weather", r#"{"city":"Lyon","days":2}"#)]),
        AiResponse::text("It stays sunny in Lyon. I may not cancel bookings."),
    ]));
    let auditor = Arc::new(ConsoleToolAuditor::new());
    let agent = AiChannel::builder("agent")
        .shared_provider(model.clone())
        .tool(get_weather())
        .tool(cancel_booking())
        .tool_policy(ToolPolicy::new().deny(["cancel_*"]))
        .tool_auditor(auditor.clone())
        .build()?;
    let kit = RoomKit::new();
    let web = WebSocketChannel::new("web");
    kit.register_channel(web.clone())?;
    kit.register_channel(agent)?;
    kit.create_room(ROOM).await?;
    kit.attach_channel(ROOM, "web").await?;
    kit.attach_channel(ROOM, "agent").await?;
    let mut screen = web.connect("screen", ROOM);

    // Looks on before each call; it could change the arguments, or deny the call.
    kit.hook(BeforeToolUse, "look", |used, _room| async move {
        let is_fine = used.call.arguments.problem().is_none();
        if is_fine {
            HookResult::allow()
        } else {
            HookResult::block("no JSON")
        }
    });

    let question = "How is the weather in Lyon? And cancel booking 7.";
    let message = InboundMessage::text("web", "alice", question).in_room(ROOM);
    let result = kit.process_inbound(message).await?;

    let asked = model.calls();
    if let Some(first) = asked.first() {
        for tool in &first.tools {
            writeln!(out, "offered: {} - {}", tool.name, tool.description)?;
            writeln!(out, "  {}", tool.parameters)?;
        }
    }
    writeln!(out, "said to the model of its calls:")?;
    let told = asked
        .last()
        .map(|it| it.messages.as_slice())
        .unwrap_or_default();
    for message in told.iter().filter(|it| it.role == Role::Tool) {
        for result in message.tool_results() {
            let word = if result.is_error { "error" } else { "result" };
            writeln!(out, "  {} {word}: {}", result.name, result.as_text())?;
        }
    }
    writeln!(out, "recorded:")?;
    for entry in auditor.entries() {
        let code = entry.error_code.unwrap_or("-");
        writeln!(out, "  {} {:?} {code}", entry.tool_name, entry.status)?;
    }
    writeln!(out, "seen in the room:")?;
    for line in inbox(&mut screen) {
        writeln!(out, "  {line}")?;
    }
    let reason = result.response_metadata.get_str("loop_end_reason");
    writeln!(out, "the turn ended: {}", reason.unwrap_or("-"))?;
    Ok(())
}
