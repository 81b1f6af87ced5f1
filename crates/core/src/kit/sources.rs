//! Sources: attaching one to a channel, detaching it, and how it is (RFC §6.5).

use std::collections::HashMap;
use std::fmt;
use std::future::IntoFuture;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::{BoxFuture, join_all};
use tokio::runtime::Handle;
use tokio::sync::watch;
use tokio::task::AbortHandle;

use super::{Inner, Rooms};
use crate::error::{Error, ErrorKind, Result};
use crate::model::{ChannelId, FrameworkEventType, Metadata, SourceHealth, SourceStatus};
use crate::pipeline::Scope;
use crate::source::{Ended, Shared, SourceProvider, supervise};
use crate::sync::Mutex;
use crate::sync::lock;

/// How a source is run.
#[derive(Debug, Clone)]
pub(crate) struct SourceLimits {
    pub(crate) auto_restart: bool,
    pub(crate) restart_delay: Duration,
    pub(crate) max_restart_delay: Duration,
    pub(crate) max_restart_attempts: Option<u32>,
    pub(crate) max_concurrent_emits: Option<usize>,
    pub(crate) stop_timeout: Duration,
}

impl Default for SourceLimits {
    fn default() -> Self {
        Self {
            auto_restart: true,
            restart_delay: Duration::from_secs(5),
            max_restart_delay: Duration::from_secs(300),
            max_restart_attempts: None,
            max_concurrent_emits: Some(10),
            stop_timeout: Duration::from_secs(10),
        }
    }
}

/// Attaches a source to a channel; await it to do so.
#[must_use = "nothing is attached until this is awaited"]
pub struct AttachSource {
    rooms: Rooms,
    channel: ChannelId,
    source: Arc<dyn SourceProvider>,
    limits: SourceLimits,
}

impl Rooms {
    /// Attaches a source to a registered channel and starts it: from now on its messages come in as
    /// messages of that channel, in the rooms of this handle's organisation.
    ///
    /// ```
    /// # use std::time::Duration;
    /// # use roomkit_core::{RoomKit, source::SourceProvider};
    /// # async fn attach(kit: RoomKit, source: impl SourceProvider) -> roomkit_core::Result<()> {
    /// kit.attach_source("feed", source)
    ///     .restart_delay(Duration::from_secs(1))
    ///     .max_restart_attempts(20)
    ///     .await?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// - [`ChannelNotRegistered`](ErrorKind::ChannelNotRegistered).
    /// - [`SourceAlreadyAttached`](ErrorKind::SourceAlreadyAttached): a channel has one source.
    /// - [`InvalidInput`](ErrorKind::InvalidInput): a limit is 0, or the first delay longer than the
    ///   longest; it names the limit.
    /// - [`KitClosed`](ErrorKind::KitClosed).
    pub fn attach_source(
        &self,
        channel: impl Into<ChannelId>,
        source: impl SourceProvider,
    ) -> AttachSource {
        AttachSource {
            rooms: self.clone(),
            channel: channel.into(),
            source: Arc::new(source),
            limits: SourceLimits::default(),
        }
    }

    /// Ends the source of a channel and detaches it. Returns when it has ended: it has its time to do
    /// so, after which it is dropped. What it has emitted is taken to its end; what still waits for a
    /// rate limit is given back to it, and `source_detached` says under `not_taken` how many messages
    /// that were.
    ///
    /// # Errors
    /// [`SourceNotFound`](ErrorKind::SourceNotFound): the channel has none, or it is another
    /// organisation's.
    pub async fn detach_source(&self, channel: impl Into<ChannelId>) -> Result<()> {
        let entry = self.source(&channel.into())?;
        entry.shared.ask_to_stop();
        entry.ended().await;
        self.inner().sources.finish(self.inner(), &entry.shared);
        Ok(())
    }

    /// How the source of a channel is.
    ///
    /// # Errors
    /// As [`detach_source`](Self::detach_source).
    pub async fn source_health(&self, channel: impl Into<ChannelId>) -> Result<SourceHealth> {
        let entry = self.source(&channel.into())?;
        let mut health = lock(&entry.shared.health).clone();
        let details = std::panic::catch_unwind(AssertUnwindSafe(|| entry.source.details()));
        health.metadata = details.unwrap_or_else(|_panic| {
            tracing::error!(
                source = entry.shared.name,
                "source panicked when asked for its details"
            );
            Metadata::new()
        });
        Ok(health)
    }

