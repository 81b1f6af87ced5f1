//! Protocol traces: who gets them, in which order, what waits for its room and how long.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use roomkit_core::hook::{Hook, OnProtocolTrace, RoomHooks};
use roomkit_core::model::{
    ChannelBinding, ChannelId, ChannelType, DeliveryOutcome, DeliveryStatus, InboundMessage,
    Metadata, ProtocolTrace, Room, RoomEvent, RoomId, TraceDirection, TracePayload,
};
use roomkit_core::redaction::{RawPayload, Redaction};
use roomkit_core::source::{SourceEmitter, SourceProvider};
use roomkit_core::trace::{TraceFilter, TraceLimits};
use roomkit_core::{Channel, Result, RoomContext, RoomKit, RoomKitBuilder};
use roomkit_testkit::ManualClock;

use crate::pipeline::support::{Transport, room_of, shared};

type Log = Arc<Mutex<Vec<String>>>;

/// A kit whose hook notes what each room is told, as `room:summary`.
fn watched(builder: RoomKitBuilder) -> (RoomKit, Log) {
    let kit = builder.build().unwrap();
    let log = Log::default();
    let seen = Arc::clone(&log);
    kit.hook(OnProtocolTrace, "watch", move |trace, context| {
        let seen = Arc::clone(&seen);
        async move {
            // Whoever is not told one after the other is found out here.
            tokio::task::yield_now().await;
            let line = format!("{}:{}", context.room_id(), trace.summary);
            seen.lock().unwrap().push(line);
        }
    });
    (kit, log)
}

fn lines(log: &Log) -> Vec<String> {
    std::mem::take(&mut *log.lock().unwrap())
}

fn trace(summary: &str) -> ProtocolTrace {
    ProtocolTrace::new(
        "sip",
        TraceDirection::Inbound,
        "sip",
        summary,
        chrono::DateTime::UNIX_EPOCH,
    )
}

fn of_session(summary: &str, session: &str) -> ProtocolTrace {
    let mut trace = trace(summary);
    trace.session_id = Some(session.to_owned());
    trace
}

fn of_room(summary: &str, room: &str) -> ProtocolTrace {
    let mut trace = trace(summary);
    trace.room_id = Some(room.into());
    trace
}

#[tokio::test]
async fn nothing_is_made_where_nobody_wants_it() {
    let kit = RoomKit::new();
    let emitter = kit.trace_emitter("sip");
    emitter.emit(|_| panic!("nobody wants this"));
    kit.emit_trace(of_session("INVITE", "1")).await.unwrap();
    assert!(!emitter.is_enabled());
    assert_eq!(kit.trace_stats(), Default::default());
    kit.hook(OnProtocolTrace, "watch", |_, _| async {});
    assert!(emitter.is_enabled());
    drop(kit);
    assert!(!emitter.is_enabled());
    emitter.emit(|_| panic!("the kit is gone"));
    roomkit_core::trace::TraceEmitter::disabled().emit(|_| panic!("no kit"));
}

#[tokio::test]
async fn a_session_is_told_in_order_once_it_is_bound() {
    let (kit, log) = watched(RoomKit::builder());
    let emitter = kit.trace_emitter("sip");
    for summary in ["INVITE", "100", "180"] {
        emitter.emit(|_| of_session(summary, "call"));
    }
    emitter.emit(|_| of_session("INVITE", "other"));
    kit.wait_idle().await;
    assert!(lines(&log).is_empty());
    assert_eq!(kit.trace_stats().waiting, 4);
    // Its room is known, and not there yet.
    emitter.bind("call", "r");
    kit.wait_idle().await;
    assert!(lines(&log).is_empty());
    room_of(&kit, vec![shared(&Transport::new("sip"))]).await;
    emitter.emit(|_| of_room("200", "r"));
    emitter.emit(|_| of_room("ACK", "r"));
    kit.wait_idle().await;
    assert_eq!(
        lines(&log),
        ["r:INVITE", "r:100", "r:180", "r:200", "r:ACK"]
    );
    let stats = kit.trace_stats();
    assert_eq!((stats.told, stats.waiting), (5, 1));
}

#[tokio::test]
async fn traces_of_a_room_wait_until_it_is_there_and_the_channel_attached() {
    let (kit, log) = watched(RoomKit::builder());
    let emitter = kit.trace_emitter("sip");
    emitter.emit(|_| of_room("INVITE", "r"));
    emitter.emit(|_| of_room("ACK", "r"));
    kit.wait_idle().await;
    kit.create_room("r").await.unwrap();
    kit.wait_idle().await;
    assert!(lines(&log).is_empty());
    kit.register_channel(Transport::new("sip")).unwrap();
    kit.attach_channel("r", "sip").await.unwrap();
    kit.wait_idle().await;
    assert_eq!(lines(&log), ["r:INVITE", "r:ACK"]);

    // The same where a message makes the room and attaches the channel.
    emitter.emit(|_| of_room("INVITE", "new"));
    let message = InboundMessage::text("sip", "u", "hello").in_room("new");
    kit.process_inbound(message).await.unwrap();
    kit.wait_idle().await;
    assert_eq!(lines(&log), ["new:INVITE"]);
}

