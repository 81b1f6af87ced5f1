//! The loop guard: agents stop answering where a room goes round in circles with another system.
//!
//! Chain depth ends loops within a kit, and beyond it where a channel carries the depth over. Where
//! the other side tells neither its depth nor that it is a bot, only the pattern shows.

use std::collections::{HashMap, VecDeque};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::time::Duration;

use crate::model::{RoomEvent, RoomId};
use crate::resilience::TokenBucket;
use crate::sync::Mutex;
use crate::sync::lock;

/// How many rooms are watched before those that have been quiet are forgotten.
const MOST_ROOMS: usize = 10_000;

/// When agents are no longer asked in a room. The room's events go on; once something else is said,
/// or the minute has passed, agents are asked again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LoopGuard {
    /// How often the same, or the same two things in turn, may be said. Default: 5; from 2 to
    /// [`MOST_REPEATS`](Self::MOST_REPEATS).
    pub max_repeats: usize,
    /// How many events a minute may ask agents in one room. Default: 60; at least 1.
    pub max_events_per_minute: u32,
}

impl LoopGuard {
    /// The most repeats that are kept in mind for each room.
    pub const MOST_REPEATS: usize = 1_000;
}

impl Default for LoopGuard {
    fn default() -> Self {
        Self {
            max_repeats: 5,
            max_events_per_minute: 60,
        }
    }
}

/// What is known of the rooms that are watched.
#[derive(Debug, Default)]
pub(crate) struct Watched(Mutex<HashMap<RoomId, Watch>>);

#[derive(Debug)]
struct Watch {
    /// Fingerprints of what was said, the newest last.
    said: VecDeque<u64>,
    bucket: TokenBucket,
    tripped: bool,
}

/// Whether an event may ask agents.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Verdict {
    Admitted,
    /// It may not, and neither did the one before.
    Held,
    /// It is the first that may not.
    Tripped,
}

impl Watched {
    pub(crate) fn judge(&self, guard: LoopGuard, event: &RoomEvent, now: Duration) -> Verdict {
        let window = guard.max_repeats.max(2).saturating_mul(2);
        let per_minute = f64::from(guard.max_events_per_minute.max(1));
        let mut rooms = lock(&self.0);
        if rooms.len() >= MOST_ROOMS {
            rooms.retain(|_, watch| !watch.bucket.is_full(now));
        }
        let watch = rooms.entry(event.room_id.clone()).or_insert_with(|| Watch {
            said: VecDeque::with_capacity(window),
            bucket: TokenBucket::of_window(per_minute, Duration::from_secs(60), now),
            tripped: false,
        });
        if watch.said.len() == window {
            watch.said.pop_front();
        }
        watch.said.push_back(fingerprint(event));
        let circles = watch.said.len() == window
            && watch
                .said
                .iter()
                .zip(watch.said.iter().skip(2))
                .all(|(one, after)| one == after);
        let held = circles || watch.bucket.take(now).is_err();
        match (held, std::mem::replace(&mut watch.tripped, held)) {
            (false, _) => Verdict::Admitted,
            (true, true) => Verdict::Held,
            (true, false) => Verdict::Tripped,
        }
    }
}

fn fingerprint(event: &RoomEvent) -> u64 {
    let mut hasher = DefaultHasher::new();
    event.source.channel_id.hash(&mut hasher);
    event.source.participant_id.hash(&mut hasher);
    match event.text() {
        Some(text) => text.hash(&mut hasher),
        None => serde_json::to_string(&event.content)
            .unwrap_or_default()
            .hash(&mut hasher),
    }
    hasher.finish()
}