    /// The channels that have a source, by id, with its status.
    #[must_use]
    pub fn list_sources(&self) -> Vec<(ChannelId, SourceStatus)> {
        let mut sources: Vec<_> = lock(&self.inner().sources.state)
            .by_channel
            .iter()
            .filter(|(_, entry)| entry.is_of(&self.scope))
            .map(|(channel, entry)| (channel.clone(), lock(&entry.shared.health).status))
            .collect();
        sources.sort();
        sources
    }

    fn source(&self, channel: &ChannelId) -> Result<Entry> {
        let found = lock(&self.inner().sources.state)
            .by_channel
            .get(channel)
            .filter(|entry| entry.is_of(&self.scope))
            .cloned();
        found.ok_or_else(|| {
            Error::new(
                ErrorKind::SourceNotFound,
                format!("channel {channel} has no source"),
            )
        })
    }
}

impl AttachSource {
    /// Whether a source that fails is started again. Default: yes.
    pub fn auto_restart(mut self, restart: bool) -> Self {
        self.limits.auto_restart = restart;
        self
    }

    /// How long to wait at most before the first new start; it doubles with each failure in a row,
    /// and at least half of it is waited. A run that brought a message, or went on for
    /// [`max_restart_delay`](Self::max_restart_delay), starts the count anew. Default: 5 seconds.
    pub fn restart_delay(mut self, delay: Duration) -> Self {
        self.limits.restart_delay = delay;
        self
    }

    /// How long to wait at most before any new start. Default: 5 minutes.
    pub fn max_restart_delay(mut self, delay: Duration) -> Self {
        self.limits.max_restart_delay = delay;
        self
    }

    /// After how many failures in a row the source is given up; it stays attached, with the status
    /// `error`. Default: never.
    pub fn max_restart_attempts(mut self, attempts: u32) -> Self {
        self.limits.max_restart_attempts = Some(attempts);
        self
    }

    /// How many of its messages may be under way at once, agents' turns included; a further one waits.
    /// `None` is without limit. Default: 10.
    pub fn max_concurrent_emits(mut self, messages: impl Into<Option<usize>>) -> Self {
        self.limits.max_concurrent_emits = messages.into();
        self
    }

    /// How long the source has to end when it is asked to. Default: 10 seconds.
    pub fn stop_timeout(mut self, timeout: Duration) -> Self {
        self.limits.stop_timeout = timeout;
        self
    }

    fn check(&self) -> Result<()> {
        let limits = &self.limits;
        let problem = if limits.restart_delay.is_zero() {
            "restart_delay: must not be zero"
        } else if limits.max_restart_delay < limits.restart_delay {
            "max_restart_delay: must not be shorter than restart_delay"
        } else if limits.max_restart_attempts == Some(0) {
            "max_restart_attempts: must be at least 1"
        } else if limits.max_concurrent_emits == Some(0) {
            "max_concurrent_emits: must be at least 1"
        } else {
            return Ok(());
        };
        Err(Error::new(ErrorKind::InvalidInput, problem))
    }

    async fn attach(self) -> Result<()> {
        self.check()?;
        let Self {
            rooms,
            channel,
            source,
            limits,
        } = self;
        rooms
            .to_end(|inner, scope| async move {
                inner.closing.check()?;
                if inner.channel(&channel).is_none() {
                    return Err(Error::new(
                        ErrorKind::ChannelNotRegistered,
                        format!("no channel {channel} is registered"),
                    ));
                }
                let name = source.name().to_owned();
                let at_once = limits.max_concurrent_emits;
                let shared = Shared::new(&inner, scope, channel, name, at_once);
                inner
                    .sources
                    .start(&inner, source, Arc::new(shared), limits)
            })
            .await
    }
}

impl IntoFuture for AttachSource {
    type Output = Result<()>;
    type IntoFuture = BoxFuture<'static, Result<()>>;

    fn into_future(self) -> Self::IntoFuture {
        self.attach().boxed()
    }
}

