//! What an agent costs beside its model: a turn, a piece of a streamed answer, and the past of a long
//! room; each figure beside a floor measured in the same run, one JSON line a row.

#![allow(
    clippy::unwrap_used,
    clippy::cast_possible_truncation,
    missing_docs,
    reason = "a benchmark fails by panicking, and its figures are small"
)]

use std::sync::Arc;
use std::time::Instant;

use futures_util::{StreamExt, stream};
use roomkit_ai::{
    AiCapabilities, AiChannel, AiContext, AiProvider, AiResponse, AiStream, StreamEvent,
    async_trait,
};
use roomkit_core::channel::{Delta, StreamFrame};
use roomkit_core::model::{
    ChannelBinding, ChannelCategory, ChannelId, ChannelType, DeliveryOutcome, EventContent,
    InboundMessage, RoomEvent,
};
use roomkit_core::{Channel, ChannelOutput, Result, RoomContext, RoomKit};

const ROUNDS: usize = 15;
const TURNS: u32 = 400;
const DELTAS: usize = 2_000;

/// A model that answers at once.
struct Instantly(Vec<StreamEvent>, bool);

#[async_trait]
impl AiProvider for Instantly {
    fn name(&self) -> &str {
        "instantly"
    }

    fn model_name(&self) -> &str {
        "none"
    }

    fn capabilities(&self) -> AiCapabilities {
        AiCapabilities::none().streaming(self.1)
    }

    async fn generate(&self, _: &AiContext) -> roomkit_ai::Result<AiResponse> {
        Ok(AiResponse::text("Got it!"))
    }

    async fn generate_stream(&self, _: &AiContext) -> roomkit_ai::Result<AiStream> {
        let events: Vec<_> = self.0.iter().cloned().map(Ok).collect();
        Ok(stream::iter(events).boxed())
    }
}

/// An agent without a model: the pipeline's own cost.
struct Parrot(ChannelId, usize);

#[async_trait]
impl Channel for Parrot {
    fn id(&self) -> &ChannelId {
        &self.0
    }

    fn channel_type(&self) -> ChannelType {
        ChannelType::Ai
    }

    fn category(&self) -> ChannelCategory {
        ChannelCategory::Intelligence
    }

    async fn on_event(
        &self,
        _: &Arc<RoomEvent>,
        _: &ChannelBinding,
        _: &RoomContext,
    ) -> Result<ChannelOutput> {
        if self.1 == 0 {
            return Ok(ChannelOutput::text("Got it!"));
        }
        let deltas = (0..self.1).map(|_| Ok(Delta::Text("word ".to_owned())));
        Ok(ChannelOutput::stream(stream::iter(deltas).boxed()))
    }
}

/// A transport that does nothing with what it gets.
struct Sink(ChannelId);

#[async_trait]
impl Channel for Sink {
    fn id(&self) -> &ChannelId {
        &self.0
    }

    fn channel_type(&self) -> ChannelType {
        ChannelType::Websocket
    }

    async fn deliver(
        &self,
        _: &Arc<RoomEvent>,
        _: &ChannelBinding,
        _: &RoomContext,
    ) -> DeliveryOutcome {
        DeliveryOutcome::sent()
    }

    fn supports_streaming(&self) -> bool {
        true
    }

    async fn deliver_frame(
        &self,
        _: &StreamFrame,
        _: &ChannelBinding,
        _: &RoomContext,
    ) -> DeliveryOutcome {
        DeliveryOutcome::sent()
    }
}

async fn kit_of(agent: impl Channel, subscribers: usize, events: usize) -> RoomKit {
    let kit = RoomKit::new();
    kit.register_channel(agent).unwrap();
    kit.register_channel(Sink("web".into())).unwrap();
    kit.create_room("room").await.unwrap();
    kit.attach_channel("room", "web").await.unwrap();
    for number in 0..subscribers {
        let id = format!("sink-{number}");
        kit.register_channel(Sink(id.as_str().into())).unwrap();
        kit.attach_channel("room", id).await.unwrap();
    }
    for _ in 0..events {
        let content = EventContent::text("A sentence that somebody said some time ago.");
        kit.send_event("room", "web", content).await.unwrap();
    }
    kit.attach_channel("room", "agent")
        .category(ChannelCategory::Intelligence)
        .await
        .unwrap();
    kit
}

