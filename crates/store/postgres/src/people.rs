//! Participants, identities and read markers.

use async_trait::async_trait;
use roomkit_core::Result;
use roomkit_core::model::{
    ChannelId, ChannelType, Identity, IdentityId, OrganizationId, Participant, ParticipantId,
    ReadMarker, RoomId,
};
use roomkit_core::store::{IdentityStore, ParticipantStore, ReadStore};
use roomkit_store::{from_json, to_json};

use crate::args::{Args, column, signed, unsigned};
use crate::columns;
use crate::db::Tx;
use crate::error::{Doing, Failure};
use crate::store::{Inner, PostgresStore, tenant};

#[async_trait]
impl ParticipantStore for PostgresStore {
    async fn participant(&self, room: &RoomId, id: &ParticipantId) -> Result<Option<Participant>> {
        let doing = Doing::new("reading participant", id.as_str());
        let args = Args::new().id(room.as_str()).id(id.as_str());
        let rows = self.0.db.read(doing, &self.0.sql.participant, args).await?;
        rows.first().map(columns::participant).transpose()
    }

    async fn participants(&self, room: &RoomId) -> Result<Vec<Participant>> {
        let doing = Doing::new("reading the participants of room", room.as_str());
        let args = Args::new().id(room.as_str());
        let rows = self
            .0
            .db
            .read(doing, &self.0.sql.participants, args)
            .await?;
        rows.iter().map(columns::participant).collect()
    }

    async fn delete_participant(&self, room: &RoomId, id: &ParticipantId) -> Result<bool> {
        let doing = Doing::new("deleting participant", id.as_str());
        let args = Args::new().id(room.as_str()).id(id.as_str());
        let rows = self.0.db.write(doing, &self.0.sql.delete_participant, args);
        Ok(!rows.await?.is_empty())
    }
}

#[async_trait]
impl IdentityStore for PostgresStore {
    async fn put_identity(&self, identity: Identity) -> Result<()> {
        let doing = Doing::new("storing identity", identity.id.as_str());
        let mut tx = self.0.db.begin(doing, Tx::WRITE).await?;
        let written = self.0.put_identity(&identity, &mut tx).await?;
        written.map_err(|failure| failure.into_read_error(doing))?;
        tx.commit()
            .await
            .map_err(|failure| failure.into_error(doing))
    }

    async fn identity(
        &self,
        organization: Option<&OrganizationId>,
        id: &IdentityId,
    ) -> Result<Option<Identity>> {
        let doing = Doing::new("reading identity", id.as_str());
        let args = Args::new().add(tenant(organization)).id(id.as_str());
        let rows = self.0.db.read(doing, &self.0.sql.identity, args).await?;
        let identity = rows
            .first()
            .map(|row| from_json("identity", id.as_str(), column(row, 0)?));
        identity.transpose()
    }

    async fn identities_by_address(
        &self,
        organization: Option<&OrganizationId>,
        channel_type: &ChannelType,
        address: &str,
    ) -> Result<Vec<Identity>> {
        let doing = Doing::new("reading identities by an address", "");
        let args = Args::new()
            .add(tenant(organization))
            .id(&channel_type.to_string())
            .id(address);
        let rows = self
            .0
            .db
            .read(doing, &self.0.sql.identities_by_address, args)
            .await?;
        rows.iter()
            .map(|row| from_json("an identity", "", column(row, 0)?))
            .collect()
    }
}

impl Inner {
    async fn put_identity(&self, identity: &Identity, tx: &mut Tx) -> Result<Result<(), Failure>> {
        let id = identity.id.as_str();
        let key = Args::new()
            .add(tenant(identity.organization_id.as_ref()))
            .id(id);
        let args = key.clone().add(to_json("identity", id, identity)?);
        let addresses = identity
            .channel_addresses
            .iter()
            .flat_map(|(kind, addresses)| {
                let addresses = addresses.iter();
                addresses.map(move |address| (kind.as_str(), address.as_str()))
            });
        let (kinds, addresses): (Vec<&str>, Vec<&str>) = addresses.unzip();
        let put = key.clone().ids(kinds).ids(addresses);
        let steps = [
            (&self.sql.put_identity, args),
            (&self.sql.forget_addresses, key),
            (&self.sql.put_addresses, put),
        ];
        for (sql, args) in steps {
            if let Err(failure) = tx.rows(sql, args).await {
                return Ok(Err(failure));
            }
        }
        Ok(Ok(()))
    }
}

#[async_trait]
impl ReadStore for PostgresStore {
    async fn mark_read(&self, marker: ReadMarker) -> Result<()> {
        let room = marker.room_id.as_str();
        let args = Args::new()
            .id(room)
            .id(marker.channel_id.as_str())
            .add(signed(marker.index))
            .add(to_json("read marker in room", room, &marker)?);
        let doing = Doing::new("marking as read in room", room);
        self.0.db.write(doing, &self.0.sql.mark_read, args).await?;
        Ok(())
    }

    async fn read_markers(&self, room: &RoomId) -> Result<Vec<ReadMarker>> {
        let doing = Doing::new("reading the read markers of room", room.as_str());
        let args = Args::new().id(room.as_str());
        let rows = self
            .0
            .db
            .read(doing, &self.0.sql.read_markers, args)
            .await?;
        let marker = |row| from_json("read marker in room", room.as_str(), column(row, 0)?);
        rows.iter().map(marker).collect()
    }

    async fn unread_count(&self, room: &RoomId, channel: &ChannelId) -> Result<u64> {
        let doing = Doing::new("counting unread events of room", room.as_str());
        let args = Args::new().id(room.as_str()).id(channel.as_str());
        let rows = self.0.db.read(doing, &self.0.sql.unread, args).await?;
        rows.first()
            .map_or(Ok(0), |row| column(row, 0).map(unsigned))
    }
}
