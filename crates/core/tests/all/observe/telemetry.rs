//! Telemetry providers: what they are told, and that they can neither fail nor slow a kit.

use std::io::Write;
use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;

use roomkit_core::model::DeliveryOutcome;
use roomkit_core::telemetry::{
    Attributes, ConsoleTelemetryProvider, METRICS, Metric, MetricKind, NoopTelemetryProvider,
    SpanContext, SpanEnd, SpanStart, SpanStatus, TelemetryEvent, TelemetryProvider, metric,
};
use roomkit_core::{Channel, RoomKit, RoomKitBuilder};
use roomkit_testkit::ManualClock;

use crate::pipeline::support::{Agent, Transport, room_of, say, shared};

#[derive(Debug, Default)]
struct Told {
    starts: Vec<SpanStart>,
    ends: Vec<SpanEnd>,
    metrics: Vec<Metric>,
    events: Vec<TelemetryEvent>,
    flushes: usize,
    closes: usize,
}

/// Keeps what it is told. A clone is the same one.
#[derive(Debug, Clone, Default)]
struct Recorder {
    told: Arc<Mutex<Told>>,
    ambient: Option<SpanContext>,
}

impl TelemetryProvider for Recorder {
    fn name(&self) -> &str {
        "recorder"
    }

    fn ambient_parent(&self) -> Option<SpanContext> {
        self.ambient.clone()
    }

    fn start_span(&self, span: &SpanStart) {
        self.told.lock().unwrap().starts.push(span.clone());
    }

    fn end_span(&self, span: &SpanEnd) {
        self.told.lock().unwrap().ends.push(span.clone());
    }

    fn record_metric(&self, metric: &Metric) {
        self.told.lock().unwrap().metrics.push(metric.clone());
    }

    fn record_event(&self, event: &TelemetryEvent) {
        self.told.lock().unwrap().events.push(event.clone());
    }

    fn flush(&self) {
        self.told.lock().unwrap().flushes += 1;
    }

    fn close(&self) {
        self.told.lock().unwrap().closes += 1;
    }
}

impl Recorder {
    fn ends(&self) -> Vec<SpanEnd> {
        self.told.lock().unwrap().ends.clone()
    }

    fn only(&self, name: &str) -> SpanEnd {
        let mut ends = self.ends();
        ends.retain(|end| end.start.name == name);
        assert_eq!(ends.len(), 1, "{name}");
        ends.remove(0)
    }
}

async fn kit_of(builder: RoomKitBuilder, channels: Vec<Arc<dyn Channel>>) -> RoomKit {
    let kit = builder.build().unwrap();
    room_of(&kit, channels).await;
    kit
}

fn builder(provider: &(impl TelemetryProvider + Clone)) -> RoomKitBuilder {
    RoomKit::builder().telemetry(Arc::new(provider.clone()))
}

fn pair() -> Vec<Arc<dyn Channel>> {
    vec![shared(&Transport::new("a")), shared(&Transport::new("b"))]
}

#[tokio::test]
async fn a_provider_is_told_of_every_span_with_its_parent() {
    let recorder = Recorder::default();
    let mut channels = pair();
    channels.push(shared(&Agent::says("bot", "hello")));
    let clock = Arc::new(ManualClock::new());
    let kit = kit_of(builder(&recorder).clock(clock), channels).await;
    kit.process_inbound(say("a", "u", "hi")).await.unwrap();
    kit.telemetry().flush().await;

    let (root, reply) = (
        recorder.only("process_inbound"),
        recorder.only("process_reply"),
    );
    assert_eq!(root.start.parent, None);
    assert_eq!(root.status, SpanStatus::Ok);
    assert_eq!(root.attributes.get("room_id").unwrap().to_string(), "r");
    assert_eq!(reply.start.parent.as_ref(), Some(&root.start.context));
    let turn = recorder.only("ai_generate");
    let ends = recorder.ends();
    let broadcast = ends
        .iter()
        .find(|end| Some(&end.start.context) == turn.start.parent.as_ref())
        .unwrap();
    assert_eq!(broadcast.start.name, "broadcast");
    assert_eq!(broadcast.start.parent.as_ref(), Some(&root.start.context));
    for end in &ends {
        assert_eq!(end.start.context.trace_id(), root.start.context.trace_id());
        assert_eq!(end.ended_at(), end.start.started_at, "no time has passed");
    }
    let mut ids: Vec<_> = ends.iter().map(|end| end.start.context.span_id()).collect();
    let spans = ids.len();
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), spans);
    assert_eq!(recorder.told.lock().unwrap().starts.len(), spans);
}

