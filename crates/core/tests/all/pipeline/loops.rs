//! Bots that answer bots: a message of a person is followed by a bounded number of theirs.

use std::sync::{Arc, Mutex, OnceLock};

use async_trait::async_trait;
use roomkit_core::model::{
    ChannelBinding, ChannelId, ChannelType, DeliveryOutcome, InboundMessage, RoomEvent,
};
use roomkit_core::{Channel, LoopGuard, RoomContext, RoomKit, WeakKit};

use super::support::{Agent, Transport, room_of, say, shared, timeline_texts};

/// What a bridge tells the other side about the message it carries.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Carries {
    Depth,
    BotFlag,
    Nothing,
}

/// A channel whose deliveries are messages to another kit.
#[derive(Clone)]
struct Bridge {
    id: ChannelId,
    carries: Carries,
    other: Arc<OnceLock<WeakKit>>,
}

impl Bridge {
    fn new(carries: Carries) -> Self {
        Self {
            id: "bridge".into(),
            carries,
            other: Arc::default(),
        }
    }
}

#[async_trait]
impl Channel for Bridge {
    fn id(&self) -> &ChannelId {
        &self.id
    }

    fn channel_type(&self) -> ChannelType {
        ChannelType::Webhook
    }

    async fn deliver(
        &self,
        event: &Arc<RoomEvent>,
        _binding: &ChannelBinding,
        _context: &RoomContext,
    ) -> DeliveryOutcome {
        let Some(kit) = self.other.get().and_then(WeakKit::upgrade) else {
            return DeliveryOutcome::failed("gone", "the other side is gone");
        };
        let mut message = InboundMessage::new("bridge", "other-side", event.content.clone());
        message.room_id = Some("r".into());
        let from_agent = event.chain_depth > 0;
        match self.carries {
            Carries::Depth => message.chain_depth = event.chain_depth,
            Carries::BotFlag => message.is_bot = from_agent,
            Carries::Nothing => {}
        }
        match kit.process_inbound(message).await {
            Ok(_) => DeliveryOutcome::sent(),
            Err(error) => DeliveryOutcome::failed(error.code(), error.to_string()),
        }
    }
}

struct Sides {
    one: RoomKit,
    two: RoomKit,
    /// How many loops each side has told of.
    loops: [Arc<Mutex<usize>>; 2],
}

