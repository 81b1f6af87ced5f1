//! What is said: messages, replies, edits and deletes, and what each must come to.

use fastrand::Rng;
use roomkit_core::model::{
    EventContent, EventId, EventType, InboundMessage, InboundResult, ParticipantStatus, RoomStatus,
};

use crate::channels::{ANSWER, HELPER, SPOKEN, STORY, TELLER};
use crate::model::{Expected, Fact, Model};
use crate::slot::{Checked, Slot, sound};

/// Who speaks.
pub(crate) const PEOPLE: [&str; 6] = ["ann", "bob", "cid", "dot", "eve", "fay"];

const WORDS: [&str; 10] = [
    "hello",
    "how are you?",
    "a loud word",
    "forbidden",
    "the hook may trip",
    "tell me",
    "a loud question?",
    "break it",
    "forbidden?",
    "good bye",
];

/// What somebody is about to say.
#[derive(Debug, Clone)]
pub(crate) struct Words {
    pub(crate) channel: &'static str,
    pub(crate) sender: &'static str,
    text: String,
    parent: Option<EventId>,
    change: Change,
}

#[derive(Debug, Clone)]
enum Change {
    None,
    Edit(Fact),
    Delete(Fact),
}

/// What must come of it.
pub(crate) struct Outcome {
    /// Why it is refused or blocked.
    reason: Option<&'static str>,
    /// The events that it adds, those of agents among them.
    pub(crate) events: Vec<Expected>,
}

impl Words {
    fn by(rng: &mut Rng, text: &str) -> Self {
        Self {
            channel: rng.choice(SPOKEN).unwrap_or("web"),
            sender: rng.choice(PEOPLE).unwrap_or("ann"),
            text: text.to_owned(),
            parent: None,
            change: Change::None,
        }
    }

    /// Something, by somebody; every fifth is a reply.
    pub(crate) fn any(slot: &Slot, rng: &mut Rng) -> Self {
        let text = rng.choice(WORDS).unwrap_or("hello");
        let mut words = Self::by(rng, text);
        if rng.u8(..5) == 0 {
            let parent = slot.any(rng, |fact| fact.what.kind == EventType::Message);
            words.parent = parent.map(|fact| fact.id);
        }
        words
    }

    /// Something that no agent answers.
    pub(crate) fn plain(rng: &mut Rng) -> Self {
        let number = rng.u32(..);
        Self::by(rng, &format!("number {number}"))
    }

    /// An edit or a delete of something that was said, mostly by who said it.
    pub(crate) fn change(slot: &Slot, rng: &mut Rng) -> Option<Self> {
        // Edits and deletes themselves are changed, too.
        let kinds = [EventType::Message, EventType::Edit, EventType::Delete];
        let fact = slot.any(rng, |fact| kinds.contains(&fact.what.kind))?;
        let mut words = Self::by(rng, "as I meant it");
        if rng.u8(..8) > 0
            && let Some((channel, sender)) = &fact.what.author
        {
            words.channel = SPOKEN.into_iter().find(|it| it == channel)?;
            words.sender = PEOPLE.into_iter().find(|it| it == sender)?;
        }
        words.change = if rng.u8(..4) == 0 {
            Change::Delete(fact)
        } else {
            Change::Edit(fact)
        };
        Some(words)
    }

    /// A given edit, by who said what is edited.
    pub(crate) fn edit(fact: &Fact, text: &str) -> Option<Self> {
        let (channel, sender) = fact.what.author.as_ref()?;
        Some(Self {
            channel: SPOKEN.into_iter().find(|it| it == channel)?,
            sender: PEOPLE.into_iter().find(|it| it == sender)?,
            text: text.to_owned(),
            parent: None,
            change: Change::Edit(fact.clone()),
        })
    }

    /// The message that says it.
    pub(crate) fn message(&self, slot: &Slot) -> InboundMessage {
        let content = match &self.change {
            Change::None => EventContent::text(self.text.as_str()),
            Change::Edit(fact) => {
                EventContent::edit(fact.id.clone(), EventContent::text(self.text.as_str()))
            }
            Change::Delete(fact) => EventContent::delete(fact.id.clone()),
        };
        let mut message = InboundMessage::new(self.channel, self.sender, content);
        message.parent_event_id = self.parent.clone();
        message.in_room(slot.room.clone())
    }

    /// What must come of it in this room, which the model is changed by.
    pub(crate) fn apply(&self, model: &mut Model) -> Outcome {
        let refused = |reason| Outcome {
            reason: Some(reason),
            events: Vec::new(),
        };
        if !model.is_open() {
            return refused("room_closed");
        }
        if model.is_banned(self.sender) {
            return refused("participant_not_admitted");
        }
        let mut events = Vec::new();
        let is_unbound = !model.bindings.contains_key(self.channel);
        if is_unbound && !model.detached.contains(self.channel) {
            events.push(Expected::new(EventType::ChannelAttached));
            model.attach(self.channel);
        }
        if let Some(reason) = self.not_allowed(model) {
            let reason = Some(reason);
            return Outcome { reason, events };
        }
        let mut own = match &self.change {
            Change::None => Expected::message(&self.text.replace("loud", "quiet")),
            Change::Edit(_) => Expected::new(EventType::Edit),
            Change::Delete(_) => Expected::new(EventType::Delete),
        };
        let reason = self.blocked(model);
        if reason == Some("not here") {
            own.text = Some(self.text.clone());
        }
        own.blocked = reason.is_some();
        own.parent = self.parent.as_ref().and_then(|parent| model.root(parent));
        own.author = Some((self.channel.to_owned(), self.sender.to_owned()));
        own.about = self.target().map(|fact| fact.id.clone());
        // Who is kept out of the room does not take part in it.
        if reason != Some("source_unbound") {
            model
                .people
                .entry(self.sender.to_owned())
                .or_insert(ParticipantStatus::Active);
        }
        let parent = own.parent.clone();
        events.push(own);
        if reason.is_none() {
            model.status = RoomStatus::Active;
            match &self.change {
                Change::None => events.extend(self.answer(model, parent)),
                Change::Edit(fact) => model.change(&fact.id, Some(&self.text)),
                Change::Delete(fact) => model.change(&fact.id, None),
            }
        }
        Outcome { reason, events }
    }

