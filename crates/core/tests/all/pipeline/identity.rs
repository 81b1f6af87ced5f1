//! Who a sender is: what is stored of them, and what becomes of those whom nobody knows.

use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use roomkit_core::hook::{
    Hook, IdentityDecision, OnIdentityAmbiguous, OnIdentityUnknown, RoomHooks,
};
use roomkit_core::model::{
    ChannelId, ChannelType, EventContent, IdentificationStatus, Identity, IdentityResult,
    InboundMessage, Participant, ParticipantRole, Room,
};
use roomkit_core::store::RoomCommit;
use roomkit_core::{IdentityResolver, Result, RoomContext, RoomKit};

use super::support::{Transport, room_of, say, shared};

/// Gives the same answer about everybody.
#[derive(Debug)]
struct Says(IdentityResult);

#[async_trait]
impl IdentityResolver for Says {
    async fn resolve(
        &self,
        _message: &InboundMessage,
        _context: &RoomContext,
    ) -> Result<IdentityResult> {
        Ok(self.0.clone())
    }
}

async fn person(kit: &RoomKit) -> Participant {
    let found = kit.store().participant(&"r".into(), &"alice".into()).await;
    found.unwrap().unwrap()
}

#[tokio::test]
async fn a_person_who_comes_over_another_channel_stays_what_they_are_in_the_room() {
    let alice = IdentityResult::identified(Identity::new("alice"));
    let kit = RoomKit::builder()
        .identity(Arc::new(Says(alice)))
        .build()
        .unwrap();
    let sms = Transport::new("sms").of_type(ChannelType::Sms);
    let email = Transport::new("email").of_type(ChannelType::Email);
    room_of(&kit, vec![shared(&sms), shared(&email)]).await;
    let said = kit.process_inbound(say("sms", "+15550001111", "hi")).await;
    let said = said.unwrap().event.unwrap();

    let mut owner = person(&kit).await;
    owner.role = ParticipantRole::Owner;
    owner.display_name = Some("Alice".to_owned());
    owner.metadata.insert("vip", true);
    let mut commit = RoomCommit::new("r".into(), None, said.created_at);
    commit.participants.push(owner.clone());
    kit.store().commit(commit.into()).await.unwrap();

    kit.process_inbound(say("email", "alice@example.com", "me again"))
        .await
        .unwrap();
    owner.connected_via = ["sms", "email"].map(ChannelId::from).to_vec();
    assert_eq!(person(&kit).await, owner);

    let edit = EventContent::edit(said.id.clone(), EventContent::text("hello"));
    let edit = InboundMessage::new("email", "alice@example.com", edit).in_room("r");
    assert_eq!(kit.process_inbound(edit).await.unwrap().reason, None);
}

#[derive(Debug)]
struct Strict;

#[async_trait]
impl RoomHooks for Strict {
    async fn hooks_of(&self, _room: &Room) -> Result<Vec<Hook>> {
        let reject = |_, _| async {
            IdentityDecision::Reject {
                reason: "members only".to_owned(),
            }
        };
        Ok(vec![Hook::new(OnIdentityUnknown, "members_only", reject)])
    }
}

#[tokio::test]
async fn a_rooms_own_identity_hooks_hold_for_its_first_message() {
    let kit = RoomKit::builder()
        .identity(Arc::new(Says(IdentityResult::unknown())))
        .room_hooks(Arc::new(Strict))
        .build()
        .unwrap();
    room_of(&kit, vec![shared(&Transport::new("a"))]).await;
    let result = kit.process_inbound(say("a", "stranger", "hi")).await;
    assert_eq!(result.unwrap().reason.as_deref(), Some("identity_rejected"));
}

#[tokio::test]
async fn a_challenge_reaches_a_sender_who_is_new_to_the_room() {
    let mut challenge = IdentityResult::new(IdentificationStatus::ChallengeSent);
    challenge.message = Some("Who are you?".to_owned());
    let kit = RoomKit::builder()
        .identity(Arc::new(Says(challenge)))
        .build()
        .unwrap();
    let sms = Transport::new("sms");
    kit.register_channel(sms.clone()).unwrap();
    for times in 1..3 {
        let message = InboundMessage::text("sms", "+15550001111", "hi");
        let result = kit.process_inbound(message).await.unwrap();
        assert_eq!(result.reason.as_deref(), Some("identity_challenge_sent"));
        assert_eq!(sms.texts(), vec!["Who are you?"; times]);
    }
}

