//! What an attached channel may do: detach, mute, access, visibility, and the binding's own data.
//!
//! Its rules: RFC §5.7 and §7.1 to §7.3.

use std::sync::Arc;

use super::Rooms;
use super::attach::{change_binding, under_lock};
use crate::error::{Error, Result};
use crate::model::{Access, ChannelBinding, ChannelId, EventType, Metadata, RoomId, Visibility};
use crate::store::{BindingChange, RoomCommit, RoomSnapshot};

impl Rooms {
    /// The channels attached to a room, in the order in which they were attached.
    ///
    /// # Errors
    /// [`RoomNotFound`](crate::ErrorKind::RoomNotFound).
    pub async fn bindings(&self, room: impl Into<RoomId>) -> Result<Arc<[Arc<ChannelBinding>]>> {
        Ok(self
            .inner()
            .visible_room(&self.scope, &room.into())
            .await?
            .bindings)
    }

    /// The binding of one channel.
    ///
    /// # Errors
    /// [`RoomNotFound`](crate::ErrorKind::RoomNotFound),
    /// [`ChannelNotFound`](crate::ErrorKind::ChannelNotFound).
    pub async fn binding(
        &self,
        room: impl Into<RoomId>,
        channel: impl Into<ChannelId>,
    ) -> Result<Arc<ChannelBinding>> {
        let (room, channel) = (room.into(), channel.into());
        binding_of(
            &self.inner().visible_room(&self.scope, &room).await?,
            &channel,
        )
    }

    /// Detaches a channel; a message never attaches it again. `false` when it was not attached.
    ///
    /// # Errors
    /// [`RoomNotFound`](crate::ErrorKind::RoomNotFound),
    /// [`RoomClosed`](crate::ErrorKind::RoomClosed).
    pub async fn detach_channel(
        &self,
        room: impl Into<RoomId>,
        channel: impl Into<ChannelId>,
    ) -> Result<bool> {
        let (room, channel) = (room.into(), channel.into());
        let event = (
            EventType::ChannelDetached,
            "channel_detached",
            Metadata::new(),
        );
        self.to_end(|inner, scope| async move {
            let detached = change_binding(&inner, &scope, &room, &channel, event, |snapshot| {
                binding_of(snapshot, &channel)?;
                Ok(BindingChange::Detach(channel.clone()))
            })
            .await;
            match detached {
                Err(error) if error.kind() == crate::ErrorKind::ChannelNotFound => {
                    return Ok(false);
                }
                detached => detached?,
            };
            inner.notify_channel(&channel, &room, false);
            Ok(true)
        })
        .await
    }

    /// Mutes a channel: it hears as before, but what it says is blocked (RFC §7.2). An agent's side
    /// effects are kept.
    ///
    /// # Errors
    /// [`RoomNotFound`](crate::ErrorKind::RoomNotFound),
    /// [`ChannelNotFound`](crate::ErrorKind::ChannelNotFound),
    /// [`RoomClosed`](crate::ErrorKind::RoomClosed).
    pub async fn mute(
        &self,
        room: impl Into<RoomId>,
        channel: impl Into<ChannelId>,
    ) -> Result<Arc<ChannelBinding>> {
        let event = (EventType::ChannelMuted, "channel_muted", Metadata::new());
        self.change(room.into(), channel.into(), event, |binding| {
            binding.muted = true
        })
        .await
    }

    /// Unmutes a channel.
    ///
    /// # Errors
    /// As [`mute`](Self::mute).
    pub async fn unmute(
        &self,
        room: impl Into<RoomId>,
        channel: impl Into<ChannelId>,
    ) -> Result<Arc<ChannelBinding>> {
        let event = (
            EventType::ChannelUnmuted,
            "channel_unmuted",
            Metadata::new(),
        );
        self.change(room.into(), channel.into(), event, |binding| {
            binding.muted = false
        })
        .await
    }

    /// Sets what a channel may do in a room.
    ///
    /// # Errors
    /// As [`mute`](Self::mute).
    pub async fn set_access(
        &self,
        room: impl Into<RoomId>,
        channel: impl Into<ChannelId>,
        access: Access,
    ) -> Result<Arc<ChannelBinding>> {
        let mut data = Metadata::new();
        data.insert("access", access.as_str());
        let event = (EventType::ChannelUpdated, "channel_access_changed", data);
        self.change(room.into(), channel.into(), event, move |binding| {
            binding.access = access
        })
        .await
    }

