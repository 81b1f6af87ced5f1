//! What providers report later about messages they took: which event it is about, whether it says
//! anything new, and who is told.
//!
//! No commit comes of a report: a committed event is never marked again, and a new version of it
//! would be an edit that nobody made. What is remembered lies in memory, bounded, by message.
//!
//! Its rules: RFC §9.2, `ON_DELIVERY_STATUS`; what a delivery comes to is §5.13.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use super::{Inner, RoomKit, Rooms};
use crate::error::{Error, ErrorKind, Result};
use crate::hook::{HookOptions, IntoHookReturn, OnDeliveryStatus};
use crate::model::{
    ChannelId, DeliveryOutcome, DeliveryState, DeliveryStatus, EventId, FrameworkEvent,
    FrameworkEventType, Metadata, RoomEvent, RoomId, StatusOutcome,
};
use crate::pipeline::Scope;
use crate::store::RoomSnapshot;
use crate::sync::Mutex;
use crate::sync::lock;

/// Reports about how many messages that nobody has sent yet are remembered.
const MOST_STRANGERS: usize = 1_024;

/// How many reports about one such message are kept until it is known, without their raw form.
const MOST_HELD: usize = 8;

/// How long a provider's id of a message may be, in bytes.
const LONGEST_ID: usize = 1_024;

impl RoomKit {
    /// Calls `function` with every report about a message that went out which says something new: a
    /// hook at [`OnDeliveryStatus`] for all rooms that needs no more than the report.
    ///
    /// ```
    /// # use roomkit_core::{RoomKit, model::DeliveryState};
    /// let kit = RoomKit::new();
    /// kit.on_delivery_status("failures", |status| async move {
    ///     if status.state() == Some(DeliveryState::Failed) {
    ///         println!("{} failed: {:?}", status.message_id, status.error_code);
    ///     }
    /// });
    /// ```
    pub fn on_delivery_status<F, Fut>(&self, options: impl Into<HookOptions>, function: F)
    where
        F: Fn(DeliveryStatus) -> Fut + Send + Sync + 'static,
        Fut: Future + Send + 'static,
        Fut::Output: IntoHookReturn<()>,
    {
        self.hook(OnDeliveryStatus, options, move |status, _room| {
            function(status)
        });
    }
}

impl Rooms {
    /// Takes a provider's report about a message that went out.
    ///
    /// The message is found by the provider's id of it, which the channel returned when it delivered.
    /// A message's state only [moves up](DeliveryState); hooks at [`OnDeliveryStatus`] and listeners of
    /// `delivery_status_changed` are told when it does, and of a word that stands for no state. A
    /// repeat, and what comes too late, changes nothing and is told to nobody.
    ///
    /// A report may be faster than the provider's own answer: one about a message that is not known
    /// is told once that is known. Until then, or where another process sent it, its room is the one
    /// that the report names, else the one open room of its channel; where that is not clear either,
    /// listeners hear `delivery_status_unknown` and nobody else anything.
    ///
    /// # Errors
    /// [`RoomNotFound`](ErrorKind::RoomNotFound) where the report names a room that there is not;
    /// [`InvalidInput`](ErrorKind::InvalidInput) where `message_id` is empty or longer than 1,024 bytes.
    pub async fn process_delivery_status(&self, status: DeliveryStatus) -> Result<StatusOutcome> {
        self.to_end(|inner, scope| async move {
            inner.closing.check()?;
            process(&inner, &scope, status).await
        })
        .await
    }
}

/// What is known of the messages that providers took, and of those that they reported about first.
#[derive(Debug)]
pub(crate) struct Receipts {
    most: usize,
    books: Mutex<Books>,
}

#[derive(Debug)]
struct Books {
    known: Book,
    strange: Book,
}

/// Messages by the provider's id; the oldest are forgotten.
#[derive(Debug)]
struct Book {
    by_id: HashMap<Arc<str>, Vec<Message>>,
    order: VecDeque<Arc<str>>,
    most: usize,
}

/// A message, as far as it is known.
#[derive(Debug, Clone, Default)]
struct Message {
    channel: Option<ChannelId>,
    provider: Option<String>,
    room: Option<RoomId>,
    event: Option<EventId>,
    state: Option<DeliveryState>,
    /// It was reported as failed after it had arrived.
    failed_late: bool,
    /// The last word that stands for no state.
    other: Option<String>,
    /// Reports that nobody could be told of yet.
    held: Vec<(Scope, DeliveryStatus)>,
}

impl Message {
    /// Whether a report of this channel and provider may be about it.
    fn fits(&self, channel: Option<&ChannelId>, provider: &str) -> bool {
        match (&self.channel, channel) {
            (Some(own), Some(other)) => own == other,
            _ => self
                .provider
                .as_deref()
                .is_none_or(|own| own == provider || provider.is_empty()),
        }
    }

