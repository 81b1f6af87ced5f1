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
//!
//! # A room that runs itself
//!
//! [`TurnRoom`] is that loop, made safe: it runs agents that are async functions, gives each a limited
//! time, bounds planners that misbehave, and lets an observer persist every event before it counts. A
//! room that is built from what was persisted goes on where the first one stopped.
//!
//! ```
//! use std::convert::Infallible;
//! use roomkit_core::turns::{TranscriptEvent, Turn, TurnContext, TurnRoom};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! // A process went away after the planner had spoken.
//! let stored = vec![
//!     TranscriptEvent::new("user", "build a login form"),
//!     TranscriptEvent::new("planner", "first a form, then its tests"),
//! ];
//!
//! let room = TurnRoom::builder(["planner", "coder"])
//!     .agent("planner", |_| async { Ok::<_, Infallible>(Turn::pass()) })
//!     .agent("coder", |turn: TurnContext| async move {
//!         let said = turn.transcript.len();
//!         Ok::<_, Infallible>(Turn::say(format!("I have read {said} messages, the form is there")))
//!     })
//!     .transcript(stored)
//!     .build()?;
//!
//! let report = room.resume().await?;
//! assert_eq!(report.records[0].event.speaker, "coder");
//! assert_eq!(room.transcript().len(), 3);
//! # Ok(())
//! # }
//! ```
//!
//! # An order that a model decides
//!
//! [`SpeakerSelector`] is for rooms without a fixed order: it reads out of a model's reply who is to
//! speak, asks again where the reply names nobody or several, and falls back with a reason.

mod error;
mod mentions;
mod planner;
mod room;
mod round_robin;
mod selector;
mod transcript;

pub use error::TurnError;
pub use mentions::extract_mentions;
pub use planner::{PlannedTurn, RoomTurnPlanner};
pub use room::{
    Ended, Misplan, ObserverFailure, PassReason, Turn, TurnCap, TurnContext, TurnRecord,
    TurnReport, TurnRoom, TurnRoomBuilder, TurnRoomError,
};
pub use round_robin::RoundRobinRoomPlanner;
pub use selector::{
    Ask, Decision, NoSelection, Selection, SelectionFallback, SelectionReason, SpeakerSelector,
};
pub use transcript::{Transcript, TranscriptEvent};
