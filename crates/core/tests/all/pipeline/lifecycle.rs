//! The life of a room: its statuses, its timers, and who looks after them.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use roomkit_core::hook::{InjectedEvent, OnRoomClosed, OnRoomPaused};
use roomkit_core::model::{EventContent, Room, RoomStatus, RoomTimers};
use roomkit_core::store::{ConversationStore, MemoryStore};
use roomkit_core::{Error, ErrorKind, RoomKit, RoomKitBuilder, RoomOptions};
use roomkit_testkit::ManualClock;

use super::scripted_store::ScriptedStore;
use super::support::{Transport, room_of, say, shared};

/// What was told of rooms, in order: hooks by their code, framework events by their type.
#[derive(Clone, Default)]
struct Told(Arc<Mutex<Vec<String>>>);

impl Told {
    fn of(kit: &RoomKit) -> Self {
        let told = Self::default();
        let (paused, closed, events) = (told.clone(), told.clone(), told.clone());
        kit.hook(OnRoomPaused, "paused", move |event, _| {
            paused.push(code(&event.content));
            async {}
        });
        kit.hook(OnRoomClosed, "closed", move |event, _| {
            closed.push(code(&event.content));
            async {}
        });
        kit.on_any(move |event| {
            let kind = event.event_type.to_string();
            let ours = [
                "room_paused",
                "room_closed",
                "room_archived",
                "room_reopened",
            ];
            if ours.contains(&kind.as_str()) {
                assert_eq!(event.data.get("room_id").unwrap(), "r");
                let by = event.data.get("reason").and_then(|by| by.as_str());
                events.push(format!(
                    "!{kind}{}",
                    by.map(|by| format!(" {by}")).unwrap_or_default()
                ));
            }
            async {}
        });
        told
    }

    fn push(&self, what: String) {
        self.0.lock().unwrap().push(what);
    }

    fn take(&self) -> Vec<String> {
        let mut told = std::mem::take(&mut *self.0.lock().unwrap());
        told.sort();
        told
    }
}

fn code(content: &EventContent) -> String {
    match content {
        EventContent::System(system) => system.code.clone().unwrap(),
        _ => panic!("a lifecycle event is system content"),
    }
}

async fn turns() {
    for _ in 0..300 {
        tokio::task::yield_now().await;
    }
}

/// A kit on a clock that is turned by hand.
fn kit_with(clock: &ManualClock, build: impl FnOnce(RoomKitBuilder) -> RoomKitBuilder) -> RoomKit {
    let builder = RoomKit::builder().clock(Arc::new(clock.clone()));
    build(builder).build().unwrap()
}

async fn pass(clock: &ManualClock, seconds: u64) {
    turns().await;
    clock.advance(Duration::from_secs(seconds));
    turns().await;
}

async fn status(kit: &RoomKit) -> RoomStatus {
    kit.room("r").await.unwrap().status
}

fn timed(inactive: u64, closed: u64) -> RoomOptions {
    RoomOptions::new()
        .id("r")
        .timers(RoomTimers::pause_after(inactive).close_after(closed))
}

#[tokio::test]
async fn every_status_allows_what_the_specification_says() {
    use RoomStatus::{Active, Archived, Closed, Paused};
    let table = [
        // from, pause, resume, close, reopen, archive
        (
            Active,
            [
                Some(Paused),
                Some(Active),
                Some(Closed),
                Some(Active),
                Some(Archived),
            ],
        ),
        (
            Paused,
            [
                Some(Paused),
                Some(Active),
                Some(Closed),
                Some(Paused),
                Some(Archived),
            ],
        ),
        (
            Closed,
            [None, None, Some(Closed), Some(Active), Some(Archived)],
        ),
        (Archived, [None, None, Some(Archived), None, Some(Archived)]),
    ];
    for (from, expected) in table {
        for (call, expected) in expected.into_iter().enumerate() {
            let kit = RoomKit::new();
            kit.create_room("r").await.unwrap();
            match from {
                Active => {}
                Paused => drop(kit.pause_room("r").await.unwrap()),
                Closed => drop(kit.close_room("r").await.unwrap()),
                _ => drop(kit.archive_room("r").await.unwrap()),
            }
            let result = match call {
                0 => kit.pause_room("r").await,
                1 => kit.resume_room("r").await,
                2 => kit.close_room("r").await,
                3 => kit.reopen_room("r").await,
                _ => kit.archive_room("r").await,
            };
            match expected {
                Some(to) => assert_eq!(result.unwrap().status, to, "{from} {call}"),
                None => {
                    let error = result.unwrap_err();
                    assert_eq!(error.code(), "room_closed", "{from} {call}");
                    assert!(error.message().contains("room r"), "{error}");
                    assert_eq!(status(&kit).await, from);
                }
            }
        }
    }
}