    /// Sets who may see what a channel says from now on.
    ///
    /// # Errors
    /// As [`mute`](Self::mute).
    pub async fn set_visibility(
        &self,
        room: impl Into<RoomId>,
        channel: impl Into<ChannelId>,
        visibility: impl Into<Visibility>,
    ) -> Result<Arc<ChannelBinding>> {
        let visibility = visibility.into();
        let mut data = Metadata::new();
        data.insert("visibility", visibility.as_str());
        let event = (
            EventType::ChannelUpdated,
            "channel_visibility_changed",
            data,
        );
        self.change(room.into(), channel.into(), event, move |binding| {
            binding.visibility = visibility.clone();
        })
        .await
    }

    /// Mutes a channel's output alone: nothing is delivered to a transport, an agent's answers are
    /// blocked. Leaves no event in the timeline.
    ///
    /// # Errors
    /// [`RoomNotFound`](crate::ErrorKind::RoomNotFound),
    /// [`ChannelNotFound`](crate::ErrorKind::ChannelNotFound).
    pub async fn mute_output(
        &self,
        room: impl Into<RoomId>,
        channel: impl Into<ChannelId>,
    ) -> Result<Arc<ChannelBinding>> {
        self.change_quietly(room.into(), channel.into(), |binding| {
            binding.output_muted = true
        })
        .await
    }

    /// Unmutes a channel's output.
    ///
    /// # Errors
    /// As [`mute_output`](Self::mute_output).
    pub async fn unmute_output(
        &self,
        room: impl Into<RoomId>,
        channel: impl Into<ChannelId>,
    ) -> Result<Arc<ChannelBinding>> {
        self.change_quietly(room.into(), channel.into(), |binding| {
            binding.output_muted = false
        })
        .await
    }

    /// Sets entries of a binding's metadata; others stay. Leaves no event in the timeline.
    ///
    /// # Errors
    /// As [`mute_output`](Self::mute_output).
    pub async fn update_binding_metadata(
        &self,
        room: impl Into<RoomId>,
        channel: impl Into<ChannelId>,
        metadata: Metadata,
    ) -> Result<Arc<ChannelBinding>> {
        self.change_quietly(room.into(), channel.into(), move |binding| {
            binding.metadata.merge(&metadata);
        })
        .await
    }

    /// Changes a binding and commits the event that says so.
    async fn change(
        &self,
        room: RoomId,
        channel: ChannelId,
        event: (EventType, &'static str, Metadata),
        change: impl Fn(&mut ChannelBinding) + Send + Sync + 'static,
    ) -> Result<Arc<ChannelBinding>> {
        self.to_end(|inner, scope| async move {
            let change = |room: &RoomSnapshot| changed_binding(room, &channel, &change);
            let changed = change_binding(&inner, &scope, &room, &channel, event, change);
            binding_of(&changed.await?, &channel)
        })
        .await
    }

    /// Changes a binding without an event.
    async fn change_quietly(
        &self,
        room: RoomId,
        channel: ChannelId,
        change: impl Fn(&mut ChannelBinding) + Send + Sync + 'static,
    ) -> Result<Arc<ChannelBinding>> {
        self.to_end(|inner, scope| async move {
            let changed = under_lock(&inner, &scope, &room, |snapshot| {
                let now = inner.clock.now();
                let mut commit = RoomCommit::new(room.clone(), Some(snapshot.version), now);
                commit
                    .bindings
                    .push(changed_binding(snapshot, &channel, &change)?);
                Ok(Some(commit))
            });
            binding_of(&changed.await?, &channel)
        })
        .await
    }
}

fn binding_of(room: &RoomSnapshot, channel: &ChannelId) -> Result<Arc<ChannelBinding>> {
    let binding = room.binding(channel).cloned();
    binding.ok_or_else(|| Error::not_attached(channel, &room.room.id))
}

fn changed_binding(
    room: &RoomSnapshot,
    channel: &ChannelId,
    change: &impl Fn(&mut ChannelBinding),
) -> Result<BindingChange> {
    let mut binding = binding_of(room, channel)?;
    change(Arc::make_mut(&mut binding));
    Ok(BindingChange::Put(binding))
}