async fn two_sides(
    carries: Carries,
    replies: [&'static str; 2],
    guard: Option<LoopGuard>,
) -> Sides {
    let kit = || match guard {
        Some(guard) => RoomKit::builder().loop_guard(guard).build().unwrap(),
        None => RoomKit::new(),
    };
    let (one, two) = (kit(), kit());
    let bridges = [Bridge::new(carries), Bridge::new(carries)];
    bridges[0].other.set(two.downgrade()).unwrap();
    bridges[1].other.set(one.downgrade()).unwrap();
    let user = Transport::new("user");
    let [x, y] = replies;
    room_of(
        &one,
        vec![
            shared(&user),
            shared(&bridges[0]),
            shared(&Agent::says("x", x)),
        ],
    )
    .await;
    room_of(
        &two,
        vec![shared(&bridges[1]), shared(&Agent::says("y", y))],
    )
    .await;
    let loops: [Arc<Mutex<usize>>; 2] = Default::default();
    for (kit, loops) in [&one, &two].into_iter().zip(&loops) {
        let loops = Arc::clone(loops);
        kit.on("loop_detected", move |_| {
            *loops.lock().unwrap() += 1;
            async {}
        });
    }
    Sides { one, two, loops }
}

impl Sides {
    /// Asserts that the loop was told of, once by each side that found it.
    fn assert_told_once(&self) {
        let told = self.loops.each_ref().map(|loops| *loops.lock().unwrap());
        assert!(
            told.iter().all(|told| *told <= 1) && told != [0, 0],
            "{told:?}"
        );
    }

    async fn settle(&self) {
        for _ in 0..1_000 {
            self.one.wait_idle().await;
            self.two.wait_idle().await;
            tokio::task::yield_now().await;
        }
    }
}

#[tokio::test]
async fn chain_depth_that_the_bridge_carries_over_ends_the_loop() {
    let sides = two_sides(Carries::Depth, ["from x", "from y"], None).await;
    sides
        .one
        .process_inbound(say("user", "u", "hello"))
        .await
        .unwrap();
    sides.settle().await;
    let bots = timeline_texts(&sides.one).await.len() - 1;
    assert!(bots <= 10, "{bots} bot messages for one of a person");
    let before = timeline_texts(&sides.two).await.len();
    sides.settle().await;
    assert_eq!(timeline_texts(&sides.two).await.len(), before, "silence");
}

#[tokio::test]
async fn a_bot_outside_is_heard_but_not_answered_unless_it_addresses_somebody() {
    let sides = two_sides(Carries::BotFlag, ["from x", "from y"], None).await;
    sides
        .one
        .process_inbound(say("user", "u", "hello"))
        .await
        .unwrap();
    sides.settle().await;
    // x and y answer the person; each hears the other's answer and is silent.
    for side in [&sides.one, &sides.two] {
        let mut texts = timeline_texts(side).await;
        texts.sort();
        assert_eq!(texts, ["from x", "from y", "hello"]);
    }
    let mut addressed = InboundMessage::text("bridge", "other", "you there?").in_room("r");
    addressed.is_bot = true;
    sides
        .two
        .process_inbound(addressed.addressed_to(["y"]))
        .await
        .unwrap();
    sides.settle().await;
    assert_eq!(
        timeline_texts(&sides.two)
            .await
            .iter()
            .filter(|text| *text == "from y")
            .count(),
        2
    );
}

#[tokio::test]
async fn identical_messages_in_circles_are_broken_off_with_one_event() {
    let guard = LoopGuard {
        max_repeats: 3,
        ..LoopGuard::default()
    };
    let sides = two_sides(Carries::Nothing, ["ping", "pong"], Some(guard)).await;
    sides
        .one
        .process_inbound(say("user", "u", "hello"))
        .await
        .unwrap();
    sides.settle().await;
    let bots = timeline_texts(&sides.one).await.len() - 1;
    assert!(bots <= 40, "{bots} bot messages for one of a person");
    sides.assert_told_once();
    // Something else is said: the agents are back.
    let before = timeline_texts(&sides.one).await.len();
    sides
        .one
        .process_inbound(say("user", "u", "and now?"))
        .await
        .unwrap();
    sides.settle().await;
    assert!(timeline_texts(&sides.one).await.len() > before + 1);
}

#[tokio::test]
async fn a_rate_that_no_conversation_has_is_broken_off() {
    let guard = LoopGuard {
        max_repeats: 1_000,
        max_events_per_minute: 20,
    };
    let sides = two_sides(Carries::Nothing, ["ping", "pong"], Some(guard)).await;
    sides
        .one
        .process_inbound(say("user", "u", "hello"))
        .await
        .unwrap();
    sides.settle().await;
    let bots = timeline_texts(&sides.one).await.len() - 1;
    assert!(bots <= 60, "{bots} bot messages for one of a person");
    sides.assert_told_once();
}

#[test]
fn a_guard_keeps_no_more_in_mind_than_it_says() {
    let build = |max_repeats| {
        RoomKit::builder()
            .loop_guard(LoopGuard {
                max_repeats,
                ..LoopGuard::default()
            })
            .build()
    };
    assert!(build(LoopGuard::MOST_REPEATS).is_ok());
    for beyond in [LoopGuard::MOST_REPEATS + 1, usize::MAX] {
        let error = build(beyond).unwrap_err();
        assert!(error.to_string().starts_with("invalid_input: max_repeats"));
    }
}
