//! Streamed answers: shown as they come, committed once, taken back where a hook says so.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use futures_util::{StreamExt, stream};
use roomkit_core::channel::{Delta, DeltaStream, StreamFrame};
use roomkit_core::hook::{BeforeBroadcast, HookOptions, HookResult, OnError};
use roomkit_core::model::{
    ChannelBinding, ChannelCapabilities, ChannelId, ChannelType, DeliveryOutcome, RoomEvent,
};
use roomkit_core::{Channel, ChannelOutput, Error, Result, RoomContext, RoomKit};

use super::support::{Agent, Transport, room_of, say, shared, timeline_texts};

/// A channel that writes down what it is given, whole and as it comes. A clone is the same channel.
#[derive(Clone)]
struct Screen {
    id: ChannelId,
    capabilities: ChannelCapabilities,
    delay: Duration,
    /// The number of the frame that fails, if one does.
    fails_at: Option<usize>,
    seen: Arc<Mutex<Vec<String>>>,
}

impl Screen {
    fn new(id: &str) -> Self {
        Self {
            id: id.into(),
            capabilities: ChannelCapabilities::default(),
            delay: Duration::ZERO,
            fails_at: None,
            seen: Arc::default(),
        }
    }

    fn seen(&self) -> Vec<String> {
        self.seen.lock().unwrap().clone()
    }
}

fn in_short(frame: &StreamFrame) -> String {
    match frame {
        StreamFrame::Start(_) => "start".to_owned(),
        StreamFrame::Chunk {
            delta: Delta::Text(text),
            ..
        } => format!("+{text}"),
        StreamFrame::Chunk {
            delta: Delta::Thinking(text),
            ..
        } => format!("?{text}"),
        StreamFrame::Chunk {
            delta: Delta::ToolCallStart { name, .. },
            ..
        } => format!("tool {name}"),
        StreamFrame::Chunk { .. } => "chunk".to_owned(),
        StreamFrame::End { end, event } => {
            format!(
                "end {} #{} {}",
                end.code(),
                event.index,
                event.text().unwrap()
            )
        }
        StreamFrame::Replaced { event, .. } => {
            format!("replaced #{} {}", event.index, event.text().unwrap())
        }
        StreamFrame::Retracted {
            reason, blocked_by, ..
        } => {
            format!("retracted {reason} by {blocked_by}")
        }
        _ => "unknown".to_owned(),
    }
}

#[async_trait]
impl Channel for Screen {
    fn id(&self) -> &ChannelId {
        &self.id
    }

    fn channel_type(&self) -> ChannelType {
        ChannelType::Websocket
    }

    fn capabilities(&self) -> ChannelCapabilities {
        self.capabilities.clone()
    }

    fn supports_streaming(&self) -> bool {
        true
    }

    async fn deliver(
        &self,
        event: &Arc<RoomEvent>,
        _binding: &ChannelBinding,
        _context: &RoomContext,
    ) -> DeliveryOutcome {
        let text = event.text().unwrap_or_default();
        self.seen
            .lock()
            .unwrap()
            .push(format!("whole #{} {text}", event.index));
        DeliveryOutcome::sent()
    }

    async fn deliver_frame(
        &self,
        frame: &StreamFrame,
        _binding: &ChannelBinding,
        _context: &RoomContext,
    ) -> DeliveryOutcome {
        tokio::time::sleep(self.delay).await;
        let mut seen = self.seen.lock().unwrap();
        if self.fails_at == Some(seen.len()) {
            return DeliveryOutcome::failed("gone", "the screen is off");
        }
        seen.push(in_short(frame));
        DeliveryOutcome::sent()
    }
}

fn deltas(deltas: Vec<Result<Delta>>) -> DeltaStream {
    stream::iter(deltas).boxed()
}

fn text(text: &str) -> Result<Delta> {
    Ok(Delta::Text(text.to_owned()))
}

/// An agent that says these pieces to everything.
fn streams(pieces: fn() -> Vec<Result<Delta>>) -> Agent {
    Agent::new("agent", move |_, _| async move {
        Ok(ChannelOutput::stream(deltas(pieces())))
    })
}

fn got_it() -> Vec<Result<Delta>> {
    vec![
        Ok(Delta::Thinking("hm".into())),
        text("Got "),
        text("it"),
        Ok(Delta::End),
    ]
}

async fn kit_of(screen: &Screen, agent: &Agent) -> (RoomKit, Transport) {
    let kit = RoomKit::new();
    let sms = Transport::new("sms");
    let user = Transport::new("user");
    room_of(
        &kit,
        vec![shared(&user), shared(screen), shared(&sms), shared(agent)],
    )
    .await;
    (kit, sms)
}

