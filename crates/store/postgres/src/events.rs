//! Events: how a query becomes a statement, and what else is read of a timeline.

use std::sync::Arc;

use async_trait::async_trait;
use chrono::{DateTime, Utc};
use roomkit_core::Result;
use roomkit_core::model::{EventFilter, EventId, RoomEvent, RoomId, ThreadSummary};
use roomkit_core::store::{EventQuery, EventSearch, EventStore, Expiry, IdempotentOutcome};
use roomkit_store::from_json;

use crate::args::{Args, column, length, signed, unsigned};
use crate::error::Doing;
use crate::store::{Inner, PostgresStore, time};

/// How many events are read at once where not every condition is the server's to check.
const PAGE: usize = 256;

#[async_trait]
impl EventStore for PostgresStore {
    async fn event(&self, room: &RoomId, event: &EventId) -> Result<Option<Arc<RoomEvent>>> {
        let doing = Doing::new("reading event", event.as_str());
        let args = Args::new().id(room.as_str()).id(event.as_str());
        let rows = self.0.db.read(doing, &self.0.sql.event, args).await?;
        let event = rows.first().map(|row| self.0.event(row, event.as_str(), 1));
        Ok(event.transpose()?.map(Arc::new))
    }

    async fn events(&self, room: &RoomId, query: &EventQuery) -> Result<Vec<Arc<RoomEvent>>> {
        self.0.select(room, query).await
    }

    async fn event_versions(&self, room: &RoomId, event: &EventId) -> Result<Vec<Arc<RoomEvent>>> {
        let doing = Doing::new("reading the versions of event", event.as_str());
        let args = Args::new().id(room.as_str()).id(event.as_str());
        let rows = self
            .0
            .db
            .read(doing, &self.0.sql.event_versions, args)
            .await?;
        let versions = rows.iter().map(|row| self.0.event(row, event.as_str(), 1));
        versions.map(|event| event.map(Arc::new)).collect()
    }

    async fn idempotent_outcome(
        &self,
        room: &RoomId,
        key: &str,
    ) -> Result<Option<IdempotentOutcome>> {
        let doing = Doing::new("reading an outcome of room", room.as_str());
        let args = Args::new().id(room.as_str()).id(key);
        let rows = self.0.db.read(doing, &self.0.sql.outcome, args).await?;
        let outcome = rows.first().map(|row| {
            let json = column(row, 0)?;
            from_json("an outcome in room", room.as_str(), json)
        });
        outcome.transpose()
    }

    async fn search_events(&self, search: &EventSearch) -> Result<Vec<Arc<RoomEvent>>> {
        self.0.search(search).await
    }

    async fn delete_events(&self, room: &RoomId, events: &[EventId]) -> Result<u64> {
        if events.is_empty() {
            return Ok(0);
        }
        let doing = Doing::new("deleting events of room", room.as_str());
        let ids = events.iter().map(|event| event.as_str());
        let args = Args::new().id(room.as_str()).ids(ids);
        let rows = self
            .0
            .db
            .write(doing, &self.0.sql.delete_events, args)
            .await?;
        rows.first()
            .map_or(Ok(0), |row| column(row, 0).map(unsigned))
    }

    async fn expire_events(&self, expiry: &Expiry, limit: usize) -> Result<u64> {
        self.0.expire(expiry, limit).await
    }

    async fn thread_summaries(
        &self,
        room: &RoomId,
        roots: &[EventId],
    ) -> Result<Vec<ThreadSummary>> {
        if roots.is_empty() {
            return Ok(Vec::new());
        }
        let doing = Doing::new("reading the threads of room", room.as_str());
        let args = Args::new().id(room.as_str());
        let args = args.ids(roots.iter().map(|root| root.as_str()));
        let rows = self.0.db.read(doing, &self.0.sql.threads, args).await?;
        let summary = |(root, row): (&EventId, _)| {
            let mut summary = ThreadSummary::new(root.clone());
            summary.reply_count = unsigned(column(row, 0)?);
            summary.last_reply_at = column::<Option<i64>>(row, 1)?.map(time).transpose()?;
            Ok(summary)
        };
        roots.iter().zip(&rows).map(summary).collect()
    }
}

impl Inner {
    async fn select(&self, room: &RoomId, query: &EventQuery) -> Result<Vec<Arc<RoomEvent>>> {
        // Nothing comes after the greatest index, which the database cannot hold.
        if query.limit == 0
            || query
                .after
                .is_some_and(|after| i64::try_from(after).is_err())
        {
            return Ok(Vec::new());
        }
        let mut found = if query.filter.as_deref().is_none_or(server_knows) {
            let rows = self.page(
                room,
                query,
                query.after,
                query.before,
                query.offset,
                query.limit,
            );
            rows.await?
        } else {
            self.filtered(room, query).await?
        };
        if query.from_end {
            found.reverse();
        }
        Ok(found)
    }

