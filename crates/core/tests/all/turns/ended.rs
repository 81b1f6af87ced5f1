//! Why an activity ended: names that do not change, and words.

use std::collections::BTreeSet;

use roomkit_core::turns::{Ended, Misplan, TurnCap};

#[test]
fn every_end_has_a_name_of_its_own_and_says_what_it_is() {
    let speaker = || "poet".to_owned();
    let ends = [
        (
            Ended::Settled,
            "settled",
            "everyone who was to speak has spoken",
        ),
        (
            Ended::Capped(TurnCap::MaxRounds),
            "max_rounds_reached",
            "the cap of rounds is reached",
        ),
        (
            Ended::Capped(TurnCap::MaxMessages),
            "max_messages_reached",
            "the cap of messages is reached",
        ),
        (
            Ended::Misplanned(Misplan::NotOnRoster { speaker: speaker() }),
            "speaker_not_on_roster",
            "the planner named `poet`, who is not on the roster",
        ),
        (
            Ended::Misplanned(Misplan::SpokeAlready {
                speaker: speaker(),
                round: 2,
            }),
            "speaker_spoke_already",
            "the planner named `poet`, who has had a turn in round 2",
        ),
        (
            Ended::Misplanned(Misplan::Panicked),
            "planner_panicked",
            "the planner panicked",
        ),
    ];
    for (end, code, words) in &ends {
        assert_eq!((end.code(), end.to_string().as_str()), (*code, *words));
    }
    let codes: BTreeSet<_> = ends.iter().map(|(end, ..)| end.code()).collect();
    assert_eq!(codes.len(), ends.len());
}
