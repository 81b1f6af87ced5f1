//! A sender who spoke before it was known who they are: nothing said then changes, and one person takes
//! part once.

use std::sync::{Arc, Mutex};

use roomkit_core::RoomKit;
use roomkit_core::hook::OnParticipantIdentified;
use roomkit_core::model::{
    ChannelType, EditContent, EventContent, IdentificationStatus, Identity, InboundMessage,
    Metadata, ParticipantRole, ParticipantStatus, TextContent,
};

use super::identity_outcomes::STRANGER;
use super::support::{Transport, room_of, say, shared};

/// A kit that knows people by the addresses it stores, with room `r` and channels `sms` and `desk`.
async fn storing() -> RoomKit {
    let kit = RoomKit::builder().stored_identities().build().unwrap();
    let sms = Transport::new("sms").of_type(ChannelType::Sms);
    room_of(&kit, vec![shared(&sms), shared(&Transport::new("desk"))]).await;
    kit
}

async fn is_known_as(kit: &RoomKit, id: &str) {
    kit.save_identity(Identity::new(id)).await.unwrap();
    kit.link_address(id, ChannelType::Sms, STRANGER)
        .await
        .unwrap();
}

/// Everybody of whom the room has a record, with their status.
async fn roster(kit: &RoomKit) -> Vec<(String, ParticipantStatus)> {
    let people = kit.participants("r").await.unwrap();
    let people = people.iter();
    people.map(|one| (one.id.to_string(), one.status)).collect()
}

async fn send(kit: &RoomKit, text: &str) -> String {
    let sent = kit.process_inbound(say("sms", STRANGER, text)).await;
    let event = sent.unwrap().event.unwrap();
    event.source.participant_id.clone().unwrap().to_string()
}

type Told = Arc<Mutex<Vec<Metadata>>>;

fn listen(kit: &RoomKit) -> Told {
    let told = Told::default();
    let heard = Arc::clone(&told);
    kit.observe(OnParticipantIdentified, "hears", move |event, _| {
        if let EventContent::System(notice) = &event.content {
            assert_eq!(notice.code.as_deref(), Some("participant_identified"));
            heard.lock().unwrap().push(notice.data.clone());
        }
        async {}
    });
    told
}

#[tokio::test]
async fn the_record_of_an_address_makes_way_for_the_person_behind_it() {
    use ParticipantStatus::{Active, Inactive};
    let kit = storing().await;
    let first = kit.process_inbound(say("sms", STRANGER, "hi")).await;
    let first = first.unwrap().event.unwrap();
    assert_eq!(roster(&kit).await, [(STRANGER.to_owned(), Active)]);
    is_known_as(&kit, "alice").await;
    let events = kit.room("r").await.unwrap().event_count;
    assert_eq!(send(&kit, "it is me").await, "alice");
    let merged = [
        (STRANGER.to_owned(), Inactive),
        ("alice".to_owned(), Active),
    ];
    assert_eq!(roster(&kit).await, merged);
    let members = kit.members("r").await.unwrap();
    assert_eq!(members.len(), 1, "one person takes part once");
    assert_eq!(kit.room("r").await.unwrap().event_count, events + 1);
    // What was said stays whose it was, and theirs to change.
    assert_eq!(
        kit.event("r", &first.id).await.unwrap().source,
        first.source
    );
    let words = EventContent::Text(TextContent::new("hello"));
    let edit = EventContent::Edit(EditContent::new(first.id.clone(), words));
    let edit = InboundMessage::new("sms", STRANGER, edit).in_room("r");
    assert!(!kit.process_inbound(edit).await.unwrap().blocked);
    assert_eq!(roster(&kit).await, merged, "and again nothing happens");
}

#[tokio::test]
async fn hooks_are_told_once_that_a_sender_is_identified() {
    let kit = storing().await;
    let told = listen(&kit);
    send(&kit, "hi").await;
    is_known_as(&kit, "alice").await;
    for _ in 0..3 {
        send(&kit, "it is me").await;
    }
    kit.wait_idle().await;
    let expected = Metadata::new()
        .with("participant_id", "alice")
        .with("identity_id", "alice")
        .with("resolved_by", "auto")
        .with("replaces", STRANGER);
    assert_eq!(*told.lock().unwrap(), [expected]);
}

#[tokio::test]
async fn hooks_are_told_of_who_never_spoke_under_an_address() {
    let kit = storing().await;
    let told = listen(&kit);
    is_known_as(&kit, "alice").await;
    send(&kit, "hi").await;
    kit.wait_idle().await;
    let told = told.lock().unwrap().clone();
    assert_eq!(told.len(), 1);
    assert_eq!(told[0].get("replaces"), None);
    assert_eq!(roster(&kit).await.len(), 1);
}

/// Of a record that somebody else may be behind, or that the application has made something of,
/// nothing is taken.
#[tokio::test]
async fn a_record_that_is_more_than_an_address_stays() {
    use ParticipantStatus::{Active, Banned};
    let kit = storing().await;
    for channel in ["sms", "desk"] {
        let message = say(channel, STRANGER, "hi");
        kit.process_inbound(message).await.unwrap();
    }
    // The desk's senders have no addresses: who sends under that text there is somebody else.
    let own = kit.ensure_participant("r", "desk", STRANGER, None).await;
    assert_eq!(own.unwrap().connected_via.len(), 2);
    is_known_as(&kit, "alice").await;
    send(&kit, "it is me").await;
    assert_eq!(roster(&kit).await[0].1, Active);

    let kit = storing().await;
    send(&kit, "hi").await;
    let role = ParticipantRole::Owner;
    kit.set_member_role("r", STRANGER, role).await.unwrap();
    is_known_as(&kit, "alice").await;
    send(&kit, "it is me").await;
    assert_eq!(roster(&kit).await[0].1, Active);

    let kit = storing().await;
    send(&kit, "hi").await;
    kit.ban_member("r", STRANGER).await.unwrap();
    is_known_as(&kit, "alice").await;
    send(&kit, "it is me").await;
    assert_eq!(roster(&kit).await[0].1, Banned);
}

#[tokio::test]
async fn an_address_that_is_nobodys_again_has_its_record_back() {
    use ParticipantStatus::{Active, Inactive};
    let known: Arc<Mutex<bool>> = Arc::default();
    let asks = Arc::clone(&known);
    let kit = super::identity_outcomes::answering(roomkit_core::model::IdentityResult::new(
        IdentificationStatus::Pending,
    ))
    .build()
    .unwrap();
    room_of(&kit, vec![shared(&Transport::new("sms"))]).await;
    kit.hook(
        roomkit_core::hook::OnIdentityAmbiguous,
        "sometimes",
        move |_, _| {
            let known = *asks.lock().unwrap();
            async move {
                known
                    .then(|| roomkit_core::hook::IdentityDecision::Resolved(Identity::new("alice")))
            }
        },
    );
    send(&kit, "hi").await;
    *known.lock().unwrap() = true;
    send(&kit, "it is me").await;
    assert_eq!(roster(&kit).await[0].1, Inactive);
    *known.lock().unwrap() = false;
    assert_eq!(send(&kit, "somebody else").await, STRANGER);
    assert_eq!(roster(&kit).await[0].1, Active);
    let again = kit.participant("r", STRANGER).await.unwrap();
    assert_eq!(again.metadata.get("_replaced_by"), None);
}
