//! The hooks of a scenario, made from their description.

use std::time::Duration;

use regex::Regex;
use roomkit_core::hook::{
    self, BeforeBroadcast, Hook, HookOptions, HookResult, HookTrigger, IdentityDecision,
    InjectedEvent,
};
use roomkit_core::model::{ChannelId, EventContent, Metadata, RoomEvent};
use roomkit_core::{EventDraft, WeakKit};

use super::error::ConformanceError;
use super::identity;
use super::scenario::{ActionName, Execution, HookSpec, InjectSpec, When};
use crate::body::body_of;
use crate::sync::Log;

/// A hook that failed because its scenario says so.
#[derive(Debug, thiserror::Error)]
#[error("the scenario lets this hook fail")]
pub(super) struct Raised;

/// What a hook does, whatever its trigger.
#[derive(Debug, Clone)]
pub(super) struct Behaviour {
    name: String,
    when: When,
    pub(super) action: Action,
    inject: Vec<InjectSpec>,
    ran: Log<String>,
    kit: WeakKit,
}

#[derive(Debug, Clone)]
pub(super) enum Action {
    Allow,
    Block(String),
    Replace(Regex, String),
    SetMetadata(Metadata),
    Raise,
    Sleep(Duration),
    AttachChannel(ChannelId),
    Decide(Box<IdentityDecision>),
}

/// The trigger of a hook that names none is before the broadcast.
pub(super) fn trigger_of(spec: &HookSpec) -> Result<HookTrigger, ConformanceError> {
    let Some(name) = &spec.trigger else {
        return Ok(HookTrigger::BeforeBroadcast);
    };
    HookTrigger::from_name(name).ok_or_else(|| wrong(spec, format!("unknown trigger `{name}`")))
}

/// Makes a hook that notes its name in `ran` whenever its `when` matches.
pub(super) fn make(
    spec: &HookSpec,
    ran: &Log<String>,
    kit: &WeakKit,
) -> Result<Hook, ConformanceError> {
    let trigger = trigger_of(spec)?;
    let behaviour = Behaviour {
        name: spec.name.clone(),
        when: spec.when.clone(),
        action: action(spec)?,
        inject: spec.inject.clone().unwrap_or_default(),
        ran: ran.clone(),
        kit: kit.clone(),
    };
    let mut options = options(spec)?;
    let observes = spec.execution == Some(Execution::Async);
    let is_about_senders = matches!(
        trigger,
        HookTrigger::OnIdentityAmbiguous | HookTrigger::OnIdentityUnknown
    );
    let fits = match &behaviour.action {
        Action::Allow | Action::Raise | Action::Sleep(_) => true,
        Action::Block(_)
        | Action::Replace(..)
        | Action::SetMetadata(_)
        | Action::AttachChannel(_) => !is_about_senders,
        Action::Decide(_) => is_about_senders && !observes,
    };
    let injects = is_about_senders && !behaviour.inject.is_empty();
    if !fits || (injects && !matches!(behaviour.action, Action::Decide(_))) {
        return Err(wrong(spec, format!("`{trigger}` has no such action")));
    }
    let decides = trigger == HookTrigger::BeforeBroadcast && !observes;
    if decides && spec.action == ActionName::AttachChannel {
        return Err(wrong(spec, "`attach_channel` is for hooks that look on"));
    }
    if spec.hold_streams {
        if !decides {
            return Err(wrong(spec, "`hold_streams` is for hooks that decide"));
        }
        options = options.hold_streams();
    }
    if decides {
        return Ok(Hook::new(
            BeforeBroadcast,
            options,
            move |draft, _context| {
                let behaviour = behaviour.clone();
                async move { behaviour.decide(draft).await }
            },
        ));
    }
    identity::hook(trigger, observes, options.clone(), behaviour.clone())
        .or_else(|| observer(trigger, options, behaviour))
        .ok_or_else(|| wrong(spec, format!("trigger `{trigger}` carries no event")))
}