/// Nanoseconds of a message and its answer.
async fn turn(kit: &RoomKit, turns: u32) -> f64 {
    let began = Instant::now();
    for _ in 0..turns {
        let message = InboundMessage::text("web", "alice", "hello").in_room("room");
        kit.process_inbound(message).await.unwrap();
    }
    began.elapsed().as_secs_f64() * 1e9 / f64::from(turns)
}

fn agent(pieces: usize, window: usize) -> AiChannel {
    let said = (0..pieces).map(|_| StreamEvent::Text("word ".to_owned()));
    let end = StreamEvent::of(AiResponse::text("")).pop().unwrap();
    let events = said.chain([end]).collect();
    AiChannel::builder("agent")
        .provider(Instantly(events, pieces > 0))
        .max_context_events(window)
        .build()
        .unwrap()
}

fn median(mut figures: Vec<f64>) -> f64 {
    figures.sort_by(f64::total_cmp);
    figures.get(figures.len() / 2).copied().unwrap_or_default()
}

fn report(row: &str, figure_ns: f64, floor_ns: f64, extra: serde_json::Value, met: bool) {
    println!(
        "{}",
        serde_json::json!({
            "row": row, "figure_ns": figure_ns.round(), "floor_ns": floor_ns.round(),
            "ratio": (figure_ns / floor_ns * 100.0).round() / 100.0, "detail": extra, "met": met,
        })
    );
}

/// A turn of an agent beside one of an agent that is a constant, with a past of so many events.
async fn a_turn(row: &str, window: usize) {
    let (mut figures, mut floors) = (Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        let parrot = kit_of(Parrot("agent".into(), 0), 0, 0).await;
        floors.push(turn(&parrot, TURNS).await);
        let kit = kit_of(agent(0, window), 0, 0).await;
        figures.push(turn(&kit, TURNS).await);
    }
    let (figure, floor) = (median(figures), median(floors));
    let own = figure - floor;
    let extra = serde_json::json!({
        "window": window, "own_us": (own / 10.0).round() / 100.0, "goal_us": 15.0,
    });
    report(row, figure, floor, extra, own <= 15_000.0);
}

/// A piece of a streamed answer, for each who sees it come.
async fn a_delta() {
    for subscribers in [1_usize, 10] {
        let (mut figures, mut floors) = (Vec::new(), Vec::new());
        for _ in 0..ROUNDS {
            let floor = kit_of(Parrot("agent".into(), DELTAS), subscribers, 0).await;
            floors.push(turn(&floor, 3).await / DELTAS as f64);
            let kit = kit_of(agent(DELTAS, 0), subscribers, 0).await;
            figures.push(turn(&kit, 3).await / DELTAS as f64);
        }
        // `web`, which the message came through, sees the answer too.
        let seen_by = (subscribers + 1) as f64;
        let (figure, floor) = (median(figures), median(floors));
        let each = figure / seen_by;
        let extra = serde_json::json!({
            "subscribers": seen_by, "per_subscriber_ns": each.round(),
            "own_ns": (figure - floor).round(), "goal_ns": 1_000,
        });
        report("ai_delta", figure, floor, extra, each <= 1_000.0);
    }
}

/// A turn in a room of 10,000 events beside one in a room of 100.
async fn a_long_room() {
    let (mut figures, mut floors) = (Vec::new(), Vec::new());
    let long = kit_of(agent(0, 50), 0, 10_000).await;
    let short = kit_of(agent(0, 50), 0, 100).await;
    for _ in 0..ROUNDS * 3 {
        floors.push(turn(&short, 20).await);
        figures.push(turn(&long, 20).await);
    }
    let (figure, floor) = (median(figures), median(floors));
    let extra = serde_json::json!({ "goal_ratio": 1.5 });
    report(
        "ai_context_10000_events",
        figure,
        floor,
        extra,
        figure / floor <= 1.5,
    );
}

fn main() {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build()
        .unwrap();
    let wanted: Vec<String> = std::env::args()
        .skip(1)
        .filter(|argument| !argument.starts_with("--"))
        .collect();
    let is_wanted = |row: &str| wanted.is_empty() || wanted.iter().any(|it| row.contains(it));
    runtime.block_on(async {
        if is_wanted("ai_turn_without_past") {
            a_turn("ai_turn_without_past", 0).await;
        }
        if is_wanted("ai_turn_after_50_events") {
            a_turn("ai_turn_after_50_events", 50).await;
        }
        if is_wanted("ai_delta") {
            a_delta().await;
        }
        if is_wanted("ai_context") {
            a_long_room().await;
        }
    });
}
