//! Whom a resolver is asked about, how long it is waited for, and whom its answers and those of hooks
//! may name.

use std::future::pending;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use roomkit_core::hook::{
    Hook, HookOptions, HookTrigger, IdentityCase, IdentityDecision, OnIdentityAmbiguous,
    OnIdentityUnknown,
};
use roomkit_core::model::{
    ChannelId, ChannelType, EventContent, Identity, IdentityResult, InboundMessage,
};
use roomkit_core::{Channel, Error, ErrorKind, IdentityResolver, Result, RoomContext, RoomKit};
use roomkit_testkit::{ManualClock, MockIdentityResolver};

use super::identity_outcomes::{STRANGER, answering, challenge, decide, resolving};
use super::support::{Transport, room_of, say, shared};

#[tokio::test]
async fn a_sender_without_an_id_is_nobody_and_nobody_is_asked_about_them() {
    let resolver = MockIdentityResolver::new();
    let kit = resolving(resolver.clone()).build().unwrap();
    let mail = Transport::new("mail").of_type(ChannelType::Email);
    room_of(&kit, vec![shared(&mail)]).await;
    decide(
        &kit,
        &Some(IdentityDecision::Reject {
            reason: "no".to_owned(),
        }),
    );
    for sender in ["", "  ", "<>"] {
        let result = kit.process_inbound(say("mail", sender, "bounced")).await;
        let event = result.unwrap().event.unwrap();
        assert_eq!(event.source.participant_id, None);
    }
    assert!(resolver.asked().is_empty());
    assert!(kit.participants("r").await.unwrap().is_empty());
}

#[tokio::test]
async fn only_the_channels_that_are_named_are_asked_about() {
    let resolver = MockIdentityResolver::new();
    let kit = resolving(resolver.clone())
        .identity_channel_types([ChannelType::Sms])
        .build()
        .unwrap();
    let sms = Transport::new("sms").of_type(ChannelType::Sms);
    room_of(&kit, vec![shared(&sms), shared(&Transport::new("ws"))]).await;
    for channel in ["ws", "sms", "ws"] {
        kit.process_inbound(say(channel, channel, "hi"))
            .await
            .unwrap();
    }
    assert_eq!(resolver.asked(), ["sms"]);
}

#[derive(Debug)]
struct Named(ChannelId);

#[async_trait]
impl Channel for Named {
    fn id(&self) -> &ChannelId {
        &self.0
    }

    fn channel_type(&self) -> ChannelType {
        ChannelType::Sms
    }

    fn names_its_senders(&self) -> bool {
        true
    }
}

#[tokio::test]
async fn a_channel_that_names_its_senders_is_believed_to_the_letter() {
    let resolver = MockIdentityResolver::new();
    let kit = resolving(resolver.clone()).build().unwrap();
    room_of(&kit, vec![Arc::new(Named("cli".into()))]).await;
    let said = kit.process_inbound(say("cli", "0049 170 1234567", "hi"));
    let event = said.await.unwrap().event.unwrap();
    let id = event.source.participant_id.clone();
    assert_eq!(id, Some("0049 170 1234567".into()), "an id is no address");
    assert!(resolver.asked().is_empty());
}

/// Answers when it is told to, or never.
#[derive(Debug)]
struct Hangs;

#[async_trait]
impl IdentityResolver for Hangs {
    async fn resolve(&self, _: &InboundMessage, _: &RoomContext) -> Result<IdentityResult> {
        pending().await
    }
}

