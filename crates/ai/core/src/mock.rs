//! A provider whose answers are scripted, for the tests of applications.

use std::collections::VecDeque;
use std::fmt;
use std::sync::{Mutex, MutexGuard, PoisonError};

use async_trait::async_trait;
use futures_util::StreamExt;
use futures_util::stream;

use crate::{
    AiCapabilities, AiContext, AiError, AiErrorKind, AiProvider, AiResponse, AiStream, ModelInfo,
    Result, StreamEvent,
};

/// The most calls whose contexts are kept.
const MOST_CALLS: usize = 1_000;

/// A provider that gives scripted answers in turn, the last of them ever again.
///
/// It keeps what it was asked, the last 1,000 calls of it. A streamed answer comes word by word.
pub struct MockAiProvider {
    model: String,
    capabilities: AiCapabilities,
    catalog: Vec<ModelInfo>,
    state: Mutex<State>,
}

struct State {
    answers: VecDeque<Scripted>,
    calls: VecDeque<AiContext>,
}

#[derive(Clone)]
enum Scripted {
    Answer(Box<AiResponse>),
    Failure(AiErrorKind),
}

impl MockAiProvider {
    /// Answers these texts in turn.
    pub fn new<T: Into<String>>(texts: impl IntoIterator<Item = T>) -> Self {
        Self::scripted(texts.into_iter().map(AiResponse::text))
    }

    /// Gives these answers in turn, which may call tools.
    pub fn scripted(answers: impl IntoIterator<Item = AiResponse>) -> Self {
        let answers = answers.into_iter().map(Box::new).map(Scripted::Answer);
        Self {
            model: "mock".to_owned(),
            capabilities: AiCapabilities::none()
                .streaming(true)
                .tools(true)
                .vision(true)
                .tool_result_images(true)
                .thinking(true),
            catalog: Vec::new(),
            state: Mutex::new(State {
                answers: answers.collect(),
                calls: VecDeque::new(),
            }),
        }
    }

    /// Adds a failure after the answers that are there.
    #[must_use]
    pub fn then_failing(self, kind: AiErrorKind) -> Self {
        self.state().answers.push_back(Scripted::Failure(kind));
        self
    }

    /// Adds an answer after those that are there.
    #[must_use]
    pub fn then(self, answer: AiResponse) -> Self {
        let answer = Scripted::Answer(Box::new(answer));
        self.state().answers.push_back(answer);
        self
    }

    /// Says what it claims to be able to do. Default: all but listing models.
    #[must_use]
    pub fn with_capabilities(mut self, capabilities: AiCapabilities) -> Self {
        self.capabilities = capabilities;
        self
    }

    /// Names its model. Default: `mock`.
    #[must_use]
    pub fn with_model(mut self, model: impl Into<String>) -> Self {
        self.model = model.into();
        self
    }

    /// Gives it a catalogue; the entry with the id of its model is its own. Default: none.
    #[must_use]
    pub fn with_catalog(mut self, models: impl IntoIterator<Item = ModelInfo>) -> Self {
        self.catalog = models.into_iter().collect();
        self
    }

    /// What it was asked, oldest first.
    #[must_use]
    pub fn calls(&self) -> Vec<AiContext> {
        self.state().calls.iter().cloned().collect()
    }

    fn next(&self, context: &AiContext) -> Result<AiResponse> {
        let mut state = self.state();
        if state.calls.len() == MOST_CALLS {
            state.calls.pop_front();
        }
        state.calls.push_back(context.clone());
        let next = match state.answers.len() {
            0 | 1 => state.answers.front().cloned(),
            _ => state.answers.pop_front(),
        };
        match next {
            Some(Scripted::Answer(answer)) => Ok(*answer),
            Some(Scripted::Failure(kind)) => Err(AiError::new(kind, "mock", "a scripted failure")),
            None => Ok(AiResponse::default()),
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[async_trait]
impl AiProvider for MockAiProvider {
    fn name(&self) -> &str {
        "mock"
    }

    fn model_name(&self) -> &str {
        &self.model
    }

    fn capabilities(&self) -> AiCapabilities {
        self.capabilities
    }

    fn available_models(&self) -> &[ModelInfo] {
        &self.catalog
    }

    async fn generate(&self, context: &AiContext) -> Result<AiResponse> {
        self.next(context)
    }

    async fn generate_stream(&self, context: &AiContext) -> Result<AiStream> {
        let mut events = Vec::new();
        for event in StreamEvent::of(self.next(context)?) {
            match event {
                StreamEvent::Text(text) => {
                    let words = text.split_inclusive(' ').map(str::to_owned);
                    events.extend(words.map(StreamEvent::Text));
                }
                other => events.push(other),
            }
        }
        Ok(stream::iter(events.into_iter().map(Ok)).boxed())
    }
}

impl fmt::Debug for MockAiProvider {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MockAiProvider")
            .field("model", &self.model)
            .finish_non_exhaustive()
    }
}
