//! The operations, how often each is chosen, and what the rarer ones must come to.

use std::collections::BTreeSet;
use std::time::Duration;

use fastrand::Rng;
use roomkit_core::ErrorKind;
use roomkit_core::model::{
    EventContent, EventType, Metadata, ParticipantStatus, Presence, RoomStatus, RoomTimers,
};

use crate::burst::{burst, edit_at_once};
use crate::channels::{BROKEN, HELPER, SPOKEN, TELLER};
use crate::model::{Expected, Fact};
use crate::say::{PEOPLE, Words, say, say_again, say_and_leave, say_deferred, send};
use crate::slot::{Checked, Slot, sound};
use crate::stage::Stage;

/// Something that is done to a room.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Operation {
    Say,
    Change,
    SayDeferred,
    SayAgain,
    SayAndLeave,
    Burst,
    EditAtOnce,
    Send,
    Mute,
    Attach,
    Detach,
    Pause,
    Resume,
    Close,
    Reopen,
    Join,
    Leave,
    Ban,
    Unban,
    Read,
    ReadThread,
    Remove,
    Correct,
    Ephemeral,
    Timers,
    Time,
}

/// Each with its weight.
pub(crate) const OPERATIONS: [(Operation, u32); 26] = [
    (Operation::Say, 30),
    (Operation::Change, 10),
    (Operation::SayDeferred, 6),
    (Operation::SayAgain, 6),
    (Operation::SayAndLeave, 5),
    (Operation::Burst, 4),
    (Operation::EditAtOnce, 3),
    (Operation::Send, 2),
    (Operation::Mute, 6),
    (Operation::Attach, 3),
    (Operation::Detach, 2),
    (Operation::Pause, 2),
    (Operation::Resume, 1),
    (Operation::Close, 2),
    (Operation::Reopen, 1),
    (Operation::Join, 3),
    (Operation::Leave, 2),
    (Operation::Ban, 1),
    (Operation::Unban, 2),
    (Operation::Read, 4),
    (Operation::ReadThread, 2),
    (Operation::Remove, 3),
    (Operation::Correct, 3),
    (Operation::Ephemeral, 4),
    (Operation::Timers, 1),
    (Operation::Time, 4),
];

/// Chooses what is to be done to a room.
pub(crate) fn choose(slot: &Slot, rng: &mut Rng) -> Operation {
    // A closed room would stay so for most of its life.
    if !slot.model.is_open() && rng.u8(..3) == 0 {
        return Operation::Reopen;
    }
    let all: u32 = OPERATIONS.iter().map(|(_, weight)| weight).sum();
    let mut at = rng.u32(..all);
    for (operation, weight) in OPERATIONS {
        if at < weight {
            return operation;
        }
        at -= weight;
    }
    Operation::Say
}

/// Does it, and sees to it that what comes of it is what must.
pub(crate) async fn perform(
    stage: &Stage,
    slot: &mut Slot,
    operation: Operation,
    rng: &mut Rng,
) -> Checked {
    match operation {
        Operation::Say => say(slot, Words::any(slot, rng)).await,
        Operation::Change => match Words::change(slot, rng) {
            Some(words) => say(slot, words).await,
            None => Ok(()),
        },
        Operation::SayDeferred => say_deferred(slot, Words::any(slot, rng)).await,
        Operation::SayAgain => say_again(slot, Words::any(slot, rng), rng).await,
        Operation::SayAndLeave => say_and_leave(slot, rng).await,
        Operation::Burst => burst(slot, rng).await,
        Operation::EditAtOnce => edit_at_once(slot, rng).await,
        Operation::Send => send(slot).await,
        Operation::Mute => mute(slot, rng).await,
        Operation::Attach => slot.attach(any_channel(rng)).await,
        Operation::Detach => detach(slot, rng).await,
        Operation::Pause | Operation::Resume | Operation::Close | Operation::Reopen => {
            set_status(slot, operation).await
        }
        Operation::Join | Operation::Leave | Operation::Ban | Operation::Unban => {
            member(slot, operation, rng).await
        }
        Operation::Read => read(slot, rng).await,
        Operation::ReadThread => read_thread(slot, rng).await,
        Operation::Remove => remove(slot, rng).await,
        Operation::Correct => correct(slot, rng).await,
        Operation::Ephemeral => ephemeral(slot, rng).await,
        Operation::Timers => timers(stage, slot).await,
        Operation::Time => {
            stage.clock.advance(Duration::from_millis(rng.u64(1..50)));
            Ok(())
        }
    }
}

fn any_channel(rng: &mut Rng) -> &'static str {
    let others = [HELPER, TELLER, BROKEN];
    let all: Vec<_> = SPOKEN.into_iter().chain(others).collect();
    rng.choice(all).unwrap_or(HELPER)
}

fn any_person(rng: &mut Rng) -> &'static str {
    rng.choice(PEOPLE).unwrap_or("ann")
}