#[tokio::test]
async fn a_resolver_that_takes_ten_seconds_does_not_know_the_sender() {
    let clock = ManualClock::new();
    let kit = RoomKit::builder()
        .identity(Arc::new(Hangs))
        .clock(Arc::new(clock.clone()))
        .without_timer_sweeper()
        .build()
        .unwrap();
    room_of(&kit, vec![shared(&Transport::new("sms"))]).await;
    let told: Arc<Mutex<Vec<String>>> = Arc::default();
    let heard = Arc::clone(&told);
    kit.on("identity_timeout", move |event| {
        let address = event.data.get_str("address").unwrap().to_owned();
        let room = event.room_id.as_ref().unwrap();
        heard.lock().unwrap().push(format!("{room} {address}"));
        async {}
    });
    let message = tokio::spawn({
        let kit = kit.clone();
        async move { kit.process_inbound(say("sms", STRANGER, "hi")).await }
    });
    let mut waited = Duration::ZERO;
    while !message.is_finished() {
        tokio::task::yield_now().await;
        if clock.sleepers() > 0 && !message.is_finished() {
            clock.advance(Duration::from_secs(1));
            waited += Duration::from_secs(1);
        }
    }
    let result = message.await.unwrap().unwrap();
    assert_eq!((result.blocked, waited.as_secs()), (false, 10));
    kit.wait_idle().await;
    assert_eq!(*told.lock().unwrap(), [format!("r {STRANGER}")]);
}

#[derive(Debug)]
struct Fails;

#[async_trait]
impl IdentityResolver for Fails {
    async fn resolve(&self, _: &InboundMessage, _: &RoomContext) -> Result<IdentityResult> {
        Err(Error::new(
            ErrorKind::ProviderFailed,
            "the registry is down",
        ))
    }
}

#[tokio::test]
async fn a_resolver_that_fails_does_not_know_the_sender() {
    let kit = RoomKit::builder()
        .identity(Arc::new(Fails))
        .build()
        .unwrap();
    room_of(&kit, vec![shared(&Transport::new("sms"))]).await;
    let result = kit.process_inbound(say("sms", STRANGER, "hi")).await;
    assert!(!result.unwrap().blocked);
    challenge(&kit);
    let result = kit.process_inbound(say("sms", STRANGER, "hi")).await;
    let reason = result.unwrap().reason;
    assert_eq!(reason.as_deref(), Some("identity_challenge_sent"));
}

#[tokio::test]
async fn hooks_are_told_the_address_and_onlookers_the_decision() {
    let kit = answering(IdentityResult::unknown()).build().unwrap();
    let sms = Transport::new("sms").of_type(ChannelType::Sms);
    room_of(&kit, vec![shared(&sms)]).await;
    let told: Arc<Mutex<Vec<String>>> = Arc::default();
    let show = |told: &Arc<Mutex<Vec<String>>>| {
        let told = Arc::clone(told);
        move |case: IdentityCase| {
            let result = &case.result;
            let address = result.address.clone().unwrap();
            let over = result.channel_type.clone().unwrap();
            let decided = case.decision().is_some();
            told.lock()
                .unwrap()
                .push(format!("{address} {over} {decided}"));
        }
    };
    let look = show(&told);
    kit.add_hook(Hook::observer(
        OnIdentityUnknown,
        "watch",
        move |case, _| {
            look(case);
            async {}
        },
    ));
    let look = show(&told);
    let first = HookOptions::new("first").priority(-1);
    kit.hook(OnIdentityUnknown, first, move |case, _| {
        look(case);
        async { None::<IdentityDecision> }
    });
    decide(
        &kit,
        &Some(IdentityDecision::Reject {
            reason: "no".to_owned(),
        }),
    );
    kit.process_inbound(say("sms", "+1 (555) 010-0004", "hi"))
        .await
        .unwrap();
    kit.wait_idle().await;
    let told = told.lock().unwrap().clone();
    let expected = ["+15550100004 sms false", "+15550100004 sms true"];
    assert_eq!(told, expected);
}

#[tokio::test]
async fn the_first_hook_that_decides_is_named_and_the_later_are_not_asked() {
    let kit = answering(IdentityResult::unknown()).build().unwrap();
    room_of(&kit, vec![shared(&Transport::new("sms"))]).await;
    let later = Arc::new(Mutex::new(0));
    kit.hook(OnIdentityUnknown, "registry", |_, _| async {
        IdentityDecision::Resolved(Identity::new("alice"))
    });
    let count = Arc::clone(&later);
    kit.hook(OnIdentityUnknown, "later", move |_, _| {
        *count.lock().unwrap() += 1;
        async { None::<IdentityDecision> }
    });
    kit.process_inbound(say("sms", STRANGER, "hi"))
        .await
        .unwrap();
    let alice = kit.participant("r", "alice").await.unwrap();
    assert_eq!(alice.resolved_by.as_deref(), Some("registry"));
    assert_eq!(*later.lock().unwrap(), 0);
}

