//! Nothing that somebody wrote, no address and no payload is logged, unless it was asked for by name.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use futures_util::{StreamExt, stream};
use roomkit_core::channel::Delta;
use roomkit_core::hook::{
    AfterBroadcast, BeforeBroadcast, BoxError, Hook, HookOptions, HookResult, InjectedEvent,
    OnIdentityUnknown, OnProtocolTrace, RoomHooks,
};
use roomkit_core::model::{
    ChannelBinding, ChannelId, ChannelType, DeleteContent, DeliveryError, DeliveryOutcome,
    DeliveryStatus, EditContent, EventContent, IdentificationStatus, IdentityResult,
    InboundMessage, LocationContent, Metadata, Observation, ProtocolTrace, RateLimit, RetryPolicy,
    Room, RoomEvent, TextContent, TraceDirection, TracePayload,
};
use roomkit_core::source::{SourceEmitter, SourceProvider};
use roomkit_core::telemetry::{Metric, SpanEnd, SpanStart, TelemetryEvent, TelemetryProvider};
use roomkit_core::{
    Channel, ChannelOutput, Error, ErrorKind, EventDraft, IdentityResolver, LoopGuard, Reply,
    Result, RoomContext, RoomKit,
};
use std::sync::Mutex;

use super::subscriber::Ear;
use crate::pipeline::scripted_store::ScriptedStore;
use crate::pipeline::support::{Agent, Transport, room_of, say, shared};

/// In every text, address, payload and error of these conversations.
const SENTINEL: &str = "zebra";

fn words(what: &str) -> String {
    format!("{SENTINEL}-{what}")
}

fn broken(what: &str) -> Error {
    let cause: BoxError = words("cause").into();
    Error::channel(words(what)).with_source(cause)
}

/// Content that is not acceptable.
fn nowhere() -> EventContent {
    EventContent::Location(LocationContent {
        label: Some(words("label")),
        ..LocationContent::new(999.0, 0.0)
    })
}

/// A channel that fails at whatever it is told to by what the message says.
struct Fails(ChannelId);

#[async_trait]
impl Channel for Fails {
    fn id(&self) -> &ChannelId {
        &self.0
    }

    fn channel_type(&self) -> ChannelType {
        ChannelType::Sms
    }

    fn provider_name(&self) -> Option<Arc<str>> {
        Some("provider".into())
    }

    async fn handle_inbound(
        &self,
        message: InboundMessage,
        context: &RoomContext,
    ) -> Result<EventDraft> {
        match message.content.text_body() {
            Some(text) if text.ends_with("refused") => Err(broken("handle_inbound")),
            Some(text) if text.ends_with("panic") => panic!("{}", words("panic")),
            _ => Ok(EventDraft::inbound(
                message,
                ChannelType::Sms,
                None,
                context,
            )),
        }
    }

    async fn deliver(
        &self,
        event: &Arc<RoomEvent>,
        _binding: &ChannelBinding,
        _context: &RoomContext,
    ) -> DeliveryOutcome {
        match event.text() {
            Some(text) if text.ends_with("unknown") => {
                DeliveryOutcome::unknown("lost", words("unknown"))
            }
            Some(text) if text.ends_with("panic") => panic!("{}", words("panic")),
            _ => DeliveryOutcome::Failed(DeliveryError {
                retryable: true,
                ..DeliveryError::new("busy", words("failed"))
            }),
        }
    }
}

/// An agent for each way in which one can answer.
fn agent() -> Agent {
    Agent::new("bot", |event, _| async move {
        let text = event.text().unwrap_or_default();
        let last = text.rsplit('-').next().unwrap_or_default();
        match last {
            "error" => Err(broken("agent")),
            "panic" => panic!("{}", words("panic")),
            "stream" => {
                let deltas = [Ok(Delta::Text(words("delta"))), Err(broken("stream"))];
                Ok(ChannelOutput::stream(stream::iter(deltas).boxed()))
            }
            "invalid" => Ok(ChannelOutput::reply(Reply::new(nowhere()))),
            "quiet" => Ok(ChannelOutput::none()),
            _ => Ok(ChannelOutput::text(words("reply-quiet"))),
        }
    })
}

