//! The room: who speaks, what a pass hides, what an observer, a cut and a restart leave behind.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::future::pending;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures_util::FutureExt;
use roomkit_core::turns::{
    Ended, Misplan, PlannedTurn, RoomTurnPlanner, TranscriptEvent, Turn, TurnCap, TurnContext,
    TurnError, TurnRecord, TurnReport, TurnRoom, TurnRoomBuilder, TurnRoomError,
};

/// An agent that says its id and its round, and calls whoever is named for that round.
fn talker(
    calls: &'static [(u32, &'static str)],
) -> impl Fn(TurnContext) -> std::future::Ready<Result<Turn, Infallible>> + Send + Sync + 'static {
    move |turn| {
        let call = calls.iter().find(|(round, _)| *round == turn.round);
        let called = call.map_or("", |(_, text)| text);
        std::future::ready(Ok(Turn::say(format!("{} {called}", turn.agent).trim())))
    }
}

/// What was said, as `speaker/round: content`, a pass as `speaker/round -`.
fn shown<'a>(events: impl IntoIterator<Item = &'a TranscriptEvent>) -> Vec<String> {
    let show = |event: &TranscriptEvent| match event.passed {
        true => format!("{}/{} -{}", event.speaker, event.round, event.content),
        false => format!("{}/{}: {}", event.speaker, event.round, event.content),
    };
    events.into_iter().map(show).collect()
}

fn records(report: &TurnReport) -> Vec<String> {
    shown(report.records.iter().map(|record| &record.event))
}

/// Gives these turns in a circle, one for each event.
struct Scripted(Vec<Option<(&'static str, u32)>>);

impl RoomTurnPlanner for Scripted {
    fn plan_next<'r>(&self, roster: &'r [String], events: &[TranscriptEvent]) -> Option<&'r str> {
        self.plan_turn(roster, events).map(|turn| turn.speaker)
    }

    fn plan_turn<'r>(
        &self,
        _roster: &'r [String],
        events: &[TranscriptEvent],
    ) -> Option<PlannedTurn<'r>> {
        let turn = self.0[(events.len() - 1) % self.0.len()];
        turn.map(|(speaker, round)| PlannedTurn { speaker, round })
    }
}

#[tokio::test]
async fn agents_answer_in_the_planners_order_and_rounds_are_kept() {
    let room = TurnRoom::builder(["a", "b", "c"])
        .agent("a", talker(&[(0, "@c")]))
        .agent("b", talker(&[]))
        .agent("c", talker(&[(0, "@a @b")]))
        .build()
        .unwrap();
    let report = room.post("user", "go").await.unwrap();
    let expected = [
        "user/0: go",
        "a/0: a @c",
        "b/0: b",
        "c/0: c @a @b",
        "a/1: a",
        "b/1: b",
        "c/1: c",
    ];
    assert_eq!(records(&report), expected);
    assert_eq!(shown(&*room.transcript()), expected);
    assert_eq!(report.ended, Ended::Settled);
    let positions: Vec<_> = report
        .records
        .iter()
        .map(|record| record.position)
        .collect();
    assert_eq!(positions, [0, 1, 2, 3, 4, 5, 6]);

    let next = room.post("user", "more").await.unwrap();
    assert_eq!(next.records[0].position, 7);
    let nothing = room.resume().await.unwrap();
    assert!(nothing.records.is_empty());
    assert_eq!(nothing.ended.code(), "settled");
}

