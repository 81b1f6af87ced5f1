//! Lanes: one per room and channel, so that each channel gets a room's events in order, and none
//! waits for another. A lane exists while something is in it.

use std::sync::Arc;

use crate::model::{ChannelId, RoomId};
use crate::sync::queue::{KeyedQueue, Ticket};

/// A room and a channel of it.
pub(crate) type LaneKey = (RoomId, ChannelId);

/// All lanes of a kit that have something in them.
pub(crate) type Lanes = Arc<KeyedQueue<LaneKey>>;

/// A place in a lane; taken under the room's lock, so that places come in index order.
pub(crate) type LaneTicket = Ticket<LaneKey>;
