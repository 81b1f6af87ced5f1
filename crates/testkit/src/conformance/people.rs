//! The steps about the people of a room.

use roomkit_core::model::Participant;
use serde_json::{Value, json};

use super::build::Stage;
use super::run::Trouble;
use super::scenario::Step;

impl Stage {
    /// Does a step about people.
    pub(super) async fn people(&self, step: &Step) -> Result<Option<Value>, Trouble> {
        let kit = &self.rooms;
        match step {
            Step::AddMember(spec) => {
                let room = self.room(&spec.room).await?;
                let mut call = kit.add_member(room, &spec.channel, &spec.participant);
                if let Some(name) = &spec.display_name {
                    call = call.display_name(name);
                }
                if let Some(role) = spec.role {
                    call = call.role(role);
                }
                if let Some(identity) = &spec.identity {
                    call = call.identity(identity);
                }
                call.await?;
            }
            Step::EnsureParticipant(spec) => {
                let room = self.room(&spec.room).await?;
                let name = spec.display_name.as_deref();
                kit.ensure_participant(room, &spec.channel, &spec.participant, name)
                    .await?;
            }
            Step::RemoveMember(of) => {
                let room = self.room(&of.room).await?;
                kit.remove_member(room, &of.participant).await?;
            }
            Step::BanMember(of) => {
                let room = self.room(&of.room).await?;
                kit.ban_member(room, &of.participant).await?;
            }
            Step::UnbanMember(of) => {
                let room = self.room(&of.room).await?;
                kit.unban_member(room, &of.participant).await?;
            }
            Step::RenameMember(spec) => {
                let room = self.room(&spec.room).await?;
                kit.rename_member(room, &spec.participant, &spec.display_name)
                    .await?;
            }
            Step::SetMemberRole(spec) => {
                let room = self.room(&spec.room).await?;
                kit.set_member_role(room, &spec.participant, spec.role)
                    .await?;
            }
            Step::ResolveParticipant(spec) => {
                let room = self.room(&spec.room).await?;
                kit.resolve_participant(room, &spec.participant, &spec.identity)
                    .await?;
            }
            Step::Participants(of) => {
                let people = kit.participants(self.room(&of.room).await?).await?;
                let people: Vec<_> = people.iter().map(show).collect();
                return Ok(Some(json!({ "participants": people })));
            }
            _ => {}
        }
        Ok(None)
    }
}

fn show(person: &Participant) -> Value {
    json!({
        "id": person.id,
        "display_name": person.display_name,
        "role": person.role,
        "status": person.status,
        "identification": person.identification,
        "identity": person.identity_id,
        "candidates": person.candidates,
        "channels": person.connected_via,
    })
}
