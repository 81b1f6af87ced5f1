//! The gate: whether an event's source may write (RFC §7.5 rule 2).

use super::Refusal;
use super::pass::Origin;
use crate::model::{ChannelBinding, RoomEvent};

/// Refuses what comes from a channel that may not write. What the system says passes.
pub(super) fn may_write(
    origin: &Origin,
    event: &RoomEvent,
    binding: Option<&ChannelBinding>,
) -> Result<(), Refusal> {
    if origin.is_system(event) {
        return Ok(());
    }
    let binding = binding.ok_or(Refusal::SourceUnbound)?;
    let by_agent = matches!(origin, Origin::Reply { .. } | Origin::Greeting);
    let output_muted = binding.output_muted && by_agent;
    if binding.muted || output_muted {
        return Err(Refusal::SourceMuted);
    }
    if binding.access.can_write() {
        Ok(())
    } else {
        Err(Refusal::SourceReadOnly)
    }
}
