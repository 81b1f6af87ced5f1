//! A chat with a model, whose answers are seen as they come.
//!
//! The environment says which model: `ANTHROPIC_API_KEY`, `OPENAI_API_KEY` or `OLLAMA_MODEL`, the first that
//! is set, and besides them `ANTHROPIC_MODEL`, `OPENAI_MODEL`, `OPENAI_BASE_URL` and `OLLAMA_HOST`. Where none is, the
//! answers are scripted, and no network is needed.

use std::env;
use std::io::Write;
use std::pin::pin;
use std::sync::Arc;

use roomkit::ai::MockAiProvider;
use roomkit::anthropic::{AnthropicConfig, AnthropicProvider};
use roomkit::channel::{Delta, StreamFrame};
use roomkit::ollama::{OllamaConfig, OllamaProvider};
use roomkit::openai::{OpenAiConfig, OpenAiProvider};
use roomkit::prelude::*;
use roomkit::websocket::Frame;

use crate::Outcome;

const ROOM: &str = "chat";

/// What is asked where nobody asks anything else.
pub const QUESTIONS: [&str; 2] = ["Hello, who are you?", "What did I just ask you?"];

/// The provider that the environment has what is needed for, else scripted answers.
///
/// # Errors
/// Where a setting is not acceptable.
pub fn from_environment() -> Outcome<Arc<dyn AiProvider>> {
    let set = |name: &str| env::var(name).ok().filter(|value| !value.trim().is_empty());
    if let Some(key) = set("ANTHROPIC_API_KEY") {
        let model = set("ANTHROPIC_MODEL").unwrap_or_else(|| "claude-haiku-5-5".to_owned());
        let config = AnthropicConfig::new(model).api_key(key);
        return Ok(Arc::new(AnthropicProvider::new(config)?));
    }
    if let Some(key) = set("OPENAI_API_KEY") {
        let model = set("OPENAI_MODEL").unwrap_or_else(|| "gpt-4.1-mini".to_owned());
        let mut config = OpenAiConfig::new(model).api_key(key);
        if let Some(url) = set("OPENAI_BASE_URL") {
            config = config.base_url(url);
        }
        return Ok(Arc::new(OpenAiProvider::new(config)?));
    }
    if let Some(model) = set("OLLAMA_MODEL") {
        let mut config = OllamaConfig::new(model);
        if let Some(host) = set("OLLAMA_HOST") {
            config = config.base_url(host);
        }
        return Ok(Arc::new(OllamaProvider::new(config)?));
    }
    Ok(offline())
}

/// Answers that are scripted.
#[must_use]
pub fn offline() -> Arc<dyn AiProvider> {
    Arc::new(MockAiProvider::new([
        "I am a script, and I need no network.",
        "You asked me who I am.",
    ]))
}

/// Runs the example.
///
/// # Errors
/// Where the kit or `out` fails.
pub async fn run(
    out: &mut impl Write,
    provider: Arc<dyn AiProvider>,
    questions: &[&str],
) -> Outcome {
    writeln!(
        out,
        "You talk to {} ({})",
        provider.model_name(),
        provider.name()
    )?;
    let agent = Agent::builder("agent")
        .role("Companion")
        .system_prompt("You answer in one short sentence.")
        .channel(|channel| channel.shared_provider(provider))
        .build()?;
    let kit = RoomKit::new();
    let web = WebSocketChannel::new("web");
    kit.register_channel(web.clone())?;
    kit.register_channel(agent)?;
    kit.create_room(ROOM).await?;
    kit.attach_channel(ROOM, "web").await?;
    kit.attach_channel(ROOM, "agent").await?;
    let mut screen = web.connect("screen", ROOM);

    for question in questions {
        writeln!(out, "you: {question}")?;
        write!(out, "agent: ")?;
        let message = InboundMessage::text("web", "you", *question).in_room(ROOM);
        let (_, turn) = kit.process_inbound_deferred(message).await?;
        let mut turn = pin!(turn.wait());
        let result = loop {
            tokio::select! {
                biased;
                Some(frame) = screen.recv() => show(out, &frame)?,
                result = &mut turn => break result?,
            }
        };
        // What came together with the end of the turn.
        while let Some(frame) = screen.try_recv() {
            show(out, &frame)?;
        }
        let facts = &result.response_metadata;
        let reason = facts.get_str("loop_end_reason").unwrap_or("error");
        writeln!(out, "\n  ({reason}{})", cost(facts))?;
    }
    Ok(())
}

/// Writes what a frame adds to what is on the screen.
fn show(out: &mut impl Write, frame: &Frame) -> Outcome {
    match frame {
        Frame::Stream(frame) => {
            if let StreamFrame::Chunk {
                delta: Delta::Text(text),
                ..
            } = frame.frame()
            {
                write!(out, "{text}")?;
                out.flush()?;
            }
        }
        // An answer that came whole; one's own messages are events too.
        Frame::Event(frame) if frame.event().source.channel_id == "agent" => {
            write!(out, "{}", frame.event().text().unwrap_or_default())?;
        }
        _ => {}
    }
    Ok(())
}

/// What a turn took, where it is known.
fn cost(facts: &Metadata) -> String {
    let Some(usage) = facts.get("ai_usage") else {
        return String::new();
    };
    let tokens = |name: &str| {
        usage
            .get(name)
            .and_then(|count| count.as_u64())
            .unwrap_or(0)
    };
    let (read, written) = (tokens("input_tokens"), tokens("output_tokens"));
    if read + written == 0 {
        return String::new();
    }
    let price = facts.get("ai_cost").and_then(|cost| {
        let amount = cost.get("amount")?.as_f64()?;
        Some(format!(", {amount:.6} {}", cost.get("currency")?.as_str()?))
    });
    format!(
        ", {read} tokens read, {written} written{}",
        price.unwrap_or_default()
    )
}
