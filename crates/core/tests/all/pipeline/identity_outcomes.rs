//! What becomes of a message by what is known of its sender and by what a hook decides.

use std::sync::{Arc, Mutex};

use roomkit_core::hook::{
    IdentityDecision, InjectedEvent, OnIdentityAmbiguous, OnIdentityUnknown, OnRoomCreated,
};
use roomkit_core::model::{
    ChannelId, ChannelType, EventContent, IdentificationStatus, Identity, IdentityResult,
    InboundMessage, InboundResult, TextContent,
};
use roomkit_core::store::{Page, RoomFilter};
use roomkit_core::{Error, RoomContext, RoomKit, RoomKitBuilder};
use roomkit_testkit::MockIdentityResolver;

use super::support::{Transport, room_of, say, shared, timeline_texts};

pub(super) const STRANGER: &str = "+15550100004";

/// What a hook may return, one of each kind, and nothing.
fn decisions() -> Vec<Option<IdentityDecision>> {
    let question = InjectedEvent::new(EventContent::text("Who are you?"), [] as [ChannelId; 0]);
    let all = vec![
        None,
        Some(IdentityDecision::Resolved(Identity::new("hooked"))),
        Some(IdentityDecision::Pending {
            display_name: Some("Somebody".to_owned()),
            candidates: vec![Identity::new("maybe")],
        }),
        Some(IdentityDecision::Challenge(question)),
        Some(IdentityDecision::Reject {
            reason: "members only".to_owned(),
        }),
        Some(IdentityDecision::Create(Identity::new("created"))),
    ];
    for decision in all.iter().flatten() {
        // A kind that is added is a cell of the tables below.
        match decision {
            IdentityDecision::Resolved(_)
            | IdentityDecision::Pending { .. }
            | IdentityDecision::Challenge(_)
            | IdentityDecision::Reject { .. }
            | IdentityDecision::Create(_) => {}
        }
    }
    all
}

fn answer(status: IdentificationStatus) -> IdentityResult {
    match status {
        IdentificationStatus::Identified => IdentityResult::identified(Identity::new("found")),
        IdentificationStatus::Ambiguous => {
            IdentityResult::ambiguous([Identity::new("one"), Identity::new("two")])
        }
        status => IdentityResult::new(status),
    }
}

pub(super) fn resolving(resolver: MockIdentityResolver) -> RoomKitBuilder {
    RoomKit::builder().identity(Arc::new(resolver))
}

pub(super) fn answering(result: IdentityResult) -> RoomKitBuilder {
    resolving(MockIdentityResolver::new().otherwise(result))
}

/// A hook at both points that always decides the same.
pub(super) fn decide(kit: &RoomKit, decision: &Option<IdentityDecision>) {
    let given = decision.clone();
    kit.hook(OnIdentityUnknown, "gate", move |_, _| {
        let given = given.clone();
        async move { given }
    });
    let given = decision.clone();
    kit.hook(OnIdentityAmbiguous, "gate", move |_, _| {
        let given = given.clone();
        async move { given }
    });
}

/// What a message came to: its reason, else whose it became, as what, and who found that out.
async fn outcome(kit: &RoomKit, result: &InboundResult) -> String {
    let Some(event) = &result.event else {
        let told = timeline_texts(kit).await.join(" ");
        let people = kit.participants("r").await.unwrap();
        let people = people.iter().map(|one| one.identification.to_string());
        let people = people.collect::<Vec<_>>().join(" ");
        return format!("{} [{told}] [{people}]", result.reason.as_deref().unwrap());
    };
    let id = event.source.participant_id.clone().unwrap();
    let person = kit.participant("r", id).await.unwrap();
    let candidates = person.candidates.unwrap_or_default();
    let by = person.resolved_by.unwrap_or_default();
    format!("{} {} {by}{candidates:?}", person.id, person.identification)
}

