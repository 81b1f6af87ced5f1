//! A clock that stands still until it is told to move on.

use std::collections::BTreeMap;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use chrono::{DateTime, SubsecRound, TimeDelta, Utc};
use futures_util::future::BoxFuture;
use roomkit_core::Clock;

use crate::sync::lock;

/// A [`Clock`] whose time stands still until [`advance`](Self::advance).
///
/// A clone is another handle of the same clock: give one to the kit and keep one. Time of day and
/// elapsed time move together; [`set`](Self::set) changes the time of day alone.
///
/// Moving the clock wakes sleepers and runs none of them. Give their tasks a turn before looking at
/// what they did, and note that a task which sleeps again does so from the time the clock then shows;
/// [`advance_to_next`](Self::advance_to_next) goes from one deadline to the next where that matters.
///
/// ```
/// use std::{sync::Arc, time::Duration};
/// use roomkit_core::{Clock, RoomKit};
/// use roomkit_testkit::ManualClock;
///
/// let clock = ManualClock::new();
/// let kit = RoomKit::builder().clock(Arc::new(clock.clone())).build()?;
/// clock.advance(Duration::from_secs(3600));
/// assert_eq!(clock.elapsed(), Duration::from_secs(3600));
/// # drop(kit);
/// # Ok::<(), roomkit_core::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct ManualClock {
    state: Arc<Mutex<State>>,
}

/// The moment a sleeper waits for, and its place among those that wait for the same one.
type Deadline = (Duration, u64);

#[derive(Debug)]
struct State {
    /// The time of day when nothing had elapsed.
    origin: DateTime<Utc>,
    elapsed: Duration,
    sleeps: u64,
    sleepers: BTreeMap<Deadline, Waker>,
}

impl ManualClock {
    /// A clock that shows midnight of the first of January 2024, UTC.
    #[must_use]
    pub fn new() -> Self {
        // 2024-01-01T00:00:00Z
        Self::at(DateTime::from_timestamp(1_704_067_200, 0).unwrap_or_default())
    }

    /// A clock that shows this time, to the microsecond.
    #[must_use]
    pub fn at(now: DateTime<Utc>) -> Self {
        Self {
            state: Arc::new(Mutex::new(State {
                origin: now.trunc_subsecs(6),
                elapsed: Duration::ZERO,
                sleeps: 0,
                sleepers: BTreeMap::new(),
            })),
        }
    }

    /// Moves the clock on and wakes whoever has slept long enough, in the order of their deadlines.
    ///
    /// A sleeper that is woken finds the clock at its own deadline or later, never earlier.
    pub fn advance(&self, duration: Duration) {
        let until = lock(&self.state).elapsed.saturating_add(duration);
        loop {
            let woken = {
                let mut state = lock(&self.state);
                match state.sleepers.first_entry() {
                    Some(next) if next.key().0 <= until => {
                        let ((deadline, _), waker) = next.remove_entry();
                        state.elapsed = state.elapsed.max(deadline);
                        waker
                    }
                    _ => {
                        state.elapsed = state.elapsed.max(until);
                        return;
                    }
                }
            };
            woken.wake();
        }
    }

    /// Moves the clock to the next deadline and wakes who waits for it. Returns how far it moved;
    /// `None`, and the clock stands, when nobody sleeps.
    pub fn advance_to_next(&self) -> Option<Duration> {
        let step = {
            let state = lock(&self.state);
            let (deadline, _) = *state.sleepers.first_key_value()?.0;
            deadline.saturating_sub(state.elapsed)
        };
        self.advance(step);
        Some(step)
    }

    /// Sets the time of day, forward or back, to the microsecond. Elapsed time stays, and wakes nobody.
    pub fn set(&self, now: DateTime<Utc>) {
        let mut state = lock(&self.state);
        state.origin = shifted(now.trunc_subsecs(6), state.elapsed, false);
    }

    /// How many sleepers wait for this clock.
    #[must_use]
    pub fn sleepers(&self) -> usize {
        lock(&self.state).sleepers.len()
    }
}

impl Default for ManualClock {
    fn default() -> Self {
        Self::new()
    }
}

impl Clock for ManualClock {
    fn now(&self) -> DateTime<Utc> {
        let state = lock(&self.state);
        shifted(state.origin, state.elapsed, true).trunc_subsecs(6)
    }

    fn elapsed(&self) -> Duration {
        lock(&self.state).elapsed
    }

    fn sleep(&self, duration: Duration) -> BoxFuture<'static, ()> {
        let mut state = lock(&self.state);
        state.sleeps += 1;
        Box::pin(Sleep {
            deadline: (state.elapsed.saturating_add(duration), state.sleeps),
            state: Arc::clone(&self.state),
        })
    }
}

/// `time` moved by `by`, as far as a time of day reaches.
fn shifted(time: DateTime<Utc>, by: Duration, forward: bool) -> DateTime<Utc> {
    let by = TimeDelta::from_std(by).unwrap_or(TimeDelta::MAX);
    if forward {
        time.checked_add_signed(by)
            .unwrap_or(DateTime::<Utc>::MAX_UTC)
    } else {
        time.checked_sub_signed(by)
            .unwrap_or(DateTime::<Utc>::MIN_UTC)
    }
}

/// One sleep; it is known to the clock from its first poll until it ends or is dropped.
struct Sleep {
    deadline: Deadline,
    state: Arc<Mutex<State>>,
}

impl Future for Sleep {
    type Output = ();

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        let mut state = lock(&self.state);
        if state.elapsed >= self.deadline.0 {
            state.sleepers.remove(&self.deadline);
            return Poll::Ready(());
        }
        state
            .sleepers
            .insert(self.deadline, context.waker().clone());
        Poll::Pending
    }
}

impl Drop for Sleep {
    fn drop(&mut self) {
        lock(&self.state).sleepers.remove(&self.deadline);
    }
}
