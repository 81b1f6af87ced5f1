//! Identity: who sent a message, settled before the room's lock is taken (RFC §11.2).

use std::pin::pin;
use std::sync::Arc;

use super::pass::{Origin, Pass};
use super::{Refusal, admit};
use crate::channel::Channel;
use crate::context::RoomContext;
use crate::error::Result;
use crate::hook::{
    HookVerdict, IdentityCase, IdentityDecision, InjectedEvent, OnIdentityAmbiguous,
    OnIdentityUnknown,
};
use crate::kit::Inner;
use crate::model::{
    EventContent, FrameworkEventType, IdentificationStatus, Identity, IdentityResult,
    InboundMessage, Participant, ParticipantId, RoomId,
};
use crate::sync::guard::{NoAnswer, guard};
use crate::telemetry::SpanName;

/// Why a message goes no further, and what its sender is told.
pub(super) struct TurnedAway {
    pub(super) refusal: Refusal,
    pub(super) told: Option<InjectedEvent>,
}

/// Says who sent the message of `pass`, where that is a question, and stamps it on the event.
pub(super) async fn identify(
    inner: &Arc<Inner>,
    message: &InboundMessage,
    channel: &dyn Channel,
    context: &RoomContext,
    pass: &mut Pass,
) -> Result<Option<TurnedAway>> {
    let Some(sender) = pass.draft.source.participant_id.clone() else {
        return Ok(None);
    };
    if !is_a_question(inner, channel, context, &sender).await? {
        return Ok(None);
    }
    inner.hooks.load(context.room()).await?;
    let mut span = inner.spans.start(SpanName::IdentityResolve, |span| {
        span.set("room_id", context.room_id());
        span.set("channel_id", &message.channel_id);
    });
    let resolved = span.run(pin!(resolve(inner, message, context))).await;
    let result = match resolved {
        Ok(result) => {
            if let Some(open) = span.open() {
                open.set("identification", result.status.as_str());
            }
            span.end();
            result
        }
        Err(code) => {
            span.fail(code);
            IdentityResult::new(IdentificationStatus::Unknown)
        }
    };
    let decision = match result.status {
        IdentificationStatus::Identified => match &result.identity {
            Some(identity) => IdentityDecision::Resolved(identity.clone()),
            None => return Ok(None),
        },
        IdentificationStatus::ChallengeSent => {
            return Ok(Some(challenged(&result, channel)));
        }
        IdentificationStatus::Ambiguous | IdentificationStatus::Pending => {
            let undecided = IdentityDecision::Pending {
                display_name: None,
                candidates: result.candidates.clone(),
            };
            let case = IdentityCase::new(pass.draft.clone(), result.clone());
            let outcome = inner
                .hooks
                .run::<OnIdentityAmbiguous>(context, case, |_| Ok(()))
                .await;
            inner.report_hook_failures(context.room_id(), Some(&pass.draft.id), &outcome.failures);
            decided(outcome.verdict).unwrap_or(undecided)
        }
        status => {
            let case = IdentityCase::new(pass.draft.clone(), result.clone());
            let outcome = inner
                .hooks
                .run::<OnIdentityUnknown>(context, case, |_| Ok(()))
                .await;
            inner.report_hook_failures(context.room_id(), Some(&pass.draft.id), &outcome.failures);
            match (decided(outcome.verdict), status) {
                (Some(decision), _) => decision,
                (None, IdentificationStatus::Rejected) => IdentityDecision::Reject {
                    reason: "turned down by the resolver".to_owned(),
                },
                (None, _) => return Ok(None),
            }
        }
    };
    act(inner, context, pass, &sender, &result, decision).await
}

/// Whether there is anything to resolve (RFC §11.4, §11.6).
async fn is_a_question(
    inner: &Inner,
    channel: &dyn Channel,
    context: &RoomContext,
    sender: &ParticipantId,
) -> Result<bool> {
    let types = &inner.settings.identity_channel_types;
    let filtered = types
        .as_ref()
        .is_some_and(|types| !types.contains(&channel.channel_type()));
    if inner.identity.is_none() || filtered || channel.names_its_senders() {
        return Ok(false);
    }
    let known = context.participant(sender).await?;
    let binding = context.binding(channel.id());
    let answers = |known: Participant| {
        admit::is_identified(&known)
            && admit::is_named(&known, channel.id(), binding.map(|binding| &**binding))
    };
    Ok(!known.is_some_and(answers))
}

/// Asks the resolver. One that fails or takes too long does not know the sender (RFC §11.5); what
/// comes back is a code then.
async fn resolve(
    inner: &Arc<Inner>,
    message: &InboundMessage,
    context: &RoomContext,
) -> Result<IdentityResult, &'static str> {
    let Some(resolver) = &inner.identity else {
        return Ok(IdentityResult::new(IdentificationStatus::Unknown));
    };
    let answer = resolver.resolve(message, context);
    match guard(&*inner.clock, inner.settings.identity_timeout, pin!(answer)).await {
        Ok(Ok(result)) => Ok(result),
        Ok(Err(error)) => {
            tracing::error!(room_id = %context.room_id(), code = error.code(), error = %inner.shown(&error), "identity resolver failed");
            Err(error.code())
        }
        Err(NoAnswer::Panicked) => {
            tracing::error!(room_id = %context.room_id(), "identity resolver panicked");
            Err("identity_resolver_panicked")
        }
        Err(NoAnswer::TookTooLong) => {
            inner.emit(FrameworkEventType::IdentityTimeout, |event| {
                event.room_id = Some(context.room_id().clone());
                event.channel_id = Some(message.channel_id.clone());
                event.data.insert("address", message.sender_id.as_str());
            });
            Err("identity_timeout")
        }
    }
}

