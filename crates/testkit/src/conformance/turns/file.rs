//! A turn file as it stands: a room, its scripted agents, what happens, and what that leaves.

use std::collections::BTreeMap;

use roomkit_core::turns::TranscriptEvent;
use serde::{Deserialize, Serialize};

/// A room that runs agents, what happens to it, and what this leaves.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(in super::super) struct TurnFile {
    pub(in super::super) name: Option<String>,
    pub(super) turn_room: RoomSpec,
    #[serde(default)]
    pub(super) steps: Vec<Step>,
    pub(super) expect: Expect,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RoomSpec {
    pub(super) roster: Vec<String>,
    pub(super) max_rounds: Option<u32>,
    pub(super) max_messages: Option<u32>,
    /// In seconds.
    pub(super) turn_timeout: Option<f64>,
    /// The turns of a planner that takes them from a list, by the number of events since the last
    /// human message.
    pub(super) planner: Option<Vec<Option<TurnSpec>>>,
    #[serde(default)]
    pub(super) agents: Vec<AgentSpec>,
    /// The positions of which the observer refuses the first event that it is shown.
    #[serde(default)]
    pub(super) observer_fails: Vec<usize>,
    /// What was said before.
    #[serde(default)]
    pub(super) transcript: Vec<Event>,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct TurnSpec {
    pub(super) speaker: String,
    pub(super) round: Option<u32>,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct AgentSpec {
    pub(super) id: String,
    #[serde(default)]
    pub(super) script: Vec<Rule>,
}

/// What an agent does in a round, or on a text in what was said last.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Rule {
    pub(super) round: Option<u32>,
    pub(super) on: Option<String>,
    /// In seconds.
    pub(super) after: Option<f64>,
    pub(super) say: Option<String>,
    #[serde(default)]
    pub(super) fail: bool,
    #[serde(default)]
    pub(super) panic: bool,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Step {
    Post(Post),
    PostTogether(Vec<Post>),
    Cut(Cut),
    Resume(Nothing),
    Restart(Nothing),
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Post {
    pub(super) speaker: String,
    pub(super) content: String,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Cut {
    pub(super) speaker: String,
    pub(super) content: String,
    /// In seconds.
    pub(super) after: f64,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Nothing {}

/// What a turn file expects; also what a run leaves.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Expect {
    pub(super) results: Vec<StepResult>,
    pub(super) transcript: Vec<Event>,
    pub(super) passes: Vec<Pass>,
    pub(super) asked: BTreeMap<String, Vec<u32>>,
}

/// An event, strict where the core's own is lenient.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Event {
    speaker: String,
    #[serde(default)]
    content: String,
    #[serde(default)]
    round: u32,
    #[serde(default)]
    passed: bool,
}

/// What a call came to.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(untagged, deny_unknown_fields)]
pub(super) enum StepResult {
    Ended {
        ended: String,
        appended: usize,
    },
    NotTaken {
        error: String,
        position: usize,
        posted: bool,
    },
    Failed {
        error: String,
    },
    Cut {
        cut: bool,
    },
}

/// A turn that was not used, and why.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Pass {
    pub(super) speaker: String,
    pub(super) round: u32,
    pub(super) reason: String,
}

impl From<&TranscriptEvent> for Event {
    fn from(event: &TranscriptEvent) -> Self {
        Self {
            speaker: event.speaker.clone(),
            content: event.content.clone(),
            round: event.round,
            passed: event.passed,
        }
    }
}

impl From<&Event> for TranscriptEvent {
    fn from(event: &Event) -> Self {
        Self {
            speaker: event.speaker.clone(),
            content: event.content.clone(),
            round: event.round,
            passed: event.passed,
        }
    }
}