#[tokio::test]
async fn metrics_are_those_of_the_list() {
    let recorder = Recorder::default();
    let failing = Transport::new("b").outcomes(|_| DeliveryOutcome::failed("no_route", "gone"));
    let channels = vec![
        shared(&Transport::new("a")),
        shared(&failing),
        shared(&Agent::says("bot", "hello")),
    ];
    let kit = kit_of(builder(&recorder), channels).await;
    kit.process_inbound(say("a", "u", "hi")).await.unwrap();
    kit.telemetry().flush().await;
    let metrics = std::mem::take(&mut recorder.told.lock().unwrap().metrics);
    let statuses = |name: &str| {
        let of_name = metrics.iter().filter(|metric| metric.name == name);
        let mut statuses: Vec<_> = of_name
            .map(|metric| metric.attributes.get("status").unwrap().to_string())
            .collect();
        statuses.sort();
        statuses
    };
    assert_eq!(statuses(metric::INBOUND_MESSAGES), ["accepted"]);
    assert_eq!(statuses(metric::INBOUND_LATENCY), ["accepted"]);
    // The message to b, the answer to a and to b.
    assert_eq!(statuses(metric::DELIVERIES), ["failed", "failed", "sent"]);
    assert_eq!(
        statuses(metric::DELIVERY_LATENCY),
        ["failed", "failed", "sent"]
    );
    assert_eq!(statuses(metric::AGENT_LATENCY), ["sent"]);
    let known = |told: &Metric| {
        METRICS
            .iter()
            .any(|(name, kind, unit)| (*name, *kind, *unit) == (told.name, told.kind, told.unit))
    };
    assert!(metrics.iter().all(known));
}

#[tokio::test]
async fn a_trace_comes_from_outside_and_goes_on_into_channels() {
    let seen = Arc::new(Mutex::new(Vec::new()));
    let agent = {
        let seen = Arc::clone(&seen);
        Agent::new("bot", move |_, _| {
            let seen = Arc::clone(&seen);
            async move {
                seen.lock().unwrap().push(SpanContext::current());
                Ok(roomkit_core::ChannelOutput::none())
            }
        })
    };
    let recorder = Recorder::default();
    let channels = vec![shared(&Transport::new("a")), shared(&agent)];
    let kit = kit_of(builder(&recorder), channels).await;
    let header = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
    let outside = SpanContext::from_traceparent(header)
        .unwrap()
        .with_tracestate("v=1");
    let call = kit.process_inbound(say("a", "u", "hi"));
    outside.clone().scope(call).await.unwrap();
    kit.telemetry().flush().await;
    assert_eq!(
        recorder.only("process_inbound").start.parent,
        Some(outside.clone())
    );
    let inside = seen.lock().unwrap()[0].clone().unwrap();
    assert_eq!(inside, recorder.only("ai_generate").start.context);
    assert_eq!(inside.trace_id(), outside.trace_id());
    assert_eq!(inside.tracestate(), Some("v=1"));
    assert!(
        inside
            .traceparent()
            .starts_with("00-0af7651916cd43dd8448eb211c80319c-")
    );
    assert!(SpanContext::current().is_none());
}

#[tokio::test]
async fn what_the_providers_library_knows_is_the_parent() {
    let ambient = SpanContext::new(7, 9, true);
    let recorder = Recorder {
        ambient: ambient.clone(),
        ..Recorder::default()
    };
    let kit = kit_of(builder(&recorder), pair()).await;
    kit.process_inbound(say("a", "u", "hi")).await.unwrap();
    kit.telemetry().flush().await;
    assert_eq!(recorder.only("process_inbound").start.parent, ambient);
}

#[test]
fn a_traceparent_that_is_none_is_refused() {
    let good = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-00";
    assert!(!SpanContext::from_traceparent(good).unwrap().is_sampled());
    for bad in [
        "",
        "00",
        "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331",
        "00-0AF7651916CD43DD8448EB211C80319C-b7ad6b7169203331-01",
        "00-00000000000000000000000000000000-b7ad6b7169203331-01",
        "00-0af7651916cd43dd8448eb211c80319c-0000000000000000-01",
        "ff-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
        "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01-x",
        "00-0af7651916cd43dd8448eb211c80319-b7ad6b71692033310-01",
        "00-+af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
    ] {
        assert_eq!(SpanContext::from_traceparent(bad), None, "{bad}");
    }
    let later = "01-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01-more";
    assert!(SpanContext::from_traceparent(later).is_some());
}

