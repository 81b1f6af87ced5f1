//! What holds in a room for every planner, roster, agent, order of calls, cut and restart.

use std::collections::{BTreeMap, HashSet};
use std::future::{pending, poll_fn};
use std::panic::resume_unwind;
use std::pin::pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::task::Poll;
use std::time::Duration;

use proptest::prelude::*;
use roomkit_core::turns::{
    PlannedTurn, RoomTurnPlanner, RoundRobinRoomPlanner, TranscriptEvent, Turn, TurnContext,
    TurnRecord, TurnRoom,
};

/// What an agent does with a turn.
#[derive(Debug, Clone)]
enum Act {
    Say(String),
    SayLater(String),
    Pass,
    Fail,
    Panic,
    Hang,
}

/// A planner that gives whatever its table holds for the length of the transcript.
#[derive(Debug, Clone)]
enum Planner {
    RoundRobin,
    LowCaps,
    /// `None` panics, as does a table without entries.
    Hostile(Vec<Option<Option<(&'static str, u32)>>>),
    /// Names somebody of the roster again and again, in the rounds of the trait.
    Loops(usize),
}

impl RoomTurnPlanner for Planner {
    fn plan_next<'r>(&self, roster: &'r [String], events: &[TranscriptEvent]) -> Option<&'r str> {
        match self {
            Self::Loops(step) if !roster.is_empty() => {
                let at = (events.len() * step) % roster.len();
                Some(roster[at].as_str())
            }
            Self::Loops(_) => None,
            _ => self.plan_turn(roster, events).map(|turn| turn.speaker),
        }
    }

    fn plan_turn<'r>(
        &self,
        roster: &'r [String],
        events: &[TranscriptEvent],
    ) -> Option<PlannedTurn<'r>> {
        match self {
            Self::RoundRobin => RoundRobinRoomPlanner::default().plan_turn(roster, events),
            Self::LowCaps => {
                let planner = RoundRobinRoomPlanner::new(2, 4).unwrap();
                planner.plan_turn(roster, events)
            }
            Self::Hostile(turns) => match turns.get(events.len() % turns.len().max(1)) {
                Some(Some(turn)) => turn.map(|(speaker, round)| PlannedTurn { speaker, round }),
                // Unlike a panic, this prints nothing.
                _ => resume_unwind(Box::new("a planner")),
            },
            Self::Loops(_) => {
                struct Rounds<'a>(&'a Planner);
                impl RoomTurnPlanner for Rounds<'_> {
                    fn plan_next<'r>(
                        &self,
                        roster: &'r [String],
                        events: &[TranscriptEvent],
                    ) -> Option<&'r str> {
                        self.0.plan_next(roster, events)
                    }
                }
                Rounds(self).plan_turn(roster, events)
            }
        }
    }
}

/// A room as it can be built again and again, and its outside world.
#[derive(Debug, Clone)]
struct World {
    roster: Vec<String>,
    absent: Vec<&'static str>,
    acts: Vec<Act>,
    planner: Option<Planner>,
    max_rounds: u32,
    max_messages: u32,
}

/// What an observer has stored, by position, and the positions that it fails at once.
#[derive(Debug, Default)]
struct Disk {
    stored: Vec<TranscriptEvent>,
    failing: BTreeMap<usize, bool>,
    broken: Option<String>,
}

impl Disk {
    fn store(&mut self, record: TurnRecord) -> Result<(), &'static str> {
        if let Some(fails_after) = self.failing.remove(&record.position) {
            if fails_after {
                self.write(record);
            }
            return Err("disk full");
        }
        self.write(record);
        Ok(())
    }

    fn write(&mut self, record: TurnRecord) {
        match self.stored.get(record.position) {
            Some(there) if *there == record.event => {}
            None if record.position == self.stored.len() => self.stored.push(record.event),
            there => self.broken = Some(format!("{record:?} over {there:?}")),
        }
    }
}

