//! A room with a person, an agent and a script for its model, for these tests.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use roomkit_ai::{
    AiCapabilities, AiContext, AiMessage, AiProvider, AiResponse, AiStream, Arguments,
    MockAiProvider, Part, Role, Tool, ToolArguments, ToolCall, ToolContext, ToolDefinition,
    ToolError, ToolOutput,
};
use roomkit_core::hook::OnError;
use roomkit_core::model::{
    ChannelCategory, EphemeralEvent, EphemeralEventType, FrameworkEvent, InboundMessage,
    InboundResult, RoomEvent,
};
use roomkit_core::{Channel, RoomKit};
use roomkit_testkit::MockChannel;
use serde_json::json;

pub(crate) const ROOM: &str = "room";
pub(crate) const AGENT: &str = "agent";

/// A kit with one room, a web channel that streams, and an agent.
pub(crate) struct Stage {
    pub(crate) kit: RoomKit,
    pub(crate) web: MockChannel,
    /// What was told at `ON_ERROR`, the codes.
    pub(crate) errors: Arc<Mutex<Vec<String>>>,
}

impl Stage {
    pub(crate) async fn with(agent: impl Channel) -> Self {
        Self::on(RoomKit::new(), agent).await
    }

    pub(crate) async fn on(kit: RoomKit, agent: impl Channel) -> Self {
        let web = MockChannel::builder("web").streaming().build();
        kit.register_channel(web.clone()).unwrap();
        kit.register_channel(agent).unwrap();
        kit.create_room(ROOM).await.unwrap();
        kit.attach_channel(ROOM, "web").await.unwrap();
        kit.attach_channel(ROOM, AGENT)
            .category(ChannelCategory::Intelligence)
            .await
            .unwrap();
        let errors: Arc<Mutex<Vec<String>>> = Arc::default();
        let told = Arc::clone(&errors);
        kit.hook(OnError, "errors", move |event, _| {
            let code = event.metadata.get_str("error_type").unwrap().to_owned();
            told.lock().unwrap().push(code);
            async {}
        });
        Self { kit, web, errors }
    }

    /// Says something and waits until all that it causes is done.
    pub(crate) async fn say(&self, text: &str) -> InboundResult {
        self.say_as("alice", text).await
    }

    pub(crate) async fn say_as(&self, who: &str, text: &str) -> InboundResult {
        let message = InboundMessage::text("web", who, text).in_room(ROOM);
        let result = self.kit.process_inbound(message).await.unwrap();
        // Those who look on are told in the background.
        settle().await;
        result
    }

    /// All that the agent said, oldest first.
    pub(crate) async fn answers(&self) -> Vec<Arc<RoomEvent>> {
        let events = self.kit.timeline(ROOM, 0, 1_000).await.unwrap();
        let is_answer = |event: &Arc<RoomEvent>| event.source.channel_id.as_str() == AGENT;
        events.into_iter().filter(is_answer).collect()
    }

    /// The texts that the agent said, and why its last turn ended.
    pub(crate) async fn outcome(&self) -> (Vec<String>, String) {
        let answers = self.answers().await;
        let texts = answers.iter().map(|it| it.text().unwrap().to_owned());
        let reason = answers.last().map_or_else(String::new, |last| {
            last.metadata.get_str("loop_end_reason").unwrap().to_owned()
        });
        (texts.collect(), reason)
    }

    pub(crate) fn errors(&self) -> Vec<String> {
        self.errors.lock().unwrap().clone()
    }

    /// The ephemeral events of the room from now on.
    pub(crate) async fn ephemeral(&self) -> Arc<Mutex<Vec<EphemeralEvent>>> {
        let heard: Arc<Mutex<Vec<EphemeralEvent>>> = Arc::default();
        let hears = Arc::clone(&heard);
        let listener = move |event| {
            hears.lock().unwrap().push(event);
            async {}
        };
        self.kit.subscribe_room(ROOM, listener).await.unwrap();
        heard
    }

    /// The framework events of a name from now on.
    pub(crate) fn framework(&self, name: &'static str) -> Arc<Mutex<Vec<FrameworkEvent>>> {
        let heard: Arc<Mutex<Vec<FrameworkEvent>>> = Arc::default();
        let hears = Arc::clone(&heard);
        self.kit.on_any(move |event| {
            if event.event_type.as_str().starts_with(name) {
                hears.lock().unwrap().push(event);
            }
            async {}
        });
        heard
    }
}

pub(crate) fn kinds(events: &Mutex<Vec<EphemeralEvent>>) -> Vec<EphemeralEventType> {
    let events = events.lock().unwrap();
    events.iter().map(|it| it.event_type).collect()
}

/// Lets everything that can go on now go on.
pub(crate) async fn settle() {
    for _ in 0..100 {
        tokio::task::yield_now().await;
    }
}

/// A provider that others keep a handle of, and that streams or does not.
pub(crate) fn shared(provider: MockAiProvider) -> Arc<MockAiProvider> {
    Arc::new(provider)
}

/// The same provider without streaming.
pub(crate) fn whole(provider: MockAiProvider) -> MockAiProvider {
    let able = provider.capabilities().streaming(false);
    provider.with_capabilities(able)
}

/// What both forms of the loop are run with.
pub(crate) const FORMS: [Form; 2] = [Form::Whole, Form::Streamed];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Form {
    Whole,
    Streamed,
}

