//! Participants: reading them, noting how they are reached, settling who they are.
//!
//! Its rules: RFC §5.5 and §11.2.

use super::member_change::{Change, Roster, Told, change, check_id, not_empty, not_found};
use super::{Inner, Rooms};
use crate::error::{Error, ErrorKind, Result};
use crate::model::{
    ChannelId, EventType, IdentificationStatus, IdentityId, Metadata, Participant, ParticipantId,
    RoomId,
};
use crate::pipeline::admit;

impl Rooms {
    /// Everybody whom a room has a record of, in the order in which they joined, those who left or
    /// are banned among them.
    ///
    /// # Errors
    /// [`RoomNotFound`](ErrorKind::RoomNotFound).
    pub async fn participants(&self, room: impl Into<RoomId>) -> Result<Vec<Participant>> {
        let room = room.into();
        let inner = self.inner();
        inner.visible_room(&self.scope, &room).await?;
        inner.ask(inner.store.participants(&room)).await
    }

    /// One participant, whatever their status.
    ///
    /// # Errors
    /// [`RoomNotFound`](ErrorKind::RoomNotFound),
    /// [`ParticipantNotFound`](ErrorKind::ParticipantNotFound).
    pub async fn participant(
        &self,
        room: impl Into<RoomId>,
        participant: impl Into<ParticipantId>,
    ) -> Result<Participant> {
        let (room, id) = (room.into(), participant.into());
        let inner = self.inner();
        inner.visible_room(&self.scope, &room).await?;
        let found = inner.ask(inner.store.participant(&room, &id)).await?;
        found.ok_or_else(|| not_found(&room, &id))
    }

    /// The participant with this id; made when there is none (RFC §5.5). Nothing is told.
    ///
    /// The channel and the name are those of a record that is made. One that is there stays as it
    /// is, whatever its status and its primary channel; a channel that is new to it is noted. Where
    /// somebody joins on purpose it is [`add_member`](Self::add_member).
    ///
    /// ```
    /// # use roomkit_core::RoomKit;
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> roomkit_core::Result<()> {
    /// let kit = RoomKit::new();
    /// kit.create_room("standup").await?;
    /// kit.ensure_participant("standup", "call", "alice", Some("Alice")).await?;
    /// let alice = kit.ensure_participant("standup", "chat", "alice", None).await?;
    /// assert_eq!(alice.channel_id, "call");
    /// assert_eq!(alice.connected_via, ["call", "chat"]);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// - [`RoomNotFound`](ErrorKind::RoomNotFound).
    /// - [`RoomClosed`](ErrorKind::RoomClosed), where something would have to be written.
    /// - [`InvalidInput`](ErrorKind::InvalidInput): an id or the name is empty.
    pub async fn ensure_participant(
        &self,
        room: impl Into<RoomId>,
        channel: impl Into<ChannelId>,
        participant: impl Into<ParticipantId>,
        display_name: Option<&str>,
    ) -> Result<Participant> {
        let (room, channel, id) = (room.into(), channel.into(), participant.into());
        check_id(&id)?;
        not_empty("channel_id", channel.as_str())?;
        if let Some(name) = display_name {
            not_empty("display_name", name)?;
        }
        let name = display_name.map(str::to_owned);
        self.to_end(|inner, scope| async move {
            change(&inner, &scope, &room, &id, Roster::One, |_, people| {
                let changed = match people.known() {
                    Some(known) => {
                        let mut person = known.clone();
                        if reach(&inner, &mut person, &channel) {
                            Change::Quiet(person)
                        } else {
                            Change::None(person)
                        }
                    }
                    None => {
                        let now = inner.clock.now();
                        let mut person =
                            Participant::new(id.clone(), room.clone(), channel.clone(), now);
                        person.display_name.clone_from(&name);
                        known_over(&inner, &mut person, &channel);
                        Change::Quiet(person)
                    }
                };
                Ok((changed, Metadata::new()))
            })
            .await
        })
        .await
    }

    /// Settles by hand who a participant is: an identity of the room's organisation. Told as
    /// `participant_identified`; nothing changes where that is known already.
    ///
    /// The record takes the identity's name, where it has one, and keeps its id. From then on
    /// whoever sends with the participant's id, over the channels that the record has, is that
    /// person; with that id over another channel it is somebody else, until the channel is noted.
    ///
    /// # Errors
    /// [`RoomNotFound`](ErrorKind::RoomNotFound),
    /// [`ParticipantNotFound`](ErrorKind::ParticipantNotFound),
    /// [`IdentityNotFound`](ErrorKind::IdentityNotFound), [`RoomClosed`](ErrorKind::RoomClosed).
    pub async fn resolve_participant(
        &self,
        room: impl Into<RoomId>,
        participant: impl Into<ParticipantId>,
        identity: impl Into<IdentityId>,
    ) -> Result<Participant> {
        let (room, id, identity) = (room.into(), participant.into(), identity.into());
        self.to_end(|inner, scope| async move {
            let snapshot = inner.visible_room(&scope, &room).await?;
            let organization = snapshot.room.organization_id.as_ref();
            let found = inner
                .read(inner.store.identity(organization, &identity))
                .await?;
            let identity = found.ok_or_else(|| {
                let problem = format!("room {room} has no identity {identity} to know");
                Error::new(ErrorKind::IdentityNotFound, problem)
            })?;
            change(
                &inner,
                &scope,
                &room,
                &id,
                Roster::One,
                |snapshot, people| {
                    let mut person = people.found(snapshot)?;
                    let is_known = admit::is_identified(&person);
                    if is_known && person.identity_id.as_ref() == Some(&identity.id) {
                        return Ok((Change::None(person), Metadata::new()));
                    }
                    person.identification = IdentificationStatus::Identified;
                    person.identity_id = Some(identity.id.clone());
                    person.candidates = None;
                    person.resolved_at = Some(inner.clock.now());
                    person.resolved_by = Some(admit::BY_HAND.to_owned());
                    if identity.display_name.is_some() {
                        person.display_name.clone_from(&identity.display_name);
                    }
                    admit::tie_all(&mut person);
                    let told = Told {
                        event_type: EventType::ParticipantIdentified,
                        code: "participant_identified",
                        what: "is identified",
                        data: Metadata::new()
                            .with("identity_id", identity.id.as_str())
                            .with("resolved_by", admit::BY_HAND),
                    };
                    let marks = Metadata::new().with(admit::HAS_IDENTITIES, true);
                    Ok((Change::Told(person, told), marks))
                },
            )
            .await
        })
        .await
    }
}

/// Notes that a participant is reached through a channel; `false` where that is known.
pub(super) fn reach(inner: &Inner, person: &mut Participant, channel: &ChannelId) -> bool {
    if person.channel_id != *channel {
        // Who keeps the state of a channel on this record shares it with the other channel.
        tracing::warn!(
            room_id = %person.room_id, channel_id = %channel, primary_channel_id = %person.channel_id,
            "participant is reached through another channel than their primary one"
        );
    }
    let before = (person.connected_via.len(), person.metadata.clone());
    if !person.connected_via.contains(channel) {
        person.connected_via.push(channel.clone());
    }
    known_over(inner, person, channel);
    before != (person.connected_via.len(), person.metadata.clone())
}

/// Notes that the application knows a sender over this channel by the participant's id, where a
/// resolver could later say otherwise.
pub(super) fn known_over(inner: &Inner, person: &mut Participant, channel: &ChannelId) {
    if inner.identity.is_some() {
        admit::name(person, channel);
    }
}
