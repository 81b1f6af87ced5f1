//! The traces that the kit makes itself: of messages and reports that webhooks and sources bring.

use crate::kit::Inner;
use crate::model::{
    ChannelId, DeliveryStatus, InboundMessage, Metadata, ProtocolTrace, TraceDirection,
    TracePayload,
};

/// The trace of a message, where somebody wants traces. Its room is known when it is taken.
pub(crate) fn of_message(
    inner: &Inner,
    channel: &ChannelId,
    protocol: &str,
    message: &InboundMessage,
) -> Option<ProtocolTrace> {
    let id = message.provider_message_id.as_deref();
    of(
        inner,
        channel,
        protocol,
        || "message".to_owned(),
        id,
        &message.raw_payload,
    )
}

/// The trace of a report about a message.
pub(crate) fn of_report(
    inner: &Inner,
    channel: &ChannelId,
    protocol: &str,
    status: &DeliveryStatus,
) -> Option<ProtocolTrace> {
    let summary = || {
        let word = status.state().map_or("other", |state| state.as_str());
        format!("report: {word}")
    };
    let id = Some(status.message_id.as_str());
    of(inner, channel, protocol, summary, id, &status.raw)
}

fn of(
    inner: &Inner,
    channel: &ChannelId,
    protocol: &str,
    summary: impl FnOnce() -> String,
    id: Option<&str>,
    payload: &Metadata,
) -> Option<ProtocolTrace> {
    if !inner.traces.is_enabled(inner) {
        return None;
    }
    let (now, inbound) = (inner.clock.now(), TraceDirection::Inbound);
    let mut trace = ProtocolTrace::new(channel.clone(), inbound, protocol, summary(), now);
    if let Some(id) = id {
        trace.metadata.insert("message_id", id);
    }
    // What is not kept of a payload is not told either.
    let payload = inner.settings.raw_payload.apply(channel, payload.clone());
    if !payload.is_empty() {
        let text = serde_json::Value::Object(payload.into_map()).to_string();
        trace.raw = Some(TracePayload::Text(text));
    }
    Some(trace)
}
