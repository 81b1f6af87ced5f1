//! Speaker selection: every shape of reply, and how often a model is asked.

use std::cell::RefCell;

use futures_util::FutureExt;
use roomkit_core::turns::{
    Ask, Decision, NoSelection, SelectionFallback, SelectionReason, SpeakerSelector,
    TranscriptEvent, TurnError,
};

use super::transcript;

fn selector() -> SpeakerSelector {
    SpeakerSelector::new(["Planner", "Coder", "Reviewer", "devops", "qa-1"])
        .alias("Coder", "dev")
        .and_then(|selector| selector.alias("Planner", "Project Lead"))
        .and_then(|selector| selector.alias("Reviewer", "lead"))
        .and_then(|selector| selector.alias("Reviewer", "小明"))
        .unwrap()
}

/// The decision on a reply, as `speaker reason`, or as the reason why none.
fn read(selector: &SpeakerSelector, reply: &str, last: Option<&str>) -> String {
    match selector.select(reply, last) {
        Ok(selection) => format!("{} {}", selection.speaker, selection.reason.code()),
        Err(NoSelection::Ambiguous { speakers }) => format!("ambiguous {}", speakers.join(" ")),
        Err(other) => other.code().to_owned(),
    }
}

#[test]
fn replies_of_every_shape_are_read_or_refused() {
    let cases = [
        // Nothing but a name.
        ("Coder", "Coder exact_id"),
        ("  Coder\n", "Coder exact_id"),
        ("coder", "Coder alone"),
        ("CODER.", "Coder alone"),
        ("dev", "Coder alone"),
        ("\"Coder\"", "Coder alone"),
        ("'reviewer'", "Reviewer alone"),
        ("“Reviewer”", "Reviewer alone"),
        ("«Reviewer»", "Reviewer alone"),
        ("`qa-1`", "qa-1 alone"),
        ("**Coder**", "Coder alone"),
        ("_Coder_", "Coder alone"),
        ("***Coder***!", "Coder alone"),
        ("# Coder", "Coder alone"),
        ("> - Coder", "Coder alone"),
        ("@coder", "Coder alone"),
        ("[Coder]", "Coder alone"),
        ("project   lead", "Planner alone"),
        // In a sentence.
        ("Next speaker: Coder", "Coder in_sentence"),
        ("The next one is **coder**, of course.", "Coder in_sentence"),
        ("I choose __Coder__ now", "Coder in_sentence"),
        ("It's coder's turn", "Coder in_sentence"),
        ("Coder, because the coder has to do it", "Coder in_sentence"),
        ("Coder\n\nThe form is not there yet.", "Coder in_sentence"),
        ("{\"speaker\": \"Coder\"}", "Coder in_sentence"),
        ("dev (Coder)", "Coder in_sentence"),
        ("1. Coder", "Coder in_sentence"),
        ("let @dev do it.", "Coder in_sentence"),
        ("接下来请Coder发言", "Coder in_sentence"),
        ("ask 小明 please", "Reviewer in_sentence"),
        // Aliases that are part of other words.
        ("devops", "devops exact_id"),
        ("DevOps should look", "devops in_sentence"),
        ("the devs", "unknown"),
        ("some development", "unknown"),
        ("dev-lead", "unknown"),
        ("main.dev.rs", "unknown"),
        ("write to dev@example.org", "unknown"),
        ("write to me@dev", "unknown"),
        ("snake_dev_case", "unknown"),
        ("de\u{301}v dev\u{301}", "unknown"),
        ("qa-12 or qa", "unknown"),
        ("小明明", "unknown"),
        ("ask the Project Lead", "Planner in_sentence"),
        ("ask the lead", "Reviewer in_sentence"),
        // Several.
        (
            "I think Reviewer, or maybe Coder, should go",
            "ambiguous Coder Reviewer",
        ),
        ("Reviewer/Coder", "ambiguous Coder Reviewer"),
        ("dev and devops", "ambiguous Coder devops"),
        ("Project Lead or lead", "ambiguous Planner Reviewer"),
        // Nobody.
        ("", "unknown"),
        ("***", "unknown"),
        ("nobody", "unknown"),
        ("the tester", "unknown"),
    ];
    let selector = selector();
    for (reply, decision) in cases {
        assert_eq!(read(&selector, reply, None), decision, "{reply:?}");
        assert_eq!(
            read(&selector, reply, Some("Planner")),
            decision,
            "{reply:?}"
        );
    }
}

