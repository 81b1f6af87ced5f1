//! Room timers: which transition a room's timers ask for, and who makes it when its time has come
//! (RFC §5.1).

use std::collections::{BTreeSet, HashMap};
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use chrono::{DateTime, TimeDelta, Utc};
use futures_util::future::{Either, select};
use futures_util::{StreamExt, stream};
use tokio::runtime::Handle;
use tokio::sync::Notify;
use tokio::task::AbortHandle;

use super::attach::under_lock;
use super::builder::Settings;
use super::lifecycle::{ByTimer, announce, status_update};
use super::{Inner, Rooms};
use crate::error::{ErrorKind, Result};
use crate::model::{Room, RoomId, RoomStatus};
use crate::pipeline::Scope;
use crate::store::{Page, RoomCommit, RoomFilter};
use crate::sync::Mutex;
use crate::sync::atomic::{AtomicBool, Ordering};
use crate::sync::lock;

/// How many rooms are listed at a time.
const PAGE: usize = 500;

/// How many rooms whose time has come are looked at side by side.
const AT_ONCE: usize = 16;

/// How many rooms are watched at most. Those that are due last are left to the next scan.
const MOST_WATCHED: usize = 1_000_000;

/// After how long a room is looked at again where that failed.
const RETRY: Duration = Duration::from_secs(60);

impl Rooms {
    /// Makes the transition that a room's timers ask for by now, if there is one: an active room that
    /// has been quiet for `inactive_after_seconds` is paused, one that has been paused for
    /// `closed_after_seconds` is closed. At most one a call. Returns the room as it is then.
    ///
    /// # Errors
    /// [`RoomNotFound`](ErrorKind::RoomNotFound), or where the store fails.
    pub async fn check_room_timers(&self, room: impl Into<RoomId>) -> Result<Arc<Room>> {
        let room = room.into();
        self.to_end(|inner, scope| async move {
            let now = inner.clock.now();
            Ok(make(&inner, &scope, &room, |next| next.is_due(now))
                .await?
                .0)
        })
        .await
    }

    /// As [`check_room_timers`](Self::check_room_timers) for every open room; returns those that
    /// changed. It lists all of them, so that its cost grows with their number; a kit with a
    /// sweeper, as is the default, needs no such call. A room that fails is left out and logged.
    ///
    /// # Errors
    /// Where the rooms cannot be listed.
    pub async fn check_all_timers(&self) -> Result<Vec<Arc<Room>>> {
        self.to_end(|inner, scope| async move {
            let mut changed = Vec::new();
            let now = inner.clock.now();
            let mut due = Vec::new();
            each_open_room(&inner, &scope, |room| {
                if Next::of(room).is_some_and(|next| next.is_due(now)) {
                    due.push(room.id.clone());
                }
            })
            .await?;
            for room in due {
                match make(&inner, &scope, &room, |next| next.is_due(now)).await {
                    Ok((room, true)) => changed.push(room),
                    Ok((_, false)) => {}
                    Err(error) => {
                        tracing::error!(room_id = %room, %error, "timers were not checked");
                    }
                }
            }
            Ok(changed)
        })
        .await
    }
}

/// The transition that a room's timers ask for next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Next {
    to: RoomStatus,
    /// Since when the room has been quiet or paused.
    since: DateTime<Utc>,
    /// After how many seconds of that it is due.
    after: u64,
}

impl Next {
    fn of(room: &Room) -> Option<Self> {
        let timers = &room.timers;
        let (to, since, after) = match room.status {
            RoomStatus::Active => (
                RoomStatus::Paused,
                timers.last_activity_at.unwrap_or(room.created_at),
                timers.inactive_after_seconds?,
            ),
            RoomStatus::Paused => (
                RoomStatus::Closed,
                timers.paused_at.unwrap_or(room.updated_at),
                timers.closed_after_seconds?,
            ),
            RoomStatus::Closed | RoomStatus::Archived => return None,
        };
        Some(Self { to, since, after })
    }

    fn passed(&self, now: DateTime<Utc>) -> Duration {
        (now - self.since).to_std().unwrap_or(Duration::ZERO)
    }

