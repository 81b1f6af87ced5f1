//! Transports and agents that work, unless the probe says otherwise.

use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use futures_util::stream;
use futures_util::{StreamExt, TryStreamExt};
use roomkit_core::channel::{Delta, StreamFrame};
use roomkit_core::model::{
    ChannelBinding, ChannelCapabilities, ChannelCategory, ChannelDirection, ChannelId, ChannelType,
    DeliveryOutcome, EventContent, EventId, InboundMessage, RoomEvent, RoomId,
};
use roomkit_core::{Channel, ChannelOutput, Error, EventDraft, Result, RoomContext};
use tokio::sync::Notify;

use crate::parts::CODE;
use crate::probe::{Moment, Part, Probe};
use crate::twist::Twist;

/// A message with this in it is answered by the agent that answers whole.
pub(crate) const ASKS: &str = "?";
/// One with this in it by the agent whose answers come in pieces.
pub(crate) const ASKS_FOR_A_STORY: &str = "tell";
/// A story that is asked for with this in it waits after its first piece.
pub(crate) const SLOWLY: &str = "slowly";

/// An event that a transport took.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Got {
    pub(crate) room: RoomId,
    pub(crate) event: EventId,
    pub(crate) index: u64,
    pub(crate) text: String,
}

/// A transport; a clone is the same one.
#[derive(Debug, Clone)]
pub(crate) struct FaultyTransport {
    id: ChannelId,
    streams: bool,
    probe: Probe,
    twist: Twist,
    got: Arc<Mutex<Vec<Got>>>,
}

impl FaultyTransport {
    pub(crate) fn new(id: &str, streams: bool, probe: &Probe, twist: Twist) -> Self {
        Self {
            id: id.into(),
            streams,
            probe: probe.clone(),
            twist,
            got: Arc::default(),
        }
    }

    /// What it took whole, or saw to the end as it came.
    pub(crate) fn got(&self) -> Vec<Got> {
        self.got
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    fn take(&self, event: &RoomEvent) {
        let got = Got {
            room: event.room_id.clone(),
            event: event.id.clone(),
            index: event.index,
            text: event.content.texts().join(" "),
        };
        let mut taken = self.got.lock().unwrap_or_else(PoisonError::into_inner);
        if self.twist == Twist::ChannelRepeats {
            taken.push(got.clone());
        }
        if self.twist != Twist::ChannelSwallows {
            taken.push(got);
        }
    }

    fn sync(&self, call: &str) {
        let call = format!("{call} of {}", self.id);
        self.probe.at_sync(Part::SourceChannel, &call);
    }

    async fn told(&self, call: &str) {
        let call = format!("{call} {}", self.id);
        self.probe
            .at_infallible(Part::DestinationChannel, &call)
            .await;
    }
}

#[async_trait]
impl Channel for FaultyTransport {
    fn id(&self) -> &ChannelId {
        &self.id
    }

    fn channel_type(&self) -> ChannelType {
        self.sync("type");
        ChannelType::Websocket
    }

    fn direction(&self) -> ChannelDirection {
        self.sync("direction");
        ChannelDirection::Bidirectional
    }

    fn capabilities(&self) -> ChannelCapabilities {
        self.sync("capabilities");
        ChannelCapabilities::default()
    }

    fn provider_name(&self) -> Option<Arc<str>> {
        self.sync("provider");
        Some("provider".into())
    }

    fn names_its_senders(&self) -> bool {
        self.sync("naming");
        false
    }

    async fn handle_inbound(
        &self,
        message: InboundMessage,
        context: &RoomContext,
    ) -> Result<EventDraft> {
        let call = format!("handle_inbound {}", self.id);
        self.probe
            .at(Part::SourceChannel, &call, Moment::Before)
            .await?;
        let channel_type = ChannelType::Websocket;
        Ok(EventDraft::inbound(message, channel_type, None, context))
    }

    async fn deliver(
        &self,
        event: &Arc<RoomEvent>,
        _binding: &ChannelBinding,
        _context: &RoomContext,
    ) -> DeliveryOutcome {
        let call = format!("deliver {}", self.id);
        let passed = self
            .probe
            .at(Part::DestinationChannel, &call, Moment::Before)
            .await;
        if let Err(fault) = passed {
            return DeliveryOutcome::failed(CODE, fault.to_string());
        }
        self.take(event);
        DeliveryOutcome::Sent {
            provider_message_id: Some(format!("{}-{}", self.id, event.id)),
        }
    }

    fn supports_streaming(&self) -> bool {
        self.sync("streaming");
        self.streams
    }

