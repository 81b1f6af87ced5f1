//! A short conversation with a real vendor, for `cargo xtask live`.

use futures_util::StreamExt;
use roomkit_ai::{
    AiContext, AiMessage, AiProvider, Part, Result, Role, StreamEvent, ToolDefinition, ToolResult,
    Usage,
};
use serde_json::json;

/// Holds a conversation of two rounds with a tool, prints what was heard of it, and gives the tokens that
/// it took.
///
/// # Errors
/// What the provider says.
///
/// # Panics
/// When the model does not call the tool, or its answer does not use what the tool said.
pub async fn live_conversation(provider: &dyn AiProvider) -> Result<Usage> {
    let parameters = json!({
        "type": "object",
        "properties": { "city": { "type": "string" } },
        "required": ["city"],
    });
    let tool = ToolDefinition::new("temperature", "The temperature now, in °C.", parameters);
    let mut context = AiContext::new([AiMessage::user("How warm is it in Lyon? Use the tool.")])
        .system_prompt("You answer in one short sentence.")
        .tools([tool]);
    let (first, mut usage) = round(provider, &context).await?;
    let calls: Vec<_> = first.tool_calls().cloned().collect();
    assert!(!calls.is_empty(), "the model calls the tool");
    context.messages.push(first.clone());
    let results = calls.iter().map(|call| ToolResult::text(call, "31"));
    context.messages.push(AiMessage::tool(results));
    let (second, more) = round(provider, &context).await?;
    assert!(second.text().contains("31"), "the answer uses the result");
    usage += more;
    let whole = provider
        .generate(&AiContext::new([AiMessage::user("Say only: done")]))
        .await?;
    println!("{}: {}", provider.model_name(), whole.text);
    usage += whole.usage;
    Ok(usage)
}

/// One streamed answer, as the message that it is in the conversation.
async fn round(provider: &dyn AiProvider, context: &AiContext) -> Result<(AiMessage, Usage)> {
    let mut events = provider.generate_stream(context).await?;
    let (mut text, mut parts, mut used) = (String::new(), Vec::new(), Usage::default());
    while let Some(event) = events.next().await {
        match event? {
            StreamEvent::Text(piece) => text.push_str(&piece),
            StreamEvent::ToolCall(call) => {
                println!("{} calls {}", provider.model_name(), call.name);
                parts.push(Part::ToolCall(call));
            }
            StreamEvent::Done { usage, .. } => used = usage,
            _ => {}
        }
    }
    if !text.is_empty() {
        println!("{}: {text}", provider.model_name());
        parts.insert(0, Part::text(text));
    }
    Ok((AiMessage::new(Role::Assistant, parts), used))
}