/// A channel that knows the rooms of its calls.
struct Trunk(ChannelId);

#[async_trait]
impl Channel for Trunk {
    fn id(&self) -> &ChannelId {
        &self.0
    }

    fn channel_type(&self) -> ChannelType {
        ChannelType::Voice
    }

    fn resolve_trace_room(&self, session: Option<&str>) -> Option<RoomId> {
        match session? {
            "panics" => panic!("broken channel"),
            session => session.strip_prefix("call-of-").map(RoomId::from),
        }
    }

    async fn deliver(
        &self,
        _event: &Arc<RoomEvent>,
        _binding: &ChannelBinding,
        _context: &RoomContext,
    ) -> DeliveryOutcome {
        DeliveryOutcome::sent()
    }
}

#[tokio::test]
async fn a_channel_knows_the_room_of_a_session() {
    let (kit, log) = watched(RoomKit::builder());
    let emitter = kit.trace_emitter("sip");
    // Before the channel is registered, nobody knows.
    emitter.emit(|_| of_session("INVITE", "call-of-r"));
    kit.register_channel(Trunk("sip".into())).unwrap();
    kit.create_room("r").await.unwrap();
    emitter.emit(|_| of_session("ACK", "call-of-r"));
    emitter.emit(|_| of_session("?", "panics"));
    kit.wait_idle().await;
    assert_eq!(lines(&log), ["r:INVITE", "r:ACK"]);
    assert_eq!(kit.trace_stats().waiting, 1);

    // At the attachment, what waits is asked for.
    let (kit, log) = watched(RoomKit::builder());
    kit.trace_emitter("sip")
        .emit(|_| of_session("INVITE", "call-of-r"));
    room_of(&kit, vec![Arc::new(Trunk("sip".into()))]).await;
    kit.wait_idle().await;
    assert_eq!(lines(&log), ["r:INVITE"]);
}

#[tokio::test]
async fn what_waits_too_long_or_is_too_much_is_dropped_and_counted() {
    let clock = ManualClock::new();
    let limits = TraceLimits::default()
        .per_session(2)
        .total(3)
        .max_age(Duration::from_secs(60));
    let builder = RoomKit::builder()
        .clock(Arc::new(clock.clone()))
        .trace_limits(limits);
    let (kit, log) = watched(builder);
    let emitter = kit.trace_emitter("sip");
    for (session, summary) in [("a", "1"), ("a", "2"), ("a", "3"), ("b", "4"), ("c", "5")] {
        emitter.emit(|_| of_session(summary, session));
    }
    emitter.emit(|_| trace("of nothing"));
    let stats = kit.trace_stats();
    assert_eq!(
        (stats.waiting, stats.dropped_by_number, stats.without_room),
        (3, 2, 1)
    );
    clock.advance(Duration::from_secs(59));
    emitter.emit(|_| of_session("6", "c"));
    clock.advance(Duration::from_secs(1));
    let stats = kit.trace_stats();
    assert_eq!((stats.waiting, stats.dropped_by_age), (1, 2));
    assert_eq!(stats.dropped_by_number, 3);
    kit.create_room("r").await.unwrap();
    emitter.bind("c", "r");
    kit.wait_idle().await;
    assert_eq!(lines(&log), ["r:6"]);
    let refused = RoomKit::builder().trace_limits(limits.total(0)).build();
    let problem = "invalid_input: trace_limits.total: must be at least 1";
    assert_eq!(refused.unwrap_err().to_string(), problem);
}

#[tokio::test]
async fn an_organisation_tells_its_own_rooms_alone() {
    let (kit, log) = watched(RoomKit::builder());
    let (acme, other) = (kit.org("acme"), kit.org("other"));
    acme.create_room("r").await.unwrap();
    other.create_room("s").await.unwrap();
    other.trace_emitter("sip").emit(|_| of_room("stray", "r"));
    acme.trace_emitter("sip")
        .emit(|_| of_session("INVITE", "call"));
    // A session of another organisation's handle is another session.
    other.bind_trace_session("sip", "call", "s").await.unwrap();
    kit.wait_idle().await;
    assert!(lines(&log).is_empty());
    assert_eq!(
        (kit.trace_stats().without_room, kit.trace_stats().waiting),
        (1, 1)
    );
    acme.bind_trace_session("sip", "call", "r").await.unwrap();
    kit.wait_idle().await;
    assert_eq!(lines(&log), ["r:INVITE"]);
}