impl Form {
    pub(crate) fn of(self, provider: MockAiProvider) -> Arc<MockAiProvider> {
        shared(match self {
            Self::Whole => whole(provider),
            Self::Streamed => provider,
        })
    }
}

pub(crate) fn call(id: &str, name: &str, arguments: serde_json::Value) -> ToolCall {
    ToolCall::new(id, name, ToolArguments::from_value(arguments))
}

/// An answer that calls one tool.
pub(crate) fn calling(id: &str, name: &str) -> AiResponse {
    AiResponse::calling([call(id, name, json!({ "id": id }))])
}

pub(crate) fn definition(name: &str) -> ToolDefinition {
    ToolDefinition::new(name, "A tool.", json!({ "type": "object" }))
}

type Work = dyn Fn(Arguments) -> Result<ToolOutput, ToolError> + Send + Sync;

/// A tool that counts how often it was called.
#[derive(Clone)]
pub(crate) struct Counted {
    definition: ToolDefinition,
    calls: Arc<AtomicUsize>,
    work: Arc<Work>,
}

impl Counted {
    pub(crate) fn new(
        name: &str,
        work: impl Fn(Arguments) -> Result<ToolOutput, ToolError> + Send + Sync + 'static,
    ) -> Self {
        Self {
            definition: definition(name),
            calls: Arc::default(),
            work: Arc::new(work),
        }
    }

    /// A tool that answers `done`.
    pub(crate) fn done(name: &str) -> Self {
        Self::new(name, |_| Ok("done".into()))
    }

    /// With another definition.
    pub(crate) fn with(mut self, definition: ToolDefinition) -> Self {
        self.definition = definition;
        self
    }

    pub(crate) fn calls(&self) -> usize {
        self.calls.load(Ordering::SeqCst)
    }
}

#[async_trait]
impl Tool for Counted {
    fn definition(&self) -> &ToolDefinition {
        &self.definition
    }

    async fn call(&self, arguments: Arguments, _: &ToolContext) -> Result<ToolOutput, ToolError> {
        self.calls.fetch_add(1, Ordering::SeqCst);
        (self.work)(arguments)
    }
}

/// A tool that never answers; it says when it was called.
#[derive(Clone)]
pub(crate) struct Hanging {
    definition: ToolDefinition,
    pub(crate) called: Arc<tokio::sync::Notify>,
}

impl Hanging {
    pub(crate) fn new(name: &str) -> Self {
        Self {
            definition: definition(name),
            called: Arc::default(),
        }
    }
}

#[async_trait]
impl Tool for Hanging {
    fn definition(&self) -> &ToolDefinition {
        &self.definition
    }

    async fn call(&self, _: Arguments, _: &ToolContext) -> Result<ToolOutput, ToolError> {
        self.called.notify_one();
        std::future::pending().await
    }
}

type Answer = dyn Fn(&AiContext) -> roomkit_ai::Result<AiStream> + Send + Sync;

/// A provider whose streams are made by a function.
pub(crate) struct Streaming(pub(crate) Box<Answer>);

impl Streaming {
    pub(crate) fn new(
        answer: impl Fn(&AiContext) -> roomkit_ai::Result<AiStream> + Send + Sync + 'static,
    ) -> Self {
        Self(Box::new(answer))
    }
}

#[async_trait]
impl AiProvider for Streaming {
    fn name(&self) -> &str {
        "streaming"
    }

    fn model_name(&self) -> &str {
        "scripted"
    }

    fn capabilities(&self) -> AiCapabilities {
        AiCapabilities::none()
            .streaming(true)
            .tools(true)
            .thinking(true)
    }

    async fn generate(&self, _: &AiContext) -> roomkit_ai::Result<AiResponse> {
        panic!("this provider is to be streamed")
    }

    async fn generate_stream(&self, context: &AiContext) -> roomkit_ai::Result<AiStream> {
        (self.0)(context)
    }
}

/// Holds a request to what every vendor asks of calls and results (field reports F40, F42, F44).
pub(crate) fn check_pairs(messages: &[AiMessage]) -> Result<(), String> {
    let mut seen = std::collections::HashSet::new();
    let mut open: Vec<String> = Vec::new();
    for (at, message) in messages.iter().enumerate() {
        if message.parts.is_empty() {
            return Err(format!("message {at} is empty"));
        }
        let results: Vec<String> = message
            .tool_results()
            .map(|it| it.tool_call_id.clone())
            .collect();
        if !open.is_empty() || !results.is_empty() {
            if results != open {
                return Err(format!(
                    "message {at}: results {results:?} for calls {open:?}"
                ));
            }
            if message.role != Role::Tool || results.len() != message.parts.len() {
                return Err(format!("message {at} mixes results and other parts"));
            }
        }
        open.clear();
        for part in &message.parts {
            if let Part::ToolCall(call) = part {
                if message.role != Role::Assistant {
                    return Err(format!("message {at}: a call of {:?}", message.role));
                }
                if !seen.insert(call.id.clone()) {
                    return Err(format!("message {at}: the id {} is used twice", call.id));
                }
                open.push(call.id.clone());
            }
        }
    }
    if open.is_empty() {
        Ok(())
    } else {
        Err(format!("{open:?} have no results"))
    }
}

/// Checks every request that a provider was sent.
pub(crate) fn check_requests(provider: &MockAiProvider) {
    for (at, request) in provider.calls().iter().enumerate() {
        if let Err(problem) = check_pairs(&request.messages) {
            panic!("request {at}: {problem}");
        }
    }
}
