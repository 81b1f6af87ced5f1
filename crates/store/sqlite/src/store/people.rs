//! Participants, identities and read markers.

use async_trait::async_trait;
use roomkit_core::Result;
use roomkit_core::model::{
    ChannelId, ChannelType, Identity, IdentityId, OrganizationId, Participant, ParticipantId,
    ReadMarker, RoomId,
};
use roomkit_core::store::{IdentityStore, ParticipantStore, ReadStore};
use roomkit_store::{from_json, to_json};
use rusqlite::{Connection, params};

use super::SqliteStore;
use crate::room::{event_key, event_keys};
use crate::sql::Sql;

#[async_trait]
impl ParticipantStore for SqliteStore {
    async fn participant(&self, room: &RoomId, id: &ParticipantId) -> Result<Option<Participant>> {
        let id = id.clone();
        let found = self.read_room(room, move |db, room| {
            let data: Option<String> = db.one(
                format_args!("reading participant {id}"),
                "SELECT data FROM participants WHERE room = ?1 AND id = ?2",
                params![room, id.as_str()],
                |row| row.get(0),
            )?;
            data.map(|data| from_json("participant", id.as_str(), &data))
                .transpose()
        });
        Ok(found.await?.flatten())
    }

    async fn participants(&self, room: &RoomId) -> Result<Vec<Participant>> {
        let found = self.read_room(room, |db, room| {
            let rows: Vec<(String, String)> = db.all(
                format_args!("reading participants"),
                "SELECT id, data FROM participants WHERE room = ?1 ORDER BY position",
                [room],
                |row| Ok((row.get(0)?, row.get(1)?)),
            )?;
            rows.iter()
                .map(|(id, data)| from_json("participant", id, data))
                .collect()
        });
        Ok(found.await?.unwrap_or_default())
    }

    async fn delete_participant(&self, room: &RoomId, id: &ParticipantId) -> Result<bool> {
        let (room, id) = (room.clone(), id.clone());
        self.write_few(move |txn| {
            let Some(mut entry) = txn.find(&room)? else {
                return Ok(false);
            };
            let deleted = txn.db.run(
                format_args!("deleting participant {id}"),
                "DELETE FROM participants WHERE room = ?1 AND id = ?2",
                params![entry.key, id.as_str()],
            )?;
            entry.forget_speakers();
            txn.stage(&room, Some(entry));
            Ok(deleted > 0)
        })
        .await
    }
}

#[async_trait]
impl IdentityStore for SqliteStore {
    async fn put_identity(&self, identity: Identity) -> Result<()> {
        self.write_few(move |txn| put_identity(txn.db, &identity))
            .await
    }

    async fn identity(
        &self,
        organization: Option<&OrganizationId>,
        id: &IdentityId,
    ) -> Result<Option<Identity>> {
        let (organization, id) = (organization.cloned(), id.clone());
        self.readers
            .read(move |db| {
                let data: Option<String> = db.one(
                    format_args!("reading identity {id}"),
                    "SELECT data FROM identities WHERE organization_id IS ?1 AND id = ?2",
                    params![organization.as_ref().map(|id| id.as_str()), id.as_str()],
                    |row| row.get(0),
                )?;
                data.map(|data| from_json("identity", id.as_str(), &data))
                    .transpose()
            })
            .await
    }

    async fn identities_by_address(
        &self,
        organization: Option<&OrganizationId>,
        channel_type: &ChannelType,
        address: &str,
    ) -> Result<Vec<Identity>> {
        let organization = organization.map(ToString::to_string);
        let (channel_type, address) = (channel_type.to_string(), address.to_owned());
        self.readers
            .read(move |db| {
                let rows: Vec<(String, String)> = db.all(
                    format_args!("looking for identities by address"),
                    "SELECT DISTINCT i.id, i.data FROM addresses a \
                     JOIN identities i ON i.key = a.identity WHERE a.organization_id IS ?1 \
                     AND a.channel_type = ?2 AND a.address = ?3 ORDER BY i.id",
                    params![organization, channel_type, address],
                    |row| Ok((row.get(0)?, row.get(1)?)),
                )?;
                rows.iter()
                    .map(|(id, data)| from_json("identity", id, data))
                    .collect()
            })
            .await
    }
}