#[tokio::test]
async fn every_decision_of_a_hook_counts_whatever_the_resolver_has_said() {
    use IdentificationStatus::{Ambiguous, ChallengeSent, Identified, Pending, Rejected, Unknown};
    let mut cells = 0;
    for &status in IdentificationStatus::ALL {
        for decision in decisions() {
            let kit = answering(answer(status)).build().unwrap();
            let sms = Transport::new("sms").of_type(ChannelType::Sms);
            room_of(&kit, vec![shared(&sms), shared(&Transport::new("desk"))]).await;
            decide(&kit, &decision);
            let message = say("sms", STRANGER, "the invoice, please");
            let got = kit.process_inbound(message).await.unwrap();
            let got = outcome(&kit, &got).await;
            let challenged = "identity_challenge_sent [Who are you?] [challenge_sent]";
            let expected = match (status, &decision) {
                // These two are the resolver's to say, and no hook is asked.
                (Identified, _) => "found identified auto[]".to_owned(),
                (ChallengeSent, _) => "identity_challenge_sent [] [challenge_sent]".to_owned(),
                (_, Some(IdentityDecision::Resolved(_))) => "hooked identified gate[]".to_owned(),
                (_, Some(IdentityDecision::Create(_))) => "created identified gate[]".to_owned(),
                (_, Some(IdentityDecision::Pending { .. })) => {
                    format!("{STRANGER} pending [\"maybe\"]")
                }
                (_, Some(IdentityDecision::Challenge(_))) => challenged.to_owned(),
                (_, Some(IdentityDecision::Reject { .. })) => "identity_rejected [] []".to_owned(),
                (Ambiguous, None) => format!("{STRANGER} ambiguous [\"one\", \"two\"]"),
                (Pending | Unknown, None) => format!("{STRANGER} pending []"),
                (Rejected, None) => "identity_rejected [] []".to_owned(),
                (status, None) => panic!("{status} has no cell"),
            };
            assert_eq!(
                got.replace("IdentityId", "").replace(['(', ')'], ""),
                expected,
                "{status} {decision:?}"
            );
            let asked = got.contains("Who are you?");
            assert_eq!(sms.texts().len(), usize::from(asked), "{status}");
            cells += 1;
        }
    }
    assert_eq!(cells, 36);
}

#[tokio::test]
async fn what_the_application_says_is_nobodys_to_question() {
    for &status in IdentificationStatus::ALL {
        for decision in decisions() {
            let resolver = MockIdentityResolver::new().otherwise(answer(status));
            let kit = resolving(resolver.clone()).build().unwrap();
            room_of(&kit, vec![shared(&Transport::new("sms"))]).await;
            decide(&kit, &decision);
            let sent = kit.send_event("r", "sms", TextContent::new("hi"));
            let sent = sent.participant(STRANGER).await.unwrap();
            assert_eq!(sent.source.participant_id, Some(STRANGER.into()));
            assert!(resolver.asked().is_empty());
        }
    }
}

#[tokio::test]
async fn a_challenged_sender_goes_on_once_they_have_answered() {
    let kit = RoomKit::builder().stored_identities().build().unwrap();
    let sms = Transport::new("sms").of_type(ChannelType::Sms);
    let desk = Transport::new("desk");
    room_of(&kit, vec![shared(&sms), shared(&desk)]).await;
    let new = Identity::new("alice");
    kit.hook(OnIdentityUnknown, "code", move |case, _| {
        let new = new.clone();
        async move {
            if case.event.text() == Some("4711") {
                return IdentityDecision::Create(new);
            }
            let question = EventContent::text("Your code?");
            IdentityDecision::Challenge(InjectedEvent::new(question, [] as [ChannelId; 0]))
        }
    });
    let mut reasons = Vec::new();
    for text in ["the invoice, please", "4711", "the invoice, please"] {
        let result = kit.process_inbound(say("sms", STRANGER, text)).await;
        reasons.push(result.unwrap().reason);
    }
    assert_eq!(
        reasons,
        [Some("identity_challenge_sent".to_owned()), None, None]
    );
    assert_eq!(sms.texts(), ["Your code?"], "nobody else is asked");
    assert_eq!(desk.texts(), ["4711", "the invoice, please"]);
    let people = kit.participants("r").await.unwrap();
    let people: Vec<_> = people
        .iter()
        .map(|one| (one.id.as_str(), one.identification))
        .collect();
    let known = ("alice", IdentificationStatus::Identified);
    assert_eq!(
        people,
        [(STRANGER, IdentificationStatus::ChallengeSent), known]
    );
    let members = kit.members("r").await.unwrap();
    let members: Vec<_> = members.iter().map(|one| one.id.as_str()).collect();
    assert_eq!(members, ["alice"], "one person takes part once");
}

