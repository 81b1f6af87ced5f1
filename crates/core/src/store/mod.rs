//! Storage: what a conversation store must do (RFC §14), and the one that keeps all in memory.

mod commit;
mod memory;
mod query;
mod traits;

pub use commit::{
    BindingChange, CommitBatch, CommitReceipt, IdempotentOutcome, OwedDelivery, OwedKind,
    RoomCommit, RoomUpdate, Speaker,
};
pub use memory::MemoryStore;
pub use query::{EventQuery, Page, RoomFilter, RoomSnapshot};
pub use traits::{
    BindingStore, ConversationStore, DeliveryStore, EventStore, IdentityStore, ParticipantStore,
    ReadStore, RoomStore, WorkStore,
};
