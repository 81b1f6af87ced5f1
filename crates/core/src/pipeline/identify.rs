//! Identity: who sent a message, settled before the room's lock is taken (RFC §11.2).

use std::pin::pin;
use std::sync::Arc;

use super::pass::{Origin, Pass};
use super::{Refusal, admit};
use crate::channel::Channel;
use crate::context::RoomContext;
use crate::error::Result;
use crate::hook::{
    HookPoint, HookVerdict, IdentityCase, IdentityDecision, InjectedEvent, OnIdentityAmbiguous,
    OnIdentityUnknown,
};
use crate::kit::{Inner, identities};
use crate::model::{
    EventContent, FrameworkEventType, IdentificationStatus, Identity, IdentityResult,
    InboundMessage, OrganizationId, Participant, ParticipantId, RoomId,
};
use crate::sync::guard::{NoAnswer, guard};
use crate::telemetry::SpanName;

/// How many candidates of one sender are kept.
const MOST_CANDIDATES: usize = 64;

/// What found out who a sender is where it was the resolver.
const BY_RESOLVER: &str = "auto";

/// Why a message goes no further, and what its sender is told.
pub(super) struct TurnedAway {
    pub(super) refusal: Refusal,
    pub(super) told: Option<InjectedEvent>,
}

/// A sender of whom it is a question who they are.
struct Asking<'a> {
    inner: &'a Arc<Inner>,
    context: &'a RoomContext,
    channel: &'a dyn Channel,
    sender: ParticipantId,
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
    let asking = Asking {
        inner,
        context,
        channel,
        sender,
    };
    let mut span = inner.spans.start(SpanName::IdentityResolve, |span| {
        span.set("room_id", context.room_id());
        span.set("channel_id", &message.channel_id);
    });
    let resolved = span.run(pin!(resolve(inner, message, context))).await;
    let mut result = match resolved {
        Ok(result) => {
            if let Some(open) = span.open() {
                open.set("identification", result.status.as_str());
            }
            span.end();
            result
        }
        Err(code) => {
            span.fail(code);
            IdentityResult::unknown()
        }
    };
    asking.complete(&mut result);
    match result.status {
        IdentificationStatus::Identified => {
            if let Some(identity) = &result.identity {
                asking.identified(pass, identity, BY_RESOLVER);
            }
            Ok(None)
        }
        IdentificationStatus::ChallengeSent => {
            let told = result.message.map(|message| {
                InjectedEvent::new(EventContent::text(message), [asking.channel.id()])
            });
            Ok(Some(TurnedAway {
                refusal: Refusal::IdentityChallengeSent,
                told,
            }))
        }
        status @ (IdentificationStatus::Ambiguous | IdentificationStatus::Pending) => {
            match asking.hooks::<OnIdentityAmbiguous>(pass, &result).await {
                Some((decision, by)) => asking.act(pass, decision, &by, &result).await,
                None => {
                    asking.open(pass, status, None, &result.candidates);
                    Ok(None)
                }
            }
        }
        status @ (IdentificationStatus::Unknown | IdentificationStatus::Rejected) => {
            match asking.hooks::<OnIdentityUnknown>(pass, &result).await {
                Some((decision, by)) => asking.act(pass, decision, &by, &result).await,
                None if status == IdentificationStatus::Rejected => {
                    Ok(asking.rejected("turned down by the resolver"))
                }
                None => Ok(None),
            }
        }
    }
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
        return Ok(IdentityResult::unknown());
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
            tracing::error!(room_id = %context.room_id(), "identity resolver took too long");
            inner.emit(FrameworkEventType::IdentityTimeout, |event| {
                event.room_id = Some(context.room_id().clone());
                event.channel_id = Some(message.channel_id.clone());
                event.data.insert("address", message.sender_id.as_str());
            });
            Err("identity_timeout")
        }
    }
}

/// Whether an identity may be known in a room of this organisation (RFC §17.2).
fn is_of(organization: Option<&OrganizationId>, identity: &Identity) -> bool {
    identity.organization_id.is_none() || identity.organization_id.as_ref() == organization
}

