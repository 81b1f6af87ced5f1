//! An identity resolver that knows whom it was told about.

use std::collections::HashMap;
use std::future::pending;

use async_trait::async_trait;
use roomkit_core::model::{Identity, IdentityResult, InboundMessage, ParticipantId};
use roomkit_core::{Error, ErrorKind, IdentityResolver, Result, RoomContext};

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
    answers: HashMap<ParticipantId, Answer>,
    otherwise: IdentityResult,
    asked: Log<ParticipantId>,
}

/// What it does when it is asked about a sender.
#[derive(Debug, Clone)]
enum Answer {
    Result(Box<IdentityResult>),
    Failure,
    Silence,
}

impl MockIdentityResolver {
    /// A resolver that knows nobody.
    #[must_use]
    pub fn new() -> Self {
        Self {
            answers: HashMap::new(),
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
        self.answers
            .insert(sender.into(), Answer::Result(Box::new(result)));
        self
    }

    /// It fails when it is asked about this sender, with `provider_failed`.
    #[must_use]
    pub fn fails(mut self, sender: impl Into<ParticipantId>) -> Self {
        self.answers.insert(sender.into(), Answer::Failure);
        self
    }

    /// It never answers when it is asked about this sender.
    #[must_use]
    pub fn hangs(mut self, sender: impl Into<ParticipantId>) -> Self {
        self.answers.insert(sender.into(), Answer::Silence);
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
        match self.answers.get(&message.sender_id) {
            None => Ok(self.otherwise.clone()),
            Some(Answer::Result(result)) => Ok((**result).clone()),
            Some(Answer::Failure) => {
                let problem = "the mock was told to fail";
                Err(Error::new(ErrorKind::ProviderFailed, problem))
            }
            Some(Answer::Silence) => pending().await,
        }
    }
}
