//! The channel: what everything that takes part in a room implements (RFC §6.1).

mod output;
mod stream;

pub use output::{ChannelOutput, Reply, Response};
pub use stream::{Delta, DeltaStream, StreamEnd, StreamFrame, StreamStart};

use std::sync::Arc;

use async_trait::async_trait;

use crate::context::RoomContext;
use crate::draft::EventDraft;
use crate::error::Result;
use crate::kit::WeakKit;
use crate::model::{
    ChannelBinding, ChannelCapabilities, ChannelCategory, ChannelDirection, ChannelId, ChannelType,
    DeliveryOutcome, InboundMessage, Metadata, RoomEvent, RoomId,
};

/// Something that takes part in rooms: it carries messages (a transport) or answers them (an agent).
///
/// One channel serves any number of rooms; what it may do in each is said by its binding there.
/// Calls come from many tasks at once, but for one room [`deliver`](Self::deliver) and
/// [`on_event`](Self::on_event) are called one after the other, in the order of the room's events.
/// A call that panics or takes too long counts as failed and harms nothing else.
#[async_trait]
pub trait Channel: Send + Sync + 'static {
    /// The id under which it is registered.
    fn id(&self) -> &ChannelId;

    /// What kind of channel it is.
    fn channel_type(&self) -> ChannelType;

    /// Whether it carries messages or answers them. Default: carries.
    fn category(&self) -> ChannelCategory {
        ChannelCategory::Transport
    }

    /// Which way it can carry them. Default: both.
    fn direction(&self) -> ChannelDirection {
        ChannelDirection::Bidirectional
    }

    /// What it can show and do. Default: plain text without limit.
    fn capabilities(&self) -> ChannelCapabilities {
        ChannelCapabilities::default()
    }

    /// The provider behind it, for the source of its events. Default: none.
    fn provider_name(&self) -> Option<Arc<str>> {
        None
    }

    /// Facts about this channel that hold in every room (RFC §5.9). Default: none.
    fn info(&self) -> Metadata {
        Metadata::new()
    }

    /// Whether its `sender_id` is a participant's id rather than an address, so that there is
    /// nothing to resolve (RFC §11.6). Default: no.
    fn names_its_senders(&self) -> bool {
        false
    }

    /// Turns what came from outside into an event of the room.
    ///
    /// # Errors
    /// When the message is not one that this channel can bring in.
    async fn handle_inbound(
        &self,
        message: InboundMessage,
        context: &RoomContext,
    ) -> Result<EventDraft> {
        Ok(EventDraft::inbound(
            message,
            self.channel_type(),
            self.provider_name(),
            context,
        ))
    }

    /// Carries an event to whoever is behind this channel. Only transports are asked, and every
    /// transport implements it; the default fails with `not_a_transport`.
    async fn deliver(
        &self,
        _event: &Arc<RoomEvent>,
        _binding: &ChannelBinding,
        _context: &RoomContext,
    ) -> DeliveryOutcome {
        DeliveryOutcome::failed("not_a_transport", "this channel carries nothing")
    }

    /// Reacts to an event of the room. Only agents are asked, and only where they are solicited.
    ///
    /// # Errors
    /// When the channel could not react; the room goes on without its answer.
    async fn on_event(
        &self,
        _event: &Arc<RoomEvent>,
        _binding: &ChannelBinding,
        _context: &RoomContext,
    ) -> Result<ChannelOutput> {
        Ok(ChannelOutput::none())
    }

    /// What it says to a room before anybody has said anything; only agents are asked (RFC §19.1).
    /// Default: nothing.
    fn greeting(&self) -> Option<String> {
        None
    }

    /// Whether it says its [`greeting`](Self::greeting) by itself when a
    /// [session begins](crate::Rooms::session_started); asked when it is registered. Default: no, it
    /// is for the application to [send](crate::Rooms::send_greeting).
    fn greets_by_itself(&self) -> bool {
        false
    }

    /// Whether it takes answers as they come, through [`deliver_frame`](Self::deliver_frame).
    /// Default: no; it gets each answer whole.
    fn supports_streaming(&self) -> bool {
        false
    }

    /// Takes the next frame of an answer as it comes. Only transports that support streaming are
    /// asked; frames of one answer come in order, the last one in the event's place in the lane.
    ///
    /// A frame that is not sent ends the stream for this channel: it gets the answer whole instead,
    /// as it does when it falls more than 256 frames behind.
    async fn deliver_frame(
        &self,
        _frame: &StreamFrame,
        _binding: &ChannelBinding,
        _context: &RoomContext,
    ) -> DeliveryOutcome {
        DeliveryOutcome::failed("not_streaming", "this channel takes answers whole")
    }

    /// Called once, when the channel is registered with a kit.
    fn registered(&self, _kit: WeakKit) {}

    /// Called in the background after the channel was attached to a room.
    async fn attached(&self, _room: &RoomId) {}

    /// Called in the background after the channel was detached from a room.
    async fn detached(&self, _room: &RoomId) {}

    /// Lets go of connections; called when the kit closes.
    async fn close(&self) {}
}
