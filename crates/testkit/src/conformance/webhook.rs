//! The steps by which a provider speaks: reports about what went out, and whole webhooks.

use roomkit_core::model::{DeliveryStatus, InboundMessage, StatusOutcome, WebhookItem};
use roomkit_core::{Result, WebhookOutcome};
use serde_json::{Value, json};

use super::build::Stage;
use super::run::Trouble;
use super::scenario::{StatusReport, Webhook, WebhookSpec};
use super::trace;

/// The provider of every mock.
const PROVIDER: &str = "mock";

impl Stage {
    pub(super) async fn delivery_status(&self, spec: &StatusReport) -> Result<Value, Trouble> {
        let status = self.status(spec).await?;
        let outcome = self.rooms.process_delivery_status(status).await?;
        Ok(self.show_status(&outcome).await?)
    }

    pub(super) async fn webhook(&self, spec: &Webhook) -> Result<Value, Trouble> {
        let mut items: Vec<WebhookItem> = Vec::new();
        for item in &spec.items {
            items.push(match item {
                WebhookSpec::Status(spec) => self.status(spec).await?.into(),
                WebhookSpec::Message(spec) => {
                    let room = match &spec.room {
                        Some(room) => Some(self.room(room).await?),
                        None => None,
                    };
                    let content = self.content(&spec.content, room.as_ref()).await?;
                    // Whose message it is comes from the webhook's channel.
                    let mut message = InboundMessage::new("", spec.sender.as_str(), content);
                    message.room_id = room;
                    message.raw_payload = spec.raw_payload.clone();
                    message
                        .provider_message_id
                        .clone_from(&spec.provider_message_id);
                    message.into()
                }
            });
        }
        let outcomes = self
            .rooms
            .process_webhook(spec.channel.clone(), items)
            .await;
        self.kit.wait_idle().await;
        let mut shown = Vec::new();
        for outcome in outcomes {
            shown.push(match outcome {
                Err(error) => json!({ "error": error.code() }),
                Ok(WebhookOutcome::Message(result)) => {
                    json!({ "blocked": result.blocked, "reason": result.reason })
                }
                Ok(WebhookOutcome::Status(outcome)) => self.show_status(&outcome).await?,
                Ok(_) => return Err(Trouble::Scenario("an unknown outcome".to_owned())),
            });
        }
        Ok(json!({ "items": shown }))
    }

    async fn status(&self, spec: &StatusReport) -> Result<DeliveryStatus> {
        let mut status = DeliveryStatus::new(PROVIDER, &spec.message_id, &spec.status);
        status.channel_id.clone_from(&spec.channel);
        if let Some(room) = &spec.room {
            status.room_id = Some(self.room(room).await?);
        }
        Ok(status)
    }

    async fn show_status(&self, outcome: &StatusOutcome) -> Result<Value> {
        let mut index = None;
        if let (Some(room), Some(event)) = (&outcome.room_id, &outcome.event_id) {
            let events = trace::timeline(&self.kit, room).await?;
            let found = events.iter().find(|other| other.id == *event);
            index = found.map(|event| event.index);
        }
        Ok(json!({ "state": outcome.state, "told": outcome.told, "index": index }))
    }
}