#[tokio::test(start_paused = true)]
async fn an_agent_that_gives_no_turn_has_passed_and_the_record_says_why() {
    let room = TurnRoom::builder([
        "absent", "chooses", "fails", "panics", "early", "slow", "last",
    ])
    .agent("chooses", |_| async { Ok::<_, Infallible>(Turn::pass()) })
    .agent("fails", |_| async { Err("no model") })
    .agent("panics", |_| async {
        panic!("in the future") as Result<Turn, Infallible>
    })
    .agent(
        "early",
        |_| -> std::future::Ready<Result<Turn, Infallible>> { panic!("before there is a future") },
    )
    .agent("slow", |_| pending::<Result<Turn, Infallible>>())
    .agent("last", |turn: TurnContext| async move {
        Ok::<_, Infallible>(Turn::say(turn.transcript.len().to_string()))
    })
    .turn_timeout(Duration::from_secs(5))
    .build()
    .unwrap();
    let start = tokio::time::Instant::now();
    let report = room.post("user", "go").await.unwrap();
    assert_eq!(start.elapsed(), Duration::from_secs(5));
    assert_eq!(
        records(&report),
        [
            "user/0: go",
            "absent/0 -",
            "chooses/0 -",
            "fails/0 -",
            "panics/0 -",
            "early/0 -",
            "slow/0 -",
            "last/0: 7",
        ]
    );
    let reasons: Vec<_> = report
        .records
        .iter()
        .map(|record| record.passed.as_ref().map_or("", |reason| reason.code()))
        .collect();
    assert_eq!(
        reasons,
        [
            "",
            "absent",
            "chosen",
            "failed",
            "panicked",
            "panicked",
            "timed_out",
            ""
        ]
    );
    let failed = report.records[3].passed.as_ref().unwrap();
    assert_eq!(failed.to_string(), "it failed: no model");
    let json = serde_json::to_value(room.transcript()).unwrap();
    let pass = serde_json::json!({"speaker": "fails", "content": "", "round": 0, "passed": true});
    assert_eq!(json[3], pass);
}

#[tokio::test]
async fn a_planner_cannot_leave_the_rooms_bounds() {
    type Case = (Vec<Option<(&'static str, u32)>>, usize, Ended);
    let cases: Vec<Case> = vec![
        (
            vec![Some(("a", 0)), Some(("ghost", 0))],
            2,
            Ended::Misplanned(Misplan::NotOnRoster {
                speaker: "ghost".into(),
            }),
        ),
        (
            vec![Some(("user", 0))],
            1,
            Ended::Misplanned(Misplan::NotOnRoster {
                speaker: "user".into(),
            }),
        ),
        (
            vec![Some(("a", 0)), Some(("b", 0)), Some(("a", 0))],
            3,
            Ended::Misplanned(Misplan::SpokeAlready {
                speaker: "a".into(),
                round: 0,
            }),
        ),
        (vec![Some(("a", 3))], 1, Ended::Capped(TurnCap::MaxRounds)),
        (
            vec![Some(("a", u32::MAX))],
            1,
            Ended::Capped(TurnCap::MaxRounds),
        ),
        (
            vec![
                Some(("a", 0)),
                Some(("b", 0)),
                Some(("a", 1)),
                Some(("b", 1)),
                Some(("b", 2)),
                Some(("a", 2)),
            ],
            5,
            Ended::Capped(TurnCap::MaxMessages),
        ),
        (
            vec![Some(("b", 2)), Some(("b", 0)), None],
            3,
            Ended::Settled,
        ),
    ];
    for (turns, events, ended) in cases {
        let room = TurnRoom::builder(["a", "b"])
            .agent("a", talker(&[]))
            .agent("b", talker(&[]))
            .planner(Arc::new(Scripted(turns.clone())))
            .max_messages(5)
            .build()
            .unwrap();
        let report = room.post("user", "go").await.unwrap();
        assert_eq!(report.ended, ended, "{turns:?}");
        assert_eq!(room.transcript().len(), events, "{turns:?}");
        let again = room.resume().await.unwrap();
        assert!(
            again.records.is_empty() && again.ended == ended,
            "{turns:?}"
        );
    }
}

#[tokio::test]
async fn planners_that_loop_panic_or_speak_unasked_are_stopped() {
    struct First;
    impl RoomTurnPlanner for First {
        fn plan_next<'r>(&self, roster: &'r [String], _: &[TranscriptEvent]) -> Option<&'r str> {
            roster.first().map(String::as_str)
        }
    }
    struct Panics;
    impl RoomTurnPlanner for Panics {
        fn plan_next<'r>(&self, _: &'r [String], _: &[TranscriptEvent]) -> Option<&'r str> {
            panic!("a planner")
        }
    }
    let room = |planner: Arc<dyn RoomTurnPlanner>| {
        let room = TurnRoom::builder(["a"]).agent("a", talker(&[]));
        room.planner(planner).build().unwrap()
    };
    let first = room(Arc::new(First));
    assert_eq!(
        first.resume().await.unwrap().ended,
        Ended::Settled,
        "no human yet"
    );
    for _ in 0..2 {
        let report = first.post("user", "go").await.unwrap();
        assert_eq!(
            records(&report),
            ["user/0: go", "a/0: a", "a/1: a", "a/2: a"]
        );
        assert_eq!(report.ended.code(), "max_rounds_reached");
    }
    let report = room(Arc::new(Panics)).post("user", "go").await.unwrap();
    assert_eq!(report.ended, Ended::Misplanned(Misplan::Panicked));
    assert_eq!(report.records.len(), 1);
}

