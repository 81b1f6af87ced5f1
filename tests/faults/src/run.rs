//! One run of a scene: what its caller was told, what is there afterwards, and whether the room goes on.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use roomkit_core::Channel;
use roomkit_core::model::{InboundMessage, Room, RoomEvent};
use roomkit_core::store::{BindingStore, WorkStore};

use crate::drive::{Call, Driven, drive, to_end, turns};
use crate::probe::{Fault, Part, Step};
use crate::scene::{Answer, Kind, Scene};
use crate::stage::{ADDED, ROOM, Stage};
use crate::store::is_the_message;
use crate::twist::Make;

/// After how long a call counts as one that does not end.
const PATIENCE: Duration = Duration::from_secs(2 * 60 * 60);
/// How long the kit has to close.
const TO_CLOSE: Duration = Duration::from_secs(10);

/// The framework events that tell of something that went wrong.
const FAILURES: [&str; 11] = [
    "process_timeout",
    "hook_error",
    "hook_timeout",
    "delivery_failed",
    "broadcast_partial_failure",
    "identity_timeout",
    "source_error",
    "source_exhausted",
    "circuit_breaker_opened",
    "loop_detected",
    "delivery_status_unknown",
];

/// What a caller was told.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Told {
    /// It is done.
    Done,
    /// It is refused or blocked, and why.
    Refused(String),
    /// It failed, with a code.
    Failed(String),
    /// Nothing: the call panicked.
    Panicked,
    /// Nothing: it went away.
    Cancelled,
    /// Nothing: it waits for ever.
    Waits,
}

impl Told {
    /// As scenes write it: `done`, `refused: code`.
    #[must_use]
    pub fn word(&self) -> String {
        match self {
            Self::Done => "done".into(),
            Self::Refused(why) => format!("refused: {why}"),
            Self::Failed(code) => format!("failed: {code}"),
            Self::Panicked => "panicked".into(),
            Self::Cancelled => "cancelled".into(),
            Self::Waits => "waits".into(),
        }
    }
}

/// What came of a run.
#[derive(Debug, Clone)]
pub struct Run {
    /// What the caller was told.
    pub told: Told,
    /// What the result says failed afterwards.
    pub error: Option<String>,
    /// Where the result says it was not delivered, and the code.
    pub failed: BTreeMap<String, String>,
    /// The steps that were passed.
    pub steps: Vec<Step>,
    /// Whether the planned step was reached.
    pub reached: bool,
    /// How often the scene's message is in the store.
    pub messages: usize,
    /// How many answers of agents are there.
    pub answers: usize,
    /// How many tasks.
    pub tasks: usize,
    /// Whether what was asked for is so.
    pub so: Option<bool>,
    /// The transports that did not get the message, or an answer.
    pub missing: BTreeSet<String>,
    /// How often hooks were told that an agent failed, or its answer was lost.
    pub errors: usize,
    /// The failures that listeners heard of.
    pub heard: BTreeSet<String>,
    /// What the caller is told who asks for the same again.
    pub again: Option<Told>,
    /// How often the message is there then.
    pub messages_then: usize,
    /// Whether what was asked for is so then.
    pub so_then: Option<bool>,
    /// How many spans a telemetry provider was told of, where there is one.
    pub spans: usize,
    /// What no run may show: gaps, repeats, a room that does not go on, tasks that stay.
    pub problems: Vec<String>,
}

/// Plays a scene, with one step going wrong where that is planned.
#[must_use]
pub fn play(scene: &Scene, planned: Option<(Step, Fault)>, make: Make) -> Run {
    let runtime = tokio::runtime::Builder::new_current_thread().build();
    let runtime = match runtime {
        Ok(runtime) => runtime,
        Err(error) => return Run::impossible(format!("no runtime: {error}")),
    };
    let mut run = runtime.block_on(async {
        match Player::new(scene, planned, make).await {
            Ok(player) => player.play().await,
            Err(error) => Run::impossible(format!("the scene could not be prepared: {error}")),
        }
    });
    let left = runtime.block_on(async {
        turns().await;
        tokio::runtime::Handle::current()
            .metrics()
            .num_alive_tasks()
    });
    if left > 0 {
        run.problems.push(format!("{left} tasks are left"));
    }
    run
}

impl Run {
    fn impossible(problem: String) -> Self {
        Self {
            told: Told::Panicked,
            error: None,
            failed: BTreeMap::new(),
            steps: Vec::new(),
            reached: false,
            messages: 0,
            answers: 0,
            tasks: 0,
            so: None,
            missing: BTreeSet::new(),
            errors: 0,
            heard: BTreeSet::new(),
            again: None,
            messages_then: 0,
            so_then: None,
            spans: 0,
            problems: vec![problem],
        }
    }
}

