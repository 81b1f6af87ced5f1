//! The soak itself: tasks that act on rooms at random until it ends, and what it came to.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use fastrand::Rng;
use roomkit_core::store::{EventQuery, EventStore};
use tokio::runtime::Handle;

use crate::Result;
use crate::memory::Samples;
use crate::operations::{Operation, choose, perform};
use crate::options::{Options, Until};
use crate::slot::Slot;
use crate::stage::Stage;

/// How often each room is removed, on the average, before memory is looked at.
const WARM_UP: usize = 2;

/// How often memory is looked at over the measured part.
const SAMPLES: u32 = 200;

/// How long the kit has to close, by the clock that is turned.
const TO_CLOSE: Duration = Duration::from_secs(60);

/// By how much the last quarter may hold more than the first, in percent.
pub const MOST_GROWTH: f64 = 5.0;

/// What a soak came to.
#[derive(Debug, Clone)]
pub struct Report {
    /// With what it was made.
    pub options: Options,
    /// How many operations were made, and how many of them before memory was measured.
    pub operations: u64,
    /// Those before rooms were of every age.
    pub warm_up: u64,
    /// How often each operation was chosen.
    pub by_operation: BTreeMap<String, u64>,
    /// How many rooms were made.
    pub rooms_made: u64,
    /// How many events there were in them.
    pub events: u64,
    /// How often a whole room was compared with its model.
    pub comparisons: u64,
    /// How many deliveries were asked for.
    pub deliveries: u64,
    /// How long it took.
    pub seconds: f64,
    /// What was resident in the first and in the last quarter of the measured part, in bytes.
    pub resident: Option<(u64, u64)>,
    /// How many tasks were left after the kit had closed.
    pub tasks_left: usize,
    /// How many things were not as they must be.
    pub violations: u64,
    /// The first of them.
    pub first: Vec<String>,
}

impl Report {
    /// By how much memory has grown, in percent.
    #[must_use]
    #[expect(clippy::cast_precision_loss, reason = "a percentage is rounded anyway")]
    pub fn growth(&self) -> Option<f64> {
        let (first, last) = self.resident?;
        Some((last as f64 / first.max(1) as f64 - 1.0) * 100.0)
    }

    /// What is wrong with it, in words.
    #[must_use]
    pub fn verdict(&self) -> Vec<String> {
        let mut found = self.first.clone();
        if self.violations > 0 {
            found.push(format!("{} violations in all", self.violations));
        }
        if self.tasks_left > 0 {
            found.push(format!("{} tasks are left", self.tasks_left));
        }
        match self.growth() {
            Some(growth) if growth >= MOST_GROWTH => {
                found.push(format!("memory has grown by {growth:.1} %"));
            }
            None if cfg!(target_os = "linux") => {
                found.push("it ended before memory could be measured".into());
            }
            _ => {}
        }
        found
    }
}

/// What the tasks share beside the stage.
struct Shared {
    stage: Stage,
    slots: Vec<tokio::sync::Mutex<Slot>>,
    ended: AtomicBool,
    began: Instant,
    measure: Mutex<Measure>,
    counts: Mutex<BTreeMap<Operation, u64>>,
}

/// When memory is looked at next.
#[derive(Debug, Default)]
struct Measure {
    samples: Samples,
    /// Since how many operations, and since when, rooms are of every age.
    since: Option<(u64, Duration)>,
    taken: u32,
    /// How often a room was removed.
    remade: usize,
}

/// Makes a soak.
///
/// # Errors
/// Where the kit cannot be put together or closed.
pub fn soak(options: Options) -> Result<Report> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_time()
        .build()?;
    runtime.block_on(run(options))
}

async fn run(options: Options) -> Result<Report> {
    let stage = Stage::new(options)?;
    let slots = (0..options.rooms).map(|number| Slot::new(&stage, number));
    let shared = Arc::new(Shared {
        slots: slots.map(tokio::sync::Mutex::new).collect(),
        stage,
        ended: AtomicBool::new(false),
        began: Instant::now(),
        measure: Mutex::default(),
        counts: Mutex::default(),
    });
    let clock = tokio::spawn(turn_clock(Arc::clone(&shared)));
    let tasks: Vec<_> = (0..options.tasks)
        .map(|number| {
            let seed = options.seed.wrapping_add(number as u64);
            tokio::spawn(act(Arc::clone(&shared), Rng::with_seed(seed)))
        })
        .collect();
    for task in tasks {
        if task.await.is_err() {
            shared.stage.violation("a task of the soak panicked".into());
        }
    }
    let seconds = shared.began.elapsed().as_secs_f64();
    for slot in &shared.slots {
        slot.lock().await.compare(&shared.stage).await;
    }
    let left = shared.stage.kit.close(TO_CLOSE).await?;
    shared.ended.store(true, Ordering::SeqCst);
    if clock.await.is_err() || !left.is_clean() {
        shared.stage.violation(format!("left at the end: {left:?}"));
    }
    let tasks_left = tasks_left().await;
    Ok(report(&shared, seconds, tasks_left))
}

