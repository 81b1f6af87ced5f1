//! Trying a property on many schedules: at random, and with few changes of who runs, which finds
//! what takes a long wait of one task.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Instant;

use shuttle::scheduler::{PctScheduler, RandomScheduler, Scheduler};
use shuttle::{Config, FailurePersistence, MaxSteps, Runner};

/// What a schedule may take before it counts as one that never ends.
const MOST_STEPS: usize = 200_000;

/// How many forced changes of who runs a schedule of the second kind has at most.
const CHANGES: usize = 4;

/// What a task's stack may hold: a whole pass, in a build without optimisation.
const STACK: usize = 0x10_0000;

/// How many schedules to try, and which.
#[derive(Debug, Clone, Copy)]
pub struct Effort {
    /// Half of them at random, half with few changes.
    pub schedules: usize,
    /// What they are drawn from.
    pub seed: u64,
    /// Whether a schedule that fails is printed, for `shuttle::replay`.
    pub print: bool,
}

/// What came of it.
#[derive(Debug, Clone)]
pub struct Outcome {
    /// How many schedules were tried, the one that failed included.
    pub schedules: usize,
    /// How long it took, in seconds.
    pub seconds: f64,
    /// What failed.
    pub failure: Option<String>,
}

/// Tries a property until it fails on a schedule or all schedules were tried.
pub fn explore(property: fn(), effort: Effort) -> Outcome {
    let began = Instant::now();
    let half = effort.schedules.div_ceil(2);
    let random = || RandomScheduler::new_from_seed(effort.seed, half);
    let few = || PctScheduler::new_from_seed(effort.seed, CHANGES, half);
    let first = try_all(random(), property, effort.print);
    let second = match first.1 {
        None => try_all(few(), property, effort.print),
        Some(_) => (0, None),
    };
    Outcome {
        schedules: first.0 + second.0,
        seconds: began.elapsed().as_secs_f64(),
        failure: first.1.or(second.1),
    }
}

fn try_all(
    scheduler: impl Scheduler + 'static,
    property: fn(),
    print: bool,
) -> (usize, Option<String>) {
    std::thread_local! {
        static TRIED: std::cell::Cell<usize> = const { std::cell::Cell::new(0) };
    }
    TRIED.set(0);
    let mut config = Config::new();
    config.stack_size = STACK;
    config.max_steps = MaxSteps::FailAfter(MOST_STEPS);
    config.silence_warnings = true;
    config.failure_persistence = if print {
        FailurePersistence::Print
    } else {
        FailurePersistence::None
    };
    let runner = Runner::new(scheduler, config);
    let run = move || {
        TRIED.set(TRIED.get() + 1);
        tokio::task::forget_alive();
        property();
    };
    let ran = catch_unwind(AssertUnwindSafe(|| runner.run(run)));
    let failure = ran.err().map(|panic| {
        let text = panic.downcast_ref::<String>().map(String::as_str);
        let text = text.or_else(|| panic.downcast_ref::<&str>().copied());
        let first = text.unwrap_or("a panic without words").lines().next();
        first.unwrap_or_default().to_owned()
    });
    (TRIED.get(), failure)
}
