//! Rooms and bindings.

use std::sync::Arc;

use async_trait::async_trait;
use roomkit_core::model::{
    ChannelBinding, ChannelId, ChannelType, OrganizationId, ParticipantId, Room, RoomId,
};
use roomkit_core::store::{BindingStore, Page, RoomFilter, RoomSnapshot, RoomStore};
use roomkit_core::{Error, Result};
use roomkit_store::from_json;
use sqlx::postgres::PgRow;

use crate::args::{Args, column, id, length, signed};
use crate::columns;
use crate::commit::room_args;
use crate::db::Repeat;
use crate::error::{Doing, Failure};
use crate::pool::Sql;
use crate::store::{Counters, Inner, PostgresStore, RoomState, stamp, tenant};

/// How many rooms are read at once where not every condition is the server's to check.
const PAGE: usize = 256;

#[async_trait]
impl RoomStore for PostgresStore {
    async fn create_room(&self, room: Room) -> Result<RoomSnapshot> {
        room.check_empty()?;
        let stamp = stamp();
        let args = self.0.new_room(&room, 0, &[], stamp)?;
        let doing = Doing::new("creating room", room.id.as_str());
        let made = self
            .0
            .db
            .try_rows(doing, &self.0.sql.create_room, args, Repeat::NotDone);
        made.await
            .map_err(|failure| exists_or(failure, &room, doing))?;
        // What is returned is what the next reader gets: times as the database keeps them.
        let state = RoomState {
            version: 0,
            counters: Counters::of_room(&room),
            data_stamp: stamp,
            data: Some(columns::room(&room)?),
            bindings_stamp: stamp,
            bindings: Some((Vec::new(), Vec::new())),
        };
        self.0.snapshot(&room.id, state, None)
    }

    async fn room(&self, room: &RoomId) -> Result<Option<RoomSnapshot>> {
        self.0.room(room).await
    }

    async fn list_rooms(&self, filter: &RoomFilter, page: Page) -> Result<Vec<Arc<Room>>> {
        self.0.list_rooms(filter, page).await
    }

    async fn delete_room(&self, room: &RoomId) -> Result<bool> {
        let doing = Doing::new("deleting room", room.as_str());
        let args = Args::new().id(room.as_str());
        let rows = self
            .0
            .db
            .write(doing, &self.0.sql.delete_room, args)
            .await?;
        self.0.cache.forget(room);
        rows.first().map_or(Ok(false), |row| column(row, 0))
    }

    async fn rooms_of_sender(
        &self,
        organization: Option<&OrganizationId>,
        channel_type: &ChannelType,
        sender: &ParticipantId,
        limit: usize,
    ) -> Result<Vec<RoomId>> {
        let doing = Doing::new("reading the rooms of sender", sender.as_str());
        let args = Args::new()
            .add(tenant(organization))
            .id(&channel_type.to_string())
            .id(sender.as_str())
            .add(length(limit));
        let rows = self
            .0
            .db
            .read(doing, &self.0.sql.rooms_of_sender, args)
            .await?;
        rows.iter().map(|row| id(row, 0)).collect()
    }

    async fn rooms_of_channel(
        &self,
        organization: Option<&OrganizationId>,
        channel: &ChannelId,
        limit: usize,
    ) -> Result<Vec<RoomId>> {
        let doing = Doing::new("reading the rooms of channel", channel.as_str());
        let args = Args::new()
            .add(tenant(organization))
            .id(channel.as_str())
            .add(length(limit));
        let rows = self
            .0
            .db
            .read(doing, &self.0.sql.rooms_of_channel, args)
            .await?;
        rows.iter().map(|row| id(row, 0)).collect()
    }
}

#[async_trait]
impl BindingStore for PostgresStore {
    async fn bindings(&self, room: &RoomId) -> Result<Vec<Arc<ChannelBinding>>> {
        let doing = Doing::new("reading the bindings of room", room.as_str());
        let args = Args::new().id(room.as_str());
        let rows = self.0.db.read(doing, &self.0.sql.bindings, args).await?;
        rows.iter().map(|row| binding(room, row)).collect()
    }

    async fn binding(
        &self,
        room: &RoomId,
        channel: &ChannelId,
    ) -> Result<Option<Arc<ChannelBinding>>> {
        let doing = Doing::new("reading a binding of room", room.as_str());
        let args = Args::new().id(room.as_str()).id(channel.as_str());
        let rows = self.0.db.read(doing, &self.0.sql.binding, args).await?;
        rows.first().map(|row| binding(room, row)).transpose()
    }
}

fn binding(room: &RoomId, row: &PgRow) -> Result<Arc<ChannelBinding>> {
    from_json("binding in room", room.as_str(), column(row, 0)?).map(Arc::new)
}

