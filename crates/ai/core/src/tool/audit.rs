//! Records of calls: what was called, by which agent, how it ended and how long it took.

use std::collections::{BTreeMap, VecDeque};
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use chrono::{DateTime, Utc};
use roomkit_core::Clock;
use roomkit_core::model::{ChannelId, Metadata, ParticipantId, RoomId};
use serde::Serialize;
use serde_json::Value;

use super::name::shown;
use super::run::exceeds;
use super::{Arguments, ToolContext, ToolError, ToolErrorKind, ToolOutput};
use crate::{ResultPart, ToolCall};

/// The most characters of a result that are recorded (RFC §15.8.1).
const MOST_RESULT: usize = 500;
/// The most bytes of arguments that are recorded, as JSON.
const MOST_ARGUMENTS: usize = 16 << 10;
/// The most records that an auditor keeps in memory.
const MOST_KEPT: usize = 1_000;

/// One call of a tool, or one that was refused (RFC §15.8.1).
#[derive(Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct ToolAuditEntry {
    /// When it began.
    pub ts: DateTime<Utc>,
    /// The agent that called.
    pub agent_id: String,
    /// The tool; `(no name)` where the model made up what is none.
    pub tool_name: String,
    /// The call's id.
    pub tool_call_id: String,
    /// The room.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub room_id: Option<RoomId>,
    /// The agent's channel.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub channel_id: Option<ChannelId>,
    /// Whose message was answered.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub participant_id: Option<ParticipantId>,
    /// What it was called with, at most 16 KiB of JSON, where the auditor wants content.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub arguments: Option<Arguments>,
    /// The first 500 characters of the result, where the auditor wants content.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub result: Option<String>,
    /// How it ended.
    pub status: ToolStatus,
    /// The code of what went wrong, such as `tool_timeout`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error_code: Option<&'static str>,
    /// How long it took, in milliseconds.
    pub duration_ms: f64,
    /// Data of the application.
    #[serde(skip_serializing_if = "Metadata::is_empty")]
    pub metadata: Metadata,
}

/// How a call ended (RFC §15.8.1).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum ToolStatus {
    /// As it should.
    Ok,
    /// The tool's own answer says that it failed: it is marked so, or is JSON with `"status": "failed"`.
    Failed,
    /// It was refused, broke down, took too long or was cancelled.
    Error,
}

impl ToolStatus {
    /// The word in JSON: `ok`, `failed` or `error`.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Failed => "failed",
            Self::Error => "error",
        }
    }
}

/// Records calls of tools (RFC §15.8.1).
pub trait ToolAuditor: Send + Sync + 'static {
    /// Records a call. It is called once for each, in the task of the call, and must not wait for anything.
    /// A panic is caught, and fails no call.
    fn record(&self, entry: &ToolAuditEntry);

    /// Whether it wants arguments and results, which may repeat what people said. Default: no.
    fn wants_content(&self) -> bool {
        false
    }
}

/// Records calls as `tracing` events at the level `info` of the target `roomkit_ai::audit`, and keeps the
/// last 1,000. Events never hold arguments or results.
#[derive(Debug, Default)]
pub struct ConsoleToolAuditor {
    kept: Kept,
}

impl ConsoleToolAuditor {
    /// An auditor.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// The last 1,000 calls, oldest first.
    #[must_use]
    pub fn entries(&self) -> Vec<ToolAuditEntry> {
        self.kept.entries()
    }

    /// How many calls of each tool there were among the last 1,000, in lines for people.
    #[must_use]
    pub fn summary(&self) -> String {
        self.kept.summary()
    }
}

impl ToolAuditor for ConsoleToolAuditor {
    fn record(&self, entry: &ToolAuditEntry) {
        tracing::info!(
            target: "roomkit_ai::audit",
            agent_id = entry.agent_id,
            tool = entry.tool_name,
            status = entry.status.as_str(),
            error_code = entry.error_code,
            duration_ms = entry.duration_ms,
            "tool call"
        );
        self.kept.push(entry);
    }
}

/// The last records, in memory.
#[derive(Debug, Default)]
pub(super) struct Kept(Mutex<VecDeque<ToolAuditEntry>>);

impl Kept {
    pub(super) fn push(&self, entry: &ToolAuditEntry) {
        let mut entries = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if entries.len() == MOST_KEPT {
            entries.pop_front();
        }
        entries.push_back(entry.clone());
    }

    pub(super) fn entries(&self) -> Vec<ToolAuditEntry> {
        let entries = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        entries.iter().cloned().collect()
    }

