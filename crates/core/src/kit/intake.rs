//! How many messages may come in: by channel, and by organisation (RFC §17.4).

use std::collections::HashMap;
use std::hash::Hash;
use std::time::Duration;

use super::Inner;
use crate::model::{ChannelId, InboundMessage, OrganizationId, RateLimit};
use crate::pipeline::Scope;
use crate::resilience::TokenBucket;
use crate::sync::Mutex;
use crate::sync::lock;

/// How many buckets are kept, at least, before the full ones are forgotten.
const MOST_BUCKETS: usize = 4_096;

/// The limits of what comes in, where there are any.
#[derive(Debug, Default)]
pub(crate) struct Intake {
    channel: Option<RateLimit>,
    organization: Option<RateLimit>,
    buckets: Mutex<Buckets>,
}

#[derive(Debug, Default)]
struct Buckets {
    channels: Shelf<ChannelId>,
    organizations: Shelf<OrganizationId>,
}

#[derive(Debug)]
struct Shelf<K> {
    by_key: HashMap<K, TokenBucket>,
    /// At how many the full ones are looked for next; it grows with those that are not.
    sweep_at: usize,
}

impl<K> Default for Shelf<K> {
    fn default() -> Self {
        Self {
            by_key: HashMap::new(),
            sweep_at: MOST_BUCKETS,
        }
    }
}

impl<K: Hash + Eq + Clone> Shelf<K> {
    fn bucket(&mut self, key: &K, limit: &RateLimit, now: Duration) -> &mut TokenBucket {
        if self.by_key.len() >= self.sweep_at {
            // What is full says no more than one that is not there.
            self.by_key.retain(|_, bucket| !bucket.is_full(now));
            self.sweep_at = self.by_key.len().saturating_mul(2).max(MOST_BUCKETS);
        }
        self.by_key
            .entry(key.clone())
            .or_insert_with(|| TokenBucket::new(limit, now))
    }
}

impl Intake {
    pub(super) fn new(channel: Option<RateLimit>, organization: Option<RateLimit>) -> Self {
        Self {
            channel,
            organization,
            buckets: Mutex::default(),
        }
    }

    /// Whether there is any limit.
    pub(crate) fn is_limited(&self) -> bool {
        self.channel.is_some() || self.organization.is_some()
    }

    /// Whether one more message may come in now. One that may not costs no limit anything.
    pub(crate) fn admits(&self, inner: &Inner, scope: &Scope, message: &InboundMessage) -> bool {
        !self.is_limited() || self.take(inner, scope, &message.channel_id).is_ok()
    }

    /// Lets one more message of a channel come in, or says how long to wait before asking again.
    pub(crate) fn take(
        &self,
        inner: &Inner,
        scope: &Scope,
        channel: &ChannelId,
    ) -> Result<(), Duration> {
        // Only what is registered has a bucket: others are refused anyway, under whatever name.
        if inner.channel(channel).is_none() {
            return Ok(());
        }
        let now = inner.clock.elapsed();
        let mut buckets = lock(&self.buckets);
        let Buckets {
            channels,
            organizations,
        } = &mut *buckets;
        let mut of_channel = self
            .channel
            .as_ref()
            .map(|limit| channels.bucket(channel, limit, now));
        if let Some(bucket) = &mut of_channel {
            bucket.take(now)?;
        }
        let Some((limit, organization)) = self.organization.as_ref().zip(scope.0.as_ref()) else {
            return Ok(());
        };
        let taken = organizations.bucket(organization, limit, now).take(now);
        if taken.is_err()
            && let Some(bucket) = of_channel
        {
            bucket.give_back();
        }
        taken
    }
}