#[test]
fn case_counts_where_it_tells_names_apart() {
    let selector = SpeakerSelector::new(["b", "B", "c", "b"]);
    for (reply, decision) in [
        ("b", "b exact_id"),
        ("'B'", "B alone"),
        ("then B", "B in_sentence"),
        ("C", "c alone"),
        ("B or b", "ambiguous b B"),
    ] {
        assert_eq!(read(&selector, reply, None), decision, "{reply:?}");
    }
    let shared = SpeakerSelector::new(["x", "y"]).alias("x", "we");
    let shared = shared
        .and_then(|selector| selector.alias("y", "We"))
        .unwrap();
    assert_eq!(read(&shared, "WE", None), "ambiguous x y");
    assert_eq!(read(&shared, "We", None), "y alone");
}

#[test]
fn a_repeat_is_refused_where_it_is_forbidden() {
    let forbidden = selector().forbid_repeat();
    assert_eq!(read(&forbidden, "Coder", Some("Coder")), "repeat");
    assert_eq!(read(&forbidden, "the dev", Some("Coder")), "repeat");
    assert_eq!(read(&forbidden, "Coder", Some("Planner")), "Coder exact_id");
    assert_eq!(read(&forbidden, "Coder", Some("user")), "Coder exact_id");
    let lonely = SpeakerSelector::new(["a"]).forbid_repeat();
    assert_eq!(read(&lonely, "a", Some("a")), "nobody_left");
    assert_eq!(
        read(&SpeakerSelector::new([""; 0]), "a", None),
        "nobody_left"
    );
}

#[test]
fn an_alias_needs_its_agent() {
    let error = SpeakerSelector::new(["a"]).alias("b", "bee").unwrap_err();
    assert_eq!(error, TurnError::NotOnRoster { agent: "b".into() });
}

/// Decides with a model that gives these replies, the last one again and again.
fn decide(
    selector: &SpeakerSelector,
    events: &[TranscriptEvent],
    replies: &[&str],
) -> (Decision, Vec<Ask>) {
    let asked = RefCell::new(Vec::new());
    let decision = selector
        .select_with(events, |ask: Ask| {
            let at = asked.borrow().len().min(replies.len() - 1);
            asked.borrow_mut().push(ask);
            std::future::ready(replies[at].to_owned())
        })
        .now_or_never()
        .unwrap();
    (decision, asked.into_inner())
}

fn outcome(decision: &Decision) -> (Option<&str>, &'static str, u32) {
    match &decision.selection {
        Ok(chosen) => (Some(&*chosen.speaker), chosen.reason.code(), decision.asks),
        Err(reason) => (None, reason.code(), decision.asks),
    }
}

const F50: &str = "I think Reviewer, or maybe Coder, should go";

#[test]
fn a_model_is_asked_within_its_budget_and_then_the_fallback_decides() {
    let roster = SpeakerSelector::new(["Planner", "Coder", "Reviewer"]);
    let events = transcript(&[("user", "go", 0), ("Coder", "done", 0)]);
    type Case<'a> = (
        SpeakerSelector,
        &'a [&'a str],
        (Option<&'a str>, &'a str, u32),
    );
    let cases: &[Case<'_>] = &[
        (roster.clone(), &["Coder"], (Some("Coder"), "exact_id", 1)),
        (
            roster.clone(),
            &[F50, "Reviewer"],
            (Some("Reviewer"), "exact_id", 2),
        ),
        (
            roster.clone(),
            &[F50, "", "it is planner"],
            (Some("Planner"), "in_sentence", 3),
        ),
        (
            roster.clone(),
            &[F50],
            (Some("Reviewer"), "next_in_roster", 3),
        ),
        (
            roster.clone().max_reasks(0),
            &[F50, "Coder"],
            (Some("Reviewer"), "next_in_roster", 1),
        ),
        (
            roster.clone().max_reasks(5),
            &["x"],
            (Some("Reviewer"), "next_in_roster", 6),
        ),
        (
            roster.clone().fallback(SelectionFallback::Nobody),
            &["", F50],
            (None, "ambiguous", 3),
        ),
        (
            roster.clone().forbid_repeat(),
            &["Coder", "coder", "Planner"],
            (Some("Planner"), "exact_id", 3),
        ),
        (
            roster.clone().forbid_repeat(),
            &["Coder"],
            (Some("Reviewer"), "next_in_roster", 3),
        ),
    ];
    for (selector, replies, expected) in cases {
        let (decision, asked) = decide(selector, &events, replies);
        assert_eq!(outcome(&decision), *expected, "{replies:?}");
        assert_eq!(asked.len(), decision.asks as usize);
        let taken = expected.0.is_some() && expected.1 != "next_in_roster";
        assert_eq!(decision.refused.len() + usize::from(taken), asked.len());
    }
}

