//! What a call costs: the current activity, never the history.

use std::time::{Duration, Instant};

use roomkit_core::turns::{RoomTurnPlanner, RoundRobinRoomPlanner, TranscriptEvent};

use super::{roster, transcript};

/// The budget of one call, with room for an unoptimised build.
const BUDGET: Duration = if cfg!(debug_assertions) {
    Duration::from_micros(100)
} else {
    Duration::from_micros(5)
};

/// The fastest of many calls: what a call costs when nothing else holds the core.
fn fastest_call(
    planner: &impl RoomTurnPlanner,
    roster: &[String],
    events: &[TranscriptEvent],
) -> Duration {
    (0..1_000)
        .map(|_| {
            let start = Instant::now();
            std::hint::black_box(planner.plan_next(roster, std::hint::black_box(events)));
            start.elapsed()
        })
        .min()
        .unwrap_or_default()
}

#[test]
fn a_million_events_of_history_cost_nothing() {
    let roster = roster(&["planner", "coder", "reviewer"]);
    let planner = RoundRobinRoomPlanner::default();

    let mut events = vec![TranscriptEvent::new("planner", "@coder"); 1_000_000];
    assert_eq!(
        planner.plan_next(&roster, &events),
        None,
        "no human message"
    );
    let no_activity = fastest_call(&planner, &roster, &events);

    events.extend(transcript(&[
        ("user", "build a login form", 0),
        ("planner", "step 1: form. @coder please.", 0),
        ("coder", "done, @reviewer take a look", 0),
        ("reviewer", "looks good", 0),
    ]));
    assert_eq!(planner.plan_next(&roster, &events), Some("coder"));
    let short_activity = fastest_call(&planner, &roster, &events);

    assert!(
        no_activity < BUDGET,
        "beyond the message cap: {no_activity:?}"
    );
    assert!(
        short_activity < BUDGET,
        "short activity: {short_activity:?}"
    );
}