#[tokio::test]
async fn an_answer_is_shown_as_it_comes_committed_once_and_whole_for_the_others() {
    let screen = Screen::new("screen");
    let (kit, sms) = kit_of(&screen, &streams(got_it)).await;
    let result = kit.process_inbound(say("user", "u", "hi")).await.unwrap();
    assert!(result.error.is_none());
    assert_eq!(
        screen.seen(),
        [
            "whole #4 hi",
            "start",
            "?hm",
            "+Got ",
            "+it",
            "end complete #5 Got it"
        ]
    );
    assert_eq!(sms.texts(), ["hi", "Got it"]);
    assert_eq!(timeline_texts(&kit).await, ["hi", "Got it"]);
}

#[tokio::test(start_paused = true)]
async fn channels_see_it_while_the_agent_is_still_speaking() {
    let screen = Screen::new("screen");
    let agent = Agent::new("agent", |_, _| async {
        let pieces = stream::unfold(0, |at| async move {
            if at == 3 {
                return None;
            }
            tokio::time::sleep(Duration::from_secs(10)).await;
            Some((text(&at.to_string()), at + 1))
        });
        Ok(ChannelOutput::stream(pieces.boxed()))
    });
    let (kit, sms) = kit_of(&screen, &agent).await;
    let (_, turn) = kit
        .process_inbound_deferred(say("user", "u", "hi"))
        .await
        .unwrap();
    tokio::time::sleep(Duration::from_secs(25)).await;
    assert_eq!(screen.seen(), ["whole #4 hi", "start", "+0", "+1"]);
    assert_eq!(sms.texts(), ["hi"]);
    turn.wait().await.unwrap();
    assert_eq!(screen.seen()[4..], ["+2", "end complete #5 012"]);
}

#[tokio::test]
async fn a_tool_call_cuts_the_answer_into_two_events() {
    let screen = Screen::new("screen");
    let agent = streams(|| {
        vec![
            text("Let me look."),
            Ok(Delta::ToolCallStart {
                id: "1".into(),
                name: "weather".into(),
            }),
            Ok(Delta::ToolCallEnd { id: "1".into() }),
            text("Sunny."),
        ]
    });
    let (kit, sms) = kit_of(&screen, &agent).await;
    kit.process_inbound(say("user", "u", "hi")).await.unwrap();
    assert_eq!(sms.texts(), ["hi", "Let me look.", "Sunny."]);
    let ends: Vec<_> = screen
        .seen()
        .into_iter()
        .filter(|line| line.starts_with("end"))
        .collect();
    assert_eq!(
        ends,
        ["end tool_call #5 Let me look.", "end complete #6 Sunny."]
    );
    assert_eq!(
        screen.seen().iter().filter(|line| *line == "start").count(),
        2
    );
}

#[tokio::test]
async fn a_hook_that_blocks_has_what_was_shown_taken_back_and_one_that_changes_replaced() {
    for (action, last) in [
        ("block", "retracted leak by moderation"),
        ("change", "replaced #5 [redacted]"),
        ("allow", "end complete #5 Got it"),
    ] {
        let screen = Screen::new("screen");
        let (kit, sms) = kit_of(&screen, &streams(got_it)).await;
        kit.hook(
            BeforeBroadcast,
            "moderation",
            move |mut event, _| async move {
                match (event.text(), action) {
                    (Some("Got it"), "block") => HookResult::block("leak"),
                    (Some("Got it"), "change") => {
                        event.set_text("[redacted]");
                        HookResult::modify(event)
                    }
                    _ => HookResult::allow(),
                }
            },
        );
        kit.process_inbound(say("user", "u", "hi")).await.unwrap();
        kit.wait_idle().await;
        assert_eq!(screen.seen().last().unwrap(), last);
        assert_eq!(
            screen
                .seen()
                .iter()
                .filter(|line| line.starts_with("whole"))
                .count(),
            1
        );
        assert_eq!(sms.texts().len(), if action == "block" { 1 } else { 2 });
    }
}

#[tokio::test]
async fn a_hook_that_holds_streams_shows_nothing_before_it_has_spoken() {
    for (source, held) in [("agent", true), ("somebody", false)] {
        let screen = Screen::new("screen");
        let (kit, _sms) = kit_of(&screen, &streams(got_it)).await;
        let options = HookOptions::new("moderation")
            .hold_streams()
            .channel_ids([source]);
        kit.hook(BeforeBroadcast, options, |_, _| async {
            HookResult::allow()
        });
        kit.process_inbound(say("user", "u", "hi")).await.unwrap();
        let expected = if held {
            "whole #5 Got it"
        } else {
            "end complete #5 Got it"
        };
        assert_eq!(screen.seen().last().unwrap(), expected);
        assert_eq!(screen.seen().contains(&"start".to_owned()), !held);
    }
}