#[derive(Debug)]
struct Resolver(AtomicUsize);

#[async_trait]
impl IdentityResolver for Resolver {
    async fn resolve(
        &self,
        _message: &InboundMessage,
        _context: &RoomContext,
    ) -> Result<IdentityResult> {
        match self.0.fetch_add(1, Ordering::Relaxed) % 3 {
            0 => Err(broken("resolver")),
            1 => panic!("{}", words("panic")),
            _ => Ok(IdentityResult::new(IdentificationStatus::Unknown)),
        }
    }
}

/// Fails for one room.
#[derive(Debug)]
struct Hooks;

#[async_trait]
impl RoomHooks for Hooks {
    async fn hooks_of(&self, room: &Room) -> Result<Vec<Hook>> {
        if room.id == *"no-hooks" {
            return Err(broken("hooks"));
        }
        Ok(Vec::new())
    }
}

/// Brings one message in its first run, and fails in every one.
#[derive(Default)]
struct Source(AtomicUsize);

#[async_trait]
impl SourceProvider for Source {
    fn name(&self) -> &str {
        "source"
    }

    async fn start(&self, emit: SourceEmitter) -> Result<()> {
        emit.connected();
        if self.0.fetch_add(1, Ordering::Relaxed) == 0 {
            let message = InboundMessage::text("a", words("address"), words("source"));
            emit.emit(message).await?;
        }
        Err(Error::source(words("source failed")))
    }
}

/// Keeps all that it is told, as text.
#[derive(Debug, Clone, Default)]
struct Recorder(Arc<Mutex<Vec<String>>>);

impl Recorder {
    fn note(&self, what: &dyn fmt::Debug) {
        self.0.lock().unwrap().push(format!("{what:?}"));
    }
}

impl TelemetryProvider for Recorder {
    fn name(&self) -> &str {
        "recorder"
    }

    fn start_span(&self, span: &SpanStart) {
        self.note(span);
    }

    fn end_span(&self, span: &SpanEnd) {
        self.note(span);
    }

    fn record_metric(&self, metric: &Metric) {
        self.note(metric);
    }

    fn record_event(&self, event: &TelemetryEvent) {
        self.note(event);
    }
}

fn message(channel: &str, what: &str) -> InboundMessage {
    let mut message = say(channel, &words("address"), &words(what));
    message.raw_payload = Metadata::new().with(words("key"), words("payload"));
    message.metadata = Metadata::new().with("note", words("metadata"));
    message
}