pub(super) fn challenge(kit: &RoomKit) {
    kit.hook(OnIdentityUnknown, "gate", |_, _| async {
        let question = EventContent::text("Who are you?");
        IdentityDecision::Challenge(InjectedEvent::new(question, [] as [ChannelId; 0]))
    });
}

#[tokio::test]
async fn a_message_that_the_provider_repeats_is_challenged_once() {
    let kit = answering(IdentityResult::unknown()).build().unwrap();
    let sms = Transport::new("sms");
    room_of(&kit, vec![shared(&sms)]).await;
    challenge(&kit);
    for _ in 0..3 {
        let message = say("sms", STRANGER, "hi").idempotency_key("SM1");
        let result = kit.process_inbound(message).await.unwrap();
        assert_eq!(result.reason.as_deref(), Some("identity_challenge_sent"));
    }
    assert_eq!(sms.texts(), ["Who are you?"]);
    let other = say("sms", STRANGER, "hello?").idempotency_key("SM2");
    kit.process_inbound(other).await.unwrap();
    assert_eq!(sms.texts().len(), 2);
}

#[tokio::test]
async fn a_repeat_of_what_was_taken_is_answered_as_before_whatever_the_hook_says_now() {
    for decision in decisions() {
        let kit = answering(IdentityResult::unknown()).build().unwrap();
        let sms = Transport::new("sms");
        room_of(&kit, vec![shared(&sms)]).await;
        let message = || say("sms", STRANGER, "hi").idempotency_key("SM1");
        let first = kit.process_inbound(message()).await.unwrap();
        decide(&kit, &decision);
        let again = kit.process_inbound(message()).await.unwrap();
        assert_eq!((again.event, again.reason), (first.event, None));
        assert!(sms.texts().is_empty());
    }
}

#[tokio::test]
async fn the_answer_to_a_challenge_finds_the_room_of_the_challenge() {
    let kit = answering(IdentityResult::unknown()).build().unwrap();
    kit.register_channel(Transport::new("sms")).unwrap();
    // The channel alone does not say which room is meant.
    for room in ["r", "s"] {
        kit.create_room(room).await.unwrap();
        kit.attach_channel(room, "sms").await.unwrap();
    }
    let rooms: Arc<Mutex<Vec<String>>> = Arc::default();
    let seen = Arc::clone(&rooms);
    kit.hook(OnIdentityUnknown, "gate", move |_, context: RoomContext| {
        seen.lock().unwrap().push(context.room_id().to_string());
        async {
            let question = EventContent::text("Who are you?");
            IdentityDecision::Challenge(InjectedEvent::new(question, [] as [ChannelId; 0]))
        }
    });
    for _ in 0..3 {
        let message = InboundMessage::text("sms", STRANGER, "hi");
        kit.process_inbound(message).await.unwrap();
    }
    let rooms = rooms.lock().unwrap().clone();
    assert!(rooms.iter().all(|room| *room == rooms[0]), "{rooms:?}");
}

#[tokio::test]
async fn a_rejected_sender_leaves_no_room_behind() {
    let kit = answering(IdentityResult::new(IdentificationStatus::Rejected))
        .build()
        .unwrap();
    let sms = Transport::new("sms");
    kit.register_channel(sms).unwrap();
    let made = Arc::new(Mutex::new(0));
    let count = Arc::clone(&made);
    kit.hook(OnRoomCreated, "count", move |_, _| {
        *count.lock().unwrap() += 1;
        async {}
    });
    for _ in 0..3 {
        let message = InboundMessage::text("sms", STRANGER, "hi");
        let result = kit.process_inbound(message).await.unwrap();
        assert_eq!(result.reason.as_deref(), Some("identity_rejected"));
    }
    kit.wait_idle().await;
    let rooms = kit.list_rooms(RoomFilter::default(), Page::first(9)).await;
    assert_eq!((rooms.unwrap().len(), *made.lock().unwrap()), (0, 0));
}