struct Player<'a> {
    scene: &'a Scene,
    stage: Stage,
    planned: Option<(Step, Fault)>,
    run: Run,
}

impl<'a> Player<'a> {
    async fn new(
        scene: &'a Scene,
        planned: Option<(Step, Fault)>,
        make: Make,
    ) -> roomkit_core::Result<Self> {
        let stage = Stage::new(make, scene.kind == Kind::Sweep).await?;
        if let Some(prepare) = scene.prepare {
            prepare(&stage).await?;
        }
        stage.kit.wait_idle().await;
        turns().await;
        let mut run = Run::impossible(String::new());
        run.problems.clear();
        Ok(Self {
            scene,
            stage,
            planned,
            run,
        })
    }

    async fn play(mut self) -> Run {
        let before = self.stage.heard().len();
        self.stage.probe.begin(self.planned.clone());
        let (told, answer) = self.act().await;
        self.run.told = told;
        self.run.error = answer.error;
        self.run.failed = answer.failed;
        self.settle().await;
        self.run.reached = self.stage.probe.was_hit();
        self.run.steps = self.stage.probe.end();
        let heard = self.stage.heard();
        let failures = heard.iter().skip(before);
        let failures = failures.filter(|word| FAILURES.contains(&word.as_str()));
        self.run.heard = failures.cloned().collect();
        self.run.errors = self.stage.errors();
        self.look().await;
        if self.scene.kind == Kind::Close {
            self.stays_closed().await;
        } else {
            self.again().await;
            self.goes_on().await;
        }
        self.check_rooms().await;
        self.close().await;
        self.check_spans();
        self.run
    }

    fn problem(&mut self, problem: impl Into<String>) {
        self.run.problems.push(problem.into());
    }

    fn is(&self, part: Part, fault: Fault) -> bool {
        let planned = self.planned.as_ref();
        planned.is_some_and(|(step, planned)| step.part == part && *planned == fault)
    }

    async fn act(&mut self) -> (Told, Answer) {
        let (scene, stage) = (*self.scene, &self.stage);
        let leaves = matches!(&self.planned, Some((_, Fault::Cancel)));
        let mut call: Call<'_, _> = Some((scene.act)(stage));
        let leave = leaves.then_some(&stage.probe);
        let mut driven = drive(&stage.clock, Duration::ZERO, leave, &mut call).await;
        let mut problems = Vec::new();
        if matches!(driven, Driven::Waits) {
            if self.lane_hangs() {
                problems = self.others_go_on().await;
            }
            driven = drive(&stage.clock, PATIENCE, leave, &mut call).await;
        }
        drop(call);
        if leaves {
            // The caller may have had an answer before the step was reached.
            stage.probe.release();
        }
        let told = told(driven);
        self.run.problems.extend(problems);
        told
    }

    /// Whether one lane is held up, which is to hold up no other.
    fn lane_hangs(&self) -> bool {
        let lanes = [Part::DestinationChannel, Part::Agent, Part::Transcoder];
        self.scene.kind == Kind::Message
            && self.stage.probe.was_hit()
            && lanes.iter().any(|part| self.is(*part, Fault::Hang))
    }

    /// While a lane hangs, what somebody else says is stored and reaches all the others at once.
    async fn others_go_on(&self) -> Vec<String> {
        let stage = &self.stage;
        let message = InboundMessage::text("mail", "mia", "meanwhile").in_room(ROOM);
        let call = stage.kit.process_inbound_deferred(message);
        let taken = to_end(&stage.clock, Duration::ZERO, call).await;
        if !matches!(taken, Driven::Done(Ok((ref result, _))) if !result.blocked) {
            return vec![format!("while a lane hangs, nobody can speak: {taken:?}")];
        }
        turns().await;
        let call = self.planned.as_ref().map(|(step, _)| step.call.as_str());
        let hangs = |id: &str| call.is_some_and(|call| call.split(' ').any(|word| word == id));
        let others = ["web", "desk", "side", "feed"];
        let others = others.into_iter().filter(|id| !hangs(id));
        others
            .filter(|id| self.times_got(id, "meanwhile") != 1)
            .map(|id| format!("while a lane hangs, {id} hears nothing"))
            .collect()
    }

    fn times_got(&self, id: &str, text: &str) -> usize {
        let got = self.stage.transport(id).map(|transport| transport.got());
        let got = got.unwrap_or_default();
        got.iter().filter(|got| got.text == text).count()
    }