    /// Takes note of a report; whether it says something new.
    fn take(&mut self, status: &DeliveryStatus) -> bool {
        match status.state() {
            Some(state) if self.state < Some(state) => {
                self.state = Some(state);
                true
            }
            Some(DeliveryState::Failed) if self.state > Some(DeliveryState::Failed) => {
                if !std::mem::replace(&mut self.failed_late, true) {
                    tracing::warn!(
                        provider = status.provider,
                        message_id = status.message_id,
                        error_code = status.error_code,
                        "message failed after it had arrived"
                    );
                }
                false
            }
            Some(_) => false,
            None => {
                let is_new = self.other.as_ref() != Some(&status.status);
                self.other = Some(status.status.clone());
                is_new
            }
        }
    }
}

impl Book {
    fn new(most: usize) -> Self {
        Self {
            by_id: HashMap::new(),
            order: VecDeque::new(),
            most,
        }
    }

    fn put(&mut self, id: &str, message: Message) {
        if self.most == 0 {
            return;
        }
        while self.order.len() >= self.most {
            self.forget_oldest();
        }
        let id: Arc<str> = id.into();
        self.order.push_back(Arc::clone(&id));
        self.by_id.entry(id).or_default().push(message);
    }

    fn has(&self, id: &str, channel: &ChannelId) -> bool {
        self.by_id.get(id).is_some_and(|messages| {
            messages
                .iter()
                .any(|message| message.channel.as_ref() == Some(channel))
        })
    }

    fn forget_oldest(&mut self) {
        let Some(id) = self.order.pop_front() else {
            return;
        };
        if let Some(messages) = self.by_id.get_mut(&id) {
            if !messages.is_empty() {
                messages.remove(0);
            }
            if messages.is_empty() {
                self.by_id.remove(&id);
            }
        }
    }

    /// The one message that a report can be about; none where several can.
    fn find(
        &mut self,
        id: &str,
        channel: Option<&ChannelId>,
        provider: &str,
    ) -> Option<&mut Message> {
        let messages = self.by_id.get_mut(id)?;
        let mut fitting = messages
            .iter_mut()
            .filter(|message| message.fits(channel, provider));
        let found = fitting.next()?;
        fitting.next().is_none().then_some(found)
    }

    fn take_out(&mut self, id: &str, channel: &ChannelId, provider: &str) -> Option<Message> {
        let messages = self.by_id.get_mut(id)?;
        let at = messages
            .iter()
            .position(|message| message.fits(Some(channel), provider))?;
        let message = messages.remove(at);
        if messages.is_empty() {
            self.by_id.remove(id);
        }
        if let Some(at) = self.order.iter().position(|other| **other == *id) {
            self.order.remove(at);
        }
        Some(message)
    }
}

impl Receipts {
    pub(super) fn new(most: usize) -> Self {
        let books = Books {
            known: Book::new(most),
            strange: Book::new(MOST_STRANGERS.min(most)),
        };
        Self {
            most,
            books: Mutex::new(books),
        }
    }

    /// Remembers which event a message carries that a provider just took. Costs nothing where the
    /// provider gives no id.
    pub(crate) fn sent(
        &self,
        inner: &Arc<Inner>,
        event: &RoomEvent,
        channel: &ChannelId,
        outcome: &DeliveryOutcome,
    ) {
        let DeliveryOutcome::Sent {
            provider_message_id: Some(id),
        } = outcome
        else {
            return;
        };
        if self.most == 0 || id.is_empty() || id.len() > LONGEST_ID {
            return;
        }
        let provider = inner.provider_of(channel);
        let provider = provider.as_deref();
        let held = {
            let mut books = lock(&self.books);
            let early = match provider {
                _ if books.strange.order.is_empty() => None,
                provider => books
                    .strange
                    .take_out(id, channel, provider.unwrap_or_default()),
            };
            let mut message = early.unwrap_or_default();
            let held = std::mem::take(&mut message.held);
            if books.known.has(id, channel) {
                // An edit of a message that the provider took before.
                return;
            }
            message.channel = Some(channel.clone());
            message.provider = provider.map(str::to_owned);
            message.room = Some(event.room_id.clone());
            message.event = Some(event.id.clone());
            books.known.put(id, message);
            held
        };
        if held.is_empty() {
            return;
        }
        let inner_of_task = Arc::clone(inner);
        inner.tasks.spawn(async move {
            for (scope, status) in held {
                if let Err(error) = process(&inner_of_task, &scope, status).await {
                    let inner = &inner_of_task;
                    tracing::error!(code = error.code(), error = %inner.shown(&error), "a report that came early could not be told");
                }
            }
        });
    }
}

