//! The suite that every [`ConversationStore`] passes: what the traits promise, as tests.
//!
//! A crate that has a store names a function that makes one, and gets a test for each promise:
//!
//! ```
//! use std::sync::Arc;
//!
//! use roomkit_core::store::MemoryStore;
//! use roomkit_testkit::store::TestStore;
//!
//! async fn make_store() -> TestStore {
//!     TestStore::new(Arc::new(MemoryStore::new()))
//! }
//!
//! roomkit_testkit::store_conformance!(make_store);
//! # fn main() {}
//! ```

#![allow(missing_docs, reason = "the name of a test says what it tests")]
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a suite is tests, which fail by panicking"
)]

mod archive;
mod bindings;
mod commit;
mod events;
mod fields;
mod people;
mod races;
mod random;
mod retention;
mod rooms;
mod sample;
mod search;
#[doc(hidden)]
pub mod suite;
mod work;

use std::any::Any;
use std::fmt;
use std::future::Future;
use std::sync::Arc;

use futures_util::future::BoxFuture;
use roomkit_core::store::ConversationStore;

type Reopen = Box<dyn Fn() -> BoxFuture<'static, Arc<dyn ConversationStore>> + Send + Sync>;

/// An empty store for one test, and what the test may do with it.
pub struct TestStore {
    store: Arc<dyn ConversationStore>,
    reopen: Option<Reopen>,
    // After the store, so that a folder or a server goes last.
    kept: Vec<Box<dyn Any + Send + Sync>>,
}

impl TestStore {
    /// A store that holds nothing yet.
    pub fn new(store: Arc<dyn ConversationStore>) -> Self {
        Self {
            store,
            reopen: None,
            kept: Vec::new(),
        }
    }

    /// Keeps what the store lives on, such as a temporary folder, until the test is over.
    #[must_use]
    pub fn kept(mut self, resource: impl Any + Send + Sync) -> Self {
        self.kept.push(Box::new(resource));
        self
    }

    /// How the same data is opened again. Without it nothing is tested of what outlives a store.
    ///
    /// A store that [is shared](ConversationStore::is_shared) is also opened beside the first.
    #[must_use]
    pub fn reopened_by<F, Fut>(mut self, open: F) -> Self
    where
        F: Fn() -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Arc<dyn ConversationStore>> + Send + 'static,
    {
        self.reopen = Some(Box::new(move || Box::pin(open())));
        self
    }

    /// The store.
    pub fn store(&self) -> &Arc<dyn ConversationStore> {
        &self.store
    }

    /// Closes the store and opens its data again, where that is possible.
    async fn reopen(&mut self) {
        if let Some(reopen) = &self.reopen {
            self.store.close().await.expect("the store closes");
            self.store = reopen().await;
        }
    }

    /// Another handle on the same data where it may be shared, else the same one.
    async fn another(&self) -> Arc<dyn ConversationStore> {
        match &self.reopen {
            Some(reopen) if self.store.is_shared() => reopen().await,
            _ => Arc::clone(&self.store),
        }
    }
}

impl fmt::Debug for TestStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TestStore")
            .field("store", &self.store)
            .field("reopens", &self.reopen.is_some())
            .finish_non_exhaustive()
    }
}

/// Makes a test of each promise that a [`ConversationStore`] gives; see the
/// [module](crate::store).
///
/// `make_store` is an `async fn() -> TestStore`; each test calls it once.
#[macro_export]
macro_rules! store_conformance {
    ($make_store:expr) => {
        $crate::__store_tests! { [$crate::__suite] store_conformance, $crate::store::suite, $make_store }
    };
}

/// Hands the names of all tests to a macro, behind what else it is given.
#[doc(hidden)]
#[macro_export]
macro_rules! __store_tests {
    ([$($callback:tt)+] $($arguments:tt)*) => {
        $($callback)+! { $($arguments)*;
            a_new_room_is_empty_and_its_id_is_taken
            a_room_keeps_every_field
            rooms_are_listed_by_age_within_their_filter
            a_room_changes_as_an_update_says
            a_deleted_room_takes_everything_with_it
            open_rooms_are_found_by_channel_and_by_sender
            rooms_that_open_again_are_found_by_what_was_attached_meanwhile
            an_event_and_the_counters_of_its_room_are_one_commit
            what_was_decided_on_an_older_room_is_refused_whole
            a_holder_that_has_lost_its_lock_can_no_longer_commit
            a_batch_of_several_rooms_holds_whole_or_not_at_all
            a_batch_with_two_parts_of_one_room_is_refused_whole
            effects_alone_change_no_version
            an_edit_is_a_new_version_at_the_same_place
            an_outcome_and_a_speaker_hold_without_their_event
            a_key_is_taken_in_its_room_alone
            what_is_passed_in_and_handed_out_is_owned_by_its_holder
            an_event_keeps_every_field
            every_kind_of_content_is_kept
            times_of_any_year_are_kept
            what_is_nested_too_deep_to_be_kept_is_refused
            what_breaks_a_rule_is_refused_or_read_again
            ids_and_texts_of_any_characters_are_kept
            queries_take_from_either_end_and_answer_in_index_order
            every_condition_of_a_filter_holds
            pages_before_and_after_a_cursor_meet_without_gap_or_repeat
            a_deleted_event_leaves_a_hole_and_its_index_is_not_used_again
            threads_are_summed_up_by_their_roots
            bindings_keep_their_order_and_detached_ones_are_remembered
            speakers_are_one_record_however_many_channels_they_use
            participants_are_replaced_in_their_place
            identities_are_found_by_address_within_their_organisation
            read_markers_only_move_forward
            tasks_and_observations_keep_their_order
            what_is_owed_is_listed_per_lane_in_order_until_it_is_settled
            words_find_events_in_every_room_or_one
            a_search_knows_the_newest_version_alone
            what_has_expired_is_deleted_or_redacted_by_organisation
            a_policy_is_applied_to_the_end
            a_dumped_room_is_restored_whole
            an_archive_that_makes_no_room_leaves_nothing
            rooms_travel_as_json_lines
            of_many_that_race_with_one_key_one_is_stored
            racing_commits_leave_no_gap_and_no_repeat
            an_abandoned_commit_holds_whole_or_not_at_all
            any_history_is_the_same_as_in_memory
            a_store_closes_twice
        }
    };
}
