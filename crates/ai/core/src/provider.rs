//! The provider: what every service that runs models implements (RFC §6.7).

use std::fmt;

use async_trait::async_trait;
use futures_util::StreamExt;
use futures_util::stream::{self, BoxStream};
use roomkit_core::model::Metadata;

use crate::{AiContext, AiResponse, FinishReason, ModelInfo, Result, ToolCall, Usage};

/// An answer as it comes. Its last item is [`StreamEvent::Done`] or an error; a stream that ends
/// without either was cut off.
pub type AiStream = BoxStream<'static, Result<StreamEvent>>;

/// A service that runs language models.
///
/// It makes one call at a time for whoever asks and keeps no conversation. Dropping a call's future, or
/// its stream, ends the request. Retries are its own where nothing was streamed yet; what it
/// reports as an error is final for the call.
#[async_trait]
pub trait AiProvider: Send + Sync + 'static {
    /// The vendor's name, such as `openai`.
    fn name(&self) -> &str;

    /// The id of the model that it asks.
    fn model_name(&self) -> &str;

    /// What it can do with that model.
    fn capabilities(&self) -> AiCapabilities;

    /// What is known of the vendor's models without asking it. Default: nothing.
    fn available_models(&self) -> &[ModelInfo] {
        &[]
    }

    /// The entry of the model that it asks, where the catalogue has it.
    fn catalog_entry(&self) -> Option<&ModelInfo> {
        self.available_models()
            .iter()
            .find(|model| model.id == self.model_name())
    }

    /// Asks for a whole answer.
    ///
    /// # Errors
    /// When the service could not be reached, refused, or answered what cannot be read.
    async fn generate(&self, context: &AiContext) -> Result<AiResponse>;

    /// Asks for an answer as it comes. Default: waits for the whole answer.
    ///
    /// # Errors
    /// As [`generate`](Self::generate), for what goes wrong before the answer begins; what goes wrong
    /// later is an item of the stream.
    async fn generate_stream(&self, context: &AiContext) -> Result<AiStream> {
        let events = StreamEvent::of(self.generate(context).await?);
        Ok(stream::iter(events.into_iter().map(Ok)).boxed())
    }

    /// Asks the service for its models. Default: what is known without asking.
    ///
    /// # Errors
    /// As [`generate`](Self::generate).
    async fn list_models(&self) -> Result<Vec<ModelInfo>> {
        Ok(self.available_models().to_vec())
    }

    /// Lets go of connections.
    async fn close(&self) {}
}

/// What a provider can do with its model, as data. Tests of providers hold it to each.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct AiCapabilities {
    /// Answers come as they are made, rather than whole.
    pub streaming: bool,
    /// The model can call tools.
    pub tools: bool,
    /// The model can see pictures.
    pub vision: bool,
    /// Results of tools can hold pictures.
    pub tool_result_images: bool,
    /// The model's reasoning is told.
    pub thinking: bool,
    /// The service lists its models.
    pub model_listing: bool,
}

impl AiCapabilities {
    /// None of them.
    #[must_use]
    pub const fn none() -> Self {
        Self {
            streaming: false,
            tools: false,
            vision: false,
            tool_result_images: false,
            thinking: false,
            model_listing: false,
        }
    }

    /// Sets whether answers come as they are made.
    #[must_use]
    pub const fn streaming(mut self, able: bool) -> Self {
        self.streaming = able;
        self
    }

    /// Sets whether the model can call tools.
    #[must_use]
    pub const fn tools(mut self, able: bool) -> Self {
        self.tools = able;
        self
    }

    /// Sets whether the model can see pictures.
    #[must_use]
    pub const fn vision(mut self, able: bool) -> Self {
        self.vision = able;
        self
    }

    /// Sets whether results of tools can hold pictures.
    #[must_use]
    pub const fn tool_result_images(mut self, able: bool) -> Self {
        self.tool_result_images = able;
        self
    }

    /// Sets whether the model's reasoning is told.
    #[must_use]
    pub const fn thinking(mut self, able: bool) -> Self {
        self.thinking = able;
        self
    }

    /// Sets whether the service lists its models.
    #[must_use]
    pub const fn model_listing(mut self, able: bool) -> Self {
        self.model_listing = able;
        self
    }
}

/// A piece of an answer as it comes.
#[derive(Clone, PartialEq)]
#[non_exhaustive]
pub enum StreamEvent {
    /// More of the reasoning; it may bring a signature alone.
    Thinking {
        /// The piece.
        thinking: String,
        /// The vendor's opaque token of the reasoning, with its last piece.
        signature: Option<String>,
    },
    /// More of the text.
    Text(String),
    /// A tool call is being written; what is in it is told only once it is whole.
    ToolCallDelta {
        /// The call's id, the same as that of the whole call.
        id: String,
        /// The tool's name; empty as long as the vendor has not told it.
        name: String,
        /// How many bytes of arguments have come so far.
        arguments_bytes: usize,
    },
    /// A whole call of a tool.
    ToolCall(ToolCall),
    /// The answer is complete.
    Done {
        /// Why the model stopped.
        finish_reason: Option<FinishReason>,
        /// The tokens used.
        usage: Usage,
        /// Facts of the vendor's.
        metadata: Metadata,
    },
}

impl StreamEvent {
    /// A whole answer as the pieces that it could have come in.
    #[must_use]
    pub fn of(response: AiResponse) -> Vec<Self> {
        let mut events = Vec::new();
        if response.thinking.is_some() || response.thinking_signature.is_some() {
            events.push(Self::Thinking {
                thinking: response.thinking.unwrap_or_default(),
                signature: response.thinking_signature,
            });
        }
        if !response.text.is_empty() {
            events.push(Self::Text(response.text));
        }
        events.extend(response.tool_calls.into_iter().map(Self::ToolCall));
        events.push(Self::Done {
            finish_reason: response.finish_reason,
            usage: response.usage,
            metadata: response.metadata,
        });
        events
    }
}

impl AiResponse {
    /// The whole answer of which these are the pieces; the reverse of [`StreamEvent::of`].
    #[must_use]
    pub fn of(events: impl IntoIterator<Item = StreamEvent>) -> Self {
        let mut response = Self::default();
        for event in events {
            match event {
                StreamEvent::Thinking {
                    thinking,
                    signature,
                } => {
                    response
                        .thinking
                        .get_or_insert_default()
                        .push_str(&thinking);
                    response.thinking_signature = signature.or(response.thinking_signature);
                }
                StreamEvent::Text(text) => response.text.push_str(&text),
                StreamEvent::ToolCallDelta { .. } => {}
                StreamEvent::ToolCall(call) => response.tool_calls.push(call),
                StreamEvent::Done {
                    finish_reason,
                    usage,
                    metadata,
                } => {
                    response.finish_reason = finish_reason;
                    response.usage = usage;
                    response.metadata = metadata;
                }
            }
        }
        response
    }
}

impl fmt::Debug for StreamEvent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Thinking { thinking, .. } => write!(f, "Thinking({} bytes)", thinking.len()),
            Self::Text(text) => write!(f, "Text({} bytes)", text.len()),
            Self::ToolCallDelta {
                id,
                name,
                arguments_bytes,
            } => f
                .debug_struct("ToolCallDelta")
                .field("id", id)
                .field("name", name)
                .field("arguments_bytes", arguments_bytes)
                .finish(),
            Self::ToolCall(call) => call.fmt(f),
            Self::Done {
                finish_reason,
                usage,
                ..
            } => f
                .debug_struct("Done")
                .field("finish_reason", finish_reason)
                .field("usage", usage)
                .finish_non_exhaustive(),
        }
    }
}
