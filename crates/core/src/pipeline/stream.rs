//! Streamed answers: followed to their end, shown as they come, put together for the commit.

use std::collections::VecDeque;
use std::panic::AssertUnwindSafe;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::{Either, FutureExt, select};
use futures_util::stream::StreamExt;
use tokio::sync::Notify;

use super::LaneKey;
use super::live::{Listener, Live};
use super::plan;
use super::reply::answer_event;
use crate::channel::{Channel, Delta, DeltaStream, Reply, StreamEnd, StreamFrame, StreamStart};
use crate::clock::{self, Elapsed};
use crate::draft::EventDraft;
use crate::error::{Error, ErrorKind, Result};
use crate::hook::BeforeBroadcast;
use crate::kit::Inner;
use crate::model::{ChannelBinding, ChannelCategory, EventId, Metadata, RoomEvent};
use crate::router::visibility;
use crate::sync::Mutex;
use crate::sync::lock;

/// After how many pieces at once the channels are let in between, so that none of them falls behind
/// only because the agent is not slowed by a network.
const BURST: usize = 64;

/// The answers that are being streamed, and how to cancel each.
#[derive(Debug, Default)]
pub(crate) struct Streaming(Mutex<Vec<(LaneKey, Arc<Notify>)>>);

impl Streaming {
    /// Cancels what an agent is saying in a room; `false` when it says nothing as it comes.
    pub(crate) fn cancel(&self, lane: &LaneKey) -> bool {
        let streaming = lock(&self.0);
        let found = streaming.iter().filter(|(other, _)| other == lane);
        found.map(|(_, cancel)| cancel.notify_one()).count() > 0
    }

    fn begin(&self, lane: LaneKey) -> Arc<Notify> {
        let cancel = Arc::new(Notify::new());
        lock(&self.0).push((lane, Arc::clone(&cancel)));
        cancel
    }

    fn end(&self, cancel: &Arc<Notify>) {
        lock(&self.0).retain(|(_, other)| !Arc::ptr_eq(other, cancel));
    }
}

/// The parts of a streamed answer, each with those who saw it coming.
#[derive(Debug, Default)]
pub(super) struct Followed {
    pub(super) replies: Vec<Reply>,
    pub(super) lives: VecDeque<Arc<Live>>,
    /// Why nothing was said, where the agent is to blame for it.
    pub(super) failure: Option<Error>,
    /// What the agent told of the turn.
    pub(super) metadata: Metadata,
}

/// What is said in one piece.
struct Part {
    live: Arc<Live>,
    text: String,
}

/// Follows an answer to its end, whatever end that is; what was said is kept.
pub(super) async fn follow(
    inner: &Arc<Inner>,
    trigger: &Arc<RoomEvent>,
    binding: &Arc<ChannelBinding>,
    mut deltas: DeltaStream,
    until: Duration,
) -> Followed {
    let lane = (trigger.room_id.clone(), binding.channel_id.clone());
    let cancel = inner.streaming.begin(lane);
    let mut followed = Followed::default();
    let mut part: Option<Part> = None;
    let mut shown: usize = 0;
    let (end, error) = loop {
        let delta = match next(inner, &mut deltas, &cancel, until).await {
            Ok(None | Some(Ok(Delta::End))) => break (StreamEnd::Complete, None),
            Ok(Some(Ok(Delta::Metadata(facts)))) => {
                followed.metadata.merge(&facts);
                continue;
            }
            Ok(Some(Ok(delta))) => delta,
            Ok(Some(Err(error))) => break (StreamEnd::Failed, Some(error)),
            Err(end) => break (end, None),
        };
        let current = match &mut part {
            Some(part) => part,
            None => part.insert(open(inner, trigger, binding).await),
        };
        if let Delta::Text(more) = &delta {
            current.text.push_str(more);
        }
        let cuts = matches!(delta, Delta::ToolCallStart { .. }) && !current.text.is_empty();
        let start = Arc::clone(&current.live.start);
        current.live.publish(&StreamFrame::Chunk { start, delta });
        shown += 1;
        if shown.is_multiple_of(BURST) {
            tokio::task::yield_now().await;
        }
        if cuts && let Some(part) = part.take() {
            close(&mut followed, part, StreamEnd::ToolCall, None);
        }
    };
    inner.streaming.end(&cancel);
    if !end.is_clean() {
        tracing::warn!(
            room_id = %trigger.room_id, channel_id = %binding.channel_id, end = end.code(),
            "streamed answer broke off"
        );
    }
    let code = error.as_ref().map(Error::code);
    let said = part.is_some_and(|part| close(&mut followed, part, end, code));
    // Broken off in a tool call or in silence: the last words tell of it.
    if !said
        && !end.is_clean()
        && let (Some(reply), Some(live)) = (followed.replies.last_mut(), followed.lives.back())
    {
        mark(reply, end, code);
        live.broke_off(end);
    }
    if followed.replies.is_empty() {
        followed.failure = match end {
            // Its own error, where it has one: that says what is to be mended.
            StreamEnd::Failed => error,
            StreamEnd::TimedOut => Some(Error::channel("the agent took too long")),
            StreamEnd::Complete | StreamEnd::ToolCall | StreamEnd::Cancelled => None,
        };
    }
    followed
}

