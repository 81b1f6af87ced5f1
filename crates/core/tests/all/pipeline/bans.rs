//! Bans: what a banned participant sends is refused, whatever way it comes.

use std::sync::Arc;

use async_trait::async_trait;
use roomkit_core::model::{
    Identity, IdentityResult, InboundMessage, ParticipantStatus, TextContent,
};
use roomkit_core::{IdentityResolver, Result, RoomContext, RoomKit};

use super::support::{Agent, Transport, room_of, say, shared, timeline_texts};

const BARRED: Option<&str> = Some("participant_not_admitted");

async fn said(kit: &RoomKit, channel: &str, sender: &str, text: &str) -> Option<String> {
    let result = kit.process_inbound(say(channel, sender, text)).await;
    let result = result.unwrap();
    assert_eq!(result.event.is_none(), result.blocked, "nothing is stored");
    result.reason
}

#[tokio::test]
async fn a_banned_participant_is_refused_over_every_channel_until_the_ban_is_lifted() {
    let kit = RoomKit::new();
    let (sms, email) = (Transport::new("sms"), Transport::new("email"));
    let agent = Agent::says("agent", "noted");
    room_of(&kit, vec![shared(&sms), shared(&email), shared(&agent)]).await;
    for text in ["one", "two"] {
        assert_eq!(said(&kit, "sms", "mallory", text).await, None);
    }
    let heard = agent.heard().len();
    let banned = kit.ban_member("r", "mallory").await.unwrap();
    assert_eq!(banned.status, ParticipantStatus::Banned);
    let before = kit.timeline("r", 0, 99).await.unwrap();
    for channel in ["sms", "email"] {
        assert_eq!(
            said(&kit, channel, "mallory", "three").await.as_deref(),
            BARRED
        );
    }
    let direct = kit
        .send_event("r", "sms", TextContent::new("four"))
        .participant("mallory")
        .await;
    assert_eq!(direct.unwrap_err().code(), "participant_not_admitted");
    let joined = kit.add_member("r", "sms", "mallory").await;
    assert_eq!(joined.unwrap_err().code(), "participant_not_admitted");
    assert_eq!(kit.timeline("r", 0, 99).await.unwrap(), before);
    assert_eq!(agent.heard().len(), heard);
    assert_eq!(
        said(&kit, "sms", "alice", "me too?").await,
        None,
        "others may"
    );
    // A departure is no amnesty, and a second ban changes nothing.
    for again in [
        kit.remove_member("r", "mallory").await,
        kit.ban_member("r", "mallory").await,
        kit.ensure_participant("r", "sms", "mallory", None).await,
    ] {
        assert_eq!(again.unwrap(), banned);
    }

    let lifted = kit.unban_member("r", "mallory").await.unwrap();
    assert_eq!(lifted.status, ParticipantStatus::Left);
    assert_eq!(kit.unban_member("r", "mallory").await.unwrap(), lifted);
    assert_eq!(said(&kit, "email", "mallory", "sorry").await, None);
    kit.add_member("r", "sms", "mallory").await.unwrap();
    assert_eq!(kit.members("r").await.unwrap().len(), 2);
    assert!(timeline_texts(&kit).await.contains(&"sorry".to_owned()));
}

#[tokio::test]
async fn a_ban_holds_in_its_room_and_for_its_participant_alone() {
    let kit = RoomKit::new();
    room_of(&kit, vec![shared(&Transport::new("sms"))]).await;
    kit.create_room("s").await.unwrap();
    kit.attach_channel("s", "sms").await.unwrap();
    for person in ["mallory", "eve"] {
        kit.add_member("r", "sms", person).await.unwrap();
        kit.ban_member("r", person).await.unwrap();
    }
    kit.unban_member("r", "eve").await.unwrap();
    assert_eq!(said(&kit, "sms", "eve", "hi").await, None);
    assert_eq!(said(&kit, "sms", "mallory", "hi").await.as_deref(), BARRED);
    let elsewhere = InboundMessage::text("sms", "mallory", "hi").in_room("s");
    assert!(!kit.process_inbound(elsewhere).await.unwrap().blocked);
}

