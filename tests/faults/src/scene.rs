//! A scene: one call of a kit, what it needs first, and how to see what it changed.

use std::collections::BTreeMap;
use std::sync::Arc;

use futures_util::future::BoxFuture;
use roomkit_core::model::{DeliveryResult, InboundResult, RoomEvent};
use roomkit_core::{Error, ErrorKind, Result};

use crate::stage::Stage;

/// What is done on a stage.
pub(crate) type Act<T> = for<'a> fn(&'a Stage) -> BoxFuture<'a, Result<T>>;

/// A short conversation with one call that may be harmed.
#[derive(Debug, Clone, Copy)]
pub struct Scene {
    /// Its name in the table.
    pub name: &'static str,
    pub(crate) kind: Kind,
    /// What the caller is told when nothing goes wrong.
    pub(crate) told: &'static str,
    pub(crate) prepare: Option<Act<()>>,
    pub(crate) act: Act<Answer>,
    /// Whether what was asked for is so.
    pub(crate) so: Option<Act<bool>>,
    /// Undone, where the room could not go on.
    pub(crate) restore: Option<Act<()>>,
}

/// What a scene is about, which says what may come of a fault.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// A message with an idempotency key.
    Message,
    /// A change of a room.
    Change,
    /// A question that changes nothing.
    Read,
    /// A call of which nothing is stored.
    Call,
    /// A session that begins, and the greeting that it begins with.
    Session,
    /// A message that is answered again.
    Again,
    /// A protocol trace that is told.
    Trace,
    /// A source brings the message; it tries until it is taken.
    Source,
    /// The kit does it by itself, and tries until it is done.
    Sweep,
    /// The kit is closed.
    Close,
}

/// What a call came to.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Answer {
    /// Why it was refused or blocked.
    pub(crate) refused: Option<String>,
    /// What failed afterwards.
    pub(crate) error: Option<String>,
    /// Where it was not delivered, with the code.
    pub(crate) failed: BTreeMap<String, String>,
}

impl From<()> for Answer {
    fn from((): ()) -> Self {
        Self::default()
    }
}

impl From<InboundResult> for Answer {
    fn from(result: InboundResult) -> Self {
        let code = |delivery: &DeliveryResult| {
            let error = delivery.outcome.error()?;
            Some((delivery.channel_id.to_string(), error.code.clone()))
        };
        Self {
            refused: result.reason.filter(|_| result.blocked),
            error: result.error,
            failed: result.delivery_results.iter().filter_map(code).collect(),
        }
    }
}

impl From<Arc<RoomEvent>> for Answer {
    fn from(event: Arc<RoomEvent>) -> Self {
        Self {
            refused: event.blocked_by.clone(),
            ..Self::default()
        }
    }
}

/// An error of the scene's own.
pub(crate) fn unexpected(problem: &str) -> Error {
    Error::new(ErrorKind::Custom("unexpected"), problem)
}

impl Scene {
    /// Whether something passes through the stages of the pipeline that have spans.
    #[must_use]
    pub fn goes_through_stages(&self) -> bool {
        matches!(
            self.kind,
            Kind::Message | Kind::Session | Kind::Again | Kind::Source | Kind::Close
        )
    }

    const fn new(name: &'static str, kind: Kind, act: Act<Answer>) -> Self {
        Self {
            name,
            kind,
            told: "done",
            prepare: None,
            act,
            so: None,
            restore: None,
        }
    }

    pub(crate) const fn message(name: &'static str, act: Act<Answer>) -> Self {
        Self::new(name, Kind::Message, act)
    }

    pub(crate) const fn change(name: &'static str, act: Act<Answer>, so: Act<bool>) -> Self {
        Self::new(name, Kind::Change, act).so(so)
    }

    pub(crate) const fn read(name: &'static str, act: Act<Answer>) -> Self {
        Self::new(name, Kind::Read, act)
    }

    pub(crate) const fn of(kind: Kind, name: &'static str, act: Act<Answer>) -> Self {
        Self::new(name, kind, act)
    }

    pub(crate) const fn after(mut self, prepare: Act<()>) -> Self {
        self.prepare = Some(prepare);
        self
    }

    pub(crate) const fn told(mut self, told: &'static str) -> Self {
        self.told = told;
        self
    }

    pub(crate) const fn so(mut self, so: Act<bool>) -> Self {
        self.so = Some(so);
        self
    }

    pub(crate) const fn restored(mut self, restore: Act<()>) -> Self {
        self.restore = Some(restore);
        self
    }
}