#[tokio::test(start_paused = true)]
async fn what_was_said_before_the_end_is_kept_and_says_how_it_ended() {
    async fn ended_by(kit: &RoomKit, screen: &Screen, how: &str) {
        let event = kit.timeline("r", 5, 1).await.unwrap().remove(0);
        assert_eq!(event.text(), Some("half"));
        assert_eq!(event.metadata.get_str("stream_end"), Some(how));
        assert_eq!(*screen.seen().last().unwrap(), format!("end {how} #5 half"));
    }
    fn then<F: Future<Output = ()> + Send + 'static>(after: fn() -> F) -> Agent {
        Agent::new("agent", move |_, _| async move {
            let never = stream::once(async move {
                after().await;
                text("never")
            });
            Ok(ChannelOutput::stream(
                stream::iter([text("half")]).chain(never).boxed(),
            ))
        })
    }
    let screen = Screen::new("screen");
    let (kit, _) = kit_of(
        &screen,
        &streams(|| vec![text("half"), Err(Error::channel("lost"))]),
    )
    .await;
    kit.process_inbound(say("user", "u", "hi")).await.unwrap();
    ended_by(&kit, &screen, "failed").await;
    let event = kit.timeline("r", 5, 1).await.unwrap().remove(0);
    assert_eq!(
        event.metadata.get_str("stream_error"),
        Some("channel_failed")
    );

    let screen = Screen::new("screen");
    let (kit, _) = kit_of(&screen, &then(|| async { panic!("in the stream") })).await;
    kit.process_inbound(say("user", "u", "hi")).await.unwrap();
    ended_by(&kit, &screen, "failed").await;

    let screen = Screen::new("screen");
    let (kit, _) = kit_of(&screen, &then(std::future::pending)).await;
    kit.process_inbound(say("user", "u", "hi")).await.unwrap();
    ended_by(&kit, &screen, "timed_out").await;

    let screen = Screen::new("screen");
    let (kit, _) = kit_of(&screen, &then(std::future::pending)).await;
    let (_, turn) = kit
        .process_inbound_deferred(say("user", "u", "hi"))
        .await
        .unwrap();
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert!(kit.cancel_answer("r", "agent").await.unwrap());
    turn.wait().await.unwrap();
    ended_by(&kit, &screen, "cancelled").await;
    assert!(!kit.cancel_answer("r", "agent").await.unwrap());
}

#[tokio::test]
async fn what_breaks_off_without_further_words_marks_the_last_ones() {
    fn call() -> Result<Delta> {
        let (id, name) = ("1".into(), "weather".into());
        Ok(Delta::ToolCallStart { id, name })
    }
    fn lost() -> Result<Delta> {
        Err(Error::channel("lost"))
    }
    let in_call = streams(|| vec![text("Looking."), call(), lost()]);
    let after_call = streams(|| {
        let answered = Ok(Delta::ToolCallEnd { id: "1".into() });
        vec![text("Looking."), call(), answered, lost()]
    });
    for agent in [in_call, after_call] {
        let screen = Screen::new("screen");
        let (kit, _) = kit_of(&screen, &agent).await;
        kit.process_inbound(say("user", "u", "hi")).await.unwrap();
        assert_eq!(timeline_texts(&kit).await, ["hi", "Looking."]);
        let event = kit.timeline("r", 5, 1).await.unwrap().remove(0);
        assert_eq!(event.metadata.get_str("stream_end"), Some("failed"));
        assert_eq!(
            event.metadata.get_str("stream_error"),
            Some("channel_failed")
        );
        assert_eq!(screen.seen().last().unwrap(), "end failed #5 Looking.");
    }
}

#[tokio::test]
async fn an_answer_without_words_is_no_event_and_is_taken_back() {
    let screen = Screen::new("screen");
    let agent = streams(|| vec![Ok(Delta::Thinking("hm".into()))]);
    let (kit, _) = kit_of(&screen, &agent).await;
    kit.process_inbound(say("user", "u", "hi")).await.unwrap();
    kit.wait_idle().await;
    assert_eq!(
        screen.seen()[1..],
        ["start", "?hm", "retracted empty_answer by empty_answer"]
    );
    assert_eq!(timeline_texts(&kit).await, ["hi"]);
}

