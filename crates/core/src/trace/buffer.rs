//! Traces on their way to a room, in order, as long and as many as the limits allow.

use std::collections::{HashMap, VecDeque};
use std::time::Duration;

use super::limits::{TraceLimits, TraceStats};
use crate::model::{ChannelId, OrganizationId, ProtocolTrace, RoomId};
use crate::pipeline::Scope;

/// What traces wait for.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) enum Key {
    /// A room that is to come, or whose hooks are at work.
    Room(RoomId),
    /// A session of a channel whose room is not known, as an organisation's handle tells of it.
    Session(Option<OrganizationId>, ChannelId, String),
}

/// A trace that waits.
#[derive(Debug)]
pub(super) struct Held {
    pub(super) scope: Scope,
    pub(super) trace: ProtocolTrace,
    at: Duration,
    number: u64,
}

#[derive(Debug)]
pub(super) struct Buffer {
    limits: TraceLimits,
    by_key: HashMap<Key, VecDeque<Held>>,
    /// Every trace in the order of its age; those that went already are passed over.
    ages: VecDeque<(u64, Key)>,
    waiting: usize,
    next: u64,
    pub(super) stats: TraceStats,
}

impl Buffer {
    pub(super) fn new(limits: TraceLimits) -> Self {
        Self {
            limits,
            by_key: HashMap::new(),
            ages: VecDeque::new(),
            waiting: 0,
            next: 0,
            stats: TraceStats::default(),
        }
    }

    pub(super) fn waiting(&self) -> usize {
        self.waiting
    }

    /// Adds a trace; the oldest go where it is one too many.
    pub(super) fn push(&mut self, key: Key, scope: Scope, trace: ProtocolTrace, now: Duration) {
        self.expire(now);
        let queue = self.by_key.entry(key.clone()).or_default();
        if queue.len() >= self.limits.per_session {
            queue.pop_front();
            self.waiting -= 1;
            self.stats.dropped_by_number += 1;
        }
        let number = self.next;
        self.next += 1;
        queue.push_back(Held {
            scope,
            trace,
            at: now,
            number,
        });
        self.waiting += 1;
        self.ages.push_back((number, key));
        while self.waiting > self.limits.total {
            if !self.drop_oldest() {
                break;
            }
            self.stats.dropped_by_number += 1;
        }
        if self.ages.len() > 2 * self.waiting + 64 {
            let Self { ages, by_key, .. } = self;
            ages.retain(|(number, key)| {
                let first = by_key.get(key).and_then(VecDeque::front);
                first.is_some_and(|first| first.number <= *number)
            });
        }
    }

    /// Drops what has waited too long.
    pub(super) fn expire(&mut self, now: Duration) {
        while let Some((number, key)) = self.ages.front() {
            let held = self.by_key.get(key).and_then(VecDeque::front);
            match held {
                Some(held) if held.number == *number => {
                    if now.saturating_sub(held.at) < self.limits.max_age {
                        return;
                    }
                    self.drop_oldest();
                    self.stats.dropped_by_age += 1;
                }
                _ => {
                    self.ages.pop_front();
                }
            }
        }
    }

    /// Drops the trace that has waited longest; `false` when none waits.
    fn drop_oldest(&mut self) -> bool {
        while let Some((number, key)) = self.ages.pop_front() {
            let Some(queue) = self.by_key.get_mut(&key) else {
                continue;
            };
            if queue.front().is_some_and(|held| held.number == number) {
                queue.pop_front();
                self.waiting -= 1;
                if queue.is_empty() {
                    self.by_key.remove(&key);
                }
                return true;
            }
        }
        false
    }

    /// The traces that wait for this, in order; they wait no longer.
    pub(super) fn take(&mut self, key: &Key, now: Duration) -> VecDeque<Held> {
        self.expire(now);
        let taken = self.by_key.remove(key).unwrap_or_default();
        self.waiting -= taken.len();
        taken
    }

    /// The sessions of a channel for whose rooms traces wait.
    pub(super) fn sessions(&self, channel: &ChannelId) -> Vec<(Scope, String)> {
        let sessions = self.by_key.keys().filter_map(|key| match key {
            Key::Session(organization, of, session) if of == channel => {
                Some((Scope(organization.clone()), session.clone()))
            }
            Key::Session(..) | Key::Room(_) => None,
        });
        sessions.collect()
    }

