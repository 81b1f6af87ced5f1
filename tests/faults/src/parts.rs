//! Every part of a kit but its store and channels, each a sound one that passes the probe first.

use std::sync::Arc;

use async_trait::async_trait;
use roomkit_core::hook::{AfterBroadcast, Hook, RoomHooks};
use roomkit_core::identity::StoredIdentities;
use roomkit_core::model::{
    ChannelBinding, ChannelCapabilities, EphemeralEvent, EventContent, IdentityResult,
    InboundMessage, Room, RoomId, SubscriptionId,
};
use roomkit_core::router::{
    ContentTranscoder, DefaultContentTranscoder, DefaultInboundRoomRouter, InboundRoomRouter,
    RouteRequest,
};
use roomkit_core::sync::{
    EphemeralHandler, InProcessLocks, InProcessRealtime, RealtimeBackend, RoomLock, RoomLockManager,
};
use roomkit_core::{Error, ErrorKind, IdentityResolver, Result, RoomContext};
use roomkit_testkit::MockIdentityResolver;

use crate::probe::{Injected, Moment, Part, Probe};
use crate::store::FaultyStore;
use crate::twist::Twist;

/// The code of what a part says when it fails.
pub(crate) const CODE: &str = "injected_fault";

impl From<Injected> for Error {
    fn from(fault: Injected) -> Self {
        Self::new(ErrorKind::Custom(CODE), fault.to_string())
    }
}

#[derive(Debug)]
pub(crate) struct FaultyLocks {
    pub(crate) locks: InProcessLocks,
    pub(crate) probe: Probe,
    pub(crate) twist: Twist,
}

#[async_trait]
impl RoomLockManager for FaultyLocks {
    async fn acquire(&self, room: &RoomId) -> Result<RoomLock> {
        self.probe
            .at(Part::Locks, "acquire", Moment::Before)
            .await?;
        let lock = self.locks.acquire(room).await?;
        let answered = self.probe.at(Part::Locks, "acquire", Moment::After).await;
        match answered {
            Ok(()) => Ok(lock),
            Err(fault) => {
                if self.twist == Twist::LockIsKept {
                    std::mem::forget(lock);
                }
                Err(fault.into())
            }
        }
    }
}

#[derive(Debug)]
pub(crate) struct FaultyRouter {
    pub(crate) router: DefaultInboundRoomRouter,
    pub(crate) probe: Probe,
}

#[async_trait]
impl InboundRoomRouter for FaultyRouter {
    async fn route(&self, request: &RouteRequest) -> Result<Option<RoomId>> {
        self.probe.at(Part::Router, "route", Moment::Before).await?;
        self.router.route(request).await
    }
}

#[derive(Debug)]
pub(crate) struct FaultyTranscoder(pub(crate) Probe);

#[async_trait]
impl ContentTranscoder for FaultyTranscoder {
    async fn transcode(
        &self,
        content: &EventContent,
        source: Option<&ChannelBinding>,
        target: &ChannelBinding,
    ) -> Result<Option<EventContent>> {
        let call = format!("transcode for {}", target.channel_id);
        self.0.at(Part::Transcoder, &call, Moment::Before).await?;
        DefaultContentTranscoder
            .transcode(content, source, target)
            .await
    }

    fn passes(&self, _content: &EventContent, _target: &ChannelCapabilities) -> bool {
        self.0.at_sync(Part::Transcoder, "passes");
        false
    }
}

/// The sender who is looked for among the identities that are stored.
pub(crate) const STORED: &str = "stan";

#[derive(Debug)]
pub(crate) struct FaultyResolver {
    pub(crate) resolver: MockIdentityResolver,
    pub(crate) stored: StoredIdentities,
    pub(crate) probe: Probe,
}

#[async_trait]
impl IdentityResolver for FaultyResolver {
    async fn resolve(
        &self,
        message: &InboundMessage,
        context: &RoomContext,
    ) -> Result<IdentityResult> {
        self.probe
            .at(Part::Identity, "resolve", Moment::Before)
            .await?;
        if message.sender_id == *STORED {
            return self.stored.resolve(message, context).await;
        }
        self.resolver.resolve(message, context).await
    }
}

#[derive(Debug)]
pub(crate) struct FaultyRealtime {
    pub(crate) realtime: InProcessRealtime,
    pub(crate) probe: Probe,
}

#[async_trait]
impl RealtimeBackend for FaultyRealtime {
    async fn publish(&self, event: EphemeralEvent) -> Result<()> {
        self.probe
            .at(Part::Realtime, "publish", Moment::Before)
            .await?;
        self.realtime.publish(event).await
    }

    async fn subscribe(&self, room: &RoomId, handler: EphemeralHandler) -> Result<SubscriptionId> {
        self.probe
            .at(Part::Realtime, "subscribe", Moment::Before)
            .await?;
        self.realtime.subscribe(room, handler).await
    }

    async fn unsubscribe(&self, subscription: &SubscriptionId) -> Result<bool> {
        self.probe
            .at(Part::Realtime, "unsubscribe", Moment::Before)
            .await?;
        self.realtime.unsubscribe(subscription).await
    }

    async fn close(&self) {
        self.probe.at_infallible(Part::Realtime, "close").await;
        self.realtime.close().await;
    }
}

/// Gives every room an observer of its own.
#[derive(Debug)]
pub(crate) struct FaultyRoomHooks(pub(crate) Probe);

#[async_trait]
impl RoomHooks for FaultyRoomHooks {
    async fn hooks_of(&self, _room: &Room) -> Result<Vec<Hook>> {
        self.0
            .at(Part::RoomHooks, "hooks_of", Moment::Before)
            .await?;
        let probe = self.0.clone();
        Ok(vec![Hook::observer(AfterBroadcast, "of the room", {
            move |_, _| {
                let probe = probe.clone();
                async move { observed(&probe, "room's after_broadcast").await }
            }
        })])
    }
}

pub(crate) async fn observed(
    probe: &Probe,
    point: &str,
) -> Result<(), roomkit_core::hook::BoxError> {
    probe.at(Part::Observer, point, Moment::Before).await?;
    Ok(())
}

/// The identity resolver's answers, by the sender's name.
pub(crate) fn resolver(probe: &Probe, store: &Arc<FaultyStore>) -> Arc<FaultyResolver> {
    use roomkit_core::model::{IdentificationStatus, Identity};
    let mut challenge = IdentityResult::new(IdentificationStatus::ChallengeSent);
    challenge.message = Some("Who are you?".to_owned());
    let resolver = MockIdentityResolver::new()
        .knows("iris", Identity::new("iris-1"))
        .answers(
            "amy",
            IdentityResult::ambiguous([Identity::new("amy-1"), Identity::new("amy-2")]),
        )
        .answers("chad", challenge);
    Arc::new(FaultyResolver {
        resolver,
        stored: StoredIdentities::new(store.clone()),
        probe: probe.clone(),
    })
}