#[tokio::test]
async fn callbacks_get_what_they_ask_for_in_order() {
    let kit = RoomKit::new();
    let log = Log::default();
    for (name, filter) in [
        ("all", TraceFilter::all()),
        ("smtp", TraceFilter::all().protocols(["smtp"])),
        ("sip", TraceFilter::all().channel("sip")),
    ] {
        let log = Arc::clone(&log);
        kit.on_trace(filter, move |trace| {
            let log = Arc::clone(&log);
            async move {
                let line = format!("{name}:{}", trace.summary);
                log.lock().unwrap().push(line);
                assert_ne!(trace.summary, "1", "a callback may panic");
            }
        });
    }
    let emitter = kit.trace_emitter("sip");
    for summary in ["1", "2"] {
        emitter.emit(|_| trace(summary));
    }
    kit.trace_emitter("mail").emit(|now| {
        assert!(now > chrono::DateTime::UNIX_EPOCH);
        let mut mail = trace("3");
        mail.protocol = "smtp".to_owned();
        mail
    });
    kit.wait_idle().await;
    let mut told = lines(&log);
    told.sort();
    assert_eq!(
        told,
        ["all:1", "all:2", "all:3", "sip:1", "sip:2", "smtp:3"]
    );
    assert_eq!(kit.trace_stats().without_room, 0, "no hook wants them");
}

#[tokio::test]
async fn secrets_are_taken_out_before_anybody_sees_them() {
    let seen = Arc::new(Mutex::new(Vec::new()));
    let builder = RoomKit::builder()
        .trace_limits(TraceLimits::default().max_raw_bytes(90))
        .trace_redaction(Redaction::default().name("from"));
    let kit = builder.build().unwrap();
    let into = Arc::clone(&seen);
    kit.on_trace(TraceFilter::all(), move |trace| {
        let into = Arc::clone(&into);
        async move { into.lock().unwrap().push(trace) }
    });
    let raw = "REGISTER sip:x SIP/2.0\r\nFrom: <sip:+15550100@x>\r\nAuthorization: Digest zebra,\r\n  response=zebra\r\n\r\n";
    kit.trace_emitter("sip").emit(|_| {
        let mut trace = trace("GET https://bob:zebra@x/feed?api_key=zebra&since=3");
        trace.raw = Some(TracePayload::Text(format!("{raw}{}", "é".repeat(100))));
        trace.metadata = Metadata::new()
            .with(
                "headers",
                serde_json::json!([["Cookie", "zebra"], ["Via", "x"]]),
            )
            .with("auth_token", "zebra");
        trace
    });
    kit.trace_emitter("sip").emit(|_| {
        let mut trace = trace("bytes");
        let bytes = [b"Cookie: zebra\r\n\r\n".as_slice(), &[0xff; 200]].concat();
        trace.raw = Some(TracePayload::Bytes(bytes));
        trace
    });
    kit.wait_idle().await;
    let seen = seen.lock().unwrap();
    assert!(!format!("{seen:?}").contains("zebra"));
    let first = &seen[0];
    assert_eq!(
        first.summary,
        "GET https://[redacted]@x/feed?api_key=[redacted]&since=3"
    );
    let headers = serde_json::json!([["Cookie", "[redacted]"], ["Via", "x"]]);
    assert_eq!(first.metadata.get("headers"), Some(&headers));
    let Some(TracePayload::Text(text)) = &first.raw else {
        panic!("{first:?}")
    };
    let kept = "REGISTER sip:x SIP/2.0\r\nFrom: [redacted]\r\nAuthorization: [redacted]\r\n\r\n";
    assert!(text.starts_with(kept), "{text}");
    assert!(text.len() <= 90 && text.ends_with('é'));
    assert!(first.metadata.get("raw_bytes").is_some());
    let Some(TracePayload::Bytes(bytes)) = &seen[1].raw else {
        panic!("{seen:?}")
    };
    assert!(bytes.starts_with(b"Cookie: [redacted]\r\n\r\n\xff"));
    assert_eq!(bytes.len(), 90);
}

