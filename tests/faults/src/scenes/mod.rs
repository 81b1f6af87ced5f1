//! The scenes of the table, by what they are about.

mod changes;
mod members;
mod messages;
mod others;
mod reads;

use crate::scene::Scene;

/// All scenes.
#[must_use]
pub fn all() -> Vec<Scene> {
    [
        messages::SCENES,
        changes::SCENES,
        members::SCENES,
        reads::SCENES,
        others::SCENES,
    ]
    .concat()
}