/// As everywhere, a hook that decides and fails is told of, and the message goes its way.
#[tokio::test]
async fn a_hook_about_a_stranger_that_fails_is_told_of() {
    for (status, trigger) in [
        (IdentificationStatus::Unknown, "on_identity_unknown"),
        (IdentificationStatus::Ambiguous, "on_identity_ambiguous"),
    ] {
        let kit = RoomKit::builder()
            .identity(Arc::new(Says(IdentityResult::new(status))))
            .build()
            .unwrap();
        room_of(&kit, vec![shared(&Transport::new("sms"))]).await;
        let told: Arc<Mutex<Vec<String>>> = Arc::default();
        let heard = Arc::clone(&told);
        kit.on("hook_error", move |event| {
            let data = |key| event.data.get_str(key).unwrap().to_owned();
            let line = [data("hook_name"), data("trigger"), data("error")].join(" ");
            heard.lock().unwrap().push(line);
            async {}
        });
        kit.hook(OnIdentityUnknown, "registry", |_, _| async {
            Err::<Option<IdentityDecision>, _>("is down")
        });
        kit.hook(OnIdentityAmbiguous, "registry", |_, _| async {
            Err::<Option<IdentityDecision>, _>("is down")
        });
        let result = kit.process_inbound(say("sms", "+15550001111", "hi")).await;
        assert!(!result.unwrap().blocked, "{trigger}");
        kit.wait_idle().await;
        assert_eq!(
            *told.lock().unwrap(),
            [format!("registry {trigger} is down")]
        );
    }
}

/// Knows a sender by address, and nobody else.
#[derive(Debug)]
struct Knows(&'static str, &'static str);

#[async_trait]
impl IdentityResolver for Knows {
    async fn resolve(
        &self,
        message: &InboundMessage,
        _context: &RoomContext,
    ) -> Result<IdentityResult> {
        let knows = message.sender_id == *self.0;
        Ok(if knows {
            IdentityResult::identified(Identity::new(self.1))
        } else {
            IdentityResult::unknown()
        })
    }
}

fn knowing(address: &'static str, identity: &'static str) -> RoomKit {
    RoomKit::builder()
        .identity(Arc::new(Knows(address, identity)))
        .build()
        .unwrap()
}

/// Whose message it became.
async fn author(kit: &RoomKit, channel: &str, sender: &str) -> String {
    let said = kit.process_inbound(say(channel, sender, "hi")).await;
    let source = said.unwrap().event.unwrap().source.clone();
    source.participant_id.unwrap().to_string()
}

async fn edits(kit: &RoomKit, channel: &str, sender: &str, index: usize) -> Option<String> {
    let target = kit.timeline("r", index, 1).await.unwrap()[0].id.clone();
    let edit = EventContent::edit(target, EventContent::text("changed"));
    let edit = InboundMessage::new(channel, sender, edit).in_room("r");
    kit.process_inbound(edit).await.unwrap().reason
}

async fn two_channels(kit: &RoomKit) {
    let sms = Transport::new("sms").of_type(ChannelType::Sms);
    room_of(kit, vec![shared(&sms), shared(&Transport::new("ws"))]).await;
}

