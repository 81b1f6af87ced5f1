//! Runs calls: checked first, for a bounded time, with bounded results, several at once, in their order.

use std::fmt;
use std::panic::AssertUnwindSafe;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::{Either, select};
use futures_util::stream::{self, StreamExt};
use roomkit_core::{Clock, SystemClock};
use serde::Deserialize;
use serde_json::Value;

use super::audit::Record;
use super::name::shown;
use super::{
    Arguments, Tool, ToolAuditor, ToolContext, ToolError, ToolErrorKind, ToolOutput, ToolPolicy,
    ToolSet, schema,
};
use crate::{ResultPart, ToolArguments, ToolCall, ToolResult};

/// What bounds calls of tools.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct ToolLimits {
    /// How long a call may take, in milliseconds, where the tool does not say so itself. Default: 60,000.
    pub timeout_ms: u64,
    /// How many calls of a round run at once; 0 is read as 1. Default: 8.
    pub max_parallel: usize,
    /// The most bytes of text of a result; what is more is cut, and the model is told. Default: 1 MiB.
    pub max_text_bytes: usize,
    /// The most bytes of the addresses of a result's pictures, which may hold the pictures themselves;
    /// pictures beyond are left out, and the model is told. Default: 20 MiB.
    pub max_image_bytes: usize,
    /// The most bytes of a result's data for user interfaces as JSON; more is left out. Default: 1 MiB.
    pub max_structured_bytes: usize,
}

impl Default for ToolLimits {
    fn default() -> Self {
        Self {
            timeout_ms: 60_000,
            max_parallel: 8,
            max_text_bytes: 1 << 20,
            max_image_bytes: 20 << 20,
            max_structured_bytes: 1 << 20,
        }
    }
}

impl ToolLimits {
    /// Sets how long a call may take, in whole milliseconds.
    #[must_use]
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout_ms = u64::try_from(timeout.as_millis()).unwrap_or(u64::MAX);
        self
    }

    /// Sets how many calls of a round run at once.
    #[must_use]
    pub fn max_parallel(mut self, calls: usize) -> Self {
        self.max_parallel = calls;
        self
    }

    /// Sets the most bytes of text of a result.
    #[must_use]
    pub fn max_text_bytes(mut self, bytes: usize) -> Self {
        self.max_text_bytes = bytes;
        self
    }
}

/// Runs the calls of a model.
///
/// Every call gets exactly one result. What goes wrong with a call (no such tool, arguments that do not
/// fit, a policy's no, an error, a panic, a timeout, a cancelled turn) is a result too, in words for the
/// model. Runs nothing of its own: dropping a future stops the calls in it.
///
/// ```
/// use roomkit_ai::{FnTool, ToolArguments, ToolCall, ToolContext, ToolDefinition, ToolRunner, ToolSet};
///
/// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), roomkit_ai::ToolSetError> {
/// let ping = ToolDefinition::new("ping", "Answers.", ToolDefinition::nothing());
/// let tools = ToolSet::new().with(FnTool::new(ping, |_, _| async { "pong" }))?;
/// let calls = [ToolCall::new("call-1", "ping", ToolArguments::default())];
/// let results = ToolRunner::new().run_all(&tools, &calls, &ToolContext::new("turn")).await;
/// assert_eq!(results[0].as_text(), "pong");
/// # Ok(()) }
/// ```
#[derive(Clone)]
pub struct ToolRunner {
    limits: ToolLimits,
    policy: Option<Arc<ToolPolicy>>,
    auditor: Option<Arc<dyn ToolAuditor>>,
    agent: Arc<str>,
    clock: Arc<dyn Clock>,
}

impl ToolRunner {
    /// A runner with the default limits, that allows all and records nothing.
    #[must_use]
    pub fn new() -> Self {
        Self {
            limits: ToolLimits::default(),
            policy: None,
            auditor: None,
            agent: Arc::from(""),
            clock: Arc::new(SystemClock::new()),
        }
    }

    /// Sets the limits.
    #[must_use]
    pub fn with_limits(mut self, limits: ToolLimits) -> Self {
        self.limits = limits;
        self
    }

    /// Sets which tools may be called.
    #[must_use]
    pub fn with_policy(mut self, policy: ToolPolicy) -> Self {
        self.policy = Some(Arc::new(policy));
        self
    }

    /// Sets what each call is recorded with, and under which agent's name.
    #[must_use]
    pub fn with_auditor(
        mut self,
        auditor: Arc<dyn ToolAuditor>,
        agent: impl Into<Arc<str>>,
    ) -> Self {
        self.auditor = Some(auditor);
        self.agent = agent.into();
        self
    }

