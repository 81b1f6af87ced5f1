//! Search and retention: what reads or thins out many rooms at once.

use std::sync::Arc;

use roomkit_core::Result;
use roomkit_core::model::RoomEvent;
use roomkit_core::store::{EventSearch, Expiry, RetentionAction, RetentionScope};
use roomkit_store::EventRow;
use sqlx::postgres::PgRow;

use crate::args::{Args, column, length, unsigned};
use crate::db::Tx;
use crate::error::{Doing, Failure};
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
        let whole = self.db.read(doing, &self.sql.expired, args.clone()).await?;
        let mut expired = Vec::new();
        whole.iter().try_for_each(|row| push(&mut expired, row))?;
        if expiry.action == RetentionAction::Delete {
            let redacted = self
                .db
                .read(doing, &self.sql.expired_redacted, args)
                .await?;
            redacted
                .iter()
                .try_for_each(|row| push(&mut expired, row))?;
            expired.sort();
            expired.truncate(limit);
        }
        if expired.is_empty() {
            return Ok(0);
        }
        let mut tx = self.db.begin(doing, Tx::WRITE).await?;
        // Nothing is kept of what was not committed.
        let gone = self.expire_in(&mut tx, expired, expiry.action).await?;
        let gone = gone.map_err(|failure| failure.into_read_error(doing))?;
        let committed = tx.commit().await;
        committed.map_err(|failure| failure.into_error(doing))?;
        Ok(gone)
    }

    /// The rooms are locked as a commit locks them: an edit that is under way would else leave an
    /// earlier version behind.
    async fn expire_in(
        &self,
        tx: &mut Tx,
        expired: Vec<Expired>,
        action: RetentionAction,
    ) -> Result<Result<u64, Failure>> {
        let (rooms, ids): (Vec<String>, Vec<String>) = expired
            .into_iter()
            .map(|event| (event.room, event.id))
            .unzip();
        let locked = tx.rows(&self.sql.lock_rooms, Args::new().add(rooms.clone()));
        if let Err(failure) = locked.await {
            return Ok(Err(failure));
        }
        let args = Args::new().add(rooms).add(ids);
        let done = match action {
            RetentionAction::Delete => tx.rows(&self.sql.expire_events, args).await,
            RetentionAction::Redact => match tx.rows(&self.sql.to_redact, args).await {
                Ok(rows) => tx.rows(&self.sql.redact_events, redacted(&rows)?).await,
                Err(failure) => Err(failure),
            },
        };
        match done {
            Ok(rows) => rows
                .first()
                .map_or(Ok(0), |row| column(row, 0).map(unsigned))
                .map(Ok),
            Err(failure) => Ok(Err(failure)),
        }
    }
}

fn push(expired: &mut Vec<Expired>, row: &PgRow) -> Result<()> {
    expired.push(Expired {
        id: column(row, 0)?,
        room: column(row, 1)?,
        created_us: column(row, 2)?,
        index: column(row, 3)?,
    });
    Ok(())
}

/// Events by room and id, with the JSON that stays of them.
fn redacted(rows: &[PgRow]) -> Result<Args> {
    let mut rooms: Vec<String> = Vec::new();
    let mut ids: Vec<String> = Vec::new();
    let mut json: Vec<String> = Vec::new();
    for row in rows {
        let id: String = column(row, 1)?;
        // The payload goes unread: its key may be gone.
        let mut event = roomkit_store::event_of(&id, column(row, 2)?, None, None)?;
        event.redact();
        json.push(EventRow::of(&event, None)?.json);
        rooms.push(column(row, 0)?);
        ids.push(id);
    }
    Ok(Args::new().add(rooms).add(ids).add(json))
}
