//! What a provider's webhook brings: messages and reports, each taken on its own.
//!
//! Its rules: RFC §16.1.

use super::Rooms;
use crate::error::Result;
use crate::model::{
    ChannelId, EventType, InboundMessage, InboundResult, RoomId, StatusOutcome, WebhookItem,
};
use crate::trace;

/// The protocol of the traces of webhooks.
const PROTOCOL: &str = "webhook";

/// What became of one item of a webhook.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum WebhookOutcome {
    /// A message was stored or refused; its deliveries may still be under way.
    Message(Box<InboundResult>),
    /// A report was taken.
    Status(Box<StatusOutcome>),
}

impl Rooms {
    /// Takes what a channel's parser read from a provider's webhook: messages go through the pipeline,
    /// reports to [`process_delivery_status`](Self::process_delivery_status), one after the other. Each
    /// is taken as one of `channel`, and what becomes of one says nothing about the others.
    ///
    /// Returns when every message is stored or refused, so that the provider can be answered; agents
    /// and deliveries go on. Providers send again what they have no answer for: a message without an
    /// [`idempotency_key`](InboundMessage::idempotency_key) gets the provider's id as one. Edits and
    /// deletes, which may carry the id of the message that they change, get none.
    ///
    /// Each item that is taken leaves a [protocol trace](crate::trace) `webhook` in its room, where
    /// somebody wants traces; a web server tells of the request itself through
    /// [`trace_emitter`](Self::trace_emitter).
    ///
    /// **Nothing here says whether the request is the provider's.** Check its signature first (RFC §17.1),
    /// and the time that is signed with it, by a [`ReplayWindow`](crate::resilience::ReplayWindow).
    ///
    /// # Errors
    /// Of each item those of [`process_inbound`](Self::process_inbound) and
    /// [`process_delivery_status`](Self::process_delivery_status).
    pub async fn process_webhook(
        &self,
        channel: impl Into<ChannelId>,
        items: impl IntoIterator<Item = WebhookItem>,
    ) -> Vec<Result<WebhookOutcome>> {
        let channel = channel.into();
        let items: Vec<_> = items.into_iter().collect();
        let mut outcomes = Vec::with_capacity(items.len());
        for item in items {
            let item = match item {
                WebhookItem::Message(message) => of_channel(*message, &channel).into(),
                WebhookItem::Status(mut status) => {
                    status.channel_id = Some(channel.clone());
                    WebhookItem::Status(status)
                }
            };
            let inner = self.inner();
            let told = match &item {
                WebhookItem::Message(message) => {
                    trace::of_message(inner, &channel, PROTOCOL, message)
                }
                WebhookItem::Status(status) => trace::of_report(inner, &channel, PROTOCOL, status),
            };
            let outcome = match item {
                WebhookItem::Message(message) => {
                    let taken = self.process_inbound_deferred(*message).await;
                    taken.map(|(result, _)| WebhookOutcome::Message(Box::new(result)))
                }
                WebhookItem::Status(status) => {
                    let taken = self.process_delivery_status(*status).await;
                    taken.map(|outcome| WebhookOutcome::Status(Box::new(outcome)))
                }
            };
            if let (Some(mut told), Ok(outcome)) = (told, &outcome) {
                told.room_id = outcome.room().cloned();
                inner.traces.take(inner, &self.scope, told);
            }
            outcomes.push(outcome);
        }
        outcomes
    }
}

impl WebhookOutcome {
    /// The room that the item concerns, where there is one.
    fn room(&self) -> Option<&RoomId> {
        match self {
            Self::Message(result) => result.event.as_ref().map(|event| &event.room_id),
            Self::Status(outcome) => outcome.room_id.as_ref(),
        }
    }
}

fn of_channel(mut message: InboundMessage, channel: &ChannelId) -> InboundMessage {
    message.channel_id = channel.clone();
    let is_change = matches!(message.event_type, EventType::Edit | EventType::Delete)
        || message.content.event_type() != EventType::Message;
    if message.idempotency_key.is_none() && !is_change {
        let id = message.provider_message_id.as_ref();
        let id = id
            .or(message.external_id.as_ref())
            .filter(|id| !id.is_empty());
        message.idempotency_key = id.map(|id| format!("{channel}:{id}"));
    }
    message
}