    /// Events of which the server cannot check every condition, from one end to the other.
    async fn filtered(&self, room: &RoomId, query: &EventQuery) -> Result<Vec<Arc<RoomEvent>>> {
        let (mut after, mut before) = (query.after, query.before);
        let mut skipped = 0;
        let mut found = Vec::new();
        loop {
            let page = self.page(room, query, after, before, 0, PAGE).await?;
            let is_last = page.len() < PAGE;
            if query.from_end {
                before = page.last().map(|event| event.index);
            } else {
                after = page.last().map(|event| event.index);
            }
            for event in page.into_iter().filter(|event| query.matches(event)) {
                if skipped < query.offset {
                    skipped += 1;
                    continue;
                }
                found.push(event);
                if found.len() == query.limit {
                    return Ok(found);
                }
            }
            if is_last {
                return Ok(found);
            }
        }
    }

    /// The events that meet what the server checks, in the order in which they are taken.
    async fn page(
        &self,
        room: &RoomId,
        query: &EventQuery,
        after: Option<u64>,
        before: Option<u64>,
        offset: usize,
        limit: usize,
    ) -> Result<Vec<Arc<RoomEvent>>> {
        let mut select = Select::new(room);
        if let Some(after) = after {
            select.and("index >", signed(after));
        }
        if let Some(before) = before {
            select.and("index <", signed(before));
        }
        if let Some(filter) = &query.filter {
            select.filter(filter);
        }
        let order = if query.from_end { "DESC" } else { "ASC" };
        let (text, args) = select.finish(order, offset, limit);
        let doing = Doing::new("reading events of room", room.as_str());
        let rows = self.db.read(doing, &self.schema.sql(&text), args).await?;
        self.events(&rows)
    }
}

/// Whether the server checks every condition of a filter.
fn server_knows(filter: &EventFilter) -> bool {
    filter.visibility.is_none()
        && filter.source_channel_type.is_none()
        && filter.correlation_id.is_none()
}

/// A statement in the making.
struct Select {
    text: String,
    args: Args,
    places: usize,
}

impl Select {
    fn new(room: &RoomId) -> Self {
        Self {
            text: "SELECT id, data, payload FROM {s}.events WHERE room_id = $1".to_owned(),
            args: Args::new().id(room.as_str()),
            places: 1,
        }
    }

    fn condition(&mut self, before: &str, after: &str, add: impl FnOnce(Args) -> Args) {
        self.places += 1;
        self.text += &format!(" AND {before} ${}{after}", self.places);
        self.args = add(std::mem::take(&mut self.args));
    }

    fn and(&mut self, condition: &str, number: i64) {
        self.condition(condition, "", |args| args.add(number));
    }

    fn equals(&mut self, column: &str, id: Option<&str>) {
        if let Some(id) = id {
            self.condition(&format!("{column} ="), "", |args| args.id(id));
        }
    }

    fn filter(&mut self, filter: &EventFilter) {
        if let Some(types) = &filter.event_types {
            let types: Vec<&str> = types.iter().map(|kind| kind.as_str()).collect();
            self.condition("type = ANY (", ")", |args| args.add(types));
        }
        if let Some(types) = &filter.exclude_types {
            let types: Vec<&str> = types.iter().map(|kind| kind.as_str()).collect();
            self.condition("type <> ALL (", ")", |args| args.add(types));
        }
        let channel = filter.source_channel_id.as_ref();
        self.equals("channel_id", channel.map(AsRef::as_ref));
        let participant = filter.participant_id.as_ref();
        self.equals("participant_id", participant.map(AsRef::as_ref));
        let parent = filter.parent_event_id.as_ref();
        self.equals("parent_event_id", parent.map(AsRef::as_ref));
        if filter.top_level_only {
            self.text += " AND parent_event_id IS NULL";
        }
        if let Some(after) = filter.after_time {
            self.and("created_us >", after.timestamp_micros());
        }
        if let Some(before) = filter.before_time {
            self.and("created_us <", micros_up(before));
        }
    }

    fn finish(self, order: &str, offset: usize, limit: usize) -> (String, Args) {
        let (offset_at, limit_at) = (self.places + 1, self.places + 2);
        let text = format!(
            "{} ORDER BY index {order} OFFSET ${offset_at} LIMIT ${limit_at}",
            self.text
        );
        (text, self.args.add(length(offset)).add(length(limit)))
    }
}

/// The first microsecond that is not before `time`.
pub(crate) fn micros_up(time: DateTime<Utc>) -> i64 {
    let micros = time.timestamp_micros();
    let rest = time.timestamp_subsec_nanos() % 1_000;
    micros.saturating_add(i64::from(rest > 0))
}
