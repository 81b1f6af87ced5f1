//! The channel: it hands a room's events to the connections of that room.

use std::sync::Arc;

use async_trait::async_trait;
use roomkit_core::channel::StreamFrame;
use roomkit_core::model::{
    ChannelBinding, ChannelCapabilities, ChannelId, ChannelType, DeliveryOutcome, RoomEvent, RoomId,
};
use roomkit_core::{Channel, RoomContext, WeakKit};

use crate::builder::WebSocketBuilder;
use crate::connection::Connection;
use crate::id::ConnectionId;
use crate::registry::Registry;

/// WebSocket clients as a channel; a clone is another handle of the same channel.
///
/// The application owns the sockets and says which client hears which room; the channel neither opens
/// a socket nor asks whether a client may hear what it was connected to. Every method may be called
/// at any time, whether the channel is registered with a kit or not.
#[derive(Debug, Clone)]
pub struct WebSocketChannel(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    id: ChannelId,
    capabilities: ChannelCapabilities,
    registry: Arc<Registry>,
}

impl WebSocketChannel {
    /// A channel with the default options.
    #[must_use]
    pub fn new(id: impl Into<ChannelId>) -> Self {
        Self::builder(id).assemble()
    }

    /// A channel whose options are chosen.
    pub fn builder(id: impl Into<ChannelId>) -> WebSocketBuilder {
        WebSocketBuilder::new(id.into())
    }

    pub(crate) fn assemble(
        id: ChannelId,
        capabilities: ChannelCapabilities,
        queue_capacity: usize,
    ) -> Self {
        let registry = Arc::new(Registry::new(id.clone(), queue_capacity));
        Self(Arc::new(Inner {
            id,
            capabilities,
            registry,
        }))
    }

    /// Connects a client to a room: from now on it gets the room's events.
    ///
    /// A connection that has this id already ends as [`Replaced`](crate::CloseReason::Replaced), so that
    /// a client which connects again need not wait until its dead socket is noticed. On a channel
    /// that is closed the new connection has ended at once. Listeners of the kit hear of it as
    /// `channel_connected`, and of its end as `channel_disconnected` with the reason.
    pub fn connect(
        &self,
        connection: impl Into<ConnectionId>,
        room: impl Into<RoomId>,
    ) -> Connection {
        self.0.registry.connect(connection.into(), room.into())
    }

    /// Lets a connection hear one more room; `false` when there is no such connection.
    pub fn subscribe(&self, connection: impl Into<ConnectionId>, room: impl Into<RoomId>) -> bool {
        self.0.registry.subscribe(&connection.into(), room.into())
    }

    /// Lets a connection hear a room no longer; `false` when it did not. One that hears no room stays
    /// connected.
    pub fn unsubscribe(
        &self,
        connection: impl Into<ConnectionId>,
        room: impl Into<RoomId>,
    ) -> bool {
        self.0
            .registry
            .unsubscribe(&connection.into(), &room.into())
    }

    /// Ends a connection, which can still read what was queued for it; `false` when there is no such
    /// connection.
    pub fn disconnect(&self, connection: impl Into<ConnectionId>) -> bool {
        self.0.registry.disconnect(&connection.into())
    }

    /// How many connections hear a room.
    #[must_use]
    pub fn connections(&self, room: impl Into<RoomId>) -> usize {
        self.0.registry.count(&room.into())
    }

    /// How many connections there are, in all rooms and in none.
    #[must_use]
    pub fn total_connections(&self) -> usize {
        self.0.registry.count_all()
    }

    /// How many connections have been cut because they were
    /// [slow](crate::CloseReason::Slow), since the channel was made.
    #[must_use]
    pub fn slow_connections_cut(&self) -> u64 {
        self.0.registry.slow()
    }
}

#[async_trait]
impl Channel for WebSocketChannel {
    fn id(&self) -> &ChannelId {
        &self.0.id
    }

    fn channel_type(&self) -> ChannelType {
        ChannelType::Websocket
    }

    fn capabilities(&self) -> ChannelCapabilities {
        self.0.capabilities.clone()
    }

    fn registered(&self, kit: WeakKit) {
        self.0.registry.tell(kit);
    }

    /// Queues the event for every connection of its room. Always sent: a room that nobody is
    /// connected to is no failure, for whoever comes later reads the timeline; nor is a connection
    /// that had to be cut.
    async fn deliver(
        &self,
        event: &Arc<RoomEvent>,
        _binding: &ChannelBinding,
        _context: &RoomContext,
    ) -> DeliveryOutcome {
        self.0.registry.send_event(event);
        DeliveryOutcome::sent()
    }

    fn supports_streaming(&self) -> bool {
        true
    }

    /// Queues a piece of an answer likewise.
    async fn deliver_frame(
        &self,
        frame: &StreamFrame,
        _binding: &ChannelBinding,
        _context: &RoomContext,
    ) -> DeliveryOutcome {
        self.0.registry.send_frame(frame);
        DeliveryOutcome::sent()
    }

    async fn close(&self) {
        self.0.registry.close();
    }
}