/// The application alone decides by hand, and a hook's name gives it no more weight.
#[tokio::test]
async fn a_hook_by_the_name_of_manual_is_no_word_of_the_application() {
    let kit = answering(IdentityResult::unknown()).build().unwrap();
    room_of(&kit, vec![shared(&Transport::new("sms"))]).await;
    kit.hook(OnIdentityUnknown, "manual", |case, _| async move {
        (case.event.source.participant_id == Some(STRANGER.into()))
            .then(|| IdentityDecision::Resolved(Identity::new("alice")))
    });
    kit.process_inbound(say("sms", STRANGER, "hi"))
        .await
        .unwrap();
    let alice = kit.participant("r", "alice").await.unwrap();
    assert_eq!(alice.resolved_by.as_deref(), Some("auto"));
    let other = kit
        .process_inbound(say("sms", "alice", "hi"))
        .await
        .unwrap();
    let other = other.event.unwrap().source.participant_id.clone();
    assert_eq!(other, Some("sms:alice".into()));
}

#[tokio::test]
async fn nobody_of_another_organisation_is_matched_or_shown() {
    let foreign = |id: &str| {
        let mut identity = Identity::new(id);
        identity.organization_id = Some("other".into());
        identity
    };
    let cases = [
        (
            IdentityResult::identified(foreign("eve")),
            "on_identity_unknown 0 pending",
        ),
        (
            IdentityResult::ambiguous([foreign("eve"), Identity::new("ann")]),
            "on_identity_ambiguous 1 ambiguous",
        ),
        (
            IdentityResult::ambiguous([foreign("eve")]),
            "on_identity_unknown 0 pending",
        ),
    ];
    for (result, expected) in cases {
        let kit = answering(result).build().unwrap();
        kit.org("acme").create_room("r").await.unwrap();
        kit.register_channel(Transport::new("sms")).unwrap();
        let told: Arc<Mutex<Vec<String>>> = Arc::default();
        for trigger in ["on_identity_unknown", "on_identity_ambiguous"] {
            let heard = Arc::clone(&told);
            let look = move |case: IdentityCase, _: RoomContext| {
                assert_eq!(case.result.identity, None);
                let shown = case.result.candidates.len();
                heard.lock().unwrap().push(format!("{trigger} {shown}"));
                async { None::<IdentityDecision> }
            };
            if trigger == "on_identity_unknown" {
                kit.hook(OnIdentityUnknown, trigger, look);
            } else {
                kit.hook(OnIdentityAmbiguous, trigger, look);
            }
        }
        let acme = kit.org("acme");
        let said = acme.process_inbound(say("sms", STRANGER, "hi"));
        assert!(!said.await.unwrap().blocked);
        let person = kit.participant("r", STRANGER).await.unwrap();
        let got = format!(
            "{} {}",
            told.lock().unwrap().join(" "),
            person.identification
        );
        assert_eq!(got, expected);
        assert_eq!(person.identity_id, None);
    }
}

/// A hook that names somebody whom the room's organisation does not know has failed.
#[tokio::test]
async fn a_hook_cannot_name_somebody_of_another_organisation() {
    let mut eve = Identity::new("eve");
    eve.organization_id = Some("other".into());
    let named = [
        IdentityDecision::Resolved(eve.clone()),
        IdentityDecision::Create(eve.clone()),
        IdentityDecision::Pending {
            display_name: None,
            candidates: vec![eve],
        },
        IdentityDecision::Create(Identity::new(" ")),
    ];
    for decision in named {
        for fail_closed in [false, true] {
            let mut builder = answering(IdentityResult::unknown());
            if fail_closed {
                builder = builder.fail_closed([HookTrigger::OnIdentityUnknown]);
            }
            let kit = builder.build().unwrap();
            kit.org("acme").create_room("r").await.unwrap();
            kit.register_channel(Transport::new("sms")).unwrap();
            decide(&kit, &Some(decision.clone()));
            let acme = kit.org("acme");
            let said = acme.process_inbound(say("sms", STRANGER, "hi"));
            let rejected = fail_closed.then_some("identity_rejected");
            assert_eq!(said.await.unwrap().reason.as_deref(), rejected);
            let people = kit.participants("r").await.unwrap();
            let ids: Vec<_> = people.iter().map(|one| one.id.as_str()).collect();
            assert_eq!(ids, if fail_closed { vec![] } else { vec![STRANGER] });
            let stored = kit.org("other").identity("eve").await.unwrap_err();
            assert_eq!(stored.code(), "identity_not_found");
        }
    }
}

