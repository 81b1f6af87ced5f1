//! What a third party writes: a channel of a type of its own, with a hook point of its own.
//!
//! It needs `roomkit-core` and nothing else of the family; the desk is on a WebSocket channel only
//! because somebody has to talk to the pager.

use std::io::Write;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use roomkit_core::hook::{FailurePolicy, HookPoint, HookResult, HookTrigger, HookVerdict};
use roomkit_core::model::{
    ChannelBinding, ChannelCapabilities, ChannelId, ChannelType, DeliveryOutcome, InboundMessage,
    Metadata, RoomEvent, UnknownValue,
};
use roomkit_core::{Channel, EventDraft, Result, RoomContext, RoomKit, WeakKit, async_trait};

use crate::{Outcome, inbox};

/// A page that is about to be sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Page {
    /// The number of the pager.
    pub number: String,
    /// What it shows.
    pub text: String,
}

/// Before a page is sent. A hook may refuse it, or change its number or text; one that fails refuses
/// it, for nobody is to be woken by mistake.
#[derive(Debug, Clone, Copy)]
pub struct BeforePage;

impl HookPoint for BeforePage {
    type Payload = Page;
    type Returns = HookResult<Page>;
    const TRIGGER: HookTrigger = HookTrigger::Custom("before_page");
    const FAILURE: FailurePolicy = FailurePolicy::Block;
}

/// Pagers that show forty characters, and answer with one digit.
#[derive(Debug, Clone)]
pub struct PagerChannel(Arc<Pager>);

#[derive(Debug)]
struct Pager {
    id: ChannelId,
    channel_type: ChannelType,
    /// Known from when the channel is registered; weak, because the kit owns the channel.
    kit: OnceLock<WeakKit>,
    /// Stands for the transmitter.
    sent: Mutex<Vec<Page>>,
}

impl PagerChannel {
    /// A channel that has sent nothing yet.
    ///
    /// # Errors
    /// Never: `pager` is a valid namespace.
    pub fn new(id: impl Into<ChannelId>) -> Result<Self, UnknownValue> {
        Ok(Self(Arc::new(Pager {
            id: id.into(),
            channel_type: ChannelType::custom("pager")?,
            kit: OnceLock::new(),
            sent: Mutex::default(),
        })))
    }

    /// What was sent, in order.
    #[must_use]
    pub fn sent(&self) -> Vec<Page> {
        let sent = self.0.sent.lock();
        sent.unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Asks the hooks; without a kit there are none.
    async fn ask(&self, event: &RoomEvent, page: Page) -> Result<HookVerdict<Page>> {
        match self.0.kit.get().and_then(WeakKit::upgrade) {
            Some(kit) => kit.run_hooks(BeforePage, &event.room_id, page).await,
            None => Ok(HookVerdict::Allowed(page)),
        }
    }

    fn transmit(&self, page: Page) -> DeliveryOutcome {
        if page.number.starts_with('0') {
            return DeliveryOutcome::failed_retryable("no_coverage", "the pager is out of range");
        }
        let mut sent = self.0.sent.lock().unwrap_or_else(PoisonError::into_inner);
        sent.push(page);
        DeliveryOutcome::Sent {
            provider_message_id: Some(format!("page-{}", sent.len())),
        }
    }
}

#[async_trait]
impl Channel for PagerChannel {
    fn id(&self) -> &ChannelId {
        &self.0.id
    }

    fn channel_type(&self) -> ChannelType {
        self.0.channel_type.clone()
    }

    /// The kit cuts longer texts and turns other content into text before it delivers.
    fn capabilities(&self) -> ChannelCapabilities {
        ChannelCapabilities::default().with_max_length(40)
    }

    fn registered(&self, kit: WeakKit) {
        // Registered a second time, it stays with its first kit.
        let _ = self.0.kit.set(kit);
    }