#[tokio::test]
async fn a_webhook_tells_of_each_item_in_its_room() {
    let builder = RoomKit::builder().raw_payload(RawPayload::Redact(Redaction::default()));
    let kit = builder.build().unwrap();
    let seen = Arc::new(Mutex::new(Vec::new()));
    let into = Arc::clone(&seen);
    kit.hook(OnProtocolTrace, "watch", move |trace, context| {
        let into = Arc::clone(&into);
        async move {
            into.lock()
                .unwrap()
                .push((context.room_id().clone(), trace))
        }
    });
    room_of(&kit, vec![shared(&Transport::new("sms"))]).await;
    let mut message = InboundMessage::text("sms", "+15550100", "hi").in_room("r");
    message.provider_message_id = Some("SM1".to_owned());
    message.raw_payload = Metadata::new()
        .with("AuthToken", "zebra")
        .with("Body", "hi");
    let mut status = DeliveryStatus::new("p", "SM0", "delivered");
    status.room_id = Some("r".into());
    status.raw = Metadata::new().with("secret", "zebra");
    let outcomes = kit
        .process_webhook("sms", [message.into(), status.into()])
        .await;
    assert!(outcomes.iter().all(std::result::Result::is_ok));
    kit.wait_idle().await;
    let seen = seen.lock().unwrap();
    let told: Vec<_> = seen
        .iter()
        .map(|(room, trace)| (room.as_str(), trace.summary.as_str()))
        .collect();
    assert_eq!(told, [("r", "message"), ("r", "report: delivered")]);
    let message = &seen[0].1;
    assert_eq!(
        (message.protocol.as_str(), message.direction),
        ("webhook", TraceDirection::Inbound)
    );
    assert_eq!(message.metadata.get_str("message_id"), Some("SM1"));
    let raw = r#"{"AuthToken":"[redacted]","Body":"hi"}"#;
    assert_eq!(message.raw, Some(TracePayload::Text(raw.to_owned())));
    assert!(!format!("{seen:?}").contains("zebra"));
}

/// Tells of its connection, then has nothing more to bring.
struct Feed;

#[async_trait]
impl SourceProvider for Feed {
    fn name(&self) -> &str {
        "feed"
    }

    async fn start(&self, emit: SourceEmitter) -> Result<()> {
        emit.traces().emit(|now| {
            let mut trace = ProtocolTrace::new("x", TraceDirection::Outbound, "http", "GET /", now);
            trace.session_id = Some("1".to_owned());
            trace
        });
        let message = InboundMessage::text("x", "u", "hi");
        let room = emit.emit(message).await?.event.unwrap().room_id.clone();
        emit.traces().bind("1", room);
        Ok(())
    }
}

#[tokio::test]
async fn a_source_tells_of_its_channel() {
    let (kit, log) = watched(RoomKit::builder());
    room_of(&kit, vec![shared(&Transport::new("feed"))]).await;
    kit.attach_source("feed", Feed).await.unwrap();
    while !kit.list_sources().is_empty() {
        tokio::task::yield_now().await;
    }
    kit.wait_idle().await;
    assert_eq!(lines(&log), ["r:message", "r:GET /"]);
}

/// Rooms whose hooks are asked for.
#[derive(Debug)]
struct Provided(Log);

#[async_trait]
impl RoomHooks for Provided {
    async fn hooks_of(&self, _room: &Room) -> Result<Vec<Hook>> {
        let log = Arc::clone(&self.0);
        Ok(vec![Hook::new(
            OnProtocolTrace,
            "provided",
            move |trace: ProtocolTrace, _| {
                let log = Arc::clone(&log);
                async move { log.lock().unwrap().push(trace.summary) }
            },
        )])
    }
}

#[tokio::test]
async fn hooks_that_are_asked_for_get_what_came_before() {
    let log = Log::default();
    let provider = Arc::new(Provided(Arc::clone(&log)));
    let kit = RoomKit::builder().room_hooks(provider).build().unwrap();
    kit.trace_emitter("sip").emit(|_| of_room("INVITE", "r"));
    room_of(&kit, vec![shared(&Transport::new("sip"))]).await;
    kit.wait_idle().await;
    assert_eq!(lines(&log), ["INVITE"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn order_holds_and_nothing_is_lost_under_load() {
    let limits = TraceLimits::default().per_session(10_000).total(20_000);
    let (kit, log) = watched(RoomKit::builder().trace_limits(limits));
    let emitter = kit.trace_emitter("sip");
    let emitting = {
        let emitter = emitter.clone();
        tokio::spawn(async move {
            for number in 0..2_000 {
                emitter.emit(|_| of_room(&format!("{number:04}"), "r"));
                if number % 7 == 0 {
                    tokio::task::yield_now().await;
                }
            }
        })
    };
    room_of(&kit, vec![shared(&Transport::new("sip"))]).await;
    emitting.await.unwrap();
    kit.wait_idle().await;
    let expected: Vec<_> = (0..2_000).map(|number| format!("r:{number:04}")).collect();
    assert_eq!(lines(&log), expected);
}
