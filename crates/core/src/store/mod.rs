//! Storage: what a conversation store must do (RFC §14), and the one that keeps all in memory.

mod archive;
mod commit;
mod json_lines;
mod memory;
mod query;
mod retention;
mod search;
mod traits;

pub use archive::{ArchiveStore, RoomHead, RoomPart, checked};

pub use commit::{
    BindingChange, CommitBatch, CommitReceipt, IdempotentOutcome, OwedDelivery, OwedKind,
    RoomCommit, RoomUpdate, Speaker,
};
pub use json_lines::{export_room, import_room};
pub use memory::MemoryStore;
pub use query::{EventQuery, Page, RoomFilter, RoomSnapshot};
pub use retention::{Expiry, RetentionAction, RetentionPolicy, RetentionRule, RetentionScope};
pub use search::{EventSearch, words, words_of};
pub use traits::{
    BindingStore, ConversationStore, DeliveryStore, EventStore, IdentityStore, ParticipantStore,
    ReadStore, RoomStore, WorkStore,
};