#[test]
fn the_next_question_says_what_was_wrong_and_the_fallback_says_why() {
    let selector = SpeakerSelector::new(["Planner", "Coder", "Reviewer"]).forbid_repeat();
    let events = transcript(&[("user", "go", 0), ("Reviewer", "done", 0)]);
    let (decision, asked) = decide(&selector, &events, &[F50, "hm", "Reviewer"]);
    let question = "Who speaks next? Answer with exactly one of these names and nothing else: \
                    Planner, Coder.";
    let prompts: Vec<_> = asked.iter().map(|ask| ask.prompt.as_str()).collect();
    assert_eq!(
        prompts,
        [
            question.to_owned(),
            format!("You named several: Coder, Reviewer. {question}"),
            format!("You named none of them. {question}"),
        ]
    );
    assert_eq!(asked[1].candidates, ["Planner", "Coder"]);
    assert_eq!(
        asked[1].refused.as_ref().map(NoSelection::code),
        Some("ambiguous")
    );
    assert_eq!(asked[2].attempt, 2);
    let chosen = decision.selection.unwrap();
    assert_eq!(
        chosen.speaker, "Planner",
        "the one after the last, in a circle"
    );
    let because = NoSelection::Repeat {
        speaker: "Reviewer".into(),
    };
    assert_eq!(
        chosen.reason.to_string(),
        "it is next on the roster: the reply names Reviewer, who spoke last"
    );
    assert_eq!(chosen.reason, SelectionReason::NextInRoster { because });
}

#[test]
fn a_mention_by_a_human_wins_without_asking() {
    let selector = selector().forbid_repeat();
    type Case<'a> = (&'a [(&'a str, &'a str, u32)], Option<&'a str>);
    let cases: &[Case<'_>] = &[
        (&[("user", "@Coder please", 0)], Some("Coder")),
        (&[("user", "over to @dev.", 0)], Some("Coder")),
        (
            &[("Coder", "", 0), ("user", "again, @coder", 0)],
            Some("Coder"),
        ),
        (
            &[("user", "@nobody, @Reviewer and @Coder", 0)],
            Some("Reviewer"),
        ),
        (
            &[("user", "@Reviewer and @Coder", 0), ("Reviewer", "", 0)],
            Some("Coder"),
        ),
        (&[("user", "@Coder", 0), ("Coder", "", 0)], None),
        (&[("user", "@Coder", 0), ("user", "or anybody", 0)], None),
        (&[("user", "hi", 0), ("Planner", "@Coder", 0)], None),
        (&[("user", "mail me@dev", 0)], None),
        (&[], None),
    ];
    for (events, expected) in cases {
        let (decision, asked) = decide(&selector, &transcript(events), &["qa-1"]);
        match expected {
            Some(speaker) => {
                assert_eq!(
                    outcome(&decision),
                    (Some(*speaker), "mentioned", 0),
                    "{events:?}"
                );
                assert!(asked.is_empty());
            }
            None => assert_eq!(
                outcome(&decision),
                (Some("qa-1"), "exact_id", 1),
                "{events:?}"
            ),
        }
    }
}

#[test]
fn nobody_is_asked_where_nobody_may_speak() {
    let lonely = SpeakerSelector::new(["a"]).forbid_repeat();
    let (decision, asked) = decide(&lonely, &transcript(&[("a", "", 0)]), &["a"]);
    assert_eq!(outcome(&decision), (None, "nobody_left", 0));
    assert!(asked.is_empty());
    let (decision, _) = decide(&lonely, &transcript(&[("user", "", 0)]), &["?"]);
    assert_eq!(
        outcome(&decision),
        (Some("a"), "next_in_roster", 3),
        "the first of the roster"
    );
    let (decision, _) = decide(
        &SpeakerSelector::new(["a"]),
        &transcript(&[("a", "", 0)]),
        &["?"],
    );
    assert_eq!(
        outcome(&decision),
        (Some("a"), "next_in_roster", 3),
        "repeats are allowed"
    );
}
