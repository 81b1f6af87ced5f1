//! The steps about sources, and a source whose runs are written down in the scenario.

use std::collections::VecDeque;
use std::sync::Mutex;
use std::time::Duration;

use roomkit_core::model::{ChannelId, EventContent, InboundMessage, RoomId};
use roomkit_core::source::{SourceEmitter, SourceProvider};
use roomkit_core::{Error, Result, async_trait};
use serde::Deserialize;
use serde_json::{Value, json};

use super::build::Stage;
use super::run::{Trouble, seconds};
use super::scenario::Step;
use crate::sync::lock;

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct AttachSourceSpec {
    channel: ChannelId,
    runs: Vec<RunSpec>,
    auto_restart: Option<bool>,
    /// In seconds, as all times here.
    restart_delay: Option<f64>,
    max_restart_delay: Option<f64>,
    max_restart_attempts: Option<u32>,
}

/// One run: it connects, waits, emits, and ends.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct RunSpec {
    #[serde(default = "yes")]
    connects: bool,
    #[serde(default)]
    after: f64,
    #[serde(default)]
    emit: Vec<EmitSpec>,
    /// What it still has when it is asked to stop.
    #[serde(default)]
    leaves: Vec<EmitSpec>,
    end: End,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct EmitSpec {
    sender: String,
    body: String,
    room: Option<RoomId>,
}

#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(rename_all = "snake_case")]
enum End {
    Fail,
    Panic,
    Finish,
    /// When it is asked to.
    Stop,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct OfSource {
    channel: ChannelId,
}

fn yes() -> bool {
    true
}

/// A source that does what is written down for each of its runs; beyond the last it waits to be ended.
struct Scripted {
    runs: Mutex<VecDeque<(RunSpec, Duration)>>,
}

#[async_trait]
impl SourceProvider for Scripted {
    fn name(&self) -> &'static str {
        "scripted"
    }

    async fn start(&self, emit: SourceEmitter) -> Result<()> {
        let next = lock(&self.runs).pop_front();
        let Some((run, after)) = next else {
            emit.stopped().await;
            return Ok(());
        };
        if run.connects {
            emit.connected();
        }
        emit.sleep(after).await;
        bring(&emit, run.emit).await?;
        match run.end {
            End::Fail => Err(Error::source("the scenario lets it fail")),
            #[expect(clippy::panic, reason = "the scenario lets it panic")]
            End::Panic => panic!("the scenario lets this source panic"),
            End::Finish => Ok(()),
            End::Stop => {
                emit.stopped().await;
                bring(&emit, run.leaves).await
            }
        }
    }
}

async fn bring(emit: &SourceEmitter, messages: Vec<EmitSpec>) -> Result<()> {
    for spec in messages {
        let content = EventContent::text(spec.body);
        let mut message = InboundMessage::new("", spec.sender.as_str(), content);
        message.room_id = spec.room;
        emit.emit(message).await?;
    }
    Ok(())
}

impl Stage {
    /// Does a step about a source.
    pub(super) async fn sources(&self, step: &Step) -> Result<Option<Value>, Trouble> {
        match step {
            Step::AttachSource(spec) => self.attach_source(spec).await?,
            Step::DetachSource(of) => self.rooms.detach_source(&of.channel).await?,
            Step::SourceHealth(of) => {
                let health = self.rooms.source_health(&of.channel).await?;
                return Ok(Some(json!({
                    "status": health.status,
                    "failures": health.failures,
                    "messages": health.messages_received,
                })));
            }
            _ => {}
        }
        Ok(None)
    }

    async fn attach_source(&self, spec: &AttachSourceSpec) -> Result<(), Trouble> {
        let time = |key, value| seconds(key, value).map_err(Trouble::Scenario);
        let mut runs = VecDeque::new();
        for run in &spec.runs {
            runs.push_back((run.clone(), time("after", run.after)?));
        }
        let source = Scripted {
            runs: Mutex::new(runs),
        };
        let mut call = self.rooms.attach_source(&spec.channel, source);
        if let Some(restart) = spec.auto_restart {
            call = call.auto_restart(restart);
        }
        if let Some(delay) = spec.restart_delay {
            call = call.restart_delay(time("restart_delay", delay)?);
        }
        if let Some(delay) = spec.max_restart_delay {
            call = call.max_restart_delay(time("max_restart_delay", delay)?);
        }
        if let Some(attempts) = spec.max_restart_attempts {
            call = call.max_restart_attempts(attempts);
        }
        Ok(call.await?)
    }
}