#[tokio::test]
async fn a_sample_is_whole_traces_and_all_metrics() {
    let recorder = Recorder::default();
    let kit = kit_of(builder(&recorder).telemetry_sample_rate(0.25), pair()).await;
    for _ in 0..400 {
        kit.process_inbound(say("a", "u", "hi")).await.unwrap();
    }
    kit.telemetry().flush().await;
    let ends = recorder.ends();
    let roots = ends
        .iter()
        .filter(|end| end.start.name == "process_inbound")
        .count();
    assert!((50..160).contains(&roots), "{roots} of 400");
    assert_eq!(
        ends.len(),
        roots * 4,
        "with store_event, broadcast and deliver"
    );
    let messages = {
        let told = recorder.told.lock().unwrap();
        let counted = |metric: &&Metric| metric.name == metric::INBOUND_MESSAGES;
        told.metrics.iter().filter(counted).count()
    };
    assert_eq!(messages, 400);

    let nothing = Recorder::default();
    let kit = kit_of(builder(&nothing).telemetry_sample_rate(0.0), pair()).await;
    let sampled = SpanContext::new(1, 2, true).unwrap();
    kit.process_inbound(say("a", "u", "hi")).await.unwrap();
    sampled
        .scope(kit.process_inbound(say("a", "u", "hi")))
        .await
        .unwrap();
    kit.telemetry().flush().await;
    assert_eq!(nothing.only("process_inbound").start.context.trace_id(), 1);
}

/// Panics at whatever it is told.
#[derive(Debug, Clone)]
struct Panics;

impl TelemetryProvider for Panics {
    fn name(&self) -> &str {
        "panics"
    }

    fn ambient_parent(&self) -> Option<SpanContext> {
        panic!("broken provider")
    }

    fn start_span(&self, _span: &SpanStart) {
        panic!("broken provider")
    }

    fn end_span(&self, _span: &SpanEnd) {
        panic!("broken provider")
    }

    fn record_metric(&self, _metric: &Metric) {
        panic!("broken provider")
    }

    fn flush(&self) {
        panic!("broken provider")
    }
}

#[tokio::test]
async fn a_provider_that_panics_harms_nothing() {
    let kit = kit_of(builder(&Panics), pair()).await;
    for _ in 0..3 {
        assert!(
            !kit.process_inbound(say("a", "u", "hi"))
                .await
                .unwrap()
                .blocked
        );
    }
    let telemetry = kit.telemetry();
    telemetry.flush().await;
    assert!(telemetry.stats().panicked > 10, "{:?}", telemetry.stats());
    kit.close(Duration::from_secs(5)).await.unwrap();
}

/// Answers nothing until it is let go.
#[derive(Debug, Clone, Default)]
struct Stuck(Arc<(Mutex<bool>, Condvar)>);

impl Stuck {
    fn let_go(&self) {
        *self.0.0.lock().unwrap() = true;
        self.0.1.notify_all();
    }

    fn hang(&self) {
        let mut free = self.0.0.lock().unwrap();
        while !*free {
            free = self.0.1.wait(free).unwrap();
        }
    }
}

impl TelemetryProvider for Stuck {
    fn name(&self) -> &str {
        "stuck"
    }

    fn end_span(&self, _span: &SpanEnd) {
        self.hang();
    }

    fn record_metric(&self, _metric: &Metric) {
        self.hang();
    }
}

#[tokio::test]
async fn a_provider_that_hangs_slows_nothing_and_is_told_no_more_than_fits() {
    let stuck = Stuck::default();
    let kit = kit_of(builder(&stuck).telemetry_queue(10), pair()).await;
    for _ in 0..100 {
        assert!(
            !kit.process_inbound(say("a", "u", "hi"))
                .await
                .unwrap()
                .blocked
        );
    }
    let telemetry = kit.telemetry();
    // Eleven or so are with the provider or wait for it; of a message there are more than ten.
    assert!(telemetry.stats().dropped > 900, "{:?}", telemetry.stats());
    stuck.let_go();
    telemetry.flush().await;
}

#[tokio::test(start_paused = true)]
async fn closing_waits_for_a_provider_only_so_long() {
    let stuck = Stuck::default();
    let kit = kit_of(builder(&stuck), pair()).await;
    kit.process_inbound(say("a", "u", "hi")).await.unwrap();
    assert!(kit.close(Duration::from_secs(1)).await.unwrap().is_clean());
    stuck.let_go();
}

#[tokio::test]
async fn closing_tells_all_that_is_left_and_a_kit_that_goes_lets_its_provider_go() {
    let recorder = Recorder::default();
    let kit = kit_of(builder(&recorder), pair()).await;
    kit.process_inbound(say("a", "u", "hi")).await.unwrap();
    kit.close(Duration::from_secs(60)).await.unwrap();
    assert_eq!(recorder.told.lock().unwrap().closes, 1);
    recorder.only("process_inbound");

    let recorder = Recorder::default();
    let told = Arc::downgrade(&recorder.told);
    let kit = kit_of(RoomKit::builder().telemetry(Arc::new(recorder)), pair()).await;
    let telemetry = kit.telemetry();
    drop(kit);
    assert!(telemetry.is_enabled(), "it does not know yet");
    telemetry.flush().await;
    while told.upgrade().is_some() {
        tokio::task::yield_now().await;
    }
}

