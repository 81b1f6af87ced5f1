//! What all channels that will hear an answer can show: the least of each (RFC §6.4).

use std::sync::Arc;

use roomkit_core::RoomContext;
use roomkit_core::model::{ChannelBinding, ChannelCapabilities, ChannelCategory, ChannelId};

/// The capabilities that all transports of the room have; nothing where there is none.
pub(super) fn common(room: &RoomContext, agent: &ChannelId) -> Option<ChannelCapabilities> {
    let mut transports = room
        .other_channels(agent)
        .filter(|it| it.category == ChannelCategory::Transport && it.can_read())
        .map(|it: &Arc<ChannelBinding>| &*it.capabilities);
    let mut common = transports.next()?.clone();
    for other in transports {
        restrict(&mut common, other);
    }
    Some(common)
}

fn restrict(common: &mut ChannelCapabilities, other: &ChannelCapabilities) {
    common
        .media_types
        .retain(|media_type| other.media_types.contains(media_type));
    macro_rules! both {
        ($($ability:ident),+) => { $(common.$ability &= other.$ability;)+ };
    }
    both!(
        supports_threading,
        supports_reactions,
        supports_edit,
        supports_delete,
        supports_read_receipts,
        supports_typing,
        supports_templates,
        supports_rich_text,
        supports_buttons,
        supports_cards,
        supports_quick_replies,
        supports_media,
        supports_audio,
        supports_video
    );
    macro_rules! least {
        ($($limit:ident),+) => { $(common.$limit = least(common.$limit, other.$limit);)+ };
    }
    // Units of length differ; a text that is short in one is short in all.
    least!(
        max_length,
        max_buttons,
        max_media_size_bytes,
        max_audio_duration_seconds,
        max_video_duration_seconds
    );
}

fn least<T: Ord>(one: Option<T>, other: Option<T>) -> Option<T> {
    match (one, other) {
        (Some(one), Some(other)) => Some(one.min(other)),
        (one, other) => one.or(other),
    }
}
