//! Closing a kit: intake stops, what is under way ends within a deadline, the rest is named.
//!
//! Not in the RFC, which closes parts of a kit but no kit as a whole.

use std::pin::pin;
use std::time::Duration;

use futures_util::future::join_all;

use super::RoomKit;
use crate::clock;
use crate::error::{Error, ErrorKind, Result};
use crate::model::{ChannelId, RoomId};
use crate::sync::atomic::{AtomicBool, Ordering};
use crate::sync::guard::{NoAnswer, guard};

/// Whether a kit still takes anything new.
#[derive(Debug, Default)]
pub(super) struct Closing(AtomicBool);

impl Closing {
    pub(super) fn check(&self) -> Result<()> {
        if self.0.load(Ordering::SeqCst) {
            Err(closed())
        } else {
            Ok(())
        }
    }
}

pub(super) fn closed() -> Error {
    Error::new(ErrorKind::KitClosed, "the kit is closed")
}

/// What was left when a kit closed.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct CloseReport {
    /// The lanes that still had something in them, as room and channel.
    pub lanes: Vec<(RoomId, ChannelId)>,
    /// How many calls, tasks and sources were still under way.
    pub running: usize,
}

impl CloseReport {
    /// Whether everything ended in time.
    #[must_use]
    pub fn is_clean(&self) -> bool {
        self.lanes.is_empty() && self.running == 0
    }
}

impl RoomKit {
    /// Closes the kit: nothing new is taken, what is under way has until `deadline` to end, the rest
    /// is aborted and reported; sources end first, and what they bring until then is taken. Then the channels, all at once, the realtime backend and the store are
    /// closed; each has until `deadline` again.
    ///
    /// # Errors
    /// Where the store cannot be closed.
    pub async fn close(&self, deadline: Duration) -> Result<CloseReport> {
        let inner = self.inner();
        inner.closing.0.store(true, Ordering::SeqCst);
        inner.timers.stop();
        let drain = async {
            inner.sources.close(inner).await;
            inner.tasks.idle().await;
        };
        let drained = clock::timeout(&*inner.clock, deadline, pin!(drain)).await;
        let report = match drained {
            Ok(()) => CloseReport {
                lanes: Vec::new(),
                running: 0,
            },
            Err(clock::Elapsed) => {
                let mut lanes = inner.lanes.keys();
                lanes.sort();
                CloseReport {
                    lanes,
                    running: inner.tasks.running() + inner.sources.attached(),
                }
            }
        };
        if !report.is_clean() {
            tracing::warn!(
                lanes = report.lanes.len(),
                running = report.running,
                "closed before all was done"
            );
        }
        inner.sources.abort();
        inner.tasks.abort_all();
        let channels = self.channels();
        join_all(channels.iter().map(|channel| async move {
            if let Err(problem) = guard(&*inner.clock, deadline, pin!(channel.close())).await {
                tracing::error!(channel_id = %channel.id(), ?problem, "channel did not close");
            }
        }))
        .await;
        let realtime = inner.realtime.close();
        if let Err(problem) = guard(&*inner.clock, deadline, pin!(realtime)).await {
            tracing::error!(?problem, "realtime backend did not close");
        }
        let closed = match guard(&*inner.clock, deadline, pin!(inner.store.close())).await {
            Ok(closed) => closed,
            Err(problem) => {
                let problem = match problem {
                    NoAnswer::Panicked => "the store panicked while it was closed",
                    NoAnswer::TookTooLong => "the store did not close in time",
                };
                Err(Error::new(ErrorKind::StoreFailed, problem))
            }
        };
        // Last, so that it hears of all that the others did.
        let telemetry = inner.spans.close();
        if let Err(problem) = guard(&*inner.clock, deadline, pin!(telemetry)).await {
            tracing::error!(?problem, "telemetry provider did not close");
        }
        closed.map(|()| report)
    }

    /// Returns when nothing is under way: no pass, no delivery, no hook, no listener.
    pub async fn wait_idle(&self) {
        self.inner().tasks.idle().await;
    }
}
