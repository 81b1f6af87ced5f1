//! Turn files: a room of scripted agents that runs by itself, with its cuts and restarts.

mod file;
mod planner;
mod stage;

use futures_util::future::join_all;
use roomkit_core::turns::{TurnReport, TurnRoom, TurnRoomError};
use serde_json::{Value, json};

pub(super) use file::TurnFile;

use self::file::{Cut, Post, Step, StepResult};
use self::stage::{Outside, duration, room};
use super::error::ConformanceError;
use super::run;

/// Whether a file is about a room that runs its agents.
pub(super) fn is_turns(file: &Value) -> bool {
    file.get("turn_room").is_some()
}

impl TurnFile {
    pub(super) fn read(value: Value) -> Result<Self, ConformanceError> {
        serde_json::from_value(value)
            .map_err(|error| ConformanceError::malformed(error.to_string()))
    }

    /// What the file expects, with everything that may be absent.
    pub(super) fn expected(&self) -> Value {
        json!(self.expect)
    }

    /// Runs the file on a runtime of its own whose time is paused.
    pub(super) fn run(&self) -> Result<Value, ConformanceError> {
        run::on_paused_time(self.play())
    }

    async fn play(&self) -> Result<Value, ConformanceError> {
        let before = &self.turn_room.transcript;
        let outside = Outside::new(&self.turn_room);
        let build = || {
            let made = room(&self.turn_room, &outside, outside.stored(before));
            made.map_err(|error| ConformanceError::Setup {
                part: "turn_room".to_owned(),
                source: error.into(),
            })
        };
        let mut room = build()?;
        let mut results = Vec::new();
        for step in &self.steps {
            match step {
                Step::Restart(_) => room = build()?,
                Step::Resume(_) => results.push(result(room.resume().await)),
                Step::Post(message) => results.push(result(post(&room, message).await)),
                Step::PostTogether(messages) => {
                    let posts = messages.iter().map(|message| post(&room, message));
                    results.extend(join_all(posts).await.into_iter().map(result));
                }
                Step::Cut(Cut {
                    speaker,
                    content,
                    after,
                }) => {
                    let post = room.post(speaker, content);
                    let done = tokio::time::timeout(duration(*after), post).await;
                    results.push(done.map_or(StepResult::Cut { cut: true }, result));
                }
            }
        }
        let transcript = room.transcript();
        let mut trace = json!(outside.trace(results, &transcript));
        let stored = outside.stored(before);
        // No file expects this, so it is a difference.
        if stored[..] != transcript[..]
            && let Value::Object(trace) = &mut trace
        {
            trace.insert("stored".to_owned(), json!(stored));
        }
        Ok(trace)
    }
}

fn post(
    room: &TurnRoom,
    Post { speaker, content }: &Post,
) -> impl Future<Output = Result<TurnReport, TurnRoomError>> + use<> {
    room.post(speaker, content)
}

fn result(done: Result<TurnReport, TurnRoomError>) -> StepResult {
    match done {
        Ok(report) => StepResult::Ended {
            ended: report.ended.code().to_owned(),
            appended: report.records.len(),
        },
        Err(TurnRoomError::ObserverFailed(failure)) => StepResult::NotTaken {
            position: failure.record.position,
            posted: failure.posted,
            error: TurnRoomError::from(failure).code().to_owned(),
        },
        Err(other) => StepResult::Failed {
            error: other.code().to_owned(),
        },
    }
}