/// What is aborted is gone as soon as a thread of the runtime has seen it.
async fn tasks_left() -> usize {
    let metrics = Handle::current().metrics();
    for _ in 0..1_000 {
        if metrics.num_alive_tasks() == 0 {
            return 0;
        }
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    metrics.num_alive_tasks()
}

/// Lets time pass for channels that are slow and for what is tried again.
async fn turn_clock(shared: Arc<Shared>) {
    while !shared.ended.load(Ordering::SeqCst) {
        shared.stage.clock.advance(Duration::from_millis(10));
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
}

/// One of the tasks: an operation on some room after the other.
async fn act(shared: Arc<Shared>, mut rng: Rng) {
    let stage = &shared.stage;
    while let Some(number) = shared.next_operation() {
        let at = rng.usize(..shared.slots.len());
        let free = shared.slots.iter().cycle().skip(at);
        let free = free.take(shared.slots.len());
        let Some(mut slot) = free.filter_map(|slot| slot.try_lock().ok()).next() else {
            tokio::task::yield_now().await;
            continue;
        };
        let wrong = if slot.generation() == 0 || slot.is_old() {
            shared.renew(&mut slot, &mut rng).await
        } else {
            let operation = choose(&slot, &mut rng);
            *shared.counts().entry(operation).or_default() += 1;
            let done = perform(stage, &mut slot, operation, &mut rng).await;
            done.map_err(|problem| format!("{} {operation:?}: {problem}", slot.room))
        };
        if let Err(problem) = wrong {
            stage.violation(problem);
            // The model knows no more what the room is.
            let renewed = shared.renew_unseen(&mut slot, &mut rng).await;
            renewed.unwrap_or_else(|problem| stage.violation(problem));
        }
        stage.leak();
        if stage.options.tamper > 0 && number.is_multiple_of(stage.options.tamper) {
            tamper(stage, &slot).await;
        }
        shared.sample(number);
    }
}

/// Removes the last event behind everybody's back.
async fn tamper(stage: &Stage, slot: &Slot) {
    let (store, last) = (stage.kit.store(), EventQuery::last(1));
    let events = EventStore::events(&**store, &slot.room, &last).await;
    for event in events.unwrap_or_default() {
        let gone = store
            .delete_events(&slot.room, std::slice::from_ref(&event.id))
            .await;
        drop(gone);
    }
}

impl Shared {
    fn counts(&self) -> std::sync::MutexGuard<'_, BTreeMap<Operation, u64>> {
        self.counts.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn measure(&self) -> std::sync::MutexGuard<'_, Measure> {
        self.measure.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The number of the next operation, unless it is over.
    fn next_operation(&self) -> Option<u64> {
        let is_over = match self.stage.options.until {
            Until::Time(time) => self.began.elapsed() >= time,
            Until::Operations(most) => self.stage.begun.load(Ordering::Relaxed) >= most,
        };
        (!is_over).then(|| self.stage.begun.fetch_add(1, Ordering::Relaxed))
    }

    /// Compares a room with its model, removes it and makes another.
    async fn renew(&self, slot: &mut Slot, rng: &mut Rng) -> Result<(), String> {
        slot.compare(&self.stage).await;
        self.renew_unseen(slot, rng).await
    }

    async fn renew_unseen(&self, slot: &mut Slot, rng: &mut Rng) -> Result<(), String> {
        slot.remove(&self.stage).await?;
        if slot.generation() > 0 {
            let mut measure = self.measure();
            measure.remade += 1;
            if measure.remade == WARM_UP * self.slots.len() {
                let operations = self.stage.begun.load(Ordering::Relaxed);
                measure.since = Some((operations, self.began.elapsed()));
            }
        }
        slot.make(&self.stage, rng).await
    }

    /// Looks at memory where the next part of the measured time is over.
    fn sample(&self, number: u64) {
        let mut measure = self.measure();
        let Some((since, after)) = measure.since else {
            return;
        };
        let part = |done: u128, all: u128| done * u128::from(SAMPLES) / all.max(1);
        let due = match self.stage.options.until {
            Until::Time(time) => part(
                self.began.elapsed().saturating_sub(after).as_micros(),
                time.saturating_sub(after).as_micros(),
            ),
            Until::Operations(most) => part(
                number.saturating_sub(since).into(),
                most.saturating_sub(since).into(),
            ),
        };
        if due >= u128::from(measure.taken) {
            measure.taken += 1;
            measure.samples.take();
        }
    }
}

fn report(shared: &Shared, seconds: f64, tasks_left: usize) -> Report {
    let stage = &shared.stage;
    let sum = |of: &dyn Fn(&crate::channels::Transport) -> u64| -> u64 {
        stage.transports.iter().map(of).sum()
    };
    let wrong = sum(&|transport| transport.out_of_order());
    if wrong > 0 {
        stage.violation(format!("{wrong} events were delivered out of order"));
    }
    for (what, count) in [("ephemeral", &stage.heard), ("observed", &stage.observed)] {
        if count.load(Ordering::Relaxed) == 0 {
            stage.violation(format!("nothing {what} was heard of"));
        }
    }
    let (violations, first) = stage.violations();
    let measure = shared.measure();
    let counts = shared.counts();
    Report {
        options: stage.options,
        operations: stage.begun.load(Ordering::Relaxed),
        warm_up: measure.since.map_or(0, |(since, _)| since),
        by_operation: counts
            .iter()
            .map(|(operation, count)| (format!("{operation:?}"), *count))
            .collect(),
        rooms_made: stage.made.load(Ordering::Relaxed),
        events: stage.events.load(Ordering::Relaxed),
        comparisons: stage.compared.load(Ordering::Relaxed),
        deliveries: sum(&|transport| transport.calls()),
        seconds,
        resident: measure.samples.quarters(),
        tasks_left,
        violations,
        first,
    }
}
