//! What removes events for good: deletion by id, and expiry.

use std::collections::BTreeMap;

use roomkit_core::Result;
use roomkit_core::model::{EventId, OrganizationId};
use roomkit_core::store::{Expiry, RetentionAction};
use roomkit_store::event_of;
use rusqlite::{Connection, params};

use crate::commit::apply::overwrite_event;
use crate::search;
use crate::sql::{Sql, count};
use crate::txn::Txn;

/// Removes events of a room, their versions, and what is owed of them; returns how many there were.
pub(crate) fn delete(db: &Connection, room: i64, events: &[EventId]) -> Result<u64> {
    let mut deleted = 0;
    for id in events {
        let key: Option<i64> = db.one(
            format_args!("deleting event {id}"),
            "DELETE FROM events WHERE room = ?1 AND id = ?2 RETURNING key",
            params![room, id.as_str()],
            |row| row.get(0),
        )?;
        if let Some(key) = key {
            delete_versions(db, key)?;
            search::forget(db, key)?;
            deleted += 1;
        }
    }
    if deleted > 0 {
        for id in events {
            db.run(
                format_args!("removing what is owed of event {id}"),
                "DELETE FROM owed WHERE room = ?1 AND event_id = ?2",
                params![room, id.as_str()],
            )?;
        }
    }
    Ok(deleted)
}

fn delete_versions(db: &Connection, key: i64) -> Result<()> {
    db.run(
        format_args!("removing the earlier versions of an event"),
        "DELETE FROM event_versions WHERE event = ?1",
        [key],
    )?;
    Ok(())
}

/// An event that has expired: when it was made, its room and key; by which the oldest is told.
type Expired = (i64, String, i64, String);

/// Removes or redacts what has expired, the oldest first, at most `limit`.
pub(crate) fn expire(txn: &mut Txn<'_>, expiry: &Expiry, limit: usize) -> Result<u64> {
    let mut expired = Vec::new();
    for organization in organizations(txn.db)? {
        if expiry.rooms.admits(organization.as_ref()) {
            expired.extend(oldest(txn.db, organization.as_ref(), expiry, limit)?);
        }
    }
    expired.sort();
    expired.truncate(limit);
    if expiry.action == RetentionAction::Redact {
        for (_, _, key, _) in &expired {
            redact(txn, *key)?;
        }
        return Ok(expired.len() as u64);
    }
    let mut by_room: BTreeMap<i64, Vec<EventId>> = BTreeMap::new();
    for (_, _, key, id) in expired {
        by_room.entry(key >> 32).or_default().push(id.into());
    }
    let mut deleted = 0;
    for (room, events) in by_room {
        deleted += delete(txn.db, room, &events)?;
    }
    Ok(deleted)
}

fn organizations(db: &Connection) -> Result<Vec<Option<OrganizationId>>> {
    db.all(
        format_args!("listing organisations"),
        "SELECT DISTINCT organization_id FROM rooms",
        [],
        |row| {
            let id: Option<String> = row.get(0)?;
            Ok(id.map(OrganizationId::from))
        },
    )
}

fn oldest(
    db: &Connection,
    organization: Option<&OrganizationId>,
    expiry: &Expiry,
    limit: usize,
) -> Result<Vec<Expired>> {
    // What is stored has whole microseconds: before a part of one is before the next.
    let part = expiry.before.timestamp_subsec_nanos() % 1_000 > 0;
    let before = expiry
        .before
        .timestamp_micros()
        .saturating_add(i64::from(part));
    let mut expired = Vec::new();
    let redacted: &[bool] = match expiry.action {
        RetentionAction::Redact => &[false],
        RetentionAction::Delete => &[false, true],
    };
    for redacted in redacted {
        let found: Vec<Expired> = db.all(
            format_args!("looking for expired events"),
            "SELECT e.created_us, r.id, e.key, e.id FROM events e JOIN rooms r ON r.key = e.room \
             WHERE e.organization_id IS ?1 AND e.redacted = ?2 AND e.created_us < ?3 \
             AND r.id IS NOT NULL ORDER BY e.created_us, r.id, e.key LIMIT ?4",
            params![
                organization.map(|id| id.as_str()),
                redacted,
                before,
                count(limit)
            ],
            |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?)),
        )?;
        expired.extend(found);
    }
    Ok(expired)
}

fn redact(txn: &mut Txn<'_>, key: i64) -> Result<()> {
    delete_versions(txn.db, key)?;
    let what = format_args!("reading an event that is to be redacted");
    let sql = "SELECT id, data FROM events WHERE key = ?1";
    let row: Option<(String, String)> = txn
        .db
        .one(what, sql, [key], |row| Ok((row.get(0)?, row.get(1)?)))?;
    let Some((id, json)) = row else { return Ok(()) };
    // Without its payload, which goes, whether or not there is a key that opens it.
    let mut event = event_of(&id, &json, None, None)?;
    event.redact();
    overwrite_event(txn, key, &event)
}
