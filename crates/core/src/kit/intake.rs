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

    /// Whether one more message may come in now. One that may not costs no limit anything.
    pub(crate) fn admits(&self, inner: &Inner, scope: &Scope, message: &InboundMessage) -> bool {
        if self.channel.is_none() && self.organization.is_none() {
            return true;
        }
        self.has_place(inner, scope, message)
    }

    fn has_place(&self, inner: &Inner, scope: &Scope, message: &InboundMessage) -> bool {
        let channel = &message.channel_id;
        // Only what is registered has a bucket: others are refused anyway, under whatever name.
        if inner.channel(channel).is_none() {
            return true;
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
        if of_channel
            .as_mut()
            .is_some_and(|bucket| bucket.take(now).is_err())
        {
            return false;
        }
        let Some((limit, organization)) = self.organization.as_ref().zip(scope.0.as_ref()) else {
            return true;
        };
        let has_token = organizations
            .bucket(organization, limit, now)
            .take(now)
            .is_ok();
        if !has_token && let Some(bucket) = of_channel {
            bucket.give_back();
        }
        has_token
    }
}
