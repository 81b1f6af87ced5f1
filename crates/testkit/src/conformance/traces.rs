//! Protocol traces: the steps that emit them, and what the hooks of their rooms were told.

use std::collections::HashMap;

use roomkit_core::Result;
use roomkit_core::hook::{Hook, OnProtocolTrace};
use roomkit_core::model::{
    ChannelId, Metadata, ProtocolTrace, RoomId, TraceDirection, TracePayload,
};
use roomkit_core::trace::TraceStats;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::build::Stage;
use super::run::Trouble;
use super::scenario::Step;

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct TraceLimitsSpec {
    pub(super) per_session: Option<usize>,
    pub(super) total: Option<usize>,
    /// In seconds.
    pub(super) max_age: Option<f64>,
    pub(super) max_raw_bytes: Option<usize>,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct TraceSpec {
    pub(super) channel: ChannelId,
    pub(super) protocol: String,
    pub(super) summary: String,
    pub(super) direction: Option<TraceDirection>,
    pub(super) session: Option<String>,
    pub(super) room: Option<RoomId>,
    pub(super) raw: Option<String>,
    #[serde(default)]
    pub(super) metadata: Metadata,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct BindTrace {
    pub(super) channel: ChannelId,
    pub(super) session: String,
    pub(super) room: RoomId,
}

impl Stage {
    /// Notes every trace that a room's hooks are told; it becomes part of the trace of the scenario.
    pub(super) fn watch_traces(&mut self) {
        let told = self.traces.get_or_insert_default().clone();
        let watch = move |trace: ProtocolTrace, _room| {
            told.push(trace);
            async {}
        };
        self.kit
            .add_hook(Hook::new(OnProtocolTrace, "traces", watch));
    }

    /// Does a step about protocol traces.
    pub(super) async fn protocol_traces(&self, step: &Step) -> Result<Option<Value>, Trouble> {
        match step {
            Step::Trace(spec) => {
                self.rooms
                    .emit_trace(self.protocol_trace(spec).await?)
                    .await?
            }
            Step::BindTrace(BindTrace {
                channel,
                session,
                room,
            }) => {
                let room = self.room(room).await?;
                self.rooms
                    .bind_trace_session(channel, session, room)
                    .await?;
            }
            Step::TraceStats(_) => return Ok(Some(show_stats(&self.kit.trace_stats()))),
            _ => {}
        }
        Ok(None)
    }

    async fn protocol_trace(&self, spec: &TraceSpec) -> Result<ProtocolTrace> {
        let direction = spec.direction.unwrap_or(TraceDirection::Inbound);
        let (channel, now) = (spec.channel.clone(), self.kit.now());
        let mut trace = ProtocolTrace::new(channel, direction, &spec.protocol, &spec.summary, now);
        trace.session_id.clone_from(&spec.session);
        trace.room_id = match &spec.room {
            Some(room) => Some(self.room(room).await?),
            None => None,
        };
        trace.raw = spec.raw.clone().map(TracePayload::Text);
        trace.metadata = spec.metadata.clone();
        Ok(trace)
    }
}

fn show_stats(stats: &TraceStats) -> Value {
    json!({
        "told": stats.told,
        "waiting": stats.waiting,
        "dropped_by_age": stats.dropped_by_age,
        "dropped_by_number": stats.dropped_by_number,
        "without_room": stats.without_room,
    })
}

/// What the hooks of each room were told, in order; `None` where nobody watches.
pub(super) fn of(stage: &Stage, names: &HashMap<RoomId, String>) -> Option<Map<String, Value>> {
    let told = stage.traces.as_ref()?.entries();
    let mut rooms: Map<String, Value> = Map::new();
    for trace in told {
        let room = trace.room_id.as_ref().and_then(|room| names.get(room));
        let list = rooms.entry(room.cloned().unwrap_or_default());
        if let Value::Array(list) = list.or_insert_with(|| json!([])) {
            list.push(show(&trace));
        }
    }
    Some(rooms)
}

fn show(trace: &ProtocolTrace) -> Value {
    json!({
        "channel": trace.channel_id,
        "direction": trace.direction,
        "protocol": trace.protocol,
        "summary": trace.summary,
        "session": trace.session_id,
        "raw": trace.raw,
        "metadata": trace.metadata,
    })
}
