//! Who may see an event: what is stamped on it when it is committed (RFC §7.3).

use crate::model::{ChannelBinding, Visibility};
use crate::store::RoomSnapshot;

/// The visibility of an event as it is stamped at the commit.
///
/// What the event says itself comes first, then what its source's binding says. `response` limits
/// an answer to what its question allowed; where both limit it, only channels that both admit see it.
pub(crate) fn stamp(
    own: &Visibility,
    source: Option<&ChannelBinding>,
    response: Option<&Visibility>,
    room: &RoomSnapshot,
) -> Visibility {
    let stated = match own {
        Visibility::All => source.map_or(Visibility::All, |binding| binding.visibility.clone()),
        stated => stated.clone(),
    };
    match response {
        None => stated,
        Some(response) => both(stated, response, room),
    }
}

/// What both admit: neither shows an event to a channel that the other hides it from.
pub(crate) fn both(one: Visibility, other: &Visibility, room: &RoomSnapshot) -> Visibility {
    match (one, other) {
        (one, Visibility::All) => one,
        (Visibility::All, other) => other.clone(),
        (one, other) if one == *other => one,
        (one, other) => {
            let both = room.bindings.iter().filter(|binding| {
                let (id, category) = (&binding.channel_id, binding.category);
                one.allows(id, category) && other.allows(id, category)
            });
            Visibility::channels(both.map(|binding| binding.channel_id.as_str()))
        }
    }
}