/// The provider was told of all at the close, and has nobody left who could flush it.
#[tokio::test]
async fn flushing_after_the_close_ends_at_once() {
    let recorder = Recorder::default();
    let kit = kit_of(builder(&recorder), pair()).await;
    kit.close(Duration::from_secs(60)).await.unwrap();
    kit.telemetry().flush().await;
    kit.telemetry().flush().await;
}

#[tokio::test]
async fn other_crates_make_spans_metrics_and_events() {
    let recorder = Recorder::default();
    let kit = builder(&recorder).build().unwrap();
    let telemetry = kit.telemetry();
    let mut outer = telemetry.start_span("stt_transcribe", Attributes::new().with("provider", "p"));
    outer.set("words", 3_u32);
    let inner = outer
        .run(async {
            telemetry.record_event("endpoint", Attributes::new());
            telemetry.start_span("request", Attributes::new())
        })
        .await;
    let outside = outer.context().cloned();
    telemetry.record_metric("stt.words", MetricKind::Counter, 3.0, "", Attributes::new());
    inner.fail("provider_failed");
    drop(outer);
    telemetry.flush().await;
    let request = recorder.only("request");
    assert_eq!(request.start.parent, outside);
    assert_eq!(request.status, SpanStatus::Error);
    let transcribe = recorder.only("stt_transcribe");
    assert_eq!(
        transcribe.status,
        SpanStatus::Cancelled,
        "dropped without an end"
    );
    assert_eq!(transcribe.attributes.get("words").unwrap().to_string(), "3");
    let told = recorder.told.lock().unwrap();
    assert_eq!(told.events[0].context, outside);
    assert_eq!((told.metrics[0].name, told.flushes), ("stt.words", 1));
}

#[tokio::test]
async fn attributes_are_bounded() {
    let long = "é".repeat(1_000);
    let mut attributes = Attributes::new().with("long", long.as_str());
    let names: [&'static str; 2] = ["a", "b"];
    for round in 0..100_u32 {
        attributes.set(names[round as usize % 2], round);
    }
    assert_eq!(attributes.get("long").unwrap().to_string().len(), 256);
    assert_eq!(attributes.iter().count(), 3);
    assert_eq!(attributes.get("b").unwrap().to_string(), "99");
}

/// What was printed. A clone is the same.
#[derive(Clone, Default)]
struct Page(Arc<Mutex<Vec<u8>>>);

impl Write for Page {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

#[tokio::test]
async fn the_console_prints_a_line_for_each() {
    let page = Page::default();
    let console = ConsoleTelemetryProvider::to(page.clone());
    let builder = RoomKit::builder()
        .telemetry(Arc::new(console))
        .clock(Arc::new(ManualClock::new()));
    let kit = kit_of(builder, pair()).await;
    kit.process_inbound(say("a", "u", "hi")).await.unwrap();
    kit.telemetry().flush().await;
    let printed = String::from_utf8(page.0.lock().unwrap().clone()).unwrap();
    let lines: Vec<_> = printed.lines().collect();
    assert!(lines[0].starts_with("begin process_inbound "), "{printed}");
    let is_end = |line: &&&str| line.starts_with("end deliver ") && line.contains(" ok 0.000 ms ");
    assert_eq!(lines.iter().filter(is_end).count(), 1, "{printed}");
    let counted = "metric roomkit.deliveries 1.000  channel_id=b status=sent";
    assert!(lines.contains(&counted), "{printed}");
}

#[tokio::test]
async fn a_provider_that_does_nothing_is_none() {
    let kit = kit_of(builder(&NoopTelemetryProvider), pair()).await;
    assert!(!kit.telemetry().is_enabled());
    let span = kit.telemetry().start_span("x", Attributes::new());
    assert_eq!(span.context(), None);
    assert_eq!(span.run(async { SpanContext::current() }).await, None);
    for (builder, problem) in [
        (
            RoomKit::builder().telemetry_sample_rate(1.5),
            "invalid_input: telemetry_sample_rate: must be between 0 and 1",
        ),
        (
            RoomKit::builder().telemetry_sample_rate(f64::NAN),
            "invalid_input: telemetry_sample_rate: must be between 0 and 1",
        ),
        (
            RoomKit::builder().telemetry_queue(0),
            "invalid_input: telemetry_queue: must be at least 1",
        ),
    ] {
        assert_eq!(builder.build().unwrap_err().to_string(), problem);
    }
}
