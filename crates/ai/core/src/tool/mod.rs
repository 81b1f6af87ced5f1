//! Tools: what a model may call, and what a call of one is given and gives back.

mod audit;
mod cancel;
mod context;
mod disclosure;
mod error;
mod external;
mod func;
mod journal;
#[cfg(feature = "schemars")]
mod macros;
mod name;
mod output;
mod plan;
mod policy;
mod run;
mod schema;
mod search;
mod set;
mod stored;
mod tokens;

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use serde_json::{Map, Value};

use crate::ToolDefinition;

pub use self::audit::{ConsoleToolAuditor, ToolAuditEntry, ToolAuditor, ToolStatus};
pub use self::cancel::Cancellation;
pub use self::context::ToolContext;
pub use self::disclosure::{RevealedTools, TOOL_SEARCH_PROMPT, ToolSearch};
pub use self::error::{ToolError, ToolErrorKind};
pub use self::external::{ExternalCall, ExternalError, ExternalTools};
pub use self::func::FnTool;
pub use self::journal::JsonlToolAuditor;
pub use self::output::{IntoToolResult, Json, ToolOutput};
pub use self::plan::{PlanStatus, PlanUpdated, PlannedTask, TaskPlans};
pub use self::policy::{OverrideMode, RoleOverride, ToolPolicy, glob_matches};
pub use self::run::{ToolLimits, ToolRunner};
pub use self::set::{ToolSet, ToolSetError};
pub use self::stored::{READ_STORED_RESULT, StoredResults};
pub use self::tokens::{estimate_tokens, estimate_tool_tokens};

/// The arguments of a call: a JSON object that fits the tool's schema.
pub type Arguments = Map<String, Value>;

/// Something that a model may call.
///
/// [`FnTool`] makes one of a function; implement the trait for what keeps state of its own.
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

    /// How long a call of it may take. Default: what [`ToolLimits`] says.
    fn timeout(&self) -> Option<Duration> {
        None
    }

    /// Whether it is part of how the agent works, rather than of what it may do to the world: no
    /// [`ToolPolicy`] is asked about it, and a search for tools does not hide it. Default: no.
    fn is_infrastructure(&self) -> bool {
        false
    }
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

    fn timeout(&self) -> Option<Duration> {
        (**self).timeout()
    }

    fn is_infrastructure(&self) -> bool {
        (**self).is_infrastructure()
    }
}
