//! Tools: what a model may call, and what a call of one is given and gives back.

mod cancel;
mod context;
mod error;
mod name;
mod output;
mod set;

use std::sync::Arc;

use async_trait::async_trait;
use serde_json::{Map, Value};

use crate::ToolDefinition;

pub use self::cancel::Cancellation;
pub use self::context::ToolContext;
pub use self::error::{ToolError, ToolErrorKind};
pub use self::output::{IntoToolResult, Json, ToolOutput};
pub use self::set::{ToolSet, ToolSetError};

/// The arguments of a call: a JSON object that fits the tool's schema.
pub type Arguments = Map<String, Value>;

/// Something that a model may call.
///
/// Implement it for what keeps state of its own.
///
/// ```
/// use roomkit_ai::{Arguments, Tool, ToolContext, ToolDefinition, ToolError, ToolOutput};
///
/// struct Ping(ToolDefinition);
///
/// #[roomkit_ai::async_trait]
/// impl Tool for Ping {
///     fn definition(&self) -> &ToolDefinition {
///         &self.0
///     }
///
///     async fn call(&self, _: Arguments, _: &ToolContext) -> Result<ToolOutput, ToolError> {
///         Ok("pong".into())
///     }
/// }
/// ```
#[async_trait]
pub trait Tool: Send + Sync + 'static {
    /// What the model is told of it. It is read once, when the tool is put into a [`ToolSet`].
    fn definition(&self) -> &ToolDefinition;

    /// Does it.
    ///
    /// The arguments have been checked against the schema. The future is dropped when the call takes
    /// too long or the turn is cancelled; what it has spawned can watch
    /// [`ToolContext::cancellation`]. A panic fails this call alone.
    ///
    /// # Errors
    /// What went wrong, in words for the model; see [`ToolError`].
    async fn call(
        &self,
        arguments: Arguments,
        context: &ToolContext,
    ) -> Result<ToolOutput, ToolError>;
}

#[async_trait]
impl<T: Tool + ?Sized> Tool for Arc<T> {
    fn definition(&self) -> &ToolDefinition {
        (**self).definition()
    }

    async fn call(
        &self,
        arguments: Arguments,
        context: &ToolContext,
    ) -> Result<ToolOutput, ToolError> {
        (**self).call(arguments, context).await
    }
}
