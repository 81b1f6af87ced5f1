//! Who the senders of a scenario are: its resolver's answers, its identity hooks, and the steps about
//! identities.

use roomkit_core::hook::{
    Hook, HookOptions, HookTrigger, IdentityCase, IdentityDecision, InjectedEvent,
    OnIdentityAmbiguous, OnIdentityUnknown,
};
use roomkit_core::model::{ChannelType, EventContent, Identity, IdentityId, IdentityResult};
use serde::Deserialize;
use serde_json::{Value, json};

use super::build::Stage;
use super::error::ConformanceError;
use super::hooks::{Action, Behaviour, Raised, required, wrong};
use super::run::Trouble;
use super::scenario::{ActionName, HookSpec, Kit, Step};
use super::strict;
use crate::MockIdentityResolver;

/// What the resolver does when it is asked about a sender.
#[derive(Debug, Clone, Deserialize)]
#[serde(untagged)]
pub(super) enum AnswerSpec {
    Word(AnswerWord),
    Result(#[serde(deserialize_with = "strict::required")] Box<IdentityResult>),
}

#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum AnswerWord {
    Fail,
    Hang,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct SaveIdentity {
    #[serde(deserialize_with = "strict::required")]
    identity: Identity,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct LinkAddress {
    identity: IdentityId,
    channel_type: ChannelType,
    address: String,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct IdentitiesByAddress {
    channel_type: ChannelType,
    address: String,
}

/// The resolver that a kit describes, if it does.
pub(super) fn resolver(kit: &Kit) -> Option<MockIdentityResolver> {
    if kit.identities.is_none() && kit.senders.is_none() {
        return None;
    }
    let mut resolver = MockIdentityResolver::new();
    for (address, id) in kit.identities.iter().flatten() {
        resolver = resolver.knows(address.as_str(), Identity::new(id.clone()));
    }
    for (address, answer) in kit.senders.iter().flatten() {
        let address = address.as_str();
        resolver = match answer {
            AnswerSpec::Word(AnswerWord::Fail) => resolver.fails(address),
            AnswerSpec::Word(AnswerWord::Hang) => resolver.hangs(address),
            AnswerSpec::Result(result) => resolver.answers(address, (**result).clone()),
        };
    }
    Some(resolver)
}

/// A hook at one of the points about senders; `None` for every other point.
pub(super) fn hook(
    trigger: HookTrigger,
    observes: bool,
    options: HookOptions,
    behaviour: Behaviour,
) -> Option<Hook> {
    macro_rules! at {
        ($point:ident) => {
            if observes {
                Hook::observer($point, options, move |case, _context| {
                    let behaviour = behaviour.clone();
                    async move { behaviour.look(&case.event).await }
                })
            } else {
                Hook::new($point, options, move |case, _context| {
                    let behaviour = behaviour.clone();
                    async move { behaviour.identify(&case).await }
                })
            }
        };
    }
    match trigger {
        HookTrigger::OnIdentityAmbiguous => Some(at!(OnIdentityAmbiguous)),
        HookTrigger::OnIdentityUnknown => Some(at!(OnIdentityUnknown)),
        _ => None,
    }
}

/// What the actions of these points decide; `None` for every other action.
pub(super) fn decision(spec: &HookSpec) -> Result<Option<IdentityDecision>, ConformanceError> {
    let identity = || required(spec, "identity", spec.identity.as_ref()).cloned();
    Ok(Some(match spec.action {
        ActionName::Resolve => IdentityDecision::Resolved(identity()?),
        ActionName::Create => IdentityDecision::Create(identity()?),
        ActionName::Pending => IdentityDecision::Pending {
            display_name: spec.display_name.clone(),
            candidates: spec.candidates.clone().unwrap_or_default(),
        },
        ActionName::Reject => IdentityDecision::Reject {
            reason: spec.reason.clone().unwrap_or_default(),
        },
        ActionName::Challenge => match required(spec, "inject", spec.inject.as_deref())? {
            [told] => {
                let content = EventContent::text(&told.body);
                IdentityDecision::Challenge(InjectedEvent::new(content, told.to.iter().cloned()))
            }
            _ => return Err(wrong(spec, "a challenge has one `inject`")),
        },
        ActionName::Allow
        | ActionName::Block
        | ActionName::Replace
        | ActionName::SetMetadata
        | ActionName::RedactPayload
        | ActionName::Raise
        | ActionName::AttachChannel
        | ActionName::Sleep => return Ok(None),
    }))
}

impl Behaviour {
    async fn identify(&self, case: &IdentityCase) -> Result<Option<IdentityDecision>, Raised> {
        self.look(&case.event).await?;
        Ok(match &self.action {
            Action::Decide(decision) if self.concerns(&case.event) => Some((**decision).clone()),
            _ => None,
        })
    }
}

impl Stage {
    /// Does a step about identities.
    pub(super) async fn identities(&self, step: &Step) -> Result<Option<Value>, Trouble> {
        let kit = &self.rooms;
        Ok(match step {
            Step::SaveIdentity(spec) => {
                let saved = kit.save_identity(spec.identity.clone()).await?;
                Some(
                    json!({ "addresses": saved.channel_addresses.values().flatten().collect::<Vec<_>>() }),
                )
            }
            Step::LinkAddress(spec) => {
                let channel_type = spec.channel_type.clone();
                let linked = kit.link_address(&spec.identity, channel_type, &spec.address);
                let addresses = linked.await?.channel_addresses;
                let of_type = addresses.get(&spec.channel_type.to_string());
                Some(json!({ "addresses": of_type }))
            }
            Step::IdentitiesByAddress(spec) => {
                let channel_type = spec.channel_type.clone();
                let found = kit.identities_by_address(channel_type, &spec.address);
                let ids: Vec<_> = found.await?.into_iter().map(|one| one.id).collect();
                Some(json!({ "identities": ids }))
            }
            _ => None,
        })
    }
}
