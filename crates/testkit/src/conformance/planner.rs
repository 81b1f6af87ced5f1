//! Files of the turn planner: who speaks next, and who is mentioned.

use roomkit_core::turns::{
    RoomTurnPlanner, RoundRobinRoomPlanner, TranscriptEvent, extract_mentions,
};
use serde::Deserialize;
use serde_json::{Value, json};

use super::error::ConformanceError;

/// The vectors of a planner file.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Vectors {
    #[serde(default)]
    plan_next: Vec<PlanNext>,
    #[serde(default)]
    extract_mentions: Vec<ExtractMentions>,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct PlanNext {
    roster: Vec<String>,
    #[serde(default = "default_rounds")]
    max_rounds: u32,
    #[serde(default = "default_messages")]
    max_messages: u32,
    transcript: Vec<Turn>,
    next: Option<String>,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct Turn {
    speaker: String,
    #[serde(default)]
    content: String,
    #[serde(default)]
    round: u32,
    #[serde(default)]
    passed: bool,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct ExtractMentions {
    text: String,
    mentions: Vec<String>,
}

const fn default_rounds() -> u32 {
    RoundRobinRoomPlanner::DEFAULT_MAX_ROUNDS
}

const fn default_messages() -> u32 {
    RoundRobinRoomPlanner::DEFAULT_MAX_MESSAGES
}

/// Whether a file is one of the planner's.
pub(super) fn is_planner(file: &Value) -> bool {
    file.get("plan_next").is_some() || file.get("extract_mentions").is_some()
}

impl Vectors {
    pub(super) fn read(value: Value) -> Result<Self, ConformanceError> {
        serde_json::from_value(value)
            .map_err(|error| ConformanceError::malformed(error.to_string()))
    }

    /// What the vectors expect, in the form of [`run`](Self::run).
    pub(super) fn expected(&self) -> Value {
        let next = self
            .plan_next
            .iter()
            .map(|vector| json!({ "next": vector.next }));
        let mentions = self.extract_mentions.iter();
        let mentions = mentions.map(|vector| json!({ "mentions": vector.mentions }));
        json!({
            "plan_next": next.collect::<Vec<_>>(),
            "extract_mentions": mentions.collect::<Vec<_>>(),
        })
    }

    /// What the planner makes of each vector.
    pub(super) fn run(&self) -> Result<Value, ConformanceError> {
        let mut next = Vec::new();
        for (at, vector) in self.plan_next.iter().enumerate() {
            let planner = RoundRobinRoomPlanner::new(vector.max_rounds, vector.max_messages)
                .map_err(|error| {
                    ConformanceError::malformed(format!("plan_next[{at}]: {error}"))
                })?;
            let transcript: Vec<_> = vector.transcript.iter().map(Turn::event).collect();
            next.push(json!({ "next": planner.plan_next(&vector.roster, &transcript) }));
        }
        let mentions = self.extract_mentions.iter();
        let mentions = mentions.map(|vector| json!({ "mentions": extract_mentions(&vector.text) }));
        Ok(json!({
            "plan_next": next,
            "extract_mentions": mentions.collect::<Vec<_>>(),
        }))
    }
}

impl Turn {
    fn event(&self) -> TranscriptEvent {
        TranscriptEvent {
            speaker: self.speaker.clone(),
            content: self.content.clone(),
            round: self.round,
            passed: self.passed,
        }
    }
}