    pub(super) fn summary(&self) -> String {
        let entries = self.entries();
        let mut tools: BTreeMap<&str, (usize, usize, f64)> = BTreeMap::new();
        for entry in &entries {
            let (calls, wrong, took) = tools.entry(&entry.tool_name).or_default();
            *calls += 1;
            *wrong += usize::from(entry.status != ToolStatus::Ok);
            *took += entry.duration_ms;
        }
        let mut lines = vec![format!("{} tool calls", entries.len())];
        lines.extend(tools.into_iter().map(|(tool, (calls, wrong, took))| {
            format!("{tool}: {calls} calls, {wrong} not ok, {took:.0} ms")
        }));
        lines.join("\n")
    }
}

/// The record of one call while it runs. Dropped before it is finished, it says that the call was cancelled.
pub(super) struct Record(Option<Open>);

struct Open {
    auditor: Arc<dyn ToolAuditor>,
    clock: Arc<dyn Clock>,
    began: Duration,
    content: bool,
    entry: ToolAuditEntry,
}

impl Record {
    pub(super) fn begin(
        auditor: Option<&Arc<dyn ToolAuditor>>,
        agent: &str,
        clock: &Arc<dyn Clock>,
        call: &ToolCall,
        context: &ToolContext,
        arguments: Option<&Arguments>,
    ) -> Self {
        let Some(auditor) = auditor else {
            return Self(None);
        };
        let wants = || catch_unwind(AssertUnwindSafe(|| auditor.wants_content()));
        let content = wants().unwrap_or(false);
        let entry = ToolAuditEntry {
            ts: clock.now(),
            agent_id: agent.to_owned(),
            tool_name: shown(&call.name).to_owned(),
            tool_call_id: call.id.chars().take(200).collect(),
            room_id: context.room_id.clone(),
            channel_id: context.channel_id.clone(),
            participant_id: context.participant_id.clone(),
            arguments: arguments.filter(|_| content).and_then(small),
            result: None,
            status: ToolStatus::Error,
            error_code: Some(ToolErrorKind::Cancelled.code()),
            duration_ms: 0.0,
            metadata: Metadata::new(),
        };
        Self(Some(Open {
            auditor: Arc::clone(auditor),
            clock: Arc::clone(clock),
            began: clock.elapsed(),
            content,
            entry,
        }))
    }

    pub(super) fn finish(&mut self, outcome: Result<&ToolOutput, &ToolError>) {
        let Some(mut open) = self.0.take() else {
            return;
        };
        let (status, code) = match outcome {
            Ok(output) if says_failed(output) => (ToolStatus::Failed, None),
            Ok(_) => (ToolStatus::Ok, None),
            Err(error) => (ToolStatus::Error, Some(error.code())),
        };
        open.entry.status = status;
        open.entry.error_code = code;
        if open.content {
            open.entry.result = Some(match outcome {
                Ok(output) => beginning(output),
                Err(error) => error.message().chars().take(MOST_RESULT).collect(),
            });
        }
        open.write();
    }
}

impl Drop for Record {
    fn drop(&mut self) {
        if let Some(open) = self.0.take() {
            open.write();
        }
    }
}

impl Open {
    fn write(mut self) {
        let took = self.clock.elapsed().saturating_sub(self.began);
        self.entry.duration_ms = took.as_secs_f64() * 1_000.0;
        let written = catch_unwind(AssertUnwindSafe(|| self.auditor.record(&self.entry)));
        if written.is_err() {
            tracing::error!(agent_id = self.entry.agent_id, "a tool auditor panicked");
        }
    }
}

fn small(arguments: &Arguments) -> Option<Arguments> {
    let value = Value::Object(arguments.clone());
    if exceeds(&value, MOST_ARGUMENTS) {
        return None;
    }
    match value {
        Value::Object(arguments) => Some(arguments),
        _ => None,
    }
}

fn texts(output: &ToolOutput) -> impl Iterator<Item = &str> {
    output.parts.iter().filter_map(|part| match part {
        ResultPart::Text { text } => Some(text.as_str()),
        ResultPart::Image { .. } => None,
    })
}

fn beginning(output: &ToolOutput) -> String {
    texts(output)
        .flat_map(str::chars)
        .take(MOST_RESULT)
        .collect()
}

fn says_failed(output: &ToolOutput) -> bool {
    #[derive(serde::Deserialize)]
    struct Answer<'a> {
        #[serde(borrow)]
        status: Option<std::borrow::Cow<'a, str>>,
    }
    output.is_error
        || texts(output).next().is_some_and(|text| {
            // Not worth reading a large result for.
            text.len() <= MOST_ARGUMENTS
                && text.starts_with('{')
                && serde_json::from_str::<Answer<'_>>(text)
                    .is_ok_and(|answer| answer.status.as_deref() == Some("failed"))
        })
}

impl fmt::Debug for ToolAuditEntry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ToolAuditEntry")
            .field("agent_id", &self.agent_id)
            .field("tool_name", &self.tool_name)
            .field("tool_call_id", &self.tool_call_id)
            .field("status", &self.status)
            .field("error_code", &self.error_code)
            .field("duration_ms", &self.duration_ms)
            .finish_non_exhaustive()
    }
}