    fn is_due(&self, now: DateTime<Utc>) -> bool {
        self.passed(now) >= Duration::from_secs(self.after)
    }
}

/// Makes the transition that a room asks for, where `is_due` says that it is time. What the commit
/// compares decides which of several kits made it, and that one tells of it.
async fn make(
    inner: &Arc<Inner>,
    scope: &Scope,
    room: &RoomId,
    is_due: impl Fn(&Next) -> bool,
) -> Result<(Arc<Room>, bool)> {
    let before = inner.visible_room(scope, room).await?;
    if !Next::of(&before.room).is_some_and(|next| is_due(&next)) {
        inner.timers.note(inner, &before.room);
        return Ok((before.room, false));
    }
    let mut made = None;
    let snapshot = under_lock(inner, scope, room, |snapshot| {
        made = Next::of(&snapshot.room).filter(&is_due);
        Ok(made.map(|next| {
            let now = inner.clock.now();
            let mut commit = RoomCommit::new(room.clone(), Some(snapshot.version), now);
            commit.room = Some(Box::new(status_update(&snapshot.room, next.to, now)));
            commit
        }))
    })
    .await?;
    inner.timers.note(inner, &snapshot.room);
    if let Some(next) = made {
        tracing::info!(room_id = %room, status = %next.to, "room's time had come");
        inner.load_hooks(&snapshot.room).await;
        let timer = ByTimer {
            elapsed: next.passed(snapshot.room.updated_at).as_secs(),
            threshold: next.after,
        };
        announce(inner, &snapshot, next.to, Some(timer));
    }
    Ok((snapshot.room, made.is_some()))
}

/// Calls `look` with every open room that the scope can see, a page at a time.
async fn each_open_room(
    inner: &Inner,
    scope: &Scope,
    mut look: impl FnMut(&Room) + Send,
) -> Result<()> {
    let mut filter = RoomFilter::default();
    filter.organization_id.clone_from(&scope.0);
    filter.statuses = vec![RoomStatus::Active, RoomStatus::Paused];
    let mut offset = 0;
    loop {
        let page = Page {
            offset,
            limit: PAGE,
        };
        let rooms = inner.read(inner.store.list_rooms(&filter, page)).await?;
        rooms.iter().for_each(|room| look(room));
        if rooms.len() < PAGE {
            return Ok(());
        }
        offset += rooms.len();
        // Between two pages others have their turn, also where the store never waits.
        tokio::task::yield_now().await;
    }
}

/// The rooms whose timers run, by when they are to be looked at, and the task that does.
///
/// Only an end of a timer is looked at, not each event: an event moves the end, which is seen when
/// the former one has come.
#[derive(Debug)]
pub(crate) struct Timers {
    enabled: bool,
    /// Whether the store may hold rooms that this kit did not make.
    early: bool,
    scan_interval: Duration,
    began: AtomicBool,
    state: Mutex<State>,
    news: Notify,
}

#[derive(Debug, Default)]
struct State {
    watched: HashMap<RoomId, Watch>,
    by_time: BTreeSet<(Duration, RoomId)>,
    task: Option<AbortHandle>,
    ended: bool,
}

/// A room that is watched.
#[derive(Debug, Clone, Copy)]
struct Watch {
    next: Next,
    /// When it is to be looked at, by the time that never goes back.
    due: Duration,
    /// By how much the time of day was ahead of that time when this was written.
    lead: TimeDelta,
}

impl State {
    fn put(&mut self, room: &RoomId, watch: Watch) {
        self.take(room);
        self.by_time.insert((watch.due, room.clone()));
        self.watched.insert(room.clone(), watch);
        if self.watched.len() > MOST_WATCHED
            && let Some((_, last)) = self.by_time.pop_last()
        {
            self.watched.remove(&last);
        }
    }

    fn take(&mut self, room: &RoomId) -> Option<Watch> {
        let watch = self.watched.remove(room)?;
        self.by_time.remove(&(watch.due, room.clone()));
        Some(watch)
    }

    fn first(&self) -> Option<Duration> {
        self.by_time.first().map(|(due, _)| *due)
    }
}