impl Asking<'_> {
    fn organization(&self) -> Option<&OrganizationId> {
        self.context.room().organization_id.as_ref()
    }

    /// Takes out of an answer what is not for this room, and adds what hooks want to know.
    fn complete(&self, result: &mut IdentityResult) {
        let (room_id, organization) = (self.context.room_id(), self.organization());
        let had_any = result.identity.is_some() || !result.candidates.is_empty();
        result.identity = result
            .identity
            .take()
            .filter(|who| is_of(organization, who));
        result.candidates.retain(|who| is_of(organization, who));
        if result.candidates.len() > MOST_CANDIDATES {
            let dropped = result.candidates.len() - MOST_CANDIDATES;
            tracing::warn!(%room_id, dropped, "too many candidates for a sender");
            result.candidates.truncate(MOST_CANDIDATES);
        }
        let names_nobody = match result.status {
            IdentificationStatus::Identified => result.identity.is_none(),
            IdentificationStatus::Ambiguous => had_any && result.candidates.is_empty(),
            _ => false,
        };
        if names_nobody {
            tracing::error!(%room_id, status = %result.status, "identity resolver named nobody of this organisation");
            result.status = IdentificationStatus::Unknown;
        }
        let address = || Some(self.sender.as_str().to_owned());
        result.address = result.address.take().or_else(address);
        let channel_type = || self.context.arrived_over().cloned();
        result.channel_type = result.channel_type.take().or_else(channel_type);
    }

    /// Asks the hooks of a point, then shows those who look on what was decided. What comes back is
    /// the decision with the name of its hook.
    async fn hooks<P: HookPoint<Payload = IdentityCase>>(
        &self,
        pass: &Pass,
        result: &IdentityResult,
    ) -> Option<(IdentityDecision, String)> {
        let hooks = &self.inner.hooks;
        let mut case = IdentityCase::new(pass.draft.clone(), result.clone());
        let usable = |case: &IdentityCase| self.check(case.decision.as_ref());
        let outcome = hooks.run::<P>(self.context, case.clone(), usable).await;
        let (room, event) = (self.context.room_id(), &pass.draft.id);
        self.inner
            .report_hook_failures(room, Some(event), &outcome.failures);
        let by = match outcome.verdict {
            HookVerdict::Allowed(decided) => {
                case.decision = decided.decision;
                outcome.settled_by.unwrap_or_default()
            }
            HookVerdict::Blocked { reason, blocked_by } => {
                case.decision = Some(IdentityDecision::Reject { reason });
                blocked_by
            }
        };
        self.inner.observe::<P>(self.context, &case);
        case.decision.map(|decision| (decision, by))
    }

    /// What of a decision cannot be used.
    fn check(&self, decision: Option<&IdentityDecision>) -> Result<(), String> {
        let named: &[Identity] = match decision {
            Some(IdentityDecision::Resolved(who) | IdentityDecision::Create(who)) => {
                std::slice::from_ref(who)
            }
            Some(IdentityDecision::Pending { candidates, .. }) => candidates,
            Some(IdentityDecision::Challenge(_) | IdentityDecision::Reject { .. }) | None => &[],
        };
        if named.iter().any(|who| who.id.as_str().trim().is_empty()) {
            return Err("id: must not be empty".to_owned());
        }
        if named.iter().all(|who| is_of(self.organization(), who)) {
            Ok(())
        } else {
            Err("organization_id: the identity is another organisation's".to_owned())
        }
    }

    /// Does what a hook has decided.
    async fn act(
        &self,
        pass: &mut Pass,
        decision: IdentityDecision,
        by: &str,
        result: &IdentityResult,
    ) -> Result<Option<TurnedAway>> {
        match decision {
            IdentityDecision::Resolved(identity) => self.identified(pass, &identity, by),
            IdentityDecision::Create(identity) => {
                let (inner, address) = (self.inner, self.sender.as_str());
                let over = self.channel.channel_type();
                let created =
                    identities::create(inner, self.organization(), identity, &over, address);
                let identity = created.await?;
                self.identified(pass, &identity, by);
            }
            IdentityDecision::Pending {
                display_name,
                candidates,
            } => {
                let candidates = if candidates.is_empty() {
                    &result.candidates
                } else {
                    &candidates
                };
                let status = IdentificationStatus::Pending;
                self.open(pass, status, display_name, candidates);
            }
            IdentityDecision::Challenge(mut told) => {
                if told.target_channel_ids.is_empty() {
                    told.target_channel_ids.push(self.channel.id().clone());
                }
                return Ok(Some(TurnedAway {
                    refusal: Refusal::IdentityChallengeSent,
                    told: Some(told),
                }));
            }
            IdentityDecision::Reject { reason } => return Ok(self.rejected(&reason)),
        }
        Ok(None)
    }

    /// The sender is this person: the event is theirs, under their identity's id.
    fn identified(&self, pass: &mut Pass, identity: &Identity, by: &str) {
        let id = ParticipantId::from(identity.id.as_str());
        let mut person = participant(pass, id.clone(), self.context);
        person.identification = IdentificationStatus::Identified;
        person.identity_id = Some(identity.id.clone());
        person.display_name.clone_from(&identity.display_name);
        person.resolved_at = Some(self.context.now());
        // A hook's name must not be taken for the word of the application.
        let by = if by == admit::BY_HAND {
            BY_RESOLVER
        } else {
            by
        };
        person.resolved_by = Some(by.to_owned());
        if pass.draft.source.participant_id.as_ref() == Some(&id) {
            admit::name(&mut person, &pass.draft.source.channel_id);
        }
        pass.draft.edit().source.participant_id = Some(id.clone());
        set_person(pass, person);
        let inner = self.inner;
        tracing::info!(room_id = %self.context.room_id(), identity_id = %identity.id, "participant resolved");
        inner.emit(FrameworkEventType::IdentityResolved, |event| {
            event.room_id = Some(self.context.room_id().clone());
            event.channel_id = Some(self.channel.id().clone());
            event.event_id = Some(pass.draft.id.clone());
            event.data.insert("participant_id", id.as_str());
            event.data.insert("identity_id", identity.id.as_str());
        });
    }

    /// It is not known who the sender is; the room's record of them says so, and who they may be.
    fn open(
        &self,
        pass: &mut Pass,
        status: IdentificationStatus,
        display_name: Option<String>,
        candidates: &[Identity],
    ) {
        let mut person = participant(pass, self.sender.clone(), self.context);
        person.identification = status;
        person.display_name = display_name;
        let candidates = candidates.iter().take(MOST_CANDIDATES);
        let candidates: Vec<_> = candidates.map(|one| one.id.clone()).collect();
        person.candidates = (!candidates.is_empty()).then_some(candidates);
        set_person(pass, person);
    }

    fn rejected(&self, reason: &str) -> Option<TurnedAway> {
        let reason = self.inner.settings.log_content.show(reason);
        tracing::info!(room_id = %self.context.room_id(), %reason, "sender turned away");
        Some(TurnedAway {
            refusal: Refusal::IdentityRejected,
            told: None,
        })
    }
}

/// The record of a person: what the room has of them already stays, but for who they are.
pub(super) async fn recorded(
    inner: &Inner,
    room: &RoomId,
    person: &Participant,
) -> Result<Participant> {
    let known = inner.store.participant(room, &person.id).await?;
    Ok(merged(known, person))
}

/// As [`recorded`], where it was read what the room has of them.
pub(super) fn merged(known: Option<Participant>, person: &Participant) -> Participant {
    let Some(mut known) = known else {
        return person.clone();
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
    known
}

/// A new record of whoever sent the message of `pass`.
pub(super) fn participant(pass: &Pass, id: ParticipantId, context: &RoomContext) -> Participant {
    let channel = pass.draft.source.channel_id.clone();
    Participant::new(id, context.room_id().clone(), channel, context.now())
}

fn set_person(pass: &mut Pass, participant: Participant) {
    if let Origin::Inbound { person, .. } = &mut pass.origin {
        *person = Some(Box::new(participant));
    }
}
