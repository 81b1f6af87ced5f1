//! Which agents are asked to act on an event (RFC §19.3). Addressing hides nothing from anybody.

use crate::model::{AgentResponsePolicy, ChannelBinding, ChannelCategory, EventType, RoomEvent};

/// Whether an agent that may see `event` is asked to act on it.
///
/// `source` is the category of the channel the event came from. An event that changes another asks
/// nobody unless it says whom: the user's turn it changes was taken already. Neither does what a bot
/// outside says, which might answer what it is answered.
pub(crate) fn is_solicited(
    event: &RoomEvent,
    source: Option<ChannelCategory>,
    policy: AgentResponsePolicy,
    agent: &ChannelBinding,
) -> bool {
    if let Some(addressed) = &event.addressed_to {
        return addressed.contains(&agent.channel_id);
    }
    if matches!(event.event_type, EventType::Edit | EventType::Delete) || event.is_from_bot() {
        return false;
    }
    let from_agent = source == Some(ChannelCategory::Intelligence);
    !from_agent || policy == AgentResponsePolicy::AgentChain
}
