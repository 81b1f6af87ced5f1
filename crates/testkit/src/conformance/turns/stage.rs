//! The room of a turn file, with what its agents and its observer saw.

use std::collections::BTreeMap;
use std::panic::resume_unwind;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use roomkit_core::turns::{TranscriptEvent, Turn, TurnContext, TurnError, TurnRecord, TurnRoom};

use super::file::{AgentSpec, Event, Expect, Pass, RoomSpec, Rule, StepResult};
use super::planner::ListPlanner;
use crate::sync::lock;

/// What is outside of a room, and stays when the room goes.
#[derive(Debug, Clone, Default)]
pub(super) struct Outside(Arc<Mutex<Seen>>);

#[derive(Debug, Default)]
struct Seen {
    stored: Vec<TurnRecord>,
    /// The positions that are still to be refused.
    failing: Vec<usize>,
    asked: BTreeMap<String, Vec<u32>>,
}

impl Outside {
    pub(super) fn new(spec: &RoomSpec) -> Self {
        Self(Arc::new(Mutex::new(Seen {
            failing: spec.observer_fails.clone(),
            ..Seen::default()
        })))
    }

    /// What the observer has stored, upon what the room was built from.
    pub(super) fn stored(&self, before: &[Event]) -> Vec<TranscriptEvent> {
        let seen = lock(&self.0);
        let events = seen.stored.iter().map(|record| record.event.clone());
        before.iter().map(Into::into).chain(events).collect()
    }

    /// What a run left, in the form in which it is expected.
    pub(super) fn trace(&self, results: Vec<StepResult>, events: &[TranscriptEvent]) -> Expect {
        let seen = lock(&self.0);
        let passes = seen.stored.iter().filter_map(|record| {
            let reason = record.passed.as_ref()?;
            Some(Pass {
                speaker: record.event.speaker.clone(),
                round: record.event.round,
                reason: reason.code().to_owned(),
            })
        });
        Expect {
            results,
            transcript: events.iter().map(Into::into).collect(),
            passes: passes.collect(),
            asked: seen.asked.clone(),
        }
    }

    /// Takes a record at its position, over what is there.
    fn observe(&self, record: TurnRecord) -> Result<(), &'static str> {
        let mut seen = lock(&self.0);
        if let Some(at) = seen.failing.iter().position(|at| *at == record.position) {
            seen.failing.swap_remove(at);
            return Err("told to fail");
        }
        seen.stored
            .retain(|stored| stored.position < record.position);
        seen.stored.push(record);
        Ok(())
    }

    fn note(&self, turn: &TurnContext) {
        let mut seen = lock(&self.0);
        let rounds = seen.asked.entry(turn.agent.clone()).or_default();
        rounds.push(turn.round);
    }
}

/// The file's room, with this said in it.
pub(super) fn room(
    spec: &RoomSpec,
    outside: &Outside,
    said: Vec<TranscriptEvent>,
) -> Result<TurnRoom, TurnError> {
    let observer = outside.clone();
    let mut builder = TurnRoom::builder(spec.roster.clone())
        .observer(move |record| std::future::ready(observer.observe(record)))
        .transcript(said);
    if let Some(rounds) = spec.max_rounds {
        builder = builder.max_rounds(rounds);
    }
    if let Some(messages) = spec.max_messages {
        builder = builder.max_messages(messages);
    }
    if let Some(seconds) = spec.turn_timeout {
        builder = builder.turn_timeout(duration(seconds));
    }
    if let Some(turns) = &spec.planner {
        builder = builder.planner(Arc::new(ListPlanner(turns.clone())));
    }
    for AgentSpec { id, script } in &spec.agents {
        let (script, outside) = (script.clone(), outside.clone());
        builder = builder.agent(id, move |turn| {
            outside.note(&turn);
            act(script.iter().find(|rule| rule.fits(&turn)).cloned())
        });
    }
    builder.build()
}

impl Rule {
    fn fits(&self, turn: &TurnContext) -> bool {
        let last = turn.transcript.last().map_or("", |event| &event.content);
        self.round.is_none_or(|round| round == turn.round)
            && self.on.as_ref().is_none_or(|text| last.contains(text))
    }
}

async fn act(rule: Option<Rule>) -> Result<Turn, &'static str> {
    let Some(rule) = rule else {
        return Ok(Turn::pass());
    };
    if let Some(seconds) = rule.after {
        tokio::time::sleep(duration(seconds)).await;
    }
    if rule.panic {
        // As a panic, without its message on the error stream.
        resume_unwind(Box::new("told to panic"));
    }
    if rule.fail {
        return Err("told to fail");
    }
    Ok(rule.say.map_or_else(Turn::pass, Turn::say))
}

pub(super) fn duration(seconds: f64) -> Duration {
    Duration::try_from_secs_f64(seconds).unwrap_or_default()
}
