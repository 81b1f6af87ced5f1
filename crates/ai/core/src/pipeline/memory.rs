//! The built-in stage that gives the past: what the memory has, as messages, and who says what.

use std::collections::HashMap;
use std::ops::Deref;
use std::sync::Arc;

use async_trait::async_trait;
use roomkit_core::RoomContext;
use roomkit_core::hook::BoxError;
use roomkit_core::model::{ParticipantId, RoomEvent};

use super::convert::{message_of, parts_of};
use super::{AiPipelineContext, AiStage, MemoryRetrievalStage};
use crate::transcript::repair_tool_calls;
use crate::{AiContext, AiMessage, Part, Role};

/// Position 2: asks the agent's [`MemoryProvider`](crate::MemoryProvider), and puts the event that is
/// answered behind what it gives.
#[derive(Debug, Clone, Copy, Default)]
pub struct ProviderMemory;

/// Set in the metadata of the stages where the messages name who says them.
pub(super) const SEVERAL_SPEAKERS: &str = "several_speakers";

impl MemoryRetrievalStage for ProviderMemory {}

#[async_trait]
impl AiStage for ProviderMemory {
    async fn process(&self, ctx: &mut AiPipelineContext) -> Result<(), BoxError> {
        let parts = Arc::clone(&ctx.turn.parts);
        let memory = &parts.memory;
        let given = memory
            .retrieve(&ctx.event, &ctx.room_context, &ctx.channel_id)
            .await?;
        let sees = parts.sees();
        let mut messages = given.messages;
        let are_some_ready = !messages.is_empty();
        messages.reserve(given.events.len() + 1);
        let mut heard: Vec<(usize, &Arc<RoomEvent>)> = Vec::with_capacity(given.events.len() + 1);
        for event in &given.events {
            // By its index first, which costs less to compare.
            if event.index == ctx.event.index && event.id == ctx.event.id {
                continue;
            }
            if let Some(message) = message_of(event, &ctx.channel_id, sees) {
                if message.role == Role::User {
                    heard.push((messages.len(), event));
                }
                messages.push(message);
            }
        }
        // Events have no calls.
        if are_some_ready {
            repair_history(&mut messages, &mut heard);
        }
        let asked = parts_of(&ctx.event, sees);
        if !asked.is_empty() {
            heard.push((messages.len(), &ctx.event));
            messages.push(AiMessage::new(Role::User, asked));
        }
        let several = attribute(&mut messages, &heard, &ctx.room_context).await?;
        let mut context = AiContext::new(messages);
        context.room = Some(ctx.room_context.clone());
        ctx.ai_context = Some(context);
        if several {
            ctx.stage_metadata.insert(SEVERAL_SPEAKERS, true);
        }
        Ok(())
    }
}

/// Calls without a result that a memory gives are cancelled ones (field report F42). Places of what was
/// heard move along.
fn repair_history(messages: &mut Vec<AiMessage>, heard: &mut [(usize, &Arc<RoomEvent>)]) {
    let before = messages.len();
    repair_tool_calls(messages);
    // Only what came ready from the memory can have calls, and it lies before all events.
    let after = messages.len();
    for (at, _) in heard {
        *at = (*at + after).saturating_sub(before);
    }
}

/// A speaker's name: as the message says, or as the room knows it.
enum Name<'a> {
    Told(&'a str),
    Known(Arc<str>),
}

impl Deref for Name<'_> {
    type Target = str;

    fn deref(&self) -> &str {
        match self {
            Self::Told(name) => name,
            Self::Known(name) => name,
        }
    }
}

/// Names who says what, where at least two people with names do.
async fn attribute(
    messages: &mut [AiMessage],
    heard: &[(usize, &Arc<RoomEvent>)],
    room: &RoomContext,
) -> Result<bool, BoxError> {
    let mut known: HashMap<&ParticipantId, Option<Arc<str>>> = HashMap::new();
    let mut last: Option<(&ParticipantId, Option<Arc<str>>)> = None;
    let mut named: Vec<(usize, Name<'_>)> = Vec::new();
    for (at, event) in heard {
        if let Some(name) = event
            .metadata
            .get_str("sender_name")
            .filter(|it| !it.is_empty())
        {
            named.push((*at, Name::Told(name)));
            continue;
        }
        let Some(id) = event.source.participant_id.as_ref() else {
            continue;
        };
        // People say several things in a row: most are looked up once.
        let name = match &last {
            Some((of, name)) if *of == id => name.clone(),
            _ => {
                if !known.contains_key(id) {
                    let found = room.participant(id).await?;
                    let name = found.and_then(|it| it.display_name);
                    known.insert(id, name.filter(|it| !it.is_empty()).map(Arc::from));
                }
                let name = known.get(id).cloned().flatten();
                last = Some((id, name.clone()));
                name
            }
        };
        named.extend(name.map(|name| (*at, Name::Known(name))));
    }
    let Some((_, first)) = named.first() else {
        return Ok(false);
    };
    if named.iter().all(|(_, name)| **name == **first) {
        return Ok(false);
    }
    for (at, name) in &named {
        if let Some(message) = messages.get_mut(*at) {
            name_speaker(message, name);
        }
    }
    Ok(true)
}

fn name_speaker(message: &mut AiMessage, name: &str) {
    match &mut *message.parts {
        [Part::Text { text }] => *text = format!("{name}: {text}").into(),
        _ => message.parts.insert(0, Part::text(format!("{name}:"))),
    }
}
