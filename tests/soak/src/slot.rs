//! A place for a room: made, compared with its model, removed and made anew, so that there are as many
//! rooms at the end as at the beginning, and as old ones.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use fastrand::Rng;
use roomkit_core::Rooms;
use roomkit_core::model::{EventType, RetryPolicy, RoomEvent, RoomId, SubscriptionId};
use roomkit_core::store::EventQuery;

use crate::channels::{BROKEN, HELPER, TELLER};
use crate::model::{Expected, Model};
use crate::stage::Stage;

/// What is wrong, in words.
pub(crate) type Checked<T = ()> = Result<T, String>;

pub(crate) struct Slot {
    number: usize,
    generation: u64,
    pub(crate) rooms: Rooms,
    pub(crate) room: RoomId,
    pub(crate) model: Model,
    /// After how many events the room is removed.
    limit: u64,
    subscription: Option<SubscriptionId>,
}

/// Turns an error of the kit, where none may be, into words.
pub(crate) fn sound<T>(what: &str, result: roomkit_core::Result<T>) -> Checked<T> {
    result.map_err(|error| format!("{what}: {error}"))
}

impl Slot {
    /// A slot without a room.
    pub(crate) fn new(stage: &Stage, number: usize) -> Self {
        Self {
            number,
            generation: 0,
            rooms: stage.rooms(number),
            room: RoomId::from(""),
            model: Model::default(),
            limit: 0,
            subscription: None,
        }
    }

    /// How often a room was made here.
    pub(crate) fn generation(&self) -> u64 {
        self.generation
    }

    pub(crate) fn is_old(&self) -> bool {
        self.model.next >= self.limit
    }

    /// Makes a room. The first of a slot is of whatever age, so that not all grow old at once.
    pub(crate) async fn make(&mut self, stage: &Stage, rng: &mut Rng) -> Checked {
        self.generation += 1;
        self.room = format!("room-{}-{}", self.number, self.generation)
            .as_str()
            .into();
        self.model = Model::default();
        let longest = stage.options.longest;
        self.limit = match self.generation {
            1 => rng.u64(2..longest),
            _ => rng.u64(longest / 2..longest),
        };
        sound("create", self.rooms.create_room(self.room.clone()).await)?;
        stage.made.fetch_add(1, Ordering::Relaxed);
        for channel in ["web", "app", HELPER] {
            self.attach(channel).await?;
        }
        for channel in ["flaky", "slow", TELLER, BROKEN] {
            if rng.u8(..4) == 0 {
                self.attach(channel).await?;
            }
        }
        let heard = Arc::clone(&stage.heard);
        let subscribed = self.rooms.subscribe_room(self.room.clone(), move |_| {
            heard.fetch_add(1, Ordering::Relaxed);
            async {}
        });
        self.subscription = Some(sound("subscribe", subscribed.await)?);
        Ok(())
    }

    /// Attaches a channel; an open room notes it.
    pub(crate) async fn attach(&mut self, channel: &str) -> Checked {
        let mut attaching = self.rooms.attach_channel(self.room.clone(), channel);
        if channel == "flaky" {
            attaching = attaching.retry_policy(RetryPolicy {
                base_delay_seconds: 0.01,
                ..RetryPolicy::default()
            });
        }
        match attaching.await {
            Ok(_) if self.model.is_open() => {
                self.model.attach(channel);
                self.added(vec![Expected::new(EventType::ChannelAttached)])
                    .await
            }
            Err(error) if !self.model.is_open() && error.code() == "room_closed" => Ok(()),
            other => Err(format!("attach: {other:?}")),
        }
    }

    /// The events since the model was last up to date.
    pub(crate) async fn new_events(&self) -> Checked<Vec<Arc<RoomEvent>>> {
        let mut query = EventQuery::first(usize::MAX);
        query.after = self.model.next.checked_sub(1);
        let events = self.rooms.events(self.room.clone(), &query).await;
        sound("events", events)
    }

    /// Takes in what was added; it must be this.
    pub(crate) async fn added(&mut self, expected: Vec<Expected>) -> Checked {
        let events = self.new_events().await?;
        self.model.add(expected, &events)
    }

    /// Compares the whole room with its model.
    pub(crate) async fn compare(&self, stage: &Stage) {
        if self.generation == 0 {
            return;
        }
        let found = self.differences().await;
        stage.compared.fetch_add(1, Ordering::Relaxed);
        for what in found.unwrap_or_else(|problem| vec![problem]) {
            stage.violation(what);
        }
    }

    async fn differences(&self) -> Checked<Vec<String>> {
        let (rooms, id) = (&self.rooms, &self.room);
        let room = sound("room", rooms.room(id.clone()).await)?;
        let events = sound("timeline", rooms.timeline(id.clone(), 0, usize::MAX).await)?;
        let people = sound("participants", rooms.participants(id.clone()).await)?;
        let markers = sound("markers", rooms.read_markers(id.clone()).await)?;
        let tasks = sound("tasks", rooms.tasks(id.clone()).await)?.len();
        Ok(self.model.compare(&room, &events, &people, &markers, tasks))
    }

    /// Removes the room.
    pub(crate) async fn remove(&mut self, stage: &Stage) -> Checked {
        if self.generation == 0 {
            return Ok(());
        }
        if let Some(subscription) = self.subscription.take() {
            sound(
                "unsubscribe",
                self.rooms.unsubscribe_room(&subscription).await,
            )?;
        }
        if !sound("delete", self.rooms.delete_room(self.room.clone()).await)? {
            return Err(format!("room {} was not there", self.room));
        }
        stage.events.fetch_add(self.model.next, Ordering::Relaxed);
        Ok(())
    }

    /// Any event of the room that a predicate holds for.
    pub(crate) fn any(
        &self,
        rng: &mut Rng,
        which: impl Fn(&crate::model::Fact) -> bool,
    ) -> Option<crate::model::Fact> {
        let facts: Vec<_> = self.model.facts.values().filter(|it| which(it)).collect();
        rng.choice(facts).cloned()
    }
}