    /// Sets where time comes from. Default: the machine's clock.
    #[must_use]
    pub fn with_clock(mut self, clock: Arc<dyn Clock>) -> Self {
        self.clock = clock;
        self
    }

    /// The limits.
    #[must_use]
    pub fn limits(&self) -> &ToolLimits {
        &self.limits
    }

    /// The tools of which the policy allows a model to know, where somebody of the context's role asks.
    #[must_use]
    pub fn allowed(&self, tools: &ToolSet, context: &ToolContext) -> ToolSet {
        tools.filtered(|definition| {
            let name = &definition.name;
            (tools.get(name)).is_some_and(|tool| self.allows(name, &**tool, context))
        })
    }

    /// Checks whether a call may be executed, and gives its arguments.
    ///
    /// # Errors
    /// When there is no such tool, the policy denies it, or the arguments are no object that fits its schema.
    pub fn check(
        &self,
        tools: &ToolSet,
        call: &ToolCall,
        context: &ToolContext,
    ) -> Result<Arguments, ToolError> {
        self.find(tools, call, context)?;
        let arguments = match &call.arguments {
            ToolArguments::Object(arguments) => arguments,
            ToolArguments::Malformed { problem, .. } => return Err(invalid(problem)),
        };
        fits(tools, call, arguments)?;
        Ok(arguments.clone())
    }

    /// Runs one call as the model asked for it.
    pub async fn run(&self, tools: &ToolSet, call: &ToolCall, context: &ToolContext) -> ToolResult {
        match self.check(tools, call, context) {
            Ok(arguments) => self.execute(tools, call, arguments, context).await,
            Err(error) => self.refuse(call, context, &error),
        }
    }

    /// Runs one call with arguments that a hook may have changed; they are checked again.
    pub async fn execute(
        &self,
        tools: &ToolSet,
        call: &ToolCall,
        arguments: Arguments,
        context: &ToolContext,
    ) -> ToolResult {
        let found = self.find(tools, call, context).and_then(|tool| {
            fits(tools, call, &arguments)?;
            Ok(Arc::clone(tool))
        });
        let tool = match found {
            Ok(tool) => tool,
            Err(error) => return self.refuse(call, context, &error),
        };
        let context = context.for_call(call.id.as_str());
        // Also when this future is dropped: what the tool has spawned is told, and the call recorded.
        let _done = SetOnDrop(&context);
        let mut record = self.record(call, &context, Some(&arguments));
        let outcome = self.call(&*tool, arguments, &context).await;
        let outcome = outcome.map(|output| bounded(output, &self.limits));
        record.finish(outcome.as_ref());
        match outcome {
            Ok(output) => output.into_result(call),
            Err(error) => failed(call, &error),
        }
    }

    /// Makes the result of a call that is not executed, and records it.
    pub fn refuse(&self, call: &ToolCall, context: &ToolContext, error: &ToolError) -> ToolResult {
        self.record(call, context, call.arguments.as_object())
            .finish(Err(error));
        failed(call, error)
    }

    /// Runs the calls of a round, as many at once as the limits say; the results are in their order.
    pub async fn run_all(
        &self,
        tools: &ToolSet,
        calls: &[ToolCall],
        context: &ToolContext,
    ) -> Vec<ToolResult> {
        let runs = calls.iter().map(|call| self.run(tools, call, context));
        self.in_order(runs).await
    }

    /// Runs futures of a round's calls, as many at once as the limits say; the results are in their order.
    pub async fn in_order<F: Future>(&self, runs: impl IntoIterator<Item = F>) -> Vec<F::Output> {
        // Collected first: a lazy iterator in a stream cannot be proven to be `Send`.
        let runs: Vec<F> = runs.into_iter().collect();
        let at_once = self.limits.max_parallel.max(1);
        stream::iter(runs).buffered(at_once).collect().await
    }

