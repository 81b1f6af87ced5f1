//! Identity: who a sender is (RFC §11).

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
    /// # Errors
    /// A failure counts as an unknown sender.
    async fn resolve(
        &self,
        message: &InboundMessage,
        context: &RoomContext,
    ) -> Result<IdentityResult>;
}