#[tokio::test]
async fn each_transition_is_told_once() {
    let kit = RoomKit::new();
    let told = Told::of(&kit);
    kit.create_room("r").await.unwrap();
    kit.pause_room("r").await.unwrap();
    kit.pause_room("r").await.unwrap();
    kit.wait_idle().await;
    assert_eq!(told.take(), ["!room_paused", "room_paused"]);
    kit.resume_room("r").await.unwrap();
    kit.wait_idle().await;
    assert!(told.take().is_empty());
    let closed = kit.close_room("r").await.unwrap();
    assert!(closed.closed_at.is_some());
    kit.close_room("r").await.unwrap();
    kit.wait_idle().await;
    assert_eq!(told.take(), ["!room_closed", "room_closed"]);
    let open = kit.reopen_room("r").await.unwrap();
    assert!(open.closed_at.is_none());
    kit.wait_idle().await;
    assert_eq!(told.take(), ["!room_reopened"]);
    let archived = kit.archive_room("r").await.unwrap();
    assert!(archived.closed_at.is_some());
    kit.archive_room("r").await.unwrap();
    kit.wait_idle().await;
    assert_eq!(told.take(), ["!room_archived"]);
    assert!(
        kit.timeline("r", 0, 9).await.unwrap().is_empty(),
        "none of it is in the timeline"
    );
}

#[tokio::test]
async fn a_message_makes_a_paused_room_active_and_an_injected_event_does_not() {
    let kit = RoomKit::new();
    room_of(&kit, vec![shared(&Transport::new("a"))]).await;
    kit.hook(
        roomkit_core::hook::BeforeBroadcast,
        "block",
        |event, _| async move {
            let notice = InjectedEvent::new(EventContent::text("no"), ["a"]);
            match event.text() {
                Some("bad") => roomkit_core::hook::HookResult::block("bad").inject(notice),
                _ => roomkit_core::hook::HookResult::allow(),
            }
        },
    );
    kit.pause_room("r").await.unwrap();
    kit.process_inbound(say("a", "u", "bad")).await.unwrap();
    assert_eq!(status(&kit).await, RoomStatus::Paused);
    kit.process_inbound(say("a", "u", "good")).await.unwrap();
    assert_eq!(status(&kit).await, RoomStatus::Active);
}

#[tokio::test]
async fn a_quiet_room_pauses_and_a_paused_one_closes() {
    let clock = ManualClock::new();
    let kit = kit_with(&clock, |builder| builder);
    let told = Told::of(&kit);
    kit.register_channel(Transport::new("a")).unwrap();
    kit.create_room(timed(60, 600)).await.unwrap();
    kit.attach_channel("r", "a").await.unwrap();
    pass(&clock, 30).await;
    kit.process_inbound(say("a", "u", "hi")).await.unwrap();
    pass(&clock, 59).await;
    assert_eq!(
        status(&kit).await,
        RoomStatus::Active,
        "the message moved the end"
    );
    pass(&clock, 1).await;
    assert_eq!(status(&kit).await, RoomStatus::Paused);
    assert_eq!(told.take(), ["!room_paused timer", "room_paused_by_timer"]);
    pass(&clock, 599).await;
    assert_eq!(status(&kit).await, RoomStatus::Paused);
    pass(&clock, 1).await;
    assert_eq!(status(&kit).await, RoomStatus::Closed);
    assert_eq!(told.take(), ["!room_closed timer", "room_closed_by_timer"]);
    pass(&clock, 100_000).await;
    assert!(told.take().is_empty());
}