fn put_identity(db: &Connection, identity: &Identity) -> Result<()> {
    let what = format_args!("storing identity {}", identity.id);
    let organization = identity.organization_id.as_ref().map(|id| id.as_str());
    let id = identity.id.as_str();
    let data = to_json("identity", id, identity)?;
    // Where there is no organisation, no key of the database tells that it is there already.
    let replaced: Option<i64> = db.one(
        what,
        "UPDATE identities SET data = ?3 WHERE organization_id IS ?1 AND id = ?2 RETURNING key",
        params![organization, id, data],
        |row| row.get(0),
    )?;
    let key = match replaced {
        Some(key) => Some(key),
        None => db.one(
            what,
            "INSERT INTO identities (organization_id, id, data) VALUES (?1, ?2, ?3) RETURNING key",
            params![organization, id, data],
            |row| row.get(0),
        )?,
    };
    db.run(what, "DELETE FROM addresses WHERE identity = ?1", [key])?;
    for (channel_type, addresses) in &identity.channel_addresses {
        for address in addresses {
            db.run(
                what,
                "INSERT INTO addresses (identity, channel_type, address, organization_id, \
                 identity_id) VALUES (?1, ?2, ?3, ?4, ?5)",
                params![key, channel_type, address, organization, id],
            )?;
        }
    }
    Ok(())
}

#[async_trait]
impl ReadStore for SqliteStore {
    async fn mark_read(&self, marker: ReadMarker) -> Result<()> {
        self.write_few(move |txn| {
            let Some(entry) = txn.find(&marker.room_id)? else {
                return Ok(());
            };
            let present = marker_of(txn.db, entry.key, marker.channel_id.as_str())?;
            if present.is_none_or(|present| present.index < marker.index) {
                put_marker(txn.db, entry.key, &marker)?;
            }
            Ok(())
        })
        .await
    }

    async fn read_markers(&self, room: &RoomId) -> Result<Vec<ReadMarker>> {
        let found = self.read_room(room, |db, room| {
            let rows: Vec<(String, String)> = db.all(
                format_args!("reading read markers"),
                "SELECT channel_id, data FROM read_markers WHERE room = ?1 ORDER BY channel_id",
                [room],
                |row| Ok((row.get(0)?, row.get(1)?)),
            )?;
            rows.iter()
                .map(|(channel, data)| from_json("read marker", channel, data))
                .collect()
        });
        Ok(found.await?.unwrap_or_default())
    }

    async fn unread_count(&self, room: &RoomId, channel: &ChannelId) -> Result<u64> {
        let channel = channel.clone();
        let found = self.read_room(room, move |db, room| {
            let marker = marker_of(db, room, channel.as_str())?;
            let (mut first, end) = event_keys(room);
            if let Some(marker) = marker {
                first = event_key(room, marker.index).map_or(end, |key| key + 1);
            }
            let unread: Option<i64> = db.one(
                format_args!("counting what {channel} has not read"),
                "SELECT count(*) FROM events WHERE key >= ?1 AND key < ?2 AND channel_id <> ?3",
                params![first, end, channel.as_str()],
                |row| row.get(0),
            )?;
            Ok(unread.unwrap_or_default().cast_unsigned())
        });
        Ok(found.await?.unwrap_or_default())
    }
}

fn marker_of(db: &Connection, room: i64, channel: &str) -> Result<Option<ReadMarker>> {
    let data: Option<String> = db.one(
        format_args!("reading the read marker of {channel}"),
        "SELECT data FROM read_markers WHERE room = ?1 AND channel_id = ?2",
        params![room, channel],
        |row| row.get(0),
    )?;
    data.map(|data| from_json("read marker", channel, &data))
        .transpose()
}

pub(crate) fn put_marker(db: &Connection, room: i64, marker: &ReadMarker) -> Result<()> {
    let channel = marker.channel_id.as_str();
    db.run(
        format_args!("storing the read marker of {channel}"),
        "INSERT OR REPLACE INTO read_markers (room, channel_id, data) VALUES (?1, ?2, ?3)",
        params![room, channel, to_json("read marker", channel, marker)?],
    )?;
    Ok(())
}
