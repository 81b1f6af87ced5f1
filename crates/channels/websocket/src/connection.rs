//! The receiving end of a connection, which the application reads and writes to its socket.

use std::fmt;
use std::pin::Pin;
use std::sync::{Arc, OnceLock, Weak};
use std::task::{Context, Poll};

use futures_util::Stream;
use tokio::sync::mpsc;

use crate::frame::Frame;
use crate::id::ConnectionId;
use crate::registry::Registry;

/// What one client is to be sent, in order. Dropping it disconnects.
///
/// It is a [`Stream`] of frames too, so that it can be mapped and forwarded to the sink of a socket.
/// It ends when the connection does; [`close_reason`](Self::close_reason) then says why.
#[must_use = "a connection that is dropped is disconnected"]
pub struct Connection {
    pub(crate) id: ConnectionId,
    /// Tells this connection from others that have or had its id.
    pub(crate) serial: u64,
    pub(crate) frames: mpsc::Receiver<Frame>,
    pub(crate) reason: Arc<OnceLock<CloseReason>>,
    /// Weak: a connection does not keep its channel alive.
    pub(crate) registry: Weak<Registry>,
}

impl Connection {
    /// The id under which it is connected.
    #[must_use]
    pub fn id(&self) -> &ConnectionId {
        &self.id
    }

    /// Waits for the next frame; `None` once the connection has ended and all its frames are read.
    ///
    /// No frame is lost when the future is dropped before it is done.
    pub async fn recv(&mut self) -> Option<Frame> {
        self.frames.recv().await
    }

    /// The next frame, if there is one already.
    pub fn try_recv(&mut self) -> Option<Frame> {
        self.frames.try_recv().ok()
    }

    /// Why the connection has ended; `None` while it has not. Frames that came before the end may
    /// still wait to be read.
    #[must_use]
    pub fn close_reason(&self) -> Option<CloseReason> {
        let said = self.reason.get().copied();
        said.or_else(|| self.frames.is_closed().then_some(CloseReason::Closed))
    }
}

impl Stream for Connection {
    type Item = Frame;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Frame>> {
        self.frames.poll_recv(cx)
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        if let Some(registry) = self.registry.upgrade() {
            registry.hang_up(&self.id, self.serial, CloseReason::Disconnected);
        }
    }
}

impl fmt::Debug for Connection {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Connection")
            .field("id", &self.id)
            .field("waiting", &self.frames.len())
            .field("close_reason", &self.close_reason())
            .finish_non_exhaustive()
    }
}

/// Why a connection has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum CloseReason {
    /// The application [disconnected](crate::WebSocketChannel::disconnect) it.
    Disconnected,
    /// Another connection took its id.
    Replaced,
    /// Its queue was full: the client reads too slowly. It misses every frame after the last one
    /// in the queue; a client that connects again reads the rest from the timeline.
    Slow,
    /// The channel was closed, or is gone.
    Closed,
}

impl CloseReason {
    /// The stable snake_case code, such as `slow`.
    #[must_use]
    pub const fn code(self) -> &'static str {
        match self {
            Self::Disconnected => "disconnected",
            Self::Replaced => "replaced",
            Self::Slow => "slow",
            Self::Closed => "closed",
        }
    }
}

impl fmt::Display for CloseReason {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.pad(self.code())
    }
}
