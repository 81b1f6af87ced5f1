//! Which provider is asked next when one has failed: again, with a shorter conversation, or the other
//! one. Never once anything of the answer was shown: it would be said twice (field report F45).

use std::sync::Arc;
use std::time::Duration;

use roomkit_core::model::{DeliveryError, RetryPolicy};
use roomkit_core::resilience::backoff;

use crate::transcript::compact;
use crate::{AiContext, AiError, AiProvider};

/// The attempts of one round.
pub(crate) struct Attempts<'a> {
    provider: &'a Arc<dyn AiProvider>,
    fallback: Option<&'a Arc<dyn AiProvider>>,
    policy: Option<&'a RetryPolicy>,
    tries: u32,
    compacted: bool,
    /// What the first provider failed with, where the other one is asked.
    first: Option<AiError>,
}

/// What is done about a failure.
pub(crate) enum Next {
    /// Another attempt after this time.
    Again(Duration),
    /// Nothing more.
    GiveUp(AiError),
}

impl<'a> Attempts<'a> {
    pub(crate) fn new(
        provider: &'a Arc<dyn AiProvider>,
        fallback: Option<&'a Arc<dyn AiProvider>>,
        policy: Option<&'a RetryPolicy>,
    ) -> Self {
        Self {
            provider,
            fallback,
            policy,
            tries: 0,
            compacted: false,
            first: None,
        }
    }

    /// Who is asked now.
    pub(crate) fn provider(&self) -> &'a Arc<dyn AiProvider> {
        self.provider
    }

    /// What to do after a failure of which nothing was shown.
    pub(crate) fn after(&mut self, error: AiError, context: &mut AiContext) -> Next {
        tracing::warn!(
            provider = error.provider(),
            code = error.code(),
            status = error.status(),
            request_id = error.request_id(),
            tries = self.tries,
            "model call failed"
        );
        // The same conversation would be refused again, by whomever.
        if error.is_context_overflow() && !self.compacted && compact(&mut context.messages) {
            self.compacted = true;
            return Next::Again(Duration::ZERO);
        }
        if error.is_retryable()
            && let Some(policy) = self.policy.filter(|policy| self.tries < policy.max_retries)
        {
            let failure = DeliveryError {
                retryable: true,
                retry_after_seconds: error.retry_after().map(|after| after.as_secs_f64()),
                ..DeliveryError::new(error.code(), "")
            };
            let delay = backoff(policy, self.tries, &failure);
            self.tries += 1;
            return Next::Again(delay);
        }
        match self.fallback.take() {
            Some(fallback) => {
                self.provider = fallback;
                self.tries = 0;
                self.first = Some(error);
                Next::Again(Duration::ZERO)
            }
            // What went wrong first is what is to be mended.
            None => Next::GiveUp(self.first.take().unwrap_or(error)),
        }
    }
}