#[tokio::test]
async fn a_room_made_for_a_message_is_told_of_when_its_sender_may_stay() {
    for decision in decisions() {
        let rejected = matches!(decision, Some(IdentityDecision::Reject { .. }));
        let kit = answering(IdentityResult::unknown()).build().unwrap();
        kit.register_channel(Transport::new("sms")).unwrap();
        let made = Arc::new(Mutex::new(0));
        let count = Arc::clone(&made);
        kit.hook(OnRoomCreated, "count", move |_, _| {
            *count.lock().unwrap() += 1;
            async {}
        });
        decide(&kit, &decision);
        let message = InboundMessage::text("sms", STRANGER, "hi");
        kit.process_inbound(message).await.unwrap();
        kit.wait_idle().await;
        let rooms = kit.list_rooms(RoomFilter::default(), Page::first(9)).await;
        let expected = usize::from(!rejected);
        assert_eq!(
            (rooms.unwrap().len(), *made.lock().unwrap()),
            (expected, expected)
        );
    }
}

/// Something that happened in the room while the hook was asked is not thrown away with it.
#[tokio::test]
async fn a_room_in_which_something_happened_meanwhile_stays() {
    let kit = answering(IdentityResult::unknown()).build().unwrap();
    kit.register_channel(Transport::new("sms")).unwrap();
    let weak = kit.downgrade();
    kit.hook(OnIdentityUnknown, "gate", move |_, context: RoomContext| {
        let kit = weak.upgrade().unwrap();
        async move {
            let note = kit.send_event(context.room_id(), "system", TextContent::new("look here"));
            note.await?;
            Ok::<_, Error>(Some(IdentityDecision::Reject {
                reason: "no".to_owned(),
            }))
        }
    });
    let message = InboundMessage::text("sms", STRANGER, "hi");
    kit.process_inbound(message).await.unwrap();
    let rooms = kit.list_rooms(RoomFilter::default(), Page::first(9)).await;
    assert_eq!(rooms.unwrap().len(), 1);
}

#[tokio::test]
async fn who_could_not_speak_anyway_is_not_asked_who_they_are() {
    let kit = answering(IdentityResult::unknown()).build().unwrap();
    let sms = Transport::new("sms");
    room_of(&kit, vec![shared(&sms)]).await;
    kit.add_member("r", "sms", STRANGER).await.unwrap();
    kit.ban_member("r", STRANGER).await.unwrap();
    challenge(&kit);
    let result = kit.process_inbound(say("sms", STRANGER, "hi")).await;
    let reason = result.unwrap().reason;
    assert_eq!(reason.as_deref(), Some("participant_not_admitted"));
    kit.close_room("r").await.unwrap();
    let result = kit.process_inbound(say("sms", "+15550100005", "hi")).await;
    assert_eq!(result.unwrap().reason.as_deref(), Some("room_closed"));
    assert!(sms.texts().is_empty());
}

/// What cannot be shown is no challenge, and what it was to hold back is not let through for that.
#[tokio::test]
async fn a_challenge_that_cannot_be_told_lets_nothing_through() {
    let kit = answering(IdentityResult::unknown()).build().unwrap();
    let sms = Transport::new("sms");
    room_of(&kit, vec![shared(&sms)]).await;
    kit.hook(OnIdentityUnknown, "gate", |_, _| async {
        let empty = EventContent::composite([]);
        IdentityDecision::Challenge(InjectedEvent::new(empty, ["sms"]))
    });
    let failed = kit.process_inbound(say("sms", STRANGER, "hi")).await;
    assert_eq!(failed.unwrap_err().code(), "invalid_input");
    assert!(timeline_texts(&kit).await.is_empty());
    assert!(kit.participants("r").await.unwrap().is_empty());
}