#[tokio::test]
async fn a_room_that_is_capped_is_not_settled() {
    let room = |messages: u32| {
        TurnRoom::builder(["a", "b"])
            .agent("a", talker(&[(0, "@a"), (1, "@a")]))
            .max_messages(messages)
            .max_rounds(2)
    };
    let ended = async |builder: TurnRoomBuilder| {
        let report = builder.build().unwrap().post("user", "go").await.unwrap();
        (report.records.len(), report.ended.code())
    };
    assert_eq!(ended(room(1)).await, (1, "max_messages_reached"));
    assert_eq!(ended(room(3)).await, (3, "max_messages_reached"));
    assert_eq!(ended(room(20)).await, (4, "max_rounds_reached"));
    let quiet = TurnRoom::builder(["a", "b"]).max_messages(3);
    assert_eq!(ended(quiet).await, (3, "settled"));
    let empty = TurnRoom::builder(Vec::<String>::new());
    assert_eq!(ended(empty).await, (1, "settled"));
}

#[tokio::test]
async fn what_makes_no_sense_is_refused() {
    let builder = || TurnRoom::builder(["a"]);
    for (builder, cap) in [
        (builder().max_rounds(0), "max_rounds"),
        (builder().max_messages(0), "max_messages"),
    ] {
        assert_eq!(builder.build().unwrap_err(), TurnError::CapBelowOne { cap });
    }
    let error = builder().agent("b", talker(&[])).build().unwrap_err();
    assert_eq!(error, TurnError::NotOnRoster { agent: "b".into() });
    assert_eq!(error.code(), "turn_agent_not_on_roster");

    let room = builder().build().unwrap();
    let error = room.post("a", "I am no human").await.unwrap_err();
    assert_eq!(
        (error.code(), error.is_retryable()),
        ("turn_speaker_on_roster", false)
    );
    assert!(room.transcript().is_empty());
}

#[tokio::test]
async fn an_event_that_the_observer_does_not_take_does_not_count() {
    let stored = Arc::new(Mutex::new(Vec::<TurnRecord>::new()));
    let failing = Arc::new(Mutex::new(VecDeque::from([0, 2, 3])));
    let observer = {
        let (stored, failing) = (Arc::clone(&stored), Arc::clone(&failing));
        move |record: TurnRecord| {
            let (stored, failing) = (Arc::clone(&stored), Arc::clone(&failing));
            async move {
                let fails = {
                    let mut failing = failing.lock().unwrap();
                    failing.pop_front_if(|at| *at == record.position).is_some()
                };
                if fails {
                    assert_ne!(record.position, 3, "the observer panics");
                    return Err("disk full");
                }
                stored.lock().unwrap().push(record);
                Ok(())
            }
        }
    };
    let room = TurnRoom::builder(["a", "b"])
        .agent("a", talker(&[(0, "@a")]))
        .agent("b", talker(&[]))
        .observer(observer)
        .build()
        .unwrap();

    let failure = |result: Result<TurnReport, TurnRoomError>| match result {
        Err(TurnRoomError::ObserverFailed(failure)) => failure,
        other => panic!("{other:?}"),
    };
    let first = failure(room.post("user", "go").await);
    assert_eq!(first.record.event.content, "go");
    assert_eq!(first.source.to_string(), "disk full");
    assert_eq!(
        first.to_string(),
        "the observer did not take event 0 of `user`"
    );
    assert!(first.appended.is_empty() && room.transcript().is_empty());

    let second = failure(room.post("user", "go").await);
    assert_eq!(
        (second.record.position, &*second.record.event.speaker),
        (2, "b")
    );
    assert_eq!(second.appended.len(), 2);
    assert!(second.posted && !first.posted);
    assert_eq!(shown(&*room.transcript()), ["user/0: go", "a/0: a @a"]);

    let third = failure(room.post("user", "not yet").await);
    assert!(!third.posted, "the earlier activity comes first");
    assert_eq!(third.record.position, 3);
    assert_eq!(third.source.to_string(), "the observer panicked");
    assert_eq!(third.appended.len(), 1, "b's turn was given again");

    let rest = room.resume().await.unwrap();
    assert_eq!(records(&rest), ["a/1: a"]);
    assert_eq!(
        shown(stored.lock().unwrap().iter().map(|record| &record.event)),
        shown(&*room.transcript())
    );
}

