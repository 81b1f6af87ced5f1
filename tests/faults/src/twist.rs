//! How a kit is made: with somebody who looks on or not, and deliberately wrong or not. The table has to
//! notice each kit that is wrong.

use std::sync::Arc;

use roomkit_core::Result;
use roomkit_core::model::EventId;
use roomkit_core::store::{CommitBatch, CommitReceipt, ConversationStore, MemoryStore, RoomStore};

use crate::store::is_the_message;

/// How the kit of a run is made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Make {
    /// What is wrong with it.
    pub twist: Twist,
    /// Whether a telemetry provider looks on: then every stage of the pipeline is the one inside a span.
    pub watched: bool,
}

impl Make {
    /// A sound kit that a telemetry provider looks on at.
    pub const WATCHED: Self = Self {
        twist: Twist::None,
        watched: true,
    };
}

impl From<Twist> for Make {
    fn from(twist: Twist) -> Self {
        Self {
            twist,
            watched: false,
        }
    }
}

/// What is wrong with a kit beside the fault of a cell.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Twist {
    /// Nothing.
    #[default]
    None,
    /// The store says of what it has done that it failed and is not stored.
    StoreDeniesWhatItDid,
    /// The store says of what it has done that another was faster, so that it is tried again.
    StoreAsksToTryAgain,
    /// The store acknowledges the message and does not keep it.
    StoreForgets,
    /// The store keeps the message twice.
    StoreKeepsTwice,
    /// A lock whose grant was not heard of is not had again.
    LockIsKept,
    /// A channel says that it delivered, and did not.
    ChannelSwallows,
    /// A channel delivers twice.
    ChannelRepeats,
    /// Failures are told to nobody.
    NobodyIsTold,
    /// Something of the kit goes on when it is closed.
    TaskStays,
}

impl Twist {
    /// All that are wrong.
    pub const WRONG: [Self; 9] = [
        Self::StoreDeniesWhatItDid,
        Self::StoreAsksToTryAgain,
        Self::StoreForgets,
        Self::StoreKeepsTwice,
        Self::LockIsKept,
        Self::ChannelSwallows,
        Self::ChannelRepeats,
        Self::NobodyIsTold,
        Self::TaskStays,
    ];

    /// Commits as a store with this twist does.
    pub(crate) async fn commit(
        self,
        store: &MemoryStore,
        batch: CommitBatch,
    ) -> Result<CommitReceipt> {
        let first = batch.iter().next().cloned();
        let is_message = |event: &roomkit_core::model::RoomEvent| {
            is_the_message(event.idempotency_key.as_deref())
        };
        let message = first.filter(|commit| commit.event.as_deref().is_some_and(is_message));
        let Some(mut message) = message else {
            return store.commit(batch).await;
        };
        match self {
            Self::StoreForgets => match store.room(&message.room_id).await? {
                Some(room) => Ok(room.into()),
                None => store.commit(batch).await,
            },
            Self::StoreKeepsTwice => {
                let room = store.commit(batch).await?.into_first();
                message.expected_version = Some(room.version);
                message.idempotency = None;
                message.event = message.event.map(|event| {
                    let mut again = (*event).clone();
                    again.id = EventId::generate();
                    again.index = room.room.next_index();
                    Arc::new(again)
                });
                store.commit(message.into()).await
            }
            _ => store.commit(batch).await,
        }
    }
}