/// The error of a room that could not be made.
pub(crate) fn exists_or(failure: Failure, room: &Room, doing: Doing<'_>) -> Error {
    match failure.violated() {
        Some(_) => Error::room_already_exists(&room.id),
        None => failure.into_error(doing),
    }
}

impl Counters {
    pub(crate) fn of_room(room: &Room) -> Self {
        Self {
            latest_index: room.latest_index,
            event_count: room.event_count,
            updated_us: room.updated_at.timestamp_micros(),
            activity_us: room.timers.last_activity_at.map(|at| at.timestamp_micros()),
        }
    }
}

impl Inner {
    pub(crate) async fn room(&self, room: &RoomId) -> Result<Option<RoomSnapshot>> {
        let doing = Doing::new("reading room", room.as_str());
        let known = self.cache.get(room);
        let args = room_args(room, known.as_ref());
        let rows = self.db.read(doing, &self.sql.room, args).await?;
        let Some(row) = rows.first() else {
            self.cache.forget(room);
            return Ok(None);
        };
        self.snapshot(room, RoomState::read(row, 0)?, known.as_ref())
            .map(Some)
    }

    /// The arguments of a new room.
    pub(crate) fn new_room(
        &self,
        room: &Room,
        version: u64,
        detached: &[&str],
        stamp: i64,
    ) -> Result<Args> {
        let counters = Counters::of_room(room);
        Ok(Args::new()
            .id(room.id.as_str())
            .add(tenant(room.organization_id.as_ref()))
            .add(room.status.accepts_events())
            .add(signed(version))
            .add(counters.latest_index.map(signed))
            .add(signed(counters.event_count))
            .add(counters.updated_us)
            .add(counters.activity_us)
            .add(stamp)
            .add(room.status.as_str())
            .add(room.created_at.timestamp_micros())
            .ids(detached.iter().copied())
            .add(columns::room(room)?))
    }

    async fn list_rooms(&self, filter: &RoomFilter, page: Page) -> Result<Vec<Arc<Room>>> {
        if filter.metadata.is_empty() {
            let rows = self
                .page_of_rooms(filter, None, page.offset, page.limit)
                .await?;
            return rows.iter().map(|row| listed(row).map(Arc::new)).collect();
        }
        let mut found = Vec::new();
        let mut skipped = 0;
        let mut after: Option<(i64, String)> = None;
        while found.len() < page.limit {
            let rows = self.page_of_rooms(filter, after.take(), 0, PAGE).await?;
            for row in &rows {
                let room = listed(row)?;
                if !filter.matches(&room) {
                    continue;
                }
                if skipped < page.offset {
                    skipped += 1;
                } else if found.len() < page.limit {
                    found.push(Arc::new(room));
                }
            }
            match rows.last() {
                Some(row) if rows.len() == PAGE => {
                    after = Some((column(row, 5)?, column(row, 6)?));
                }
                _ => break,
            }
        }
        Ok(found)
    }

    async fn page_of_rooms(
        &self,
        filter: &RoomFilter,
        after: Option<(i64, String)>,
        offset: usize,
        limit: usize,
    ) -> Result<Vec<PgRow>> {
        let mut text = "SELECT r.data, h.latest_index, h.event_count, h.updated_us, h.activity_us,
                r.created_us, r.room_id
            FROM {s}.rooms AS r JOIN {s}.event_sequences AS h ON h.room_id = r.room_id
            WHERE true"
            .to_owned();
        let mut args = Args::new();
        let mut next = 1..;
        let mut place = || next.next().unwrap_or_default();
        if let Some(id) = &filter.organization_id {
            text += &format!(" AND r.tenant = ${}", place());
            args = args.add(tenant(Some(id)));
        }
        if !filter.statuses.is_empty() {
            text += &format!(" AND r.status = ANY (${})", place());
            let statuses: Vec<&str> = filter.statuses.iter().map(|s| s.as_str()).collect();
            args = args.add(statuses);
        }
        if let Some((created, room)) = after {
            text += &format!(
                " AND (r.created_us, r.room_id) > (${}, ${})",
                place(),
                place()
            );
            args = args.add(created).add(room);
        }
        text += &format!(
            " ORDER BY r.created_us, r.room_id OFFSET ${} LIMIT ${}",
            place(),
            place()
        );
        args = args.add(length(offset)).add(length(limit));
        let sql: Sql = self.schema.sql(&text);
        self.db
            .read(Doing::new("listing rooms", ""), &sql, args)
            .await
    }
}

fn listed(row: &PgRow) -> Result<Room> {
    let room: Room = from_json("a room", "", column(row, 0)?)?;
    Counters::read(row, 1)?.of(&room)
}
