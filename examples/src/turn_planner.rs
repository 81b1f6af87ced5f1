//! A roster of agents takes turns: everyone once, then whoever is called by name.

use std::io::Write;

use roomkit_core::turns::{RoomTurnPlanner, RoundRobinRoomPlanner, TranscriptEvent};

use crate::Outcome;

/// Runs the example.
///
/// # Errors
/// Where `out` fails.
pub fn run(out: &mut impl Write) -> Outcome {
    let roster = ["planner", "coder", "reviewer"].map(String::from);
    let planner = RoundRobinRoomPlanner::new(3, 10)?;
    let mut transcript = vec![TranscriptEvent::new("user", "build a login form")];
    writeln!(out, "user: build a login form")?;

    // The planner remembers nothing: it is shown all that was said and names who is next.
    while let Some(turn) = planner.plan_turn(&roster, &transcript) {
        let said = match answer(turn.speaker, turn.round) {
            Some(text) => TranscriptEvent::new(turn.speaker, text).in_round(turn.round),
            None => TranscriptEvent::pass(turn.speaker, turn.round),
        };
        let text = if said.passed {
            "(passes)"
        } else {
            &said.content
        };
        writeln!(out, "round {}, {}: {text}", turn.round, turn.speaker)?;
        transcript.push(said);
    }
    writeln!(out, "settled: the room waits for the user")?;

    // After a restart the stored transcript gives the same order, whoever asks.
    let replayed: Vec<&str> = (1..transcript.len())
        .filter_map(|said| planner.plan_next(&roster, transcript.get(..said)?))
        .collect();
    writeln!(out, "replayed: {}", replayed.join(", "))?;

    transcript.push(TranscriptEvent::new("user", "thanks, and a logout button"));
    let next = planner.plan_next(&roster, &transcript).unwrap_or("nobody");
    writeln!(out, "user: thanks, and a logout button")?;
    writeln!(out, "next: {next}")?;
    Ok(())
}

/// What an agent says in a round; in a real room, a model says it.
fn answer(speaker: &str, round: u32) -> Option<&'static str> {
    match (round, speaker) {
        (0, "planner") => Some("step 1: the form. @coder please."),
        (0, "coder") => Some("done, @reviewer take a look"),
        (0, "reviewer") => Some("on it"),
        (1, "coder") => Some("labels added"),
        (1, "reviewer") => Some("looks good, @planner"),
        _ => None,
    }
}