impl World {
    fn room(&self, disk: &Arc<Mutex<Disk>>, stored: Vec<TranscriptEvent>) -> TurnRoom {
        let running = Arc::new(AtomicBool::new(false));
        let mut builder = TurnRoom::builder(self.roster.clone())
            .max_rounds(self.max_rounds)
            .max_messages(self.max_messages)
            .turn_timeout(Duration::from_secs(1))
            .transcript(stored);
        if let Some(planner) = &self.planner {
            builder = builder.planner(Arc::new(planner.clone()));
        }
        for id in self
            .roster
            .iter()
            .filter(|id| !self.absent.contains(&id.as_str()))
        {
            let (acts, running) = (self.acts.clone(), Arc::clone(&running));
            builder = builder.agent(id.as_str(), move |turn: TurnContext| {
                let own = turn.agent.bytes().map(usize::from).sum::<usize>();
                let at = turn.transcript.len() * 7 + own + turn.round as usize * 3;
                let act = acts[at % acts.len()].clone();
                let running = Arc::clone(&running);
                async move {
                    let _alone = Alone::enter(&running);
                    match act {
                        Act::Say(text) => Ok(Turn::say(text)),
                        Act::SayLater(text) => {
                            tokio::task::yield_now().await;
                            Ok(Turn::say(text))
                        }
                        Act::Pass => Ok(Turn::pass()),
                        Act::Fail => Err("no model"),
                        Act::Panic => resume_unwind(Box::new("an agent")),
                        Act::Hang => pending().await,
                    }
                }
            });
        }
        let disk = Arc::clone(disk);
        let observer = move |record: TurnRecord| {
            let (disk, running) = (Arc::clone(&disk), Arc::clone(&running));
            async move {
                let _alone = Alone::enter(&running);
                tokio::task::yield_now().await;
                let stored = disk.lock().unwrap().store(record);
                tokio::task::yield_now().await;
                stored
            }
        };
        builder.observer(observer).build().unwrap()
    }

    fn is_human(&self, event: &TranscriptEvent) -> bool {
        !self.roster.contains(&event.speaker)
    }

    /// The transcript that these messages leave when nothing is cut and nothing fails.
    async fn undisturbed(&self, messages: &[String]) -> Vec<TranscriptEvent> {
        let disk = Arc::default();
        let room = self.room(&disk, Vec::new());
        for message in messages {
            room.post("user", message).await.unwrap();
        }
        room.transcript().to_vec()
    }
}

/// Held by whoever works on a room; two at once are noticed.
struct Alone<'a>(&'a AtomicBool);

impl<'a> Alone<'a> {
    fn enter(running: &'a AtomicBool) -> Self {
        assert!(!running.swap(true, Ordering::SeqCst), "two at once");
        Self(running)
    }
}

impl Drop for Alone<'_> {
    fn drop(&mut self) {
        self.0.store(false, Ordering::SeqCst);
    }
}

/// Polls a future this many times at most and drops it then.
async fn cut_after<F: Future>(polls: usize, future: F) -> Option<F::Output> {
    let mut future = pin!(future);
    let mut left = polls;
    poll_fn(|cx| {
        if left == 0 {
            return Poll::Ready(None);
        }
        left -= 1;
        let polled = future.as_mut().poll(cx).map(Some);
        if left == 0 && polled.is_pending() {
            return Poll::Ready(None);
        }
        polled
    })
    .await
}

fn run<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        .build()
        .unwrap()
        .block_on(future)
}

fn content() -> impl Strategy<Value = String> {
    prop::sample::select(vec![
        "",
        "hi",
        "@a",
        "@b @c",
        "@c.",
        "@ghost",
        "@a @b @c @d",
    ])
    .prop_map(String::from)
}

fn act() -> impl Strategy<Value = Act> {
    prop_oneof![
        4 => content().prop_map(Act::Say),
        3 => content().prop_map(Act::SayLater),
        1 => Just(Act::Pass),
        1 => Just(Act::Fail),
        1 => Just(Act::Panic),
        1 => Just(Act::Hang),
    ]
}

fn planner() -> impl Strategy<Value = Option<Planner>> {
    let speaker = prop::sample::select(vec!["a", "b", "c", "d", "a", "b", "ghost", "user"]);
    let round = prop_oneof![8 => 0..6u32, 1 => Just(u32::MAX)];
    let turn = prop_oneof![
        1 => Just(None),
        1 => Just(Some(None)),
        8 => (speaker, round).prop_map(|turn| Some(Some(turn))),
    ];
    prop_oneof![
        2 => Just(None),
        1 => Just(Some(Planner::RoundRobin)),
        1 => Just(Some(Planner::LowCaps)),
        1 => (0..4usize).prop_map(|step| Some(Planner::Loops(step))),
        3 => prop::collection::vec(turn, 0..12).prop_map(|turns| Some(Planner::Hostile(turns))),
    ]
}

