//! Rooms: create, read, change, delete.
//!
//! Its rules: RFC §5.1 and §14.1.

use std::sync::Arc;

use super::{Inner, Rooms};
use crate::error::{Error, ErrorKind, Result};
use crate::model::{AgentResponsePolicy, Metadata, OrganizationId, Room, RoomId, RoomTimers};
use crate::pipeline::{self, Scope};
use crate::store::{Page, RoomCommit, RoomFilter, RoomSnapshot, RoomUpdate};

/// What a new room is to be.
#[derive(Debug, Clone, Default, PartialEq)]
#[must_use]
pub struct RoomOptions {
    id: Option<RoomId>,
    organization_id: Option<OrganizationId>,
    metadata: Metadata,
    timers: RoomTimers,
    agent_response_policy: Option<AgentResponsePolicy>,
}

impl RoomOptions {
    /// A room with an id of its own making.
    pub fn new() -> Self {
        Self::default()
    }

    /// The room's id. Default: a UUID.
    pub fn id(mut self, id: impl Into<RoomId>) -> Self {
        self.id = Some(id.into());
        self
    }

    /// The organisation it belongs to. Default: that of the handle it is created through.
    pub fn organization(mut self, organization: impl Into<OrganizationId>) -> Self {
        self.organization_id = Some(organization.into());
        self
    }

    /// Data of the application.
    pub fn metadata(mut self, metadata: Metadata) -> Self {
        self.metadata = metadata;
        self
    }

    /// When it pauses and closes by itself. Default: never.
    pub fn timers(mut self, timers: RoomTimers) -> Self {
        self.timers = timers;
        self
    }

    /// What an agent's output asks of other agents. Default: the kit's policy.
    pub fn agent_response_policy(mut self, policy: AgentResponsePolicy) -> Self {
        self.agent_response_policy = Some(policy);
        self
    }
}

impl From<&str> for RoomOptions {
    fn from(id: &str) -> Self {
        Self::new().id(id)
    }
}

impl From<String> for RoomOptions {
    fn from(id: String) -> Self {
        Self::new().id(id)
    }
}

impl From<RoomId> for RoomOptions {
    fn from(id: RoomId) -> Self {
        Self::new().id(id)
    }
}

impl Rooms {
    /// Creates a room.
    ///
    /// # Errors
    /// - [`RoomAlreadyExists`](ErrorKind::RoomAlreadyExists): the id is in use, in whatever organisation.
    /// - [`InvalidInput`](ErrorKind::InvalidInput): the id is empty, a timer is 0, or the organisation is
    ///   not the handle's.
    /// - [`KitClosed`](ErrorKind::KitClosed): the kit is closing.
    pub async fn create_room(&self, options: impl Into<RoomOptions>) -> Result<Arc<Room>> {
        let inner = self.inner();
        let options = options.into();
        let mut room = Room::new(
            options.id.unwrap_or_else(RoomId::generate),
            inner.clock.now(),
        );
        pipeline::check_id(&room.id)?;
        room.organization_id = options.organization_id.or_else(|| self.scope.0.clone());
        if !self.scope.admits(&room) {
            return Err(Error::new(
                ErrorKind::InvalidInput,
                "organization_id: is not the organisation of this handle",
            ));
        }
        room.metadata = options.metadata;
        room.timers = options.timers;
        room.agent_response_policy = options
            .agent_response_policy
            .unwrap_or(inner.settings.agent_response_policy);
        room.timers
            .validate()
            .map_err(|problem| problem.within("timers"))?;
        self.to_end(|inner, _| async move {
            inner.closing.check()?;
            let created = inner.write(inner.store.create_room(room)).await?;
            pipeline::room_created(&inner, &created).await;
            inner.timers.note(&inner, &created.room);
            Ok(created.room)
        })
        .await
    }

