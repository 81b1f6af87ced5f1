//! Identity: who a sender is (RFC §11), and when two ways of writing an address are one address.
//!
//! Who is asked is a resolver: [`StoredIdentities`], which finds people in the kit's store, or one of
//! the application's own. What becomes of a message follows from the answer:
//!
//! | status | what happens | who may decide otherwise |
//! |---|---|---|
//! | `identified` | the event is the person's; the room has a record of them under their identity's id | nobody |
//! | `ambiguous`, `pending` | the message is taken; the record has the status and the candidates | [`OnIdentityAmbiguous`] |
//! | `unknown` | the message is taken, under the sender's own id | [`OnIdentityUnknown`] |
//! | `rejected` | refused with `identity_rejected`; nothing is stored | [`OnIdentityUnknown`] |
//! | `challenge_sent` | held back with `identity_challenge_sent`; the record has the status, and the sender is told the answer's `message`, if it has one | nobody |
//!
//! A resolver that fails or takes too long does not know the sender. Nobody is asked about a sender
//! whom the channel names itself, who is known in the room already, or who has no id at all.
//!
//! [`OnIdentityAmbiguous`]: crate::hook::OnIdentityAmbiguous
//! [`OnIdentityUnknown`]: crate::hook::OnIdentityUnknown

mod address;
mod phone;
mod stored;

pub use address::{AddressNormalizer, DefaultAddressNormalizer};
pub use stored::StoredIdentities;

use std::fmt;

use async_trait::async_trait;

use crate::context::RoomContext;
use crate::error::Result;
use crate::model::{IdentityResult, InboundMessage};

/// Maps a sender's address to a known person.
#[async_trait]
pub trait IdentityResolver: Send + Sync + fmt::Debug + 'static {
    /// Says who sent `message`. It is asked once per message, within the kit's identity timeout.
    ///
    /// The message's `sender_id` is in the form that the kit's [`AddressNormalizer`] gives it; what
    /// kind of address it is says [`RoomContext::arrived_over`]. An identity belongs to the room's
    /// organisation or names none; the answer that the sender is somebody of another organisation
    /// counts as not knowing them, and no more is made of it (RFC §17.2).
    ///
    /// # Errors
    /// A failure counts as an unknown sender.
    async fn resolve(
        &self,
        message: &InboundMessage,
        context: &RoomContext,
    ) -> Result<IdentityResult>;
}