fn world() -> impl Strategy<Value = World> {
    let agent = prop::sample::select(vec!["a", "b", "c", "d"]);
    (
        prop::collection::vec(agent.clone().prop_map(String::from), 0..6),
        prop::collection::vec(agent, 0..2),
        prop::collection::vec(act(), 1..12),
        planner(),
        1..6u32,
        1..16u32,
    )
        .prop_map(
            |(roster, absent, acts, planner, max_rounds, max_messages)| World {
                roster,
                absent,
                acts,
                planner,
                max_rounds,
                max_messages,
            },
        )
}

fn messages() -> impl Strategy<Value = Vec<String>> {
    prop::collection::vec(content(), 1..4)
}

proptest! {
    #[test]
    fn whatever_happens_a_room_is_bounded_and_its_posts_come_one_after_the_other(
        world in world(),
        messages in messages(),
        polled_backwards in any::<bool>(),
    ) {
        let disk = Arc::default();
        let (transcript, reports) = run(async {
            let room = world.room(&disk, Vec::new());
            let mut posts: Vec<_> = messages.iter().map(|text| room.post("user", text)).collect();
            if polled_backwards {
                posts.reverse();
            }
            let reports = futures_util::future::join_all(posts).await;
            (room.transcript(), reports)
        });
        prop_assert_eq!(&disk.lock().unwrap().stored[..], &transcript[..]);
        let total: usize = reports.iter().map(|report| report.as_ref().unwrap().records.len()).sum();
        prop_assert_eq!(total, transcript.len());

        let mut said = Vec::new();
        for activity in transcript.chunk_by(|_, next| !world.is_human(next)) {
            prop_assert!(world.is_human(&activity[0]));
            said.push(activity[0].content.clone());
            prop_assert!(activity.len() <= world.max_messages as usize);
            let mut turns = HashSet::new();
            for event in &activity[1..] {
                prop_assert!(world.roster.contains(&event.speaker));
                prop_assert!(event.round < world.max_rounds);
                prop_assert!(!event.passed || event.content.is_empty());
                prop_assert!(turns.insert((&event.speaker, event.round)), "twice: {:?}", event);
            }
        }
        prop_assert_eq!(said, messages, "in the order of the calls");
    }

    #[test]
    fn a_restart_at_every_point_gives_the_same_continuation(
        world in world(),
        messages in messages(),
    ) {
        run(async {
            let whole = world.undisturbed(&messages).await;
            for at in 0..=whole.len() {
                let disk = Arc::new(Mutex::new(Disk {
                    stored: whole[..at].to_vec(),
                    ..Disk::default()
                }));
                let room = world.room(&disk, whole[..at].to_vec());
                room.resume().await.unwrap();
                let posted = whole[..at].iter().filter(|event| world.is_human(event)).count();
                for message in &messages[posted..] {
                    room.post("user", message).await.unwrap();
                }
                assert_eq!(room.transcript()[..], whole[..], "from {at}");
                assert_eq!(disk.lock().unwrap().stored, whole);
            }
        });
    }

    #[test]
    fn cuts_restarts_and_a_failing_observer_change_nothing(
        world in world(),
        messages in messages(),
        cuts in prop::collection::vec((0..24usize, any::<bool>()), 0..6),
        failing in prop::collection::btree_map(0..12usize, any::<bool>(), 0..4),
    ) {
        run(async {
            let whole = world.undisturbed(&messages).await;
            let disk = Arc::new(Mutex::new(Disk { failing, ..Disk::default() }));
            let mut room = world.room(&disk, Vec::new());
            let mut cuts = cuts.into_iter();
            for _ in 0..64 {
                let unconfirmed = room.unconfirmed().map(|record| record.event);
                let posted = room.transcript().iter().chain(&unconfirmed)
                    .filter(|event| world.is_human(event))
                    .count();
                let call = match messages.get(posted) {
                    Some(message) => room.post("user", message),
                    None => room.resume(),
                };
                let (polls, restarts) = cuts.next().unwrap_or((usize::MAX, false));
                let done = cut_after(polls, call).await;
                if matches!(done, Some(Ok(_))) && posted == messages.len() {
                    break;
                }
                if restarts {
                    let stored = disk.lock().unwrap().stored.clone();
                    room = world.room(&disk, stored);
                }
            }
            assert_eq!(room.transcript()[..], whole[..]);
            let disk = disk.lock().unwrap();
            assert_eq!(disk.stored, whole);
            assert_eq!(disk.broken, None);
        });
    }
}
