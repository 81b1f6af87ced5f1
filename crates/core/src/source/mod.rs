//! Sources: connections that bring messages in by themselves, where a webhook waits to be called
//! (RFC §6.5).
//!
//! A [`SourceProvider`] holds one connection and emits what comes over it. The kit runs it, starts it
//! again when it fails, holds it back when too many of its messages are under way, and ends it
//! when it is detached, the kit closes or goes away: see
//! [`Rooms::attach_source`](crate::Rooms::attach_source).

mod emitter;
mod supervise;

use std::sync::Arc;

use async_trait::async_trait;

pub(crate) use emitter::Shared;
pub use emitter::SourceEmitter;
pub(crate) use supervise::{Ended, supervise};

use crate::error::Result;
use crate::model::Metadata;

/// A persistent connection that brings messages in.
///
/// It does not hold its kit, which would then never go away: the emitter is all that it needs, and
/// keeps nothing.
///
/// ```
/// use roomkit_core::model::InboundMessage;
/// use roomkit_core::source::{SourceEmitter, SourceProvider};
/// use roomkit_core::{Error, Result, async_trait};
///
/// struct Lines(tokio::sync::Mutex<tokio::sync::mpsc::Receiver<String>>);
///
/// #[async_trait]
/// impl SourceProvider for Lines {
///     fn name(&self) -> &str {
///         "lines"
///     }
///
///     async fn start(&self, emit: SourceEmitter) -> Result<()> {
///         let mut lines = self.0.lock().await;
///         emit.connected();
///         while let Some(line) = lines.recv().await {
///             emit.emit(InboundMessage::text("lines", "somebody", line)).await?;
///         }
///         Err(Error::source("nobody writes any more"))
///     }
/// }
/// ```
#[async_trait]
pub trait SourceProvider: Send + Sync + 'static {
    /// Names it in logs and framework events, such as `sse:events.example.com`. No secret in it.
    fn name(&self) -> &str;

    /// Connects and emits what comes, until the connection ends.
    ///
    /// It need not reconnect: to return an error is to ask for another start after a while. It may be
    /// dropped at any await, which happens when it does not end soon after
    /// [`stopped`](SourceEmitter::stopped). `Ok` says that there is nothing more to come, ever: the
    /// source is then detached.
    ///
    /// # Errors
    /// When the connection could not be made or was lost. A panic counts as an error.
    async fn start(&self, emit: SourceEmitter) -> Result<()>;

    /// Lets go of what [`start`](Self::start) left behind. Called after each run, whether it returned
    /// or was dropped, and before the next. Default: nothing.
    async fn stop(&self) {}

    /// What it has to say about itself for its health. Default: nothing.
    fn details(&self) -> Metadata {
        Metadata::new()
    }
}

#[async_trait]
impl<S: SourceProvider + ?Sized> SourceProvider for Arc<S> {
    fn name(&self) -> &str {
        (**self).name()
    }

    async fn start(&self, emit: SourceEmitter) -> Result<()> {
        (**self).start(emit).await
    }

    async fn stop(&self) {
        (**self).stop().await;
    }

    fn details(&self) -> Metadata {
        (**self).details()
    }
}
