//! Steering: what is said to an agent while it is at work (RFC §21.3).

use std::collections::{HashMap, VecDeque};
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use roomkit_core::model::RoomId;

use crate::{AiMessage, Cancellation};

/// The most directives that wait for one turn.
const MOST_WAITING: usize = 64;

/// What is said to an agent while it is at work.
#[derive(Clone, PartialEq)]
#[non_exhaustive]
pub enum Steering {
    /// Ends the turn at once; what was said is kept.
    Cancel,
    /// Adds to what the agent is told, from its next round on.
    UpdateSystemPrompt {
        /// What is put behind the system prompt, as it is.
        append: String,
    },
    /// Puts a message into the conversation, before its next round.
    InjectMessage(AiMessage),
}

impl fmt::Debug for Steering {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Cancel => f.write_str("Cancel"),
            Self::UpdateSystemPrompt { append } => {
                write!(f, "UpdateSystemPrompt({} bytes)", append.len())
            }
            Self::InjectMessage(message) => f.debug_tuple("InjectMessage").field(message).finish(),
        }
    }
}

/// How a turn that is under way is reached.
#[derive(Debug, Default)]
pub(crate) struct Control {
    pub(crate) cancel: Cancellation,
    waiting: Mutex<VecDeque<Steering>>,
}

impl Control {
    /// What has been said since the last call, oldest first.
    pub(crate) fn take(&self) -> VecDeque<Steering> {
        std::mem::take(&mut *lock(&self.waiting))
    }

    fn push(&self, directive: Steering) -> bool {
        if directive == Steering::Cancel {
            self.cancel.cancel();
            return true;
        }
        let mut waiting = lock(&self.waiting);
        let has_room = waiting.len() < MOST_WAITING;
        if has_room {
            waiting.push_back(directive);
        }
        has_room
    }
}

/// The turns of an agent that are under way, at most one a room but for a moment.
#[derive(Debug, Default)]
pub(crate) struct Turns(Mutex<HashMap<RoomId, Arc<Control>>>);

/// Holds a turn's place among those under way.
#[derive(Debug)]
pub(crate) struct UnderWay {
    turns: Arc<Turns>,
    room: RoomId,
    pub(crate) control: Arc<Control>,
}

impl Turns {
    pub(crate) fn begin(self: &Arc<Self>, room: &RoomId) -> UnderWay {
        let control = Arc::new(Control::default());
        lock(&self.0).insert(room.clone(), Arc::clone(&control));
        UnderWay {
            turns: Arc::clone(self),
            room: room.clone(),
            control,
        }
    }

    pub(crate) fn steer(&self, room: &RoomId, directive: Steering) -> bool {
        let control = lock(&self.0).get(room).cloned();
        control.is_some_and(|control| control.push(directive))
    }

    pub(crate) fn is_under_way(&self, room: &RoomId) -> bool {
        lock(&self.0).contains_key(room)
    }
}

impl Drop for UnderWay {
    fn drop(&mut self) {
        // What the turn has started is to end with it.
        self.control.cancel.cancel();
        let mut turns = lock(&self.turns.0);
        if turns
            .get(&self.room)
            .is_some_and(|control| Arc::ptr_eq(control, &self.control))
        {
            turns.remove(&self.room);
        }
    }
}

pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