    fn find<'t>(
        &self,
        tools: &'t ToolSet,
        call: &ToolCall,
        context: &ToolContext,
    ) -> Result<&'t Arc<dyn Tool>, ToolError> {
        let tool = tools.get(&call.name).ok_or_else(|| {
            let message = format!("There is no tool named `{}`", shown(&call.name));
            ToolError::of(ToolErrorKind::Unknown, message)
        })?;
        if self.allows(&call.name, &**tool, context) {
            return Ok(tool);
        }
        let message = format!("The tool `{}` may not be used here", call.name);
        Err(ToolError::of(ToolErrorKind::Denied, message))
    }

    fn allows(&self, name: &str, tool: &dyn Tool, context: &ToolContext) -> bool {
        let Some(policy) = &self.policy else {
            return true;
        };
        tool.is_infrastructure() || policy.allows(name, context.role)
    }

    async fn call(
        &self,
        tool: &dyn Tool,
        arguments: Arguments,
        context: &ToolContext,
    ) -> Result<ToolOutput, ToolError> {
        if context.cancellation.is_cancelled() {
            return Err(cancelled("it was not executed"));
        }
        let limit = tool.timeout();
        let limit = limit.unwrap_or_else(|| Duration::from_millis(self.limits.timeout_ms));
        let run = async { tool.call(arguments, context).await };
        let run = pin!(AssertUnwindSafe(run).catch_unwind());
        let stop = pin!(async {
            let late = self.clock.sleep(limit);
            match select(pin!(context.cancellation.cancelled()), late).await {
                Either::Left(_) => cancelled("it may have been executed in part"),
                Either::Right(_) => ToolError::of(
                    ToolErrorKind::Timeout,
                    format!(
                        "It took longer than {} ms and was stopped; it may have been executed in part",
                        limit.as_millis()
                    ),
                ),
            }
        });
        // The tool is polled first, so that what is ready counts.
        match select(run, stop).await {
            Either::Left((Ok(outcome), _)) => outcome,
            Either::Left((Err(_), _)) => Err(ToolError::of(
                ToolErrorKind::Panicked,
                "The tool broke down; it may have been executed in part",
            )),
            Either::Right((stopped, _)) => Err(stopped),
        }
    }

    fn record(
        &self,
        call: &ToolCall,
        context: &ToolContext,
        arguments: Option<&Arguments>,
    ) -> Record {
        Record::begin(
            self.auditor.as_ref(),
            &self.agent,
            &self.clock,
            call,
            context,
            arguments,
        )
    }
}

/// Tells what a call has spawned that it is over, however it ends.
struct SetOnDrop<'c>(&'c ToolContext);

impl Drop for SetOnDrop<'_> {
    fn drop(&mut self) {
        self.0.cancellation.cancel();
    }
}

fn fits(tools: &ToolSet, call: &ToolCall, arguments: &Arguments) -> Result<(), ToolError> {
    // What the set was given is what the model was told.
    let problem = (tools.definition(&call.name))
        .and_then(|definition| schema::problem(&definition.parameters, arguments));
    problem.map_or(Ok(()), |problem| Err(invalid(&problem)))
}

fn invalid(problem: &str) -> ToolError {
    let message = format!("Invalid arguments, nothing was executed: {problem}");
    ToolError::of(ToolErrorKind::InvalidArguments, message)
}

fn cancelled(how_far: &str) -> ToolError {
    let message = format!("The turn was cancelled; {how_far}");
    ToolError::of(ToolErrorKind::Cancelled, message)
}

fn failed(call: &ToolCall, error: &ToolError) -> ToolResult {
    ToolResult::error(call, error.message())
}

/// Holds an output to the limits.
fn bounded(mut output: ToolOutput, limits: &ToolLimits) -> ToolOutput {
    let (mut text_left, mut image_left) = (limits.max_text_bytes, limits.max_image_bytes);
    let (mut text_cut, mut images_cut) = (0_usize, 0_usize);
    output.parts.retain_mut(|part| match part {
        ResultPart::Text { text } => {
            let keep = text.floor_char_boundary(text_left);
            text_cut += text.len() - keep;
            text.truncate(keep);
            text_left -= keep;
            keep > 0 || text_cut == 0
        }
        ResultPart::Image { url, .. } => {
            let fits = url.len() <= image_left;
            if fits {
                image_left -= url.len();
            } else {
                images_cut += 1;
            }
            fits
        }
    });
    if text_cut > 0 {
        let note = format!("[{text_cut} bytes more were left out: the result is too large]");
        output.parts.push(ResultPart::Text { text: note });
    }
    if images_cut > 0 {
        let note = format!("[{images_cut} pictures were left out: they are too large]");
        output.parts.push(ResultPart::Text { text: note });
    }
    let too_large = |value: &Value| exceeds(value, limits.max_structured_bytes);
    if output.structured_content.as_ref().is_some_and(too_large) {
        output.structured_content = None;
    }
    output
}

/// Whether a value takes more bytes as JSON, without writing more of it than that.
pub(crate) fn exceeds(value: &Value, bytes: usize) -> bool {
    struct Left(usize);
    impl std::io::Write for Left {
        fn write(&mut self, written: &[u8]) -> std::io::Result<usize> {
            match self.0.checked_sub(written.len()) {
                Some(left) => self.0 = left,
                None => return Err(std::io::ErrorKind::FileTooLarge.into()),
            }
            Ok(written.len())
        }

        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }
    serde_json::to_writer(Left(bytes), value).is_err()
}

impl Default for ToolRunner {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for ToolRunner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ToolRunner")
            .field("agent", &self.agent)
            .field("limits", &self.limits)
            .field("policy", &self.policy)
            .finish_non_exhaustive()
    }
}