/// The next piece, unless the answer is cancelled or takes too long before it comes.
async fn next(
    inner: &Inner,
    deltas: &mut DeltaStream,
    cancel: &Notify,
    until: Duration,
) -> Result<Option<Result<Delta>>, StreamEnd> {
    let next = pin!(AssertUnwindSafe(deltas.next()).catch_unwind());
    let cancelled = pin!(cancel.notified());
    let next = pin!(select(cancelled, next));
    match clock::timeout_at(&*inner.clock, until, next).await {
        Ok(Either::Left(_)) => Err(StreamEnd::Cancelled),
        Ok(Either::Right((Ok(delta), _))) => Ok(delta.inspect(|delta| {
            if let Err(error) = delta {
                tracing::error!(code = error.code(), error = %inner.shown(error), "streamed answer failed");
            }
        })),
        Ok(Either::Right((Err(_panic), _))) => Ok(Some(Err(Error::new(
            ErrorKind::Custom("channel_panicked"),
            "the agent panicked",
        )))),
        Err(Elapsed) => Err(StreamEnd::TimedOut),
    }
}

/// Begins a part: says to whom it may be shown as it comes.
async fn open(inner: &Arc<Inner>, trigger: &Arc<RoomEvent>, binding: &Arc<ChannelBinding>) -> Part {
    let probe = answer_event(inner, trigger, binding, Reply::text(""), &Metadata::new());
    let start = StreamStart {
        event_id: EventId::generate(),
        room_id: probe.room_id.clone(),
        source: probe.source.clone(),
        trigger_id: trigger.id.clone(),
        parent_event_id: probe.parent_event_id.clone(),
    };
    let listeners = listeners(inner, trigger, probe)
        .await
        .unwrap_or_else(|error| {
            tracing::error!(room_id = %trigger.room_id, code = error.code(), error = %inner.shown(&error), "answer is not shown as it comes");
            Vec::new()
        });
    Part {
        live: Live::begin(inner, start, listeners),
        text: String::new(),
    }
}

/// The channels that may see an answer as it comes: those that will get it, where nothing that is
/// known beforehand, and no hook that asked for it, holds it back.
async fn listeners(
    inner: &Arc<Inner>,
    trigger: &RoomEvent,
    mut probe: RoomEvent,
) -> Result<Vec<Listener>> {
    let Some(room) = inner.read(inner.store.room(&probe.room_id)).await? else {
        return Ok(Vec::new());
    };
    let Some(source) = room.binding(&probe.source.channel_id).cloned() else {
        return Ok(Vec::new());
    };
    let will_be_stopped = !room.room.status.accepts_events()
        || probe.chain_depth >= inner.settings.max_chain_depth
        || !source.can_write()
        || source.output_muted;
    if will_be_stopped {
        return Ok(Vec::new());
    }
    inner.loaded_hooks(&room.room).await?;
    let response = trigger.response_visibility.as_ref();
    probe.visibility = visibility::stamp(&probe.visibility, Some(&source), response, &room);
    let draft = EventDraft::new(probe.clone());
    if inner
        .hooks
        .holds_streams::<BeforeBroadcast>(&probe.room_id, &draft)
    {
        return Ok(Vec::new());
    }
    let context = inner.context(room);
    let takes = |binding: &Arc<ChannelBinding>| {
        let carries = binding.category != ChannelCategory::Intelligence;
        let channel = inner
            .channel(&binding.channel_id)
            .filter(|it| streams(&**it))?;
        (carries && plan::is_carried(&probe, binding)).then(|| Listener {
            channel,
            binding: Arc::clone(binding),
            context: context.for_reader(&binding.channel_id),
        })
    };
    Ok(context.bindings().iter().filter_map(takes).collect())
}

/// Whether a channel takes answers as they come; one that panics about it does not.
fn streams(channel: &dyn Channel) -> bool {
    std::panic::catch_unwind(AssertUnwindSafe(|| channel.supports_streaming())).unwrap_or_else(
        |_panic| {
            tracing::error!(channel_id = %channel.id(), "channel panicked when asked whether it streams");
            false
        },
    )
}

/// Ends a part; one without words is no answer, and `false` comes back.
fn close(followed: &mut Followed, part: Part, end: StreamEnd, error: Option<&'static str>) -> bool {
    let Part { live, text } = part;
    if text.is_empty() {
        let why = if end.is_clean() {
            "empty_answer"
        } else {
            end.code()
        };
        live.retract(why, why);
        return false;
    }
    live.ended(&text, end);
    let mut reply = Reply::text(text);
    if !end.is_clean() {
        mark(&mut reply, end, error);
    }
    followed.replies.push(reply);
    followed.lives.push_back(live);
    true
}

fn mark(reply: &mut Reply, end: StreamEnd, error: Option<&'static str>) {
    reply.metadata.insert("stream_end", end.code());
    if let Some(error) = error {
        reply.metadata.insert("stream_error", error);
    }
}
