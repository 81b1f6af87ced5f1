//! The clock of a scenario: it follows the paused time of its runtime, and no two readings are equal.

use std::sync::Mutex;
use std::time::Duration;

use chrono::{DateTime, TimeDelta, Utc};
use futures_util::future::BoxFuture;
use roomkit_core::{Clock, SystemClock};

use crate::sync::lock;

/// The same run shows the same times, and what was made later has a later time.
#[derive(Debug)]
pub(super) struct ScenarioClock {
    paused: SystemClock,
    start: DateTime<Utc>,
    last: Mutex<DateTime<Utc>>,
}

impl ScenarioClock {
    pub(super) fn new() -> Self {
        let start = DateTime::UNIX_EPOCH;
        Self {
            paused: SystemClock::new(),
            start,
            last: Mutex::new(start),
        }
    }
}

impl Clock for ScenarioClock {
    fn now(&self) -> DateTime<Utc> {
        let micros = i64::try_from(self.paused.elapsed().as_micros()).unwrap_or(i64::MAX);
        let now = self.start + TimeDelta::microseconds(micros);
        let mut last = lock(&self.last);
        *last = now.max(*last + TimeDelta::microseconds(1));
        *last
    }

    fn elapsed(&self) -> Duration {
        self.paused.elapsed()
    }

    fn sleep(&self, duration: Duration) -> BoxFuture<'static, ()> {
        self.paused.sleep(duration)
    }
}