/// What a call must fail with, or that it must not.
fn must<T: std::fmt::Debug>(
    result: roomkit_core::Result<T>,
    fails: Option<ErrorKind>,
) -> Checked<Option<T>> {
    match (result, fails) {
        (Ok(value), None) => Ok(Some(value)),
        (Err(error), Some(kind)) if error.kind() == kind => Ok(None),
        (other, fails) => Err(format!("{other:?}, where {fails:?} was due")),
    }
}

async fn mute(slot: &mut Slot, rng: &mut Rng) -> Checked {
    let (channel, mutes) = (any_channel(rng), rng.bool());
    let room = slot.room.clone();
    let fails = if !slot.model.is_open() {
        Some(ErrorKind::RoomClosed)
    } else if slot.model.bindings.contains_key(channel) {
        None
    } else {
        Some(ErrorKind::ChannelNotFound)
    };
    let (changed, kind) = if mutes {
        (
            slot.rooms.mute(room, channel).await,
            EventType::ChannelMuted,
        )
    } else {
        (
            slot.rooms.unmute(room, channel).await,
            EventType::ChannelUnmuted,
        )
    };
    if must(changed, fails)?.is_some() {
        slot.model.bindings.insert(channel.to_owned(), mutes);
        slot.added(vec![Expected::new(kind)]).await?;
    }
    Ok(())
}

async fn detach(slot: &mut Slot, rng: &mut Rng) -> Checked {
    let channel = any_channel(rng);
    let fails = (!slot.model.is_open()).then_some(ErrorKind::RoomClosed);
    let detached = slot.rooms.detach_channel(slot.room.clone(), channel).await;
    let Some(detached) = must(detached, fails)? else {
        return Ok(());
    };
    let was_attached = slot.model.bindings.remove(channel).is_some();
    if detached != was_attached {
        return Err(format!(
            "{channel} was attached: {detached}, not {was_attached}"
        ));
    }
    if detached {
        slot.model.detached.insert(channel.to_owned());
        slot.added(vec![Expected::new(EventType::ChannelDetached)])
            .await?;
    }
    Ok(())
}

async fn set_status(slot: &mut Slot, operation: Operation) -> Checked {
    let (rooms, room) = (&slot.rooms, slot.room.clone());
    let (result, to, from) = match operation {
        Operation::Pause => (
            rooms.pause_room(room).await,
            RoomStatus::Paused,
            [RoomStatus::Active, RoomStatus::Paused],
        ),
        Operation::Resume => (
            rooms.resume_room(room).await,
            RoomStatus::Active,
            [RoomStatus::Active, RoomStatus::Paused],
        ),
        Operation::Close => {
            sound("close", rooms.close_room(room).await)?;
            slot.model.status = RoomStatus::Closed;
            return Ok(());
        }
        _ => {
            sound("reopen", rooms.reopen_room(room).await)?;
            if slot.model.status == RoomStatus::Closed {
                slot.model.status = RoomStatus::Active;
            }
            return Ok(());
        }
    };
    let can = from.contains(&slot.model.status);
    if must(result, (!can).then_some(ErrorKind::RoomClosed))?.is_some() {
        slot.model.status = to;
    }
    Ok(())
}

async fn member(slot: &mut Slot, operation: Operation, rng: &mut Rng) -> Checked {
    use ParticipantStatus::{Active, Banned, Left};
    let person = any_person(rng);
    let known = slot.model.people.get(person).copied();
    let (rooms, room) = (&slot.rooms, slot.room.clone());
    let result = match operation {
        Operation::Join => rooms.add_member(room, "web", person).await,
        Operation::Leave => rooms.remove_member(room, person).await,
        Operation::Ban => rooms.ban_member(room, person).await,
        _ => rooms.unban_member(room, person).await,
    };
    // What they are then, and what the timeline says.
    let to = match (operation, known) {
        (Operation::Join, Some(Banned)) => {
            return must(result, Some(ErrorKind::ParticipantNotAdmitted)).map(drop);
        }
        (Operation::Leave | Operation::Ban | Operation::Unban, None) => {
            return must(result, Some(ErrorKind::ParticipantNotFound)).map(drop);
        }
        (Operation::Join, Some(Active)) => None,
        (Operation::Join, _) => Some((Active, EventType::ParticipantJoined)),
        (Operation::Leave, Some(Active)) => Some((Left, EventType::ParticipantLeft)),
        (Operation::Ban, Some(Active | Left)) => Some((Banned, EventType::ParticipantLeft)),
        (Operation::Unban, Some(Banned)) => Some((Left, EventType::ParticipantUpdated)),
        _ => None,
    };
    let Some((to, kind)) = to else {
        // Nothing is told; that a channel is noted needs an open room, which is not looked at.
        return Ok(());
    };
    let fails = (!slot.model.is_open()).then_some(ErrorKind::RoomClosed);
    if must(result, fails)?.is_some() {
        slot.model.people.insert(person.to_owned(), to);
        slot.added(vec![Expected::new(kind)]).await?;
    }
    Ok(())
}

