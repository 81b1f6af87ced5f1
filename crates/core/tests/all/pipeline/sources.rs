//! Sources: run, restarted, held back, ended; none outlives its kit.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use roomkit_core::model::{InboundMessage, Metadata, RateLimit, SourceStatus};
use roomkit_core::source::{SourceEmitter, SourceProvider};
use roomkit_core::{ChannelOutput, Error, Result, RoomKit, RoomKitBuilder};
use roomkit_testkit::ManualClock;
use tokio::sync::{Notify, Semaphore};

use super::support::{Agent, Transport, room_of, say, shared, timeline_texts};

/// How a run of a scripted source ends.
#[derive(Clone, Copy)]
enum End {
    Fail,
    Panic,
    Finish,
    /// When it is asked to.
    Stop,
    /// Never by itself.
    Hang,
}

/// What a run emits, and how it ends.
type Run = (Vec<&'static str>, End);

/// A source whose runs are written down: what each emits, and how it ends.
#[derive(Clone, Default)]
struct Scripted {
    runs: Arc<Mutex<VecDeque<Run>>>,
    started: Arc<AtomicUsize>,
    stopped: Arc<AtomicUsize>,
    running: Arc<AtomicUsize>,
    emitter: Arc<Mutex<Option<SourceEmitter>>>,
    refused: Arc<Mutex<Vec<(&'static str, bool)>>>,
}

impl Scripted {
    fn new(runs: impl IntoIterator<Item = Run>) -> Self {
        let source = Self::default();
        source.runs.lock().unwrap().extend(runs);
        source
    }

    fn failing() -> Self {
        Self::new((0..100).map(|_| (vec![], End::Fail)))
    }
}

/// Counts down when the future that holds it ends or is dropped.
struct Down(Arc<AtomicUsize>);

impl Drop for Down {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

#[async_trait]
impl SourceProvider for Scripted {
    fn name(&self) -> &str {
        "scripted"
    }

    async fn start(&self, emit: SourceEmitter) -> Result<()> {
        self.started.fetch_add(1, Ordering::SeqCst);
        self.running.fetch_add(1, Ordering::SeqCst);
        let _down = Down(Arc::clone(&self.running));
        *self.emitter.lock().unwrap() = Some(emit.clone());
        let run = self.runs.lock().unwrap().pop_front();
        let (texts, end) = run.unwrap_or((vec![], End::Stop));
        if !texts.is_empty() {
            emit.connected();
        }
        for text in texts {
            let message = InboundMessage::text("not mine", "u", text).in_room("r");
            emit.emit(message).await.inspect_err(|error| {
                let refused = (error.code(), error.is_retryable());
                self.refused.lock().unwrap().push(refused);
            })?;
        }
        match end {
            End::Fail => Err(Error::source("it broke")),
            End::Panic => panic!("it broke"),
            End::Finish => Ok(()),
            End::Stop => {
                emit.stopped().await;
                Ok(())
            }
            End::Hang => std::future::pending().await,
        }
    }

    async fn stop(&self) {
        self.stopped.fetch_add(1, Ordering::SeqCst);
    }

    fn details(&self) -> Metadata {
        Metadata::new().with("kind", "test")
    }
}

async fn turns() {
    for _ in 0..300 {
        tokio::task::yield_now().await;
    }
}

type Events = Arc<Mutex<Vec<String>>>;

/// A kit with a room `r` to which channel `feed` is attached, and the events about sources.
async fn kit_on(clock: &ManualClock) -> (RoomKit, Events) {
    kit_of(RoomKit::builder(), clock).await
}

/// As [`kit_on`], where a channel may bring in so much.
async fn limited_kit_on(clock: &ManualClock, per_second: f64) -> (RoomKit, Events) {
    let limit = RateLimit {
        max_per_second: Some(per_second),
        ..RateLimit::default()
    };
    kit_of(RoomKit::builder().inbound_rate_limit(limit), clock).await
}

async fn kit_of(builder: RoomKitBuilder, clock: &ManualClock) -> (RoomKit, Events) {
    let kit = builder.clock(Arc::new(clock.clone())).build().unwrap();
    room_of(&kit, vec![shared(&Transport::new("feed"))]).await;
    let events = Events::default();
    let told = Arc::clone(&events);
    kit.on_any(move |event| {
        if let Some(kind) = event.event_type.as_str().strip_prefix("source_") {
            assert_eq!(event.channel_id.as_ref().unwrap(), "feed");
            assert_eq!(event.data.get("source_name").unwrap(), "scripted");
            let attempt = event.data.get("attempt").or(event.data.get("attempts"));
            let attempt = attempt
                .map(|attempt| format!(" {attempt}"))
                .unwrap_or_default();
            let left = event.data.get("not_taken");
            let left = left.map(|left| format!(" without {left}"));
            let left = left.unwrap_or_default();
            told.lock().unwrap().push(format!("{kind}{attempt}{left}"));
        }
        async {}
    });
    (kit, events)
}

fn taken(events: &Events) -> Vec<String> {
    std::mem::take(&mut *events.lock().unwrap())
}

#[tokio::test]
async fn what_a_source_emits_are_messages_of_its_channel() {
    let clock = ManualClock::new();
    let (kit, events) = kit_on(&clock).await;
    let source = Scripted::new([(vec!["one", "two"], End::Stop)]);
    kit.attach_source("feed", source.clone()).await.unwrap();
    turns().await;
    assert_eq!(timeline_texts(&kit).await, ["one", "two"]);
    let event = kit.timeline("r", 1, 1).await.unwrap()[0].clone();
    assert_eq!(event.source.channel_id, "feed");
    let health = kit.source_health("feed").await.unwrap();
    assert_eq!(health.status, SourceStatus::Connected);
    assert_eq!((health.messages_received, health.failures), (2, 0));
    assert!(health.connected_at.is_some() && health.last_message_at.is_some());
    assert_eq!(health.metadata.get("kind").unwrap(), "test");
    assert_eq!(
        kit.list_sources(),
        [("feed".into(), SourceStatus::Connected)]
    );
    kit.detach_source("feed").await.unwrap();
    turns().await;
    assert_eq!(
        taken(&events),
        ["attached", "connected", "disconnected", "detached"]
    );
    assert_eq!(source.stopped.load(Ordering::SeqCst), 1);
    let gone = kit.source_health("feed").await.unwrap_err();
    assert_eq!(gone.code(), "source_not_found");
    assert_eq!(
        kit.detach_source("feed").await.unwrap_err().code(),
        "source_not_found"
    );
    let emitter = source.emitter.lock().unwrap().clone().unwrap();
    assert!(emitter.is_stopped());
    let late = emitter
        .emit(InboundMessage::text("feed", "u", "late"))
        .await;
    assert_eq!(late.unwrap_err().code(), "source_not_found");
    kit.attach_source("feed", source).await.unwrap();
}

#[tokio::test]
async fn a_failing_source_is_started_again_with_growing_delays() {
    let delays = async || {
        let clock = ManualClock::new();
        let (kit, events) = kit_on(&clock).await;
        let source = Scripted::failing();
        kit.attach_source("feed", source.clone())
            .restart_delay(Duration::from_secs(1))
            .max_restart_delay(Duration::from_secs(8))
            .await
            .unwrap();
        let mut delays = Vec::new();
        for started in 1..8 {
            turns().await;
            assert_eq!(source.started.load(Ordering::SeqCst), started);
            assert_eq!(source.stopped.load(Ordering::SeqCst), started);
            delays.push(clock.advance_to_next().unwrap());
        }
        let health = kit.source_health("feed").await.unwrap();
        assert_eq!(health.status, SourceStatus::Error);
        assert_eq!(health.failures, 7);
        assert_eq!(health.error.unwrap(), "source_failed: it broke");
        assert_eq!(taken(&events)[..3], ["attached", "error 1", "error 2"]);
        delays
    };
    let first = delays().await;
    for (delay, longest) in first.iter().zip([1, 2, 4, 8, 8, 8, 8]) {
        let longest = Duration::from_secs(longest);
        assert!(
            *delay >= longest / 2 && *delay <= longest,
            "{delay:?} of {longest:?}"
        );
    }
    assert!(
        first[3..].windows(2).any(|pair| pair[0] != pair[1]),
        "they are spread"
    );
    assert_eq!(
        first,
        delays().await,
        "a clock turned by hand shows the same"
    );
}

#[tokio::test]
async fn a_source_that_works_again_has_not_failed_since() {
    let clock = ManualClock::new();
    let (kit, _) = kit_on(&clock).await;
    let source = Scripted::new([(vec![], End::Fail), (vec!["works"], End::Stop)]);
    kit.attach_source("feed", source).await.unwrap();
    let failures = async || kit.source_health("feed").await.unwrap().failures;
    turns().await;
    assert_eq!(failures().await, 1);
    clock.advance_to_next().unwrap();
    turns().await;
    assert_eq!(failures().await, 0);
}

#[tokio::test]
async fn a_source_that_fails_too_often_is_given_up() {
    let clock = ManualClock::new();
    let (kit, events) = kit_on(&clock).await;
    let source = Scripted::new([
        (vec![], End::Fail),
        (vec!["works"], End::Fail),
        (vec![], End::Panic),
        (vec![], End::Fail),
    ]);
    kit.attach_source("feed", source.clone())
        .max_restart_attempts(3)
        .await
        .unwrap();
    for _ in 0..3 {
        turns().await;
        clock.advance_to_next().unwrap();
    }
    turns().await;
    assert_eq!(
        taken(&events),
        [
            "attached",
            "error 1",
            "connected",
            "disconnected",
            "error 1",
            "error 2",
            "error 3",
            "exhausted 3"
        ],
        "a run that brought a message starts the count anew"
    );
    assert_eq!(clock.sleepers(), 0);
    assert_eq!(source.started.load(Ordering::SeqCst), 4);
    let health = kit.source_health("feed").await.unwrap();
    assert_eq!((health.status, health.failures), (SourceStatus::Error, 3));
    let again = kit.attach_source("feed", Scripted::default()).await;
    assert_eq!(again.unwrap_err().code(), "source_already_attached");
    kit.detach_source("feed").await.unwrap();
    turns().await;
    assert_eq!(taken(&events), ["detached"]);
}

#[tokio::test]
async fn a_source_without_restart_fails_once_and_one_that_is_done_is_detached() {
    let clock = ManualClock::new();
    let (kit, events) = kit_on(&clock).await;
    kit.attach_source("feed", Scripted::new([(vec![], End::Panic)]))
        .auto_restart(false)
        .await
        .unwrap();
    turns().await;
    assert_eq!(taken(&events), ["attached", "error 1"]);
    let health = kit.source_health("feed").await.unwrap();
    assert_eq!(health.error.unwrap(), "source_failed: the source panicked");
    kit.detach_source("feed").await.unwrap();
    turns().await;
    taken(&events);
    kit.attach_source("feed", Scripted::new([(vec!["last"], End::Finish)]))
        .await
        .unwrap();
    turns().await;
    assert_eq!(
        taken(&events),
        ["attached", "connected", "disconnected", "detached"]
    );
    assert!(kit.list_sources().is_empty());
}

#[tokio::test]
async fn a_source_is_held_back_while_too_much_of_it_is_under_way() {
    let clock = ManualClock::new();
    let (kit, _) = kit_on(&clock).await;
    let gate = Arc::new(Semaphore::new(0));
    let opens = Arc::clone(&gate);
    let agent = Agent::new("agent", move |_, _| {
        let opens = Arc::clone(&opens);
        async move {
            opens.acquire().await.unwrap().forget();
            Ok(ChannelOutput::none())
        }
    });
    kit.register_channel(agent).unwrap();
    kit.attach_channel("r", "agent").await.unwrap();
    let source = Scripted::new([(vec!["1", "2", "3", "4"], End::Stop)]);
    kit.attach_source("feed", source)
        .max_concurrent_emits(2)
        .await
        .unwrap();
    turns().await;
    assert_eq!(timeline_texts(&kit).await, ["1", "2"]);
    gate.add_permits(1);
    turns().await;
    assert_eq!(timeline_texts(&kit).await, ["1", "2", "3"]);
    gate.add_permits(9);
    turns().await;
    assert_eq!(timeline_texts(&kit).await, ["1", "2", "3", "4"]);
}

#[tokio::test]
async fn a_source_over_the_limit_waits_and_loses_nothing() {
    let clock = ManualClock::new();
    let (kit, events) = limited_kit_on(&clock, 2.0).await;
    let source = Scripted::new([(vec!["1", "2", "3", "4"], End::Stop)]);
    kit.attach_source("feed", source.clone()).await.unwrap();
    turns().await;
    assert_eq!(timeline_texts(&kit).await, ["1", "2"]);
    let other = kit.process_inbound(say("feed", "u", "now")).await.unwrap();
    assert_eq!(
        other.reason.as_deref(),
        Some("rate_limited"),
        "others are told"
    );
    for came in 3..5 {
        assert_eq!(clock.advance_to_next(), Some(Duration::from_millis(500)));
        turns().await;
        assert_eq!(timeline_texts(&kit).await.len(), came);
    }
    // Several at once keep their order, and share the waiting.
    let emitter = source.emitter.lock().unwrap().clone().unwrap();
    for text in ["5", "6", "7"] {
        let emitter = emitter.clone();
        let message = InboundMessage::text("feed", "u", text).in_room("r");
        tokio::spawn(async move { emitter.emit(message).await.unwrap() });
    }
    for _ in 0..3 {
        turns().await;
        assert_eq!(clock.sleepers(), 1);
        assert_eq!(clock.advance_to_next(), Some(Duration::from_millis(500)));
    }
    turns().await;
    let all = ["1", "2", "3", "4", "5", "6", "7"];
    assert_eq!(timeline_texts(&kit).await, all);
    let health = kit.source_health("feed").await.unwrap();
    assert_eq!((health.messages_received, health.failures), (7, 0));
    kit.detach_source("feed").await.unwrap();
    turns().await;
    let expected = ["attached", "connected", "disconnected", "detached"];
    assert_eq!(taken(&events), expected);
}

#[tokio::test]
async fn what_the_limit_holds_back_when_a_source_ends_is_given_back() {
    let clock = ManualClock::new();
    let (kit, events) = limited_kit_on(&clock, 1.0).await;
    let source = Scripted::new([(vec!["1", "2", "3"], End::Stop)]);
    kit.attach_source("feed", source.clone()).await.unwrap();
    turns().await;
    let emitter = source.emitter.lock().unwrap().clone().unwrap();
    let message = InboundMessage::text("feed", "u", "dropped").in_room("r");
    let dropped = tokio::spawn(async move { emitter.emit(message).await });
    turns().await;
    dropped.abort();
    kit.detach_source("feed").await.unwrap();
    let refused = source.refused.lock().unwrap().clone();
    assert_eq!(refused, [("rate_limited", true)]);
    assert_eq!(timeline_texts(&kit).await, ["1"]);
    assert_eq!(clock.sleepers(), 0);
    turns().await;
    assert_eq!(taken(&events).last().unwrap(), "detached without 1");

    // One that waits keeps no kit.
    let source = Scripted::new([(vec!["5"], End::Stop)]);
    kit.attach_source("feed", source.clone()).await.unwrap();
    turns().await;
    let emitter = source.emitter.lock().unwrap().clone().unwrap();
    let message = InboundMessage::text("feed", "u", "6").in_room("r");
    let waiting = tokio::spawn(async move { emitter.emit(message).await });
    turns().await;
    drop(kit);
    let error = waiting.await.unwrap().unwrap_err();
    assert!(matches!(error.code(), "kit_closed" | "source_not_found"));
    assert_eq!(clock.sleepers(), 0);
}

#[tokio::test]
async fn a_source_that_does_not_end_is_dropped_after_its_time() {
    let clock = ManualClock::new();
    let (kit, events) = kit_on(&clock).await;
    let source = Scripted::new([(vec!["x"], End::Hang)]);
    kit.attach_source("feed", source.clone())
        .stop_timeout(Duration::from_secs(7))
        .await
        .unwrap();
    turns().await;
    let detaching = tokio::spawn({
        let kit = kit.clone();
        async move { kit.detach_source("feed").await }
    });
    turns().await;
    assert!(!detaching.is_finished());
    assert_eq!(source.running.load(Ordering::SeqCst), 1);
    let again = kit.attach_source("feed", Scripted::default()).await;
    assert_eq!(again.unwrap_err().code(), "source_already_attached");
    assert_eq!(clock.advance_to_next(), Some(Duration::from_secs(7)));
    detaching.await.unwrap().unwrap();
    assert_eq!(source.running.load(Ordering::SeqCst), 0);
    assert_eq!(source.stopped.load(Ordering::SeqCst), 1);
    turns().await;
    assert_eq!(taken(&events).last().unwrap(), "detached");
}

#[tokio::test]
async fn what_cannot_be_attached_is_refused_with_its_reason() {
    let clock = ManualClock::new();
    let (kit, _) = kit_on(&clock).await;
    let source = Scripted::default;
    let unknown = kit.attach_source("nobody", source()).await.unwrap_err();
    assert_eq!(unknown.code(), "channel_not_registered");
    let second = Duration::from_secs(1);
    let attach = || kit.attach_source("feed", source());
    let wrong = [
        ("restart_delay", attach().restart_delay(Duration::ZERO)),
        ("max_restart_delay", attach().max_restart_delay(second)),
        ("max_restart_attempts", attach().max_restart_attempts(0)),
        ("max_concurrent_emits", attach().max_concurrent_emits(0)),
    ];
    for (field, attach) in wrong {
        let error = attach.await.unwrap_err();
        assert_eq!(error.code(), "invalid_input");
        assert!(error.message().starts_with(field), "{error}");
    }
    kit.close(second).await.unwrap();
    assert_eq!(attach().await.unwrap_err().code(), "kit_closed");
}

#[tokio::test]
async fn a_source_of_one_organisation_is_not_found_by_another() {
    let clock = ManualClock::new();
    let kit = RoomKit::builder().clock(Arc::new(clock)).build().unwrap();
    kit.register_channel(Transport::new("feed")).unwrap();
    let (acme, other) = (kit.org("acme"), kit.org("other"));
    let source = Scripted::new([(vec!["hi"], End::Stop)]);
    acme.attach_source("feed", source).await.unwrap();
    turns().await;
    assert_eq!(
        acme.timeline("r", 1, 9).await.unwrap().len(),
        1,
        "its rooms are its own"
    );
    assert_eq!(other.room("r").await.unwrap_err().code(), "room_not_found");
    assert!(other.list_sources().is_empty());
    assert_eq!(
        other.source_health("feed").await.unwrap_err().code(),
        "source_not_found"
    );
    assert_eq!(
        other.detach_source("feed").await.unwrap_err().code(),
        "source_not_found"
    );
    let again = other.attach_source("feed", Scripted::default()).await;
    assert_eq!(again.unwrap_err().code(), "source_already_attached");
    assert!(kit.source_health("feed").await.is_ok());
    acme.detach_source("feed").await.unwrap();
}

/// A source that goes on emitting what it has until it is asked to end, and one more after that.
struct Busy {
    began: Arc<Notify>,
}

#[async_trait]
impl SourceProvider for Busy {
    fn name(&self) -> &str {
        "busy"
    }

    async fn start(&self, emit: SourceEmitter) -> Result<()> {
        emit.emit(InboundMessage::text("feed", "u", "first").in_room("r"))
            .await?;
        self.began.notify_one();
        emit.stopped().await;
        emit.emit(InboundMessage::text("feed", "u", "last").in_room("r"))
            .await?;
        Ok(())
    }
}

#[tokio::test]
async fn closing_takes_what_a_source_still_has() {
    let kit = RoomKit::new();
    let user = Transport::new("user");
    room_of(&kit, vec![shared(&Transport::new("feed")), shared(&user)]).await;
    let began = Arc::new(Notify::new());
    let source = Busy {
        began: Arc::clone(&began),
    };
    kit.attach_source("feed", source).await.unwrap();
    began.notified().await;
    let report = kit.close(Duration::from_secs(5)).await.unwrap();
    assert!(report.is_clean());
    assert_eq!(user.texts(), ["first", "last"]);
    assert!(kit.list_sources().is_empty());
}

#[tokio::test]
async fn no_source_outlives_its_kit() {
    let metrics = tokio::runtime::Handle::current().metrics();
    let before = metrics.num_alive_tasks();
    let clock = ManualClock::new();
    for end in [End::Hang, End::Stop, End::Fail] {
        for closes in [true, false] {
            let (kit, _) = kit_on(&clock).await;
            let source = Scripted::new([(vec!["x"], end)]);
            kit.attach_source("feed", source.clone()).await.unwrap();
            turns().await;
            assert!(metrics.num_alive_tasks() > before);
            if closes {
                let closing = tokio::spawn(async move { kit.close(Duration::from_secs(3)).await });
                turns().await;
                clock.advance(Duration::from_secs(3));
                let report = closing.await.unwrap().unwrap();
                assert_eq!(
                    report.is_clean(),
                    !matches!(end, End::Hang),
                    "what was dropped is said"
                );
            } else {
                drop(kit);
            }
            turns().await;
            assert_eq!(metrics.num_alive_tasks(), before);
            assert_eq!(source.running.load(Ordering::SeqCst), 0);
            assert_eq!(clock.sleepers(), 0);
            let emitter = source.emitter.lock().unwrap().clone().unwrap();
            emitter.stopped().await;
            assert!(
                emitter
                    .emit(InboundMessage::text("feed", "u", "x"))
                    .await
                    .is_err()
            );
        }
    }
}
