//! What holds in speaker selection for every roster and every reply.

use std::cell::Cell;

use futures_util::FutureExt;
use proptest::prelude::*;
use roomkit_core::turns::{NoSelection, SpeakerSelector, TranscriptEvent};

fn name() -> impl Strategy<Value = String> {
    prop_oneof![
        prop::sample::select(vec![
            "dev",
            "DevOps",
            "qa-1",
            "b",
            "B",
            "é",
            "tech lead",
            "小明",
            "c."
        ])
        .prop_map(String::from),
        "\\PC{0,6}",
    ]
}

fn roster() -> impl Strategy<Value = Vec<String>> {
    prop::collection::vec(name(), 0..5)
}

fn reply() -> impl Strategy<Value = String> {
    let marks = prop::sample::select(vec!["", " ", "**", "_", "'", "`", ", ", "-", "@", ".", "x"]);
    let named = (marks.clone(), name(), marks);
    prop_oneof![
        "\\PC{0,16}",
        prop::collection::vec(named, 0..4).prop_map(|parts| {
            let text = |(before, name, after)| format!("{before}{name}{after}");
            parts.into_iter().map(text).collect::<String>()
        })
    ]
}

proptest! {
    #[test]
    fn whoever_is_selected_is_on_the_roster_and_may_speak(
        roster in roster(),
        reply in reply(),
        last in prop::option::of(name()),
        forbidden in any::<bool>(),
    ) {
        let selector = SpeakerSelector::new(roster.clone());
        let selector = if forbidden { selector.forbid_repeat() } else { selector };
        let barred = last.as_deref().filter(|_| forbidden);
        match selector.select(&reply, last.as_deref()) {
            Ok(selection) => {
                prop_assert!(roster.contains(&selection.speaker));
                prop_assert_ne!(Some(selection.speaker.as_str()), barred);
            }
            Err(NoSelection::Ambiguous { speakers }) => {
                prop_assert!(speakers.len() > 1);
                prop_assert!(speakers.iter().all(|speaker| roster.contains(speaker)));
            }
            Err(NoSelection::Repeat { speaker }) => {
                prop_assert_eq!(Some(speaker.as_str()), barred);
            }
            Err(NoSelection::NobodyLeft) => {
                prop_assert!(roster.iter().all(|agent| Some(agent.as_str()) == barred));
            }
            Err(_) => {}
        }
    }

    #[test]
    fn an_id_as_the_reply_selects_it(others in roster(), name in name()) {
        let id = match name.trim() {
            "" => "z",
            id => id,
        };
        let selector = SpeakerSelector::new(others.iter().map(String::as_str).chain([id]));
        let reply = format!(" {id}\n");
        prop_assert_eq!(selector.select(&reply, None).unwrap().speaker, id);
    }

    #[test]
    fn a_model_is_asked_a_bounded_number_of_times_and_a_fallback_never_repeats_what_is_forbidden(
        roster in roster(),
        replies in prop::collection::vec(reply(), 1..4),
        speakers in prop::collection::vec(name(), 0..4),
        reasks in 0..5u32,
    ) {
        let transcript: Vec<_> = speakers
            .into_iter()
            .map(|speaker| TranscriptEvent::new(speaker, "hm"))
            .collect();
        let last = transcript.iter().rev().find(|event| roster.contains(&event.speaker));
        let selector = SpeakerSelector::new(roster.clone()).forbid_repeat().max_reasks(reasks);
        let asked = Cell::new(0_usize);
        let decision = selector
            .select_with(&transcript, |_| {
                let reply = replies[asked.get() % replies.len()].clone();
                asked.set(asked.get() + 1);
                std::future::ready(reply)
            })
            .now_or_never()
            .unwrap();
        prop_assert_eq!(decision.asks as usize, asked.get());
        prop_assert!(decision.asks <= reasks + 1);
        let others = roster.iter().any(|agent| Some(agent) != last.map(|event| &event.speaker));
        match decision.selection {
            Ok(selection) => {
                prop_assert!(roster.contains(&selection.speaker));
                prop_assert_ne!(Some(&selection.speaker), last.map(|event| &event.speaker));
            }
            Err(reason) => {
                prop_assert_eq!(reason, NoSelection::NobodyLeft);
                prop_assert!(!others && asked.get() == 0);
            }
        }
    }
}
