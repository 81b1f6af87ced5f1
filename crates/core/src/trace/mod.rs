//! Protocol traces: what channels, sources and webhooks tell of their transport (RFC §15.6).
//!
//! A channel emits a [`ProtocolTrace`](crate::model::ProtocolTrace) for what goes over its wire: an INVITE, a handshake, a bounce.
//! It goes to the callbacks of [`RoomKit::on_trace`](crate::RoomKit::on_trace) and to the hooks of
//! [`OnProtocolTrace`](crate::hook::OnProtocolTrace) in its room. Without either nothing is made:
//! [`TraceEmitter::emit`] takes a function and does not call it.
//!
//! Traces often come before their room. They are then kept, within [limits](TraceLimits), until the
//! room is there and the channel attached to it, or until [`TraceEmitter::bind`] says which room a
//! session is of, and are told in order. Before anybody gets a trace, [secrets are taken out of
//! it](crate::RoomKitBuilder::trace_redaction).
//!
//! ```
//! use roomkit_core::RoomKit;
//! use roomkit_core::model::{ProtocolTrace, TraceDirection};
//! use roomkit_core::trace::TraceFilter;
//!
//! let kit = RoomKit::new();
//! kit.on_trace(TraceFilter::all().protocols(["sip"]), |trace| async move {
//!     println!("{} {}", trace.direction, trace.summary);
//! });
//! // A channel takes its emitter when it is registered, from the kit that it is given.
//! let sip = kit.trace_emitter("sip-trunk");
//! # let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
//! # let _running = runtime.enter();
//! sip.emit(|now| {
//!     let mut invite = ProtocolTrace::new("sip-trunk", TraceDirection::Inbound, "sip", "INVITE", now);
//!     invite.session_id = Some("call-7".to_owned());
//!     invite
//! });
//! ```

mod buffer;
mod desk;
mod emitter;
mod limits;
mod taken;

pub(crate) use desk::Desk;
pub use emitter::TraceEmitter;
pub use limits::{TraceFilter, TraceLimits, TraceStats};
pub(crate) use taken::{of_message, of_report};