impl Timers {
    pub(super) fn new(settings: &Settings, early: bool) -> Self {
        Self {
            enabled: settings.timer_sweeper,
            early,
            scan_interval: settings.timer_scan_interval,
            began: AtomicBool::new(false),
            state: Mutex::default(),
            news: Notify::new(),
        }
    }

    /// Starts the sweeper of a kit whose store may hold rooms already.
    pub(super) fn begin_early(&self, inner: &Arc<Inner>) {
        if self.early && self.enabled && !self.began.load(Ordering::Relaxed) {
            self.begin(inner);
        }
    }

    fn begin(&self, inner: &Arc<Inner>) {
        let Ok(runtime) = Handle::try_current() else {
            return;
        };
        let mut state = lock(&self.state);
        if !state.ended && state.task.is_none() {
            let task = runtime.spawn(sweep(Arc::clone(inner)));
            state.task = Some(task.abort_handle());
        }
        self.began.store(true, Ordering::Relaxed);
    }

    /// Ends the sweeper; it never starts again. A transition that it has begun goes on to its end.
    pub(super) fn stop(&self) {
        let mut state = lock(&self.state);
        state.ended = true;
        if let Some(task) = state.task.take() {
            task.abort();
        }
    }

    /// Takes note of a room as it is now.
    pub(crate) fn note(&self, inner: &Arc<Inner>, room: &Room) {
        let timers = &room.timers;
        let runs = timers.inactive_after_seconds.is_some() || timers.closed_after_seconds.is_some();
        if !self.enabled || (!runs && !self.began.load(Ordering::Relaxed)) {
            return;
        }
        let next = Next::of(room);
        let (now, elapsed) = (inner.clock.now(), inner.clock.elapsed());
        let is_first = {
            let mut state = lock(&self.state);
            let known = state.watched.get(&room.id).copied();
            let Some(next) = next else {
                state.take(&room.id);
                return;
            };
            // What is unchanged goes on by the time that never goes back, whatever the time of day.
            if known.is_some_and(|watch| watch.next == next) {
                return;
            }
            let watch = Watch::new(next, known, now, elapsed);
            state.put(&room.id, watch);
            state.first() == Some(watch.due)
        };
        if !self.began.load(Ordering::Relaxed) {
            self.begin(inner);
        }
        if is_first {
            self.news.notify_one();
        }
    }

    /// Takes out rooms that are to be looked at.
    fn take_due(&self, now: Duration) -> Vec<(RoomId, Watch)> {
        let mut state = lock(&self.state);
        let due: Vec<RoomId> = state
            .by_time
            .iter()
            .take_while(|(due, _)| *due <= now)
            .take(PAGE)
            .map(|(_, room)| room.clone())
            .collect();
        due.into_iter()
            .filter_map(|room| state.take(&room).map(|watch| (room, watch)))
            .collect()
    }
}

impl Watch {
    /// A watch for the end of `next`. Where the time of day was set forward since `known` was
    /// written, the time that leapt does not count: a room may be late by what it had been quiet, and
    /// is never early.
    fn new(next: Next, known: Option<Self>, now: DateTime<Utc>, elapsed: Duration) -> Self {
        let lead = lead(now, elapsed);
        let leapt = known.map_or(Duration::ZERO, |known| {
            (lead - known.lead).to_std().unwrap_or(Duration::ZERO)
        });
        let passed = next.passed(now).saturating_sub(leapt);
        let left = Duration::from_secs(next.after).saturating_sub(passed);
        Self {
            next,
            due: elapsed.saturating_add(left),
            lead,
        }
    }
}

fn lead(now: DateTime<Utc>, elapsed: Duration) -> TimeDelta {
    let elapsed = TimeDelta::from_std(elapsed).unwrap_or(TimeDelta::MAX);
    (now - DateTime::UNIX_EPOCH)
        .checked_sub(&elapsed)
        .unwrap_or_default()
}

