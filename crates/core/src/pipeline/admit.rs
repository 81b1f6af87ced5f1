//! Whose message it is, and whether they may speak in the room at all; judged under the room's lock.
//!
//! A participant's id is theirs, not that of everybody who sends under the same text. Once it is
//! known who a participant is, a sender with their id is taken for them only where that was settled
//! for the sender's channel: by identity resolution, by a channel that names its own senders, by a
//! binding that belongs to the participant, or by the application. Anybody else with that id is
//! somebody else, whose participant carries the channel before the id: `ws:alice`.
//!
//! What has to be looked at is marked on the room, so that a message in a room without bans and
//! without known people costs nothing.

use serde_json::Value;

use super::Refusal;
use super::pass::{Origin, Pass};
use crate::error::Result;
use crate::kit::Inner;
use crate::model::{
    ChannelBinding, ChannelId, IdentificationStatus, IdentityId, Metadata, Participant,
    ParticipantId, ParticipantStatus, Room,
};
use crate::store::RoomSnapshot;

/// The mark of a room of which somebody is banned.
pub(crate) const HAS_BANS: &str = "_bans";

/// The mark of a room in which the application has said who somebody is.
pub(crate) const HAS_IDENTITIES: &str = "_identities";

/// What settles who a participant is where it is neither the resolver nor a hook.
pub(crate) const BY_HAND: &str = "manual";

/// The channels over which a sender with a participant's own id is that participant.
const NAMED_OVER: &str = "_named_over";

/// The channels that led to a participant before it was known who that is.
const UNTIED: &str = "_untied";

/// Whether there is anything to look at.
pub(super) fn is_a_question(inner: &Inner, room: &Room, pass: &Pass) -> bool {
    pass.draft.source.participant_id.is_some()
        && (has(&room.metadata, HAS_BANS) || has_identities(inner, room, pass))
}

fn has(metadata: &Metadata, mark: &str) -> bool {
    metadata.get(mark) == Some(&Value::Bool(true))
}

fn has_identities(inner: &Inner, room: &Room, pass: &Pass) -> bool {
    // Who the application speaks for is the application's to say.
    matches!(pass.origin, Origin::Inbound { .. })
        && (inner.identity.is_some() || has(&room.metadata, HAS_IDENTITIES))
}

/// Settles whose event it is, and refuses that of somebody who is banned.
pub(super) async fn admit(
    inner: &Inner,
    room: &RoomSnapshot,
    pass: &mut Pass,
) -> Result<Option<Refusal>> {
    if has_identities(inner, &room.room, pass) {
        settle(inner, room, pass).await?;
    }
    let is_banned = is_banned(inner, room, pass).await?;
    Ok(is_banned.then_some(Refusal::ParticipantNotAdmitted))
}

/// Gives a sender whose id is that of another, known participant an id of their own.
async fn settle(inner: &Inner, room: &RoomSnapshot, pass: &mut Pass) -> Result<()> {
    let source = &pass.draft.source;
    let Some(id) = source.participant_id.clone() else {
        return Ok(());
    };
    let found = inner.store.participant(&room.room.id, &id).await?;
    let Some(known) = found.filter(is_identified) else {
        return Ok(());
    };
    let channel = &source.channel_id;
    let is_theirs = match person_of(pass).filter(|person| is_identified(person)) {
        Some(person) => person.identity_id == known.identity_id,
        None => {
            let binding = room.binding(channel).map(|binding| &**binding);
            is_named(&known, channel, binding)
                || inner
                    .channel(channel)
                    .is_some_and(|channel| channel.names_its_senders())
        }
    };
    if is_theirs {
        return Ok(());
    }
    let own = ParticipantId::from(format!("{channel}:{id}"));
    pass.draft.edit().source.participant_id = Some(own.clone());
    if let Origin::Inbound {
        person: Some(person),
        ..
    } = &mut pass.origin
    {
        person.id = own;
    }
    Ok(())
}

fn person_of(pass: &Pass) -> Option<&Participant> {
    match &pass.origin {
        Origin::Inbound { person, .. } => person.as_deref(),
        _ => None,
    }
}

/// Whether the sender is banned, or one person with somebody who is.
async fn is_banned(inner: &Inner, room: &RoomSnapshot, pass: &Pass) -> Result<bool> {
    let Some(id) = &pass.draft.source.participant_id else {
        return Ok(false);
    };
    let identity = person_of(pass).and_then(identity_of);
    is_barred(inner, &room.room, id, identity).await
}