    async fn deliver_frame(
        &self,
        frame: &StreamFrame,
        _binding: &ChannelBinding,
        _context: &RoomContext,
    ) -> DeliveryOutcome {
        let call = format!("deliver_frame {}", self.id);
        let passed = self
            .probe
            .at(Part::DestinationChannel, &call, Moment::Before)
            .await;
        if let Err(fault) = passed {
            return DeliveryOutcome::failed(CODE, fault.to_string());
        }
        if let StreamFrame::End { event, .. } | StreamFrame::Replaced { event, .. } = frame {
            self.take(event);
        }
        DeliveryOutcome::sent()
    }

    async fn attached(&self, _room: &RoomId) {
        self.told("attached").await;
    }

    async fn detached(&self, _room: &RoomId) {
        self.told("detached").await;
    }

    async fn close(&self) {
        self.told("close").await;
    }
}

/// What an agent whose answer comes in pieces and somebody who cancels it wait for.
#[derive(Debug, Clone, Default)]
pub(crate) struct Tale {
    /// Its first piece is there, and it waits.
    pub(crate) begun: Arc<Notify>,
    /// It may go on.
    pub(crate) goes_on: Arc<Notify>,
}

/// How an agent talks.
#[derive(Debug, Clone)]
pub(crate) enum Manner {
    /// It answers whole.
    Whole,
    /// Its answers come in pieces.
    InPieces(Tale),
    /// It greets, by itself where a session begins, and answers nothing.
    Greets,
}

/// An agent that answers what is said to it, and no other agent.
#[derive(Debug, Clone)]
pub(crate) struct FaultyAgent {
    id: ChannelId,
    manner: Manner,
    probe: Probe,
}

impl FaultyAgent {
    pub(crate) fn new(id: &str, manner: Manner, probe: &Probe) -> Self {
        Self {
            id: id.into(),
            manner,
            probe: probe.clone(),
        }
    }

    /// An answer in three pieces, each of which may go wrong. A slow one waits after the first.
    fn story(&self, of: &str, tale: &Tale) -> ChannelOutput {
        let tale = of.contains(SLOWLY).then(|| tale.clone());
        let pieces = [
            Delta::Text("A story ".to_owned()),
            Delta::Text(format!("of {of}")),
            Delta::End,
        ];
        let probe = self.probe.clone();
        let pieces = stream::iter(pieces.into_iter().enumerate()).then(move |(at, piece)| {
            let (probe, tale) = (probe.clone(), tale.clone());
            async move {
                if let Some(tale) = tale.filter(|_| at == 1) {
                    tale.begun.notify_one();
                    tale.goes_on.notified().await;
                }
                let call = format!("piece {at}");
                probe.at(Part::Agent, &call, Moment::Before).await?;
                Ok::<_, Error>(piece)
            }
        });
        ChannelOutput::stream(pieces.into_stream().boxed())
    }
}

#[async_trait]
impl Channel for FaultyAgent {
    fn id(&self) -> &ChannelId {
        &self.id
    }

    fn channel_type(&self) -> ChannelType {
        ChannelType::Ai
    }

    fn category(&self) -> ChannelCategory {
        ChannelCategory::Intelligence
    }

    fn provider_name(&self) -> Option<Arc<str>> {
        let call = format!("provider of {}", self.id);
        self.probe.at_sync(Part::Agent, &call);
        None
    }

    fn greeting(&self) -> Option<String> {
        let call = format!("greeting of {}", self.id);
        self.probe.at_sync(Part::Agent, &call);
        matches!(self.manner, Manner::Greets).then(|| "Welcome".to_owned())
    }

    fn greets_by_itself(&self) -> bool {
        matches!(self.manner, Manner::Greets)
    }

    async fn on_event(
        &self,
        event: &Arc<RoomEvent>,
        _binding: &ChannelBinding,
        context: &RoomContext,
    ) -> Result<ChannelOutput> {
        let call = format!("on_event {}", self.id);
        self.probe.at(Part::Agent, &call, Moment::Before).await?;
        let words = match &event.content {
            EventContent::Text(text) => text.body.as_str(),
            _ => return Ok(ChannelOutput::none()),
        };
        let asks = match self.manner {
            Manner::Whole => ASKS,
            Manner::InPieces(_) => ASKS_FOR_A_STORY,
            Manner::Greets => return Ok(ChannelOutput::none()),
        };
        if event.chain_depth > 0 || !words.contains(asks) {
            return Ok(ChannelOutput::none());
        }
        // Reads what was said, as agents do.
        context.recent_events(10).await?;
        if let Manner::InPieces(tale) = &self.manner {
            return Ok(self.story(words, tale));
        }
        let answer = ChannelOutput::text(format!("answer to {words}"));
        Ok(answer
            .with_task(context.task(format!("task of {words}")))
            .with_observation(context.observation("asked", "a question"))
            .with_metadata_update("asked", true))
    }
}
