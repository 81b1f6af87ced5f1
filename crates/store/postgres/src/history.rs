//! Search and retention: what reads or thins out many rooms at once.

use std::sync::Arc;

use roomkit_core::Result;
use roomkit_core::model::RoomEvent;
use roomkit_core::store::{EventSearch, Expiry, RetentionAction, RetentionScope};
use roomkit_store::EventRow;
use sqlx::postgres::PgRow;

use crate::args::{Args, column, length, unsigned};
use crate::error::Doing;
use crate::events::micros_up;
use crate::store::{Inner, tenant};

/// An event that has expired, in the order in which they go.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Expired {
    created_us: i64,
    /// As it is stored.
    room: String,
    index: i64,
    id: String,
}

impl Inner {
    pub(crate) async fn search(&self, search: &EventSearch) -> Result<Vec<Arc<RoomEvent>>> {
        let words: Vec<String> = search.words().into_iter().collect();
        if words.is_empty() {
            return Ok(Vec::new());
        }
        let mut text =
            "SELECT id, data, payload FROM {s}.events WHERE words @> $1 AND words IS NOT NULL"
                .to_owned();
        let mut args = Args::new().add(words);
        let mut places = 1;
        if let Some(room) = &search.room_id {
            places += 1;
            text += &format!(" AND room_id = ${places}");
            args = args.id(room.as_str());
        }
        if let Some(organization) = &search.organization_id {
            places += 1;
            text += &format!(" AND tenant = ${places}");
            args = args.add(tenant(Some(organization)));
        }
        text += &format!(
            " ORDER BY created_us DESC, room_id, index OFFSET ${} LIMIT ${}",
            places + 1,
            places + 2
        );
        let args = args.add(length(search.offset)).add(length(search.limit));
        let doing = Doing::new("searching events", "");
        let rows = self.db.read(doing, &self.schema.sql(&text), args).await?;
        self.events(&rows)
    }

    pub(crate) async fn expire(&self, expiry: &Expiry, limit: usize) -> Result<u64> {
        let doing = Doing::new("applying retention", "");
        let tenants: Vec<String> = match &expiry.rooms {
            RetentionScope::Organization(id) => vec![tenant(Some(id))],
            RetentionScope::AllBut(ids) => {
                let ids: Vec<String> = ids.iter().map(|id| tenant(Some(id))).collect();
                let args = Args::new().add(ids);
                let rows = self.db.read(doing, &self.sql.tenants_but, args).await?;
                let tenant = |row: &PgRow| column(row, 0);
                rows.iter().map(tenant).collect::<Result<_>>()?
            }
        };
        let args = Args::new()
            .add(tenants)
            .add(micros_up(expiry.before))
            .add(length(limit));
        match expiry.action {
            RetentionAction::Delete => self.expire_by_delete(args, limit, doing).await,
            RetentionAction::Redact => self.expire_by_redaction(args, doing).await,
        }
    }

    async fn expire_by_delete(&self, args: Args, limit: usize, doing: Doing<'_>) -> Result<u64> {
        let whole = self.db.read(doing, &self.sql.expired, args.clone()).await?;
        let redacted = self
            .db
            .read(doing, &self.sql.expired_redacted, args)
            .await?;
        let mut expired = Vec::new();
        for (rows, at) in [(&whole, 3), (&redacted, 1)] {
            for row in rows {
                expired.push(Expired {
                    id: column(row, 0)?,
                    room: column(row, at)?,
                    created_us: column(row, at + 1)?,
                    index: column(row, at + 2)?,
                });
            }
        }
        expired.sort();
        expired.truncate(limit);
        if expired.is_empty() {
            return Ok(0);
        }
        let (rooms, ids): (Vec<String>, Vec<String>) = expired
            .into_iter()
            .map(|event| (event.room, event.id))
            .unzip();
        let args = Args::new().add(rooms).add(ids);
        let rows = self.db.write(doing, &self.sql.expire_events, args).await?;
        rows.first()
            .map_or(Ok(0), |row| column(row, 0).map(unsigned))
    }

    async fn expire_by_redaction(&self, args: Args, doing: Doing<'_>) -> Result<u64> {
        let rows = self.db.read(doing, &self.sql.expired, args).await?;
        let mut rooms: Vec<String> = Vec::new();
        let mut ids: Vec<String> = Vec::new();
        let mut json: Vec<String> = Vec::new();
        for row in &rows {
            let id: String = column(row, 0)?;
            // The payload goes unread: its key may be gone.
            let mut event = roomkit_store::event_of(&id, column(row, 1)?, None, None)?;
            event.redact();
            json.push(EventRow::of(&event, None)?.json);
            rooms.push(column(row, 3)?);
            ids.push(id);
        }
        if ids.is_empty() {
            return Ok(0);
        }
        let args = Args::new().add(rooms).add(ids).add(json);
        let rows = self.db.write(doing, &self.sql.redact_events, args).await?;
        rows.first()
            .map_or(Ok(0), |row| column(row, 0).map(unsigned))
    }
}