    fn target(&self) -> Option<&Fact> {
        match &self.change {
            Change::None => None,
            Change::Edit(fact) | Change::Delete(fact) => Some(fact),
        }
    }

    /// Why the change is not this sender's to make.
    fn not_allowed(&self, model: &Model) -> Option<&'static str> {
        let target = self.target()?;
        let Some(fact) = model.fact(&target.id).filter(|fact| !fact.what.deleted) else {
            return Some("target_event_not_found");
        };
        if fact.what.kind == EventType::Delete && matches!(self.change, Change::Edit(_)) {
            return Some("target_event_not_found");
        }
        match (&fact.what.author, &self.change) {
            (None, Change::Delete(_)) => Some("identity_required_for_delete"),
            (None, _) => Some("identity_required_for_edit"),
            (Some((channel, sender)), _) if channel == self.channel && sender == self.sender => {
                None
            }
            _ => Some("not_original_author"),
        }
    }

    /// Why it is stored as blocked.
    fn blocked(&self, model: &Model) -> Option<&'static str> {
        let is_plain = matches!(self.change, Change::None);
        if is_plain && self.text.contains("forbidden") {
            return Some("not here");
        }
        match model.bindings.get(self.channel) {
            None => Some("source_unbound"),
            Some(true) => Some("source_muted"),
            Some(false) => None,
        }
    }

    /// What an agent says to it.
    fn answer(&self, model: &mut Model, parent: Option<EventId>) -> Option<Expected> {
        let (agent, text) = if self.text.contains('?') {
            (HELPER, ANSWER)
        } else if self.text.contains("tell") {
            (TELLER, STORY)
        } else {
            return None;
        };
        let is_muted = *model.bindings.get(agent)?;
        if agent == HELPER {
            model.tasks += 1;
        }
        let mut answer = Expected::message(text);
        answer.blocked = is_muted;
        answer.parent = parent;
        Some(answer)
    }
}

impl Outcome {
    /// Whether the caller was told what must be.
    pub(crate) fn check(&self, result: &InboundResult) -> Checked {
        let reason = result.reason.as_deref();
        if (result.blocked, reason) == (self.reason.is_some(), self.reason) {
            return Ok(());
        }
        Err(format!("told {reason:?}, not {:?}", self.reason))
    }
}

/// Somebody says something, and waits for all that follows.
pub(crate) async fn say(slot: &mut Slot, words: Words) -> Checked {
    let result = slot.rooms.process_inbound(words.message(slot)).await;
    let outcome = words.apply(&mut slot.model);
    outcome.check(&sound("message", result)?)?;
    slot.added(outcome.events).await
}

/// Somebody says something and waits for what follows later.
pub(crate) async fn say_deferred(slot: &mut Slot, words: Words) -> Checked {
    let taken = slot
        .rooms
        .process_inbound_deferred(words.message(slot))
        .await;
    let (result, handle) = sound("message", taken)?;
    let outcome = words.apply(&mut slot.model);
    outcome.check(&result)?;
    sound("settled", handle.wait().await)?;
    slot.added(outcome.events).await
}

/// The same comes more than once, with one key, also at the same time.
pub(crate) async fn say_again(slot: &mut Slot, words: Words, rng: &mut Rng) -> Checked {
    let key = format!("key-{}", rng.u64(..));
    let message = || words.message(slot).idempotency_key(key.as_str());
    let both = futures_util::future::join(
        slot.rooms.process_inbound(message()),
        slot.rooms.process_inbound(message()),
    );
    let (first, second) = both.await;
    let third = slot.rooms.process_inbound(message()).await;
    let outcome = words.apply(&mut slot.model);
    let mut ids = Vec::new();
    for result in [first, second, third] {
        let result = sound("message", result)?;
        outcome.check(&result)?;
        ids.push(result.event.map(|event| event.id.clone()));
    }
    ids.dedup();
    if ids.len() != 1 {
        return Err(format!("one key is {} events", ids.len()));
    }
    slot.added(outcome.events).await
}

/// The application itself says something.
pub(crate) async fn send(slot: &mut Slot) -> Checked {
    let content = EventContent::text("from above");
    let sent = slot
        .rooms
        .send_event(slot.room.clone(), "system", content)
        .await;
    match sent {
        Ok(_) if slot.model.is_open() => {
            slot.model.status = RoomStatus::Active;
            slot.added(vec![Expected::message("from above")]).await
        }
        Err(error) if !slot.model.is_open() && error.code() == "room_closed" => Ok(()),
        other => Err(format!("send: {other:?}")),
    }
}

/// Somebody says something and goes away at some moment; then says it again, which makes it once.
pub(crate) async fn say_and_leave(slot: &mut Slot, rng: &mut Rng) -> Checked {
    let words = Words::plain(rng);
    let key = format!("key-{}", rng.u64(..));
    let message = || {
        let message = words.message(slot).idempotency_key(key.as_str());
        message.addressed_to(Vec::<&str>::new())
    };
    crate::burst::leave(slot.rooms.process_inbound(message()), rng.u8(..6)).await;
    let again = slot.rooms.process_inbound(message()).await;
    let outcome = words.apply(&mut slot.model);
    outcome.check(&sound("message", again)?)?;
    slot.added(outcome.events).await
}
