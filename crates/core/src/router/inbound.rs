//! Which room a message belongs to that names none (RFC §10.4).

use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;

use crate::error::Result;
use crate::model::{ChannelId, ChannelType, Metadata, OrganizationId, ParticipantId, RoomId};
use crate::store::ConversationStore;

/// What is known of a message that names no room.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct RouteRequest {
    /// The organisation in which the message arrived.
    pub organization_id: Option<OrganizationId>,
    /// The channel it came over.
    pub channel_id: ChannelId,
    /// That channel's type.
    pub channel_type: ChannelType,
    /// Who sent it, as the channel knows them.
    pub sender_id: ParticipantId,
    /// The message's metadata.
    pub metadata: Metadata,
}

/// Finds the room for a message that names none.
#[async_trait]
pub trait InboundRoomRouter: Send + Sync + fmt::Debug + 'static {
    /// The room, or `None` for a new one. The same request against the same store gives the same
    /// answer, and where several rooms fit the answer is `None`: a message is never delivered on a
    /// guess.
    ///
    /// # Errors
    /// Where the store cannot be read.
    async fn route(&self, request: &RouteRequest) -> Result<Option<RoomId>>;
}

/// The rule of RFC §10.4: the one open room where this sender has spoken over this type of channel;
/// where there is none, the one open room the channel is attached to; in every other case none.
#[derive(Debug, Clone)]
pub struct DefaultInboundRoomRouter {
    store: Arc<dyn ConversationStore>,
}

impl DefaultInboundRoomRouter {
    /// A router that reads from `store`.
    pub fn new(store: Arc<dyn ConversationStore>) -> Self {
        Self { store }
    }
}

#[async_trait]
impl InboundRoomRouter for DefaultInboundRoomRouter {
    async fn route(&self, request: &RouteRequest) -> Result<Option<RoomId>> {
        let organization = request.organization_id.as_ref();
        let spoken = self
            .store
            .rooms_of_sender(organization, &request.channel_type, &request.sender_id, 2)
            .await?;
        if !spoken.is_empty() {
            return Ok(only(spoken));
        }
        let bound = self
            .store
            .rooms_of_channel(organization, &request.channel_id, 2)
            .await?;
        Ok(only(bound))
    }
}

fn only(mut rooms: Vec<RoomId>) -> Option<RoomId> {
    if rooms.len() == 1 { rooms.pop() } else { None }
}
