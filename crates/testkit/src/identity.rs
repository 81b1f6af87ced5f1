//! An identity resolver that knows whom it was told about.

use std::collections::HashMap;

use async_trait::async_trait;
use roomkit_core::model::{Identity, IdentityResult, InboundMessage, ParticipantId};
use roomkit_core::{IdentityResolver, Result, RoomContext};

use crate::sync::Log;

/// An identity resolver for tests: it maps a message's sender to a result. A clone shares the record of
/// who was asked about.
///
/// ```
/// use roomkit_core::model::{Identity, IdentityResult};
/// use roomkit_testkit::MockIdentityResolver;
///
/// let resolver = MockIdentityResolver::new()
///     .knows("+15550001111", Identity::new("alice"))
///     .answers("+15550002222", IdentityResult::ambiguous([Identity::new("bob"), Identity::new("bea")]));
/// assert!(resolver.asked().is_empty());
/// ```
#[derive(Debug, Clone)]
pub struct MockIdentityResolver {
    results: HashMap<ParticipantId, IdentityResult>,
    otherwise: IdentityResult,
    asked: Log<ParticipantId>,
}

impl MockIdentityResolver {
    /// A resolver that knows nobody.
    #[must_use]
    pub fn new() -> Self {
        Self {
            results: HashMap::new(),
            otherwise: IdentityResult::unknown(),
            asked: Log::default(),
        }
    }

    /// The sender is this person.
    #[must_use]
    pub fn knows(self, sender: impl Into<ParticipantId>, identity: Identity) -> Self {
        self.answers(sender, IdentityResult::identified(identity))
    }

    /// The answer for a sender.
    #[must_use]
    pub fn answers(mut self, sender: impl Into<ParticipantId>, result: IdentityResult) -> Self {
        self.results.insert(sender.into(), result);
        self
    }

    /// The answer for every other sender. Default: unknown.
    #[must_use]
    pub fn otherwise(mut self, result: IdentityResult) -> Self {
        self.otherwise = result;
        self
    }

    /// The senders it was asked about, in order, repeats included.
    #[must_use]
    pub fn asked(&self) -> Vec<ParticipantId> {
        self.asked.entries()
    }
}

impl Default for MockIdentityResolver {
    fn default() -> Self {
        Self::new()
    }
}

#[async_trait]
impl IdentityResolver for MockIdentityResolver {
    async fn resolve(
        &self,
        message: &InboundMessage,
        _context: &RoomContext,
    ) -> Result<IdentityResult> {
        self.asked.push(message.sender_id.clone());
        let result = self.results.get(&message.sender_id);
        Ok(result.unwrap_or(&self.otherwise).clone())
    }
}
