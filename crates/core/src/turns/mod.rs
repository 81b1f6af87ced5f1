//! Turn taking in a conversation room: who speaks next, decided from a roster and a transcript.
//!
//! A room of several agents needs an order in which they speak that is the same on every run, ends
//! by itself, and survives a restart. A [`RoomTurnPlanner`] gives that order as a pure function: it
//! is shown the roster and everything said so far, and names the next speaker or says that the room
//! is settled. The caller runs that agent, appends what it said, and asks again.
//!
//! ```
//! use roomkit_core::turns::{RoomTurnPlanner, RoundRobinRoomPlanner, TranscriptEvent};
//!
//! let roster = ["planner", "coder"].map(String::from);
//! let mut transcript = vec![TranscriptEvent::new("user", "build a login form")];
//!
//! let planner = RoundRobinRoomPlanner::default();
//! while let Some(turn) = planner.plan_turn(&roster, &transcript) {
//!     let reply = match (turn.speaker, turn.round) {
//!         ("planner", 0) => "first a form, then its tests",
//!         ("coder", 0) => "the form is there, @planner please have a look",
//!         _ => "looks good",
//!     };
//!     transcript.push(TranscriptEvent::new(turn.speaker, reply).in_round(turn.round));
//! }
//! let order: Vec<_> = transcript.iter().map(|event| event.speaker.as_str()).collect();
//! assert_eq!(order, ["user", "planner", "coder", "planner"]);
//! ```

mod error;
mod mentions;
mod planner;
mod round_robin;
mod transcript;

pub use error::TurnError;
pub use mentions::extract_mentions;
pub use planner::{PlannedTurn, RoomTurnPlanner};
pub use round_robin::RoundRobinRoomPlanner;
pub use transcript::TranscriptEvent;
