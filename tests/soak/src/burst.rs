//! Many at once in one room: they get in in some order, each once, and what ends the room ends it for
//! those that come after.

use std::future::Future;
use std::pin::pin;
use std::task::Poll;

use fastrand::Rng;
use futures_util::future::{FutureExt, join, join_all};
use roomkit_core::model::{EventType, InboundResult, RoomStatus};

use crate::model::Fact;
use crate::say::Words;
use crate::slot::{Checked, Slot, sound};

/// Polls a call some times and drops it.
pub(crate) async fn leave<T>(call: impl Future<Output = T>, polls: u8) {
    let mut call = pin!(call);
    for _ in 0..polls {
        let polled = futures_util::future::poll_fn(|cx| Poll::Ready(call.poll_unpin(cx))).await;
        if polled.is_ready() {
            return;
        }
        tokio::task::yield_now().await;
    }
}

/// Several people speak at once; sometimes the room is closed meanwhile, and some go away and come
/// back.
pub(crate) async fn burst(slot: &mut Slot, rng: &mut Rng) -> Checked {
    let closes = rng.u8(..4) == 0;
    let words: Vec<_> = (0..rng.usize(3..10))
        .map(|_| (format!("key-{}", rng.u64(..)), Words::plain(rng)))
        .collect();
    let mut calls = Vec::new();
    for (key, words) in &words {
        let leaves = (rng.u8(..4) == 0).then(|| rng.u8(..4));
        let (rooms, message) = (slot.rooms.clone(), words.message(slot));
        let message = message
            .idempotency_key(key.as_str())
            .addressed_to(Vec::<&str>::new());
        // Tasks of their own, so that they are really side by side.
        calls.push(tokio::spawn(async move {
            if let Some(polls) = leaves {
                leave(rooms.process_inbound(message.clone()), polls).await;
            }
            rooms.process_inbound(message).await
        }));
    }
    let closing = async {
        if closes {
            let closed = slot.rooms.close_room(slot.room.clone()).await;
            sound("close", closed)?;
        }
        Ok::<_, String>(())
    };
    let (results, closed) = join(join_all(calls), closing).await;
    closed?;
    let mut told = Vec::new();
    for result in results {
        let result = result.map_err(|_| "a call panicked".to_owned())?;
        told.push(sound("message", result)?);
    }
    take_in(slot, &words, &told, closes).await
}

/// Takes what came of a burst into the model: in the order of the timeline, as if one had come after
/// the other.
async fn take_in(
    slot: &mut Slot,
    words: &[(String, Words)],
    told: &[InboundResult],
    closes: bool,
) -> Checked {
    let events = slot.new_events().await?;
    let mut left: Vec<_> = words.iter().zip(told).collect();
    let mut at = 0;
    while let Some(event) = events.get(at) {
        // A channel that a message attaches is noted just before the message.
        let is_attachment = event.event_type == EventType::ChannelAttached;
        let own = events.get(at + usize::from(is_attachment));
        let key = own.and_then(|event| event.idempotency_key.as_ref());
        let found = left.iter().position(|((own, _), _)| Some(own) == key);
        let Some(found) = found else {
            return Err(format!("nobody said event {}", event.index));
        };
        let ((_, words), result) = left.swap_remove(found);
        let outcome = words.apply(&mut slot.model);
        // Who goes away, and asks again when the room is closed, is told just that.
        if !(closes && is_late(result)) {
            outcome.check(result)?;
            let told = result.event.as_ref().map(|event| &event.id);
            if told != own.map(|event| &event.id) {
                return Err(format!("told of another event than {}", event.index));
            }
        }
        let added = outcome.events.len();
        let of_it = events.get(at..at + added).unwrap_or_default();
        slot.model.add(outcome.events, of_it)?;
        at += added;
    }
    // Those who were refused, before the room was closed or because it was.
    for ((_, words), result) in left {
        if !(closes && is_late(result)) {
            let outcome = words.apply(&mut slot.model);
            outcome.check(result)?;
            if !outcome.events.is_empty() {
                return Err("what was acknowledged is not there".to_owned());
            }
        }
    }
    if closes && slot.model.is_open() {
        slot.model.status = RoomStatus::Closed;
    }
    Ok(())
}

fn is_late(result: &InboundResult) -> bool {
    result.reason.as_deref() == Some("room_closed")
}

/// Several edits of one event at once: versions in the order of the timeline, the last of which holds.
pub(crate) async fn edit_at_once(slot: &mut Slot, rng: &mut Rng) -> Checked {
    let is_own = |fact: &Fact| fact.what.author.is_some() && !fact.what.deleted;
    let Some(fact) = slot.any(rng, is_own) else {
        return Ok(());
    };
    let words: Vec<_> = (0..3)
        .filter_map(|number| {
            let edit = Words::edit(&fact, &format!("version {number}"))?;
            Some((format!("key-{}", rng.u64(..)), edit))
        })
        .collect();
    let calls = words.iter().map(|(key, words)| {
        let (rooms, message) = (slot.rooms.clone(), words.message(slot));
        let message = message.idempotency_key(key.as_str());
        tokio::spawn(async move { rooms.process_inbound(message).await })
    });
    let mut told = Vec::new();
    for result in join_all(calls).await {
        let result = result.map_err(|_| "a call panicked".to_owned())?;
        told.push(sound("edit", result)?);
    }
    take_in(slot, &words, &told, false).await
}
