//! The scenes of the table, by what they are about.

mod agents;
mod changes;
mod identities;
mod members;
mod messages;
mod others;
mod reads;
mod traces;

use crate::scene::Scene;

/// All scenes.
#[must_use]
pub fn all() -> Vec<Scene> {
    [
        messages::SCENES,
        agents::SCENES,
        changes::SCENES,
        members::SCENES,
        identities::SCENES,
        reads::SCENES,
        traces::SCENES,
        others::SCENES,
    ]
    .concat()
}
