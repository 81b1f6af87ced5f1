//! An answer on its way to the channels that take it as it comes.
//!
//! Each of them has a bounded queue and a task that empties it. A channel that falls behind or fails
//! is dropped from the stream and gets the answer whole, so that no channel ever holds the agent.

use std::sync::Arc;

use tokio::sync::{mpsc, oneshot};

use super::pass::Outcome;
use crate::channel::{Channel, StreamEnd, StreamFrame, StreamStart};
use crate::context::RoomContext;
use crate::error::Result;
use crate::kit::Inner;
use crate::model::{ChannelBinding, ChannelId, DeliveryOutcome, RoomEvent};
use crate::sync::Mutex;
use crate::sync::guard::guard;
use crate::sync::inside::Inside;
use crate::sync::lock;

/// How many frames may wait for one channel.
const BACKLOG: usize = 256;

/// One answer as it comes; with a tool call between, each part is an answer of its own.
#[derive(Debug)]
pub(crate) struct Live {
    pub(crate) start: Arc<StreamStart>,
    feeds: Mutex<Vec<Feed>>,
    /// What was shown, once it has ended.
    shown: Mutex<Option<(String, StreamEnd)>>,
}

#[derive(Debug)]
struct Feed {
    channel: ChannelId,
    frames: mpsc::Sender<Item>,
}

struct Item {
    frame: StreamFrame,
    /// Set on the last frame: who waits for what becomes of it.
    sent: Option<oneshot::Sender<DeliveryOutcome>>,
}

/// A channel that takes the answer as it comes.
pub(super) struct Listener {
    pub(super) channel: Arc<dyn Channel>,
    pub(super) binding: Arc<ChannelBinding>,
    pub(super) context: RoomContext,
}

impl Live {
    /// Begins an answer for these channels.
    pub(super) fn begin(
        inner: &Arc<Inner>,
        start: StreamStart,
        listeners: Vec<Listener>,
    ) -> Arc<Self> {
        let start = Arc::new(start);
        let feeds = listeners
            .into_iter()
            .map(|listener| {
                let (frames, queue) = mpsc::channel(BACKLOG);
                let channel = listener.binding.channel_id.clone();
                inner.tasks.spawn(pump(Arc::clone(inner), listener, queue));
                Feed { channel, frames }
            })
            .collect();
        let live = Self {
            start: Arc::clone(&start),
            feeds: Mutex::new(feeds),
            shown: Mutex::default(),
        };
        live.publish(&StreamFrame::Start(start));
        Arc::new(live)
    }

    /// Queues a frame for every channel; one whose queue is full, or that has failed, is dropped.
    pub(super) fn publish(&self, frame: &StreamFrame) {
        lock(&self.feeds).retain(|feed| {
            let item = Item {
                frame: frame.clone(),
                sent: None,
            };
            let queued = feed.frames.try_send(item).is_ok();
            if !queued {
                tracing::warn!(
                    channel_id = %feed.channel, event_id = %self.start.event_id,
                    "channel left a stream and gets the answer whole"
                );
            }
            queued
        });
    }

    /// Takes note of what was shown in all, and of how it ended.
    pub(super) fn ended(&self, text: &str, end: StreamEnd) {
        *lock(&self.shown) = Some((text.to_owned(), end));
    }

    /// Takes note that the answer broke off after this part, in which nothing more was said.
    pub(super) fn broke_off(&self, how: StreamEnd) {
        if let Some((_, end)) = &mut *lock(&self.shown) {
            *end = how;
        }
    }

    /// Shows a channel the committed event, in its place in the lane. `None` when the channel is not
    /// in the stream, or left it, and must get the event whole.
    pub(super) async fn finish(
        &self,
        channel: &ChannelId,
        event: &Arc<RoomEvent>,
    ) -> Option<DeliveryOutcome> {
        let feed = self.leave(channel)?;
        let shown = lock(&self.shown).clone();
        let (text, end) = shown.unwrap_or((String::new(), StreamEnd::Complete));
        let event = Arc::clone(event);
        let frame = if event.text() == Some(&text) {
            StreamFrame::End { end, event }
        } else {
            StreamFrame::Replaced { end, event }
        };
        let (sent, outcome) = oneshot::channel();
        feed.frames
            .send(Item {
                frame,
                sent: Some(sent),
            })
            .await
            .ok()?;
        outcome.await.ok().filter(DeliveryOutcome::is_sent)
    }

    /// Tells every channel that is still in the stream that the answer is not to be shown.
    pub(super) fn retract(&self, reason: &str, blocked_by: &str) {
        self.retract_from(|_| true, reason, blocked_by);
    }

    /// Tells some of the channels that are in the stream that the answer is not to be shown.
    pub(super) fn retract_from(
        &self,
        which: impl Fn(&ChannelId) -> bool,
        reason: &str,
        blocked_by: &str,
    ) {
        let frame = StreamFrame::Retracted {
            start: Arc::clone(&self.start),
            reason: reason.to_owned(),
            blocked_by: blocked_by.to_owned(),
        };
        for feed in lock(&self.feeds).extract_if(.., |feed| which(&feed.channel)) {
            // A channel whose queue is full hears no more of the stream at all.
            let _ = feed.frames.try_send(Item {
                frame: frame.clone(),
                sent: None,
            });
        }
    }

    fn leave(&self, channel: &ChannelId) -> Option<Feed> {
        let mut feeds = lock(&self.feeds);
        let at = feeds.iter().position(|feed| feed.channel == *channel)?;
        Some(feeds.swap_remove(at))
    }
}

/// Hands the frames to the channel, until the last one or until the channel fails.
async fn pump(inner: Arc<Inner>, listener: Listener, mut queue: mpsc::Receiver<Item>) {
    let Listener {
        channel,
        binding,
        context,
    } = listener;
    while let Some(Item { frame, sent }) = queue.recv().await {
        let call = Inside::channel().scope(channel.deliver_frame(&frame, &binding, &context));
        let call = std::pin::pin!(call);
        let outcome = match guard(&*inner.clock, inner.settings.delivery_timeout, call).await {
            Ok(outcome) => outcome,
            Err(_) => DeliveryOutcome::unknown("channel_failed", "the channel failed on a frame"),
        };
        let is_sent = outcome.is_sent();
        if let Some(sent) = sent {
            // Whoever delivers the event may have been given up on.
            let _ = sent.send(outcome);
            return;
        }
        if !is_sent {
            return;
        }
    }
}

/// Shows those who saw a streamed answer coming what became of it.
pub(super) fn settle(live: &Arc<Live>, outcome: &mut Result<Outcome>) {
    match outcome {
        Ok(Outcome::Committed(committed, _)) => match &committed.block {
            Some(block) => live.retract(&block.reason, &block.blocked_by),
            None => {
                for job in &mut committed.jobs {
                    job.live = Some(Arc::clone(live));
                }
                let gets_it = |channel: &ChannelId| {
                    committed
                        .jobs
                        .iter()
                        .any(|job| job.binding.channel_id == *channel)
                };
                live.retract_from(|channel| !gets_it(channel), "not_visible", "not_visible");
            }
        },
        Ok(Outcome::Refused(refusal)) => live.retract(refusal.code(), refusal.code()),
        Ok(Outcome::Repeated(_)) => live.retract("repeated", "repeated"),
        Err(error) => live.retract(error.code(), error.code()),
    }
}