#[tokio::test]
async fn posts_are_served_in_the_order_of_the_calls() {
    let room = TurnRoom::builder(["a"])
        .agent("a", |turn: TurnContext| async move {
            tokio::task::yield_now().await;
            Ok::<_, Infallible>(Turn::say(turn.transcript.last().unwrap().content.clone()))
        })
        .build()
        .unwrap();
    let one = room.post("user", "1");
    let given_up = room.post("user", "given up");
    let two = room.post("user", "2");
    // Polled the other way round.
    let (two, one) = {
        let mut given_up = given_up;
        let one = async {
            assert!((&mut given_up).now_or_never().is_none());
            drop(given_up);
            one.await
        };
        tokio::join!(two, one)
    };
    assert_eq!(records(&one.unwrap()), ["user/0: 1", "a/0: 1"]);
    assert_eq!(records(&two.unwrap()), ["user/0: 2", "a/0: 2"]);
    assert_eq!(room.transcript().len(), 4);
}

/// A room that hangs at this place the first time it comes there, and what it did.
fn stuck_once(at: &'static str) -> (TurnRoom, Arc<Mutex<Vec<String>>>) {
    let done = Arc::new(Mutex::new(Vec::<String>::new()));
    let reach = {
        let done = Arc::clone(&done);
        move |place: String| {
            let mut done = done.lock().unwrap();
            let hangs = place == at && !done.contains(&place);
            done.push(place);
            async move {
                if hangs {
                    pending::<()>().await;
                }
            }
        }
    };
    let observed = reach.clone();
    let room = TurnRoom::builder(["a", "b"])
        .agent("a", move |turn: TurnContext| {
            let reached = reach(format!("run {}", turn.transcript.len()));
            async move {
                reached.await;
                Ok::<_, Infallible>(Turn::say("a"))
            }
        })
        .observer(move |record| {
            let reached = observed(format!("see {}", record.position));
            async move {
                reached.await;
                Ok::<_, Infallible>(())
            }
        })
        .build()
        .unwrap();
    (room, done)
}

#[tokio::test]
async fn a_post_dropped_while_an_agent_thinks_gives_the_turn_again() {
    let (room, done) = stuck_once("run 1");
    assert!(room.post("user", "go").now_or_never().is_none());
    assert_eq!(shown(&*room.transcript()), ["user/0: go"]);
    assert!(room.unconfirmed().is_none());
    let report = room.resume().await.unwrap();
    assert_eq!(records(&report), ["a/0: a", "b/0 -"]);
    assert_eq!(
        *done.lock().unwrap(),
        ["see 0", "run 1", "run 1", "see 1", "see 2"]
    );
}