/// A conversation through every path that logs, with all that can fail failing.
async fn converse(log_content: bool) -> (Vec<String>, Vec<String>, String) {
    let store = ScriptedStore::new({
        let commits = Arc::new(AtomicUsize::new(0));
        move |call| {
            let number = match call {
                "commit" => commits.fetch_add(1, Ordering::Relaxed),
                _ => 0,
            };
            async move {
                let kind = match number {
                    15 | 45 | 46 => ErrorKind::StoreFailed,
                    20 | 50 => ErrorKind::VersionConflict,
                    _ => return Ok(()),
                };
                Err(Error::new(kind, words("store")))
            }
        }
    });
    let recorder = Recorder::default();
    let mut builder = RoomKit::builder()
        .store(store)
        .identity(Arc::new(Resolver(AtomicUsize::new(0))))
        .room_hooks(Arc::new(Hooks))
        .telemetry(Arc::new(recorder.clone()))
        .loop_guard(LoopGuard::default())
        .max_chain_depth(2)
        .organization_rate_limit(RateLimit {
            max_per_second: Some(1.0),
            ..RateLimit::default()
        });
    if log_content {
        builder = builder.log_content();
    }
    let (ear, _guard) = Ear::listen();
    let kit = builder.build().unwrap();
    hooks(&kit);
    room_of(
        &kit,
        vec![
            shared(&Transport::new("a")),
            Arc::new(Fails("sms".into())),
            shared(&agent()),
        ],
    )
    .await;
    let retries = RetryPolicy {
        max_retries: 1,
        ..RetryPolicy::default()
    };
    kit.attach_channel("r", "sms")
        .retry_policy(retries)
        .await
        .unwrap();
    kit.on_any(|_| async {});

    for what in [
        "panic",
        "unknown",
        "hello",
        "again",
        "error",
        "stream",
        "invalid",
        "refused",
        "block",
        "modify",
        "hook",
        "hookpanic",
        "inject",
        "slow",
        "bad",
        "quiet",
    ] {
        for channel in ["a", "sms"] {
            // What becomes of it is told elsewhere; here it only has to be told without words.
            let _ = kit.process_inbound(message(channel, what)).await;
        }
    }
    let said = kit.process_inbound(message("a", "quiet")).await;
    let event = said.ok().and_then(|result| result.event);
    if let Some(event) = event {
        let edit = EditContent::new(event.id.clone(), TextContent::new(words("edited")));
        let _ = kit
            .process_inbound(InboundMessage::new("a", words("address"), edit).in_room("r"))
            .await;
        let delete = DeleteContent::new(event.id.clone());
        let _ = kit
            .process_inbound(InboundMessage::new("a", words("other"), delete).in_room("r"))
            .await;
        let _ = kit
            .update_event("r", event.id.clone())
            .content(TextContent::new(words("x")))
            .await;
        let _ = kit.delete_event("r", event.id.clone()).await;
    }
    let _ = kit
        .send_event("r", "a", TextContent::new(words("direct-quiet")))
        .await;
    let _ = kit
        .send_event("nowhere", "a", TextContent::new(words("direct")))
        .await;
    let _ = kit.process_inbound(message("none", "x")).await;
    let mut lost = message("a", "parent-quiet");
    lost.parent_event_id = Some("gone".into());
    let _ = kit.process_inbound(lost).await;
    let _ = kit
        .process_inbound(message("a", "hooks").in_room("no-hooks"))
        .await;
    let other = kit.org("other");
    for _ in 0..3 {
        let _ = other
            .process_inbound(InboundMessage::text("a", words("address"), words("x")))
            .await;
    }
    let mut status = DeliveryStatus::new("p", "unknown", "failed");
    status.recipient = words("address");
    status.error_message = Some(words("status"));
    status.raw = Metadata::new().with("raw", words("payload"));
    let _ = kit.process_delivery_status(status.clone()).await;
    status.message_id = "another".to_owned();
    let _ = kit
        .process_webhook("sms", [status.into(), message("sms", "webhook").into()])
        .await;
    kit.trace_emitter("a").emit(|now| {
        let mut trace = ProtocolTrace::new("a", TraceDirection::Inbound, "p", words("trace"), now);
        trace.raw = Some(TracePayload::Text(words("raw")));
        trace.session_id = Some(words("session"));
        trace
    });
    let _ = kit
        .ensure_participant("r", "sms", words("address").as_str(), None)
        .await;
    let _ = kit.ban_member("r", words("address").as_str()).await;
    let _ = kit.process_inbound(message("a", "banned")).await;
    let _ = kit
        .attach_source("a", Source::default())
        .max_restart_attempts(2)
        .await;
    tokio::time::sleep(Duration::from_secs(60)).await;
    assert_eq!(kit.trace_stats().waiting, 0, "it was too old");
    let _ = kit.close_room("r").await;
    let _ = kit.process_inbound(message("a", "late")).await;
    kit.wait_idle().await;
    kit.telemetry().flush().await;
    let spans = ear.spans().iter().map(|span| format!("{span:?}")).collect();
    let told = recorder.0.lock().unwrap().join("\n");
    (ear.lines(), spans, told)
}

