//! Attaching channels to rooms, and the locked commit that every change of a room goes through.
//!
//! Its rules: RFC §5.7; that of a commit §14.3.

use std::future::{Future, IntoFuture, ready};
use std::pin::pin;
use std::sync::Arc;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;

use super::{Inner, Rooms};
use crate::clock;
use crate::error::{Error, ErrorKind, Result};
use crate::model::{
    Access, ChannelBinding, ChannelCategory, ChannelId, EventType, Metadata, ParticipantId,
    RateLimit, RetryPolicy, RoomEvent, RoomId, Visibility,
};
use crate::pipeline::{Scope, announce_lifecycle, lifecycle_event};
use crate::store::{BindingChange, RoomCommit, RoomSnapshot};
use crate::sync::RoomLock;
use crate::sync::inside::Inside;

/// How often a change starts over because another process changed the room in between.
const MOST_CONFLICTS: usize = 32;

/// Attaches a channel to a room; await it to do so.
#[derive(Debug)]
#[must_use = "nothing is attached until this is awaited"]
pub struct AttachChannel {
    rooms: Rooms,
    room_id: RoomId,
    channel_id: ChannelId,
    category: Option<ChannelCategory>,
    access: Access,
    visibility: Visibility,
    participant_id: Option<ParticipantId>,
    rate_limit: Option<RateLimit>,
    retry_policy: Option<RetryPolicy>,
    metadata: Metadata,
}

impl Rooms {
    /// Attaches a registered channel to a room, or replaces its binding there.
    ///
    /// ```
    /// # use roomkit_core::{RoomKit, model::{Access, RetryPolicy}};
    /// # async fn attach(kit: RoomKit) -> roomkit_core::Result<()> {
    /// kit.attach_channel("support", "sms-main")
    ///     .access(Access::ReadWrite)
    ///     .retry_policy(RetryPolicy::default())
    ///     .await?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// - [`RoomNotFound`](ErrorKind::RoomNotFound), [`RoomClosed`](ErrorKind::RoomClosed).
    /// - [`ChannelNotRegistered`](ErrorKind::ChannelNotRegistered).
    /// - [`InvalidInput`](ErrorKind::InvalidInput): a policy or limit is not acceptable.
    pub fn attach_channel(
        &self,
        room: impl Into<RoomId>,
        channel: impl Into<ChannelId>,
    ) -> AttachChannel {
        AttachChannel {
            rooms: self.clone(),
            room_id: room.into(),
            channel_id: channel.into(),
            category: None,
            access: Access::ReadWrite,
            visibility: Visibility::All,
            participant_id: None,
            rate_limit: None,
            retry_policy: None,
            metadata: Metadata::new(),
        }
    }
}

impl AttachChannel {
    /// Whether it carries messages or answers them here. Default: what the channel says.
    pub fn category(mut self, category: ChannelCategory) -> Self {
        self.category = Some(category);
        self
    }

    /// What it may do here. Default: read and write.
    pub fn access(mut self, access: Access) -> Self {
        self.access = access;
        self
    }

    /// Who may see what it says here. Default: all.
    pub fn visibility(mut self, visibility: impl Into<Visibility>) -> Self {
        self.visibility = visibility.into();
        self
    }

    /// The participant it belongs to. Default: none.
    pub fn participant(mut self, participant: impl Into<ParticipantId>) -> Self {
        self.participant_id = Some(participant.into());
        self
    }

    /// How fast it may be delivered to. Default: without limit.
    pub fn rate_limit(mut self, limit: RateLimit) -> Self {
        self.rate_limit = Some(limit);
        self
    }

    /// How failed deliveries are tried again. Default: not at all.
    pub fn retry_policy(mut self, policy: RetryPolicy) -> Self {
        self.retry_policy = Some(policy);
        self
    }

    /// Data of this binding (RFC §5.9). Default: none.
    pub fn metadata(mut self, metadata: Metadata) -> Self {
        self.metadata = metadata;
        self
    }