#[tokio::test]
async fn a_sender_who_has_the_id_of_a_known_person_is_somebody_else() {
    let kit = knowing("+1", "alice");
    two_channels(&kit).await;
    assert_eq!(author(&kit, "sms", "+1").await, "alice");
    assert_eq!(author(&kit, "ws", "alice").await, "ws:alice");
    // Also over the very channel by which the person was found: that was by another address.
    assert_eq!(author(&kit, "sms", "alice").await, "sms:alice");
    let alice = person(&kit).await;
    assert_eq!(alice.connected_via, ["sms"]);
    let other = kit.participant("r", "ws:alice").await.unwrap();
    assert_eq!((other.identity_id, other.connected_via.len()), (None, 1));

    let not_theirs = Some("not_original_author");
    assert_eq!(edits(&kit, "ws", "alice", 2).await.as_deref(), not_theirs);
    assert_eq!(edits(&kit, "sms", "alice", 2).await.as_deref(), not_theirs);
    assert_eq!(edits(&kit, "sms", "+1", 3).await.as_deref(), not_theirs);
    assert_eq!(edits(&kit, "sms", "+1", 2).await, None);
    assert_eq!(edits(&kit, "ws", "alice", 3).await, None, "their own");
}

#[tokio::test]
async fn who_had_the_id_before_it_was_known_is_not_taken_for_the_person() {
    let kit = knowing("+1", "alice");
    two_channels(&kit).await;
    assert_eq!(author(&kit, "ws", "alice").await, "alice");
    assert_eq!(author(&kit, "sms", "+1").await, "alice");
    assert_eq!(author(&kit, "ws", "alice").await, "ws:alice");
    let not_theirs = Some("not_original_author");
    assert_eq!(edits(&kit, "ws", "alice", 3).await.as_deref(), not_theirs);
    assert_eq!(edits(&kit, "sms", "+1", 2).await.as_deref(), not_theirs);
    assert_eq!(edits(&kit, "sms", "+1", 3).await, None);
}

/// The application's word that a channel leads to the participant counts, whenever it is given.
#[tokio::test]
async fn a_channel_that_the_application_has_named_leads_to_the_person() {
    let kit = knowing("+1", "alice");
    two_channels(&kit).await;
    kit.add_member("r", "ws", "alice").await.unwrap();
    assert_eq!(author(&kit, "sms", "+1").await, "alice");
    assert_eq!(author(&kit, "ws", "alice").await, "alice");
    assert_eq!(edits(&kit, "ws", "alice", 3).await, None);

    let kit = knowing("+1", "alice");
    two_channels(&kit).await;
    assert_eq!(author(&kit, "sms", "+1").await, "alice");
    assert_eq!(author(&kit, "ws", "alice").await, "ws:alice");
    kit.ensure_participant("r", "ws", "alice", None)
        .await
        .unwrap();
    assert_eq!(author(&kit, "ws", "alice").await, "alice");

    let kit = knowing("+1", "alice");
    two_channels(&kit).await;
    assert_eq!(author(&kit, "sms", "+1").await, "alice");
    kit.attach_channel("r", "ws")
        .participant("alice")
        .await
        .unwrap();
    assert_eq!(author(&kit, "ws", "alice").await, "alice");
}

/// Whom the resolver knows under the participant's own id needs no second answer.
#[tokio::test]
async fn an_id_that_the_resolver_knows_is_the_persons_own() {
    let kit = knowing("alice", "alice");
    two_channels(&kit).await;
    for channel in ["ws", "ws", "sms", "ws"] {
        assert_eq!(author(&kit, channel, "alice").await, "alice");
    }
    assert_eq!(person(&kit).await.connected_via, ["ws", "sms"]);
    assert_eq!(edits(&kit, "sms", "alice", 2).await, None);
}

/// Without a resolver it is the application that says who somebody is.
#[tokio::test]
async fn a_known_member_is_not_everybody_with_the_same_id() {
    let kit = RoomKit::new();
    two_channels(&kit).await;
    kit.add_member("r", "sms", "alice")
        .identity("id-1")
        .await
        .unwrap();
    assert_eq!(author(&kit, "sms", "alice").await, "alice");
    assert_eq!(author(&kit, "ws", "alice").await, "ws:alice");
    let not_theirs = Some("not_original_author");
    assert_eq!(edits(&kit, "ws", "alice", 3).await.as_deref(), not_theirs);
    kit.ensure_participant("r", "ws", "alice", None)
        .await
        .unwrap();
    assert_eq!(edits(&kit, "ws", "alice", 3).await, None);
}
