//! Properties of a whole kit: lanes, callers who go away, closing and dropping.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use chrono::{DateTime, Utc};
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use shuttle::future::block_on;
use tokio::task::{JoinHandle, spawn, until_alone, yield_now};

use super::core::model::{
    ChannelBinding, ChannelCategory, ChannelId, ChannelType, DeliveryOutcome, InboundMessage,
    InboundResult, RoomEvent,
};
use super::core::{Channel, ChannelOutput, Clock, Error, Result, RoomContext, RoomKit};
use crate::watch::{Count, Log};

/// How long a close may take. No time passes but this one, and this one may pass at any moment.
const DEADLINE: Duration = Duration::from_secs(7);

/// A clock whose waits never end, but for that of a close where it is to.
#[derive(Debug)]
struct Still {
    ends: bool,
}

impl Clock for Still {
    fn now(&self) -> DateTime<Utc> {
        DateTime::UNIX_EPOCH
    }

    fn elapsed(&self) -> Duration {
        Duration::ZERO
    }

    fn sleep(&self, duration: Duration) -> BoxFuture<'static, ()> {
        let ends = self.ends && duration == DEADLINE;
        Box::pin(async move {
            if !ends {
                std::future::pending::<()>().await;
            }
            yield_now().await;
        })
    }
}

/// What a channel does with an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Manner {
    /// A transport that takes a moment.
    Carries,
    /// A transport that never comes to an end.
    Hangs,
    /// An agent that answers every message.
    Answers,
}

/// A channel that notes what it gets, and how many calls are in it.
#[derive(Clone)]
struct Noted {
    id: ChannelId,
    manner: Manner,
    got: Log<u64>,
    inside: Count,
}

impl Noted {
    fn new(id: &str, manner: Manner) -> Self {
        Self {
            id: id.into(),
            manner,
            got: Log::new(),
            inside: Count::default(),
        }
    }
}

#[async_trait]
impl Channel for Noted {
    fn id(&self) -> &ChannelId {
        &self.id
    }

    fn channel_type(&self) -> ChannelType {
        ChannelType::Websocket
    }

    fn category(&self) -> ChannelCategory {
        match self.manner {
            Manner::Answers => ChannelCategory::Intelligence,
            Manner::Carries | Manner::Hangs => ChannelCategory::Transport,
        }
    }

    async fn deliver(
        &self,
        event: &Arc<RoomEvent>,
        _binding: &ChannelBinding,
        _context: &RoomContext,
    ) -> DeliveryOutcome {
        assert_eq!(self.inside.now(), 0, "two deliveries at a time in one lane");
        let _here = self.inside.enter();
        self.got.push(event.index);
        yield_now().await;
        if self.manner == Manner::Hangs {
            std::future::pending::<()>().await;
        }
        DeliveryOutcome::sent()
    }

    async fn on_event(
        &self,
        event: &Arc<RoomEvent>,
        _binding: &ChannelBinding,
        _context: &RoomContext,
    ) -> Result<ChannelOutput> {
        let _here = self.inside.enter();
        self.got.push(event.index);
        yield_now().await;
        Ok(ChannelOutput::text("an answer"))
    }
}

/// A room with somebody who writes and channels that get it.
async fn room(ends: bool, channels: &[Noted]) -> (RoomKit, u64) {
    let kit = RoomKit::builder().clock(Arc::new(Still { ends })).build();
    let kit = kit.expect("a kit in memory");
    kit.create_room("r").await.expect("a room");
    let writer = Noted::new("writer", Manner::Carries);
    for channel in [&writer].into_iter().chain(channels) {
        let registered = kit.register_channel(channel.clone());
        registered.expect("a channel with an id of its own");
        kit.attach_channel("r", channel.id.clone())
            .await
            .expect("a channel of the room");
    }
    let next = committed(&kit).await;
    (kit, next)
}

/// How many events the room has had.
async fn committed(kit: &RoomKit) -> u64 {
    kit.room("r").await.expect("the room is there").event_count
}

fn say(kit: &RoomKit) -> JoinHandle<Result<InboundResult>> {
    let kit = kit.clone();
    let mut message = InboundMessage::text("writer", "somebody", "a message");
    message.room_id = Some("r".into());
    spawn(async move { kit.process_inbound(message).await })
}

fn is_closed(error: &Error) -> bool {
    error.code() == "kit_closed"
}

fn assert_whole(got: &[u64], from: u64, to: u64) {
    let whole: Vec<u64> = (from..to).collect();
    assert_eq!(got, whole, "a lane lost something or its order");
}