    /// Says which room a session is of: its traces wait for that room from now on.
    pub(super) fn bind(
        &mut self,
        scope: &Scope,
        channel: &ChannelId,
        session: &str,
        room: &RoomId,
        now: Duration,
    ) {
        let key = Key::Session(scope.0.clone(), channel.clone(), session.to_owned());
        for mut held in self.take(&key, now) {
            held.trace.room_id = Some(room.clone());
            // It has waited as long as it has: it is as old as it was.
            let (at, scope) = (held.at, held.scope);
            self.push(Key::Room(room.clone()), scope, held.trace, at);
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test fails by panicking")]
mod tests {
    use chrono::DateTime;

    use super::*;
    use crate::model::TraceDirection;

    fn trace(summary: &str) -> ProtocolTrace {
        let at = DateTime::UNIX_EPOCH;
        ProtocolTrace::new("sip", TraceDirection::Inbound, "sip", summary, at)
    }

    fn session(name: &str) -> Key {
        Key::Session(None, "sip".into(), name.to_owned())
    }

    fn summaries(held: VecDeque<Held>) -> Vec<String> {
        held.into_iter().map(|held| held.trace.summary).collect()
    }

    const fn at(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    #[test]
    fn the_oldest_give_way_and_are_counted() {
        let limits = TraceLimits::default().per_session(2).total(3);
        let mut buffer = Buffer::new(limits);
        for (key, summary) in [("a", "1"), ("a", "2"), ("a", "3"), ("b", "4"), ("b", "5")] {
            buffer.push(session(key), Scope(None), trace(summary), at(0));
        }
        assert_eq!(buffer.waiting(), 3);
        assert_eq!(buffer.stats.dropped_by_number, 2);
        assert_eq!(summaries(buffer.take(&session("a"), at(0))), ["3"]);
        assert_eq!(summaries(buffer.take(&session("b"), at(0))), ["4", "5"]);
        assert_eq!(buffer.waiting(), 0);
    }

    #[test]
    fn what_waited_too_long_is_dropped_and_counted() {
        let mut buffer = Buffer::new(TraceLimits::default().max_age(at(10)));
        buffer.push(session("a"), Scope(None), trace("1"), at(0));
        buffer.push(session("b"), Scope(None), trace("2"), at(5));
        buffer.bind(&Scope(None), &"sip".into(), "b", &"r".into(), at(9));
        buffer.push(session("a"), Scope(None), trace("3"), at(9));
        buffer.expire(at(10));
        assert_eq!((buffer.waiting(), buffer.stats.dropped_by_age), (2, 1));
        assert_eq!(summaries(buffer.take(&session("a"), at(10))), ["3"]);
        assert_eq!(
            buffer.waiting(),
            1,
            "a trace that was bound is as old as it was"
        );
        assert!(buffer.take(&Key::Room("r".into()), at(15)).is_empty());
        assert_eq!((buffer.waiting(), buffer.stats.dropped_by_age), (0, 2));
    }

    #[test]
    fn a_session_is_bound_in_order_and_only_once() {
        let mut buffer = Buffer::new(TraceLimits::default());
        buffer.push(session("a"), Scope(None), trace("1"), at(0));
        buffer.push(session("a"), Scope(None), trace("2"), at(1));
        let sessions = buffer.sessions(&"sip".into());
        assert_eq!(sessions, [(Scope(None), "a".to_owned())]);
        buffer.bind(&Scope(None), &"sip".into(), "a", &"r".into(), at(2));
        buffer.bind(&Scope(None), &"sip".into(), "a", &"other".into(), at(2));
        assert!(buffer.sessions(&"sip".into()).is_empty());
        let held = buffer.take(&Key::Room("r".into()), at(2));
        assert!(
            held.iter()
                .all(|held| held.trace.room_id == Some("r".into()))
        );
        assert_eq!(summaries(held), ["1", "2"]);
    }

    #[test]
    fn a_flood_of_one_session_leaves_nothing_behind() {
        let mut buffer = Buffer::new(TraceLimits::default().per_session(1));
        for _ in 0..10_000 {
            buffer.push(session("a"), Scope(None), trace("x"), at(0));
        }
        assert_eq!(buffer.waiting(), 1);
        assert!(buffer.ages.len() < 100);
        assert_eq!(buffer.stats.dropped_by_number, 9_999);
    }
}