#[tokio::test]
async fn a_room_that_is_resumed_pauses_again_in_time() {
    let clock = ManualClock::new();
    let kit = kit_with(&clock, |builder| {
        builder.timer_scan_interval(Duration::from_secs(1_000_000))
    });
    kit.register_channel(Transport::new("a")).unwrap();
    kit.create_room(timed(60, 86_400)).await.unwrap();
    kit.attach_channel("r", "a").await.unwrap();
    pass(&clock, 60).await;
    assert_eq!(status(&kit).await, RoomStatus::Paused);
    pass(&clock, 1_000).await;
    kit.process_inbound(say("a", "u", "hi")).await.unwrap();
    assert_eq!(status(&kit).await, RoomStatus::Active);
    pass(&clock, 60).await;
    assert_eq!(
        status(&kit).await,
        RoomStatus::Paused,
        "resumed by a message"
    );
    kit.resume_room("r").await.unwrap();
    pass(&clock, 59).await;
    assert_eq!(
        status(&kit).await,
        RoomStatus::Active,
        "resumed by hand, the time starts over"
    );
    pass(&clock, 1).await;
    assert_eq!(status(&kit).await, RoomStatus::Paused);
    pass(&clock, 86_400).await;
    assert_eq!(status(&kit).await, RoomStatus::Closed);
    kit.reopen_room("r").await.unwrap();
    pass(&clock, 60).await;
    assert_eq!(
        status(&kit).await,
        RoomStatus::Paused,
        "opened again, the timers run again"
    );
}

#[tokio::test]
async fn timers_are_set_and_taken_away_later() {
    let clock = ManualClock::new();
    let kit = kit_with(&clock, |builder| builder);
    kit.create_room("r").await.unwrap();
    pass(&clock, 10_000).await;
    let room = kit
        .set_room_timers("r", RoomTimers::pause_after(60))
        .await
        .unwrap();
    assert_eq!(
        room.timers.last_activity_at,
        Some(kit.now()),
        "quiet from now on"
    );
    pass(&clock, 59).await;
    assert_eq!(status(&kit).await, RoomStatus::Active);
    kit.set_room_timers("r", RoomTimers::default())
        .await
        .unwrap();
    pass(&clock, 10_000).await;
    assert_eq!(status(&kit).await, RoomStatus::Active);
    kit.set_room_timers("r", RoomTimers::pause_after(60))
        .await
        .unwrap();
    pass(&clock, 0).await;
    assert_eq!(
        status(&kit).await,
        RoomStatus::Paused,
        "it has been quiet for long"
    );
    kit.set_room_timers("r", RoomTimers::default().close_after(5))
        .await
        .unwrap();
    pass(&clock, 5).await;
    assert_eq!(status(&kit).await, RoomStatus::Closed);
    for timers in [
        RoomTimers::pause_after(0),
        RoomTimers::default().close_after(0),
    ] {
        let refused = kit.set_room_timers("r", timers.clone()).await.unwrap_err();
        assert_eq!(refused.code(), "invalid_input");
        assert!(refused.message().contains("timers."), "{refused}");
        let refused = kit.create_room(RoomOptions::new().timers(timers)).await;
        assert_eq!(refused.unwrap_err().code(), "invalid_input");
    }
}

#[tokio::test]
async fn of_several_kits_on_one_store_one_makes_each_transition() {
    let clock = ManualClock::new();
    let store: Arc<dyn ConversationStore> = Arc::new(MemoryStore::new());
    let mut room = Room::new("r", roomkit_core::Clock::now(&clock));
    room.timers = RoomTimers::pause_after(60).close_after(60);
    store.create_room(room).await.unwrap();
    let kits: Vec<_> = (0..4)
        .map(|_| kit_with(&clock, |builder| builder.store(Arc::clone(&store))))
        .collect();
    let told: Vec<_> = kits.iter().map(Told::of).collect();
    let all = || {
        let mut all: Vec<_> = told.iter().flat_map(Told::take).collect();
        all.sort();
        all
    };
    pass(&clock, 60).await;
    assert_eq!(all(), ["!room_paused timer", "room_paused_by_timer"]);
    pass(&clock, 60).await;
    assert_eq!(all(), ["!room_closed timer", "room_closed_by_timer"]);
}

