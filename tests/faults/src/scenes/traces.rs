//! Protocol traces, and which room a session of a transport is of.

use roomkit_core::hook::OnProtocolTrace;
use roomkit_core::model::{ProtocolTrace, TraceDirection};
use roomkit_core::trace::TraceFilter;
use roomkit_core::{Clock, Result};

use super::changes::drop_it;
use crate::parts::observed;
use crate::probe::Part;
use crate::scene::{Kind, Scene};
use crate::stage::{ROOM, Stage};

pub(super) const SCENES: &[Scene] = &[
    Scene::of(Kind::Trace, "tell of a protocol trace", |stage| {
        Box::pin(async move {
            let mut trace = invite(stage);
            trace.room_id = Some(ROOM.into());
            stage.kit.emit_trace(trace).await.map(drop_it)
        })
    })
    .after(|stage| Box::pin(async move { listen(stage) })),
    Scene::of(
        Kind::Trace,
        "say which room a session's traces are of",
        |stage| {
            Box::pin(async move {
                let bound = stage.kit.bind_trace_session("web", "call-7", ROOM).await;
                bound.map(drop_it)
            })
        },
    )
    .after(|stage| {
        Box::pin(async move {
            listen(stage)?;
            stage.kit.emit_trace(invite(stage)).await
        })
    }),
];

fn invite(stage: &Stage) -> ProtocolTrace {
    let now = stage.clock.now();
    let mut trace = ProtocolTrace::new("web", TraceDirection::Inbound, "sip", "INVITE", now);
    trace.session_id = Some("call-7".to_owned());
    trace
}

/// Somebody wants to know of them: a callback and a hook.
#[expect(clippy::unnecessary_wraps, reason = "what prepares a scene may fail")]
fn listen(stage: &Stage) -> Result<()> {
    let probe = stage.probe.clone();
    stage.kit.on_trace(TraceFilter::all(), move |_| {
        let probe = probe.clone();
        async move { probe.at_infallible(Part::Listener, "hears a trace").await }
    });
    let probe = stage.probe.clone();
    stage.kit.observe(OnProtocolTrace, "traces", move |_, _| {
        let probe = probe.clone();
        async move { observed(&probe, "OnProtocolTrace").await }
    });
    Ok(())
}
