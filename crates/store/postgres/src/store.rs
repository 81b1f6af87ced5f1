//! The store itself: opening, closing, and what its parts share.

use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;

use chrono::{DateTime, Utc};
use roomkit_core::model::{ChannelBinding, ChannelId, OrganizationId, Room, RoomEvent, RoomId};
use roomkit_core::store::RoomSnapshot;
use roomkit_core::{Error, ErrorKind, Result};
use roomkit_store::{PayloadKeys, event_of, from_json};
use sqlx::postgres::PgRow;
use tracing::info;

use crate::args::{column, unsigned};
use crate::cache::{Cache, Cached};
use crate::config::PostgresConfig;
use crate::db::Db;
use crate::migrations::{self, MIGRATIONS, Migration, Schema};
use crate::statements::Statements;
use crate::text;

/// Rooms in PostgreSQL, shared by any number of processes.
///
/// Cheap to clone: clones share the pool.
#[derive(Clone)]
pub struct PostgresStore(pub(crate) Arc<Inner>);

pub(crate) struct Inner {
    pub(crate) db: Db,
    pub(crate) schema: Schema,
    pub(crate) sql: Statements,
    pub(crate) cache: Cache,
    pub(crate) keys: Option<PayloadKeys>,
}

impl PostgresStore {
    /// Reaches the database and brings its schema up to date.
    ///
    /// # Errors
    /// - [`InvalidInput`](ErrorKind::InvalidInput): the configuration names the field.
    /// - [`StoreFailed`](ErrorKind::StoreFailed): the server cannot be reached (retryable), refuses, or
    ///   holds a newer schema or tables of another program.
    pub async fn open(config: PostgresConfig) -> Result<Self> {
        Self::open_with(config, MIGRATIONS).await
    }

    /// The same with other steps, for tests of how steps are taken.
    #[doc(hidden)]
    pub async fn open_with(config: PostgresConfig, steps: &[Migration]) -> Result<Self> {
        let schema = migrations::prepare(&config, steps).await?;
        let db = Db::new(&config).await?;
        info!(
            schema = schema.name,
            connections = config.max_connections,
            "opened"
        );
        Ok(Self(Arc::new(Inner {
            db,
            sql: Statements::new(&schema),
            schema,
            cache: Cache::default(),
            keys: config.payload_keys,
        })))
    }

    /// The schema that the tables are in.
    #[must_use]
    pub fn schema(&self) -> &str {
        &self.0.schema.name
    }
}

impl fmt::Debug for PostgresStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PostgresStore")
            .field("schema", &self.0.schema.name)
            .field("db", &self.0.db)
            .finish_non_exhaustive()
    }
}

impl Inner {
    /// The event of a row with its JSON and payload at these places.
    pub(crate) fn event(&self, row: &PgRow, id: &str, at: usize) -> Result<RoomEvent> {
        let json: &str = column(row, at)?;
        let payload: Option<&[u8]> = column(row, at + 1)?;
        event_of(id, json, payload, self.keys.as_ref())
    }

    /// The events of rows with id, JSON and payload.
    pub(crate) fn events(&self, rows: &[PgRow]) -> Result<Vec<Arc<RoomEvent>>> {
        let event = |row| self.event(row, column(row, 0)?, 1).map(Arc::new);
        rows.iter().map(event).collect()
    }