/// Whether a participant of a room, of whom this identity is known, is banned from it, or one person
/// with somebody who is.
pub(crate) async fn is_barred(
    inner: &Inner,
    room: &Room,
    id: &ParticipantId,
    identity: Option<&IdentityId>,
) -> Result<bool> {
    if !has(&room.metadata, HAS_BANS) {
        return Ok(false);
    }
    let people = inner.store.participants(&room.id).await?;
    let recorded = people.iter().find(|person| person.id == *id);
    let identity = identity.or_else(|| recorded.and_then(identity_of));
    let bars = |banned: &Participant| {
        banned.id == *id || (identity.is_some() && identity_of(banned) == identity)
    };
    let mut banned = people
        .iter()
        .filter(|person| person.status == ParticipantStatus::Banned);
    Ok(banned.any(bars))
}

/// Whether it is known who somebody is.
pub(crate) fn is_identified(person: &Participant) -> bool {
    identity_of(person).is_some()
}

fn identity_of(person: &Participant) -> Option<&IdentityId> {
    let is_known = person.identification == IdentificationStatus::Identified;
    person.identity_id.as_ref().filter(|_| is_known)
}

/// Whether a sender over this channel whose id is that of a known participant is that participant.
pub(super) fn is_named(
    known: &Participant,
    channel: &ChannelId,
    binding: Option<&ChannelBinding>,
) -> bool {
    let is_bound =
        binding.is_some_and(|binding| binding.participant_id.as_ref() == Some(&known.id));
    // Resolution finds people by their addresses, and says nothing of who sends under their id.
    let by_resolution = known.resolved_by.as_deref().is_some_and(|by| by != BY_HAND);
    is_bound
        || lists(&known.metadata, NAMED_OVER, channel)
        || (!by_resolution && is_tied(known, channel))
}

/// Notes that a sender over this channel with the participant's own id is the participant.
pub(crate) fn name(person: &mut Participant, channel: &ChannelId) {
    if !lists(&person.metadata, NAMED_OVER, channel) {
        let mut channels = list(&person.metadata, NAMED_OVER);
        channels.push(channel.as_str().into());
        person.metadata.insert(NAMED_OVER, channels);
    }
}

/// Whether a channel leads to the person that the participant is known to be.
pub(super) fn is_tied(person: &Participant, channel: &ChannelId) -> bool {
    person.connected_via.contains(channel) && !lists(&person.metadata, UNTIED, channel)
}

/// Adds the channels of a person who was just met to their record. Where it becomes known only now
/// who the record is of, the channels it has by then are not tied to that person.
pub(super) fn merge_ties(known: &mut Participant, person: &Participant) {
    let mut untied = list(&known.metadata, UNTIED);
    if is_identified(person) {
        if !is_identified(known) {
            let earlier = known.connected_via.iter();
            let earlier = earlier.filter(|channel| !lists(&known.metadata, NAMED_OVER, channel));
            untied.extend(earlier.map(|channel| Value::from(channel.as_str())));
        }
        let is_met = |channel: &Value| {
            let mut met = person.connected_via.iter();
            met.any(|id| channel.as_str() == Some(id.as_str()))
        };
        untied.retain(|channel| !is_met(channel));
    }
    set_list(&mut known.metadata, UNTIED, untied);
    for channel in &person.connected_via {
        if !known.connected_via.contains(channel) {
            known.connected_via.push(channel.clone());
        }
        if lists(&person.metadata, NAMED_OVER, channel) {
            name(known, channel);
        }
    }
}

/// Notes that the application has said who a participant is, over every channel it was reached by.
pub(crate) fn tie_all(person: &mut Participant) {
    person.metadata.remove(UNTIED);
}

fn lists(metadata: &Metadata, key: &str, channel: &ChannelId) -> bool {
    let channels = metadata.get(key).and_then(Value::as_array);
    channels.is_some_and(|channels| {
        let mut ids = channels.iter().filter_map(Value::as_str);
        ids.any(|id| id == channel.as_str())
    })
}

fn list(metadata: &Metadata, key: &str) -> Vec<Value> {
    let channels = metadata.get(key).and_then(Value::as_array);
    channels.cloned().unwrap_or_default()
}

fn set_list(metadata: &mut Metadata, key: &str, channels: Vec<Value>) {
    if channels.is_empty() {
        metadata.remove(key);
    } else {
        metadata.insert(key, channels);
    }
}