/// A hook that looks on at a point whose payload is an event; `None` for every other point.
fn observer(trigger: HookTrigger, options: HookOptions, behaviour: Behaviour) -> Option<Hook> {
    macro_rules! points {
        ($($point:ident),+ $(,)?) => {
            match trigger {
                $(HookTrigger::$point => Some(Hook::observer(
                    hook::$point,
                    options,
                    move |event, _context| {
                        let behaviour = behaviour.clone();
                        async move { behaviour.look(&event).await }
                    },
                )),)+
                _ => None,
            }
        };
    }
    macro_rules! noting {
        ($point:ident) => {
            Some(Hook::observer(hook::$point, options, move |_, _context| {
                behaviour.ran.push(behaviour.name.clone());
                async {}
            }))
        };
    }
    match trigger {
        HookTrigger::OnDeliveryStatus => return noting!(OnDeliveryStatus),
        HookTrigger::OnFeedback => return noting!(OnFeedback),
        HookTrigger::OnSessionStarted => return noting!(OnSessionStarted),
        _ => {}
    }
    points! {
        BeforeBroadcast, AfterBroadcast, OnEventUpdated, OnEventDeleted,
        OnChannelAttached, OnChannelDetached, OnChannelMuted, OnChannelUnmuted,
        OnRoomCreated, OnRoomPaused, OnRoomClosed,
        OnParticipantIdentified, OnParticipantJoined, OnParticipantLeft, OnParticipantUpdated,
        BeforeDeliver, AfterDeliver, OnTaskCreated, OnError, OnRealtimeTextInjected,
        OnHandoff, OnHandoffRejected, OnPhaseTransition, OnTaskDelegated, OnTaskCompleted,
        OnScreenShareStarted, OnScreenShareStopped,
        OnConferenceParticipantJoined, OnConferenceParticipantLeft,
        OnConferenceTrackPublished, OnConferenceTrackUnpublished,
        OnConferenceTrackMuted, OnConferenceTrackUnmuted,
        OnActiveSpeakerChanged, OnConnectionQualityChanged,
    }
}

impl Behaviour {
    /// Whether the hook is concerned.
    pub(super) fn concerns(&self, event: &RoomEvent) -> bool {
        let body = self.when.body_contains.as_ref();
        let source = self.when.source.as_ref();
        body.is_none_or(|words| body_of(&event.content).contains(words.as_str()))
            && source.is_none_or(|channel| event.source.channel_id == *channel)
    }

    /// Whether the hook is concerned; notes its name where it is.
    fn enter(&self, event: &RoomEvent) -> bool {
        let concerned = self.concerns(event);
        if concerned {
            self.ran.push(self.name.clone());
        }
        concerned
    }

    async fn decide(&self, mut draft: EventDraft) -> Result<HookResult<EventDraft>, Raised> {
        if !self.enter(&draft) {
            return Ok(HookResult::allow());
        }
        let result = match &self.action {
            Action::Allow | Action::Decide(_) => HookResult::allow(),
            Action::Block(reason) => HookResult::block(reason),
            Action::Replace(pattern, with) => match draft.text() {
                None => HookResult::allow(),
                Some(text) => {
                    let text = pattern.replace_all(text, with.as_str()).into_owned();
                    draft.set_text(text);
                    HookResult::modify(draft)
                }
            },
            Action::SetMetadata(metadata) => {
                for (key, value) in metadata.iter() {
                    draft.insert_metadata(key, value.clone());
                }
                HookResult::modify(draft)
            }
            Action::Raise => return Err(Raised),
            Action::AttachChannel(_) => HookResult::allow(),
            Action::Sleep(duration) => {
                tokio::time::sleep(*duration).await;
                HookResult::allow()
            }
        };
        Ok(self.inject.iter().fold(result, |result, spec| {
            let targets = spec.to.iter().cloned();
            result.inject(InjectedEvent::new(EventContent::text(&spec.body), targets))
        }))
    }

    /// As a hook that only looks on: it can take its time and fail, and decides nothing.
    pub(super) async fn look(&self, event: &RoomEvent) -> Result<(), Raised> {
        if self.enter(event) {
            match &self.action {
                Action::Raise => return Err(Raised),
                Action::Sleep(duration) => tokio::time::sleep(*duration).await,
                Action::AttachChannel(channel) => self.attach(event, channel).await,
                _ => {}
            }
        }
        Ok(())
    }
}

impl Behaviour {
    /// Attaches a channel to the room of the event; where that fails it is not attached.
    async fn attach(&self, event: &RoomEvent, channel: &ChannelId) {
        if let Some(kit) = self.kit.upgrade() {
            let _ = kit.attach_channel(&event.room_id, channel).await;
        }
    }
}

fn options(spec: &HookSpec) -> Result<HookOptions, ConformanceError> {
    let mut options = HookOptions::new(&spec.name).priority(spec.priority.unwrap_or_default());
    if let Some(timeout) = spec.timeout {
        options = options.timeout(seconds(spec, "timeout", timeout)?);
    }
    if let Some(types) = &spec.channel_types {
        options = options.channel_types(types.iter().cloned());
    }
    if let Some(ids) = &spec.channel_ids {
        options = options.channel_ids(ids.iter().cloned());
    }
    Ok(options)
}