    /// The snapshot of a room from a row of its state, and what of it was kept here.
    pub(crate) fn snapshot(
        &self,
        id: &RoomId,
        state: RoomState,
        known: Option<&Cached>,
    ) -> Result<RoomSnapshot> {
        let stale = || {
            let problem = format!("room {id}: the database left out what is not known here");
            Error::new(ErrorKind::StoreFailed, problem)
        };
        let room = match state.data {
            Some(json) => Arc::new(from_json::<Room>("room", id.as_str(), &json)?),
            None => {
                let known = known.filter(|known| known.data_stamp == state.data_stamp);
                Arc::clone(&known.ok_or_else(stale)?.room)
            }
        };
        let (bindings, detached) = match state.bindings {
            Some((bindings, detached)) => {
                let binding = |json: String| {
                    from_json::<ChannelBinding>("binding in room", id.as_str(), &json)
                };
                let bindings = bindings.into_iter().map(|json| binding(json).map(Arc::new));
                let detached = detached
                    .iter()
                    .map(|id| ChannelId::from(&*text::restored(id)));
                let detached: BTreeSet<ChannelId> = detached.collect();
                (bindings.collect::<Result<_>>()?, Arc::new(detached))
            }
            None => {
                let known = known.filter(|known| known.bindings_stamp == state.bindings_stamp);
                let known = known.ok_or_else(stale)?;
                (Arc::clone(&known.bindings), Arc::clone(&known.detached))
            }
        };
        let cached = Cached {
            data_stamp: state.data_stamp,
            room,
            bindings_stamp: state.bindings_stamp,
            bindings,
            detached,
        };
        let changed = known.is_none_or(|known| {
            known.data_stamp != cached.data_stamp || known.bindings_stamp != cached.bindings_stamp
        });
        if changed {
            self.cache.put(id, cached.clone());
        }
        Ok(RoomSnapshot {
            room: Arc::new(state.counters.of(&cached.room)?),
            version: state.version,
            bindings: cached.bindings,
            detached: cached.detached,
        })
    }
}

/// What changes with every event.
pub(crate) struct Counters {
    pub(crate) latest_index: Option<u64>,
    pub(crate) event_count: u64,
    pub(crate) updated_us: i64,
    pub(crate) activity_us: Option<i64>,
}

impl Counters {
    /// From columns at these places: latest index, count, time of change, of activity.
    pub(crate) fn read(row: &PgRow, at: usize) -> Result<Self> {
        Ok(Self {
            latest_index: column::<Option<i64>>(row, at)?.map(unsigned),
            event_count: unsigned(column(row, at + 1)?),
            updated_us: column(row, at + 2)?,
            activity_us: column(row, at + 3)?,
        })
    }

    /// The room with these counters and times.
    pub(crate) fn of(&self, room: &Room) -> Result<Room> {
        let mut room = room.clone();
        room.latest_index = self.latest_index;
        room.event_count = self.event_count;
        room.updated_at = time(self.updated_us)?;
        room.timers.last_activity_at = self.activity_us.map(time).transpose()?;
        Ok(room)
    }
}

/// The state of a room, as a row gives it.
pub(crate) struct RoomState {
    pub(crate) version: u64,
    pub(crate) counters: Counters,
    pub(crate) data_stamp: i64,
    /// Where the stamp that was known is another.
    pub(crate) data: Option<String>,
    pub(crate) bindings_stamp: i64,
    /// The bindings and the detached channels, where the stamp that was known is another.
    pub(crate) bindings: Option<(Vec<String>, Vec<String>)>,
}

impl RoomState {
    /// From columns that begin at this place: version, counters, data with stamp, bindings with stamp
    /// and detached channels.
    pub(crate) fn read(row: &PgRow, at: usize) -> Result<Self> {
        let bindings: Option<Vec<String>> = column(row, at + 8)?;
        let detached: Option<Vec<String>> = column(row, at + 9)?;
        Ok(Self {
            version: unsigned(column(row, at)?),
            counters: Counters::read(row, at + 1)?,
            data_stamp: column(row, at + 5)?,
            data: column(row, at + 6)?,
            bindings_stamp: column(row, at + 7)?,
            bindings: bindings.zip(detached),
        })
    }
}

/// A time from microseconds since 1970.
pub(crate) fn time(micros: i64) -> Result<DateTime<Utc>> {
    DateTime::from_timestamp_micros(micros).ok_or_else(|| {
        let problem = "a time in the database is out of range";
        Error::new(ErrorKind::StoreFailed, problem)
    })
}

/// An organisation as a column.
pub(crate) fn tenant(organization: Option<&OrganizationId>) -> String {
    organization.map_or_else(String::new, |id| format!(":{}", text::stored(id.as_str())))
}

/// A number that no other change of a room has, so that what is kept of a room is never taken for
/// another's, not even for a later one's with the same id.
pub(crate) fn stamp() -> i64 {
    let (high, low) = uuid::Uuid::new_v4().as_u64_pair();
    i64::from_ne_bytes((high ^ low.rotate_left(32)).to_ne_bytes())
}