/// It is the agent's failure as if it had not begun to stream.
#[tokio::test]
async fn a_stream_that_fails_before_it_says_anything_is_a_failed_agent() {
    let screen = Screen::new("screen");
    let agent = streams(|| {
        vec![
            Ok(Delta::Thinking("hm".into())),
            Err(Error::channel("line lost")),
        ]
    });
    let (kit, _) = kit_of(&screen, &agent).await;
    let errors: Arc<Mutex<Vec<String>>> = Arc::default();
    let noted = Arc::clone(&errors);
    kit.hook(OnError, "errors", move |event, _| {
        let code = event.metadata.get_str("error_type").unwrap();
        noted.lock().unwrap().push(code.to_owned());
        async {}
    });
    let result = kit.process_inbound(say("user", "u", "hi")).await.unwrap();
    kit.wait_idle().await;
    assert_eq!(timeline_texts(&kit).await, ["hi"]);
    assert_eq!(
        screen.seen()[1..],
        ["start", "?hm", "retracted failed by failed"]
    );
    assert_eq!(result.error.as_deref(), Some("channel_failed: line lost"));
    assert_eq!(*errors.lock().unwrap(), ["channel_failed"]);
}

/// A slow channel holds neither the agent nor the others, and gets the answer whole.
#[tokio::test(start_paused = true)]
async fn a_channel_that_falls_behind_gets_the_answer_whole() {
    let mut slow = Screen::new("slow");
    slow.delay = Duration::from_secs(1);
    let quick = Screen::new("quick");
    let agent = streams(|| {
        (0..1_000)
            .map(|number| text(&format!("{number} ")))
            .collect()
    });
    let kit = RoomKit::new();
    let user = Transport::new("user");
    room_of(
        &kit,
        vec![shared(&user), shared(&slow), shared(&quick), shared(&agent)],
    )
    .await;
    let started = tokio::time::Instant::now();
    kit.process_inbound(say("user", "u", "hi")).await.unwrap();
    assert!(started.elapsed() < Duration::from_secs(1));
    assert!(slow.seen().last().unwrap().starts_with("whole #5 0 1 2"));
    assert!(
        quick
            .seen()
            .last()
            .unwrap()
            .starts_with("end complete #5 0 1 2")
    );
    assert_eq!(quick.seen().len(), 1_003, "every piece");
}

#[tokio::test]
async fn a_channel_that_fails_on_a_frame_gets_the_answer_whole() {
    let mut screen = Screen::new("screen");
    screen.fails_at = Some(3);
    let (kit, _) = kit_of(&screen, &streams(got_it)).await;
    kit.process_inbound(say("user", "u", "hi")).await.unwrap();
    assert_eq!(
        screen.seen(),
        ["whole #4 hi", "start", "?hm", "whole #5 Got it"]
    );
}

#[tokio::test]
async fn what_will_be_blocked_is_not_shown_at_all() {
    let screen = Screen::new("screen");
    let (kit, _) = kit_of(&screen, &streams(got_it)).await;
    kit.mute("r", "agent").await.unwrap();
    kit.process_inbound(say("user", "u", "hi")).await.unwrap();
    assert_eq!(screen.seen(), ["whole #5 hi"]);
    kit.unmute("r", "agent").await.unwrap();
    kit.set_visibility("r", "agent", "sms").await.unwrap();
    kit.process_inbound(say("user", "u", "again"))
        .await
        .unwrap();
    assert_eq!(
        screen.seen(),
        ["whole #5 hi", "whole #9 again"],
        "a whisper to another"
    );
}

#[tokio::test(start_paused = true)]
async fn a_room_that_closes_meanwhile_has_what_was_shown_taken_back() {
    let screen = Screen::new("screen");
    let agent = Agent::new("agent", |_, _| async {
        let late = stream::once(async {
            tokio::time::sleep(Duration::from_secs(5)).await;
            text("!")
        });
        Ok(ChannelOutput::stream(
            stream::iter([text("hello")]).chain(late).boxed(),
        ))
    });
    let (kit, _) = kit_of(&screen, &agent).await;
    let (_, turn) = kit
        .process_inbound_deferred(say("user", "u", "hi"))
        .await
        .unwrap();
    tokio::time::sleep(Duration::from_secs(1)).await;
    kit.close_room("r").await.unwrap();
    turn.wait().await.unwrap();
    kit.wait_idle().await;
    assert_eq!(
        screen.seen().last().unwrap(),
        "retracted room_closed by room_closed"
    );
}

#[tokio::test]
async fn an_answer_that_does_not_fit_is_replaced_by_what_does() {
    let mut screen = Screen::new("screen");
    screen.capabilities.max_length = Some(5);
    let (kit, _) = kit_of(&screen, &streams(|| vec![text("much too long")])).await;
    kit.process_inbound(say("user", "u", "hi")).await.unwrap();
    assert_eq!(screen.seen().last().unwrap(), "replaced #5 mu...");
}
