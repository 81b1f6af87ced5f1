//! Members: joining, leaving, bans, names and roles; each told to the timeline and to hooks.
//!
//! Its rules: RFC §5.5.

use std::future::IntoFuture;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;

use super::member_change::{Change, Roster, Told, change, check_id, not_empty};
use super::participants::{known_over, reach};
use super::{Inner, Rooms};
use crate::error::{Error, Result};
use crate::model::{
    ChannelId, EventType, IdentificationStatus, IdentityId, Metadata, Participant, ParticipantId,
    ParticipantRole, ParticipantStatus, RoomId,
};
use crate::pipeline::admit;

/// Adds a member to a room; await it to do so.
#[derive(Debug)]
#[must_use = "nobody is added until this is awaited"]
pub struct AddMember {
    rooms: Rooms,
    room_id: RoomId,
    channel_id: ChannelId,
    participant_id: ParticipantId,
    display_name: Option<String>,
    role: Option<ParticipantRole>,
    identity_id: Option<IdentityId>,
    external_id: Option<String>,
    metadata: Metadata,
}

impl Rooms {
    /// Adds a member who is reached through a channel (RFC §5.5): a deliberate join, told to the
    /// timeline as `participant_joined` and to the hooks of
    /// [`OnParticipantJoined`](crate::hook::OnParticipantJoined).
    ///
    /// Somebody who is an active member stays what they are; a channel that is new to them is noted
    /// and nothing is told, so that the call may be made whenever a room is opened. Somebody who has
    /// left comes back: `joined_at` stays, and the channel becomes their primary one, before those
    /// that they had.
    ///
    /// ```
    /// # use roomkit_core::{RoomKit, model::ParticipantRole};
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> roomkit_core::Result<()> {
    /// let kit = RoomKit::new();
    /// kit.create_room("support").await?;
    /// let alice = kit
    ///     .add_member("support", "sms", "alice")
    ///     .display_name("Alice")
    ///     .role(ParticipantRole::Owner)
    ///     .await?;
    /// assert_eq!(alice.connected_via, ["sms"]);
    /// let again = kit.add_member("support", "email", "alice").await?;
    /// assert_eq!(again.connected_via, ["sms", "email"]);
    ///
    /// kit.rename_member("support", "alice", "Ally").await?;
    /// kit.remove_member("support", "alice").await?;
    /// assert!(kit.members("support").await?.is_empty());
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// - [`RoomNotFound`](crate::ErrorKind::RoomNotFound).
    /// - [`RoomClosed`](crate::ErrorKind::RoomClosed), where something would change.
    /// - [`ParticipantNotAdmitted`](crate::ErrorKind::ParticipantNotAdmitted): they are banned.
    /// - [`InvalidInput`](crate::ErrorKind::InvalidInput): an id or the name is empty.
    pub fn add_member(
        &self,
        room: impl Into<RoomId>,
        channel: impl Into<ChannelId>,
        participant: impl Into<ParticipantId>,
    ) -> AddMember {
        AddMember {
            rooms: self.clone(),
            room_id: room.into(),
            channel_id: channel.into(),
            participant_id: participant.into(),
            display_name: None,
            role: None,
            identity_id: None,
            external_id: None,
            metadata: Metadata::new(),
        }
    }

    /// Lets a member leave (RFC §5.5): their record stays, with the status `left`, and so does what
    /// they said. Told as `participant_left`. Nothing changes for one who has left or is banned.
    ///
    /// # Errors
    /// [`RoomNotFound`](crate::ErrorKind::RoomNotFound),
    /// [`ParticipantNotFound`](crate::ErrorKind::ParticipantNotFound),
    /// [`RoomClosed`](crate::ErrorKind::RoomClosed).
    pub async fn remove_member(
        &self,
        room: impl Into<RoomId>,
        participant: impl Into<ParticipantId>,
    ) -> Result<Participant> {
        self.change_one(room.into(), participant.into(), |mut person| {
            match person.status {
                // A departure is no amnesty.
                ParticipantStatus::Left | ParticipantStatus::Banned => Change::None(person),
                _ => {
                    person.status = ParticipantStatus::Left;
                    left(person)
                }
            }
        })
        .await
    }

    /// Bans a participant: what they send is refused from now on with `participant_not_admitted`,
    /// over whatever channel reaches them, and so is what anybody sends who is known to be the same
    /// person. Told as `participant_left`, with the status `banned`. Channels stay attached.
    ///
    /// ```
    /// # use roomkit_core::RoomKit;
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> roomkit_core::Result<()> {
    /// # let kit = RoomKit::new();
    /// # kit.create_room("support").await?;
    /// # kit.add_member("support", "sms", "mallory").await?;
    /// kit.ban_member("support", "mallory").await?;
    /// let barred = kit.add_member("support", "sms", "mallory").await.unwrap_err();
    /// assert_eq!(barred.code(), "participant_not_admitted");
    /// kit.unban_member("support", "mallory").await?;
    /// kit.add_member("support", "sms", "mallory").await?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// As [`remove_member`](Self::remove_member).
    pub async fn ban_member(
        &self,
        room: impl Into<RoomId>,
        participant: impl Into<ParticipantId>,
    ) -> Result<Participant> {
        let (room, id) = (room.into(), participant.into());
        self.to_end(|inner, scope| async move {
            change(
                &inner,
                &scope,
                &room,
                &id,
                Roster::One,
                |snapshot, people| {
                    let mut person = people.found(snapshot)?;
                    if person.status == ParticipantStatus::Banned {
                        return Ok((Change::None(person), Metadata::new()));
                    }
                    person.status = ParticipantStatus::Banned;
                    let marks = Metadata::new().with(admit::HAS_BANS, true);
                    Ok((left(person), marks))
                },
            )
            .await
        })
        .await
    }

    /// Lifts a ban: the participant has left, as others who left have, and may speak and join again.
    /// Told as `participant_updated`, with the code `participant_unbanned`. Nothing changes for one
    /// who is not banned.
    ///
    /// # Errors
    /// As [`remove_member`](Self::remove_member).
    pub async fn unban_member(
        &self,
        room: impl Into<RoomId>,
        participant: impl Into<ParticipantId>,
    ) -> Result<Participant> {
        let (room, id) = (room.into(), participant.into());
        self.to_end(|inner, scope| async move {
            change(
                &inner,
                &scope,
                &room,
                &id,
                Roster::Whole,
                |snapshot, people| {
                    let mut person = people.found(snapshot)?;
                    if person.status != ParticipantStatus::Banned {
                        return Ok((Change::None(person), Metadata::new()));
                    }
                    person.status = ParticipantStatus::Left;
                    let has_bans = people
                        .others()
                        .any(|other| other.status == ParticipantStatus::Banned);
                    let told = Told {
                        event_type: EventType::ParticipantUpdated,
                        code: "participant_unbanned",
                        what: "is no longer banned",
                        data: Metadata::new().with("status", person.status.as_str()),
                    };
                    let marks = Metadata::new().with(admit::HAS_BANS, has_bans);
                    Ok((Change::Told(person, told), marks))
                },
            )
            .await
        })
        .await
    }

    /// Changes what a member is called, never who they are (RFC §5.5). Told as
    /// `participant_updated`; a name that they have already changes nothing.
    ///
    /// # Errors
    /// As [`remove_member`](Self::remove_member), and
    /// [`InvalidInput`](crate::ErrorKind::InvalidInput) where the name is empty.
    pub async fn rename_member(
        &self,
        room: impl Into<RoomId>,
        participant: impl Into<ParticipantId>,
        display_name: impl Into<String>,
    ) -> Result<Participant> {
        let name = display_name.into();
        not_empty("display_name", &name)?;
        self.change_one(room.into(), participant.into(), move |mut person| {
            if person.display_name.as_ref() == Some(&name) {
                return Change::None(person);
            }
            person.display_name = Some(name.clone());
            let told = Told {
                event_type: EventType::ParticipantUpdated,
                code: "participant_updated",
                what: "has another name",
                data: Metadata::new().with("display_name", name.as_str()),
            };
            Change::Told(person, told)
        })
        .await
    }

    /// Sets what a participant is in the room. Told as `participant_updated`, with the code
    /// `participant_role_changed`; a role that they have already changes nothing.
    ///
    /// # Errors
    /// As [`remove_member`](Self::remove_member).
    pub async fn set_member_role(
        &self,
        room: impl Into<RoomId>,
        participant: impl Into<ParticipantId>,
        role: ParticipantRole,
    ) -> Result<Participant> {
        self.change_one(room.into(), participant.into(), move |mut person| {
            if person.role == role {
                return Change::None(person);
            }
            person.role = role;
            let told = Told {
                event_type: EventType::ParticipantUpdated,
                code: "participant_role_changed",
                what: "has another role",
                data: Metadata::new().with("role", role.as_str()),
            };
            Change::Told(person, told)
        })
        .await
    }

    /// The active members of a room, in the order in which they joined; with everybody else it is
    /// [`participants`](Self::participants).
    ///
    /// # Errors
    /// [`RoomNotFound`](crate::ErrorKind::RoomNotFound).
    pub async fn members(&self, room: impl Into<RoomId>) -> Result<Vec<Participant>> {
        let mut people = self.participants(room).await?;
        people.retain(|person| person.status == ParticipantStatus::Active);
        Ok(people)
    }

    /// Whether a known person is an active member of a room, under whatever participant's id.
    ///
    /// # Errors
    /// [`RoomNotFound`](crate::ErrorKind::RoomNotFound).
    pub async fn is_member(
        &self,
        room: impl Into<RoomId>,
        identity: impl Into<IdentityId>,
    ) -> Result<bool> {
        let identity = identity.into();
        let members = self.members(room).await?;
        let mut known = members.iter().filter(|member| admit::is_identified(member));
        Ok(known.any(|member| member.identity_id.as_ref() == Some(&identity)))
    }

    /// Changes the record of one participant, who must be there.
    async fn change_one(
        &self,
        room: RoomId,
        id: ParticipantId,
        decide: impl Fn(Participant) -> Change + Send + Sync + 'static,
    ) -> Result<Participant> {
        self.to_end(|inner, scope| async move {
            change(
                &inner,
                &scope,
                &room,
                &id,
                Roster::One,
                |snapshot, people| Ok((decide(people.found(snapshot)?), Metadata::new())),
            )
            .await
        })
        .await
    }
}

fn left(person: Participant) -> Change {
    let is_banned = person.status == ParticipantStatus::Banned;
    let told = Told {
        event_type: EventType::ParticipantLeft,
        code: "participant_left",
        what: if is_banned { "is banned" } else { "left" },
        data: Metadata::new().with("status", person.status.as_str()),
    };
    Change::Told(person, told)
}

impl AddMember {
    /// The name to show. Default: the one they had, else none.
    pub fn display_name(mut self, name: impl Into<String>) -> Self {
        self.display_name = Some(name.into());
        self
    }

    /// What they are in the room. Default: what they were, else a member.
    pub fn role(mut self, role: ParticipantRole) -> Self {
        self.role = Some(role);
        self
    }

    /// Who they are, where that is known: then they count as identified. Default: what is known
    /// already.
    pub fn identity(mut self, identity: impl Into<IdentityId>) -> Self {
        self.identity_id = Some(identity.into());
        self
    }

    /// The application's id of them. Default: the one they had, else none.
    pub fn external_id(mut self, id: impl Into<String>) -> Self {
        self.external_id = Some(id.into());
        self
    }

    /// Data of the application, set beside what they had. Default: none.
    pub fn metadata(mut self, metadata: Metadata) -> Self {
        self.metadata = metadata;
        self
    }

    async fn add(self) -> Result<Participant> {
        check_id(&self.participant_id)?;
        not_empty("channel_id", self.channel_id.as_str())?;
        if let Some(name) = &self.display_name {
            not_empty("display_name", name)?;
        }
        let rooms = self.rooms.clone();
        rooms
            .to_end(|inner, scope| async move {
                let (room, id) = (&self.room_id, &self.participant_id);
                change(&inner, &scope, room, id, Roster::One, |_, people| {
                    self.decide(&inner, people.known())
                })
                .await
            })
            .await
    }

    fn decide(&self, inner: &Inner, known: Option<&Participant>) -> Result<(Change, Metadata)> {
        let mut person = match known {
            Some(known) if known.status == ParticipantStatus::Banned => {
                return Err(Error::not_admitted(&self.room_id));
            }
            Some(known) if known.status == ParticipantStatus::Active => {
                let mut person = known.clone();
                let change = if reach(inner, &mut person, &self.channel_id) {
                    Change::Quiet(person)
                } else {
                    Change::None(person)
                };
                return Ok((change, Metadata::new()));
            }
            Some(known) => self.rejoined(inner, known.clone()),
            None => Participant::new(
                self.participant_id.clone(),
                self.room_id.clone(),
                self.channel_id.clone(),
                inner.clock.now(),
            ),
        };
        let mut marks = Metadata::new();
        if let Some(identity) = &self.identity_id {
            person.identification = IdentificationStatus::Identified;
            person.identity_id = Some(identity.clone());
            person.candidates = None;
            person.resolved_at = Some(inner.clock.now());
            person.resolved_by = Some(admit::BY_HAND.to_owned());
            marks.insert(admit::HAS_IDENTITIES, true);
        }
        if let Some(name) = &self.display_name {
            person.display_name = Some(name.clone());
        }
        person.role = self.role.unwrap_or(person.role);
        if let Some(id) = &self.external_id {
            person.external_id = Some(id.clone());
        }
        person.metadata.merge(&self.metadata);
        known_over(inner, &mut person, &self.channel_id);
        let identity = person.identity_id.as_ref().map(IdentityId::as_str);
        let told = Told {
            event_type: EventType::ParticipantJoined,
            code: "participant_joined",
            what: "joined",
            data: Metadata::new().with("identity_id", identity),
        };
        Ok((Change::Told(person, told), marks))
    }

    /// Somebody who comes back, over this channel from now on.
    fn rejoined(&self, inner: &Inner, mut person: Participant) -> Participant {
        reach(inner, &mut person, &self.channel_id);
        person.connected_via.retain(|id| *id != self.channel_id);
        person.connected_via.insert(0, self.channel_id.clone());
        person.channel_id = self.channel_id.clone();
        person.status = ParticipantStatus::Active;
        person
    }
}

impl IntoFuture for AddMember {
    type Output = Result<Participant>;
    type IntoFuture = BoxFuture<'static, Self::Output>;

    fn into_future(self) -> Self::IntoFuture {
        self.add().boxed()
    }
}
