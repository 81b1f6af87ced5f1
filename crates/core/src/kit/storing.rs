//! Calls to the store that end whatever the store does: a panic stays there, and one that does not
//! answer in time is given up.
//!
//! Its rules: RFC §13.6.

use std::panic::AssertUnwindSafe;
use std::pin::pin;

use futures_util::FutureExt;

use super::Inner;
use crate::error::{Error, ErrorKind, Result};
use crate::model::{EventId, FrameworkEventType, RoomId};
use crate::pipeline::Scope;
use crate::pipeline::pass::millis;
use crate::store::{RoomCommit, RoomSnapshot};
use crate::sync::guard::{NoAnswer, guard};

impl Inner {
    /// Runs a call of the application's that only reads; it may take as long as its caller waits.
    pub(crate) async fn ask<T>(&self, call: impl Future<Output = Result<T>>) -> Result<T> {
        let answer = AssertUnwindSafe(call).catch_unwind().await;
        answer.unwrap_or_else(|_panic| Err(no_answer(ErrorKind::StoreFailed, NoAnswer::Panicked)))
    }

    /// Runs a call that changes nothing, for something that others may be waiting for.
    pub(crate) async fn read<T>(&self, call: impl Future<Output = Result<T>>) -> Result<T> {
        let limit = self.settings.process_timeout;
        match guard(&*self.clock, limit, pin!(call)).await {
            Ok(answer) => answer,
            Err(problem) => Err(no_answer(ErrorKind::StoreFailed, problem)),
        }
    }

    /// Runs a call that changes something: without an answer it may be done, or may still come to be.
    pub(crate) async fn write<T>(&self, call: impl Future<Output = Result<T>>) -> Result<T> {
        let limit = self.settings.process_timeout;
        match guard(&*self.clock, limit, pin!(call)).await {
            Ok(answer) => answer,
            Err(problem) => Err(no_answer(ErrorKind::OutcomeUnknown, problem)),
        }
    }

    /// The room, if there is one that the scope can see.
    pub(crate) async fn visible_room(&self, scope: &Scope, room: &RoomId) -> Result<RoomSnapshot> {
        let found = self.read(self.store.room(room)).await?;
        visible(scope, room, found)
    }

    /// As [`visible_room`](Self::visible_room), for a caller that has a limit of time itself.
    pub(crate) async fn visible_room_in_time(
        &self,
        scope: &Scope,
        room: &RoomId,
    ) -> Result<RoomSnapshot> {
        visible(scope, room, self.store.room(room).await?)
    }

    /// Commits to one room, and returns the room as it is then.
    pub(crate) async fn commit(&self, commit: RoomCommit) -> Result<RoomSnapshot> {
        let event = commit.event.clone();
        let room = commit.room_id.clone();
        let limit = self.settings.process_timeout;
        let call = self.store.commit(commit.into());
        match guard(&*self.clock, limit, pin!(call)).await {
            Ok(receipt) => Ok(receipt?.into_first()),
            Err(problem) => {
                if problem == NoAnswer::TookTooLong {
                    self.tell_of_timeout(Some(&room), event.as_ref().map(|event| &event.id));
                }
                Err(no_answer(ErrorKind::OutcomeUnknown, problem))
            }
        }
    }

    /// Tells listeners that an event, where there is one yet, was not stored in time.
    pub(crate) fn tell_of_timeout(&self, room: Option<&RoomId>, event: Option<&EventId>) {
        self.emit(FrameworkEventType::ProcessTimeout, |notice| {
            notice.room_id = room.cloned();
            notice.event_id = event.cloned();
            let limit = millis(self.settings.process_timeout);
            notice.data.insert("timeout_ms", limit);
        });
    }

    /// What became of a commit that failed with `error`: the room, where the event is there all the
    /// same, and otherwise an error that says whether it may be.
    pub(crate) async fn after_failed_commit(
        &self,
        room: &RoomId,
        event: &EventId,
        error: Error,
    ) -> Result<RoomSnapshot> {
        use ErrorKind::{RoomNotFound, StaleFencingToken};
        let not_stored = |error: Error| {
            tracing::error!(room_id = %room, event_id = %event, code = error.code(), error = %self.shown(&error), "event was not stored");
            Err(error)
        };
        if matches!(error.kind(), RoomNotFound | StaleFencingToken) {
            return not_stored(error);
        }
        let found = async {
            match self.read(self.store.event(room, event)).await? {
                Some(_) => self.read(self.store.room(room)).await,
                None => Ok(None),
            }
        };
        match found.await {
            Ok(Some(snapshot)) => {
                tracing::warn!(room_id = %room, event_id = %event, code = error.code(), error = %self.shown(&error), "commit failed, but the event is there");
                Ok(snapshot)
            }
            Ok(None) => not_stored(error),
            Err(unread) => {
                tracing::error!(room_id = %room, event_id = %event, code = error.code(), error = %self.shown(&error), unread = %self.shown(&unread), "commit failed, and whether the event is there cannot be read");
                let problem = format!("event {event} of room {room} may be stored or not");
                Err(Error::new(ErrorKind::OutcomeUnknown, problem).with_source(error))
            }
        }
    }
}

fn visible(scope: &Scope, room: &RoomId, found: Option<RoomSnapshot>) -> Result<RoomSnapshot> {
    found
        .filter(|found| scope.admits(&found.room))
        .ok_or_else(|| Error::room_not_found(room))
}

fn no_answer(kind: ErrorKind, problem: NoAnswer) -> Error {
    let problem = match problem {
        NoAnswer::Panicked => "the store panicked",
        NoAnswer::TookTooLong => "the store did not answer in time",
    };
    Error::new(kind, problem)
}