impl fmt::Debug for AttachSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AttachSource")
            .field("channel", &self.channel)
            .field("limits", &self.limits)
            .finish_non_exhaustive()
    }
}

/// The attached sources and the tasks that run them.
#[derive(Default)]
pub(crate) struct Sources {
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    by_channel: HashMap<ChannelId, Entry>,
    closed: bool,
}

#[derive(Clone)]
struct Entry {
    source: Arc<dyn SourceProvider>,
    shared: Arc<Shared>,
    task: AbortHandle,
    /// Closed when the task has ended, however it did.
    running: watch::Receiver<()>,
}

impl Entry {
    fn is_of(&self, scope: &Scope) -> bool {
        scope.0.is_none() || self.shared.scope == *scope
    }

    async fn ended(&self) {
        let mut running = self.running.clone();
        while running.changed().await.is_ok() {}
    }
}

impl Sources {
    fn start(
        &self,
        inner: &Arc<Inner>,
        source: Arc<dyn SourceProvider>,
        shared: Arc<Shared>,
        limits: SourceLimits,
    ) -> Result<()> {
        let Ok(runtime) = Handle::try_current() else {
            let problem = "called outside of a tokio runtime: a source cannot run";
            return Err(Error::new(ErrorKind::InvalidInput, problem));
        };
        let mut state = lock(&self.state);
        if state.closed {
            return Err(super::close::closed());
        }
        if state.by_channel.contains_key(&shared.channel) {
            return Err(Error::new(
                ErrorKind::SourceAlreadyAttached,
                format!("channel {} has a source already", shared.channel),
            ));
        }
        shared.tell(inner, FrameworkEventType::SourceAttached, |_| {});
        let (runs, running) = watch::channel(());
        let task = {
            let (inner, source) = (Arc::clone(inner), Arc::clone(&source));
            let shared = Arc::clone(&shared);
            runtime.spawn(async move {
                let _runs = runs;
                let ended = supervise(&inner, &source, &shared, &limits).await;
                shared.end();
                if ended == Ended::Done {
                    inner.sources.finish(&inner, &shared);
                }
            })
        };
        let entry = Entry {
            source,
            shared: Arc::clone(&shared),
            task: task.abort_handle(),
            running,
        };
        state.by_channel.insert(shared.channel.clone(), entry);
        Ok(())
    }

    /// Takes a source that has ended out of the list, once, and tells of it.
    fn finish(&self, inner: &Inner, shared: &Arc<Shared>) {
        {
            let mut state = lock(&self.state);
            let is_there = state
                .by_channel
                .get(&shared.channel)
                .is_some_and(|entry| Arc::ptr_eq(&entry.shared, shared));
            if !is_there {
                return;
            }
            state.by_channel.remove(&shared.channel);
        }
        let not_taken = shared.not_taken();
        if not_taken > 0 {
            tracing::warn!(channel_id = %shared.channel, source = shared.name, not_taken, "messages of a source were not taken");
        }
        shared.tell(inner, FrameworkEventType::SourceDetached, |data| {
            if not_taken > 0 {
                data.insert("not_taken", not_taken);
            }
        });
    }

    /// How many are attached.
    pub(super) fn attached(&self) -> usize {
        lock(&self.state).by_channel.len()
    }

    fn entries(&self) -> Vec<Entry> {
        let mut state = lock(&self.state);
        state.closed = true;
        state.by_channel.values().cloned().collect()
    }

    /// Asks every source to end, and waits until they have; none can be attached any more.
    pub(super) async fn close(&self, inner: &Inner) {
        let entries = self.entries();
        for entry in &entries {
            entry.shared.ask_to_stop();
        }
        join_all(entries.iter().map(Entry::ended)).await;
        for entry in &entries {
            self.finish(inner, &entry.shared);
        }
    }

    /// Ends every source at once.
    pub(super) fn abort(&self) {
        let entries = self.entries();
        for entry in &entries {
            entry.shared.ask_to_stop();
            entry.shared.end();
            entry.task.abort();
        }
        // What is dropped may be the application's, and is not dropped under the lock.
        let gone = std::mem::take(&mut lock(&self.state).by_channel);
        drop(gone);
    }
}

impl fmt::Debug for Sources {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set()
            .entries(lock(&self.state).by_channel.keys())
            .finish()
    }
}