/// The action with its own keys; a key of another action is refused, it would do nothing.
fn action(spec: &HookSpec) -> Result<Action, ConformanceError> {
    let given = [
        ("reason", spec.reason.is_some()),
        ("pattern", spec.pattern.is_some()),
        ("with", spec.replacement.is_some()),
        ("metadata", spec.metadata.is_some()),
        ("key", spec.key.is_some()),
        ("value", spec.value.is_some()),
        ("seconds", spec.seconds.is_some()),
        ("inject", spec.inject.is_some()),
        ("channel", spec.channel.is_some()),
        ("identity", spec.identity.is_some()),
        ("candidates", spec.candidates.is_some()),
        ("display_name", spec.display_name.is_some()),
    ];
    let allowed: &[&str] = match spec.action {
        ActionName::Allow => &["inject"],
        ActionName::Block => &["reason", "inject"],
        ActionName::Replace => &["pattern", "with", "inject"],
        ActionName::SetMetadata => &["metadata", "key", "value", "inject"],
        ActionName::Raise => &[],
        ActionName::AttachChannel => &["channel"],
        ActionName::Sleep => &["seconds", "inject"],
        ActionName::Resolve | ActionName::Create => &["identity"],
        ActionName::Pending => &["candidates", "display_name"],
        ActionName::Challenge => &["inject"],
        ActionName::Reject => &["reason"],
    };
    let stray = given
        .iter()
        .find(|(key, is_given)| *is_given && !allowed.contains(key));
    if let Some((key, _)) = stray {
        return Err(wrong(
            spec,
            format!("`{key}` means nothing for this action"),
        ));
    }
    if let Some(decision) = identity::decision(spec)? {
        return Ok(Action::Decide(Box::new(decision)));
    }
    Ok(match spec.action {
        ActionName::Raise => Action::Raise,
        ActionName::Block => {
            Action::Block(required(spec, "reason", spec.reason.as_deref())?.to_owned())
        }
        ActionName::Replace => {
            let pattern = required(spec, "pattern", spec.pattern.as_deref())?;
            let with = required(spec, "with", spec.replacement.as_deref())?;
            let pattern = Regex::new(pattern).map_err(|error| wrong(spec, error.to_string()))?;
            Action::Replace(pattern, replacement(with))
        }
        ActionName::SetMetadata => Action::SetMetadata(metadata(spec)?),
        ActionName::AttachChannel => {
            Action::AttachChannel(required(spec, "channel", spec.channel.as_ref())?.clone())
        }
        ActionName::Sleep => {
            let time = *required(spec, "seconds", spec.seconds.as_ref())?;
            Action::Sleep(seconds(spec, "seconds", time)?)
        }
        _ => Action::Allow,
    })
}

/// The entries to set: those of `metadata`, and `key` with its `value`.
fn metadata(spec: &HookSpec) -> Result<Metadata, ConformanceError> {
    let mut entries = spec.metadata.clone().unwrap_or_default();
    match (&spec.key, &spec.value) {
        (Some(key), Some(value)) => {
            entries.insert(key, value.clone());
        }
        (None, None) if spec.metadata.is_some() => {}
        _ => return Err(wrong(spec, "needs `metadata`, or `key` and `value`")),
    }
    Ok(entries)
}

/// A replacement of Python's `re` as the `regex` crate writes it: `\1` and `\g<name>` are groups, a
/// dollar sign is one.
fn replacement(python: &str) -> String {
    let mut text = String::new();
    let mut rest = python.chars().peekable();
    while let Some(c) = rest.next() {
        match c {
            '$' => text.push_str("$$"),
            '\\' => match rest.next() {
                Some(digit) if digit.is_ascii_digit() => {
                    text.push_str("${");
                    text.push(digit);
                    while let Some(digit) = rest.next_if(char::is_ascii_digit) {
                        text.push(digit);
                    }
                    text.push('}');
                }
                Some('g') if rest.next_if_eq(&'<').is_some() => {
                    text.push_str("${");
                    text.extend(rest.by_ref().take_while(|c| *c != '>'));
                    text.push('}');
                }
                Some('n') => text.push('\n'),
                Some('t') => text.push('\t'),
                Some(other) => text.push(other),
                None => text.push('\\'),
            },
            other => text.push(other),
        }
    }
    text
}

pub(super) fn required<'a, T: ?Sized>(
    spec: &HookSpec,
    key: &str,
    value: Option<&'a T>,
) -> Result<&'a T, ConformanceError> {
    value.ok_or_else(|| wrong(spec, format!("needs `{key}`")))
}

fn seconds(spec: &HookSpec, key: &str, value: f64) -> Result<Duration, ConformanceError> {
    Duration::try_from_secs_f64(value).map_err(|error| wrong(spec, format!("`{key}`: {error}")))
}

pub(super) fn wrong(spec: &HookSpec, problem: impl std::fmt::Display) -> ConformanceError {
    ConformanceError::malformed(format!("hook `{}`: {problem}", spec.name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn replacements_are_those_of_python() {
        let cases = [
            ("plain", "plain"),
            (r"\1-\g<2>-\g<name>", "${1}-${2}-${name}"),
            ("$1", "$$1"),
            (r"a\nb\\c", "a\nb\\c"),
            (r"\12", "${12}"),
        ];
        for (python, ours) in cases {
            assert_eq!(replacement(python), ours, "{python}");
        }
    }
}