    /// Everything that still goes on comes to its end.
    async fn settle(&mut self) {
        let idle = to_end(&self.stage.clock, PATIENCE, self.stage.kit.wait_idle()).await;
        let is_deaf = self.is(Part::Listener, Fault::Hang);
        if !matches!(idle, Driven::Done(())) && !is_deaf {
            self.problem("something of the kit goes on for ever");
        }
        turns().await;
    }

    /// What is there now.
    async fn look(&mut self) {
        let rooms = match self.stage.rooms().await {
            Ok(rooms) => rooms,
            Err(error) => return self.problem(format!("unreadable: {error}")),
        };
        self.run.messages = count(&rooms);
        let mut expected: Vec<Arc<RoomEvent>> = Vec::new();
        for (_, events) in &rooms {
            let is_answer = |event: &RoomEvent| {
                ["helper", "teller"].contains(&event.source.channel_id.as_str())
            };
            let answers = events.iter().filter(|event| is_answer(event));
            self.run.answers += answers.clone().count();
            let message = events.iter().filter(|event| is_message(event));
            let added = events.iter().filter(|event| event.text() == Some(ADDED));
            expected.extend(message.chain(answers).chain(added).cloned());
        }
        for (room, _) in &rooms {
            let tasks = self.stage.store.memory().tasks(&room.id).await;
            self.run.tasks += tasks.map_or(0, |tasks| tasks.len());
        }
        self.run.missing = self.missing(&expected).await;
        self.run.so = self.is_so().await;
    }

    async fn is_so(&mut self) -> Option<bool> {
        let so = self.scene.so?;
        match so(&self.stage).await {
            Ok(so) => Some(so),
            Err(error) => {
                self.problem(format!("unreadable: {error}"));
                None
            }
        }
    }

    /// The transports that did not get what was to be delivered to them.
    async fn missing(&self, events: &[Arc<RoomEvent>]) -> BTreeSet<String> {
        let mut missing = BTreeSet::new();
        for event in events.iter().filter(|event| !event.is_blocked()) {
            let bindings = self.stage.store.memory().bindings(&event.room_id).await;
            for binding in bindings.unwrap_or_default() {
                let id = binding.channel_id.as_str();
                let Some(transport) = self.stage.transport(id) else {
                    continue;
                };
                let got = transport.got();
                let has_it = got.iter().any(|got| got.event == event.id);
                let category = binding.category;
                let is_for_it = event.source.channel_id != *transport.id()
                    && event.visibility.allows(&binding.channel_id, category);
                if !has_it && is_for_it {
                    missing.insert(id.to_owned());
                }
            }
        }
        missing
    }

    /// The same is asked for again, and nothing goes wrong.
    async fn again(&mut self) {
        let again = to_end(&self.stage.clock, PATIENCE, (self.scene.act)(&self.stage)).await;
        self.run.again = Some(told(again).0);
        if !self.is(Part::Listener, Fault::Hang) {
            self.settle().await;
        }
        match self.stage.rooms().await {
            Ok(rooms) => self.run.messages_then = count(&rooms),
            Err(error) => self.problem(format!("unreadable: {error}")),
        }
        self.run.so_then = self.is_so().await;
    }

    /// The next message of somebody else is taken at once, reaches all and is answered.
    async fn goes_on(&mut self) {
        if let Some(restore) = self.scene.restore {
            let restored = to_end(&self.stage.clock, PATIENCE, restore(&self.stage)).await;
            if !matches!(restored, Driven::Done(_)) {
                self.problem("what was done cannot be undone");
            }
        }
        let next = InboundMessage::text("mail", "carl", "next?").in_room(ROOM);
        let call = self.stage.kit.process_inbound(next);
        let result = match to_end(&self.stage.clock, Duration::ZERO, call).await {
            Driven::Done(Ok(result)) => result,
            other => return self.problem(format!("the room does not go on: {other:?}")),
        };
        if result.blocked || result.error.is_some() {
            self.problem(format!("the next message is not taken: {result:?}"));
        }
        let unsent = |sent: &&roomkit_core::model::DeliveryResult| !sent.outcome.is_sent();
        if let Some(unsent) = result.delivery_results.iter().find(unsent) {
            self.problem(format!("the next message is not delivered: {unsent:?}"));
        }
        turns().await;
        for (id, text) in [
            ("web", "next?"),
            ("desk", "next?"),
            ("web", "answer to next?"),
            ("desk", "answer to next?"),
            ("mail", "answer to next?"),
        ] {
            let times = self.times_got(id, text);
            if times != 1 {
                self.problem(format!("{id} got `{text}` {times} times"));
            }
        }
        let said = self.stage.timeline().await;
        let said = said.unwrap_or_default();
        let times = said.iter().filter(|event| event.text() == Some("next?"));
        if times.count() != 1 {
            self.problem("the next message is not there once");
        }
    }