/// What was answered before the ban is answered the same way again; an edit is a message too.
#[tokio::test]
async fn a_repeat_is_what_it_was_and_an_edit_is_refused() {
    use roomkit_core::model::EventContent;
    let kit = RoomKit::new();
    room_of(&kit, vec![shared(&Transport::new("sms"))]).await;
    let first = say("sms", "mallory", "hi").idempotency_key("k");
    let first = kit.process_inbound(first.clone()).await.unwrap();
    kit.ban_member("r", "mallory").await.unwrap();
    let again = say("sms", "mallory", "hi").idempotency_key("k");
    assert_eq!(kit.process_inbound(again).await.unwrap(), first);
    let target = first.event.unwrap().id.clone();
    let edit = EventContent::edit(target, EventContent::text("worse"));
    let edit = InboundMessage::new("sms", "mallory", edit).in_room("r");
    let refused = kit.process_inbound(edit).await.unwrap();
    assert_eq!(refused.reason.as_deref(), BARRED);
    assert_eq!(timeline_texts(&kit).await, ["hi"]);
}

/// A message that is refused attaches nothing.
#[tokio::test]
async fn a_banned_participant_brings_in_no_channel() {
    let kit = RoomKit::new();
    room_of(&kit, vec![shared(&Transport::new("sms"))]).await;
    kit.register_channel(Transport::new("web")).unwrap();
    kit.add_member("r", "sms", "mallory").await.unwrap();
    kit.ban_member("r", "mallory").await.unwrap();
    assert_eq!(said(&kit, "web", "mallory", "hi").await.as_deref(), BARRED);
    assert_eq!(kit.bindings("r").await.unwrap().len(), 1);
}

/// Knows everybody by the address they have in this table.
#[derive(Debug)]
struct Directory(&'static [(&'static str, &'static str)]);

#[async_trait]
impl IdentityResolver for Directory {
    async fn resolve(
        &self,
        message: &InboundMessage,
        _context: &RoomContext,
    ) -> Result<IdentityResult> {
        let mut known = self.0.iter();
        let found = known.find(|(address, _)| message.sender_id == *address);
        Ok(found.map_or_else(IdentityResult::unknown, |(_, id)| {
            IdentityResult::identified(Identity::new(*id))
        }))
    }
}

#[tokio::test]
async fn a_person_who_is_banned_is_banned_under_every_address() {
    let directory = Directory(&[
        ("+1", "mallory"),
        ("m@x.example", "mallory"),
        ("+2", "alice"),
    ]);
    let kit = RoomKit::builder()
        .identity(Arc::new(directory))
        .build()
        .unwrap();
    let (sms, email) = (Transport::new("sms"), Transport::new("email"));
    room_of(&kit, vec![shared(&sms), shared(&email)]).await;
    assert_eq!(said(&kit, "sms", "+1", "hi").await, None);
    kit.ban_member("r", "mallory").await.unwrap();
    assert_eq!(said(&kit, "sms", "+1", "hi").await.as_deref(), BARRED);
    assert_eq!(
        said(&kit, "email", "m@x.example", "hi").await.as_deref(),
        BARRED
    );
    assert_eq!(said(&kit, "sms", "+2", "hi").await, None);
    kit.unban_member("r", "mallory").await.unwrap();

    // Under another participant's id as well, where that is known to be the same person.
    kit.add_member("r", "email", "m2")
        .identity("mallory")
        .await
        .unwrap();
    kit.ban_member("r", "m2").await.unwrap();
    assert_eq!(said(&kit, "sms", "+1", "hi").await.as_deref(), BARRED);
    assert_eq!(said(&kit, "sms", "+2", "hi").await, None);
}
