//! Running an activity: turn after turn, each shown to the observer before it counts.

use std::fmt;
use std::panic::AssertUnwindSafe;
use std::pin::pin;
use std::sync::Arc;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;

use super::agent::BoxError;
use super::next::next_turn;
use super::{
    Ended, Inner, ObserverFailure, PassReason, TurnContext, TurnRecord, TurnReport, TurnRoomError,
};
use crate::sync::guard::{NoAnswer, guard};
use crate::sync::lock;
use crate::turns::{Transcript, TranscriptEvent};

/// What a room remembers.
#[derive(Debug)]
pub(super) struct State {
    pub(super) transcript: Transcript,
    /// The event that the observer is looking at. It stays here when the call is dropped meanwhile,
    /// since the observer may have stored it already.
    pub(super) unconfirmed: Option<TurnRecord>,
}

impl State {
    pub(super) const fn new(transcript: Transcript) -> Self {
        Self {
            transcript,
            unconfirmed: None,
        }
    }
}

/// An observer's function without its types.
pub(super) struct Observer(Box<ObserverFn>);

type ObserverFn = dyn Fn(TurnRecord) -> BoxFuture<'static, Result<(), BoxError>> + Send + Sync;

impl Observer {
    pub(super) fn new<F, Fut, E>(observer: F) -> Self
    where
        F: Fn(TurnRecord) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<(), E>> + Send + 'static,
        E: Into<BoxError>,
    {
        Self(Box::new(move |record| {
            let seen = observer(record);
            Box::pin(async move { seen.await.map_err(Into::into) })
        }))
    }

    async fn observe(&self, record: TurnRecord) -> Result<(), BoxError> {
        let seen = AssertUnwindSafe(async { (self.0)(record).await }).catch_unwind();
        seen.await
            .unwrap_or_else(|_panic| Err("the observer panicked".into()))
    }
}

impl fmt::Debug for Observer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Observer")
    }
}

/// One call's work on a room, done while it holds the room's line.
pub(super) struct Drain<'a> {
    room: &'a Inner,
    appended: Vec<TurnRecord>,
    posted: bool,
}

impl<'a> Drain<'a> {
    pub(super) const fn new(room: &'a Inner) -> Self {
        Self {
            room,
            appended: Vec::new(),
            posted: false,
        }
    }

    pub(super) fn report(self, ended: Ended) -> TurnReport {
        TurnReport {
            records: self.appended,
            ended,
        }
    }

    /// Runs turns until nobody is to speak.
    pub(super) async fn run(&mut self) -> Result<Ended, TurnRoomError> {
        self.confirm().await?;
        loop {
            let transcript = self.room.transcript();
            let room = self.room;
            let turn = match next_turn(&*room.planner, &room.roster, &transcript, room.caps) {
                Ok(turn) => turn,
                Err(ended) => return Ok(ended),
            };
            let (event, passed) = self.turn(turn.speaker, turn.round, transcript).await;
            self.append(event, passed).await?;
        }
    }

    /// Appends the message of a human.
    pub(super) async fn post(&mut self, message: TranscriptEvent) -> Result<(), TurnRoomError> {
        self.append(message, None).await?;
        self.posted = true;
        Ok(())
    }

    /// Appends an event, once the observer has taken it.
    async fn append(
        &mut self,
        event: TranscriptEvent,
        passed: Option<PassReason>,
    ) -> Result<(), TurnRoomError> {
        {
            let mut state = lock(&self.room.state);
            state.unconfirmed = Some(TurnRecord {
                position: state.transcript.len(),
                event,
                passed,
            });
        }
        self.confirm().await
    }

    /// Shows the observer the event that waits for it, if there is one.
    async fn confirm(&mut self) -> Result<(), TurnRoomError> {
        let Some(record) = lock(&self.room.state).unconfirmed.clone() else {
            return Ok(());
        };
        let seen = match &self.room.observer {
            Some(observer) => observer.observe(record.clone()).await,
            None => Ok(()),
        };
        let mut state = lock(&self.room.state);
        state.unconfirmed = None;
        match seen {
            Ok(()) => {
                state.transcript.push(record.event.clone());
                self.appended.push(record);
                Ok(())
            }
            Err(source) => Err(Box::new(ObserverFailure {
                record,
                appended: std::mem::take(&mut self.appended),
                posted: self.posted,
                source,
            })
            .into()),
        }
    }

    /// Gives an agent a turn, and makes an event of it whatever becomes of it.
    async fn turn(
        &self,
        speaker: &str,
        round: u32,
        transcript: Transcript,
    ) -> (TranscriptEvent, Option<PassReason>) {
        match self.ask(speaker, round, transcript).await {
            Ok(text) => (TranscriptEvent::new(speaker, text).in_round(round), None),
            Err(reason) => (TranscriptEvent::pass(speaker, round), Some(reason)),
        }
    }

    async fn ask(
        &self,
        speaker: &str,
        round: u32,
        transcript: Transcript,
    ) -> Result<String, PassReason> {
        let agent = self.room.agents.get(speaker).ok_or(PassReason::Absent)?;
        let call = pin!(agent.take_turn(TurnContext::new(speaker, round, transcript)));
        match guard(&*self.room.clock, self.room.turn_timeout, call).await {
            Ok(Ok(turn)) => turn.into_text().ok_or(PassReason::Chosen),
            Ok(Err(error)) => Err(PassReason::Failed(Arc::from(error))),
            Err(NoAnswer::Panicked) => Err(PassReason::Panicked),
            Err(NoAnswer::TookTooLong) => Err(PassReason::TimedOut),
        }
    }
}