    async fn stays_closed(&mut self) {
        let next = InboundMessage::text("mail", "carl", "next?").in_room(ROOM);
        let call = self.stage.kit.process_inbound(next);
        let taken = told(match to_end(&self.stage.clock, PATIENCE, call).await {
            Driven::Done(result) => Driven::Done(result.map(Answer::from)),
            Driven::Panicked => Driven::Panicked,
            Driven::Cancelled => Driven::Cancelled,
            Driven::Waits => Driven::Waits,
        });
        if taken.0 != Told::Failed("kit_closed".into()) {
            self.problem(format!("a closed kit says {}", taken.0.word()));
        }
    }

    /// Indexes without gap, counters that say what is there, nothing twice, nothing out of order.
    async fn check_rooms(&mut self) {
        match self.stage.rooms().await {
            Ok(rooms) => {
                let removes = self.scene.name.contains("for good");
                for (room, events) in rooms {
                    self.run
                        .problems
                        .extend(check_room(&room, &events, removes));
                }
            }
            Err(error) => self.problem(format!("unreadable: {error}")),
        }
        for transport in &self.stage.transports {
            let got = transport.got();
            let events: BTreeSet<_> = got.iter().map(|got| &got.event).collect();
            if events.len() != got.len() {
                let problem = format!("{} got something twice", transport.id());
                self.run.problems.push(problem);
            }
            let mut last = BTreeMap::new();
            for got in &got {
                if last.insert(&got.room, got.index) > Some(got.index) {
                    let problem = format!("{} got something out of order", transport.id());
                    self.run.problems.push(problem);
                }
            }
        }
    }

    /// Who looked on was told of every span's beginning and end, once each.
    fn check_spans(&mut self) {
        if let Some(watcher) = &self.stage.watcher {
            self.run.spans = watcher.ended();
            let found = watcher.problems();
            self.run.problems.extend(found);
        }
    }

    async fn close(&mut self) {
        let closing = self.stage.kit.close(TO_CLOSE);
        match to_end(&self.stage.clock, PATIENCE, closing).await {
            Driven::Done(Ok(report)) => {
                let is_deaf = self.is(Part::Listener, Fault::Hang);
                if !report.is_clean() && !is_deaf {
                    self.problem(format!("left at the end: {report:?}"));
                }
            }
            other => self.problem(format!("the kit does not close: {other:?}")),
        }
        if let Some(watcher) = &self.stage.watcher {
            watcher.wait_closed().await;
        }
    }
}

fn told(driven: Driven<roomkit_core::Result<Answer>>) -> (Told, Answer) {
    let told = match driven {
        Driven::Done(Ok(answer)) => {
            let refused = answer.refused.clone();
            return (refused.map_or(Told::Done, Told::Refused), answer);
        }
        Driven::Done(Err(error)) => Told::Failed(error.code().to_owned()),
        Driven::Panicked => Told::Panicked,
        Driven::Cancelled => Told::Cancelled,
        Driven::Waits => Told::Waits,
    };
    (told, Answer::default())
}

fn is_message(event: &RoomEvent) -> bool {
    is_the_message(event.idempotency_key.as_deref())
}

type Rooms = Vec<(Arc<Room>, Vec<Arc<RoomEvent>>)>;

fn count(rooms: &Rooms) -> usize {
    let events = rooms.iter().flat_map(|(_, events)| events);
    events.filter(|event| is_message(event)).count()
}

fn check_room(room: &Room, events: &[Arc<RoomEvent>], removes: bool) -> Vec<String> {
    let mut problems = Vec::new();
    let indexes: Vec<u64> = events.iter().map(|event| event.index).collect();
    let is_whole = indexes.iter().copied().eq(0..events.len() as u64);
    let is_rising = indexes.is_sorted_by(|one, next| one < next);
    if !(is_whole || removes && is_rising) {
        problems.push(format!("room {}: indexes are {indexes:?}", room.id));
    }
    let last = indexes.last().copied();
    let next = last.map_or(0, |last| last + 1);
    if room.latest_index != last || room.event_count != next {
        problems.push(format!("room {}: its counters are wrong", room.id));
    }
    let ids: BTreeSet<_> = events.iter().map(|event| &event.id).collect();
    if ids.len() != events.len() {
        problems.push(format!("room {}: an id is there twice", room.id));
    }
    problems
}