fn decided(verdict: HookVerdict<IdentityCase>) -> Option<IdentityDecision> {
    match verdict {
        HookVerdict::Allowed(case) => case.decision,
        HookVerdict::Blocked { reason, .. } => Some(IdentityDecision::Reject { reason }),
    }
}

fn challenged(result: &IdentityResult, channel: &dyn Channel) -> TurnedAway {
    let told = result
        .message
        .as_ref()
        .map(|message| InjectedEvent::new(EventContent::text(message.clone()), [channel.id()]));
    TurnedAway {
        refusal: Refusal::IdentityChallengeSent,
        told,
    }
}

async fn act(
    inner: &Arc<Inner>,
    context: &RoomContext,
    pass: &mut Pass,
    sender: &ParticipantId,
    result: &IdentityResult,
    decision: IdentityDecision,
) -> Result<Option<TurnedAway>> {
    match decision {
        IdentityDecision::Resolved(identity) => identified(inner, context, pass, &identity),
        IdentityDecision::Create(identity) => {
            inner.store.put_identity(identity.clone()).await?;
            identified(inner, context, pass, &identity);
        }
        IdentityDecision::Pending {
            display_name,
            candidates,
        } => {
            let mut person = participant(pass, sender.clone(), context);
            person.identification = result.status;
            person.display_name = display_name;
            let candidates = if candidates.is_empty() {
                &result.candidates
            } else {
                &candidates
            };
            person.candidates = Some(candidates.iter().map(|one| one.id.clone()).collect());
            set_person(pass, person);
        }
        IdentityDecision::Challenge(told) => {
            let refusal = Refusal::IdentityChallengeSent;
            return Ok(Some(TurnedAway {
                refusal,
                told: Some(told),
            }));
        }
        IdentityDecision::Reject { reason } => {
            let reason = inner.settings.log_content.show(reason);
            tracing::info!(room_id = %context.room_id(), %reason, "sender turned away");
            return Ok(Some(TurnedAway {
                refusal: Refusal::IdentityRejected,
                told: None,
            }));
        }
    }
    Ok(None)
}

/// The sender is this person: the event is theirs, under their identity's id.
fn identified(inner: &Arc<Inner>, context: &RoomContext, pass: &mut Pass, identity: &Identity) {
    let id = ParticipantId::from(identity.id.as_str());
    let mut person = participant(pass, id.clone(), context);
    person.identification = IdentificationStatus::Identified;
    person.identity_id = Some(identity.id.clone());
    person.display_name.clone_from(&identity.display_name);
    person.resolved_at = Some(context.now());
    person.resolved_by = Some("auto".to_owned());
    if pass.draft.source.participant_id.as_ref() == Some(&id) {
        admit::name(&mut person, &pass.draft.source.channel_id);
    }
    pass.draft.edit().source.participant_id = Some(id.clone());
    set_person(pass, person);
    tracing::info!(room_id = %context.room_id(), identity_id = %identity.id, "participant resolved");
    inner.emit(FrameworkEventType::IdentityResolved, |event| {
        event.room_id = Some(context.room_id().clone());
        event.data.insert("participant_id", id.as_str());
        event.data.insert("identity_id", identity.id.as_str());
    });
}

/// The record of a person: what the room has of them already stays, but for who they are.
pub(super) async fn recorded(
    inner: &Inner,
    room: &RoomId,
    person: &Participant,
) -> Result<Participant> {
    let Some(mut known) = inner.store.participant(room, &person.id).await? else {
        return Ok(person.clone());
    };
    admit::merge_ties(&mut known, person);
    if known.display_name.is_none() {
        known.display_name.clone_from(&person.display_name);
    }
    let is_settled = admit::is_identified(&known)
        && (!admit::is_identified(person) || known.identity_id == person.identity_id);
    if !is_settled {
        known.identification = person.identification;
        known.identity_id.clone_from(&person.identity_id);
        known.candidates.clone_from(&person.candidates);
        known.resolved_at = person.resolved_at;
        known.resolved_by.clone_from(&person.resolved_by);
    }
    Ok(known)
}

fn participant(pass: &Pass, id: ParticipantId, context: &RoomContext) -> Participant {
    let channel = pass.draft.source.channel_id.clone();
    Participant::new(id, context.room_id().clone(), channel, context.now())
}

fn set_person(pass: &mut Pass, participant: Participant) {
    if let Origin::Inbound { person, .. } = &mut pass.origin {
        *person = Some(Box::new(participant));
    }
}