fn hooks(kit: &RoomKit) {
    let options = HookOptions::new("decides").timeout(Duration::from_secs(1));
    kit.hook(BeforeBroadcast, options, |event, context| async move {
        let text = event.text().unwrap_or_default().to_owned();
        let injected = |content: EventContent| InjectedEvent::new(content, [ChannelId::from("a")]);
        let last = text.rsplit('-').next().unwrap_or_default();
        Ok(match last {
            "hook" => return Err(BoxError::from(words("hook"))),
            "hookpanic" => panic!("{}", words("panic")),
            "slow" => {
                tokio::time::sleep(Duration::from_secs(9)).await;
                HookResult::allow()
            }
            "block" => HookResult::block(words("reason")),
            "modify" => {
                let mut event = event;
                event.set_text(words("modified"));
                HookResult::modify(event)
            }
            "bad" => {
                let mut event = event;
                event.set_content(nowhere());
                HookResult::modify(event)
            }
            "inject" => {
                let at = context.now();
                let room = context.room_id().clone();
                HookResult::allow()
                    .observation(Observation::new(room, "a", "c", words("observation"), at))
                    .inject(injected(EventContent::text(words("injected"))))
                    .inject(injected(nowhere()))
            }
            _ => HookResult::allow(),
        })
    });
    kit.hook(AfterBroadcast, "looks on", |_, _| async {
        Err::<(), BoxError>(words("observer").into())
    });
    kit.hook(OnIdentityUnknown, "identity", |case, _| async move {
        if case
            .event
            .text()
            .is_some_and(|text| text.ends_with("again"))
        {
            return Err(BoxError::from(words("identity")));
        }
        Ok(match case.event.text() {
            Some(text) if text.ends_with("unknown") => {
                Some(roomkit_core::hook::IdentityDecision::Reject {
                    reason: words("rejected"),
                })
            }
            _ => None,
        })
    });
    kit.hook(OnProtocolTrace, "traces", |_, _| async {
        Err::<(), BoxError>(words("trace hook").into())
    });
}

/// What must have been logged for the conversation to have gone through the paths that it is for.
const LOGGED: [&str; 26] = [
    "event stored",
    "event was not stored",
    "binding changed",
    "room created",
    "hook failed",
    "hook timed out",
    "delivery failed",
    "delivery failed, trying again",
    "circuit breaker opened",
    "event refused",
    "streamed answer failed",
    "streamed answer broke off",
    "answer is not acceptable",
    "injected event is not acceptable",
    "identity resolver failed",
    "identity resolver panicked",
    "sender turned away",
    "parent event not found",
    "room changed meanwhile",
    "the room's hooks could not be loaded",
    "source failed",
    "source is given up",
    "report about an unknown message",
    "protocol traces dropped",
    "channel_panicked",
    "no answer may follow this one",
];

#[tokio::test(start_paused = true)]
async fn nobodys_words_are_logged() {
    let (lines, spans, told) = converse(false).await;
    for line in lines.iter().chain(&spans) {
        assert!(!line.contains(SENTINEL), "{line}");
    }
    assert!(!told.contains(SENTINEL), "the provider was told");
    let all = lines.join("\n");
    for expected in LOGGED {
        assert!(all.contains(expected), "never logged: {expected}");
    }
    assert!(
        lines.len() > 100 && spans.len() > 100,
        "{} {}",
        lines.len(),
        spans.len()
    );
}

#[tokio::test(start_paused = true)]
async fn words_are_logged_where_that_was_asked_for_and_spans_have_none_even_so() {
    let (lines, spans, told) = converse(true).await;
    let all = lines.join("\n");
    for expected in [
        "zebra-hello",
        "zebra-reply",
        "zebra-payload",
        "zebra-hook",
        "zebra-store",
        "zebra-resolver",
        "zebra-rejected",
        "zebra-stream",
        "zebra-hooks",
        "zebra-source failed",
        "zebra-observer",
        "zebra-address",
    ] {
        assert!(all.contains(expected), "{expected}");
    }
    let content =
        |line: &&String| line.contains("\"event content\"") || line.contains("event content");
    assert!(
        lines
            .iter()
            .filter(content)
            .all(|line| line.starts_with("DEBUG"))
    );
    for span in &spans {
        assert!(!span.contains(SENTINEL), "{span}");
    }
    assert!(!told.contains(SENTINEL));
}
