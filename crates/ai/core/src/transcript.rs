//! The conversation as vendors accept it: each tool call has its result, directly after it, once.

use std::collections::HashSet;

use crate::{AiMessage, Part, Role, ToolCall, ToolResult};

/// What the model reads as the result of a call that was never answered.
const CANCELLED: &str = "The call was cancelled before it had a result: a new message came first.";

/// How much of a message a summary keeps, in characters.
const SUMMARY_OF_MESSAGE: usize = 500;

/// Repairs a conversation so that every vendor accepts it (field report F42).
///
/// A call without a result gets one that says it was cancelled; results follow their calls at once, in
/// the order of the calls, one each; a result without a call is dropped, and a message that is empty
/// then too. One that is in order stays as it is.
pub fn repair_tool_calls(messages: &mut Vec<AiMessage>) {
    if is_in_order(messages) {
        return;
    }
    let mut results: Vec<ToolResult> = messages
        .iter()
        .flat_map(|message| message.tool_results().cloned())
        .collect();
    let mut seen = HashSet::new();
    let mut repaired = Vec::with_capacity(messages.len());
    for mut message in std::mem::take(messages) {
        message.parts.retain(|part| match part {
            Part::ToolResult(_) => false,
            Part::ToolCall(call) => message.role == Role::Assistant && seen.insert(call.id.clone()),
            _ => true,
        });
        if message.parts.is_empty() {
            continue;
        }
        let answers: Vec<ToolResult> = message
            .tool_calls()
            .map(|call| take_result(&mut results, call))
            .collect();
        repaired.push(message);
        if !answers.is_empty() {
            repaired.push(AiMessage::tool(answers));
        }
    }
    *messages = repaired;
}

fn take_result(results: &mut Vec<ToolResult>, call: &ToolCall) -> ToolResult {
    let found = results
        .iter()
        .position(|result| result.tool_call_id == call.id);
    match found {
        Some(at) => results.remove(at),
        None => ToolResult::error(call, CANCELLED),
    }
}

/// Whether calls and results are paired as vendors ask for.
fn is_in_order(messages: &[AiMessage]) -> bool {
    let is_of_tools = |part: &Part| matches!(part, Part::ToolCall(_) | Part::ToolResult(_));
    let is_plain = |it: &AiMessage| !it.parts.is_empty() && !it.parts.iter().any(is_of_tools);
    if messages.iter().all(is_plain) {
        return true;
    }
    let mut seen = HashSet::new();
    let mut open: Vec<&str> = Vec::new();
    for message in messages {
        let results: Vec<&str> = message
            .tool_results()
            .map(|result| result.tool_call_id.as_str())
            .collect();
        let is_answer = message.role == Role::Tool && results.len() == message.parts.len();
        if results != open || (!open.is_empty() && !is_answer) {
            return false;
        }
        open.clear();
        for call in message.tool_calls() {
            if message.role != Role::Assistant || !seen.insert(call.id.as_str()) {
                return false;
            }
            open.push(&call.id);
        }
        if message.parts.is_empty() {
            return false;
        }
    }
    open.is_empty()
}

/// Keeps the newest of a conversation, at most `most` messages, whole exchanges only (field report F44).
///
/// An exchange begins with what somebody says and goes on to all that the agent did about it: a call is
/// never parted from its result. Of a last exchange that alone is longer, what began it is kept and the
/// newest rounds. System messages at the beginning are kept, and count.
pub fn trim_messages(messages: &mut Vec<AiMessage>, most: usize) {
    repair_tool_calls(messages);
    let head = leading_system(messages);
    if messages.len() <= most {
        return;
    }
    let room = most.saturating_sub(head);
    let starts = exchange_starts(messages, head);
    let fits = |start: &&usize| messages.len().saturating_sub(**start) <= room;
    let start = starts.iter().find(fits).or(starts.last()).copied();
    if let Some(start) = start {
        messages.drain(head..start);
    }
    // The last exchange alone is too long: its oldest rounds go, each with its results.
    while messages.len() > most {
        let is_asked = messages.get(head).is_some_and(|it| it.role == Role::User);
        let first = head + usize::from(is_asked);
        if first >= messages.len() {
            break;
        }
        let after = messages.iter().skip(first + 1);
        let results = after.take_while(|it| it.role == Role::Tool).count();
        messages.drain(first..=first + results);
    }
}

/// Where a summary takes the place of the first half of a conversation; `false` where it is too short
/// for that. The exchange that is being answered is kept.
pub(crate) fn compact(messages: &mut Vec<AiMessage>) -> bool {
    repair_tool_calls(messages);
    if messages.len() <= 4 {
        return false;
    }
    // Results directly follow their calls: a cut may lie before any message that is no result.
    let half = messages.len() / 2;
    let is_cut = |at: &usize| messages.get(*at).is_some_and(|it| it.role != Role::Tool);
    let Some(cut) = (half..messages.len()).find(is_cut) else {
        return false;
    };
    let asked = messages.iter().rposition(|it| it.role == Role::User);
    let mut summary = String::from("[Context compacted: the conversation so far, shortened]");
    for (at, message) in messages.iter().enumerate().take(cut) {
        let role = match message.role {
            Role::System => "system",
            Role::User => "user",
            Role::Assistant => "assistant",
            Role::Tool => "tool",
        };
        let text = message.text();
        if text.is_empty() || Some(at) == asked {
            continue;
        }
        summary.push_str(&format!("\n[{role}]: "));
        summary.extend(text.chars().take(SUMMARY_OF_MESSAGE));
    }
    let question = asked.filter(|at| *at < cut).and_then(|at| messages.get(at));
    let kept: Vec<AiMessage> = std::iter::once(AiMessage::user(summary))
        .chain(question.cloned())
        .collect();
    messages.splice(..cut, kept);
    true
}

fn leading_system(messages: &[AiMessage]) -> usize {
    messages
        .iter()
        .take_while(|message| message.role == Role::System)
        .count()
}

/// Where exchanges begin: at each message of a user, and at the first message whatever it is.
fn exchange_starts(messages: &[AiMessage], head: usize) -> Vec<usize> {
    let users = messages
        .iter()
        .enumerate()
        .skip(head)
        .filter(|(at, message)| *at == head || message.role == Role::User);
    users.map(|(at, _)| at).collect()
}
