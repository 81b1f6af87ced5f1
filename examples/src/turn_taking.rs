//! A room that runs its agents: a hand-off, an agent that is too slow, a store, and a restart.

use std::io::Write;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use roomkit_core::turns::{
    TranscriptEvent, Turn, TurnContext, TurnError, TurnRecord, TurnReport, TurnRoom,
};
use roomkit_testkit::ManualClock;

use crate::Outcome;

/// Stands for a database: what a room has said, each event at its position.
#[derive(Debug, Clone, Default)]
struct Store(Arc<Mutex<Vec<TranscriptEvent>>>);

impl Store {
    fn with(events: Vec<TranscriptEvent>) -> Self {
        Self(Arc::new(Mutex::new(events)))
    }

    /// Writes over what is there, for an event may be shown again.
    async fn save(self, record: TurnRecord) -> Result<(), std::io::Error> {
        let mut events = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        events.truncate(record.position);
        events.push(record.event);
        Ok(())
    }

    fn load(&self) -> Vec<TranscriptEvent> {
        let events = self.0.lock();
        events.unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// How long an agent may take for a turn.
const TURN: Duration = Duration::from_secs(30);

/// Runs the example.
///
/// # Errors
/// Where the room or `out` fails.
pub async fn run(out: &mut impl Write) -> Outcome {
    let (store, clock) = (Store::default(), ManualClock::new());
    let room = room_from(Vec::new(), &store, &clock)?;

    // The post runs until the reviewer keeps it waiting; then the clock is turned.
    let (report, ()) = tokio::join!(room.post("user", "build a login form"), async {
        clock.advance(TURN);
    });
    show(out, &report?)?;

    // The process goes away in the middle of the activity: after the reviewer had passed.
    let half: Vec<_> = store.load().into_iter().take(4).collect();
    let restored = Store::with(half.clone());
    let again = room_from(half, &restored, &clock)?;
    writeln!(out, "restarted with {} events", again.transcript().len())?;
    show(out, &again.resume().await?)?;
    let same = again.transcript() == room.transcript() && restored.load() == store.load();
    writeln!(out, "the same as without the restart: {same}")?;
    Ok(())
}

/// The room with what was stored of it; nothing for a new one.
fn room_from(
    stored: Vec<TranscriptEvent>,
    store: &Store,
    clock: &ManualClock,
) -> Result<TurnRoom, TurnError> {
    let store = store.clone();
    TurnRoom::builder(["planner", "coder", "reviewer"])
        .agent("planner", planner)
        .agent("coder", coder)
        .agent("reviewer", reviewer)
        .observer(move |record| store.clone().save(record))
        .clock(Arc::new(clock.clone()))
        .turn_timeout(TURN)
        .transcript(stored)
        .build()
}

// In a real room a model answers; what an agent needs to know is in its turn.

async fn planner(turn: TurnContext) -> Result<Turn, std::io::Error> {
    Ok(match turn.round {
        0 => Turn::say("first the form, then its labels. @coder please"),
        _ => Turn::pass(),
    })
}

async fn coder(turn: TurnContext) -> Result<Turn, std::io::Error> {
    Ok(match turn.round {
        0 => Turn::say("the form is there"),
        _ => Turn::say("the labels too. @reviewer and @planner, have a look"),
    })
}

async fn reviewer(turn: TurnContext) -> Result<Turn, std::io::Error> {
    if turn.round == 0 {
        // Still thinking; the room does not wait for ever.
        std::future::pending::<()>().await;
    }
    let read = turn.transcript.len();
    Ok(Turn::say(format!("read {read} messages, looks good")))
}

fn show(out: &mut impl Write, report: &TurnReport) -> Outcome {
    for TurnRecord { event, passed, .. } in &report.records {
        match passed {
            Some(reason) => writeln!(out, "[{}] {} passes: {reason}", event.round, event.speaker)?,
            None => writeln!(
                out,
                "[{}] {}: {}",
                event.round, event.speaker, event.content
            )?,
        }
    }
    writeln!(out, "{}: {}", report.ended.code(), report.ended)?;
    Ok(())
}