    async fn attach(self) -> Result<Arc<ChannelBinding>> {
        let Self {
            rooms,
            room_id,
            channel_id,
            category,
            access,
            visibility,
            participant_id,
            rate_limit,
            retry_policy,
            metadata,
        } = self;
        rooms
            .to_end(|inner, scope| async move {
                inner.closing.check()?;
                inner.visible_room(&scope, &room_id).await?;
                let mut binding = default_binding(&inner, &room_id, &channel_id)?;
                binding.category = category.unwrap_or(binding.category);
                binding.access = access;
                binding.visibility = visibility;
                binding.participant_id = participant_id;
                binding.rate_limit = rate_limit;
                binding.retry_policy = retry_policy;
                binding.metadata = metadata;
                binding.validate()?;
                put(&inner, &scope, Arc::new(binding)).await
            })
            .await
    }
}

/// Attaches a channel, or replaces its binding, and tells of it.
async fn put(
    inner: &Arc<Inner>,
    scope: &Scope,
    binding: Arc<ChannelBinding>,
) -> Result<Arc<ChannelBinding>> {
    let (room, channel) = (&binding.room_id, &binding.channel_id);
    let event = (
        EventType::ChannelAttached,
        "channel_attached",
        Metadata::new(),
    );
    change_binding(inner, scope, room, channel, event, |_| {
        Ok(BindingChange::Put(Arc::clone(&binding)))
    })
    .await?;
    inner.notify_channel(channel, room, true);
    Ok(binding)
}

impl IntoFuture for AttachChannel {
    type Output = Result<Arc<ChannelBinding>>;
    type IntoFuture = BoxFuture<'static, Self::Output>;

    fn into_future(self) -> Self::IntoFuture {
        self.attach().boxed()
    }
}

/// The binding of a registered channel with default permissions.
pub(crate) fn default_binding(
    inner: &Inner,
    room: &RoomId,
    channel: &ChannelId,
) -> Result<ChannelBinding> {
    let registered = inner.channel(channel).ok_or_else(|| {
        Error::new(
            ErrorKind::ChannelNotRegistered,
            format!("no channel {channel} is registered"),
        )
    })?;
    let (channel_type, category) = (registered.channel_type(), registered.category());
    let now = inner.clock.now();
    let mut binding =
        ChannelBinding::new(channel.clone(), room.clone(), channel_type, category, now);
    binding.direction = registered.direction();
    binding.capabilities = Arc::new(registered.capabilities());
    Ok(binding)
}

/// Commits an attachment to a room whose lock the caller holds, in the caller's time.
pub(crate) async fn commit(
    inner: &Arc<Inner>,
    room: &RoomSnapshot,
    binding: ChannelBinding,
) -> Result<RoomSnapshot> {
    let channel = binding.channel_id.clone();
    let (commit, event) = attachment(inner, room, binding);
    let receipt = inner.store.commit(commit.into()).await?;
    let room = receipt.into_first();
    Inside::under_lock(inner.id, &room.room.id)
        .scope(inner.load_hooks(&room.room))
        .await;
    announce_lifecycle(inner, &room, &event);
    inner.notify_channel(&channel, &room.room.id, true);
    Ok(room)
}

/// Attaches a channel that is not attached, unless it was detached before, so that it can be told
/// something though its message is not taken.
pub(crate) async fn commit_if_new(
    inner: &Arc<Inner>,
    scope: &Scope,
    room: &RoomId,
    channel: &ChannelId,
) -> Result<()> {
    let mut attached = None;
    let snapshot = under_lock(inner, scope, room, |snapshot| {
        let is_new = snapshot.binding(channel).is_none() && !snapshot.detached.contains(channel);
        if !is_new || !snapshot.room.status.accepts_events() {
            return Ok(None);
        }
        let binding = default_binding(inner, room, channel)?;
        let (commit, event) = attachment(inner, snapshot, binding);
        attached = Some(event);
        Ok(Some(commit))
    })
    .await?;
    if let Some(event) = attached {
        inner.load_hooks(&snapshot.room).await;
        announce_lifecycle(inner, &snapshot, &event);
        inner.notify_channel(channel, room, true);
    }
    Ok(())
}

/// An attachment with its event.
fn attachment(
    inner: &Inner,
    room: &RoomSnapshot,
    binding: ChannelBinding,
) -> (RoomCommit, Arc<RoomEvent>) {
    let event = lifecycle_event(
        &room.room.id,
        &binding.channel_id,
        EventType::ChannelAttached,
        "channel_attached",
        Metadata::new(),
        inner.clock.now(),
    );
    binding_commit(inner, room, event, BindingChange::Put(Arc::new(binding)))
}

