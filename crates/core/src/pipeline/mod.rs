//! The pipeline: the one way by which an event gets into a room, a file per stage (RFC §10).
//!
//! [`route`] finds the room, [`identify`] the sender, whom [`turn_away`] may do without and of whom [`met`] keeps what is
//! new; [`pass`] takes the room's lock, lets
//! [`decide`] judge the event, with [`admit`] its sender, and commits it; [`plan`] says who gets it; [`deliver`] brings it
//! there in lanes, after the lock is released; [`reenter`] takes the answers back to [`pass`].

pub(crate) mod admit;
mod commit;
mod decide;
mod deliver;
mod edit;
mod gate;
mod identify;
mod lane;
mod live;
pub(crate) mod loop_guard;
mod met;
mod notice;
pub(crate) mod observed;
pub(crate) mod pass;
mod plan;
mod reenter;
mod refusal;
pub(crate) mod replay;
mod reply;
mod route;
pub(crate) mod stream;
mod turn_away;

pub(crate) mod direct;
pub(crate) mod inbound;

pub(crate) use crate::hook::ObserversDone;
pub(crate) use commit::{lifecycle_event, system_event};
pub(crate) use edit::{still_about, target_of};
pub(crate) use lane::{LaneKey, Lanes};
pub(crate) use notice::{announce_created, announce_lifecycle, announce_member};
pub(crate) use reenter::Cascade;
pub(crate) use route::{RouteKey, check_id, room_created};

pub use loop_guard::LoopGuard;
pub use refusal::Refusal;

use crate::model::{OrganizationId, Room};

/// The organisation to which a call is scoped; `None` is the kit itself, which sees every room.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Scope(pub(crate) Option<OrganizationId>);

impl Scope {
    /// Whether a room is one that this scope can see.
    pub(crate) fn admits(&self, room: &Room) -> bool {
        self.0
            .as_ref()
            .is_none_or(|organization| room.organization_id.as_ref() == Some(organization))
    }
}