async fn read(slot: &mut Slot, rng: &mut Rng) -> Checked {
    let Some(index) = rng.choice(slot.model.facts.keys().copied().collect::<Vec<_>>()) else {
        return Ok(());
    };
    let Some(event) = slot.model.facts.get(&index).map(|fact| fact.id.clone()) else {
        return Ok(());
    };
    let channel = any_channel(rng);
    let is_attached = slot.model.bindings.contains_key(channel);
    let room = slot.room.clone();
    let marked = slot.rooms.mark_read(room.clone(), channel, event).await;
    must(marked, (!is_attached).then_some(ErrorKind::ChannelNotFound))?;
    if is_attached {
        let marker = slot.model.markers.entry(channel.to_owned());
        let marker = marker.or_insert(index);
        *marker = index.max(*marker);
        let after = slot.model.next.saturating_sub(1).saturating_sub(*marker);
        let unread = sound("unread", slot.rooms.unread_count(room, channel).await)?;
        if unread > after {
            return Err(format!("{unread} events are unread of {after}"));
        }
    }
    Ok(())
}

/// The replies of a thread are those that the model has.
async fn read_thread(slot: &mut Slot, rng: &mut Rng) -> Checked {
    let Some(reply) = slot.any(rng, |fact| fact.what.parent.is_some()) else {
        return Ok(());
    };
    let Some(root) = &reply.what.parent else {
        return Ok(());
    };
    if slot.model.fact(root).is_none() {
        return Ok(());
    }
    let replies = slot
        .rooms
        .thread(slot.room.clone(), root.clone(), 0, usize::MAX)
        .await;
    let replies = sound("thread", replies)?;
    let is: Vec<u64> = replies.iter().map(|event| event.index).collect();
    let of_thread = |fact: &&Fact| fact.what.parent.as_ref() == Some(root);
    let facts = slot.model.facts.iter().filter(|(_, fact)| of_thread(fact));
    let must: Vec<u64> = facts.map(|(index, _)| *index).collect();
    if is != must {
        return Err(format!("the thread has {is:?}, not {must:?}"));
    }
    Ok(())
}

/// Removes an event for good, with all that hangs on it.
async fn remove(slot: &mut Slot, rng: &mut Rng) -> Checked {
    let Some(fact) = slot.any(rng, |fact| fact.what.kind == EventType::Message) else {
        return Ok(());
    };
    let removed = slot
        .rooms
        .delete_event(slot.room.clone(), fact.id.clone())
        .await;
    let removed: BTreeSet<_> = sound("remove", removed)?.into_iter().collect();
    let gone = slot.model.closure(&fact.id);
    if gone != removed {
        let facts = slot.model.facts.iter();
        let differ = facts.filter(|(_, it)| gone.contains(&it.id) != removed.contains(&it.id));
        let differ: Vec<_> = differ.map(|(index, it)| (index, &it.what)).collect();
        return Err(format!("{fact:?} went, and with it or not: {differ:?}"));
    }
    slot.model.facts.retain(|_, fact| !gone.contains(&fact.id));
    Ok(())
}

/// Changes a stored event directly.
async fn correct(slot: &mut Slot, rng: &mut Rng) -> Checked {
    let Some(fact) = slot.any(rng, |fact| fact.what.kind == EventType::Message) else {
        return Ok(());
    };
    let text = format!("corrected {}", rng.u16(..));
    let changed = slot
        .rooms
        .update_event(slot.room.clone(), fact.id.clone())
        .content(EventContent::text(text.as_str()))
        .await;
    if sound("correct", changed)?.is_none() {
        return Err("there was nothing to correct".to_owned());
    }
    if let Some(fact) = slot.model.fact_mut(&fact.id) {
        fact.what.text = Some(text);
    }
    Ok(())
}

async fn ephemeral(slot: &mut Slot, rng: &mut Rng) -> Checked {
    let (rooms, room, person) = (&slot.rooms, slot.room.clone(), any_person(rng));
    let published = match rng.u8(..3) {
        0 => rooms.publish_typing(room, person, rng.bool()).await,
        1 => rooms.publish_presence(room, person, Presence::Away).await,
        _ => rooms.publish_custom(room, person, Metadata::new()).await,
    };
    sound("publish", published)
}

/// A room goes quiet and is paused, by the kit's sweeper or by the check, whichever is first.
async fn timers(stage: &Stage, slot: &mut Slot) -> Checked {
    if slot.model.status != RoomStatus::Active {
        return Ok(());
    }
    let (rooms, room) = (&slot.rooms, || slot.room.clone());
    let set = rooms.set_room_timers(room(), RoomTimers::pause_after(1));
    sound("timers", set.await)?;
    stage.clock.advance(Duration::from_secs(1));
    let checked = sound("check", rooms.check_room_timers(room()).await)?;
    if checked.status != RoomStatus::Paused {
        return Err(format!("a quiet room is {}", checked.status));
    }
    let never = rooms.set_room_timers(room(), RoomTimers::default());
    sound("timers", never.await)?;
    slot.model.status = RoomStatus::Paused;
    Ok(())
}