#[tokio::test]
async fn a_post_dropped_while_the_observer_looks_shows_the_event_again() {
    type Case = (&'static str, usize, &'static [&'static str]);
    let cases: [Case; 3] = [
        ("see 0", 0, &["see 0", "see 0", "run 1", "see 1", "see 2"]),
        ("see 1", 1, &["see 0", "run 1", "see 1", "see 1", "see 2"]),
        ("see 2", 2, &["see 0", "run 1", "see 1", "see 2", "see 2"]),
    ];
    for (at, kept, steps) in cases {
        let (room, done) = stuck_once(at);
        assert!(room.post("user", "go").now_or_never().is_none());
        assert_eq!(room.transcript().len(), kept, "{at}");
        assert_eq!(room.unconfirmed().unwrap().position, kept, "{at}");
        // The next post finishes first what the dropped one began.
        let report = room.post("user", "and?").await.unwrap();
        let all = [
            "user/0: go",
            "a/0: a",
            "b/0 -",
            "user/0: and?",
            "a/0: a",
            "b/0 -",
        ];
        assert_eq!(records(&report), all[kept..], "{at}");
        assert_eq!(shown(&*room.transcript()), all, "{at}");
        assert_eq!(done.lock().unwrap()[..5], *steps, "{at}: nobody ran twice");
        assert!(room.unconfirmed().is_none());
    }
}

#[tokio::test]
async fn a_post_dropped_in_the_line_leaves_nothing() {
    let room = TurnRoom::builder(["a"])
        .agent("a", |_| async {
            tokio::task::yield_now().await;
            Ok::<_, Infallible>(Turn::say("a"))
        })
        .build()
        .unwrap();
    let mut first = room.post("user", "first");
    assert!((&mut first).now_or_never().is_none());
    drop(room.post("user", "never polled"));
    let mut waiting = room.post("user", "polled");
    assert!((&mut waiting).now_or_never().is_none());
    drop(waiting);
    assert_eq!(records(&first.await.unwrap()), ["user/0: first", "a/0: a"]);
    assert_eq!(room.transcript().len(), 2);
}

#[tokio::test]
async fn a_room_from_a_stored_transcript_goes_on_as_if_it_had_never_stopped() {
    let room = |stored: Vec<TranscriptEvent>| {
        TurnRoom::builder(["a", "b"])
            .agent("a", talker(&[(0, "@b")]))
            .agent("b", talker(&[(0, "@a"), (1, "@b")]))
            .transcript(stored)
            .build()
            .unwrap()
    };
    let whole = room(Vec::new());
    whole.post("user", "go").await.unwrap();
    let whole = whole.transcript();
    assert_eq!(whole.len(), 6);
    for at in 1..=whole.len() {
        let resumed = room(whole[..at].to_vec());
        let report = resumed.resume().await.unwrap();
        assert_eq!(report.records.len(), whole.len() - at);
        assert_eq!(resumed.transcript(), whole, "from {at}");

        let posted = room(whole[..at].to_vec());
        posted.post("user", "more").await.unwrap();
        assert_eq!(posted.transcript()[..whole.len()], whole[..], "from {at}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn posts_from_many_tasks_come_one_after_the_other() {
    let room = TurnRoom::builder(["a", "b"])
        .agent("a", |turn: TurnContext| async move {
            tokio::task::yield_now().await;
            Ok::<_, Infallible>(Turn::say(&turn.transcript.last().unwrap().content))
        })
        .build()
        .unwrap();
    let posts: Vec<_> = (0..64)
        .map(|number| tokio::spawn(room.post("user", format!("{number}"))))
        .collect();
    let report = futures_util::future::join_all(posts).await;
    let transcript = room.transcript();
    for (number, report) in report.into_iter().enumerate() {
        let expected = [
            format!("user/0: {number}"),
            format!("a/0: {number}"),
            "b/0 -".into(),
        ];
        assert_eq!(records(&report.unwrap().unwrap()), expected);
        assert_eq!(shown(&transcript[3 * number..][..3]), expected);
    }
}

#[tokio::test]
async fn an_agent_can_be_tried_without_a_room() {
    let agent = talker(&[(1, "@b")]);
    let context = TurnContext::new("a", 1, vec![TranscriptEvent::new("user", "go")]);
    assert_eq!(agent(context).await.unwrap().text(), Some("a @b"));
    assert_eq!(Turn::pass().text(), None);
}

#[test]
fn a_room_and_its_futures_go_anywhere() {
    fn anywhere<T: Send + Sync + Clone + std::fmt::Debug + 'static>(_: &T) {}
    fn sent<T: Send + 'static>(_: T) {}
    let room = TurnRoom::builder(["a"]).build().unwrap();
    anywhere(&room);
    anywhere(&room.transcript());
    sent(room.post("user", "hi"));
    assert_eq!(room.roster(), ["a"]);
    assert_eq!(format!("{:?}", room.transcript()), "Transcript([])");
}
