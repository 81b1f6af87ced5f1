//! What a connection tells of itself, where somebody wants protocol traces: no header, no address with
//! what may be secret, no message.

use roomkit_core::Result;
use roomkit_core::model::{ProtocolTrace, TraceDirection};
use roomkit_core::source::SourceEmitter;

/// Tells that a connection is there; `summary` is what the server answered.
pub(crate) fn connected(emit: &SourceEmitter, protocol: &str, place: &str, summary: &str) {
    tell(emit, protocol, place, TraceDirection::Outbound, summary);
}

/// Tells how a connection ended, and gives that back.
pub(crate) fn ended<T>(
    emit: &SourceEmitter,
    protocol: &str,
    place: &str,
    ended: Result<T>,
) -> Result<T> {
    let summary = match &ended {
        Ok(_) => "ended",
        Err(error) => error.message(),
    };
    tell(emit, protocol, place, TraceDirection::Inbound, summary);
    ended
}

fn tell(emit: &SourceEmitter, protocol: &str, place: &str, way: TraceDirection, summary: &str) {
    let channel = emit.channel_id().clone();
    emit.traces().emit(|now| {
        let mut trace = ProtocolTrace::new(channel, way, protocol, summary, now);
        trace.metadata.insert("place", place);
        trace
    });
}