    /// Pagers answer with a digit, which is put into words.
    async fn handle_inbound(
        &self,
        message: InboundMessage,
        context: &RoomContext,
    ) -> Result<EventDraft> {
        let mut draft = EventDraft::inbound(message, self.channel_type(), None, context);
        match draft.text() {
            Some("1") => draft.set_text("On my way"),
            Some("2") => draft.set_text("Cannot come"),
            _ => {}
        }
        Ok(draft)
    }

    async fn deliver(
        &self,
        event: &Arc<RoomEvent>,
        binding: &ChannelBinding,
        _context: &RoomContext,
    ) -> DeliveryOutcome {
        // A binding's metadata is what a channel needs to know about the room.
        let number = binding.metadata.get("pager_number");
        let (Some(number), Some(text)) = (number.and_then(|it| it.as_str()), event.text()) else {
            return DeliveryOutcome::failed("nothing_to_page", "no pager number, or no text");
        };
        let page = Page {
            number: number.to_owned(),
            text: text.to_owned(),
        };
        match self.ask(event, page).await {
            Ok(HookVerdict::Allowed(page)) => self.transmit(page),
            Ok(HookVerdict::Blocked { reason, .. }) => {
                DeliveryOutcome::failed("page_refused", reason)
            }
            Err(error) => DeliveryOutcome::failed_retryable(error.code(), error.message()),
        }
    }
}

/// Runs the example.
///
/// # Errors
/// Where the kit or `out` fails.
pub async fn run(out: &mut impl Write) -> Outcome {
    let kit = RoomKit::new();
    let (desk, pager) = (
        roomkit::websocket::WebSocketChannel::new("desk"),
        PagerChannel::new("pager-eve")?,
    );
    kit.register_channel(desk.clone())?;
    kit.register_channel(pager.clone())?;
    kit.create_room("incident").await?;
    kit.attach_channel("incident", "desk").await?;
    let binding = kit
        .attach_channel("incident", "pager-eve")
        .metadata(Metadata::from_iter([("pager_number", "4711")]))
        .await?;
    writeln!(
        out,
        "attached {} of type {}",
        binding.channel_id, binding.channel_type
    )?;

    kit.hook(BeforePage, "no_drills", |page, _room| async move {
        if page.text.contains("drill") {
            HookResult::block("drills wake nobody")
        } else {
            HookResult::allow()
        }
    });
    for text in [
        "The door of the server room has been open for ten minutes",
        "Just a drill",
    ] {
        report(out, &kit, text).await?;
    }
    let mut screen = desk.connect("screen", "incident");
    let answer = InboundMessage::text("pager-eve", "eve", "1").in_room("incident");
    kit.process_inbound(answer).await?;
    for line in inbox(&mut screen) {
        writeln!(out, "desk hears {line}")?;
    }

    let out_of_range = Metadata::from_iter([("pager_number", "0815")]);
    kit.update_binding_metadata("incident", "pager-eve", out_of_range)
        .await?;
    report(out, &kit, "Thank you").await?;

    for page in pager.sent() {
        writeln!(out, "pager {} shows '{}'", page.number, page.text)?;
    }
    Ok(())
}

/// Says something at the desk, and what became of it at the pager.
async fn report(out: &mut impl Write, kit: &RoomKit, text: &str) -> Outcome {
    let message = InboundMessage::text("desk", "dave", text).in_room("incident");
    let result = kit.process_inbound(message).await?;
    writeln!(out, "desk says '{text}'")?;
    for delivery in &result.delivery_results {
        let outcome = match &delivery.outcome {
            DeliveryOutcome::Sent {
                provider_message_id,
            } => format!("sent as {}", provider_message_id.as_deref().unwrap_or("?")),
            DeliveryOutcome::Failed(error) if error.retryable => format!("failed for now, {error}"),
            DeliveryOutcome::Failed(error) => format!("failed, {error}"),
            DeliveryOutcome::Unknown(error) => format!("perhaps sent, {error}"),
        };
        writeln!(out, "  {}: {outcome}", delivery.channel_id)?;
    }
    Ok(())
}