#[tokio::test]
async fn without_a_sweeper_rooms_are_checked_by_hand() {
    let clock = ManualClock::new();
    let kit = kit_with(&clock, RoomKitBuilder::without_timer_sweeper);
    kit.org("acme").create_room(timed(60, 60)).await.unwrap();
    kit.create_room("quiet").await.unwrap();
    pass(&clock, 1_000).await;
    assert_eq!(clock.sleepers(), 0);
    assert_eq!(status(&kit).await, RoomStatus::Active);
    assert!(
        kit.org("other")
            .check_all_timers()
            .await
            .unwrap()
            .is_empty()
    );
    let changed = kit.org("acme").check_all_timers().await.unwrap();
    assert_eq!(changed.len(), 1);
    assert_eq!(
        changed[0].status,
        RoomStatus::Paused,
        "one transition at a time"
    );
    assert_eq!(
        kit.check_room_timers("r").await.unwrap().status,
        RoomStatus::Paused
    );
    pass(&clock, 60).await;
    assert_eq!(
        kit.check_room_timers("r").await.unwrap().status,
        RoomStatus::Closed
    );
    assert!(kit.check_all_timers().await.unwrap().is_empty());
}

#[tokio::test]
async fn rooms_that_are_not_due_cost_nothing() {
    let calls = Arc::new(AtomicUsize::new(0));
    let counter = Arc::clone(&calls);
    let store = ScriptedStore::new(move |_| {
        counter.fetch_add(1, Ordering::SeqCst);
        async { Ok(()) }
    });
    let clock = ManualClock::new();
    let kit = kit_with(&clock, |builder| {
        builder
            .store(store)
            .timer_scan_interval(Duration::from_secs(1_000_000))
    });
    for number in 0..50 {
        kit.create_room(format!("quiet{number}")).await.unwrap();
        let options = RoomOptions::new().timers(RoomTimers::pause_after(100_000));
        kit.create_room(options).await.unwrap();
    }
    kit.create_room(timed(60, 1_000_000)).await.unwrap();
    turns().await;
    let before = calls.load(Ordering::SeqCst);
    for _ in 0..99 {
        pass(&clock, 1_000).await;
    }
    assert_eq!(status(&kit).await, RoomStatus::Paused);
    let made = calls.load(Ordering::SeqCst) - before;
    assert!(made <= 6, "{made} calls for one transition");
}

#[tokio::test]
async fn a_store_that_fails_or_panics_is_asked_again() {
    for (fails_at, panics) in [
        ("commit", false),
        ("room", false),
        ("room", true),
        ("list_rooms", true),
    ] {
        let broken = Arc::new(AtomicBool::new(false));
        let is_broken = Arc::clone(&broken);
        let store = ScriptedStore::new(move |call| {
            let broken = is_broken.load(Ordering::SeqCst) && call == fails_at;
            async move {
                assert!(!(broken && panics), "broken store");
                if broken {
                    return Err(Error::new(ErrorKind::StoreFailed, "broken"));
                }
                Ok(())
            }
        });
        let clock = ManualClock::new();
        let kit = kit_with(&clock, |builder| builder.store(store));
        kit.create_room(timed(60, 600)).await.unwrap();
        turns().await;
        broken.store(true, Ordering::SeqCst);
        pass(&clock, 60).await;
        pass(&clock, 60).await;
        broken.store(false, Ordering::SeqCst);
        pass(&clock, 60).await;
        assert_eq!(status(&kit).await, RoomStatus::Paused, "{fails_at}");
    }
}

#[tokio::test]
async fn the_sweeper_ends_with_its_kit() {
    let metrics = tokio::runtime::Handle::current().metrics();
    let before = metrics.num_alive_tasks();
    let clock = ManualClock::new();
    for closes in [true, false] {
        let store = Arc::new(MemoryStore::new());
        let kit = kit_with(&clock, |builder| builder.store(store));
        kit.create_room(timed(60, 60)).await.unwrap();
        turns().await;
        assert!(metrics.num_alive_tasks() > before);
        assert_eq!(clock.sleepers(), 1);
        if closes {
            assert!(kit.close(Duration::from_secs(1)).await.unwrap().is_clean());
        } else {
            drop(kit);
        }
        turns().await;
        assert_eq!(metrics.num_alive_tasks(), before);
        assert_eq!(clock.sleepers(), 0);
    }
}

#[test]
fn a_kit_that_is_built_outside_a_runtime_sweeps_from_its_first_change_on() {
    let clock = ManualClock::new();
    let kit = kit_with(&clock, |builder| {
        builder.store(Arc::new(MemoryStore::new()))
    });
    let runtime = tokio::runtime::Builder::new_current_thread()
        .build()
        .unwrap();
    runtime.block_on(async {
        kit.create_room(timed(60, 60)).await.unwrap();
        pass(&clock, 60).await;
        assert_eq!(status(&kit).await, RoomStatus::Paused);
    });
}