async fn process(
    inner: &Arc<Inner>,
    scope: &Scope,
    status: DeliveryStatus,
) -> Result<StatusOutcome> {
    if status.message_id.is_empty() || status.message_id.len() > LONGEST_ID {
        let problem = format!("message_id: must have 1 to {LONGEST_ID} bytes");
        return Err(Error::new(ErrorKind::InvalidInput, problem));
    }
    let named = match &status.room_id {
        Some(room) => Some(inner.visible_room(scope, room).await?),
        None => None,
    };
    loop {
        let known = find_known(inner, &status);
        let was_known = known.is_some();
        let (message_room, channel) = known.unwrap_or_default();
        let message_room = match message_room {
            // What another organisation sent is as good as not sent.
            Some(room) => {
                let room = inner.read(inner.store.room(&room)).await?;
                room.filter(|room| scope.admits(&room.room))
            }
            None => None,
        };
        let mut status = status.clone();
        let is_known = message_room.is_some();
        if is_known {
            status.channel_id = status.channel_id.or(channel);
        }
        let room = match message_room.or_else(|| named.clone()) {
            Some(room) => Some(room),
            None => only_room(inner, scope, status.channel_id.as_ref()).await?,
        };
        let noted = {
            let mut books = lock(&inner.receipts.books);
            if !was_known && books.find_known(&status).is_some() {
                // The provider has answered meanwhile.
                continue;
            }
            books.note(scope, &status, room.as_ref(), is_known)
        };
        return Ok(tell(inner, status, room, noted).await);
    }
}

type Place = (Option<RoomId>, Option<ChannelId>);

fn find_known(inner: &Inner, status: &DeliveryStatus) -> Option<Place> {
    let mut books = lock(&inner.receipts.books);
    let found = books.find_known(status)?;
    Some((found.room.clone(), found.channel.clone()))
}

/// Tells of a report that was entered, where it says something new.
async fn tell(
    inner: &Arc<Inner>,
    mut status: DeliveryStatus,
    room: Option<RoomSnapshot>,
    (outcome, is_first): (StatusOutcome, bool),
) -> StatusOutcome {
    let Some(room) = room else {
        if is_first {
            tracing::info!(
                provider = status.provider,
                message_id = status.message_id,
                "report about an unknown message"
            );
            let kind = FrameworkEventType::DeliveryStatusUnknown;
            emit(inner, kind, &status, &outcome);
        }
        return outcome;
    };
    if outcome.told {
        inner.load_hooks(&room.room).await;
        status.room_id = Some(room.room.id.clone());
        inner.observe::<OnDeliveryStatus>(&inner.context(room), &status);
        let kind = FrameworkEventType::DeliveryStatusChanged;
        emit(inner, kind, &status, &outcome);
    }
    outcome
}

/// The open room of a channel, where there is one and no more.
async fn only_room(
    inner: &Inner,
    scope: &Scope,
    channel: Option<&ChannelId>,
) -> Result<Option<RoomSnapshot>> {
    let Some(channel) = channel else {
        return Ok(None);
    };
    let rooms = inner.store.rooms_of_channel(scope.0.as_ref(), channel, 2);
    let rooms = inner.read(rooms).await?;
    let [room] = &*rooms else { return Ok(None) };
    let room = inner.read(inner.store.room(room)).await?;
    Ok(room.filter(|room| scope.admits(&room.room)))
}

impl Books {
    fn find_known(&mut self, status: &DeliveryStatus) -> Option<&mut Message> {
        let (id, channel) = (&status.message_id, status.channel_id.as_ref());
        self.known.find(id, channel, &status.provider)
    }

    /// Enters a report; with it comes whether it is the first about a message that is not known.
    fn note(
        &mut self,
        scope: &Scope,
        status: &DeliveryStatus,
        room: Option<&RoomSnapshot>,
        is_known: bool,
    ) -> (StatusOutcome, bool) {
        let (id, channel) = (&status.message_id, status.channel_id.as_ref());
        let mut is_first = false;
        let mut forgotten = Message::default();
        let message = if is_known {
            self.find_known(status)
        } else {
            // Where several fit it is not clear which, and none is made.
            if !self.strange.by_id.contains_key(id.as_str()) {
                is_first = true;
                let message = Message {
                    channel: channel.cloned(),
                    provider: Some(status.provider.clone()),
                    ..Message::default()
                };
                self.strange.put(id, message);
            }
            self.strange.find(id, channel, &status.provider)
        };
        let message = message.unwrap_or(&mut forgotten);
        let told = room.is_some() && message.take(status);
        if room.is_none() && message.held.len() < MOST_HELD {
            let mut status = status.clone();
            status.raw = Metadata::new();
            message.held.push((scope.clone(), status));
        }
        let outcome = StatusOutcome {
            room_id: room.map(|room| room.room.id.clone()),
            event_id: message.event.clone(),
            channel_id: status.channel_id.clone(),
            state: message.state,
            failed_late: message.failed_late,
            told,
        };
        (outcome, is_first)
    }
}

fn emit(inner: &Inner, kind: FrameworkEventType, status: &DeliveryStatus, outcome: &StatusOutcome) {
    inner.emit(kind, |event: &mut FrameworkEvent| {
        event.room_id.clone_from(&outcome.room_id);
        event.event_id.clone_from(&outcome.event_id);
        event.channel_id.clone_from(&outcome.channel_id);
        event.data.insert("provider", status.provider.as_str());
        event.data.insert("message_id", status.message_id.as_str());
        event.data.insert("status", status.status.as_str());
        if let Some(state) = status.state() {
            event.data.insert("state", state.as_str());
        }
        if let Some(code) = &status.error_code {
            event.data.insert("error", code.as_str());
        }
    });
}
