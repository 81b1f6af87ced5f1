//! The suite that every [`AiProvider`] passes, against a server that speaks its vendor's wire.
//!
//! A crate that has a provider says how the vendor writes things ([`Wire`]) and names a function that makes
//! the provider; it gets a test for each promise:
//!
//! ```
//! use std::sync::Arc;
//!
//! use roomkit_ai::MockAiProvider;
//! use roomkit_testkit::ai::TestProvider;
//!
//! async fn make_provider() -> TestProvider {
//!     // With a wire it would be `TestProvider::over_http(wire, |setup| ...)`.
//!     TestProvider::in_memory(|answers| Arc::new(MockAiProvider::scripted(answers)))
//! }
//!
//! roomkit_testkit::ai_provider_conformance!(make_provider);
//! # fn main() {}
//! ```
//!
//! A test of an ability runs where the provider [declares](AiProvider::capabilities) it; where it declares
//! it and the wire [cannot say](Wire::knows) what the test needs, the test fails, so that nothing is left
//! out in silence. Where it does not declare it, the test holds it to that.

#![allow(missing_docs, reason = "the name of a test says what it tests")]
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a suite is tests, which fail by panicking"
)]

mod answers;
mod chat_completions;
mod failures;
mod live;
mod requests;
mod retries;
mod sample;
mod server;
#[doc(hidden)]
pub mod suite;
mod under_test;
mod wire;

pub use chat_completions::ChatCompletionsWire;
pub use live::live_conversation;
pub use server::{Asked, Piece, Pieces, Reply, VendorServer};
pub use under_test::{HttpSetup, TestProvider};
pub use wire::{Ability, Quirk, Told, Wire, WireData, WireFrame, cut, written};

#[cfg(doc)]
use roomkit_ai::AiProvider;

/// Makes a test of each promise that an [`AiProvider`](roomkit_ai::AiProvider) gives; see the
/// [module](crate::ai).
///
/// `make_provider` is an `async fn() -> TestProvider`; each test calls it once. For another provider in
/// the same module, the macro takes a name of its tests' module before it.
#[macro_export]
macro_rules! ai_provider_conformance {
    ($make_provider:expr) => {
        $crate::ai_provider_conformance!(ai_provider_conformance, $make_provider);
    };
    ($module:ident, $make_provider:expr) => {
        $crate::__suite! { $module, $crate::ai::suite, $make_provider;
            a_whole_answer_has_its_text_reason_and_usage
            an_answer_as_it_comes_is_the_whole_answer
            why_it_stopped_is_told
            tools_are_called_with_what_the_model_wrote
            calls_are_told_apart_whatever_a_server_leaves_out
            arguments_that_are_no_object_are_not_taken_for_one
            reasoning_is_told_apart_from_the_answer
            what_is_missing_or_new_does_no_harm
            an_answer_without_its_end_is_complete_or_an_error
            a_conversation_is_sent_whole_and_in_order
            tools_are_offered
            pictures_are_sent_to_models_that_see
            the_credential_of_the_turn_is_sent
            models_are_listed
            a_refusal_keeps_what_the_vendor_said
            no_credential_shows_in_an_error
            a_failure_amid_the_answer_ends_it
            what_cannot_be_read_is_an_error
            a_server_that_is_slow_or_silent_is_given_up
            a_server_that_is_not_there_is_an_error
            a_dropped_answer_ends_the_request
            a_call_is_made_again_until_something_was_told
            attempts_are_bounded_and_wait_as_asked
        }
    };
}