/// A change of a binding with its event, which gets the room's next index.
fn binding_commit(
    inner: &Inner,
    room: &RoomSnapshot,
    event: Arc<RoomEvent>,
    change: BindingChange,
) -> (RoomCommit, Arc<RoomEvent>) {
    let mut event = Arc::unwrap_or_clone(event);
    let is_kept = inner.keeps(event.event_type);
    if is_kept {
        event.index = room.room.next_index();
    }
    let event = Arc::new(event);
    let mut commit = RoomCommit::new(room.room.id.clone(), Some(room.version), inner.clock.now());
    commit.event = is_kept.then(|| Arc::clone(&event));
    commit.bindings.push(change);
    (commit, event)
}

/// Changes a binding under the room's lock and commits the event that says so.
pub(super) async fn change_binding(
    inner: &Arc<Inner>,
    scope: &Scope,
    room: &RoomId,
    channel: &ChannelId,
    (event_type, code, data): (EventType, &str, Metadata),
    mut change: impl FnMut(&RoomSnapshot) -> Result<BindingChange>,
) -> Result<RoomSnapshot> {
    let event = lifecycle_event(room, channel, event_type, code, data, inner.clock.now());
    let mut committed = None;
    let snapshot = under_lock(inner, scope, room, |snapshot| {
        if !snapshot.room.status.accepts_events() {
            return Err(Error::room_closed(room));
        }
        let change = change(snapshot)?;
        let (commit, event) = binding_commit(inner, snapshot, Arc::clone(&event), change);
        committed = Some(event);
        Ok(Some(commit))
    })
    .await?;
    if let Some(event) = committed {
        inner.load_hooks(&snapshot.room).await;
        announce_lifecycle(inner, &snapshot, &event);
    }
    Ok(snapshot)
}

/// Takes the room's lock and commits what `decide` says about the room as it then is; again where
/// another process was faster. `None` commits nothing.
pub(super) async fn under_lock(
    inner: &Arc<Inner>,
    scope: &Scope,
    room: &RoomId,
    mut decide: impl FnMut(&RoomSnapshot) -> Result<Option<RoomCommit>>,
) -> Result<RoomSnapshot> {
    let nothing = || ready(Ok(()));
    let decide = |snapshot: &RoomSnapshot, ()| Ok(((), decide(snapshot)?));
    let (snapshot, ()) = under_lock_reading(inner, scope, room, nothing, decide).await?;
    Ok(snapshot)
}

/// As [`under_lock`], for what is decided on more than the room: `read` says what that is. What
/// `decide` says beside the commit comes back with the room.
pub(crate) async fn under_lock_reading<R, T, Fut>(
    inner: &Arc<Inner>,
    scope: &Scope,
    room: &RoomId,
    read: impl Fn() -> Fut,
    mut decide: impl FnMut(&RoomSnapshot, R) -> Result<(T, Option<RoomCommit>)>,
) -> Result<(RoomSnapshot, T)>
where
    Fut: Future<Output = Result<R>>,
{
    let lock = lock_room(inner, room).await?;
    for _ in 0..MOST_CONFLICTS {
        let snapshot = inner.visible_room(scope, room).await?;
        let (said, commit) = decide(&snapshot, read().await?)?;
        let Some(mut commit) = commit else {
            return Ok((snapshot, said));
        };
        commit.fencing = lock.token();
        match inner.commit(commit).await {
            Err(error) if error.kind() == ErrorKind::VersionConflict => {}
            committed => return Ok((committed?, said)),
        }
    }
    Err(Error::new(
        ErrorKind::VersionConflict,
        format!("room {room} changed {MOST_CONFLICTS} times while it was to be changed"),
    ))
}

/// Takes the room's lock, within the time that an event has to get ready.
pub(crate) async fn lock_room(inner: &Inner, room: &RoomId) -> Result<RoomLock> {
    Inside::check(inner.id, room)?;
    let limit = inner.settings.process_timeout;
    let lock = clock::timeout(&*inner.clock, limit, pin!(inner.locks.acquire(room))).await;
    lock.map_err(|clock::Elapsed| {
        Error::new(
            ErrorKind::LockTimeout,
            format!("room {room} was locked for too long"),
        )
    })?
}
