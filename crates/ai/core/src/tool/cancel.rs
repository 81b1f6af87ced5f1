//! Cancellation that what a tool has started can watch.

use std::fmt;
use std::sync::Arc;

use futures_util::future::select_all;
use tokio::sync::watch;

/// A flag that is set once, and that can be waited for. Clones are the same flag.
#[derive(Clone)]
pub struct Cancellation {
    own: watch::Sender<bool>,
    above: Arc<[watch::Sender<bool>]>,
}

impl Cancellation {
    /// A flag of its own.
    #[must_use]
    pub fn new() -> Self {
        Self {
            own: watch::Sender::new(false),
            above: Arc::new([]),
        }
    }

    /// A flag that is also set by this one; setting it leaves this one alone.
    #[must_use]
    pub fn child(&self) -> Self {
        let above = self.flags().cloned().collect();
        Self {
            own: watch::Sender::new(false),
            above,
        }
    }

    /// Sets it. Setting it again changes nothing.
    pub fn cancel(&self) {
        self.own.send_replace(true);
    }

    /// Whether it is set.
    #[must_use]
    pub fn is_cancelled(&self) -> bool {
        self.flags().any(|flag| *flag.borrow())
    }

    /// Waits until it is set.
    pub async fn cancelled(&self) {
        let waits = self.flags().map(|flag| {
            let mut seen = flag.subscribe();
            Box::pin(async move {
                // The sender lives as long as `self`, so this cannot end otherwise.
                let _ = seen.wait_for(|set| *set).await;
            })
        });
        select_all(waits).await;
    }

    fn flags(&self) -> impl Iterator<Item = &watch::Sender<bool>> {
        std::iter::once(&self.own).chain(self.above.iter())
    }
}

impl Default for Cancellation {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for Cancellation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Cancellation")
            .field(&self.is_cancelled())
            .finish()
    }
}