/// Every channel gets every event of the room, in order and one after the other, agents' answers
/// included, and each caller is told of its own event.
pub(crate) fn lanes_are_whole_and_in_order() {
    block_on(async {
        let screen = Noted::new("screen", Manner::Carries);
        let agent = Noted::new("agent", Manner::Answers);
        let (kit, first) = room(false, &[screen.clone(), agent.clone()]).await;
        let callers: Vec<_> = (0..3).map(|_| say(&kit)).collect();
        let mut told = Vec::new();
        for caller in callers {
            let result = caller.await.expect("nobody goes away");
            let result = result.expect("a message that is taken");
            told.extend(result.event.map(|event| event.index));
        }
        kit.wait_idle().await;
        assert_eq!(told.len(), 3, "a caller was told of no event");
        let end = committed(&kit).await;
        assert_eq!(end - first, 6, "a message or an answer is missing");
        assert_whole(&screen.got.take(), first, end);
        told.sort_unstable();
        assert_eq!(
            agent.got.take(),
            told,
            "the agent lost a message or the order"
        );
        drop(kit);
        until_alone().await;
    });
}

/// A caller may go away at any moment: what was committed reaches every channel all the same, and
/// nobody is held up.
pub(crate) fn callers_may_go_away() {
    block_on(async {
        let (screen, other) = (
            Noted::new("a", Manner::Carries),
            Noted::new("b", Manner::Carries),
        );
        let (kit, first) = room(false, &[screen.clone(), other.clone()]).await;
        let callers: Vec<_> = (0..3).map(|_| say(&kit)).collect();
        for caller in callers.iter().skip(1) {
            caller.abort();
        }
        for (who, caller) in callers.into_iter().enumerate() {
            assert!(
                matches!(caller.await, Ok(Ok(_))) || who > 0,
                "who stays is answered"
            );
        }
        kit.wait_idle().await;
        let end = committed(&kit).await;
        assert_whole(&screen.got.take(), first, end);
        assert_whole(&other.got.take(), first, end);
        drop(kit);
        until_alone().await;
    });
}

/// Closing takes nothing new and lets all end that was taken: who was not refused has its event
/// delivered, nothing comes after, no task is left.
pub(crate) fn closing_lets_all_end() {
    block_on(async {
        let screen = Noted::new("screen", Manner::Carries);
        let agent = Noted::new("agent", Manner::Answers);
        let (kit, first) = room(false, &[screen.clone(), agent]).await;
        let callers: Vec<_> = (0..2).map(|_| say(&kit)).collect();
        yield_now().await;
        let mut close = Box::pin(kit.close(DEADLINE));
        let closed = (&mut close).now_or_never();
        let late = say(&kit).await.expect("every call is answered");
        assert!(
            late.is_err_and(|error| is_closed(&error)),
            "taken while it closes"
        );
        let report = match closed {
            Some(report) => report,
            None => close.await,
        };
        let report = report.expect("a store in memory closes");
        assert!(report.is_clean(), "something was left: {report:?}");
        let (got, end) = (screen.got.take(), committed(&kit).await);
        assert_whole(&got, first, end);
        for caller in callers {
            match caller.await.expect("every call is answered") {
                Ok(result) => {
                    let event = result.event.expect("a message that was taken");
                    assert!(got.contains(&event.index), "taken and not delivered");
                }
                Err(error) => assert!(is_closed(&error), "{error}"),
            }
        }
        assert_eq!(screen.got.len(), 0, "delivered after the close");
        assert_eq!(committed(&kit).await, end, "committed after the close");
        until_alone().await;
    });
}

/// Where something never ends the close ends all the same: every caller is answered, what was left
/// is named, no task is left.
pub(crate) fn closing_ends_in_time() {
    block_on(async {
        let stuck = Noted::new("stuck", Manner::Hangs);
        let screen = Noted::new("screen", Manner::Carries);
        let (kit, first) = room(true, &[stuck.clone(), screen.clone()]).await;
        let callers: Vec<_> = (0..2).map(|_| say(&kit)).collect();
        yield_now().await;
        let report = kit.close(DEADLINE).await.expect("a store in memory closes");
        let taken = committed(&kit).await > first;
        for caller in callers {
            let answer = caller.await.expect("every call is answered");
            assert!(
                answer.is_err_and(|error| is_closed(&error)),
                "what never ended had an end"
            );
        }
        assert!(!report.is_clean() || !taken, "what was left is not named");
        until_alone().await;
        assert_eq!(
            stuck.inside.now() + screen.inside.now(),
            0,
            "a delivery goes on"
        );
        let got = screen.got.take();
        let whole = (first..).zip(&got).all(|(index, got)| index == *got);
        assert!(whole, "a lane lost something or its order");
    });
}

/// Dropping the kit ends all that is under way at whatever moment; who waits for it is told.
pub(crate) fn dropping_leaves_nothing() {
    block_on(async {
        let stuck = Noted::new("stuck", Manner::Hangs);
        let agent = Noted::new("agent", Manner::Answers);
        let (kit, _) = room(false, &[stuck.clone(), agent]).await;
        let mut message = InboundMessage::text("writer", "somebody", "a message");
        message.room_id = Some("r".into());
        let deferred = kit.process_inbound_deferred(message).await;
        let (_, handle) = deferred.expect("a message that is taken");
        yield_now().await;
        drop(kit);
        assert!(
            handle.wait().await.is_err_and(|error| is_closed(&error)),
            "it never ended"
        );
        until_alone().await;
        assert_eq!(stuck.inside.now(), 0, "a delivery goes on");
    });
}