    /// A room, at whatever status.
    ///
    /// # Errors
    /// [`RoomNotFound`](ErrorKind::RoomNotFound): there is none, or it is another organisation's.
    pub async fn room(&self, room: impl Into<RoomId>) -> Result<Arc<Room>> {
        Ok(self
            .inner()
            .visible_room(&self.scope, &room.into())
            .await?
            .room)
    }

    /// Rooms by creation time, the oldest first; with a scoped handle only those of its organisation.
    ///
    /// # Errors
    /// Where the store cannot be read.
    pub async fn list_rooms(&self, mut filter: RoomFilter, page: Page) -> Result<Vec<Arc<Room>>> {
        if let Some(organization) = &self.scope.0 {
            if filter
                .organization_id
                .as_ref()
                .is_some_and(|other| other != organization)
            {
                return Ok(Vec::new());
            }
            filter.organization_id = Some(organization.clone());
        }
        let inner = self.inner();
        inner.ask(inner.store.list_rooms(&filter, page)).await
    }

    /// Sets entries of a room's metadata; others stay. Allowed at every status.
    ///
    /// # Errors
    /// [`RoomNotFound`](ErrorKind::RoomNotFound).
    pub async fn update_room_metadata(
        &self,
        room: impl Into<RoomId>,
        metadata: Metadata,
    ) -> Result<Arc<Room>> {
        let update = RoomUpdate {
            merge_metadata: metadata,
            ..RoomUpdate::default()
        };
        Ok(self
            .update(room.into(), move |_| Ok(Some(update.clone())))
            .await?
            .room)
    }

    /// Sets what an agent's output asks of other agents, for events from now on (RFC §19.3.1).
    ///
    /// # Errors
    /// [`RoomNotFound`](ErrorKind::RoomNotFound).
    pub async fn set_agent_response_policy(
        &self,
        room: impl Into<RoomId>,
        policy: AgentResponsePolicy,
    ) -> Result<Arc<Room>> {
        let decide = move |room: &RoomSnapshot| {
            let changes = room.room.agent_response_policy != policy;
            Ok(changes.then(|| RoomUpdate {
                agent_response_policy: Some(policy),
                ..RoomUpdate::default()
            }))
        };
        Ok(self.update(room.into(), decide).await?.room)
    }

    /// Removes a room with its timeline and all that belongs to it; `false` when there was none.
    ///
    /// # Errors
    /// [`RoomNotFound`](ErrorKind::RoomNotFound): it is another organisation's.
    pub async fn delete_room(&self, room: impl Into<RoomId>) -> Result<bool> {
        let room = room.into();
        self.to_end(|inner, scope| async move {
            let _lock = super::attach::lock_room(&inner, &room).await?;
            if inner.read(inner.store.room(&room)).await?.is_none() {
                // As where an earlier call did not hear that it was deleted.
                inner.hooks.forget_room(&room);
                return Ok(false);
            }
            inner.visible_room(&scope, &room).await?;
            let deleted = inner.write(inner.store.delete_room(&room)).await?;
            inner.hooks.forget_room(&room);
            Ok(deleted)
        })
        .await
    }

    async fn update(
        &self,
        room: RoomId,
        decide: impl FnMut(&RoomSnapshot) -> Result<Option<RoomUpdate>> + Send + 'static,
    ) -> Result<RoomSnapshot> {
        self.to_end(|inner, scope| async move { update(&inner, &scope, room, decide).await })
            .await
    }
}

/// Changes a room under its lock; `decide` says how, or that there is nothing to change.
pub(super) async fn update(
    inner: &Arc<Inner>,
    scope: &Scope,
    room: RoomId,
    mut decide: impl FnMut(&RoomSnapshot) -> Result<Option<RoomUpdate>>,
) -> Result<RoomSnapshot> {
    super::attach::under_lock(inner, scope, &room, |snapshot| {
        let update = decide(snapshot)?;
        Ok(update.map(|update| {
            let mut commit =
                RoomCommit::new(room.clone(), Some(snapshot.version), inner.clock.now());
            commit.room = Some(Box::new(update));
            commit
        }))
    })
    .await
}