/// Looks at rooms when their time comes, and for rooms that nobody told of now and then.
async fn sweep(inner: Arc<Inner>) {
    let timers = &inner.timers;
    let mut next_scan = inner.clock.elapsed();
    loop {
        if inner.clock.elapsed() >= next_scan {
            let wait = if scan(&inner).await {
                timers.scan_interval
            } else {
                RETRY
            };
            next_scan = inner.clock.elapsed().saturating_add(wait);
        }
        loop {
            let due = timers.take_due(inner.clock.elapsed());
            if due.is_empty() {
                break;
            }
            stream::iter(due)
                .for_each_concurrent(AT_ONCE, |(room, watch)| look(&inner, room, watch))
                .await;
        }
        let until = lock(&timers.state)
            .first()
            .map_or(next_scan, |due| due.min(next_scan));
        let wait = until.saturating_sub(inner.clock.elapsed());
        let (sleep, news) = (inner.clock.sleep(wait), pin!(timers.news.notified()));
        match select(sleep, news).await {
            Either::Left(((), _)) | Either::Right(((), _)) => {}
        }
    }
}

/// Takes note of every open room with timers; `false` where the store could not be read.
async fn scan(inner: &Arc<Inner>) -> bool {
    let call = {
        let inner = Arc::clone(inner);
        async move {
            let scope = Scope::default();
            each_open_room(&inner, &scope, |room| inner.timers.note(&inner, room)).await
        }
    };
    let scanned = inner.run_to_end(None, Box::pin(call)).await;
    if let Err(error) = &scanned {
        tracing::error!(%error, "rooms could not be looked through for their timers");
    }
    scanned.is_ok()
}

/// Looks at one room whose time may have come.
async fn look(inner: &Arc<Inner>, room: RoomId, watch: Watch) {
    let call = {
        let (inner, room) = (Arc::clone(inner), room.clone());
        async move {
            // Unchanged since it was noted, it is due by the time that never goes back.
            let is_due = |next: &Next| *next == watch.next;
            let (now, elapsed) = (inner.clock.now(), inner.clock.elapsed());
            let room = make(&inner, &Scope::default(), &room, is_due).await?.0;
            if let Some(next) = Next::of(&room) {
                let mut state = lock(&inner.timers.state);
                // Who changed the room meanwhile has written down what is so since.
                if state
                    .watched
                    .get(&room.id)
                    .is_some_and(|noted| noted.next == next)
                {
                    state.put(&room.id, Watch::new(next, Some(watch), now, elapsed));
                }
            }
            Ok(())
        }
    };
    match inner.run_to_end(None, Box::pin(call)).await {
        Ok(()) => {}
        Err(error) if error.kind() == ErrorKind::RoomNotFound => {}
        Err(error) => {
            tracing::error!(room_id = %room, %error, "a room's timers could not be looked at");
            let due = inner.clock.elapsed().saturating_add(RETRY);
            lock(&inner.timers.state).put(&room, Watch { due, ..watch });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: i64) -> DateTime<Utc> {
        DateTime::from_timestamp(1_700_000_000 + seconds, 0).unwrap()
    }

    fn seconds(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    /// The room was quiet since 0 and is noted at 10; it speaks at 20 and is looked at 60 later.
    #[test]
    fn a_time_of_day_that_is_set_makes_no_room_early() {
        let next = |since| Next {
            to: RoomStatus::Paused,
            since: at(since),
            after: 60,
        };
        let noted = Watch::new(next(0), None, at(10), seconds(10));
        assert_eq!(noted.due, seconds(60));
        let cases = [
            ("as it goes", at(20), at(60), seconds(80)),
            (
                "an hour ahead after it spoke",
                at(20),
                at(3_660),
                seconds(80),
            ),
            (
                "an hour ahead before it spoke",
                at(3_620),
                at(3_660),
                seconds(120),
            ),
            (
                "an hour back after it spoke",
                at(20),
                at(-3_540),
                seconds(120),
            ),
            (
                "an hour back before it spoke",
                at(-3_580),
                at(-3_540),
                seconds(80),
            ),
        ];
        for (case, spoke, now, due) in cases {
            let next = Next {
                since: spoke,
                ..next(0)
            };
            let watch = Watch::new(next, Some(noted), now, seconds(60));
            assert!(watch.due >= seconds(80), "{case}: never early");
            assert_eq!(watch.due, due, "{case}");
        }
    }
}