#[tokio::test]
async fn somebody_new_is_stored_in_the_rooms_organisation_with_their_address() {
    let kit = RoomKit::builder().stored_identities().build().unwrap();
    let acme = kit.org("acme");
    let mut known = Identity::new("alice");
    known.display_name = Some("Alice".to_owned());
    acme.save_identity(known).await.unwrap();
    acme.create_room("r").await.unwrap();
    let sms = Transport::new("sms").of_type(ChannelType::Sms);
    kit.register_channel(sms).unwrap();
    let asked = Arc::new(Mutex::new(0));
    let count = Arc::clone(&asked);
    kit.hook(OnIdentityUnknown, "register", move |case, _| {
        *count.lock().unwrap() += 1;
        let id = case.event.text().unwrap().to_owned();
        async move { IdentityDecision::Create(Identity::new(id)) }
    });
    // Who is known by that id stays who they are.
    for (sender, id) in [("+1 555 010 0001", "bob"), ("+1 555 010 0002", "alice")] {
        for _ in 0..2 {
            let said = acme.process_inbound(say("sms", sender, id)).await.unwrap();
            let source = &said.event.unwrap().source;
            assert_eq!(source.participant_id, Some(id.into()));
        }
    }
    assert_eq!(*asked.lock().unwrap(), 2, "once each");
    let bob = acme.identity("bob").await.unwrap();
    assert_eq!(bob.organization_id, Some("acme".into()));
    assert_eq!(bob.channel_addresses["sms"], ["+15550100001"]);
    let alice = acme.identity("alice").await.unwrap();
    assert_eq!(alice.display_name.as_deref(), Some("Alice"));
    assert_eq!(alice.channel_addresses["sms"], ["+15550100002"]);
}

#[tokio::test]
async fn candidates_beyond_sixty_four_are_dropped() {
    let many = (0..100).map(|number| Identity::new(format!("id{number}")));
    let kit = answering(IdentityResult::ambiguous(many)).build().unwrap();
    room_of(&kit, vec![shared(&Transport::new("sms"))]).await;
    kit.process_inbound(say("sms", STRANGER, "hi"))
        .await
        .unwrap();
    let person = kit.participant("r", STRANGER).await.unwrap();
    assert_eq!(person.candidates.unwrap().len(), 64);
}

#[tokio::test]
async fn what_was_said_before_it_was_known_who_said_it_stays_theirs() {
    let kit = RoomKit::builder().stored_identities().build().unwrap();
    let sms = Transport::new("sms").of_type(ChannelType::Sms);
    room_of(&kit, vec![shared(&sms), shared(&Transport::new("ws"))]).await;
    let said = kit
        .process_inbound(say("sms", STRANGER, "hi"))
        .await
        .unwrap();
    let target = said.event.unwrap().id.clone();
    kit.save_identity(Identity::new("alice")).await.unwrap();
    kit.link_address("alice", ChannelType::Sms, STRANGER)
        .await
        .unwrap();
    let edits = async |channel: &str, sender: &str| {
        let edit = EventContent::edit(target.clone(), EventContent::text("hello"));
        let edit = InboundMessage::new(channel, sender, edit).in_room("r");
        kit.process_inbound(edit).await.unwrap().reason
    };
    assert_eq!(edits("sms", STRANGER).await, None);
    let not_theirs = Some("not_original_author");
    assert_eq!(edits("ws", STRANGER).await.as_deref(), not_theirs);
    assert_eq!(edits("sms", "+15550100009").await.as_deref(), not_theirs);
}
