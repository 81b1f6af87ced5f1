//! Answers as they come, where the provider streams; whole otherwise.

use futures_util::StreamExt;
use roomkit_ai::{AiChannel, AiResponse, MockAiProvider, StreamEvent};
use roomkit_core::channel::{Delta, Response, StreamFrame};
use roomkit_core::model::{ChannelBinding, RoomEvent};
use roomkit_core::{Channel, ChannelOutput, Result, RoomContext};
use std::sync::{Arc, Mutex};

use crate::support::{AGENT, Counted, Form, ROOM, Stage, Streaming, calling};

fn shown(stage: &Stage) -> Vec<String> {
    let frames = stage.web.frames();
    let show = |frame: &StreamFrame| match frame {
        StreamFrame::Start(_) => "start".to_owned(),
        StreamFrame::Chunk { delta, .. } => match delta {
            Delta::Text(text) => text.clone(),
            Delta::ToolCallStart { name, .. } => format!("calls {name}"),
            Delta::ToolCallEnd { .. } => "called".to_owned(),
            other => format!("{other:?}"),
        },
        StreamFrame::End { event, .. } => format!("= {}", event.text().unwrap()),
        other => format!("{other:?}"),
    };
    frames.iter().map(show).collect()
}

#[tokio::test]
async fn a_streamed_answer_reaches_channels_word_by_word_and_is_cut_by_tools() {
    let mut first = calling("c1", "look");
    first.text = "Let me look.".to_owned();
    let script = [first, AiResponse::text("Found it.")];
    let agent = AiChannel::builder(AGENT)
        .provider(MockAiProvider::scripted(script))
        .tool(Counted::done("look"))
        .build()
        .unwrap();
    let stage = Stage::with(agent).await;
    stage.say("go").await;
    stage.kit.wait_idle().await;
    let mut shown = shown(&stage);
    let ends: Vec<String> = shown.extract_if(.., |it| it.starts_with("= ")).collect();
    assert_eq!(ends, ["= Let me look.", "= Found it."]);
    assert_eq!(
        shown,
        [
            "start",
            "Let ",
            "me ",
            "look.",
            "calls look",
            "start",
            "called",
            "Found ",
            "it."
        ]
    );
}

#[tokio::test]
async fn an_answer_of_a_provider_that_does_not_stream_comes_whole() {
    let agent = AiChannel::builder(AGENT)
        .shared_provider(Form::Whole.of(MockAiProvider::new(["All at once."])))
        .build()
        .unwrap();
    let stage = Stage::with(agent).await;
    stage.say("go").await;
    assert!(stage.web.frames().is_empty());
    let texts: Vec<_> = stage
        .web
        .deliveries()
        .into_iter()
        .map(|it| it.event.text().unwrap().to_owned())
        .collect();
    assert_eq!(texts, ["All at once."]);
}

/// An agent that writes down why its streams end, from the stream itself.
struct Observing(AiChannel, Arc<Mutex<Vec<String>>>);

#[roomkit_ai::async_trait]
impl Channel for Observing {
    fn id(&self) -> &roomkit_core::model::ChannelId {
        self.0.id()
    }

    fn channel_type(&self) -> roomkit_core::model::ChannelType {
        self.0.channel_type()
    }

    fn category(&self) -> roomkit_core::model::ChannelCategory {
        self.0.category()
    }

    async fn on_event(
        &self,
        event: &Arc<RoomEvent>,
        binding: &ChannelBinding,
        context: &RoomContext,
    ) -> Result<ChannelOutput> {
        let mut output = self.0.on_event(event, binding, context).await?;
        if let Response::Stream(deltas) = output.response {
            let seen = Arc::clone(&self.1);
            let observed = deltas.inspect(move |delta| {
                if let Ok(Delta::Metadata(facts)) = delta {
                    let reason = facts.get_str("loop_end_reason").unwrap();
                    let rounds = facts.get("loop_rounds").unwrap();
                    seen.lock().unwrap().push(format!("{reason} {rounds}"));
                }
            });
            output.response = Response::Stream(observed.boxed());
        }
        Ok(output)
    }
}

#[tokio::test]
async fn the_end_marker_of_a_stream_names_its_reason_also_where_it_is_completed() {
    let script = [calling("c1", "look"), AiResponse::text("Done.")];
    let agent = AiChannel::builder(AGENT)
        .provider(MockAiProvider::scripted(script))
        .tool(Counted::done("look"))
        .build()
        .unwrap();
    let seen = Arc::default();
    let stage = Stage::with(Observing(agent, Arc::clone(&seen))).await;
    stage.say("go").await;
    assert_eq!(*seen.lock().unwrap(), ["completed 1"]);
    assert!(
        stage
            .web
            .frames()
            .iter()
            .all(|it| !format!("{it:?}").contains("Metadata("))
    );
}

#[tokio::test(start_paused = true)]
async fn f42_cancelling_the_answer_through_the_kit_leaves_nothing_under_way() {
    let provider = Streaming::new(|_| {
        let first = futures_util::stream::iter([Ok(StreamEvent::Text("Once upon".into()))]);
        Ok(first.chain(futures_util::stream::pending()).boxed())
    });
    let agent = AiChannel::builder(AGENT)
        .provider(provider)
        .build()
        .unwrap();
    let stage = Stage::with(agent.clone()).await;
    tokio::join!(stage.say("go"), async {
        while stage.web.frames().len() < 2 {
            tokio::task::yield_now().await;
        }
        assert!(stage.kit.cancel_answer(ROOM, AGENT).await.unwrap());
    });
    let answer = stage.answers().await.pop().unwrap();
    assert_eq!(answer.text(), Some("Once upon"));
    assert_eq!(answer.metadata.get_str("stream_end"), Some("cancelled"));
    assert!(!agent.is_at_work(ROOM));
}

#[tokio::test]
async fn an_agent_does_not_answer_itself() {
    let agent = AiChannel::builder(AGENT)
        .provider(MockAiProvider::new(["Again."]))
        .build()
        .unwrap();
    let stage = Stage::with(agent).await;
    stage
        .kit
        .send_event(ROOM, AGENT, roomkit_core::model::EventContent::text("Me."))
        .await
        .unwrap();
    assert_eq!(stage.answers().await.len(), 1);
}
